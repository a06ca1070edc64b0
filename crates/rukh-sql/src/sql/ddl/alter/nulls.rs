//! SET NOT NULL and DROP NOT NULL, and what becomes of the keys of indexes.
//!
//! Keys of a column that may be NULL have a NULL byte. They keep it when NULL is forbidden. Those that
//! never had it get it before NULL is allowed: their index is rebuilt, beside writers.

use rukh_catalog::{ColumnId, Index, IndexState, KeyElement, Table};

use super::table::Change;
use crate::sql::ddl::create_index::index_error;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_syntax::Name;

/// Rebuilds the indexes whose keys have a column that could never be NULL: keys of one that can have a byte more.
pub(in crate::sql::ddl) fn make_place_for_nulls(
    session: &mut Session,
    table: &Table,
    name: &Name,
) -> Result<(), SqlError> {
    let Some(column) = table.column_named(&name.text).filter(|column| !column.nullable) else {
        return Ok(());
    };
    let has = |columns: Vec<ColumnId>| columns.contains(&column.id);
    if table
        .primary_key
        .iter()
        .any(|element| has(element.expr.columns()))
        || column.values.counter
    {
        return Ok(());
    }
    let lacks_place = |index: &&Index| {
        index.elements.iter().any(|element| has(element.expr.columns()))
            && !index.once_nullable.contains(&column.id)
            && index.state != IndexState::Disabled
    };
    for index in table.indexes.iter().filter(lacks_place) {
        let task = session.task(format!("index {}", index.name), "rows");
        let rebuilt = session
            .engine()
            .rebuild_index_for_nulls(index.id, &[column.id], &task);
        rebuilt.map_err(|error| index_error(error).at(name.position))?;
    }
    Ok(())
}

impl Change<'_> {
    pub(in crate::sql::ddl) fn set_nullable(&mut self, name: &Name, nullable: bool) -> Result<(), SqlError> {
        let at = self.position(name)?;
        let id = self.next.columns[at].id;
        let mut keys = self
            .next
            .primary_key
            .iter()
            .flat_map(|element| element.expr.columns());
        if nullable && keys.any(|key| key == id) {
            let message = format!("column \"{}\" is in a primary key", name.text);
            return Err(SqlError::statement("42P16", message).at(name.position));
        }
        let column = &self.next.columns[at];
        if column.nullable == nullable {
            return Ok(());
        }
        if column.values.counter {
            let message = format!("column \"{}\" is a counter, which is never NULL", name.text);
            return Err(SqlError::statement("42P16", message).at(name.position));
        }
        self.keep_index_keys(id, nullable, name)?;
        let column = &mut self.next.columns[at];
        column.nullable = nullable;
        match nullable {
            true => self.not_null.retain(|column| *column != id),
            false => self.not_null.push(id),
        }
        Ok(())
    }

    /// Keeps the keys of indexes as they are, whether or not a column of theirs may be NULL from now on.
    fn keep_index_keys(&mut self, id: ColumnId, nullable: bool, name: &Name) -> Result<(), SqlError> {
        for index in &mut self.next.indexes {
            let reads = |element: &KeyElement| element.expr.columns().contains(&id);
            if !index.elements.iter().any(reads) {
                continue;
            }
            let was_nullable = index.once_nullable.contains(&id);
            match nullable {
                false if !was_nullable => index.once_nullable.push(id),
                true if was_nullable => {
                    index.once_nullable.retain(|known| *known != id);
                }
                // One that is not filled has no keys.
                true if index.state == IndexState::Disabled => {}
                false => {}
                true => {
                    let message = format!(
                        "cannot drop NOT NULL of column \"{}\" because index \"{}\" was made meanwhile",
                        name.text, index.name
                    );
                    return Err(SqlError::statement("55006", message)
                        .at(name.position)
                        .with_hint("Try again."));
                }
            }
        }
        Ok(())
    }
}
