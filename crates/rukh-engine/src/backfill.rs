//! Filling an index from the rows of its table.
//!
//! Rows are read in key order, a thousand at a time; their entries are written in batches of a few
//! megabytes while the index is in state Building and nobody reads it. A crash in between is found
//! at the next open, which fills the index again from nothing.

use crate::engine::Inner;
use crate::maintain::{IndexMaintainer, KeyedRow, Maintainer};
use crate::progress::check_cancelled;
use crate::rows::{RowBatch, RowReader};
use crate::{EngineError, Progress};
use rukh_catalog::{CatalogError, IndexId};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, WriteBatch};
use std::collections::HashSet;

/// Bytes of entries written at once.
const BATCH_BYTES: usize = 4 << 20;

/// Fills an index in state Building; the caller holds the writer lock.
pub(crate) fn backfill(inner: &Inner, id: IndexId, progress: &dyn Progress) -> Result<(), EngineError> {
    let snapshot = inner.snapshot();
    let unknown = || CatalogError::UnknownIndex {
        name: format!("index {}", id.0),
    };
    let (table, _) = snapshot.catalog.index(id).ok_or_else(unknown)?;
    let maintainer = inner.maintainer(&snapshot.definitions, table.id)?;
    let index = maintainer
        .indexes
        .iter()
        .find(|index| index.codec.index.id == id)
        .ok_or_else(unknown)?;
    progress.total(Some(
        inner
            .store
            .approximate_keys(&maintainer.codec.families[0].storage)?,
    ));
    let mut filling = Filling {
        inner,
        maintainer: &maintainer,
        index,
        batch: WriteBatch::new(),
        pending: HashSet::new(),
    };
    filling.batch.delete_range(&index.codec.storage, &KeyRange::all());
    filling.write()?;
    let mut reader = RowReader::new(&snapshot, maintainer.codec.clone())?;
    while let Some(rows) = reader.next()? {
        check_cancelled(progress)?;
        filling.add(&rows)?;
        progress.advance(rows.len() as u64);
    }
    filling.write()
}

/// An index being filled.
struct Filling<'a> {
    inner: &'a Inner,
    maintainer: &'a Maintainer,
    index: &'a IndexMaintainer,
    batch: WriteBatch,
    /// Exclusive keys in `batch`.
    pending: HashSet<Vec<u8>>,
}

impl Filling<'_> {
    /// Adds the entries of rows.
    fn add(&mut self, rows: &RowBatch) -> Result<(), EngineError> {
        let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
        let entries = self.index.entries(&keyed)?;
        if self.index.codec.index.unique {
            let keys = entries.iter().flatten().map(|entry| entry.key.clone());
            self.check_free(keys.filter(|key| self.index.is_exclusive(key)).collect())?;
        }
        for entry in entries.into_iter().flatten() {
            self.batch
                .put(&self.index.codec.storage, &entry.key, &entry.value);
        }
        match self.batch.bytes() > BATCH_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Fails if one of these keys was given to a row before; notes them.
    fn check_free(&mut self, keys: Vec<Vec<u8>>) -> Result<(), EngineError> {
        let stored = self
            .inner
            .store
            .latest()
            .multi_get(&self.index.codec.storage, &keys)?;
        for (key, stored) in keys.into_iter().zip(stored) {
            if stored.is_some() || self.pending.contains(&key) {
                return Err(self.index.duplicate(&self.maintainer.codec.table, &key));
            }
            self.pending.insert(key);
        }
        Ok(())
    }

    /// Writes the entries collected; the definition that makes the index ready is synced after them.
    fn write(&mut self) -> Result<(), EngineError> {
        self.pending.clear();
        Ok(self
            .inner
            .store
            .write(std::mem::take(&mut self.batch), Durability::Buffered)?)
    }
}
