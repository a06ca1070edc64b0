//! How many keys tables have, about: counted once, and again when enough has changed.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use rukh_commit::Change;

use super::keys::TableId;
use crate::Row;

/// Changes after which a count holds however small the table is.
const CHANGES_MIN: u64 = 100;

/// What is known of the sizes of tables.
#[derive(Default)]
pub(super) struct Sizes(Mutex<HashMap<TableId, Size>>);

struct Size {
    keys: u64,
    /// Rows that commits have changed since they were counted.
    changed: u64,
}

impl Sizes {
    /// Returns how many keys a table has, unless it is to be counted.
    pub(super) fn keys(&self, table: TableId) -> Option<u64> {
        let sizes = self.0.lock();
        let size = sizes.get(&table)?;
        (size.changed <= (size.keys / 4).max(CHANGES_MIN)).then_some(size.keys)
    }

    /// Notes how many keys a table has.
    pub(super) fn counted(&self, table: TableId, keys: u64) {
        self.0.lock().insert(table, Size { keys, changed: 0 });
    }

    /// Notes how many rows of each table a commit has changed.
    pub(super) fn changed(&self, rows: BTreeMap<TableId, u64>) {
        let mut sizes = self.0.lock();
        for (table, rows) in rows {
            if let Some(size) = sizes.get_mut(&table) {
                size.changed += rows;
            }
        }
    }
}

/// Counts the rows of each table among changes.
pub(super) fn changed_rows<V>(changes: &BTreeMap<Row, Change<V>>) -> BTreeMap<TableId, u64> {
    let mut rows = BTreeMap::new();
    for row in changes.keys() {
        if let Some(table) = row.key.first_chunk() {
            *rows.entry(TableId::from_be_bytes(*table)).or_default() += 1;
        }
    }
    rows
}
