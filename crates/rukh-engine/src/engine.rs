//! The engine: an open database, its definitions, and who may change it.
//!
//! Definitions are an immutable value that DDL replaces as a whole; readers take it together with
//! a storage snapshot. One writer runs at a time: a statement holds the writer lock from
//! [`Engine::begin`] to its commit, DDL for as long as it runs.
//!
//! Definitions change in an order that survives the end of the process at any point: column
//! families are created before a definition names them and dropped after none does. What a crash
//! leaves behind is cleared up by `recover` when the database is opened next.

use crate::analyze::{KnownStatistics, load_statistics};
use crate::build::ROWS_AT_ONCE;
use crate::builds::Builds;
use crate::clock::{Clock, TimeSource};
use crate::columnar::{Debts, KeptBlocks};
use crate::commits::Commits;
use crate::functions::RowFunctions;
use crate::group::Group;
use crate::lifetime::{self, Retired};
use crate::load::LOAD_BYTES_MAX;
use crate::lock::{WriterGuard, WriterLock};
use crate::maintain::Maintainer;
use crate::recover::Recovery;
use crate::row_locks::{RowLocks, StatementLocks};
use crate::sequences::KnownSequences;
use crate::snapshot::{Definitions, Snapshot};
use crate::stale::ChangedRows;
use crate::stored;
use crate::unsettled::Unsettled;
use crate::watch::{States, WatchedStore};
use crate::write::{Target, Write};
use crate::{DefinitionChanges, EngineError, SequenceState, ingest, recover};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use rukh_catalog::{
    Catalog, ColumnId, Family, Index, Sequence, SequenceId, Table, TableDraft, TableId, validate_table,
};
use rukh_kv::{Compression, Durability, KvError, KvSnapshot, KvStore, TableOptions, WriteBatch};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes of pending changes that one statement may hold, unless set otherwise: 512 MiB.
const STATEMENT_BYTES_MAX: u64 = 512 << 20;

/// Bytes of changes that one transaction may hold, unless set otherwise: 256 MiB.
const TRANSACTION_BYTES_MAX: u64 = 256 << 20;

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn KvStore>,
    /// The same store.
    pub(crate) watched: Arc<WatchedStore>,
    pub(crate) functions: Arc<dyn RowFunctions>,
    /// Replaced with the storage changes it stands for; held for reading while a snapshot is taken.
    definitions: RwLock<Arc<Definitions>>,
    pub(crate) maintainers: Mutex<HashMap<TableId, Arc<Maintainer>>>,
    pub(crate) writer: Arc<WriterLock>,
    /// Held while the database is copied, and while a bulk load is partly there.
    pub(crate) copying: Mutex<()>,
    /// Commits that wait for the log.
    pub(crate) group: Group,
    /// What open transactions have to know of others.
    pub(crate) commits: Arc<Commits>,
    /// The rows that transactions have locked so that others wait.
    pub(crate) row_locks: Arc<RowLocks>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) retired: Retired,
    read_only: bool,
    pub(crate) statement_bytes_max: AtomicU64,
    pub(crate) transaction_bytes_max: AtomicU64,
    pub(crate) statistics: RwLock<KnownStatistics>,
    /// Rows changed since statistics were gathered, or since the database was opened.
    pub(crate) changed_rows: Mutex<ChangedRows>,
    /// Tables that are being analyzed.
    pub(crate) analyzing: Mutex<Vec<TableId>>,
    pub(crate) sequences: Mutex<KnownSequences>,
    /// Indexes that are being built beside writers.
    pub(crate) builds: Builds,
    pub(crate) rows_at_once: AtomicU64,
    /// How much columnar indexes have to be repacked.
    pub(crate) debts: Debts,
    /// Blocks of columnar tables that are open for readers of single rows.
    pub(crate) kept: Arc<KeptBlocks>,
    load_directory: RwLock<PathBuf>,
    load_bytes_max: AtomicUsize,
    /// Ids below this one are not given again, see [`Inner::pass_over`].
    least_id: AtomicU32,
    /// What failed statements have left to do.
    pub(crate) unsettled: Unsettled,
    /// Set when storage may show half of a load: nothing is read or written any more.
    halted: Arc<AtomicBool>,
    pub(crate) recovered: Vec<Recovery>,
}

