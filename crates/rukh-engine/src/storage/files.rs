//! Sorted files of entries, where the store is on this machine, and batches in their place where it is not.

use rukh_kv::{Durability, KvError, KvStore, LoadFile, SortedWriter, WriteBatch};
use std::sync::Arc;

/// What a store without files is said not to support.
pub(crate) const LOADS: &str = "loads by files";

/// Bytes of a batch that stands for a part of a file.
const BATCH_BYTES: usize = 1 << 20;

/// Removes files that will not be ingested.
pub(crate) fn discard_files(store: &dyn KvStore, files: &[LoadFile]) {
    if let Some(local) = store.local() {
        // Strays are harmless, and removed when the database is opened next.
        let _ = local.discard_files(files);
    }
}

/// Begins to write sorted entries of a table that no reader uses yet: to files, which wait to be ingested, or else in batches, which are there at once.
pub(crate) fn writer_of_unread(
    store: &Arc<dyn KvStore>,
    table: &str,
) -> Result<Box<dyn SortedWriter>, KvError> {
    match store.local() {
        Some(files) => files.sorted_writer(table),
        None => Ok(Box::new(BatchWriter {
            store: store.clone(),
            table: table.to_owned(),
            batch: WriteBatch::new(),
            entries: 0,
        })),
    }
}

/// Writes sorted entries in batches. They stay if it is dropped.
struct BatchWriter {
    store: Arc<dyn KvStore>,
    table: String,
    batch: WriteBatch,
    entries: u64,
}

impl BatchWriter {
    fn after_entry(&mut self) -> Result<(), KvError> {
        self.entries += 1;
        match self.batch.bytes() < BATCH_BYTES {
            true => Ok(()),
            false => self
                .store
                .write(std::mem::take(&mut self.batch), Durability::Buffered),
        }
    }
}

impl SortedWriter for BatchWriter {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.batch.put(&self.table, key, value);
        self.after_entry()
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.batch.delete(&self.table, key);
        self.after_entry()
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn finish(self: Box<Self>) -> Result<Vec<LoadFile>, KvError> {
        self.store.write(self.batch, Durability::Synced)?;
        Ok(Vec::new())
    }
}
