//! When blocks change: between two changes of any, a reader need not check again whether a block is the same.
//!
//! All writes go through a [`WatchedStore`], which counts those that touch blocks when they begin and when they end. A snapshot
//! that was taken while none was under way belongs to one *state of blocks*, identified by their number; two snapshots of the same state have the
//! same blocks. One that was taken beside such a write belongs to none, and so does one of another store.
//!
//! Changes beside blocks come with every write. So writes have numbers, too ([`Writes`]), and a snapshot knows up to which one all had ended when
//! it was taken. The last write of a table is noted from the first request on: a snapshot that has this one, and of
//! which all later ones are of other tables, has the table in the state that this write left.

use crate::storage::row_counts::{Growth, ROW_COUNTS, RowCounts, Rows, Staged, tables_of};
use parking_lot::{Mutex, RwLock};
use rukh_catalog::{TableId, rows_key};
use rukh_kv::forward_store;
use rukh_kv::{
    Commit, Committed, Durability, KvError, KvSnapshot, KvStore, LoadFile, LocalFiles, TableName,
    TableOptions, Traffic, Turn, WriteBatch,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How the names of column families end that have blocks.
const OF_BLOCKS: &str = ".c";

/// A store whose writes to blocks are counted, and that keeps the numbers of rows (`row_counts`).
pub(crate) struct WatchedStore {
    store: Arc<dyn KvStore>,
    row_counts: RowCounts,
    started: AtomicU64,
    finished: AtomicU64,
    /// All writes, of blocks or not.
    writes: Arc<Writes>,
    is_frozen: AtomicBool,
    /// Shown in place of what is stored, while that is half of something.
    frozen: RwLock<Option<(Arc<dyn KvSnapshot>, States)>>,
}

/// What is known of the moment of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct States {
    /// The state of blocks that it belongs to.
    pub(crate) blocks: Option<u64>,
    /// The number of a write: when the snapshot was taken, this one and all before it had ended.
    pub(crate) writes: Option<u64>,
}

/// The writes of a store by number, from 1.
#[derive(Default)]
pub(crate) struct Writes {
    /// This one and all before it have ended.
    ended: AtomicU64,
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    started: u64,
    /// Those that have not ended, ascending.
    running: Vec<u64>,
    /// Of each requested table, the last write that changed it, or an earlier one than is known.
    last: HashMap<String, u64>,
}

impl Writes {
    /// Begins a write of these tables; returns its number.
    fn begin<'t>(&self, tables: impl Iterator<Item = &'t str>) -> u64 {
        let mut under_way = self.under_way.lock();
        under_way.started += 1;
        let number = under_way.started;
        under_way.running.push(number);
        if !under_way.last.is_empty() {
            for table in tables {
                if let Some(last) = under_way.last.get_mut(table) {
                    *last = number;
                }
            }
        }
        number
    }

    fn end(&self, number: u64) {
        let mut under_way = self.under_way.lock();
        under_way.running.retain(|running| *running != number);
        let first = under_way.running.first();
        let ended = first.map_or(under_way.started, |first| first - 1);
        self.ended.store(ended, Ordering::SeqCst);
    }

    /// Returns the write that left a table as a snapshot has it, which was taken when all writes up to `ended` had ended; `None` if there
    /// was another since. The same number means the same state of the table.
    pub(crate) fn state_of(&self, table: &str, ended: u64) -> Option<u64> {
        let mut under_way = self.under_way.lock();
        // Whatever was written before the first question belongs to the first state.
        let started = under_way.started;
        let last = match under_way.last.get(table) {
            Some(last) => *last,
            None => *under_way.last.entry(table.to_string()).or_insert(started),
        };
        (last <= ended).then_some(last)
    }
}

