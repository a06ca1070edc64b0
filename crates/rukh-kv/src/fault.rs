//! A store that fails on purpose, for crash and fault sweeps.
//!
//! Writes are counted: each write batch, each sync of the log, each table created or dropped, each file set ingested for
//! one table, each load finished, each look for room. A sweep runs its workload once to learn how many there are, then
//! once per number with that one made to fail, and compares what is left with what was
//! acknowledged. Reads never fail.

use crate::{
    Backup, Capabilities, Durability, KvError, KvSnapshot, KvStore, LoadFile, MergeOperator, Purge,
    SortedWriter, StoreUsage, TableName, TableOptions, TableUsage, WriteBatch,
};
use parking_lot::Mutex;
use rukh_keys::KeyRange;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// How a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It changes nothing; later writes succeed: a passing trouble.
    Refuse,
    /// It changes nothing, nor does any later one: a dead device, or the end of the process.
    Halt,
    /// It changes nothing, nor does any later one, for lack of space, until the store is healed: a full disk.
    Full,
    /// It is done, but reported as failed: the answer got lost.
    LoseAnswer,
}

/// A store that passes everything on to another one, except for the write chosen to fail.
pub struct FaultStore {
    inner: Arc<dyn KvStore>,
    plan: Arc<Mutex<Plan>>,
}

/// Which write fails, counted from one.
#[derive(Default)]
struct Plan {
    writes: u64,
    fault: Option<(u64, Fault)>,
}

impl FaultStore {
    /// Wraps a store; no write fails yet.
    pub fn new(inner: Arc<dyn KvStore>) -> FaultStore {
        FaultStore {
            inner,
            plan: Arc::default(),
        }
    }

    /// Makes the `n`-th write from now on fail; 1 is the next one. Replaces what was set before.
    pub fn fail_write(&self, n: u64, fault: Fault) {
        *self.plan.lock() = Plan {
            writes: 0,
            fault: Some((n, fault)),
        };
    }

    /// Lets all writes succeed again.
    pub fn heal(&self) {
        self.plan.lock().fault = None;
    }

    /// Returns how many writes were tried since the start, or since [`FaultStore::fail_write`].
    pub fn writes(&self) -> u64 {
        self.plan.lock().writes
    }
}

impl Plan {
    /// Counts a write and runs it as far as it goes.
    fn run<T>(plan: &Mutex<Plan>, write: impl FnOnce() -> Result<T, KvError>) -> Result<T, KvError> {
        let (number, fault) = {
            let mut plan = plan.lock();
            plan.writes += 1;
            (plan.writes, plan.fault)
        };
        match fault {
            Some((n, Fault::Refuse)) if number == n => Err(injected(number)),
            Some((n, Fault::Halt)) if number >= n => Err(injected(number)),
            Some((n, Fault::Full)) if number >= n => Err(full()),
            Some((n, Fault::LoseAnswer)) if number == n => write().and(Err(injected(number))),
            _ => write(),
        }
    }
}

fn full() -> KvError {
    KvError::io("write", io::Error::from(io::ErrorKind::StorageFull))
}

fn injected(number: u64) -> KvError {
    KvError::io(
        "write",
        io::Error::other(format!("injected fault at write {number}")),
    )
}

impl KvStore for FaultStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn merge_operator(&self) -> Option<Arc<dyn MergeOperator>> {
        self.inner.merge_operator()
    }

    fn tables(&self) -> Vec<String> {
        self.inner.tables()
    }

    fn table_exists(&self, table: &str) -> bool {
        self.inner.table_exists(table)
    }

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.create_table(table, options))
    }

    fn configure_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.inner.configure_table(table, options)
    }

    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError> {
        self.inner.set_purge(table, purge)
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.drop_table(table))
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        self.inner.snapshot()
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        self.inner.latest()
    }

    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.write(batch, durability))
    }

    fn sync(&self) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.sync())
    }

    fn flush(&self) -> Result<(), KvError> {
        self.inner.flush()
    }

    fn compact(&self, table: &str) -> Result<(), KvError> {
        self.inner.compact(table)
    }

    fn compact_all(
        &self,
        tables: &[String],
        done: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), KvError> {
        self.inner.compact_all(tables, done)
    }

    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError> {
        self.inner.approximate_size(table, range)
    }

    fn approximate_keys(&self, table: &str) -> Result<u64, KvError> {
        self.inner.approximate_keys(table)
    }

    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError> {
        self.inner.split_points(table, range, parts)
    }

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        let inner = self.inner.sorted_writer(table)?;
        Ok(Box::new(FaultWriter {
            inner,
            plan: Arc::clone(&self.plan),
        }))
    }

    fn load_files(&self) -> Result<Vec<LoadFile>, KvError> {
        self.inner.load_files()
    }

    /// Ingests table by table, so that a fault can fall between two.
    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        loads
            .into_iter()
            .try_for_each(|load| Plan::run(&self.plan, || self.inner.ingest(vec![load])))
    }

    fn make_room(&self, tables: &[TableName]) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.make_room(tables))
    }

    fn abandon_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        self.inner.abandon_files(files)
    }

    fn is_abandoned(&self, file: &LoadFile) -> Result<bool, KvError> {
        self.inner.is_abandoned(file)
    }

    fn discard_files(&self, files: &[LoadFile]) -> Result<(), KvError> {
        self.inner.discard_files(files)
    }

    fn discard_stray_files(&self, keep: &[LoadFile]) -> Result<(), KvError> {
        self.inner.discard_stray_files(keep)
    }

    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError> {
        self.inner.table_usage(table)
    }

    fn usage(&self) -> Result<StoreUsage, KvError> {
        self.inner.usage()
    }

    fn backup(&self, directory: &Path) -> Result<Backup, KvError> {
        self.inner.backup(directory)
    }

    fn checkpoint(&self, directory: &Path) -> Result<(), KvError> {
        self.inner.checkpoint(directory)
    }

    fn close(&self) -> Result<(), KvError> {
        self.inner.close()
    }
}

/// A load whose finishing is a counted write.
struct FaultWriter {
    inner: Box<dyn SortedWriter>,
    plan: Arc<Mutex<Plan>>,
}

impl SortedWriter for FaultWriter {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.inner.add(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.inner.remove(key)
    }

    fn entries(&self) -> u64 {
        self.inner.entries()
    }

    fn finish(self: Box<Self>) -> Result<Vec<LoadFile>, KvError> {
        let FaultWriter { inner, plan } = *self;
        Plan::run(&plan, || inner.finish())
    }
}
