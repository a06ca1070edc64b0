//! The engine: an open database with its definitions and its writer lock.
//!
//! Definitions are an immutable value that DDL replaces as a whole; readers take it together with
//! a storage snapshot. One writer runs at a time: a statement holds the writer lock from
//! [`Engine::begin`] to its commit, DDL for as long as it runs.
//!
//! Definitions change in an order that survives the end of the process at any point: column
//! families are created before a definition names them and dropped after none does. What a crash
//! leaves behind is cleared up by `recover` when the database is opened next.

use crate::building::build::ROWS_AT_ONCE;
use crate::building::load::LOAD_BYTES_MAX;
use crate::columnar::KeptBlocks;
use crate::defining::alter::owned;
use crate::defining::analyze::load_statistics;
use crate::defining::recover;
use crate::forms::recovery::Recovery;
use crate::forms::stored;
use crate::functions::RowFunctions;
use crate::reading::definitions::Definitions;
use crate::reading::lifetime::Retired;
use crate::reading::snapshot::Snapshot;
use crate::reading::storages::{storage_options, storages_of};
use crate::state::advisory::AdvisoryOwner;
use crate::state::builds::Builds;
use crate::state::debts::Debts;
use crate::state::row_locks::StatementLocks;
use crate::state::scope::Scope;
use crate::state::shared::{Engine, Inner};
use crate::state::touches::Touches;
use crate::state::unsettled::Unsettled;
use crate::storage::clock::TimeSource;
use crate::storage::watch::{States, WatchedStore};
use crate::writing::ingest;
use crate::writing::transaction::Transaction;
use crate::writing::write::{Target, Write};
use crate::{DefinitionChanges, EngineError, SequenceState};
use parking_lot::{Mutex, RwLock};
use rukh_catalog::{
    Catalog, CatalogError, ColumnId, Sequence, SequenceId, Table, TableDraft, TableId, validate_table,
};
use rukh_kv::KvStore;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Bytes of pending changes that one statement may hold, unless set otherwise: 512 MiB.
const STATEMENT_BYTES_MAX: u64 = 512 << 20;

/// Bytes of changes that one transaction may hold, unless set otherwise: 256 MiB.
const TRANSACTION_BYTES_MAX: u64 = 256 << 20;

