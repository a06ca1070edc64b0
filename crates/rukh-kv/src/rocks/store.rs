//! The store on disk: opening, tables, writes.

use super::failure::{failure, open_failure, table_failure};
use super::load::{LoadDirectory, RocksWriter};
use super::purge::Purges;
use super::snapshot::{ClosedSnapshot, RocksSnapshot, Tables, names};
use super::{Backup, Backups, PinnedSnapshot, RocksOptions, TableHandle, options, split, usage};
use crate::name::RESERVED;
use crate::{
    Capabilities, Durability, KvError, KvSnapshot, KvStore, LoadFile, MergeOperator, Purge, SortedWriter,
    StoreUsage, TableName, TableOptions, TableUsage, WriteBatch, WriteOp,
};
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use rocksdb::{
    BottommostLevelCompaction, Cache, ColumnFamilyDescriptor, CompactOptions, DB, FlushOptions, WriteOptions,
    checkpoint::Checkpoint, properties,
};
use rukh_keys::KeyRange;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// A database on disk.
///
/// Invariant: a table is taken from `open` under its write lock before it is dropped, and a write
/// holds the read lock while it runs. RocksDB takes a write to a dropped table, once it is in the
/// log, for a corruption, and refuses all writes from then on.
pub struct RocksStore {
    path: PathBuf,
    options: RocksOptions,
    cache: Cache,
    loads: Arc<LoadDirectory>,
    purges: Purges,
    synced: WriteOptions,
    buffered: WriteOptions,
    /// None once the store is closed.
    open: RwLock<Option<Open>>,
    /// Held while tables are created or dropped.
    definition: Mutex<()>,
}

/// What there is while the store is open. Fields drop in this order.
struct Open {
    tables: Arc<Tables>,
    latest: Arc<RocksSnapshot>,
    db: Arc<DB>,
}

impl Open {
    fn new(db: Arc<DB>, tables: Tables) -> Open {
        let tables = Arc::new(tables);
        Open {
            latest: Arc::new(RocksSnapshot::new(Arc::clone(&tables), None)),
            tables,
            db,
        }
    }

    fn table(&self, name: &str) -> Result<&Arc<TableHandle>, KvError> {
        self.tables.get(name).ok_or_else(|| KvError::unknown_table(name))
    }

    /// Changes the tables for all who look from now on.
    fn change(&mut self, change: impl FnOnce(&mut Tables)) {
        let mut tables = Tables::clone(&self.tables);
        change(&mut tables);
        *self = Open::new(Arc::clone(&self.db), tables);
    }
}

impl RocksStore {
    /// Opens the database in the directory `path`, or creates it.
    ///
    /// Errors: `NotFound` where there is nothing and nothing is to be created, `NotADatabase` where
    /// there is something else, `AlreadyOpen`, `Corruption`, `Io`.
    pub fn open(path: impl AsRef<Path>, options: &RocksOptions) -> Result<RocksStore, KvError> {
        let path = path.as_ref();
        let exists = database_exists(path)?;
        if !exists && (options.read_only || !options.create_if_missing) {
            return Err(KvError::NotFound {
                path: path.to_owned(),
            });
        }
        // Without locks, and with a table that grows: entries are blocks, indexes and blobs of all sizes.
        let cache = Cache::new_hyper_clock_cache(options.block_cache_bytes, 0);
        let names = if exists {
            table_names(path, options)?
        } else {
            Vec::new()
        };
        let purges = Purges::open(path)?;
        let db = Arc::new(open_database(path, &names, options, &cache, &purges)?);
        let tables = names.iter().filter_map(|name| TableHandle::find(&db, name));
        let tables = tables
            .map(|table| (table.name.clone(), Arc::new(table)))
            .collect();
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        Ok(RocksStore {
            path: path.to_owned(),
            cache,
            loads: Arc::new(LoadDirectory::new(path)),
            purges,
            synced,
            buffered: WriteOptions::default(),
            open: RwLock::new(Some(Open::new(db, tables))),
            definition: Mutex::new(()),
            options: options.clone(),
        })
    }

