//! VERSIONS: tables that remember what their rows were.
//!
//! What a row was before it was changed or removed, a former image, lies in a column family of its own, beside the
//! table's. Nothing of it is defined twice: the history is a [`Table`] that is derived from its table whenever that is
//! prepared for reading, with the same columns, families and row layouts, and the time at which an image ended as last
//! element of the key. So a definition that changes takes its history along. Its indexes are derived in the same way from
//! those of the table that have entries for former images ([`Index::former`]); none of them is UNIQUE.
//!
//! ```text
//! t            key k                  value: columns, when the row was written
//! t:history    key k, row_end DESC    value: as it was in t
//! t@i          key a, k               value: included columns, when the row was written
//! t:history@i  key a, k, row_end DESC value: included columns, when the row was written
//! ```
//!
//! NOT NULL, CHECK and UNIQUE are said of what rows are, and former images may be older than that: columns of a history that are
//! not in its key can be NULL.

use rukh_keys::{DataType, SortOrder};

use crate::error::invalid;
use crate::{
    CatalogError, Column, ColumnId, ColumnValues, FamilyId, Index, IndexId, KeyElement, KeyExpr, SaltOptions,
    Table, TableId,
};

/// The column that says since when an image stands.
pub const ROW_START: &str = "row_start";

/// The column of former images that says when they ended.
pub const ROW_END: &str = "row_end";

/// Most images of a row.
pub const VERSIONS_MAX: u32 = 1_000_000;

/// Ids of columns are less, for the planner packs other things beside them; no table gives so many.
const COLUMN_IDS_MAX: u32 = 1 << 28;

/// Set in the id of a history and of its indexes; no table or index is given such an id.
const HISTORY: u32 = 1 << 31;

/// What follows the name of a table in that of its history.
const HISTORY_NAME: &str = ":history";

impl ColumnId {
    /// When a row was written, which every value of a table with VERSIONS carries.
    pub const WRITTEN: ColumnId = ColumnId(COLUMN_IDS_MAX - 1);

    /// When a former image ended, the last element of its key.
    pub const ENDED: ColumnId = ColumnId(COLUMN_IDS_MAX - 2);

    /// Since when the life of a row counts, in blocks of columnar tables and indexes; only the engine reads it.
    pub const LIFE: ColumnId = ColumnId(COLUMN_IDS_MAX - 3);
}

impl TableId {
    /// Returns the id of the table's history.
    pub fn history(self) -> TableId {
        TableId(self.0 | HISTORY)
    }

    /// Returns the table that this is the history of.
    pub fn history_of(self) -> Option<TableId> {
        (self.0 & HISTORY != 0).then_some(TableId(self.0 & !HISTORY))
    }
}

impl IndexId {
    /// Returns the id of what the index has of former images.
    pub fn history(self) -> IndexId {
        IndexId(self.0 | HISTORY)
    }

    /// Returns the id of the index that this has the former images of.
    pub fn history_of(self) -> Option<IndexId> {
        (self.0 & HISTORY != 0).then_some(IndexId(self.0 & !HISTORY))
    }
}

impl Table {
    /// Returns the table of former images, `t:history`, if there is one, with the indexes that have entries for them.
    pub fn history(&self) -> Option<Table> {
        if self.id.history_of().is_some() {
            return None;
        }
        let mut history = self.standing()?;
        history.id = self.id.history();
        // Former images are looked for by key, and go one by one.
        history.options.columnar = false;
        history.name = format!("{}{HISTORY_NAME}", self.name);
        let in_key = |id| {
            self.primary_key
                .iter()
                .any(|element| element.expr.columns().contains(&id))
        };
        for column in &mut history.columns {
            column.nullable |= !in_key(column.id) && column.id != ColumnId::WRITTEN;
        }
        history.columns.push(period_column(ColumnId::ENDED, ROW_END));
        // The bucket of a row is that of its images.
        if let Some(salt) = &self.salt {
            let all = || self.primary_key.iter().flat_map(|element| element.expr.columns());
            history.salt = Some(SaltOptions {
                buckets: salt.buckets,
                columns: Some(salt.columns.clone().unwrap_or_else(|| all().collect())),
            });
        }
        history.primary_key.push(KeyElement {
            expr: KeyExpr::Column(ColumnId::ENDED),
            order: SortOrder::Desc,
        });
        history.indexes = self.indexes.iter().filter_map(Index::history).collect();
        history.checks.clear();
        history.foreign_keys.clear();
        Some(history)
    }

