//! The store on disk: its calls, and writes.

use super::failure::failure;
use super::load::{LoadDirectory, RocksWriter};
use super::opened::Open;
use super::purge::Purges;
use super::revive::{self, Before, Refusals};
use super::snapshot::{ClosedSnapshot, Lent, RocksSnapshot, Tables, names};
use super::{
    Backup, Backups, PinnedSnapshot, RocksOptions, TableHandle, compact, open, options, space, split, usage,
};
use crate::name::RESERVED;
use crate::{
    Capabilities, Commit, CommitOrder, Committed, Durability, KvError, KvSnapshot, KvStore, LoadFile,
    LocalFiles, LogDamage, MergeOperator, Purge, SingleWriter, SortedWriter, StoreUsage, TableName,
    TableOptions, TableUsage, Traffic, WriteBatch, WriteOp, check_directory,
};
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use rocksdb::{Cache, DB, FlushOptions, WriteOptions, checkpoint::Checkpoint};
use rukh_keys::KeyRange;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A database on disk.
///
/// Invariant: a table is taken from `open` under its write lock before it is dropped, and a write
/// holds the read lock while it runs. RocksDB takes a write to a dropped table, once it is in the
/// log, for a corruption, and refuses all writes from then on.
pub struct RocksStore {
    pub(super) path: PathBuf,
    pub(super) options: RocksOptions,
    /// Logs that were read in part.
    damaged_logs: Vec<LogDamage>,
    /// Tables with column families of their own at most.
    pub(super) own_families: usize,
    pub(super) cache: Cache,
    loads: Arc<LoadDirectory>,
    pub(super) purges: Purges,
    pub(super) synced: WriteOptions,
    pub(super) buffered: WriteOptions,
    /// None once the store is closed, and where opening it again failed.
    pub(super) open: RwLock<Option<Open>>,
    /// Whether the store was closed.
    pub(super) closed: AtomicBool,
    /// The snapshots that are in use.
    pub(super) lent: Lent,
    /// How tables were stored when it was last opened again.
    pub(super) before: Mutex<Before>,
    /// What became of the writes to the log since it was last synced.
    pub(super) log: Mutex<LogState>,
    order: SingleWriter,
    /// Writes that were refused for lack of space.
    pub(super) refusals: Refusals,
    /// Held while tables are created or dropped; the number of the next table that shares a column family.
    pub(super) definition: Mutex<u32>,
}

impl RocksStore {
    /// Opens the database in the directory `path`, or creates it.
    ///
    /// Errors: `NotFound` where there is nothing and nothing is to be created, `NotADatabase` where
    /// there is something else, `AlreadyOpen`, `Corruption`, `Io`.
    pub fn open(path: impl AsRef<Path>, options: &RocksOptions) -> Result<RocksStore, KvError> {
        let path = path.as_ref();
        check_directory(path)?;
        let own_families = options::own_families(options)?;
        let exists = open::database_exists(path)?;
        if !exists && (options.read_only || !options.create_if_missing) {
            return Err(KvError::NotFound {
                path: path.to_owned(),
            });
        }
        let damaged_logs = match exists && !options.salvage {
            true => open::check_logs(path)?,
            false => Vec::new(),
        };
        // Without locks, and with a table that grows: entries are blocks, indexes and blobs of all sizes.
        let cache = Cache::new_hyper_clock_cache(options.block_cache_bytes, 0);
        let families = if exists {
            open::family_names(path, options)?
        } else {
            Vec::new()
        };
        let purges = Purges::open(path)?;
        let db = Arc::new(open::open_database(path, &families, options, &cache, &purges)?);
        let (tables, shared, next) = open::find_tables(&db, &families, options.read_only)?;
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        Ok(RocksStore {
            path: path.to_owned(),
            cache,
            loads: Arc::new(LoadDirectory::new(path)),
            purges,
            synced,
            buffered: WriteOptions::default(),
            open: RwLock::new(Some(Open::new(db, tables, shared))),
            closed: AtomicBool::new(false),
            before: Mutex::default(),
            lent: Lent::default(),
            log: Mutex::default(),
            refusals: Refusals::default(),
            definition: Mutex::new(next),
            order: SingleWriter::default(),
            options: options.clone(),
            damaged_logs,
            own_families,
        })
    }

