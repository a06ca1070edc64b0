//! The set of all definitions at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{CatalogError, Index, IndexId, Table, TableId};

/// All definitions at one moment: an immutable value, replaced as a whole by DDL.
///
/// Invariant: table and index names are unique within a schema, ids within the catalog.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Grows by one with every change; cached plans name the version that they were made for.
    pub version: u64,
    tables: BTreeMap<TableId, Arc<Table>>,
}

impl Catalog {
    /// Makes a catalog of tables read from storage.
    pub fn from_tables(tables: impl IntoIterator<Item = Table>) -> Self {
        let tables = tables
            .into_iter()
            .map(|table| (table.id, Arc::new(table)))
            .collect();
        Catalog { version: 1, tables }
    }

    /// Returns the catalog under another version number.
    pub fn at_version(self, version: u64) -> Self {
        Catalog { version, ..self }
    }

    /// Returns all tables in order of creation.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// Returns the table with this id.
    pub fn table(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    /// Returns the table of this name, or an error that names it.
    pub fn table_named(&self, schema: &str, name: &str) -> Result<&Arc<Table>, CatalogError> {
        self.find_table(schema, name)
            .ok_or_else(|| CatalogError::UnknownTable {
                name: name.to_string(),
            })
    }

    /// Returns the index of this name and its table, or an error that names it.
    pub fn index_named(&self, schema: &str, name: &str) -> Result<(&Arc<Table>, &Index), CatalogError> {
        self.indexes()
            .find(|(table, index)| table.schema == schema && index.name == name)
            .ok_or_else(|| CatalogError::UnknownIndex {
                name: name.to_string(),
            })
    }

    /// Returns the index with this id and its table.
    pub fn index(&self, id: IndexId) -> Option<(&Arc<Table>, &Index)> {
        self.indexes().find(|(_, index)| index.id == id)
    }

    /// Returns all indexes with their tables.
    pub fn indexes(&self) -> impl Iterator<Item = (&Arc<Table>, &Index)> {
        self.tables
            .values()
            .flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
    }

    /// Returns the next free id, for a table or an index.
    pub fn next_id(&self) -> u32 {
        let tables = self.tables.keys().map(|id| id.0);
        let indexes = self.indexes().map(|(_, index)| index.id.0);
        tables.chain(indexes).max().map_or(1, |id| id + 1)
    }

    /// Fails if a table or index of this name exists.
    pub fn check_name_free(&self, schema: &str, name: &str) -> Result<(), CatalogError> {
        let taken = self.find_table(schema, name).is_some() || self.index_named(schema, name).is_ok();
        match taken {
            true => Err(CatalogError::DuplicateRelation {
                name: name.to_string(),
            }),
            false => Ok(()),
        }
    }

    /// Returns the catalog with this table added or replaced.
    pub fn with_table(&self, table: Table) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.tables.insert(table.id, Arc::new(table));
        next
    }

    /// Returns the catalog without this table.
    pub fn without_table(&self, id: TableId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.tables.remove(&id);
        next
    }

    fn find_table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        self.tables
            .values()
            .find(|table| table.schema == schema && table.name == name)
    }
}
