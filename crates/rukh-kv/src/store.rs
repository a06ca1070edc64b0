//! The traits every storage implements: a store, a snapshot of it, a cursor over a table.

use crate::{
    Backup, Commit, CommitOrder, Committed, KeyValue, KvError, LoadFile, MergeOperator, ScanSpec, ScanStats,
    StoreUsage, TableName, TableUsage, Traffic, WriteBatch,
};
use rukh_keys::{KeyRange, MaskedCompare};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Named, ordered tables of bytes, written atomically and read through snapshots.
///
/// Every method can be called from any thread. Nothing here assumes one machine: what differs
/// between storages is in [`KvStore::capabilities`].
pub trait KvStore: Send + Sync {
    /// Says what this store can do.
    fn capabilities(&self) -> Capabilities;

    /// Returns how merges are folded, where they are possible.
    fn merge_operator(&self) -> Option<Arc<dyn MergeOperator>> {
        None
    }

    /// Returns the names of all tables, in ascending order.
    fn tables(&self) -> Vec<String>;

    /// Returns whether the table is there.
    fn table_exists(&self, table: &str) -> bool {
        self.tables().iter().any(|name| name == table)
    }

    /// Creates an empty table, durably. Errors: `TableExists`, `InvalidTableName`, `ReadOnly`.
    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError>;

    /// Applies options to a table that is there. A store keeps no options over a reopen: a caller that
    /// wants others than the defaults says so again. A table that a store has put together with others of the same
    /// options stays as it was created.
    fn configure_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError>;

    /// Drops a table with all its keys, durably. Snapshots and cursors made before still read it.
    fn drop_table(&self, table: &str) -> Result<(), KvError>;

    /// Freezes the present state of all tables for reading.
    fn snapshot(&self) -> Arc<dyn KvSnapshot>;

    /// Returns a view in which each call reads the newest state, without the price of a snapshot.
    /// Two calls may see different states; one call, or one cursor, sees one. For single reads.
    fn latest(&self) -> Arc<dyn KvSnapshot>;

    /// Applies all operations of the batch in order, or none of them, whatever others have committed; returns what that took
    /// of servers elsewhere.
    ///
    /// Errors: `UnknownTable` when any table is missing, `ReadOnly`, `DiskFull`, `Unsupported` for
    /// a merge in a store without a merge operator.
    fn apply(&self, batch: WriteBatch, durability: Durability) -> Result<Traffic, KvError>;

    /// Does what [`KvStore::apply`] does, for callers that need not know the price.
    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<(), KvError> {
        self.apply(batch, durability).map(|_| ())
    }

    /// Applies a batch unless another commit has touched one of its keys since that was read.
    ///
    /// Errors: those of [`KvStore::apply`], and `NotSynced`.
    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError>;

    /// Returns the order of commits.
    fn order(&self) -> &dyn CommitOrder;

    /// Makes all earlier writes as durable as synced ones.
    fn sync(&self) -> Result<(), KvError>;

    /// Rewrites a table in its most compact form.
    fn compact(&self, table: &str) -> Result<(), KvError>;

