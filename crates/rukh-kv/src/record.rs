//! A store that records its calls, for golden tests.
//!
//! Operations are kept as data, so that a layer which knows the key layouts can print keys decoded;
//! their Display prints bytes in hexadecimal:
//!
//! ```text
//! get t/6b31
//! scan t [61 - 62) limit 5
//! put t/6b31 = 7631
//! del t@by_host/61
//! commit 2 ops
//! ```

use crate::forward_store;
use crate::hex::Hex;
use crate::{
    Commit, CommitOrder, Committed, Durability, KvCursor, KvError, KvSnapshot, KvStore, LoadFile, LocalFiles,
    ScanSpec, ScanStats, SingleWriter, SortedWriter, TableName, TableOptions, Traffic, WriteBatch,
};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// What a [`RecordStore`] writes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// What changes the store.
    Writes,
    /// What changes it and what reads keys.
    ReadsAndWrites,
}

/// A call of a store. Only calls that succeed are recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Operation {
    /// A key was read.
    Get {
        /// The table read.
        table: String,
        /// The key.
        key: Vec<u8>,
    },
    /// Many keys were read at once.
    MultiGet {
        /// The table read.
        table: String,
        /// The keys, in the caller's order.
        keys: Vec<Vec<u8>>,
    },
    /// A scan was started.
    Scan {
        /// The table read.
        table: String,
        /// What of it.
        spec: ScanSpec,
    },
    /// Keys were counted.
    Count {
        /// The table read.
        table: String,
        /// What of it.
        spec: ScanSpec,
    },
    /// A batch was written.
    Write {
        /// The changes.
        batch: WriteBatch,
        /// When the write counted as done.
        durability: Durability,
    },
    /// A table was created.
    CreateTable {
        /// Its name.
        table: String,
    },
    /// A table was dropped.
    DropTable {
        /// Its name.
        table: String,
    },
    /// A load was finished.
    Load {
        /// The table it is for.
        table: String,
        /// The number of entries in it.
        entries: u64,
    },
    /// Loads were ingested.
    Ingest {
        /// The tables, in order.
        tables: Vec<TableName>,
    },
}

/// A batch prints its operations and then `commit n ops`, with `buffered` when it is not synced.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Get { table, key } => write!(f, "get {table}/{}", Hex(key)),
            Operation::MultiGet { table, keys } => {
                write!(f, "get {table}")?;
                keys.iter().try_for_each(|key| write!(f, " /{}", Hex(key)))
            }
            Operation::Scan { table, spec } => write!(f, "scan {table} {spec}"),
            Operation::Count { table, spec } => write!(f, "count {table} {spec}"),
            Operation::Write { batch, durability } => {
                let buffered = if *durability == Durability::Buffered {
                    " buffered"
                } else {
                    ""
                };
                write!(f, "{batch}commit {} ops{buffered}", batch.len())
            }
            Operation::CreateTable { table } => write!(f, "create table {table}"),
            Operation::DropTable { table } => write!(f, "drop table {table}"),
            Operation::Load { table, entries } => write!(f, "load {table} {entries} entries"),
            Operation::Ingest { tables } => {
                f.write_str("ingest")?;
                tables.iter().try_for_each(|table| write!(f, " {table}"))
            }
        }
    }
}

/// A store that passes everything on to another one and writes it down.
pub struct RecordStore {
    inner: Arc<dyn KvStore>,
    log: Log,
    order: SingleWriter,
}

/// The operations so far, shared with snapshots and loads.
#[derive(Clone)]
struct Log {
    recording: Recording,
    operations: Arc<Mutex<Vec<Operation>>>,
}

impl RecordStore {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn KvStore>, recording: Recording) -> RecordStore {
        RecordStore {
            inner,
            log: Log {
                recording,
                operations: Arc::default(),
            },
            order: SingleWriter::default(),
        }
    }

    /// Returns the operations since the last call, oldest first.
    pub fn take(&self) -> Vec<Operation> {
        std::mem::take(&mut self.log.operations.lock())
    }

    /// Returns the operations since the last call as text, one line each.
    pub fn take_text(&self) -> String {
        self.take()
            .iter()
            .map(|operation| format!("{operation}\n"))
            .collect()
    }
}

