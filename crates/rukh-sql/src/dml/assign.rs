//! SET: which columns a statement assigns what to.

use datafusion::sql::sqlparser::ast::{self, AssignmentTarget, Expr, Value};
use rukh_catalog::{Column, ColumnId, Table};

use super::target::column_of;
use super::values::{computed_kind, is_default};
use crate::SqlError;
use crate::statement::ObjectName;

/// Returns the columns of SET with their expressions; DEFAULT becomes the column's default.
pub(super) fn assignments(
    table: &Table,
    given: &[ast::Assignment],
) -> Result<Vec<(ColumnId, Expr)>, SqlError> {
    let mut found: Vec<(ColumnId, Expr)> = Vec::with_capacity(given.len());
    for (name, value) in given.iter().map(pairs).collect::<Result<Vec<_>, _>>()?.concat() {
        let name = ObjectName::from_ast(name)?;
        let column = column_of(table, &name)?;
        if found.iter().any(|(id, _)| *id == column.id) {
            let message = format!("multiple assignments to same column \"{}\"", name.name);
            return Err(SqlError::statement("42601", message).at(name.position));
        }
        match computed_kind(column) {
            None => found.push((column.id, defaulted(column, value)?)),
            // It is computed anyway.
            Some(_) if is_default(value) && column.values.generated.is_some() => {}
            Some(_) if is_default(value) => found.push((column.id, defaulted(column, value)?)),
            Some(kind) => {
                let message = format!("column \"{}\" can only be updated to DEFAULT", name.name);
                return Err(SqlError::statement("428C9", message)
                    .at(name.position)
                    .with_detail(format!("Column \"{}\" is {kind}.", name.name)));
            }
        }
    }
    Ok(found)
}

/// Takes `(a, b) = (1, 2)` apart.
fn pairs(assignment: &ast::Assignment) -> Result<Vec<(&ast::ObjectName, &Expr)>, SqlError> {
    match (&assignment.target, &assignment.value) {
        (AssignmentTarget::ColumnName(name), value) => Ok(vec![(name, value)]),
        (AssignmentTarget::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
            Ok(names.iter().zip(values).collect())
        }
        (AssignmentTarget::Tuple(names), Expr::Nested(value)) if names.len() == 1 => {
            Ok(vec![(&names[0], value)])
        }
        (AssignmentTarget::Tuple(_), Expr::Tuple(_) | Expr::Nested(_)) => Err(SqlError::syntax(
            "number of columns does not match number of values",
        )),
        (AssignmentTarget::Tuple(_), _) => Err(SqlError::unsupported(
            "SET (a, b) = takes a list of values in parentheses",
        )),
    }
}

fn defaulted(column: &Column, value: &Expr) -> Result<Expr, SqlError> {
    match (is_default(value), &column.default) {
        (false, _) => Ok(value.clone()),
        (true, None) => Ok(Expr::Value(Value::Null.into())),
        (true, Some(sql)) => crate::statement::parse_expression(sql),
    }
}
