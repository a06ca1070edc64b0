//! A store in memory, for tests.
//!
//! Every table is an ordered map from key to the versions of its value, newest last, each stamped
//! with the number of the write that made it (`rows`). A snapshot is such a number and costs
//! nothing; a version goes once no snapshot can see it. Cursors copy a few entries at a time and
//! hold no lock in between (`snapshot`), so a visitor may write to the store it reads from.
//!
//! Deliberately not here: durability. What is dropped is gone.

mod load;
mod position;
mod rows;
mod snapshot;

use crate::{
    Backup, Capabilities, Commit, CommitOrder, Committed, Durability, KvError, KvSnapshot, KvStore, LoadFile,
    LocalFiles, MergeOperator, Purge, SingleWriter, SortedWriter, StoreUsage, TableName, TableOptions,
    TableUsage, Traffic, WriteBatch, WriteOp, merge,
};
use load::{Entries, MemoryWriter};
use parking_lot::{Mutex, MutexGuard};
use rows::NEWEST;
use rukh_keys::KeyRange;
use snapshot::{Claim, MemorySnapshot};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) use position::RowsPosition;
pub(crate) use rows::{Bytes, Table, version_bytes};

type Tables = BTreeMap<String, Arc<Table>>;

/// A store whose tables are maps in memory.
pub struct MemoryStore {
    shared: Arc<Shared>,
    merge: Option<Arc<dyn MergeOperator>>,
    /// Whether it plays a store whose data are elsewhere.
    is_remote: bool,
    order: SingleWriter,
}

/// What the store, its snapshots and its writers have in common.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

/// Locked for every write and whenever a snapshot comes or goes; rows are locked inside it.
#[derive(Default)]
struct State {
    /// The number of the newest write; its versions are visible to snapshots from it on.
    sequence: u64,
    /// How many snapshots there are of each number.
    active: BTreeMap<u64, usize>,
    tables: Arc<Tables>,
    loads: BTreeMap<LoadFile, Entries>,
    loads_made: u64,
    /// What compaction may forget.
    purges: BTreeMap<String, Purge>,
    closed: bool,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> MemoryStore {
        MemoryStore {
            shared: Arc::default(),
            merge: None,
            is_remote: false,
            order: SingleWriter::default(),
        }
    }

    /// Makes an empty store that can merge.
    pub fn with_merge_operator(merge: Arc<dyn MergeOperator>) -> MemoryStore {
        MemoryStore {
            shared: Arc::default(),
            merge: Some(merge),
            is_remote: false,
            order: SingleWriter::default(),
        }
    }

    /// Makes an empty store without [`LocalFiles`], as one is whose data are on other machines, for tests of what is done without these.
    pub fn without_files(merge: Arc<dyn MergeOperator>) -> MemoryStore {
        MemoryStore {
            is_remote: true,
            ..MemoryStore::with_merge_operator(merge)
        }
    }

    fn table(&self, name: &str) -> Result<Arc<Table>, KvError> {
        self.shared.open()?.table(name)
    }

    fn view(&self, state: &State, claim: Option<Claim>) -> Arc<dyn KvSnapshot> {
        let tables = (!state.closed).then(|| Arc::clone(&state.tables));
        Arc::new(MemorySnapshot::new(Arc::clone(&self.shared), tables, claim))
    }

    /// Turns load files into the writes they stand for.
    fn batch_of(&self, table: &str, files: &[LoadFile]) -> Result<WriteBatch, KvError> {
        let state = self.shared.open()?;
        let mut batch = WriteBatch::new();
        for file in files {
            let entries = state.loads.get(file);
            let entries = entries.ok_or_else(|| KvError::UnknownLoadFile { file: file.clone() })?;
            entries.iter().for_each(|(key, value)| match value {
                Some(value) => batch.put(table, key, value),
                None => batch.delete(table, key),
            });
        }
        Ok(batch)
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl Shared {
    /// Locks the state of a store that is not closed.
    fn open(&self) -> Result<MutexGuard<'_, State>, KvError> {
        let state = self.state.lock();
        if state.closed {
            Err(KvError::Closed)
        } else {
            Ok(state)
        }
    }
}

impl State {
    fn table(&self, name: &str) -> Result<Arc<Table>, KvError> {
        self.tables
            .get(name)
            .cloned()
            .ok_or_else(|| KvError::unknown_table(name))
    }

