//! VERSIONS: tables that remember what their rows were.
//!
//! What a row was before it was changed or removed, a former image, lies in a column family of its own, beside the
//! table's. Nothing of it is defined twice: the history is a [`Table`] that is derived from its table whenever that is
//! prepared for reading, with the same columns, families and row layouts, and the time at which an image ended as last
//! element of the key. So a definition that changes takes its history along.
//!
//! ```text
//! t            key k                  value: columns, when the row was written
//! t:history    key k, row_end DESC    value: as it was in t
//! ```

use rukh_keys::{DataType, SortOrder};
use serde::{Deserialize, Serialize};

use crate::validate::invalid;
use crate::{
    CatalogError, Column, ColumnId, ColumnValues, FamilyId, KeyElement, KeyExpr, SaltOptions, Table, TableId,
};

/// The column that says since when an image stands.
pub const ROW_START: &str = "row_start";

/// The column of former images that says when they ended.
pub const ROW_END: &str = "row_end";

/// Most images of a row.
pub const VERSIONS_MAX: u32 = 1_000_000;

/// Ids of columns are less, for the planner packs other things beside them; no table gives so many.
const COLUMN_IDS_MAX: u32 = 1 << 28;

/// Set in the id of a history; no table is given such an id.
const HISTORY: u32 = 1 << 31;

/// How a table keeps former images of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// How many images of a row are kept, the present one counted; at least two.
    pub kept: u32,
    /// Since when images stand that carry no time, because they are older than VERSIONS: microseconds since
    /// 1970-01-01 00:00 UTC.
    pub since_micros: i64,
}

impl ColumnId {
    /// When a row was written, which every value of a table with VERSIONS carries.
    pub const WRITTEN: ColumnId = ColumnId(COLUMN_IDS_MAX - 1);

    /// When a former image ended, the last element of its key.
    pub const ENDED: ColumnId = ColumnId(COLUMN_IDS_MAX - 2);

    /// Since when the life of a row counts, in blocks of columnar tables and indexes; nobody but the engine reads it.
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

impl Table {
    /// Returns the table of former images, `t:history`, if there is one; it has no indexes.
    pub fn history(&self) -> Option<Table> {
        if self.id.history_of().is_some() {
            return None;
        }
        let mut history = self.standing()?;
        history.id = self.id.history();
        // Former images are looked for by key, and go one by one.
        history.options.columnar = false;
        history.name = format!("{}:history", self.name);
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
        history.indexes.clear();
        history.checks.clear();
        Some(history)
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

fn period_column(id: ColumnId, name: &str) -> Column {
    Column {
        id,
        name: name.to_string(),
        ty: DataType::TimestampTz,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: ColumnValues::default(),
    }
}