    /// Returns the directory of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the places in logs at which much of what was written was lost when the database was opened: it is as it was before that.
    pub fn damaged_logs(&self) -> &[LogDamage] {
        &self.damaged_logs
    }

    /// Fails with `InsideDatabase` if a copy at `path` would lie in the database itself.
    fn check_outside(&self, path: &Path) -> Result<(), KvError> {
        check_directory(path)?;
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| whole(path));
        // The target need not be there; its first ancestor that is there shows where links lead.
        let target = whole(path);
        let inside = target
            .ancestors()
            .any(|ancestor| real(ancestor) == real(&self.path));
        match inside {
            true => Err(KvError::InsideDatabase { path: target }),
            false => Ok(()),
        }
    }

    pub(super) fn opened(&self) -> Result<MappedRwLockReadGuard<'_, Open>, KvError> {
        if let Ok(open) = RwLockReadGuard::try_map(self.open.read(), Option::as_ref) {
            return Ok(open);
        }
        self.open_again()?;
        RwLockReadGuard::try_map(self.open.read(), Option::as_ref).map_err(|_| KvError::Closed)
    }

    pub(super) fn writable(&self) -> Result<MappedRwLockReadGuard<'_, Open>, KvError> {
        if self.options.read_only {
            Err(KvError::ReadOnly)
        } else {
            self.opened()
        }
    }

    /// Returns a table, and does not keep it from being dropped.
    fn table(&self, name: &str) -> Result<Arc<TableHandle>, KvError> {
        self.opened()?.table(name).map(Arc::clone)
    }

    /// As `table`, for changing it.
    pub(super) fn writable_table(&self, name: &str) -> Result<Arc<TableHandle>, KvError> {
        self.writable()?.table(name).map(Arc::clone)
    }

    /// Changes the tables, and the column families that they share, for all later calls, after all writes
    /// under way.
    pub(super) fn change_tables(&self, change: impl FnOnce(&mut Tables, &mut Tables)) -> Result<(), KvError> {
        let mut open = self.open.write();
        let present = open.as_mut().ok_or(KvError::Closed)?;
        let next = present.changed(change);
        let former = std::mem::replace(present, next);
        // A table goes with its last handle, and this does not wait for that.
        drop(open);
        drop(former);
        Ok(())
    }

    fn write_once(&self, batch: &WriteBatch, durability: Durability) -> Result<(), KvError> {
        let open = self.writable()?;
        let native = self.batch(&open, batch)?;
        let options = match durability {
            Durability::Synced => &self.synced,
            Durability::Buffered => &self.buffered,
        };
        let written = open.db.write_opt(native, options);
        written.map_err(|error| self.log_failure("write", error, open))
    }

    /// Turns an error of the log, and notes it for others.
    fn log_failure(
        &self,
        operation: &str,
        error: rocksdb::Error,
        open: MappedRwLockReadGuard<'_, Open>,
    ) -> KvError {
        if !is_about_previous(&error) {
            let error = failure(operation, error);
            self.log.lock().note(&error);
            return error;
        }
        // Once all writers have noted their errors, the previous error is known.
        drop(open);
        let _alone = self.open.write();
        let log = self.log.lock();
        match log.was_full && !log.is_in_doubt {
            true => KvError::DiskFull {
                operation: operation.to_owned(),
                source: io::Error::other(error.into_string()),
            },
            false => failure(operation, error),
        }
    }

    /// Whether a record of the log has found no space, or may find none while the log is synced. RocksDB takes the sync of a log that has
    /// met an error for an error of its own that nothing mends.
    fn log_may_be_full(&self, db: &DB) -> bool {
        let (was_full, is_in_doubt) = {
            let log = self.log.lock();
            (log.was_full, log.is_in_doubt)
        };
        let is_full = || was_full && self.takes_writes(db).is_err();
        !is_in_doubt && (space::is_short(&self.path) || is_full())
    }

    fn flush_once(&self) -> Result<(), KvError> {
        loop {
            let (db, tables, families) = {
                let open = self.writable()?;
                let families: Vec<_> = open.families().cloned().collect();
                (Arc::clone(&open.db), Arc::clone(&open.tables), families)
            };
            let directory = db.cf_handle(RESERVED);
            let families = families.iter().map(|table| &table.family);
            let families: Vec<_> = families.chain(&directory).collect();
            let Err(error) = db.flush_cfs_opt(&families, &FlushOptions::default()) else {
                return Ok(());
            };
            // One of them was dropped meanwhile: RocksDB then flushes none.
            if Arc::ptr_eq(&tables, &self.writable()?.tables) {
                return Err(failure("flush", error));
            }
        }
    }

    fn flush_tables(&self, tables: &[TableName]) -> Result<(), KvError> {
        let (db, families) = {
            let open = self.writable()?;
            let families = tables.iter().map(|table| open.table(table).map(Arc::clone));
            (Arc::clone(&open.db), families.collect::<Result<Vec<_>, _>>()?)
        };
        let families: Vec<_> = families.iter().map(|table| &table.family).collect();
        db.flush_cfs_opt(&families, &FlushOptions::default())
            .map_err(|error| failure("flush", error))
    }

    /// Turns a batch into the binding's.
    fn batch(&self, open: &Open, batch: &WriteBatch) -> Result<rocksdb::WriteBatch, KvError> {
        let tables: Vec<_> = batch
            .tables()
            .iter()
            .map(|name| open.table(name))
            .collect::<Result<_, _>>()?;
        let mut native = rocksdb::WriteBatch::with_capacity_bytes(batch.bytes() + 16 * batch.len());
        let mut buffer = Vec::new();
        for (slot, op) in batch.slotted() {
            let table = tables[slot];
            match op {
                WriteOp::Put { key, value, .. } => {
                    let key = table.native_in(key, &mut buffer);
                    table.sample.note(key);
                    native.put_cf(&table.family, key, value);
                }
                WriteOp::Delete { key, .. } => {
                    native.delete_cf(&table.family, table.native_in(key, &mut buffer));
                }
                WriteOp::Merge { key, operand, .. } if self.options.merge.is_some() => {
                    native.merge_cf(&table.family, table.native_in(key, &mut buffer), operand);
                }
                WriteOp::Merge { .. } => return Err(KvError::Unsupported { operation: "merge" }),
                WriteOp::DeleteRange { start, limit, .. } => {
                    let mut range = table.native_range(&KeyRange {
                        start: start.to_vec(),
                        limit: limit.map(<[u8]>::to_vec),
                    });
                    let limit = match range.limit.take() {
                        Some(limit) => limit,
                        None => past_all(table, start, batch)?,
                    };
                    if range.start < limit {
                        native.delete_range_cf(&table.family, range.start, limit);
                    }
                }
            }
        }
        Ok(native)
    }
}

