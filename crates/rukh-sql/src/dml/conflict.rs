//! ON CONFLICT: which key or unique index a statement means.

use datafusion::sql::sqlparser::ast::{self, ConflictTarget, OnConflictAction, OnInsert};
use rukh_catalog::{ColumnId, KeyElement, KeyExpr, Table};
use rukh_engine::OnConflict;

use super::target::named_columns;
use crate::SqlError;
use crate::statement::ObjectName;

pub(super) fn conflict_of(table: &Table, insert: &ast::Insert) -> Result<OnConflict, SqlError> {
    match &insert.on {
        None => Ok(OnConflict::Error),
        Some(OnInsert::OnConflict(on)) if matches!(on.action, OnConflictAction::DoNothing) => {
            match &on.conflict_target {
                None => Ok(OnConflict::Ignore),
                Some(ConflictTarget::Columns(names)) => {
                    let names: Vec<ast::ObjectName> = names.iter().map(|name| name.clone().into()).collect();
                    conflict_on(table, &named_columns(table, &names)?)
                }
                Some(ConflictTarget::OnConstraint(name)) => conflict_on_constraint(table, name),
            }
        }
        Some(_) => Err(
            SqlError::unsupported("ON CONFLICT DO UPDATE is not supported yet")
                .with_hint("UPSERT INTO writes the row whether its key exists or not."),
        ),
    }
}

/// Finds the primary key or UNIQUE index that has just these columns, in any order.
fn conflict_on(table: &Table, columns: &[ColumnId]) -> Result<OnConflict, SqlError> {
    let is_of = |elements: &[KeyElement]| {
        let column = |element: &KeyElement| match element.expr {
            KeyExpr::Column(id) => Some(id),
            _ => None,
        };
        let held: Option<Vec<ColumnId>> = elements.iter().map(column).collect();
        held.is_some_and(|held| {
            held.iter().all(|id| columns.contains(id)) && columns.iter().all(|id| held.contains(id))
        })
    };
    if is_of(&table.primary_key) {
        return Ok(OnConflict::IgnoreKey);
    }
    let index = table
        .indexes
        .iter()
        .find(|index| index.unique && index.predicate.is_none() && is_of(&index.elements));
    match index {
        Some(index) => Ok(OnConflict::IgnoreIndex(index.id)),
        None => Err(SqlError::statement(
            "42P10",
            "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        )),
    }
}

fn conflict_on_constraint(table: &Table, name: &ast::ObjectName) -> Result<OnConflict, SqlError> {
    let name = ObjectName::from_ast(name)?;
    if name.name == format!("{}_pkey", table.name) {
        return Ok(OnConflict::IgnoreKey);
    }
    let index = table
        .indexes
        .iter()
        .find(|index| index.unique && index.name == name.name);
    match index {
        Some(index) => Ok(OnConflict::IgnoreIndex(index.id)),
        None => {
            let message = format!(
                "constraint \"{}\" for table \"{}\" does not exist",
                name.name, table.name
            );
            Err(SqlError::statement("42704", message).at(name.position))
        }
    }
}