impl Engine {
    /// Opens the database in `store`, making an empty one if there is none.
    ///
    /// Clears up what a crash left behind, unless `read_only`: column families that no definition
    /// names are dropped, and an index whose filling was cut short is filled again before this
    /// returns, or dropped if its rows no longer allow it. [`Engine::recovered`] tells of it.
    ///
    /// Fails on a database written in a newer format, with [`EngineError::ReadOnly`] if there is
    /// none and none may be made, and with [`EngineError::RecoveryNeeded`] if a bulk load was cut
    /// short and may not be completed.
    pub fn open(
        store: Arc<dyn KvStore>,
        functions: Arc<dyn RowFunctions>,
        read_only: bool,
    ) -> Result<Engine, EngineError> {
        stored::prepare(store.as_ref(), read_only)?;
        if read_only && ingest::is_pending(store.as_ref())? {
            return Err(EngineError::RecoveryNeeded);
        }
        let catalog = stored::load_catalog(store.as_ref())?;
        let lost = recover::lost_tables(store.as_ref(), &catalog);
        let catalog = match read_only {
            true => recover::without_lost_indexes(store.as_ref(), catalog),
            false => catalog,
        };
        let kept = Arc::<KeptBlocks>::default();
        let watched = Arc::new(WatchedStore::new(store, kept.writes().clone()));
        let mut inner = Inner {
            store: watched.clone(),
            watched,
            functions,
            definitions: RwLock::new(Arc::new(Definitions::new(catalog, None).without(lost))),
            maintainers: Mutex::default(),
            writer: Arc::default(),
            copying: Mutex::default(),
            group: Group::default(),
            commits: Arc::default(),
            row_locks: Arc::default(),
            clock: Arc::default(),
            retired: Retired::default(),
            read_only,
            statement_bytes_max: AtomicU64::new(STATEMENT_BYTES_MAX),
            transaction_bytes_max: AtomicU64::new(TRANSACTION_BYTES_MAX),
            statistics: RwLock::default(),
            changed_rows: Mutex::default(),
            analyzing: Mutex::default(),
            sequences: Mutex::default(),
            builds: Builds::default(),
            rows_at_once: AtomicU64::new(ROWS_AT_ONCE),
            debts: Debts::default(),
            kept,
            load_directory: RwLock::new(std::env::temp_dir()),
            load_bytes_max: AtomicUsize::new(LOAD_BYTES_MAX),
            least_id: AtomicU32::new(0),
            unsettled: Unsettled::default(),
            halted: Arc::default(),
            recovered: Vec::new(),
        };
        if !read_only {
            inner.recovered = recover::recover(&inner)?;
            let definitions = inner.definitions();
            let mut whole = definitions
                .catalog
                .tables()
                .filter(|table| definitions.lost(table.id).is_none());
            whole.try_for_each(|table| inner.set_purges(table.id))?;
            configure_families(&inner)?;
        }
        recover::tell_of_lost(&mut inner);
        inner.statistics = RwLock::new(load_statistics(&inner)?);
        Ok(Engine {
            inner: Arc::new(inner),
        })
    }

