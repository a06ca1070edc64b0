//! How many rows tables have, kept with every commit: `count(*)` of a table reads one key.
//!
//! The column family `catalog` has under `rows/<id>` the number of rows of a table, in decimal, where it is known. A commit says by how
//! many rows the tables that it changes grow ([`Growth`]), and the new number is in its batch: every snapshot has the number of its own rows.
//!
//! | what is written                                   | the number                               |
//! |---------------------------------------------------|------------------------------------------|
//! | a commit that knows by how much tables grow       | is changed in the same batch             |
//! | a commit that knows it only about                 | is removed in the same batch             |
//! | another batch that touches rows of the table      | is removed in the same batch             |
//! | files that storage takes as they are              | is removed before, durably               |
//!
//! As all writes go through a `WatchedStore`, none is left out. A number that is not there is found by counting, beside writers:
//! [`RowCounts::begin`] under the writer lock, of a snapshot since which nothing was written, then [`RowCounts::end`] under it again. What commits meanwhile
//! add is added. A table whose rows were never counted costs nothing.
//!
//! Not kept: tables whose rows expire, former images, and databases that several processes write.

use parking_lot::Mutex;
use rukh_catalog::{StoredCatalog, Table, TableId, rows_key};
use rukh_keys::KeyRange;
use rukh_kv::{KvError, KvSnapshot, KvStore, ScanSpec, WriteBatch};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::Sum;
use std::ops::AddAssign;

/// Column family of the numbers.
pub(crate) const ROW_COUNTS: &str = StoredCatalog::NAME;

/// By how many rows tables grow.
pub(crate) type Growth = BTreeMap<TableId, Grown>;

/// By how many rows a table grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grown {
    /// Rows that come less rows that go.
    pub(crate) rows: i64,
    /// Whether it is just that many; else it is unknown which of the rows put were there.
    pub(crate) is_exact: bool,
}

/// What is known of the numbers of rows of a store.
#[derive(Default)]
pub(crate) struct RowCounts {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Of tables that are not here the number is unknown.
    rows: HashMap<TableId, Rows>,
    /// Tables of which storage knows more: a commit failed.
    doubted: BTreeSet<TableId>,
    /// The ticket of the last count.
    ticket: u64,
}

/// What is known of the number of rows of a table, as of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// It is stored.
    Kept(u64),
    /// They are being counted.
    Counting {
        /// Whose count it is.
        ticket: u64,
        /// By how many rows the table has grown since it began.
        grown: i64,
    },
    /// It is not stored.
    Unknown,
}

/// What becomes of the numbers with a commit.
pub(crate) type Staged = Vec<(TableId, Rows)>;

/// Whether the number of rows of a table may be kept in a store: they do not expire, and no other process writes.
pub(crate) fn may_keep_rows(table: &Table, store: &dyn KvStore) -> bool {
    !table.options.timed && table.id.history_of().is_none() && store.local().is_some()
}

/// Returns the stored number of rows of a table.
pub(crate) fn stored_rows(kv: &dyn KvSnapshot, id: TableId) -> Result<Option<u64>, KvError> {
    let value = kv.get(ROW_COUNTS, &rows_key(id))?;
    Ok(value.and_then(|value| number(&value)))
}

/// Returns a number of rows. What is none is as good as none stored: the rows are there to be counted.
fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Returns the table whose rows are in a table of storage: `t7`, `t7.f2` and `t7.c`, but not `t7.h`, which has former images.
fn table_of(storage: &str) -> Option<TableId> {
    let (id, rest) = match storage.strip_prefix('t')?.split_once('.') {
        Some((id, rest)) => (id, rest),
        None => (storage.strip_prefix('t')?, ""),
    };
    let is_former = rest.split('.').next() == Some("h");
    (!is_former).then(|| id.parse().ok().map(TableId))?
}

/// Returns the tables whose rows are in some tables of storage.
pub(crate) fn tables_of<'s>(storages: impl Iterator<Item = &'s str>) -> BTreeSet<TableId> {
    storages.filter_map(table_of).collect()
}

