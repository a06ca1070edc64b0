//! Calls of functions in a select list.
//!
//! `SELECT unnest(a) FROM t ORDER BY id` is `SELECT i0 AS unnest FROM (SELECT unnest(a) AS i0, id AS k0 FROM t) q ORDER BY k0`: DataFusion
//! takes columns that only ORDER BY reads for lost where a select list gives rows.

use rukh_functions::is_aggregate;
use rukh_syntax::make::{derived, query_of, select_from};
use rukh_syntax::sqlparser::ast::{self, Expr, Ident, OrderByKind, Query, SelectItem, SetExpr, Visitor};
use rukh_syntax::{HIDDEN, Walk, folded};

use crate::bind::names::outputs::output_names::column_name;

/// Whether a SELECT gives what such a function returns, subqueries aside.
pub(crate) fn calls(select: &ast::Select, test: fn(&ast::Function) -> bool) -> bool {
    let mut items = select.projection.iter();
    items.any(|item| item.walk(&mut Calls { test, depth: 0 }).is_break())
}

/// Looks for a call outside of subqueries.
struct Calls {
    test: fn(&ast::Function) -> bool,
    depth: usize,
}

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> std::ops::ControlFlow<()> {
        self.depth += 1;
        std::ops::ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> std::ops::ControlFlow<()> {
        self.depth -= 1;
        std::ops::ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> std::ops::ControlFlow<()> {
        match expr {
            Expr::Function(call) if self.depth == 0 && (self.test)(call) => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        }
    }
}

/// Gives a query whose select list has `unnest` what only its ORDER BY reads as columns of a subquery.
pub(crate) fn keep_order(query: &mut Query) {
    let (SetExpr::Select(select), Some(order)) = (query.body.as_ref(), &query.order_by) else {
        return;
    };
    let OrderByKind::Expressions(keys) = &order.kind else {
        return;
    };
    let is_unnest = |call: &ast::Function| call.name.to_string().eq_ignore_ascii_case("unnest");
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if select.distinct.is_some()
        || select.projection.iter().any(is_star)
        || !query.locks.is_empty()
        || !calls(select, is_unnest)
    {
        return;
    }
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => folded(alias),
        SelectItem::UnnamedExpr(expr) => column_name(expr),
        _ => String::new(),
    };
    let names: Vec<String> = select.projection.iter().map(name).collect();
    let hidden = |kind: &str, at: usize| Ident::with_quote('"', format!("{kind}{HIDDEN}{at}"));
    // A number is the place of an output column, a bare name may be one.
    let place = |key: &Expr| match key {
        Expr::Identifier(key) => names.iter().position(|name| *name == folded(key)),
        _ => None,
    };
    let is_output = |key: &Expr| matches!(key, Expr::Value(_)) || place(key).is_some();
    if keys.iter().all(|key| is_output(&key.expr)) {
        return;
    }
    let mut inner = select.as_ref().clone();
    for (at, item) in inner.projection.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = &*item {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: hidden("item", at),
            };
        }
    }
    let mut outer_keys = keys.clone();
    for (at, key) in outer_keys.iter_mut().enumerate() {
        let column = match place(&key.expr) {
            Some(place) => hidden("item", place),
            None if is_output(&key.expr) => continue,
            None => {
                inner.projection.push(SelectItem::ExprWithAlias {
                    expr: key.expr.clone(),
                    alias: hidden("key", at),
                });
                hidden("key", at)
            }
        };
        key.expr = Expr::Identifier(column);
    }
    let items = names
        .iter()
        .enumerate()
        .map(|(at, name)| SelectItem::ExprWithAlias {
            expr: Expr::Identifier(hidden("item", at)),
            alias: Ident::with_quote('"', name),
        });
    let from = derived(
        query_of(SetExpr::Select(Box::new(inner))),
        &format!("ordered{HIDDEN}"),
        Vec::new(),
    );
    let outer = select_from(items.collect(), vec![from], None);
    query.body = outer.body;
    if let Some(order) = &mut query.order_by {
        order.kind = OrderByKind::Expressions(outer_keys);
    }
}

/// Whether a part of a statement calls an aggregate, outside of subqueries.
pub(crate) fn calls_aggregate(part: &impl Walk) -> bool {
    let test = |call: &ast::Function| call.over.is_none() && is_aggregate(&call.name.to_string());
    part.walk(&mut Calls { test, depth: 0 }).is_break()
}
