//! Columns that statements name, in a list of definitions.

use rukh_catalog::{Column, ColumnId};
use rukh_syntax::Name;

use rukh_error::SqlError;

pub(super) fn column_id(columns: &[Column], name: &Name) -> Result<ColumnId, SqlError> {
    let found = columns.iter().find(|column| column.name == name.text);
    found
        .map(|column| column.id)
        .ok_or_else(|| SqlError::undefined_column(&name.text).at(name.position))
}

pub(super) fn column_ids(columns: &[Column], names: &[Name]) -> Result<Vec<ColumnId>, SqlError> {
    names.iter().map(|name| column_id(columns, name)).collect()
}