/// Whether RocksDB refuses to use a log after an operation that failed.
fn is_about_previous(error: &rocksdb::Error) -> bool {
    error.as_ref().contains("previous error")
}

/// What is known of the log since it was last synced.
#[derive(Default)]
pub(super) struct LogState {
    /// A record found no space.
    pub(super) was_full: bool,
    /// Something else failed: the contents of the file are unknown.
    pub(super) is_in_doubt: bool,
}

impl LogState {
    fn note(&mut self, error: &KvError) {
        match error {
            KvError::DiskFull { .. } => self.was_full = true,
            KvError::TooManyFiles { .. } => {}
            _ => self.is_in_doubt = true,
        }
    }
}

/// Syncs the logs of a database by their files, and that these are there.
fn sync_logs(path: &Path) -> Result<(), KvError> {
    let sync = || {
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "log") {
                continue;
            }
            match fs::File::open(path) {
                Ok(file) => file.sync_all()?,
                // All of it is in files by now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        fs::File::open(path)?.sync_all()
    };
    sync().map_err(|error| KvError::io("sync the log", error))
}

/// Returns a key past all of a table and of a batch: RocksDB deletes no range without a limit.
fn past_all(table: &Arc<TableHandle>, start: &[u8], batch: &WriteBatch) -> Result<Vec<u8>, KvError> {
    let stored = split::last_key(
        table,
        &KeyRange {
            start: start.to_vec(),
            limit: None,
        },
    )?;
    let written = batch.ops().filter_map(|op| match op {
        WriteOp::Put { key, .. } | WriteOp::Merge { key, .. } => Some(key),
        _ => None,
    });
    let last = written
        .chain(stored.as_deref())
        .chain([start])
        .max()
        .unwrap_or_default();
    Ok([last, &[0]].concat())
}