impl WatchedStore {
    pub(crate) fn new(store: Arc<dyn KvStore>, writes: Arc<Writes>) -> Self {
        WatchedStore {
            store,
            row_counts: RowCounts::default(),
            started: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            writes,
            is_frozen: AtomicBool::new(false),
            frozen: RwLock::default(),
        }
    }

    /// Returns how many writes there were of whatever; `None` while one is under way. Between two times with the same number
    /// nothing was written.
    pub(crate) fn writes(&self) -> Option<u64> {
        let under_way = self.writes.under_way.lock();
        under_way.running.is_empty().then_some(under_way.started)
    }

    /// Shows all later readers what a snapshot shows, whatever is written meanwhile.
    pub(crate) fn freeze(&self, shown: (Arc<dyn KvSnapshot>, States)) {
        *self.frozen.write() = Some(shown);
        self.is_frozen.store(true, Ordering::Release);
    }

    /// Shows what is stored again.
    pub(crate) fn thaw(&self) {
        self.is_frozen.store(false, Ordering::Release);
        *self.frozen.write() = None;
    }

    /// Returns what is shown in place of what is stored.
    fn frozen(&self) -> Option<(Arc<dyn KvSnapshot>, States)> {
        match self.is_frozen.load(Ordering::Acquire) {
            true => self.frozen.read().clone(),
            false => None,
        }
    }

    /// Takes a snapshot, and says to which states it belongs.
    pub(crate) fn snapshot_with_states(&self) -> (Arc<dyn KvSnapshot>, States) {
        if let Some(frozen) = self.frozen() {
            return frozen;
        }
        let writes = self.writes.ended.load(Ordering::SeqCst);
        let finished = self.finished.load(Ordering::SeqCst);
        let started = self.started.load(Ordering::SeqCst);
        let snapshot = self.store.snapshot();
        let still = self.started.load(Ordering::SeqCst);
        let states = States {
            blocks: (finished == started && started == still).then_some(started),
            writes: Some(writes),
        };
        (snapshot, states)
    }

    /// Commits what makes tables grow by so many rows; of other tables that it changes, the number of rows is not known any more.
    pub(crate) fn commit_growing(
        &self,
        mut commit: Commit<'_>,
        growth: &Growth,
    ) -> Result<Committed, KvError> {
        let staged = self
            .row_counts
            .stage(self.store.as_ref(), &mut commit.batch, growth)?;
        let counting = self.counting(commit.batch.tables().iter().map(String::as_str));
        let mut turn = Counted {
            counting: Some(counting),
            row_counts: &self.row_counts,
            staged: staged.clone(),
            turn: commit.turn,
        };
        let committed = self.store.commit(Commit {
            turn: &mut turn,
            ..commit
        });
        match &committed {
            Ok(Committed::At { .. }) => turn.note(),
            Ok(Committed::Conflict { .. }) => {}
            Err(_) => self.row_counts.doubt(staged),
        }
        committed
    }

    /// Takes the numbers of rows that are stored.
    pub(crate) fn load_row_counts(&self) -> Result<(), KvError> {
        self.row_counts.load(self.store.as_ref())
    }

    /// Returns what is known of the number of rows of a table. The caller holds the writer lock, or asks for advice.
    pub(crate) fn rows(&self, id: TableId) -> Result<Rows, KvError> {
        self.row_counts.of(self.store.as_ref(), id)
    }

    /// Begins to count rows, see [`RowCounts::begin`].
    pub(crate) fn begin_count(&self, id: TableId) -> Result<Option<u64>, KvError> {
        self.row_counts.begin(self.store.as_ref(), id)
    }

    /// Keeps the number of rows that a count has come to, unless it is not certain any more. The caller holds the writer lock.
    pub(crate) fn end_count(&self, id: TableId, ticket: u64, rows: u64) {
        if let Some(rows) = self.row_counts.end(id, ticket, rows) {
            self.keep_rows(id, rows);
        }
    }