impl Log {
    fn note(&self, operation: Operation) {
        self.operations.lock().push(operation);
    }

    fn note_read(&self, operation: impl FnOnce() -> Operation) {
        if self.recording == Recording::ReadsAndWrites {
            self.note(operation());
        }
    }

    fn snapshot(&self, inner: Arc<dyn KvSnapshot>) -> Arc<dyn KvSnapshot> {
        match self.recording {
            Recording::Writes => inner,
            Recording::ReadsAndWrites => Arc::new(RecordSnapshot {
                inner,
                log: self.clone(),
            }),
        }
    }
}

impl KvStore for RecordStore {
    forward_store!(inner: capabilities merge_operator tables table_exists configure_table sync compact compact_all approximate_size approximate_keys split_points table_usage close);

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.inner.create_table(table, options)?;
        self.log.note(Operation::CreateTable {
            table: table.to_owned(),
        });
        Ok(())
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        self.inner.drop_table(table)?;
        self.log.note(Operation::DropTable {
            table: table.to_owned(),
        });
        Ok(())
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        self.log.snapshot(self.inner.snapshot())
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        self.log.snapshot(self.inner.latest())
    }

    fn apply(&self, batch: WriteBatch, durability: Durability) -> Result<Traffic, KvError> {
        let traffic = self.inner.apply(batch.clone(), durability)?;
        self.log.note(Operation::Write { batch, durability });
        Ok(traffic)
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.order.commit(self, commit)
    }

    fn order(&self) -> &dyn CommitOrder {
        &self.order
    }

    fn local(&self) -> Option<&dyn LocalFiles> {
        self.inner.local().map(|_| self as &dyn LocalFiles)
    }
}

impl LocalFiles for RecordStore {
    forward_store!(inner: set_purge flush load_files make_room abandon_files is_abandoned discard_files discard_stray_files usage backup checkpoint);

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        let files = self.inner.local_files("loads by files")?;
        let inner = files.sorted_writer(table)?;
        Ok(Box::new(RecordWriter {
            inner,
            table: table.to_owned(),
            log: self.log.clone(),
        }))
    }

    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        let files = self.inner.local_files("loads by files")?;
        let tables = loads.iter().map(|(table, _)| table.clone()).collect();
        files.ingest(loads)?;
        self.log.note(Operation::Ingest { tables });
        Ok(())
    }
}

/// A snapshot that writes down what is read from it.
struct RecordSnapshot {
    inner: Arc<dyn KvSnapshot>,
    log: Log,
}

impl KvSnapshot for RecordSnapshot {
    fn tables(&self) -> Vec<String> {
        self.inner.tables()
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let value = self.inner.get(table, key)?;
        self.log.note_read(|| Operation::Get {
            table: table.to_owned(),
            key: key.to_vec(),
        });
        Ok(value)
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let values = self.inner.multi_get(table, keys)?;
        self.log.note_read(|| Operation::MultiGet {
            table: table.to_owned(),
            keys: keys.to_vec(),
        });
        Ok(values)
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let cursor = self.inner.scan(table, spec.clone())?;
        self.log.note_read(|| Operation::Scan {
            table: table.to_owned(),
            spec,
        });
        Ok(cursor)
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        let counted = self.inner.count(table, spec.clone())?;
        self.log.note_read(|| Operation::Count {
            table: table.to_owned(),
            spec,
        });
        Ok(counted)
    }
}

/// A load that is written down when finished.
struct RecordWriter {
    inner: Box<dyn SortedWriter>,
    table: String,
    log: Log,
}

impl SortedWriter for RecordWriter {
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
        let entries = self.inner.entries();
        let files = self.inner.finish()?;
        self.log.note(Operation::Load {
            table: self.table,
            entries,
        });
        Ok(files)
    }
}
