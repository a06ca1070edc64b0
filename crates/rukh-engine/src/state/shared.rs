//! The state of an open database, which all that reads and writes shares.

use crate::EngineError;
use crate::columnar::KeptBlocks;
use crate::forms::codec::TableCodec;
use crate::forms::maintain::Maintainer;
use crate::forms::recovery::Recovery;
use crate::forms::row_ids::RowIds;
use crate::forms::sequence_state::KnownSequences;
use crate::forms::statistics::{ChangedRows, KnownStatistics};
use crate::forms::stored;
use crate::functions::RowFunctions;
use crate::reading::definitions::Definitions;
use crate::reading::lifetime::Retired;
use crate::reading::snapshot::Snapshot;
use crate::reading::storages::storage_options;
use crate::state::advisory::AdvisoryLocks;
use crate::state::builds::Builds;
use crate::state::debts::Debts;
use crate::state::lock::{WriterGuard, WriterLock};
use crate::state::row_locks::RowLocks;
use crate::state::scope::Scope;
use crate::state::touches::Touches;
use crate::state::unsettled::Unsettled;
use crate::storage::clock::Clock;
use crate::storage::watch::is_of_blocks;
use crate::storage::watch::{States, WatchedStore};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use rukh_catalog::{Catalog, Table, TableId};
use rukh_keys::Datum;
use rukh_kv::{Durability, KvError, KvSnapshot, KvStore, ScanSpec, WriteBatch};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// An open database, as one session sees it. Clones share both; [`Engine::for_session`] makes one for another session.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
    /// The transaction whose definitions the session sees, and to which those that it changes belong.
    pub(crate) scope: Arc<RwLock<Option<Weak<dyn Scope>>>>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn KvStore>,
    /// The same store.
    pub(crate) watched: Arc<WatchedStore>,
    pub(crate) functions: Arc<dyn RowFunctions>,
    /// Replaced with the storage changes it stands for; held for reading while a snapshot is taken.
    pub(crate) definitions: RwLock<Arc<Definitions>>,
    pub(crate) maintainers: Mutex<HashMap<TableId, Arc<Maintainer>>>,
    /// What gives keys to the rows of tables that were declared without one, from the first row on.
    pub(crate) row_ids: Mutex<HashMap<TableId, Arc<RowIds>>>,
    pub(crate) writer: Arc<WriterLock>,
    /// Held while the database is copied, and while a bulk load is partly there.
    pub(crate) copying: Mutex<()>,
    pub(crate) touches: Touches,
    /// The rows that transactions have locked so that others wait.
    pub(crate) row_locks: Arc<RowLocks>,
    pub(crate) advisory_locks: Arc<AdvisoryLocks>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) retired: Retired,
    pub(crate) read_only: bool,
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
    pub(crate) load_directory: RwLock<PathBuf>,
    pub(crate) load_bytes_max: AtomicUsize,
    /// The id that the next table, index, sequence, view, role or schema gets. It is stored with each change of
    /// definitions; those given since go with the process, and so does what has them.
    pub(crate) next_id: AtomicU32,
    /// Column families of definitions that no other session sees yet.
    pub(crate) private: Mutex<HashSet<String>>,
    /// What failed statements have left to do.
    pub(crate) unsettled: Unsettled,
    /// Set when storage may show half of a load: nothing is read or written any more.
    pub(crate) halted: Arc<AtomicBool>,
    pub(crate) recovered: Vec<Recovery>,
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

    /// Takes the data of this moment as it is under other definitions, which no other session sees.
    pub(crate) fn snapshot_as(&self, catalog: Catalog) -> Snapshot {
        let definitions = Definitions::new(catalog, Some(&self.definitions()));
        self.view(&Arc::new(definitions), self.watched.snapshot_with_states())
    }

    pub(crate) fn view(&self, definitions: &Arc<Definitions>, kv: (Arc<dyn KvSnapshot>, States)) -> Snapshot {
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

    /// Stops all reading and writing: only opening the database again can find out what is stored.
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
        definitions: &Arc<Definitions>,
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
        let mut maintainer = Maintainer::new(codec.clone(), self.functions.as_ref())?;
        if let Some(position) = codec.table.row_id() {
            let row_ids = self.row_ids(definitions, codec, position)?;
            maintainer.rules.give_row_ids(position, row_ids);
        }
        let maintainer = Arc::new(maintainer);
        maintainers.insert(id, maintainer.clone());
        Ok(maintainer)
    }

    /// Returns what gives row ids to the rows of a table that loses its primary key.
    pub(crate) fn new_row_ids(&self, id: TableId) -> Arc<RowIds> {
        let mut known = self.row_ids.lock();
        let begun = || Arc::new(RowIds::after(0, self.clock.clone()));
        known.entry(id).or_insert_with(begun).clone()
    }

    /// Returns what gives the row ids of a table: one for as long as the database is open, whatever becomes of the definition.
    fn row_ids(
        &self,
        definitions: &Arc<Definitions>,
        codec: &TableCodec,
        position: usize,
    ) -> Result<Arc<RowIds>, EngineError> {
        let mut known = self.row_ids.lock();
        if let Some(row_ids) = known.get(&codec.table.id) {
            return Ok(row_ids.clone());
        }
        let snapshot = self.view(definitions, self.watched.snapshot_with_states());
        let greatest = ScanSpec::all().reversed().limited(1);
        let mut cursor = snapshot.kv.scan(&codec.families[0].storage, greatest)?;
        let last = match cursor.next()? {
            None => 0,
            Some(entry) => {
                let wanted: Vec<bool> = (0..codec.table.columns.len()).map(|at| at == position).collect();
                let row = codec.decode_columns::<&[u8]>(entry.key, &[], &wanted)?;
                match row[position] {
                    Datum::Int(last) => last,
                    _ => 0,
                }
            }
        };
        let row_ids = Arc::new(RowIds::after(last, self.clock.clone()));
        known.insert(codec.table.id, row_ids.clone());
        Ok(row_ids)
    }

    /// Writes changed definitions durably, then shows them.
    ///
    /// After an error the stored definitions decide: the answer of a write may be lost, the write not. Where they cannot be read the database is halted:
    /// what is written by other definitions than those that are stored leaves indexes without entries.
    pub(crate) fn commit_definitions(&self, mut batch: WriteBatch, next: Catalog) -> Result<(), EngineError> {
        stored::put_next_id(&mut batch, self.next_id.load(Ordering::Relaxed));
        let written = self.store.write(batch, Durability::Synced);
        let mut definitions = None;
        self.show_definitions(written, next, &mut definitions)
    }

    /// As [`Inner::commit_definitions`], of a batch with rows that only the changed definitions can read: no
    /// snapshot is taken in between.
    pub(crate) fn commit_definitions_with_rows(
        &self,
        mut batch: WriteBatch,
        next: Catalog,
    ) -> Result<(), EngineError> {
        stored::put_next_id(&mut batch, self.next_id.load(Ordering::Relaxed));
        let mut definitions = Some(self.definitions.write());
        let written = self.store.write(batch, Durability::Synced);
        self.show_definitions(written, next, &mut definitions)
    }

    pub(crate) fn show_definitions<'d>(
        &'d self,
        written: Result<(), KvError>,
        next: Catalog,
        definitions: &mut Option<RwLockWriteGuard<'d, Arc<Definitions>>>,
    ) -> Result<(), EngineError> {
        let next = match &written {
            Ok(()) => next,
            Err(error) => match stored::load_catalog(self.store.as_ref()) {
                Ok(stored) => stored.at_version(next.version),
                Err(_) => {
                    if !error.has_changed_nothing() {
                        self.halt();
                    }
                    return Ok(written?);
                }
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

    /// Gives an id, which nothing has had since the database was opened: storage may have half of a column family of an id
    /// whose definition was not stored.
    pub(crate) fn take_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Creates column families of a table, empty: what an earlier failure left under their names goes first.
    pub(crate) fn create_storage(&self, names: &[String], table: &Table) -> Result<(), EngineError> {
        if names.iter().any(|name| is_of_blocks(name)) {
            self.store.local_files("columnar tables and indexes")?;
        }
        for name in names {
            if self.store.table_exists(name) {
                self.store.drop_table(name)?;
            }
            self.store.create_table(name, &storage_options(table, name))?;
        }
        Ok(())
    }
}
