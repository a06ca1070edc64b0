//! Expressions that definitions keep as text: which may be kept, and in what form.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Visit, Visitor};
use rukh_catalog::Table;

use crate::SqlError;
use crate::expressions::{TypedExpression, normalise, typed_on};
use crate::statement::parse_expression;

/// Types an expression and returns the text that is stored, which must be read as the same again.
pub(super) fn stored_expression(
    table: &Table,
    expr: &ast::Expr,
    what: &str,
) -> Result<(TypedExpression, String), SqlError> {
    check_stored(expr, what)?;
    let typed = typed_on(table, expr)?;
    let sql = normalise(&typed.expr);
    let again = parse_expression(&sql).and_then(|expr| typed_on(table, &expr));
    match again {
        Ok(again) if again.ty == typed.ty && normalise(&again.expr) == sql => Ok((typed, sql)),
        _ => Err(SqlError::unsupported(format!("this {what} is not supported"))
            .with_detail(format!("It would be stored as {sql}, which is not the same."))),
    }
}

/// Refuses what cannot be part of a definition: subqueries, parameters, and functions that would give
/// one value to all rows of a statement.
pub(super) fn check_stored(expr: &ast::Expr, what: &str) -> Result<(), SqlError> {
    match expr.visit(&mut StoredChecker { what }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct StoredChecker<'a> {
    what: &'a str,
}

/// Functions that give another value for every row.
const VOLATILE: &[&str] = &["random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7"];

impl Visitor for StoredChecker<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<SqlError> {
        ControlFlow::Break(SqlError::unsupported(format!(
            "cannot use subquery in {}",
            self.what
        )))
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<SqlError> {
        match expr {
            ast::Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
                let message = format!("cannot use parameters in {}", self.what);
                ControlFlow::Break(SqlError::statement("42P02", message))
            }
            ast::Expr::Function(call)
                if VOLATILE.contains(&call.name.to_string().to_lowercase().as_str()) =>
            {
                let message = format!("function {}() in {} is not supported", call.name, self.what);
                ControlFlow::Break(SqlError::unsupported(message))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