    /// Returns the present definitions.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.definitions().catalog.clone()
    }

    /// Returns the storage underneath.
    pub fn store(&self) -> &Arc<dyn KvStore> {
        &self.inner.store
    }

    /// Returns what storage lacks of a table whose rows are lost, see [`EngineError::TableLost`].
    pub fn lost(&self, table: TableId) -> Option<String> {
        self.inner.definitions().lost(table).map(str::to_string)
    }

    /// Says what was cleared up when the database was opened.
    pub fn recovered(&self) -> &[Recovery] {
        &self.inner.recovered
    }

    /// Whether the database was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// Sets how many bytes of pending changes a statement may hold in memory before it fails with
    /// [`EngineError::StatementTooLarge`].
    pub fn set_statement_bytes_max(&self, bytes: u64) {
        self.inner.statement_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Sets how many bytes a bulk load, or the filling of an index, sorts in memory.
    pub fn set_load_bytes_max(&self, bytes: usize) {
        self.inner.load_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Sets the directory for what does not fit: on the disk of the database for choice, the
    /// system's directory for temporary files unless set. Made when needed; files in it have no
    /// names, and go with the process.
    pub fn set_load_directory(&self, directory: impl Into<PathBuf>) {
        *self.inner.load_directory.write() = directory.into();
    }

    /// Makes a file without a name in that directory, which goes with the process: for what comes from elsewhere
    /// and must be kept until it is all there.
    pub fn temporary_file(&self) -> Result<std::fs::File, EngineError> {
        let path = self.inner.load_directory()?;
        tempfile::tempfile_in(&path).map_err(|source| EngineError::Io {
            operation: "create a file in",
            path,
            source,
        })
    }

    /// Takes time from elsewhere than the system, for tests and simulations. Time still never goes back.
    pub fn set_time_source(&self, source: TimeSource) {
        self.inner.clock.set_source(source);
    }

    /// Returns the present time, in microseconds since 1970-01-01 00:00 UTC.
    pub fn now(&self) -> i64 {
        self.inner.clock.now()
    }

    /// Takes catalog and data of this moment.
    pub fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    /// Returns a view of the newest state without the price of a snapshot, for statements that
    /// read the storage of one table once: a get, or one scan. Two reads may see different states.
    ///
    /// Of a table in blocks, which are read together with what is beside them, it is a snapshot.
    pub fn latest(&self, table: TableId) -> Snapshot {
        let definitions = self.inner.definitions.read();
        let in_blocks = definitions.codec(table).is_ok_and(|codec| codec.blocks.is_some());
        let kv = match in_blocks {
            true => self.inner.watched.snapshot_with_states(),
            false => (self.inner.watched.latest(), States::default()),
        };
        self.inner.view(&definitions, kv)
    }

    /// Whether nothing was defined, changed or dropped since the snapshot was made.
    pub fn has_definitions_of(&self, snapshot: &Snapshot) -> bool {
        Arc::ptr_eq(&self.inner.definitions.read(), &snapshot.definitions)
    }

    /// Begins a statement that changes something: waits for the writer lock and takes a snapshot.
    ///
    /// Fails with [`EngineError::ReadOnly`].
    pub fn begin(&self) -> Result<Write, EngineError> {
        self.begin_locking(None)
    }

    /// Begins a statement as [`Engine::begin`] does that locks the rows which it changes; its commit fails with
    /// [`EngineError::Locked`] where a transaction has locked one of them.
    pub fn begin_locking(&self, locks: Option<Arc<StatementLocks>>) -> Result<Write, EngineError> {
        let guard = self.inner.lock_writer()?;
        Ok(Write::new(
            self.inner.clone(),
            self.inner.snapshot(),
            guard,
            Target::Store(locks),
        ))
    }

    /// Makes what a statement outside of transactions locks its rows with; `None` while no transaction locks rows.
    pub fn statement_locks(&self) -> Option<Arc<StatementLocks>> {
        self.inner.row_locks.statement()
    }

    /// Creates a table.
    ///
    /// Fails with [`EngineError::Catalog`] on a draft that breaks a rule and on a name that is taken.
    pub fn create_table(&self, draft: TableDraft) -> Result<Arc<Table>, EngineError> {
        self.create_table_with(draft, Vec::new())
    }

    /// Creates a table together with the sequences of its columns, which get ids and the table as owner.
    pub fn create_table_with(
        &self,
        draft: TableDraft,
        sequences: Vec<(ColumnId, Sequence)>,
    ) -> Result<Arc<Table>, EngineError> {
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let definitions = inner.definitions();
        definitions.catalog.check_name_free(&draft.schema, &draft.name)?;
        let id = TableId(inner.next_storage_id()?);
        let table = validate_table(draft, id)?;
        let created = inner.create_storage(&table.storage_names(), &table);
        created.inspect_err(|_| inner.pass_over(id.0))?;
        let mut batch = WriteBatch::new();
        stored::put_table(&mut batch, &table);
        let mut next = definitions.catalog.with_table(table);
        let mut next_id = id.0 + 1;
        for (column, sequence) in sequences {
            next.check_name_free(&sequence.schema, &sequence.name)?;
            let sequence = Sequence {
                id: SequenceId(next_id),
                owner: Some((id, column)),
                ..sequence.checked()?
            };
            next_id += 1;
            stored::put_sequence(&mut batch, &sequence);
            stored::put_sequence_state(&mut batch, sequence.id, SequenceState::set(sequence.start));
            next = next.with_sequence(sequence);
        }
        stored::put_next_id(&mut batch, next_id);
        let written = inner.commit_definitions(batch, next);
        if written.is_err() {
            inner.drop_unnamed();
        }
        written?;
        inner.set_purges(id)?;
        Ok(inner.definitions().codec(id)?.table.clone())
    }

    /// Drops a table with its indexes and statistics.
    pub fn drop_table(&self, id: TableId) -> Result<(), EngineError> {
        self.change_definitions(|_| {
            let definitions = self.inner.definitions();
            // One whose rows are lost can be dropped.
            if definitions.lost(id).is_none() {
                definitions.codec(id)?;
            }
            Ok(DefinitionChanges {
                dropped_tables: vec![id],
                ..DefinitionChanges::default()
            })
        })
    }
}

impl Inner {
    pub(crate) fn definitions(&self) -> Arc<Definitions> {
        self.definitions.read().clone()
    }

    /// Takes definitions and data of one moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let definitions = self.definitions.read();
        self.view(&definitions, self.watched.snapshot_with_states())
    }

    /// Takes the data of this moment as it is under other definitions, which nobody else sees.
    pub(crate) fn snapshot_as(&self, catalog: Catalog) -> Snapshot {
        let definitions = Definitions::new(catalog, Some(&self.definitions()));
        self.view(&Arc::new(definitions), self.watched.snapshot_with_states())
    }

    fn view(&self, definitions: &Arc<Definitions>, kv: (Arc<dyn KvSnapshot>, States)) -> Snapshot {
        Snapshot::new(
            definitions.clone(),
            kv,
            self.store.clone(),
            self.clock.clone(),
            self.kept.clone(),
            self.halted.clone(),
        )
    }

    /// Whether the database was opened for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Waits for the writer lock.
    pub(crate) fn lock_writer(&self) -> Result<WriterGuard, EngineError> {
        if self.read_only {
            return Err(EngineError::ReadOnly);
        }
        let guard = self.writer.lock();
        self.check_writable()?;
        self.settle()?;
        Ok(guard)
    }

    /// Fails if nothing may be written.
    pub(crate) fn check_writable(&self) -> Result<(), EngineError> {
        if self.read_only {
            return Err(EngineError::ReadOnly);
        }
        match self.halted.load(Ordering::Acquire) {
            true => Err(EngineError::RecoveryNeeded),
            false => Ok(()),
        }
    }

    /// Stops all reading and writing: only opening the database again can tell what is stored.
    pub(crate) fn halt(&self) -> EngineError {
        self.halted.store(true, Ordering::Release);
        EngineError::RecoveryNeeded
    }

    /// Returns the directory for runs of sorted entries, made if it was not there.
    pub(crate) fn load_directory(&self) -> Result<PathBuf, EngineError> {
        let directory = self.load_directory.read().clone();
        match std::fs::create_dir_all(&directory) {
            Ok(()) => Ok(directory),
            Err(source) => Err(EngineError::Io {
                operation: "create directory",
                path: directory,
                source,
            }),
        }
    }

    /// Returns how many bytes are sorted in memory.
    pub(crate) fn load_bytes_max(&self) -> usize {
        self.load_bytes_max.load(Ordering::Relaxed)
    }

    /// Runs a change of storage during which no snapshot is taken: one that is not atomic below.
    pub(crate) fn behind_barrier<T>(&self, change: impl FnOnce() -> T) -> T {
        let _barrier = self.definitions.write();
        change()
    }

    /// Returns a table with its compiled index expressions.
    pub(crate) fn maintainer(
        &self,
        definitions: &Definitions,
        id: TableId,
    ) -> Result<Arc<Maintainer>, EngineError> {
        let codec = definitions.codec(id)?;
        let mut maintainers = self.maintainers.lock();
        if let Some(known) = maintainers
            .get(&id)
            .filter(|known| Arc::ptr_eq(&known.codec, codec))
        {
            return Ok(known.clone());
        }
        let maintainer = Arc::new(Maintainer::new(codec.clone(), self.functions.as_ref())?);
        maintainers.insert(id, maintainer.clone());
        Ok(maintainer)
    }

    /// Writes changed definitions durably, then shows them.
    ///
    /// After an error the stored definitions decide: the answer of a write may be lost, the write not.
    pub(crate) fn commit_definitions(&self, batch: WriteBatch, next: Catalog) -> Result<(), EngineError> {
        let written = self.store.write(batch, Durability::Synced);
        let mut definitions = None;
        self.show_definitions(written, next, &mut definitions)
    }

    /// As [`Inner::commit_definitions`], of a batch with rows that only the changed definitions can read: nobody takes a
    /// snapshot in between.
    pub(crate) fn commit_definitions_with_rows(
        &self,
        batch: WriteBatch,
        next: Catalog,
    ) -> Result<(), EngineError> {
        let mut definitions = Some(self.definitions.write());
        let written = self.store.write(batch, Durability::Synced);
        self.show_definitions(written, next, &mut definitions)
    }

    fn show_definitions<'d>(
        &'d self,
        written: Result<(), KvError>,
        next: Catalog,
        definitions: &mut Option<RwLockWriteGuard<'d, Arc<Definitions>>>,
    ) -> Result<(), EngineError> {
        let next = match &written {
            Ok(()) => next,
            Err(_) => match stored::load_catalog(self.store.as_ref()) {
                Ok(stored) => stored.at_version(next.version),
                Err(_) => return Ok(written?),
            },
        };
        self.builds.look_at(&next);
        let definitions = definitions.get_or_insert_with(|| self.definitions.write());
        **definitions = Arc::new(Definitions::new(next, Some(definitions)));
        Ok(written?)
    }

    /// Writes and shows a changed table.
    pub(crate) fn commit_table(&self, mut batch: WriteBatch, table: Table) -> Result<(), EngineError> {
        stored::put_table(&mut batch, &table);
        let next = self.definitions().catalog.with_table(table);
        self.commit_definitions(batch, next)
    }

    /// Returns the next id to give to a table or index.
    pub(crate) fn next_storage_id(&self) -> Result<u32, EngineError> {
        let stored = stored::next_id(self.store.as_ref())?;
        Ok(stored.max(self.least_id.load(Ordering::Relaxed)))
    }

    /// Does not give an id again: storage may have half of a column family of that name, which the next open
    /// drops, and until then refuses another.
    pub(crate) fn pass_over(&self, id: u32) {
        self.least_id.fetch_max(id.saturating_add(1), Ordering::Relaxed);
    }

    /// Creates column families of a table, empty: what an earlier failure left under their names goes first.
    pub(crate) fn create_storage(&self, names: &[String], table: &Table) -> Result<(), EngineError> {
        for name in names {
            if self.store.table_exists(name) {
                self.store.drop_table(name)?;
            }
            self.store.create_table(name, &storage_options(table, name))?;
        }
        Ok(())
    }

    /// Drops column families that no definition names; those that cannot be dropped now are
    /// dropped at the next open. A load that is to be completed may want them first.
    pub(crate) fn drop_unnamed(&self) {
        if !self.is_settled() {
            return;
        }
        let catalog = self.definitions().catalog.clone();
        let unnamed = recover::unnamed(self.store.as_ref(), &catalog).into_iter();
        for name in unnamed.filter(|name| !self.builds.owns(name)) {
            let _ = self.store.drop_table(&name);
        }
    }
}