    /// Returns the name of the table whose rows, or former images of them, this table has.
    pub fn name_of_rows(&self) -> &str {
        match self.id.history_of() {
            Some(_) => self.name.strip_suffix(HISTORY_NAME).unwrap_or(&self.name),
            None => &self.name,
        }
    }

    /// Whether an index of the table that is filled gets entries for former images.
    pub fn keeps_former(&self, index: &Index) -> bool {
        self.options.versions.is_some() && !index.is_columnar()
    }

    /// Has indexes entries for former images if the table begins to keep such images, and none if it ends; `before` is the
    /// table as it was.
    pub fn settle_former(&mut self, before: &Table) {
        let begins = before.options.versions.is_none();
        let kept: Vec<bool> = self
            .indexes
            .iter()
            .map(|index| self.keeps_former(index))
            .collect();
        for (index, kept) in self.indexes.iter_mut().zip(kept) {
            index.former = kept && (begins || index.former);
        }
    }

    /// Returns the table with the column [`ROW_START`], if it has VERSIONS.
    pub fn standing(&self) -> Option<Table> {
        self.options.versions?;
        let mut standing = self.clone();
        standing.columns.push(period_column(ColumnId::WRITTEN, ROW_START));
        Some(standing)
    }

    /// Checks that what is said of versions can be kept.
    pub fn check_versions(&self) -> Result<(), CatalogError> {
        let Some(versions) = &self.options.versions else {
            let alone = self
                .families
                .iter()
                .find(|family| family.options.versions.is_some());
            return match alone {
                None => Ok(()),
                Some(family) => invalid(format!(
                    "family \"{}\" cannot have VERSIONS because its table has none",
                    family.name
                )),
            };
        };
        if self.row_id().is_some() {
            return Err(CatalogError::Unsupported {
                message: format!(
                    "table \"{}\" cannot have VERSIONS because it has no primary key",
                    self.name
                ),
            });
        }
        if !(2..=VERSIONS_MAX).contains(&versions.kept) || !self.options.timed {
            return invalid(format!(
                "a table keeps between 2 and {VERSIONS_MAX} versions of rows that carry times"
            ));
        }
        for family in self
            .families
            .iter()
            .filter(|family| family.options.versions.is_some())
        {
            let kept = family.options.versions.unwrap_or_default();
            if kept == 0 || kept > versions.kept || family.id.0 == 0 {
                return invalid(format!(
                    "VERSIONS of family \"{}\" cannot be more than that of its table",
                    family.name
                ));
            }
            let mut columns = self.columns.iter().filter(|column| column.family == family.id);
            if let Some(column) = columns.find(|column| kept < versions.kept && !column.nullable) {
                return invalid(format!(
                    "column \"{}\" cannot be NOT NULL in a family with fewer VERSIONS than its table",
                    column.name
                ));
            }
        }
        let taken = |column: &&Column| [ROW_START, ROW_END].contains(&column.name.as_str());
        match self.columns.iter().find(taken) {
            None => Ok(()),
            Some(column) => invalid(format!(
                "column name \"{}\" is taken in a table with VERSIONS",
                column.name
            )),
        }
    }
}

impl Index {
    /// Returns the index of former images, if there is one. It finds images wherever its index finds rows, and any number
    /// of them may have one key.
    fn history(&self) -> Option<Index> {
        let mut history = self.clone();
        history.id = self.id.history();
        history.unique = false;
        for element in &mut history.elements {
            if let KeyExpr::Expression { nullable, .. } = &mut element.expr {
                *nullable = true;
            }
        }
        self.former.then_some(history)
    }
}

fn period_column(id: ColumnId, name: &str) -> Column {
    Column {
        id,
        name: name.to_string(),
        ty: DataType::TIMESTAMP_TZ,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: ColumnValues::default(),
    }
}