impl Engine {
    /// Opens the database in `store`, making an empty one if there is none.
    ///
    /// Clears up what a crash left behind, unless `read_only`: column families that no definition
    /// names are dropped, and an index whose filling was cut short is filled again before this
    /// returns, or dropped if its rows no longer allow it. [`Engine::recovered`] reports it.
    ///
    /// Fails on a database written in a newer format, with [`EngineError::ReadOnly`] if there is
    /// none and none may be made, and with [`EngineError::RecoveryNeeded`] if a bulk load was cut
    /// short and may not be completed.
    pub fn open(
        store: Arc<dyn KvStore>,
        functions: Arc<dyn RowFunctions>,
        read_only: bool,
    ) -> Result<Engine, EngineError> {
        let found = stored::prepare(store.as_ref(), read_only)?;
        if read_only && ingest::is_pending(store.as_ref())? {
            return Err(EngineError::RecoveryNeeded);
        }
        let catalog = stored::load_catalog(store.as_ref())?;
        let lost = recover::lost_tables(store.as_ref(), &catalog);
        let catalog = match read_only {
            true => recover::without_unread_indexes(store.as_ref(), catalog, found),
            false => catalog,
        };
        let next_id = match read_only {
            true => 0,
            false => stored::next_id(store.as_ref())?,
        };
        let kept = Arc::<KeptBlocks>::default();
        let watched = Arc::new(WatchedStore::new(store, kept.writes().clone()));
        watched.load_row_counts()?;
        let mut inner = Inner {
            store: watched.clone(),
            watched,
            functions,
            definitions: RwLock::new(Arc::new(Definitions::new(catalog, None).without(lost))),
            maintainers: Mutex::default(),
            row_ids: Mutex::default(),
            writer: Arc::default(),
            copying: Mutex::default(),
            touches: Touches::default(),
            row_locks: Arc::default(),
            advisory_locks: Arc::default(),
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
            next_id: AtomicU32::new(next_id),
            private: Mutex::default(),
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
            scope: Arc::default(),
        })
    }

    /// Returns the same database for another session, which sees what is committed until [`Engine::enter`].
    pub fn for_session(&self) -> Engine {
        Engine {
            inner: self.inner.clone(),
            scope: Arc::default(),
        }
    }

    /// Has the session see the definitions of a transaction, and change them in it, until [`Engine::leave`] or its end.
    pub fn enter(&self, transaction: &Transaction) {
        *self.scope.write() = Some(transaction.scope());
    }

    /// Has the session see and change the definitions that all see.
    pub fn leave(&self) {
        *self.scope.write() = None;
    }

    /// Returns the newest definitions: those that the session's transaction has changed, else those that all see, however old the state is that
    /// the transaction reads. A right that is taken away is gone at once.
    pub fn newest_catalog(&self) -> Arc<Catalog> {
        let changed = self.scope().and_then(|scope| scope.changed_definitions());
        changed
            .unwrap_or_else(|| self.inner.definitions())
            .catalog
            .clone()
    }

    pub(crate) fn scope(&self) -> Option<Arc<dyn Scope>> {
        self.scope.read().as_ref().and_then(Weak::upgrade)
    }

    /// Returns the definitions that the session sees.
    pub fn catalog(&self) -> Arc<Catalog> {
        match self.scope() {
            Some(scope) => scope.definitions().catalog.clone(),
            None => self.inner.definitions().catalog.clone(),
        }
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

    /// Takes catalog and data of this moment, or those of the session's transaction.
    pub fn snapshot(&self) -> Snapshot {
        match self.scope() {
            Some(scope) => scope.snapshot_as(&scope.definitions()),
            None => self.inner.snapshot(),
        }
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
        let version = self.inner.store.order().version();
        Ok(Write::new(
            self.inner.clone(),
            self.inner.snapshot(),
            guard,
            Target::Store { locks, version },
        ))
    }

    /// Makes what a statement outside of transactions locks its rows with; `None` while no transaction locks rows.
    pub fn statement_locks(&self) -> Option<Arc<StatementLocks>> {
        self.inner.row_locks.statement()
    }

    /// Makes the owner of a session's advisory locks.
    pub fn advisory_owner(&self) -> AdvisoryOwner {
        self.inner.advisory_locks.owner()
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
        let change = self.begin_change()?;
        let catalog = &change.definitions.catalog;
        catalog.check_name_free(&draft.schema, &draft.name)?;
        let id = TableId(change.take_id());
        let table = validate_table(draft, id)?;
        if let Some(name) = table.key_name() {
            catalog.check_name_free(&table.schema, &name)?;
        }
        let sequences = owned(catalog, &table, sequences)?;
        change.create_storage(&table.storage_names(), &table)?;
        let mut changed = change.nothing();
        changed.put_table(table);
        for sequence in sequences {
            let id = SequenceId(change.take_id());
            let state = SequenceState::set(sequence.start);
            changed.put_new_sequence(Sequence { id, ..sequence }, state);
        }
        change.finish(changed)?;
        self.defined(id)
    }

    /// Returns a table as the session sees it.
    pub(crate) fn defined(&self, id: TableId) -> Result<Arc<Table>, EngineError> {
        let definitions = match self.scope() {
            Some(scope) => scope.definitions(),
            None => self.inner.definitions(),
        };
        Ok(definitions.codec(id)?.table.clone())
    }

    /// Drops a table with its indexes and statistics.
    pub fn drop_table(&self, id: TableId) -> Result<(), EngineError> {
        self.change_definitions(|catalog| {
            // One whose rows are lost can be dropped.
            if catalog.table(id).is_none() {
                let name = format!("table {}", id.0);
                return Err(CatalogError::UnknownTable { name }.into());
            }
            Ok(DefinitionChanges {
                dropped_tables: vec![id],
                ..DefinitionChanges::default()
            })
        })
    }
}

/// Sets the options, which storage does not keep, of families that are not stored like others.
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

impl Engine {
    /// Sets how many bytes of blocks of columnar tables and indexes are kept as they were read, about; 0 keeps none.
    pub fn set_open_blocks_bytes(&self, bytes: usize) {
        self.inner.kept.set_bytes_max(bytes);
    }
}
