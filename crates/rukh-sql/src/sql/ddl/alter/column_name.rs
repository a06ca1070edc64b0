//! RENAME COLUMN: indexes, constraints, generated columns and views read the column by its new name.

use std::ops::ControlFlow;

use rukh_catalog::{Catalog, ColumnId, KeyExpr, Table, View};
use rukh_syntax::sqlparser::ast::{self, Ident, VisitorMut};
use rukh_syntax::{HIDDEN, Statement, WalkMut, folded, sql_text};

use crate::bind::names::joined::stored_names::{self, Renamed};
use crate::bind::names::views::{resolve_stored, views_on};
use crate::bind::spelling::parsing::parse;
use crate::bind::types::expressions::{stored_expression, stored_sql};
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Returns a table, whose column is called `new` already, with that name in its stored expressions.
pub(super) fn in_expressions(mut table: Table, old: &str, new: &str) -> Result<Table, SqlError> {
    let named = table.clone();
    let renamed = |sql: &str, what: &str| renamed_expression(&named, sql, (old, new), what);
    for index in &mut table.indexes {
        for element in &mut index.elements {
            if let KeyExpr::Expression { sql, .. } = &mut element.expr {
                *sql = renamed(sql, "index expression")?;
            }
        }
        if let Some(predicate) = &mut index.predicate {
            predicate.sql = renamed(&predicate.sql, "index predicate")?;
        }
    }
    for check in &mut table.checks {
        check.sql = renamed(&check.sql, "check constraint")?;
    }
    for column in &mut table.columns {
        if let Some(generated) = &mut column.values.generated {
            generated.sql = renamed(&generated.sql, "generation expression")?;
        }
    }
    Ok(table)
}

/// Returns the text of a stored expression in which a column has another name.
fn renamed_expression(
    table: &Table,
    sql: &str,
    (old, new): (&str, &str),
    what: &str,
) -> Result<String, SqlError> {
    struct Renamer<'a>(&'a str, &'a str);
    impl VisitorMut for Renamer<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::Identifier(name) = expr
                && folded(name) == self.0
            {
                *name = Ident::with_quote('"', self.1);
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = stored_sql(sql)?;
    let _ = expr.walk_mut(&mut Renamer(old, new));
    stored_expression(table, &expr, what).map(|(_, sql)| sql)
}

/// Returns the views that read a column, and the tables of materialized ones, with queries that call it `new`. Columns of views keep
/// their names.
pub(super) fn in_views(
    session: &mut Session,
    catalog: &Catalog,
    table: &Table,
    column: ColumnId,
    new: &str,
) -> Result<(Vec<View>, Vec<Table>), SqlError> {
    let (mut views, mut tables) = (Vec::new(), Vec::new());
    // Which columns of subqueries a view reads, older versions did not note.
    for view in views_on(catalog, table.id, None) {
        let Statement::Query(mut query) = parse(&view.sql)? else {
            return Err(SqlError::internal("a view holds another statement than a query"));
        };
        let renamed = Renamed {
            column: (table.id, column),
            name: new,
        };
        let has_names = view.columns.iter().all(|column| !column.source.contains(HIDDEN));
        let is_renamed = match has_names {
            true => stored_names::rename(&mut query, catalog, renamed, &mut |probe| {
                let mut probe = probe.clone();
                resolve_stored(&mut probe, catalog).ok()?;
                session.unoptimised_plan_of(&probe).ok()
            }),
            false => Err("gives two columns one name"),
        };
        let is_renamed = is_renamed.map_err(|why| {
            let column = table.column_name(column);
            let message = format!(
                "cannot rename column \"{column}\" because view \"{}\" {why}",
                view.name
            );
            let hint = "Drop the view, and create it again afterwards.";
            SqlError::unsupported(message).with_hint(hint)
        })?;
        if !is_renamed {
            continue;
        }
        let next = View {
            sql: sql_text(&query),
            ..view.clone()
        };
        let of_table = catalog
            .materialized()
            .find(|(_, known)| std::ptr::eq(*known, view));
        match of_table {
            Some((of_table, _)) => {
                let mut of_table = Table::clone(of_table);
                if let Some(materialized) = &mut of_table.materialized {
                    materialized.query = next;
                }
                tables.push(of_table);
            }
            None => views.push(next),
        }
    }
    Ok((views, tables))
}
