//! Indexes and what their entries hold.

use rukh_keys::KeyLayout;
use serde::{Deserialize, Serialize};

use crate::{ColumnId, IndexId, KeyElement, KeyExpr, Table};

/// Whether an index may be read, and whether writes keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexState {
    /// Being filled beside writers, which leave word of what they change: never read.
    Building,
    /// Maintained and complete.
    Ready,
    /// Empty, neither maintained nor read, until it is rebuilt.
    Disabled,
    /// Found to differ from its table: maintained, but not read until it is rebuilt.
    Broken,
}

impl IndexState {
    /// Whether the entries of a row change with it.
    pub fn is_maintained(self) -> bool {
        matches!(self, IndexState::Ready | IndexState::Broken)
    }
}

/// How an index stores its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexLayout {
    /// One key and value for each entry.
    #[default]
    Rows,
    /// Thousands of entries in a block, column by column; changes beside them until they are repacked.
    Columnar,
}

impl IndexLayout {
    fn is_rows(&self) -> bool {
        *self == IndexLayout::Rows
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// The WHERE of a partial index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPredicate {
    /// Normalised SQL text.
    pub sql: String,
    /// Columns that the predicate reads.
    pub columns: Vec<ColumnId>,
}

/// An index: another key order over the rows of a table, maintained with every write.
///
/// Entry: key = `elements`, then the primary-key elements not yet among them; value = `include`
/// columns. UNIQUE: key = `elements` when none is NULL; value = primary key, then `include`.
/// A UNIQUE entry with a NULL has the whole key, and an empty primary key in its value, unless NULLs are not distinct.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// Identity.
    pub id: IndexId,
    /// Name, unique within the schema.
    pub name: String,
    /// Whether no two rows may share the elements' values when none is NULL.
    pub unique: bool,
    /// Whether rows may share these values where one is NULL, though the index is UNIQUE: NULLS DISTINCT.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub nulls_distinct: bool,
    /// Whether an index that is UNIQUE is a constraint of its table, and not what CREATE UNIQUE INDEX made; those
    /// without a note count as constraints. Nothing but what catalogs show depends on it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub constraint: bool,
    /// Elements of the key, as declared.
    pub elements: Vec<KeyElement>,
    /// Columns stored in the entry's value, beside those in its key.
    pub include: Vec<ColumnId>,
    /// Only rows for which this is true have an entry.
    pub predicate: Option<IndexPredicate>,
    /// Whether the index may be read.
    pub state: IndexState,
    /// How entries are stored.
    #[serde(default, skip_serializing_if = "IndexLayout::is_rows")]
    pub layout: IndexLayout,
    /// Columns that could be NULL when the index was made and cannot any more: keys keep the NULL byte.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub once_nullable: Vec<ColumnId>,
    /// Whether former images have entries, too: the history of the table then has this index. It is made and filled
    /// together with the index, whose state is that of both. One that is older than such entries gets them when it is rebuilt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub former: bool,
}

impl Index {
    /// Returns the elements of a whole entry key: declared ones, then the rest of the primary key.
    pub fn key_elements(&self, table: &Table) -> Vec<KeyElement> {
        let mut all = self.elements.clone();
        for element in &table.primary_key {
            if !all.iter().any(|e| e.expr == element.expr) {
                all.push(element.clone());
            }
        }
        all
    }

    /// Returns the layout of a whole entry key.
    ///
    /// The key of a UNIQUE entry without NULL, or whose NULLs are not distinct, is the encoding of its first
    /// [`Index::searchable`] columns in this layout.
    pub fn key_layout(&self, table: &Table) -> KeyLayout {
        let elements = self.key_elements(table);
        let mut columns = table.key_columns(&elements);
        for (column, element) in columns.iter_mut().zip(&elements) {
            if let KeyExpr::Column(id) | KeyExpr::Hash { column: id, .. } = &element.expr {
                column.nullable |= self.once_nullable.contains(id);
            }
        }
        KeyLayout::new(columns, None)
    }

    /// Returns how many leading columns of [`Index::key_layout`] every entry's key has.
    ///
    /// Spans and masked compares may be on these only: a UNIQUE entry without NULL keeps its
    /// primary key in the value.
    pub fn searchable(&self, table: &Table) -> usize {
        if self.unique {
            self.elements.len()
        } else {
            self.key_elements(table).len()
        }
    }

    /// Returns whether an entry alone gives the value of `column`. When a row was written all its entries say, but those
    /// in blocks do not.
    pub fn covers(&self, table: &Table, column: ColumnId) -> bool {
        self.include.contains(&column)
            || table.in_primary_key(column)
            || self.elements.iter().any(|e| e.expr == KeyExpr::Column(column))
            || (column == ColumnId::WRITTEN && !self.is_columnar())
    }

    /// Returns every column that maintaining this index reads.
    pub fn columns_read(&self, table: &Table) -> Vec<ColumnId> {
        let predicate = self.predicate.iter().flat_map(|p| p.columns.iter().copied());
        let elements = self
            .key_elements(table)
            .into_iter()
            .flat_map(|e| e.expr.columns());
        let mut all: Vec<_> = elements
            .chain(self.include.iter().copied())
            .chain(predicate)
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Returns the name of the column family that holds the entries: `i9`, or `i9.h` of an index of a history.
    pub fn storage_name(&self) -> String {
        Index::storage_name_of(self.id)
    }

    /// Whether entries are stored in blocks, column by column.
    pub fn is_columnar(&self) -> bool {
        self.layout == IndexLayout::Columnar
    }

    /// Returns the name of the column family that holds the blocks of a columnar index: `i9.c`.
    /// Changes that are in no block yet are in that of [`Index::storage_name`].
    pub fn blocks_name(&self) -> String {
        format!("i{}.c", self.id.0)
    }

    /// Returns the names of all column families of the index, with those of former images.
    pub fn storage_names(&self) -> Vec<String> {
        let blocks = self.is_columnar().then(|| self.blocks_name());
        let former = self.former.then(|| Index::storage_name_of(self.id.history()));
        std::iter::once(self.storage_name())
            .chain(blocks)
            .chain(former)
            .collect()
    }

    /// Returns the name of the column family of the index with this id.
    pub fn storage_name_of(id: IndexId) -> String {
        match id.history_of() {
            None => format!("i{}", id.0),
            Some(index) => format!("i{}.h", index.0),
        }
    }
}