    /// Rewrites tables in their most compact form, those that lie together at once, and passes over those that are not
    /// there. `done` receives how many more are done, and returns whether to go on.
    fn compact_all(
        &self,
        tables: &[String],
        done: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), KvError> {
        for table in tables {
            let compacted = self.compact(table);
            if self.table_exists(table) {
                compacted?;
            }
            if done(1).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Estimates the stored size of a range, in bytes, in memory and on disk; files of large values do not count.
    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError>;

    /// Estimates the number of keys in a table.
    fn approximate_keys(&self, table: &str) -> Result<u64, KvError>;

    /// Returns at most `parts - 1` keys, ascending and inside the range, that cut it into pieces
    /// of roughly equal stored size; fewer, or none, where the data is small or not known well.
    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError>;

    /// Returns what a table takes up.
    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError>;

    /// Syncs and releases the storage, once the last snapshot and cursor is dropped. Later calls
    /// give `Closed`.
    fn close(&self) -> Result<(), KvError>;

    /// Returns what the store offers because its data are files of this machine; `None` if they are not.
    fn local(&self) -> Option<&dyn LocalFiles> {
        None
    }

    /// Returns the same, or the error `Unsupported` that names what would need it.
    fn local_files(&self, operation: &'static str) -> Result<&dyn LocalFiles, KvError> {
        self.local().ok_or(KvError::Unsupported { operation })
    }
}

/// What a store offers whose data are files of this machine, beside [`KvStore`]: loads by files, backups, and forgetting in the background.
pub trait LocalFiles: Send + Sync {
    /// Sets which values of a table may be forgotten, each on its own and at any time.
    /// Replaces the earlier setting, and returns when it is no longer in use. Not kept over a
    /// reopen. Stores forget in earnest where the table was created with [`TableOptions::purged`], or
    /// this was said of it before the last open. Nothing is forgotten of a table of which nothing was said.
    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError>;

    /// Moves what is in memory into the sorted files of the tables.
    fn flush(&self) -> Result<(), KvError>;

    /// Starts a load of many entries in ascending key order, past the write path. They become
    /// visible by [`LocalFiles::ingest`].
    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError>;

    /// Returns the names of all finished files that wait to be ingested.
    fn load_files(&self) -> Result<Vec<LoadFile>, KvError>;

    /// Does what ingesting files into these tables would take space for, so that [`LocalFiles::ingest`] finds it or this
    /// fails with `DiskFull`: nothing is promised, as others may take the space in between.
    fn make_room(&self, tables: &[TableName]) -> Result<(), KvError>;

    /// Makes the entries of finished files part of their tables, newer than all that is there.
    ///
    /// Atomic and durable table by table, in the order given, not across tables: an error or a
    /// crash leaves the first tables done. A caller that needs all or nothing writes down what
    /// it is about to ingest, and after a crash ingests what [`LocalFiles::load_files`] still shows
    /// of it; files of one table ingested twice change nothing.
    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError>;

    /// Removes finished files that will not be ingested; those that are gone are no error.
    fn discard_files(&self, files: &[LoadFile]) -> Result<(), KvError>;

    /// Empties finished files, durably, and without any space: a note may say that they are to be ingested, and
    /// [`LocalFiles::is_abandoned`] says that they are not. They are there until they are discarded.
    fn abandon_files(&self, files: &[LoadFile]) -> Result<(), KvError>;

    /// Whether a file is there and was emptied by [`LocalFiles::abandon_files`].
    fn is_abandoned(&self, file: &LoadFile) -> Result<bool, KvError>;

    /// Removes the files of loads that will not be ingested: all but `keep`. For when no load runs.
    fn discard_stray_files(&self, keep: &[LoadFile]) -> Result<(), KvError>;

    /// Returns what the store takes up beside its tables.
    fn usage(&self) -> Result<StoreUsage, KvError>;

    /// Adds a backup of the present state to a directory, which is made if it is not there. Writers
    /// go on meanwhile.
    ///
    /// Errors: `InsideDatabase`, `NotBackups` where the directory holds something else,
    /// `Unsupported` by a store in memory.
    fn backup(&self, directory: &Path) -> Result<Backup, KvError>;

    /// Writes the present state into a directory that must not exist: a database of its own, which
    /// shares files with this one where the file system can. Errors as [`LocalFiles::backup`], and
    /// `DirectoryExists`.
    fn checkpoint(&self, directory: &Path) -> Result<(), KvError>;
}

/// A state of all tables that does not change while it is read.
///
/// It knows the tables that were there when it was made, dropped since or not.
pub trait KvSnapshot: Send + Sync {
    /// Returns the names of all tables, in ascending order.
    fn tables(&self) -> Vec<String>;

    /// Returns the value of a key.
    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError>;

    /// Returns the values of many keys of one table, in the order of `keys`. Keys may come in any
    /// order and more than once; ascending order is cheapest.
    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError>;

    /// Starts a scan. The cursor keeps what it reads from alive.
    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError>;

    /// Returns what reading through this snapshot has taken of servers elsewhere so far.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// Counts the keys a scan would show, with what that took. Values are not read.
    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        count_shown(self.scan(table, spec.keys_only())?)
    }
}

/// Counts the entries that a cursor shows, with what that took.
pub(crate) fn count_shown(mut cursor: Box<dyn KvCursor>) -> Result<(u64, ScanStats), KvError> {
    let mut keys = 0;
    cursor.for_each(&mut |_, _| {
        keys += 1;
        ControlFlow::Continue(())
    })?;
    Ok((keys, cursor.stats()))
}

/// What a scan shows its entries to, key and value; it says whether to go on.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A scan under way.
pub trait KvCursor: Send {
    /// Moves to the next entry; `None` once there are no more.
    ///
    /// After an error the cursor stays where the error is: every further call gives it again.
    fn next(&mut self) -> Result<Option<KeyValue<'_>>, KvError>;

