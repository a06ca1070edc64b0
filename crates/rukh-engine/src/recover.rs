//! What opening a database clears up after a crash.

use crate::builds::Build;
use crate::engine::{Inner, storage_names};
use crate::{EngineError, NoProgress, ingest, stored};
use rukh_catalog::{Catalog, IndexId, IndexState, Schema};
use rukh_kv::{KvStore, WriteBatch};
use std::collections::BTreeSet;

/// Something that was found half done when the database was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// A bulk load that was cut short while it became visible was completed.
    CompletedLoad,
    /// A column family that no definition names was dropped.
    DroppedStorage {
        /// Its name, such as `t7` or `i9`.
        name: String,
    },
    /// A table whose rows were being written by the statement that made it was dropped.
    DroppedTable {
        /// Name of the table.
        table: String,
    },
    /// An index whose filling was cut short was filled again.
    FilledIndex {
        /// Name of the index.
        index: String,
    },
    /// An index whose filling was cut short could not be filled and was dropped.
    DroppedIndex {
        /// Name of the index.
        index: String,
        /// Why, as the error says.
        reason: String,
    },
}

/// Clears up; runs before anybody else has the database.
pub(crate) fn recover(inner: &Inner) -> Result<Vec<Recovery>, EngineError> {
    let mut done = Vec::new();
    if ingest::recover(inner.store.as_ref())? {
        done.push(Recovery::CompletedLoad);
    }
    drop_filling(inner, &mut done)?;
    drop_unnamed(inner, &mut done)?;
    let catalog = inner.definitions().catalog.clone();
    let building = catalog
        .indexes()
        .filter(|(_, index)| index.state == IndexState::Building);
    for (_, index) in building {
        done.push(resume(inner, index.id, &index.name)?);
    }
    drop_unnamed(inner, &mut done)?;
    Ok(done)
}

/// Fills an index again from nothing; drops it where its rows or its definition do not allow it.
fn resume(inner: &Inner, id: IndexId, name: &str) -> Result<Recovery, EngineError> {
    let index = name.to_string();
    let snapshot = inner.snapshot();
    let table = snapshot.catalog.index(id).map(|(table, _)| table.id);
    let table = table.ok_or_else(|| crate::build::unknown(id))?;
    match inner.fill_at_once(&snapshot, &Build::new(table, id, id, 0), &NoProgress) {
        Ok(()) => Ok(Recovery::FilledIndex { index }),
        Err(error @ EngineError::Kv(_)) => Err(error),
        Err(error) => {
            inner.remove_index(id)?;
            Ok(Recovery::DroppedIndex {
                index,
                reason: error.to_string(),
            })
        }
    }
}

/// Drops tables that are half made, and schemas with what they hold; their column families have no name then.
fn drop_filling(inner: &Inner, done: &mut Vec<Recovery>) -> Result<(), EngineError> {
    for schema in inner.definitions().catalog.clone().schemas() {
        if schema.filling {
            drop_schema(inner, schema, done)?;
        }
    }
    let catalog = inner.definitions().catalog.clone();
    for table in catalog.tables().filter(|table| table.options.filling) {
        let mut batch = WriteBatch::new();
        stored::delete_table(&mut batch, table.id);
        let mut next = inner.definitions().catalog.without_table(table.id);
        for sequence in catalog.sequences_of(table.id) {
            stored::delete_sequence(&mut batch, sequence.id);
            next = next.without_sequence(sequence.id);
        }
        inner.commit_definitions(batch, next)?;
        done.push(Recovery::DroppedTable {
            table: table.name.clone(),
        });
    }
    Ok(())
}

/// Drops a schema with all that is in it, at once.
fn drop_schema(inner: &Inner, schema: &Schema, done: &mut Vec<Recovery>) -> Result<(), EngineError> {
    let catalog = inner.definitions().catalog.clone();
    let mut next = catalog.without_schema(schema.id);
    let mut batch = WriteBatch::new();
    stored::delete_schema(&mut batch, schema.id);
    for table in catalog.tables().filter(|table| table.schema == schema.name) {
        stored::delete_table(&mut batch, table.id);
        next = next.without_table(table.id);
        done.push(Recovery::DroppedTable {
            table: table.name.clone(),
        });
    }
    for sequence in catalog
        .sequences()
        .filter(|sequence| sequence.schema == schema.name)
    {
        stored::delete_sequence(&mut batch, sequence.id);
        next = next.without_sequence(sequence.id);
    }
    for view in catalog.views().filter(|view| view.schema == schema.name) {
        stored::delete_view(&mut batch, view.id);
        next = next.without_view(view.id);
    }
    inner.commit_definitions(batch, next)
}

fn drop_unnamed(inner: &Inner, done: &mut Vec<Recovery>) -> Result<(), EngineError> {
    let catalog = inner.definitions().catalog.clone();
    for name in unnamed(inner.store.as_ref(), &catalog) {
        inner.store.drop_table(&name)?;
        done.push(Recovery::DroppedStorage { name });
    }
    Ok(())
}

/// Returns the column families of tables and indexes that no definition names.
pub(crate) fn unnamed(store: &dyn KvStore, catalog: &Catalog) -> Vec<String> {
    let named: BTreeSet<String> = storage_names(catalog).collect();
    let stray = |name: &String| is_table_or_index(name) && !named.contains(name);
    store.tables().into_iter().filter(stray).collect()
}

/// Whether a column family is named as those of tables and indexes are: `t7`, `t7.f2`, `t7.h`, `t7.c`, `i9`, `i9.c`,
/// `i9.d`, `i9.h`.
fn is_table_or_index(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(index) = name.strip_prefix('i') {
        let mut parts = [".c", ".d", ".h"].into_iter();
        return number(parts.find_map(|part| index.strip_suffix(part)).unwrap_or(index));
    }
    let table = name.strip_prefix('t');
    match table
        .map(|table| table.strip_suffix(".c").unwrap_or(table))
        .map(|table| table.split_once(".f").unwrap_or((table, "0")))
    {
        Some((table, family)) => number(table.strip_suffix(".h").unwrap_or(table)) && number(family),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_and_indexes_are_cleared_up() {
        for name in [
            "t7", "t7.f2", "t7.h", "t7.h.f2", "t7.c", "i9", "i9.c", "i9.d", "i9.h",
        ] {
            assert!(is_table_or_index(name), "{name}");
        }
        for name in [
            "t",
            "i",
            "i.d",
            "i9.e",
            "t.h",
            "t7.f2.h",
            "catalog",
            "statistics",
            "t7.f",
            "t.f2",
            "i.c",
            "total",
            "index",
        ] {
            assert!(!is_table_or_index(name), "{name}");
        }
    }
}