    /// Keeps the number of rows of a table, unless storage refuses it: then they are counted again. The caller holds the writer lock, and
    /// knows the number.
    pub(crate) fn keep_rows(&self, id: TableId, rows: u64) {
        let mut batch = WriteBatch::new();
        batch.put(ROW_COUNTS, &rows_key(id), rows.to_string().as_bytes());
        let staged = vec![(id, Rows::Kept(rows))];
        match self.store.write(batch, Durability::Buffered) {
            Ok(()) => self.row_counts.note(staged),
            Err(_) => self.row_counts.doubt(staged),
        }
    }

    /// Removes the numbers of rows of tables, durably, before these change by files or by other means than a batch.
    pub(crate) fn forget_rows(&self, tables: impl IntoIterator<Item = TableId>) -> Result<(), KvError> {
        let (mut batch, mut staged) = (WriteBatch::new(), Staged::new());
        for id in tables {
            if let Rows::Kept(_) = self.rows(id)? {
                batch.delete(ROW_COUNTS, &rows_key(id));
            }
            staged.push((id, Rows::Unknown));
        }
        let written = match batch.is_empty() {
            true => Ok(()),
            false => self.store.write(batch, Durability::Synced),
        };
        match &written {
            Ok(()) => self.row_counts.note(staged),
            Err(_) => self.row_counts.doubt(staged),
        }
        written
    }

    /// Says that these tables are about to be changed; they are no more once what it returns is dropped.
    fn counting<'t>(&self, tables: impl Iterator<Item = &'t str> + Clone) -> Counting<'_> {
        let blocks = tables.clone().any(is_of_blocks).then(|| {
            self.started.fetch_add(1, Ordering::SeqCst);
            &self.finished
        });
        Counting {
            blocks,
            writes: &self.writes,
            number: self.writes.begin(tables),
        }
    }
}

/// A write under way; it has ended when this is dropped, however it went.
struct Counting<'a> {
    blocks: Option<&'a AtomicU64>,
    writes: &'a Writes,
    number: u64,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.writes.end(self.number);
        if let Some(finished) = self.blocks {
            finished.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The turn of a write that is counted until others may write.
struct Counted<'a> {
    counting: Option<Counting<'a>>,
    row_counts: &'a RowCounts,
    /// The numbers of rows that hold once it is stored.
    staged: Staged,
    turn: &'a mut dyn Turn,
}

impl Counted<'_> {
    fn note(&mut self) {
        self.row_counts.note(std::mem::take(&mut self.staged));
    }
}

impl Turn for Counted<'_> {
    fn is_awaited(&self) -> bool {
        self.turn.is_awaited()
    }

    fn end(&mut self) {
        self.counting = None;
        self.note();
        self.turn.end();
    }
}

/// Whether a table of storage has blocks of columns.
pub(crate) fn is_of_blocks(table: &str) -> bool {
    table.ends_with(OF_BLOCKS)
}

impl KvStore for WatchedStore {
    forward_store!(store: capabilities merge_operator tables table_exists configure_table order sync compact compact_all approximate_size approximate_keys split_points table_usage close);

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        let _counting = self.counting(std::iter::once(table));
        self.store.create_table(table, options)
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        let _counting = self.counting(std::iter::once(table));
        self.forget_rows(tables_of(std::iter::once(table)))?;
        self.store.drop_table(table)
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        self.frozen()
            .map_or_else(|| self.store.snapshot(), |(frozen, _)| frozen)
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        self.frozen()
            .map_or_else(|| self.store.latest(), |(frozen, _)| frozen)
    }

    fn apply(&self, mut batch: WriteBatch, durability: Durability) -> Result<Traffic, KvError> {
        let staged = self
            .row_counts
            .stage(self.store.as_ref(), &mut batch, &Growth::new())?;
        let _counting = self.counting(batch.tables().iter().map(String::as_str));
        let applied = self.store.apply(batch, durability);
        match &applied {
            Ok(_) => self.row_counts.note(staged),
            Err(_) => self.row_counts.doubt(staged),
        }
        applied
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.commit_growing(commit, &Growth::new())
    }

    fn local(&self) -> Option<&dyn LocalFiles> {
        self.store.local().map(|_| self as &dyn LocalFiles)
    }
}