    /// Shows further entries to `visit`, key and value, until it breaks or none are left; returns
    /// whether none are left. After a break the cursor goes on with the entry that follows.
    ///
    /// Cheaper per entry than [`KvCursor::next`].
    fn for_each(&mut self, visit: &mut Visit<'_>) -> Result<bool, KvError>;

    /// Leaves out the entries that come before `bound` in scan order: keys less than it or, in a
    /// reversed scan, keys not less. A bound behind which the scan is already changes nothing.
    ///
    /// A wish: a cursor that cannot be sent anywhere shows them all the same.
    fn skip_to(&mut self, bound: &[u8]) -> Result<(), KvError> {
        let _ = bound;
        Ok(())
    }

    /// Leaves out, of what is ahead, keys outside of `ranges` and those that fail `masked`, which replaces the
    /// masked compare of the scan; returns whether it does.
    ///
    /// A wish: `false` from a cursor that goes on as it was.
    fn narrow(&mut self, ranges: Vec<KeyRange>, masked: MaskedCompare) -> bool {
        let _ = (ranges, masked);
        false
    }

    /// Returns what the scan did so far.
    fn stats(&self) -> ScanStats;
}

/// A load under way: entries in ascending key order, kept beside the tables until ingested.
///
/// Dropped unfinished, it leaves nothing behind.
pub trait SortedWriter: Send {
    /// Adds an entry. Error `KeyOrder` unless `key` is greater than the one before.
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError>;

    /// Adds a key that is to be removed from the table; the order is that of [`SortedWriter::add`].
    fn remove(&mut self, key: &[u8]) -> Result<(), KvError>;

    /// Returns the number of entries added, removals included.
    fn entries(&self) -> u64;

    /// Completes the files, durably, and names them in key order; no entries, no files.
    fn finish(self: Box<Self>) -> Result<Vec<LoadFile>, KvError>;
}

/// Says of a value whether it may be forgotten.
pub type Purge = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4: fast.
    Lz4,
    /// Zstandard: strong.
    Zstd,
}

/// How a table is stored; the defaults suit every table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOptions {
    /// Values of at least this many bytes lie in files of their own, so that rewriting keys does
    /// not rewrite them; `None` keeps all values with their keys.
    pub large_value_bytes: Option<u64>,
    /// Whether values may be forgotten, as [`LocalFiles::set_purge`] will say; set when a table is created.
    pub purged: bool,
    /// How all of it is compressed; `None` takes what the store takes for all tables.
    pub compression: Option<Compression>,
    /// Bytes of keys and values that are compressed together, about; `None` takes what the store takes for all tables.
    pub block_bytes: Option<usize>,
    /// Whether storage keeps it apart from other tables however many there are: for those that all others depend on.
    pub own_family: bool,
}

/// Values from this size on leave the sorted files by default, in bytes.
const LARGE_VALUE_BYTES: u64 = 64 << 10;

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            large_value_bytes: Some(LARGE_VALUE_BYTES),
            purged: false,
            compression: None,
            block_bytes: None,
            own_family: false,
        }
    }
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Once it would survive a loss of power.
    Synced,
    /// Once it would survive the end of the process; a loss of power takes the newest of these.
    Buffered,
}

/// What a store can do; what it cannot, the layer above does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// A batch over several tables is applied all at once.
    pub atomic_across_tables: bool,
    /// Snapshots freeze all tables at one moment.
    pub snapshots: bool,
    /// Masked compares are evaluated where the data lies.
    pub masked_pushed_down: bool,
    /// Data outlives the store.
    pub durable: bool,
    /// Merge operations are possible: a merge operator was given.
    pub merge: bool,
}