/// Returns how a column family of a table, or of an index of it, is stored.
pub(crate) fn storage_options(table: &Table, storage: &str) -> TableOptions {
    let history = table.history();
    let is_named = |family: &&Family| {
        let mut tables = std::iter::once(table).chain(&history);
        tables.any(|table| table.storage_name(family.id) == storage)
    };
    let family = table.families.iter().find(is_named);
    let own = family.and_then(|family| family.options.compression.as_deref());
    let compression = own.or(table.options.compression.as_deref());
    TableOptions {
        purged: !lifetime::table_rules(table).is_empty(),
        compression: match compression {
            Some("none") => Some(Compression::None),
            Some("lz4") => Some(Compression::Lz4),
            Some("zstd") => Some(Compression::Zstd),
            _ => None,
        },
        block_bytes: is_of_blocks(table, storage).then_some(COMPRESSED_BYTES),
        ..TableOptions::default()
    }
}

/// Bytes of columnar blocks that are compressed together, about: what a piece of a column has.
const COMPRESSED_BYTES: usize = 8 << 10;

/// Whether a column family has the blocks of a table, or of an index of it.
fn is_of_blocks(table: &Table, storage: &str) -> bool {
    let mut indexes = table.indexes.iter().filter(|index| index.is_columnar());
    (table.is_columnar() && table.blocks_name() == storage)
        || indexes.any(|index| index.blocks_name() == storage)
}

/// Tells storage, which keeps no options, of families that are not stored like others.
fn configure_families(inner: &Inner) -> Result<(), EngineError> {
    let definitions = inner.definitions();
    let tables = definitions.catalog.tables();
    for table in tables.filter(|table| definitions.lost(table.id).is_none()) {
        for storage in storages_of(table) {
            let options = storage_options(table, &storage);
            if options.compression.is_some() || options.block_bytes.is_some() {
                inner.store.configure_table(&storage, &options)?;
            }
        }
    }
    Ok(())
}

/// Returns every column family that the definitions name.
pub(crate) fn storage_names(catalog: &Catalog) -> impl Iterator<Item = String> + '_ {
    catalog.tables().flat_map(|table| storages_of(table))
}

/// Returns the names of all column families of a table, its history and its indexes.
pub(crate) fn storages_of(table: &Table) -> impl Iterator<Item = String> + '_ {
    let indexes = table.indexes.iter().flat_map(Index::storage_names);
    table.storage_names().into_iter().chain(indexes)
}
