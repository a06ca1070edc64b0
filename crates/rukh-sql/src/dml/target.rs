//! What all statements that write have in common: the table, its columns by name, the commit.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;
use rukh_catalog::{Catalog, Column, ColumnId, Table};
use rukh_engine::Write;

use crate::SqlError;
use crate::session::Session;
use crate::statement::ObjectName;

/// Makes the changes of a statement durable, unless it was cancelled.
pub(super) fn commit(session: &Session, write: Write) -> Result<(), SqlError> {
    session.check_cancel()?;
    Ok(write.commit(session.durability())?)
}

pub(super) fn target(catalog: &Catalog, name: &ObjectName) -> Result<Arc<Table>, SqlError> {
    let schema = name.schema.as_deref().unwrap_or("public");
    if catalog.view_named(schema, &name.name).is_some() {
        let message = format!("cannot change rows of view \"{}\"", name.name);
        return Err(SqlError::unsupported(message).at(name.position));
    }
    let table = catalog.table_named(schema, &name.name);
    table
        .cloned()
        .map_err(|error| SqlError::from(error).at(name.position))
}

pub(super) fn refuse(given: bool, what: &str) -> Result<(), SqlError> {
    match given {
        true => Err(SqlError::unsupported(format!("{what} is not supported yet"))),
        false => Ok(()),
    }
}

/// Returns the columns that the statement names, or all in declared order.
pub(super) fn named_columns(table: &Table, names: &[ast::ObjectName]) -> Result<Vec<ColumnId>, SqlError> {
    if names.is_empty() {
        return Ok(table.columns.iter().map(|column| column.id).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let name = ObjectName::from_ast(name)?;
        let column = column_of(table, &name)?;
        if columns.contains(&column.id) {
            let message = format!("column \"{}\" specified more than once", name.name);
            return Err(SqlError::statement("42701", message).at(name.position));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

pub(super) fn column_of<'t>(table: &'t Table, name: &ObjectName) -> Result<&'t Column, SqlError> {
    table.column_named(&name.name).ok_or_else(|| {
        let message = format!(
            "column \"{}\" of relation \"{}\" does not exist",
            name.name, table.name
        );
        SqlError::statement("42703", message).at(name.position)
    })
}