impl RowCounts {
    /// Takes the numbers that are stored, before anything is written.
    pub(crate) fn load(&self, store: &dyn KvStore) -> Result<(), KvError> {
        if store.local().is_none() {
            return Ok(());
        }
        let spec = ScanSpec::ranges(vec![KeyRange::prefix(StoredCatalog::ROWS_PREFIX.to_vec())]);
        let kv = store.snapshot();
        let mut cursor = kv.scan(ROW_COUNTS, spec)?;
        let mut known = self.known.lock();
        while let Some(entry) = cursor.next()? {
            let digits = entry
                .key
                .strip_prefix(StoredCatalog::ROWS_PREFIX)
                .unwrap_or_default();
            let id = std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse().ok());
            if let (Some(id), Some(rows)) = (id, number(entry.value)) {
                known.rows.insert(TableId(id), Rows::Kept(rows));
            }
        }
        Ok(())
    }

    /// Returns what is known of the number of rows of a table. The caller holds the writer lock, or asks for advice.
    pub(crate) fn of(&self, store: &dyn KvStore, id: TableId) -> Result<Rows, KvError> {
        known(&mut self.known.lock(), store, id)
    }

    /// Puts the numbers into a batch that a commit is about to write; returns what is to be [noted](RowCounts::note) once it has.
    pub(crate) fn stage(
        &self,
        store: &dyn KvStore,
        batch: &mut WriteBatch,
        growth: &Growth,
    ) -> Result<Staged, KvError> {
        let mut staged = Staged::new();
        if store.local().is_none() {
            return Ok(staged);
        }
        let tables = tables_of(batch.tables().iter().map(String::as_str));
        if tables.is_empty() {
            return Ok(staged);
        }
        let mut all = self.known.lock();
        for id in tables {
            let before = known(&mut all, store, id)?;
            let grown = growth.get(&id).filter(|grown| grown.is_exact);
            let after = before.and(grown.map(|grown| grown.rows));
            if after == before {
                continue;
            }
            match (before, after) {
                (_, Rows::Kept(rows)) => batch.put(ROW_COUNTS, &rows_key(id), rows.to_string().as_bytes()),
                (Rows::Kept(_), _) => batch.delete(ROW_COUNTS, &rows_key(id)),
                _ => {}
            }
            staged.push((id, after));
        }
        Ok(staged)
    }

    /// Takes what was staged, once it is stored and before another commit is.
    pub(crate) fn note(&self, staged: Staged) {
        if !staged.is_empty() {
            self.known.lock().rows.extend(staged);
        }
    }

    /// Gives up what was staged of a commit that failed: it may be stored.
    pub(crate) fn doubt(&self, staged: Staged) {
        let mut known = self.known.lock();
        for (id, _) in staged {
            known.rows.remove(&id);
            known.doubted.insert(id);
        }
    }

    /// Begins to count the rows of a table whose number is not known; `None` where it is. The caller holds the writer lock, and
    /// counts a snapshot since which nothing was written.
    pub(crate) fn begin(&self, store: &dyn KvStore, id: TableId) -> Result<Option<u64>, KvError> {
        let mut all = self.known.lock();
        if let Rows::Kept(_) = known(&mut all, store, id)? {
            return Ok(None);
        }
        all.ticket += 1;
        let ticket = all.ticket;
        all.rows.insert(id, Rows::Counting { ticket, grown: 0 });
        Ok(Some(ticket))
    }

    /// Ends a count of `rows`; returns the number to keep, unless it is not certain any more. The caller holds the writer lock.
    pub(crate) fn end(&self, id: TableId, ticket: u64, rows: u64) -> Option<u64> {
        let mut all = self.known.lock();
        match all.rows.get(&id) {
            Some(Rows::Counting { ticket: last, grown }) if *last == ticket => {
                let now = rows.checked_add_signed(*grown);
                all.rows.insert(id, Rows::Unknown);
                now
            }
            _ => None,
        }
    }
}

impl Rows {
    /// Returns what is known after a commit by which the table grows, if it says by how many rows.
    pub(crate) fn and(self, grown: Option<i64>) -> Rows {
        match (self, grown) {
            (Rows::Kept(rows), Some(grown)) => {
                rows.checked_add_signed(grown).map_or(Rows::Unknown, Rows::Kept)
            }
            (
                Rows::Counting {
                    ticket,
                    grown: before,
                },
                Some(grown),
            ) => {
                let grown = before.saturating_add(grown);
                Rows::Counting { ticket, grown }
            }
            (_, None) | (Rows::Unknown, _) => Rows::Unknown,
        }
    }
}

impl Grown {
    /// The number is certain.
    pub(crate) fn exactly(rows: i64) -> Self {
        Grown { rows, is_exact: true }
    }

    /// It is unknown which of the rows put were there.
    pub(crate) fn about(rows: i64) -> Self {
        Grown {
            rows,
            is_exact: false,
        }
    }
}

impl Default for Grown {
    fn default() -> Self {
        Grown::exactly(0)
    }
}

impl AddAssign for Grown {
    fn add_assign(&mut self, more: Self) {
        self.rows = self.rows.saturating_add(more.rows);
        self.is_exact = self.is_exact && more.is_exact;
    }
}

impl Sum for Grown {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Grown::default(), |mut sum, part| {
            sum += part;
            sum
        })
    }
}

fn known(all: &mut Known, store: &dyn KvStore, id: TableId) -> Result<Rows, KvError> {
    if all.doubted.contains(&id) {
        if let Some(rows) = stored_rows(store.latest().as_ref(), id)? {
            all.rows.insert(id, Rows::Kept(rows));
        }
        all.doubted.remove(&id);
    }
    Ok(all.rows.get(&id).copied().unwrap_or(Rows::Unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_families_and_blocks_of_a_table() {
        let names = [
            "t7", "t7.f2", "t8.c", "t9.h", "t9.h.f2", "t10.h.c", "i7", "catalog", "t", "tx",
        ];
        let tables: Vec<u32> = tables_of(names.into_iter()).into_iter().map(|id| id.0).collect();
        assert_eq!(tables, [7, 8]);
    }

    #[test]
    fn a_number_that_would_be_negative_is_none() {
        assert_eq!(Rows::Kept(2).and(Some(-2)), Rows::Kept(0));
        assert_eq!(Rows::Kept(2).and(Some(-3)), Rows::Unknown);
        assert_eq!(Rows::Kept(2).and(None), Rows::Unknown);
        assert_eq!(Rows::Unknown.and(Some(1)), Rows::Unknown);
    }
}