impl LocalFiles for WatchedStore {
    forward_store!(store: set_purge flush sorted_writer load_files make_room abandon_files is_abandoned discard_files discard_stray_files usage backup checkpoint);

    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        let files = self.store.local_files("loads by files")?;
        let tables: Vec<String> = loads.iter().map(|(table, _)| table.to_string()).collect();
        let _counting = self.counting(tables.iter().map(String::as_str));
        self.forget_rows(tables_of(tables.iter().map(String::as_str)))?;
        files.ingest(loads)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rukh_kv::MemoryStore;

    fn watched() -> WatchedStore {
        let store = WatchedStore::new(Arc::new(MemoryStore::new()), Arc::default());
        for table in ["t1", "t1.c", "t2"] {
            store.create_table(table, &TableOptions::default()).unwrap();
        }
        store
    }

    fn put(store: &WatchedStore, table: &str) -> Result<(), KvError> {
        let mut batch = WriteBatch::new();
        batch.put(table, b"key", b"value");
        store.write(batch, Durability::Buffered)
    }

    #[test]
    fn snapshots_are_of_one_state_until_blocks_change() {
        let store = watched();
        let state = || store.snapshot_with_states().1.blocks;
        let first = state();
        assert!(first.is_some());
        put(&store, "t1").unwrap();
        assert_eq!(state(), first);
        put(&store, "t1.c").unwrap();
        let second = state();
        assert!(second.is_some() && second != first);
        // What fails may have changed something.
        put(&store, "t3.c").unwrap_err();
        assert!(state().is_some() && state() != second);
        let counting = store.counting(["t1", "t1.c"].into_iter());
        assert_eq!(state(), None);
        drop(counting);
        let writes = store.writes();
        let counting = store.counting(["t1"].into_iter());
        assert!(state().is_some());
        assert_eq!(store.writes(), None);
        drop(counting);
        assert_eq!(store.writes(), writes.map(|writes| writes + 1));
        store.drop_table("t1.c").unwrap();
        assert!(state().is_some());
    }

    #[test]
    fn a_table_is_in_one_state_until_it_is_written() {
        let store = watched();
        let taken = || store.snapshot_with_states().1.writes.unwrap();
        let state = |table: &str, ended: u64| store.writes.state_of(table, ended);
        let before = taken();
        put(&store, "t1").unwrap();
        // Writes before the first request are not recorded, and the state was different before the last write.
        assert_eq!(state("t1", before), None);
        let first = state("t1", taken());
        assert!(first.is_some());
        put(&store, "t2").unwrap();
        assert_eq!(state("t1", taken()), first);
        let old = taken();
        put(&store, "t1").unwrap();
        let second = state("t1", taken());
        assert!(second.is_some() && second != first);
        assert_eq!(state("t1", old), None);
        // Of a snapshot taken beside a write it is unknown whether it has it.
        let counting = store.counting(["t1"].into_iter());
        let beside = taken();
        assert_eq!(state("t1", beside), None);
        put(&store, "t2").unwrap();
        assert_eq!(state("t1", taken()), None);
        drop(counting);
        assert_eq!(state("t1", beside), None);
        assert!(state("t1", taken()).is_some());
        // Beside one of another table it is known.
        let third = state("t1", taken());
        let counting = store.counting(["t2"].into_iter());
        assert_eq!(state("t1", taken()), third);
        drop(counting);
        // What fails may have changed something.
        put(&store, "t3").unwrap_err();
        assert_eq!(state("t1", taken()), third);
        store.drop_table("t1").unwrap();
        assert_ne!(state("t1", taken()), third);
    }
}
