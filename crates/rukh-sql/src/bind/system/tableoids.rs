//! `c.tableoid` of tables of `pg_catalog`: a number, as no table has such a column here.
//!
//! `SELECT c.tableoid FROM pg_catalog.pg_class c` becomes `SELECT 1259 FROM pg_catalog.pg_class c`.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::WalkMut;
use rukh_syntax::sqlparser::ast::{
    Expr, Ident, Select, SelectItem, TableFactor, TableWithJoins, Value, VisitorMut,
};

use super::oids;
use super::syntax::system_name;
use super::system_tables::system_tables;

const COLUMN: &str = "tableoid";

/// Replaces the columns `tableoid` of a query and of the subqueries in it.
pub(super) fn spell_out(select: &mut Select) {
    let mut tables = Vec::new();
    select.from.iter().for_each(|item| collect(item, &mut tables));
    if tables.is_empty() {
        return;
    }
    let mut numbers = Numbers { tables: &tables };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && numbers.number(expr).is_some()
        {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::new(COLUMN),
            };
        }
    }
    let ControlFlow::Continue(()) = select.walk_mut(&mut numbers);
}

/// Adds the tables of `pg_catalog` of a FROM item: their names here, and their numbers.
fn collect(item: &TableWithJoins, tables: &mut Vec<(String, i64)>) {
    let joined = item.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&item.relation).chain(joined) {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let Some((Some(schema), name)) = system_name(name) else {
                    continue;
                };
                let at = system_tables().position(|table| table.name == name);
                if let Some(at) = at.filter(|_| schema == "pg_catalog") {
                    let called = alias.as_ref().map_or(&name, |alias| &alias.name.value);
                    tables.push((called.to_lowercase(), oids::system_table(&name, at)));
                }
            }
            TableFactor::NestedJoin { table_with_joins, .. } => collect(table_with_joins, tables),
            _ => {}
        }
    }
}

struct Numbers<'a> {
    tables: &'a [(String, i64)],
}

impl Numbers<'_> {
    fn number(&self, expr: &Expr) -> Option<i64> {
        let (table, column) = match expr {
            Expr::CompoundIdentifier(parts) => {
                let [.., table, column] = parts.as_slice() else {
                    return None;
                };
                (Some(table), column)
            }
            Expr::Identifier(column) => (None, column),
            _ => return None,
        };
        if !column.value.eq_ignore_ascii_case(COLUMN) {
            return None;
        }
        let mut found = self.tables.iter().filter(|(name, _)| match table {
            Some(table) => table.value.eq_ignore_ascii_case(name),
            None => self.tables.len() == 1,
        });
        found.next().map(|(_, number)| *number)
    }
}

impl VisitorMut for Numbers<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(number) = self.number(expr) {
            *expr = Expr::Value(Value::Number(number.to_string(), false).into());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::bind::spelling::parsing::parse;
    use rukh_syntax::Statement;

    fn check(written: &str, expected: &str) {
        let Ok(Statement::Query(query)) = parse(written) else {
            panic!("{written} is a query")
        };
        assert_eq!(query.to_string(), expected, "{written}");
    }

    #[test]
    fn numbers_of_system_tables() {
        check(
            "SELECT c.tableoid, t.tableoid FROM pg_catalog.pg_class c, t",
            "SELECT 1259 AS tableoid, t.tableoid FROM pg_catalog.pg_class c, t",
        );
        check(
            "SELECT tableoid AS a FROM pg_catalog.pg_namespace WHERE tableoid > 0",
            "SELECT 2615 AS a FROM pg_catalog.pg_namespace WHERE 2615 > 0",
        );
    }
}