    /// Returns the directory of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails with `InsideDatabase` if a copy at `path` would lie in the database itself.
    fn check_outside(&self, path: &Path) -> Result<(), KvError> {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| whole(path));
        // The target need not be there; its first ancestor that is tells where links lead.
        let target = whole(path);
        let inside = target
            .ancestors()
            .any(|ancestor| real(ancestor) == real(&self.path));
        match inside {
            true => Err(KvError::InsideDatabase { path: target }),
            false => Ok(()),
        }
    }

    fn opened(&self) -> Result<MappedRwLockReadGuard<'_, Open>, KvError> {
        RwLockReadGuard::try_map(self.open.read(), Option::as_ref).map_err(|_| KvError::Closed)
    }

    fn writable(&self) -> Result<MappedRwLockReadGuard<'_, Open>, KvError> {
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
    fn writable_table(&self, name: &str) -> Result<Arc<TableHandle>, KvError> {
        self.writable()?.table(name).map(Arc::clone)
    }

    /// Changes the tables for all who look from now on, after all writes under way.
    fn change_tables(&self, change: impl FnOnce(&mut Tables)) -> Result<(), KvError> {
        self.open.write().as_mut().ok_or(KvError::Closed)?.change(change);
        Ok(())
    }

    /// Turns a batch into the binding's.
    fn batch(&self, open: &Open, batch: &WriteBatch) -> Result<rocksdb::WriteBatch, KvError> {
        let tables: Vec<_> = batch
            .tables()
            .iter()
            .map(|name| open.table(name))
            .collect::<Result<_, _>>()?;
        let mut native = rocksdb::WriteBatch::with_capacity_bytes(batch.bytes() + 16 * batch.len());
        for (slot, op) in batch.slotted() {
            let table = tables[slot];
            match op {
                WriteOp::Put { key, value, .. } => {
                    table.sample.note(key);
                    native.put_cf(&table.family, key, value);
                }
                WriteOp::Delete { key, .. } => native.delete_cf(&table.family, key),
                WriteOp::Merge { key, operand, .. } if self.options.merge.is_some() => {
                    native.merge_cf(&table.family, key, operand);
                }
                WriteOp::Merge { .. } => return Err(KvError::Unsupported { operation: "merge" }),
                WriteOp::DeleteRange {
                    start,
                    limit: Some(limit),
                    ..
                } => {
                    if start < limit {
                        native.delete_range_cf(&table.family, start, limit);
                    }
                }
                WriteOp::DeleteRange {
                    start, limit: None, ..
                } => {
                    let limit = past_all(table, start, batch)?;
                    native.delete_range_cf(&table.family, start, limit.as_slice());
                }
            }
        }
        Ok(native)
    }
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

/// Returns whether there is a database at `path`; `NotADatabase` where there is something else.
fn database_exists(path: &Path) -> Result<bool, KvError> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(KvError::NotADatabase {
                path: path.to_owned(),
            });
        }
        entries => entries,
    };
    let entries = entries.and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect()
    });
    let entries: Vec<_> =
        entries.map_err(|error| KvError::io(format!("open database \"{}\"", path.display()), error))?;
    if entries.iter().any(|name| name == "CURRENT") {
        return Ok(true);
    }
    if entries.iter().all(|name| is_left_by_creation(name)) {
        return Ok(false);
    }
    Err(KvError::NotADatabase {
        path: path.to_owned(),
    })
}

/// Returns whether a file may be what an interrupted creation of a database leaves.
fn is_left_by_creation(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let named = ["LOCK", "LOG", "IDENTITY"].contains(&&*name);
    named || name.starts_with("LOG.old.") || name.starts_with("MANIFEST-") || name.ends_with(".dbtmp")
}

/// Returns the names of all column families that are tables.
fn table_names(path: &Path, options: &RocksOptions) -> Result<Vec<String>, KvError> {
    let names =
        DB::list_cf(&options::database(options, 0), path).map_err(|error| open_failure(path, error))?;
    Ok(names.into_iter().filter(|name| name != RESERVED).collect())
}

