//! A store that fails on purpose, for crash and fault sweeps.
//!
//! Writes are counted: each write batch, each sync of the log, each table created or dropped, each file set ingested for
//! one table, each load finished, each look for room. A sweep runs its workload once to learn how many there are, then
//! once per number with that one made to fail, and compares what is left with what was
//! acknowledged. Reads never fail.

use crate::forward_store;
use crate::{
    Commit, CommitOrder, Committed, Durability, KvError, KvStore, LoadFile, LocalFiles, SingleWriter,
    SortedWriter, TableName, TableOptions, Traffic, WriteBatch,
};
use parking_lot::Mutex;
use std::io;
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
    order: SingleWriter,
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
            order: SingleWriter::default(),
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
    forward_store!(inner: capabilities merge_operator tables table_exists configure_table snapshot latest compact compact_all approximate_size approximate_keys split_points table_usage close);

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.create_table(table, options))
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.drop_table(table))
    }

    fn apply(&self, batch: WriteBatch, durability: Durability) -> Result<Traffic, KvError> {
        Plan::run(&self.plan, || self.inner.apply(batch, durability))
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.order.commit(self, commit)
    }

    fn order(&self) -> &dyn CommitOrder {
        &self.order
    }

    fn sync(&self) -> Result<(), KvError> {
        Plan::run(&self.plan, || self.inner.sync())
    }

    fn local(&self) -> Option<&dyn LocalFiles> {
        self.inner.local().map(|_| self as &dyn LocalFiles)
    }
}

impl LocalFiles for FaultStore {
    forward_store!(inner: set_purge flush load_files abandon_files is_abandoned discard_files discard_stray_files usage backup checkpoint);

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        let files = self.inner.local_files("loads by files")?;
        let inner = files.sorted_writer(table)?;
        Ok(Box::new(FaultWriter {
            inner,
            plan: Arc::clone(&self.plan),
        }))
    }

    /// Ingests table by table, so that a fault can fall between two.
    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        let files = self.inner.local_files("loads by files")?;
        loads
            .into_iter()
            .try_for_each(|load| Plan::run(&self.plan, || files.ingest(vec![load])))
    }

    fn make_room(&self, tables: &[TableName]) -> Result<(), KvError> {
        let files = self.inner.local_files("loads by files")?;
        Plan::run(&self.plan, || files.make_room(tables))
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
