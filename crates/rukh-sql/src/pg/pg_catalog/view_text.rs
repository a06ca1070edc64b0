//! Queries of views as `pg_get_viewdef` shows them: one clause a line, and no more quotes and names than needed.
//!
//! ```text
//!  SELECT id,
//!     name
//!    FROM accounts
//!   WHERE balance > 100;
//! ```
//!
//! The text is read again before it is shown: if it does not say the same, the query is shown as it is stored.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    AccessExpr, Expr, GroupByExpr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr,
    TableFactor, VisitorMut,
};
use rukh_syntax::sqlparser::parser::Parser;

use crate::bind::spelling::rows;
use rukh_syntax::{RukhDialect, WalkMut, quoted};

/// Returns the query of a view; names in the schemas of `path` stay unqualified.
pub(super) fn definition(sql: &str, path: &[String]) -> String {
    let shown = read(sql).map(|mut query| {
        let ControlFlow::Continue(()) = query.walk_mut(&mut Plainly { path });
        (lines(&query), query)
    });
    match shown {
        Some((text, query)) if read(&text).is_some_and(|again| again == query) => format!(" {text};"),
        _ => format!(" {sql};"),
    }
}

fn read(sql: &str) -> Option<Query> {
    let mut parser = Parser::new(RukhDialect::of(false)).try_with_sql(sql).ok()?;
    parser.parse_query().ok().map(|query| *query)
}

/// Takes quotes, schemas and aliases away where they say nothing.
struct Plainly<'a> {
    path: &'a [String],
}

impl Plainly<'_> {
    fn name(&self, name: &mut ObjectName) {
        let on_path = |part: &ObjectNamePart| {
            let schema = part.as_ident().map(|ident| &ident.value);
            schema.is_some_and(|schema| self.path.contains(schema))
        };
        if name.0.len() == 2 && on_path(&name.0[0]) {
            name.0.remove(0);
        }
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                plain(ident);
            }
        }
    }
}

fn plain(ident: &mut Ident) {
    if ident.quote_style.is_some() && quoted(&ident.value) == ident.value {
        ident.quote_style = None;
    }
}

impl VisitorMut for Plainly<'_> {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, .. } => (Some(name), alias),
            TableFactor::Derived { alias, .. } => (None, alias),
            _ => return ControlFlow::Continue(()),
        };
        if let Some(alias) = alias {
            plain(&mut alias.name);
            alias
                .columns
                .iter_mut()
                .for_each(|column| plain(&mut column.name));
        }
        if let Some(name) = name {
            self.name(name);
            let last = name.0.last().and_then(ObjectNamePart::as_ident);
            let says_nothing = alias
                .as_ref()
                .is_some_and(|alias| alias.columns.is_empty() && last == Some(&alias.name));
            if says_nothing {
                *alias = None;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                plain(alias);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some((record, name)) = rows::field(expr) {
            let mut field = Ident::with_quote('"', name);
            plain(&mut field);
            *expr = Expr::CompoundFieldAccess {
                root: Box::new(Expr::Nested(Box::new(record.clone()))),
                access_chain: vec![AccessExpr::Dot(Expr::Identifier(field))],
            };
        }
        match expr {
            Expr::Identifier(ident) => plain(ident),
            Expr::CompoundIdentifier(idents) => idents.iter_mut().for_each(plain),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Writes a query, its clauses on lines of their own if it is a plain SELECT.
fn lines(query: &Query) -> String {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return query.to_string();
    };
    let mut text = String::new();
    if let Some(with) = &query.with {
        text.push_str(&format!("{with}\n "));
    }
    text.push_str("SELECT ");
    if let Some(distinct) = &select.distinct {
        text.push_str(&format!("{distinct} "));
    }
    text.push_str(&joined(&select.projection, ",\n    "));
    if !select.from.is_empty() {
        text.push_str(&format!("\n   FROM {}", joined(&select.from, ",\n    ")));
    }
    if let Some(condition) = &select.selection {
        text.push_str(&format!("\n  WHERE {condition}"));
    }
    if !matches!(&select.group_by, GroupByExpr::Expressions(all, more) if all.is_empty() && more.is_empty()) {
        text.push_str(&format!("\n  {}", select.group_by));
    }
    if let Some(condition) = &select.having {
        text.push_str(&format!("\n HAVING {condition}"));
    }
    if let Some(order) = &query.order_by {
        text.push_str(&format!("\n  {order}"));
    }
    if let Some(limit) = &query.limit_clause {
        text.push_str(&format!("\n {}", limit.to_string().trim_start()));
    }
    text
}

fn joined(items: &[impl std::fmt::Display], by: &str) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_shown_plainly() {
        let path = ["public".to_string()];
        let cases = [
            (
                "SELECT id, \"name\" AS \"Name\" FROM \"public\".\"accounts\" AS \"accounts\" WHERE balance > 100",
                " SELECT id,\n    name AS \"Name\"\n   FROM accounts\n  WHERE balance > 100;",
            ),
            (
                "SELECT a.x, count(*) FROM \"other\".\"t\" AS \"a\" GROUP BY a.x HAVING count(*) > 1 ORDER BY 1 LIMIT 3",
                " SELECT a.x,\n    count(*)\n   FROM other.t AS a\n  GROUP BY a.x\n HAVING count(*) > 1\n  ORDER BY 1\n LIMIT 3;",
            ),
            ("SELECT 1 UNION SELECT 2", " SELECT 1 UNION SELECT 2;"),
            ("no query", " no query;"),
        ];
        for (sql, shown) in cases {
            assert_eq!(definition(sql, &path), shown);
        }
        // What lines leave out is shown as it is stored.
        let window = "SELECT sum(x) OVER w FROM t WINDOW w AS (ORDER BY x)";
        assert_eq!(definition(window, &path), format!(" {window};"));
    }
}
