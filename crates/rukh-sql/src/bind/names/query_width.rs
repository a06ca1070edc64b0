//! How many columns a query has, as far as its syntax shows.

use rukh_syntax::sqlparser::ast::{self, SelectItem, SetExpr};

/// Returns how many columns a query has, as far as that can be seen.
pub(crate) fn width_of(query: &ast::Query) -> Option<usize> {
    width_of_body(&query.body)
}

fn width_of_body(body: &SetExpr) -> Option<usize> {
    let items = match body {
        SetExpr::Select(select) => &select.projection,
        SetExpr::Values(values) => return values.rows.first().map(|row| row.content.len()),
        SetExpr::SetOperation { left, .. } => return width_of_body(left),
        SetExpr::Query(query) => return width_of(query),
        _ => return None,
    };
    let is_one = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    items.iter().all(is_one).then_some(items.len())
}
