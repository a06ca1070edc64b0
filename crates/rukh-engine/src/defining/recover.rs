//! What opening a database clears up after a crash.

use crate::forms::recovery::Recovery;
use crate::forms::stored;
use crate::reading::definitions::Lost;
use crate::reading::storages::storage_names;
use crate::state::builds::Build;
use crate::state::shared::Inner;
use crate::writing::ingest;
use crate::{EngineError, NoProgress};
use rukh_catalog::{Catalog, Index, IndexId, IndexState, Schema, Table};
use rukh_kv::{KvStore, WriteBatch};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Completes or removes what a crash has left; runs before the database is given out.
pub(crate) fn recover(inner: &Inner) -> Result<Vec<Recovery>, EngineError> {
    let mut done = Vec::new();
    if ingest::recover(inner.store.as_ref())? {
        done.push(Recovery::CompletedLoad);
    }
    drop_filling(inner, &mut done)?;
    drop_unnamed(inner, &mut done)?;
    mark_lost_indexes(inner, &mut done)?;
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

/// Returns the tables of which storage lacks a column family, with its name.
pub(crate) fn lost_tables(store: &dyn KvStore, catalog: &Catalog) -> Lost {
    let lacks = |table: &Arc<Table>| {
        let mut storages = table.storage_names().into_iter();
        Some((table.id, storages.find(|name| !store.table_exists(name))?))
    };
    // One that was being made goes in any case.
    let made = catalog.tables().filter(|table| !table.options.filling);
    made.filter_map(lacks).collect()
}

/// Returns the indexes of which storage lacks a column family, and that could be filled.
fn lost_indexes<'c>(store: &dyn KvStore, catalog: &'c Catalog) -> Vec<(&'c Arc<Table>, &'c Index)> {
    let lost = lost_tables(store, catalog);
    let of_whole = catalog
        .indexes()
        .filter(|(table, _)| !lost.contains_key(&table.id));
    let lacks = |index: &Index| index.storage_names().iter().any(|name| !store.table_exists(name));
    of_whole.filter(|(_, index)| lacks(index)).collect()
}

/// Returns definitions in which indexes are broken that are not there, or that a database of the format `found` filled otherwise, for
/// a database that is only read.
pub(crate) fn without_unread_indexes(store: &dyn KvStore, catalog: Catalog, found: u32) -> Catalog {
    let mut marked = catalog.clone();
    for table in catalog.tables() {
        if let Some(table) = stored::without_outdated_indexes(table, found, IndexState::Broken) {
            marked = marked.with_table(table);
        }
    }
    for (table, index) in lost_indexes(store, &catalog) {
        let table = marked
            .tables()
            .find(|known| known.id == table.id)
            .unwrap_or(table);
        marked = marked.with_table(with_state(table, index.id, IndexState::Broken));
    }
    marked
}

fn with_state(table: &Table, id: IndexId, state: IndexState) -> Table {
    let mut table = table.clone();
    for index in table.indexes.iter_mut().filter(|index| index.id == id) {
        index.state = state;
    }
    table
}

/// Gives indexes that are not there empty storage, so that rows can be written, and marks those as broken that claim to be complete.
fn mark_lost_indexes(inner: &Inner, done: &mut Vec<Recovery>) -> Result<(), EngineError> {
    let catalog = inner.definitions().catalog.clone();
    for (table, index) in lost_indexes(inner.store.as_ref(), &catalog) {
        inner.create_storage(&index.storage_names(), table)?;
        if index.state == IndexState::Ready {
            let definitions = inner.definitions();
            let table = definitions.catalog.tables().find(|known| known.id == table.id);
            let marked = table.map(|table| with_state(table, index.id, IndexState::Broken));
            if let Some(marked) = marked {
                inner.commit_table(WriteBatch::new(), marked)?;
            }
            let index = index.name.clone();
            done.push(Recovery::BrokenIndex { index });
        }
    }
    Ok(())
}

/// Adds the tables whose rows are missing to the report of the open.
pub(crate) fn tell_of_lost(inner: &mut Inner) {
    let definitions = inner.definitions();
    let lost = definitions
        .catalog
        .tables()
        .filter(|table| definitions.lost(table.id).is_some());
    let recoveries: Vec<Recovery> = lost
        .map(|table| Recovery::LostTable {
            table: table.name.clone(),
        })
        .collect();
    inner.recovered.extend(recoveries);
}

/// Fills an index again from nothing; drops it where its rows or its definition do not allow it.
fn resume(inner: &Inner, id: IndexId, name: &str) -> Result<Recovery, EngineError> {
    let index = name.to_string();
    let snapshot = inner.snapshot();
    let table = snapshot.catalog.index(id).map(|(table, _)| table.id);
    let table = table.ok_or_else(|| crate::building::build::unknown(id))?;
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
    for ty in catalog.types().filter(|ty| ty.schema() == schema.name) {
        stored::delete_type(&mut batch, ty.id());
        next = next.without_type(ty.id());
    }
    for function in catalog
        .functions()
        .filter(|function| function.schema == schema.name)
    {
        stored::delete_function(&mut batch, function.id);
        next = next.without_function(function.id);
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

impl Inner {
    /// Drops column families that no definition names; those that cannot be dropped now are
    /// dropped at the next open. A load that is to be completed may want them first.
    pub(crate) fn drop_unnamed(&self) {
        if !self.is_settled() {
            return;
        }
        let catalog = self.definitions().catalog.clone();
        let unnamed = unnamed(self.store.as_ref(), &catalog).into_iter();
        let private = self.private.lock().clone();
        for name in unnamed.filter(|name| !self.builds.owns(name) && !private.contains(name)) {
            let _ = self.store.drop_table(&name);
        }
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