fn open_database(
    path: &Path,
    names: &[String],
    options: &RocksOptions,
    cache: &Cache,
    purges: &Purges,
) -> Result<DB, KvError> {
    let database = options::database(options, names.len());
    let names = names.iter().map(String::as_str).chain([RESERVED]);
    let families = names.map(|name| {
        ColumnFamilyDescriptor::new(
            name,
            options::table(options, cache, &TableOptions::default(), purges.cell(name)),
        )
    });
    let db = if options.read_only {
        DB::open_cf_descriptors_read_only(&database, path, families, false)
    } else {
        DB::open_cf_descriptors(&database, path, families)
    };
    db.map_err(|error| open_failure(path, error))
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
        let name = TableName::new(table)?;
        let _definition = self.definition.lock();
        let db = Arc::clone(&self.writable()?.db);
        if self.table_exists(table) {
            return Err(KvError::TableExists {
                table: name.to_string(),
            });
        }
        let cell = match options.purged {
            true => Some(self.purges.add(&name)?),
            false => None,
        };
        let native = options::table(&self.options, &self.cache, options, cell);
        let fail = |error| table_failure(&format!("create table \"{name}\""), &name, error);
        db.create_cf(&*name, &native).map_err(fail)?;
        let handle = TableHandle::find(&db, &name).ok_or_else(|| KvError::unknown_table(&name))?;
        *handle.options.lock() = options.clone();
        self.change_tables(|tables| {
            tables.insert(name.to_string(), Arc::new(handle));
        })
    }

    fn configure_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        let table = self.writable_table(table)?;
        let changes = options::table_changes(&self.options, options);
        let changes: Vec<(&str, &str)> = changes
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let result = table.db.set_options_cf(&table.family, &changes);
        result.map_err(|error| table_failure("configure a table", &table.name, error))?;
        *table.options.lock() = options.clone();
        Ok(())
    }

    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError> {
        let _definition = self.definition.lock();
        self.writable_table(table)?;
        self.purges.set(&TableName::new(table)?, purge)
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        let _definition = self.definition.lock();
        let handle = self.writable_table(table)?;
        self.change_tables(|tables| {
            tables.remove(table);
        })?;
        let dropped = handle.db.drop_cf(table);
        if dropped.is_ok() {
            self.purges.remove(table);
        }
        dropped
            .map_err(|error| table_failure(&format!("drop table \"{table}\""), table, error))
            .inspect_err(|_| {
                // The table is still there. Should the store be closed by now, a reopen shows it.
                let _ = self.change_tables(|tables| {
                    tables.insert(table.to_owned(), Arc::clone(&handle));
                });
            })
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        match self.opened() {
            Ok(open) => {
                let snapshot = PinnedSnapshot::new(&open.db);
                Arc::new(RocksSnapshot::new(Arc::clone(&open.tables), Some(snapshot)))
            }
            Err(_) => Arc::new(ClosedSnapshot),
        }
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        match self.opened() {
            Ok(open) => Arc::clone(&open.latest) as Arc<dyn KvSnapshot>,
            Err(_) => Arc::new(ClosedSnapshot),
        }
    }

    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<(), KvError> {
        let open = self.writable()?;
        let native = self.batch(&open, &batch)?;
        let options = match durability {
            Durability::Synced => &self.synced,
            Durability::Buffered => &self.buffered,
        };
        open.db
            .write_opt(native, options)
            .map_err(|error| failure("write", error))
    }

    fn sync(&self) -> Result<(), KvError> {
        self.writable()?
            .db
            .flush_wal(true)
            .map_err(|error| failure("sync the log", error))
    }

    fn flush(&self) -> Result<(), KvError> {
        loop {
            let (db, tables) = {
                let open = self.writable()?;
                (Arc::clone(&open.db), Arc::clone(&open.tables))
            };
            let families: Vec<_> = tables.values().map(|table| &table.family).collect();
            if families.is_empty() {
                return Ok(());
            }
            let Err(error) = db.flush_cfs_opt(&families, &FlushOptions::default()) else {
                return Ok(());
            };
            // One of them was dropped meanwhile: RocksDB then flushes none.
            if Arc::ptr_eq(&tables, &self.writable()?.tables) {
                return Err(failure("flush", error));
            }
        }
    }

    fn compact(&self, table: &str) -> Result<(), KvError> {
        let table = self.writable_table(table)?;
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        // A compaction returns no error; the count of errors tells.
        let errors = || table.db.property_int_value(properties::BACKGROUND_ERRORS);
        let before = errors().ok().flatten();
        table
            .db
            .compact_range_cf_opt(&table.family, None::<&[u8]>, None::<&[u8]>, &options);
        match errors().ok().flatten() > before {
            true => Err(KvError::io(
                format!("compact table \"{}\"", table.name),
                io::Error::other("a background error occurred; the file LOG of the database tells which"),
            )),
            false => Ok(()),
        }
    }

    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError> {
        usage::of_table(&*self.table(table)?)
    }

    fn usage(&self) -> Result<StoreUsage, KvError> {
        let (db, tables) = {
            let open = self.opened()?;
            (Arc::clone(&open.db), Arc::clone(&open.tables))
        };
        let mut buffer_bytes = 0;
        for table in tables.values() {
            buffer_bytes += usage::of_table(table)?.buffer_bytes;
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

    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError> {
        Ok(split::size(&*self.table(table)?, range))
    }

    fn approximate_keys(&self, table: &str) -> Result<u64, KvError> {
        let table = self.table(table)?;
        let keys = table
            .db
            .property_int_value_cf(&table.family, properties::ESTIMATE_NUM_KEYS);
        Ok(keys
            .map_err(|error| table_failure("estimate", &table.name, error))?
            .unwrap_or(0))
    }

    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError> {
        split::points(&self.table(table)?, range, parts)
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

    fn discard_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        drop(self.writable()?);
        self.loads.remove(files)
    }

    fn discard_stray_files(&self, keep: &[LoadFile]) -> Result<(), KvError> {
        drop(self.writable()?);
        self.loads.discard(keep)
    }

    fn close(&self) -> Result<(), KvError> {
        if !self.options.read_only {
            self.sync()?;
        }
        let open = self.open.write().take();
        open.map(drop).ok_or(KvError::Closed)
    }
}
