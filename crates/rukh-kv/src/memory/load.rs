//! Loads of a store in memory: entries kept aside until ingested.

use super::Shared;
use super::rows::Bytes;
use crate::{KvError, LoadFile, SortedWriter};
use std::sync::Arc;

/// The entries of one finished load, those without a value to be removed.
pub(super) type Entries = Vec<(Bytes, Option<Bytes>)>;

/// A load under way.
pub(super) struct MemoryWriter {
    table: String,
    shared: Arc<Shared>,
    entries: Entries,
}

impl MemoryWriter {
    pub(super) fn new(table: &str, shared: Arc<Shared>) -> MemoryWriter {
        MemoryWriter {
            table: table.to_owned(),
            shared,
            entries: Vec::new(),
        }
    }
}

impl MemoryWriter {
    fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), KvError> {
        if self.entries.last().is_some_and(|(last, _)| **last >= *key) {
            return Err(KvError::KeyOrder {
                table: self.table.clone(),
                key: key.to_vec(),
            });
        }
        self.entries.push((key.into(), value.map(Into::into)));
        Ok(())
    }
}

impl SortedWriter for MemoryWriter {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.push(key, Some(value))
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.push(key, None)
    }

    fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    fn finish(self: Box<Self>) -> Result<Vec<LoadFile>, KvError> {
        let mut state = self.shared.open()?;
        if self.entries.is_empty() {
            return Ok(Vec::new());
        }
        state.loads_made += 1;
        let file = LoadFile::new(format!("load-{}", state.loads_made));
        state.loads.insert(file.clone(), self.entries);
        Ok(vec![file])
    }
}