impl KvStore for RocksStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_across_tables: true,
            snapshots: true,
            masked_pushed_down: true,
            durable: true,
            merge: self.options.merge.is_some(),
        }
    }

    fn merge_operator(&self) -> Option<Arc<dyn MergeOperator>> {
        self.options.merge.clone()
    }

    fn tables(&self) -> Vec<String> {
        self.opened().map(|open| names(&open.tables)).unwrap_or_default()
    }

    fn table_exists(&self, table: &str) -> bool {
        self.opened().is_ok_and(|open| open.tables.contains_key(table))
    }

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.awaken();
        self.create(&TableName::new(table)?, options)
    }

    fn configure_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.configure(&*self.writable_table(table)?, options)
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        self.awaken();
        self.remove(table)
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        match self.opened() {
            Ok(open) => {
                let snapshot = PinnedSnapshot::new(&open.db);
                let snapshot = RocksSnapshot::new(Arc::clone(&open.tables), Some(snapshot));
                self.lent.lend(snapshot)
            }
            Err(error) => Arc::new(ClosedSnapshot::of(&error)),
        }
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        match self.opened() {
            Ok(open) => Arc::clone(&open.latest) as Arc<dyn KvSnapshot>,
            Err(error) => Arc::new(ClosedSnapshot::of(&error)),
        }
    }

    fn apply(&self, batch: WriteBatch, durability: Durability) -> Result<Traffic, KvError> {
        self.patiently(|| self.write_once(&batch, durability))?;
        Ok(Traffic::default())
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.order.commit(self, commit)
    }

    fn order(&self) -> &dyn CommitOrder {
        &self.order
    }

    fn sync(&self) -> Result<(), KvError> {
        let open = self.writable()?;
        if self.log_may_be_full(&open.db) {
            return sync_logs(&self.path);
        }
        let Err(error) = open.db.flush_wal(true) else {
            self.log.lock().was_full = false;
            return Ok(());
        };
        let is_previous = is_about_previous(&error);
        match self.log_failure("sync the log", error, open) {
            // A record that found no space ends the use of the log, which syncs no more. The records before it are in the file, and
            // the commits that wait for them are not those that failed.
            KvError::DiskFull { .. } if is_previous => sync_logs(&self.path),
            error => Err(error),
        }
    }

    fn compact(&self, table: &str) -> Result<(), KvError> {
        let table = self.writable_table(table)?;
        let range = table.share.as_ref().map(|_| table.native_range(&KeyRange::all()));
        compact::range(&table, range.as_ref(), &compact::Ends::default(), &mut || true)
    }

    fn compact_all(
        &self,
        tables: &[String],
        done: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), KvError> {
        let (present, db) = {
            let open = self.writable()?;
            (Arc::clone(&open.tables), Arc::clone(&open.db))
        };
        let files = db
            .live_files()
            .map_err(|error| failure("list the files", error))?;
        let ends = compact::Ends::of(files);
        for group in compact::groups(&present, tables) {
            let mut is_stopped = false;
            let compacted = compact::range(&group.first, group.range.as_ref(), &ends, &mut || {
                is_stopped = done(0).is_break();
                !is_stopped
            });
            // One that is dropped meanwhile need not be compacted.
            if self.table_exists(&group.first.name) {
                compacted?;
            }
            if is_stopped || done(group.tables).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError> {
        usage::of_table(&self.table(table)?)
    }

    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError> {
        Ok(split::size(&*self.table(table)?, range))
    }

    fn approximate_keys(&self, table: &str) -> Result<u64, KvError> {
        usage::keys(&self.table(table)?)
    }

    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError> {
        split::points(&self.table(table)?, range, parts)
    }

    fn close(&self) -> Result<(), KvError> {
        if !self.options.read_only {
            self.sync()?;
        }
        let mut guard = self.open.write();
        self.closed.store(true, Ordering::Release);
        let open = guard.take();
        drop(guard);
        open.map(drop).ok_or(KvError::Closed)
    }

    fn local(&self) -> Option<&dyn LocalFiles> {
        Some(self)
    }
}

impl LocalFiles for RocksStore {
    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError> {
        let _definition = self.definition.lock();
        let table = self.writable_table(table)?;
        self.purges.set(&table, purge)
    }

    fn flush(&self) -> Result<(), KvError> {
        self.patiently(|| self.flush_once())
    }

    fn usage(&self) -> Result<StoreUsage, KvError> {
        let (db, families) = {
            let open = self.opened()?;
            let families: Vec<_> = open.families().cloned().collect();
            (Arc::clone(&open.db), families)
        };
        let mut buffer_bytes = 0;
        for family in &families {
            buffer_bytes += usage::buffer_bytes(family)?;
        }
        usage::of_database(&db, &self.cache, &self.options, &self.path, buffer_bytes)
    }

    fn backup(&self, directory: &Path) -> Result<Backup, KvError> {
        self.check_outside(directory)?;
        let db = Arc::clone(&self.writable()?.db);
        Backups::open_or_create(directory)?.add(&db)
    }

    fn checkpoint(&self, directory: &Path) -> Result<(), KvError> {
        self.check_outside(directory)?;
        if directory.exists() {
            return Err(KvError::DirectoryExists {
                path: directory.to_owned(),
            });
        }
        let db = Arc::clone(&self.writable()?.db);
        let fail = |error| failure("write a checkpoint", error);
        Checkpoint::new(&db)
            .map_err(fail)?
            .create_checkpoint(directory)
            .map_err(fail)
    }

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        let table = self.writable_table(table)?;
        let options = options::load(&self.options, &self.cache, &table.options.lock());
        Ok(Box::new(RocksWriter::new(
            table,
            Arc::clone(&self.loads),
            options,
        )))
    }

    fn load_files(&self) -> Result<Vec<LoadFile>, KvError> {
        self.loads.files()
    }

    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        let open = self.writable()?;
        loads
            .iter()
            .try_for_each(|(table, files)| self.loads.ingest(open.table(table)?, files))
    }

    fn make_room(&self, tables: &[TableName]) -> Result<(), KvError> {
        self.awaken();
        if space::is_scarce(&self.path, self.options.write_buffer_bytes) {
            // What ingesting would write first: entries of the tables in memory that lie among those of the files.
            self.flush_tables(tables)?;
        }
        revive::check_descriptors(revive::DESCRIPTORS_MIN)?;
        space::check(&self.path, tables.len())
    }

    fn abandon_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        drop(self.writable()?);
        self.loads.abandon(files)
    }

    fn is_abandoned(&self, file: &LoadFile) -> Result<bool, KvError> {
        self.loads.is_abandoned(file)
    }

    fn discard_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        drop(self.writable()?);
        self.loads.remove(files)
    }

    fn discard_stray_files(&self, keep: &[LoadFile]) -> Result<(), KvError> {
        drop(self.writable()?);
        self.loads.discard(keep)
    }
}
