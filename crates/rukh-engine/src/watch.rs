//! When blocks change: between two changes of any, whoever reads need not look again whether a block is what it was.
//!
//! All writes go through a [`WatchedStore`], which counts those that touch blocks when they begin and when they end. A snapshot
//! that was taken while none was under way belongs to one *state of blocks*, told by their number; two snapshots of the same state have the
//! same blocks. One that was taken beside such a write belongs to none, and so does one of another store.

use rukh_keys::KeyRange;
use rukh_kv::{
    Backup, Capabilities, Durability, KvError, KvSnapshot, KvStore, LoadFile, MergeOperator, Purge,
    SortedWriter, StoreUsage, TableName, TableOptions, TableUsage, WriteBatch,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of column families end that have blocks.
const OF_BLOCKS: &str = ".c";

/// A store whose writes to blocks are counted.
pub(crate) struct WatchedStore {
    store: Arc<dyn KvStore>,
    started: AtomicU64,
    finished: AtomicU64,
    /// All writes, of blocks or not.
    all_started: AtomicU64,
    all_finished: AtomicU64,
}

impl WatchedStore {
    pub(crate) fn new(store: Arc<dyn KvStore>) -> Self {
        WatchedStore {
            store,
            started: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            all_started: AtomicU64::new(0),
            all_finished: AtomicU64::new(0),
        }
    }

    /// Returns how many writes there were of whatever; `None` while one is under way. Between two times with the same number
    /// nothing was written.
    pub(crate) fn writes(&self) -> Option<u64> {
        let finished = self.all_finished.load(Ordering::SeqCst);
        let started = self.all_started.load(Ordering::SeqCst);
        (finished == started).then_some(started)
    }

    /// Takes a snapshot, and says to which state of blocks it belongs.
    pub(crate) fn snapshot_with_state(&self) -> (Arc<dyn KvSnapshot>, Option<u64>) {
        let finished = self.finished.load(Ordering::SeqCst);
        let started = self.started.load(Ordering::SeqCst);
        let snapshot = self.store.snapshot();
        let still = self.started.load(Ordering::SeqCst);
        (
            snapshot,
            (finished == started && started == still).then_some(started),
        )
    }

    /// Does something that changes blocks, if it does.
    fn counted<T>(&self, changes: bool, write: impl FnOnce(&dyn KvStore) -> T) -> T {
        self.all_started.fetch_add(1, Ordering::SeqCst);
        let _finish_all = Finish(&self.all_finished);
        let _finish = changes.then(|| {
            self.started.fetch_add(1, Ordering::SeqCst);
            Finish(&self.finished)
        });
        write(self.store.as_ref())
    }
}

/// Counts a write as finished, however it ended.
struct Finish<'a>(&'a AtomicU64);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn is_of_blocks(table: &str) -> bool {
    table.ends_with(OF_BLOCKS)
}

impl KvStore for WatchedStore {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn merge_operator(&self) -> Option<Arc<dyn MergeOperator>> {
        self.store.merge_operator()
    }

    fn tables(&self) -> Vec<String> {
        self.store.tables()
    }

    fn table_exists(&self, table: &str) -> bool {
        self.store.table_exists(table)
    }

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.counted(is_of_blocks(table), |store| store.create_table(table, options))
    }

    fn configure_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.store.configure_table(table, options)
    }

    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError> {
        self.store.set_purge(table, purge)
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        self.counted(is_of_blocks(table), |store| store.drop_table(table))
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        self.store.snapshot()
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        self.store.latest()
    }

    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<(), KvError> {
        let changes = batch.tables().iter().any(|table| is_of_blocks(table));
        self.counted(changes, |store| store.write(batch, durability))
    }

    fn sync(&self) -> Result<(), KvError> {
        self.store.sync()
    }

    fn flush(&self) -> Result<(), KvError> {
        self.store.flush()
    }

    fn compact(&self, table: &str) -> Result<(), KvError> {
        self.store.compact(table)
    }

    fn compact_all(
        &self,
        tables: &[String],
        done: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), KvError> {
        self.store.compact_all(tables, done)
    }

    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError> {
        self.store.approximate_size(table, range)
    }

    fn approximate_keys(&self, table: &str) -> Result<u64, KvError> {
        self.store.approximate_keys(table)
    }

    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError> {
        self.store.split_points(table, range, parts)
    }

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        self.store.sorted_writer(table)
    }

    fn load_files(&self) -> Result<Vec<LoadFile>, KvError> {
        self.store.load_files()
    }

    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        let changes = loads.iter().any(|(table, _)| is_of_blocks(&table.to_string()));
        self.counted(changes, |store| store.ingest(loads))
    }

    fn discard_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        self.store.discard_files(files)
    }

    fn discard_stray_files(&self, keep: &[LoadFile]) -> Result<(), KvError> {
        self.store.discard_stray_files(keep)
    }

    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError> {
        self.store.table_usage(table)
    }

    fn usage(&self) -> Result<StoreUsage, KvError> {
        self.store.usage()
    }

    fn backup(&self, directory: &Path) -> Result<Backup, KvError> {
        self.store.backup(directory)
    }

    fn checkpoint(&self, directory: &Path) -> Result<(), KvError> {
        self.store.checkpoint(directory)
    }

    fn close(&self) -> Result<(), KvError> {
        self.store.close()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rukh_kv::MemoryStore;

    #[test]
    fn snapshots_are_of_one_state_until_blocks_change() {
        let store = WatchedStore::new(Arc::new(MemoryStore::new()));
        for table in ["t1", "t1.c"] {
            store.create_table(table, &TableOptions::default()).unwrap();
        }
        let state = || store.snapshot_with_state().1;
        let put = |table: &str| {
            let mut batch = WriteBatch::new();
            batch.put(table, b"key", b"value");
            store.write(batch, Durability::Buffered).unwrap();
        };
        let first = state();
        assert!(first.is_some());
        put("t1");
        assert_eq!(state(), first);
        put("t1.c");
        let second = state();
        assert!(second.is_some() && second != first);
        // What fails may have changed something.
        let mut batch = WriteBatch::new();
        batch.put("t2.c", b"key", b"value");
        store.write(batch, Durability::Buffered).unwrap_err();
        assert!(state().is_some() && state() != second);
        let beside = store.counted(true, |_| state());
        assert_eq!(beside, None);
        let writes = store.writes();
        assert_eq!(
            (store.counted(false, |_| store.writes()), store.writes()),
            (None, writes.map(|writes| writes + 1))
        );
        store.drop_table("t1.c").unwrap();
        assert!(state().is_some());
    }
}