    /// Applies a batch as one write, or nothing of it.
    fn write(&mut self, batch: &WriteBatch, merge: Option<&dyn MergeOperator>) -> Result<(), KvError> {
        let tables: Vec<_> = batch
            .tables()
            .iter()
            .map(|name| self.table(name))
            .collect::<Result<_, _>>()?;
        let sequence = self.sequence + 1;
        let mut changed: Vec<(usize, Vec<Bytes>)> = Vec::with_capacity(batch.len());
        let mut result = Ok(());
        for (slot, op) in batch.slotted() {
            match apply(&tables[slot], sequence, op, merge) {
                Ok(keys) => changed.push((slot, keys)),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        for (slot, keys) in changed {
            if result.is_ok() {
                tables[slot].tidy(&keys, &self.active);
            } else {
                tables[slot].take_back(&keys, sequence);
            }
        }
        if result.is_ok() {
            self.sequence = sequence;
        }
        result
    }
}

/// Adds the versions of one operation and returns the keys that got one.
fn apply(
    table: &Table,
    sequence: u64,
    op: WriteOp<'_>,
    operator: Option<&dyn MergeOperator>,
) -> Result<Vec<Bytes>, KvError> {
    match op {
        WriteOp::Put { key, value, .. } => Ok(table.set(key, sequence, Some(value.into()))),
        WriteOp::Delete { key, .. } => Ok(table.set(key, sequence, None)),
        WriteOp::DeleteRange { start, limit, .. } => {
            let range = KeyRange {
                start: start.to_vec(),
                limit: limit.map(<[u8]>::to_vec),
            };
            Ok(table.delete_range(&range, sequence))
        }
        WriteOp::Merge {
            table: name,
            key,
            operand,
        } => {
            let operator = operator.ok_or(KvError::Unsupported { operation: "merge" })?;
            let value = table.value(key, NEWEST);
            let folded = merge::fold(operator, name, key, value.as_deref(), &[operand])?;
            Ok(table.set(key, sequence, Some(folded.into())))
        }
    }
}

impl KvStore for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_across_tables: true,
            snapshots: true,
            masked_pushed_down: true,
            durable: false,
            merge: self.merge.is_some(),
        }
    }

    fn merge_operator(&self) -> Option<Arc<dyn MergeOperator>> {
        self.merge.clone()
    }

    fn tables(&self) -> Vec<String> {
        self.shared.state.lock().tables.keys().cloned().collect()
    }

    fn table_exists(&self, table: &str) -> bool {
        self.shared.state.lock().tables.contains_key(table)
    }

    fn create_table(&self, table: &str, _: &TableOptions) -> Result<(), KvError> {
        let name = TableName::new(table)?;
        let mut state = self.shared.open()?;
        if state.tables.contains_key(table) {
            return Err(KvError::TableExists {
                table: name.to_string(),
            });
        }
        Arc::make_mut(&mut state.tables).insert(name.to_string(), Arc::default());
        Ok(())
    }

    fn configure_table(&self, table: &str, _: &TableOptions) -> Result<(), KvError> {
        self.table(table).map(|_| ())
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        let mut state = self.shared.open()?;
        state.purges.remove(table);
        let dropped = Arc::make_mut(&mut state.tables).remove(table);
        dropped.map(|_| ()).ok_or_else(|| KvError::unknown_table(table))
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        let mut state = self.shared.state.lock();
        let claim = Claim::new(&self.shared, &mut state, None);
        self.view(&state, Some(claim))
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        self.view(&self.shared.state.lock(), None)
    }

    fn apply(&self, batch: WriteBatch, _: Durability) -> Result<Traffic, KvError> {
        self.shared.open()?.write(&batch, self.merge.as_deref())?;
        Ok(Traffic::default())
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.order.commit(self, commit)
    }

    fn order(&self) -> &dyn CommitOrder {
        &self.order
    }

    fn sync(&self) -> Result<(), KvError> {
        self.shared.open().map(|_| ())
    }

