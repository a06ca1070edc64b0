//! CHECK constraints and generated columns of definitions.

use datafusion::arrow::array::new_empty_array;
use datafusion::common::DFSchema;
use datafusion::logical_expr::ExprSchemable;
use rukh_catalog::{Check, Column, Generated, Table};
use rukh_keys::DataType;

use super::names::first_free;
use crate::bind::types::expressions::{TypedExpression, stored_expression};
use crate::bind::types::table_schema::table_schema;
use crate::bind::types::typed_casts::literal_text;
use rukh_error::SqlError;
use rukh_functions::scalars::{assigned_datums, check_assigned};
use rukh_syntax::{CheckDefinition, Expression, Name};

/// Makes a CHECK constraint of the table, under a name of its own if it has none.
pub(super) fn check_constraint(table: &Table, definition: &CheckDefinition) -> Result<Check, SqlError> {
    let (typed, sql) = typed_check(table, &definition.condition)?;
    let column = match typed.columns.as_slice() {
        [only] => table.column_name(*only),
        _ => "",
    };
    let is_taken = |name: &str| table.checks.iter().any(|check| check.name == name);
    let parts = [table.name.as_str(), column, "check"];
    let name = constraint_name(definition.name.as_ref(), parts, is_taken, || {
        format!("relation \"{}\"", table.name)
    })?;
    Ok(Check {
        name,
        sql,
        columns: typed.columns,
        not_valid: definition.not_valid,
    })
}

/// Types a condition of rows of a table, which has to be BOOLEAN; returns its text, too.
pub(super) fn typed_check(
    table: &Table,
    Expression { expr, position }: &Expression,
) -> Result<(TypedExpression, String), SqlError> {
    let typed = stored_expression(table, expr, "check constraint");
    let (typed, sql) = typed.map_err(|error| error.at(*position))?;
    if typed.ty != DataType::Boolean {
        let message = format!(
            "argument of CHECK must be type boolean, not type {}",
            typed.ty.postgres_name()
        );
        return Err(SqlError::statement("42804", message).at(*position));
    }
    Ok((typed, sql))
}

/// Returns the name of a new constraint: the one that its definition has, or one that is made of these parts.
///
/// # Errors
/// 42710 if the name is taken on the `owner`, such as `relation "t"`.
pub(super) fn constraint_name(
    defined: Option<&Name>,
    parts: [&str; 3],
    is_taken: impl Fn(&str) -> bool,
    owner: impl Fn() -> String,
) -> Result<String, SqlError> {
    match defined {
        Some(Name { text, position }) if is_taken(text) => {
            let message = format!("constraint \"{text}\" for {} already exists", owner());
            Err(SqlError::statement("42710", message).at(*position))
        }
        Some(name) => Ok(name.text.clone()),
        None => Ok(first_free(parts, |name| !is_taken(name))),
    }
}

/// Makes the expression of a generated column; `generated` names all such columns, none of which it may read.
pub(super) fn generated_column(
    table: &Table,
    column: &Column,
    Expression { expr, position }: &Expression,
    generated: &[&str],
) -> Result<Generated, SqlError> {
    let place = |error: SqlError| error.at(*position);
    let (typed, sql) = stored_expression(table, expr, "generation expression").map_err(place)?;
    if table.in_primary_key(column.id)
        || table
            .primary_key
            .iter()
            .any(|e| e.expr.columns().contains(&column.id))
    {
        let message = "a column of the primary key cannot be generated";
        return Err(SqlError::unsupported(message).at(*position));
    }
    let names = typed.columns.iter().map(|id| table.column_name(*id));
    if let Some(name) = names.into_iter().find(|name| generated.contains(name)) {
        let message = format!("cannot use generated column \"{name}\" in column generation expression");
        return Err(SqlError::statement("42P17", message)
            .at(*position)
            .with_detail("A generated column cannot reference another generated column."));
    }
    let schema = DFSchema::try_from(table_schema(table).as_ref().clone())?;
    let (_, field) = typed.expr.to_field(&schema)?;
    if literal_text(&typed.expr).is_none() {
        check_assigned(&field, &column.ty, &column.name).map_err(place)?;
    }
    let none = new_empty_array(field.data_type());
    assigned_datums(&none, &column.ty, &column.name).map_err(place)?;
    Ok(Generated {
        sql,
        columns: typed.columns,
    })
}