    /// Forgets what may be forgotten, and only then.
    fn compact(&self, table: &str) -> Result<(), KvError> {
        let mut state = self.shared.open()?;
        let rows = state.table(table)?;
        let Some(purge) = state.purges.get(table).cloned() else {
            return Ok(());
        };
        let mut batch = WriteBatch::new();
        for key in rows.keys(&KeyRange::all()) {
            if rows.value(&key, NEWEST).is_some_and(|value| purge(&value)) {
                batch.delete(table, &key);
            }
        }
        state.write(&batch, None)
    }

    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError> {
        Ok(self.table(table)?.size(range))
    }

    fn approximate_keys(&self, table: &str) -> Result<u64, KvError> {
        Ok(self.table(table)?.keys(&KeyRange::all()).len() as u64)
    }

    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError> {
        let keys = self.table(table)?.keys(range);
        let mut points: Vec<_> = (1..parts)
            .map(|part| part * keys.len() / parts)
            .filter(|at| *at > 0)
            .collect();
        points.dedup();
        Ok(points.into_iter().map(|at| keys[at].to_vec()).collect())
    }

    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError> {
        let table = self.table(table)?;
        Ok(TableUsage {
            keys: table.keys(&KeyRange::all()).len() as u64,
            buffer_bytes: table.size(&KeyRange::all()),
            ..TableUsage::default()
        })
    }

    fn close(&self) -> Result<(), KvError> {
        let mut state = self.shared.open()?;
        state.closed = true;
        state.tables = Arc::default();
        Ok(())
    }

    fn local(&self) -> Option<&dyn LocalFiles> {
        (!self.is_remote).then_some(self as &dyn LocalFiles)
    }
}

impl LocalFiles for MemoryStore {
    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError> {
        self.table(table)?;
        let mut state = self.shared.open()?;
        match purge {
            Some(purge) => state.purges.insert(table.to_owned(), purge),
            None => state.purges.remove(table),
        };
        Ok(())
    }

    fn flush(&self) -> Result<(), KvError> {
        self.shared.open().map(|_| ())
    }

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        self.table(table)?;
        Ok(Box::new(MemoryWriter::new(table, Arc::clone(&self.shared))))
    }

    fn load_files(&self) -> Result<Vec<LoadFile>, KvError> {
        Ok(self.shared.open()?.loads.keys().cloned().collect())
    }

    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        for (table, files) in loads {
            let batch = self.batch_of(&table, &files)?;
            let mut state = self.shared.open()?;
            state.write(&batch, None)?;
            state.loads.retain(|file, _| !files.contains(file));
        }
        Ok(())
    }

    fn make_room(&self, _: &[TableName]) -> Result<(), KvError> {
        self.shared.open().map(|_| ())
    }

    fn abandon_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        let mut state = self.shared.open()?;
        for (_, entries) in state.loads.iter_mut().filter(|(file, _)| files.contains(file)) {
            entries.clear();
        }
        Ok(())
    }

    fn is_abandoned(&self, file: &LoadFile) -> Result<bool, KvError> {
        let state = self.shared.open()?;
        Ok(state.loads.get(file).is_some_and(|entries| entries.is_empty()))
    }

    fn discard_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        self.shared.open()?.loads.retain(|file, _| !files.contains(file));
        Ok(())
    }

    fn discard_stray_files(&self, keep: &[LoadFile]) -> Result<(), KvError> {
        self.shared.open()?.loads.retain(|file, _| keep.contains(file));
        Ok(())
    }

    fn usage(&self) -> Result<StoreUsage, KvError> {
        let state = self.shared.open()?;
        let sizes = state.tables.values().map(|table| table.size(&KeyRange::all()));
        Ok(StoreUsage {
            buffer_bytes: sizes.sum(),
            snapshots: state.active.values().sum::<usize>() as u64,
            ..StoreUsage::default()
        })
    }

    fn backup(&self, _: &Path) -> Result<Backup, KvError> {
        Err(KvError::Unsupported { operation: "backups" })
    }

    fn checkpoint(&self, _: &Path) -> Result<(), KvError> {
        Err(KvError::Unsupported {
            operation: "checkpoints",
        })
    }
}
