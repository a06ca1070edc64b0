//! Filling an index from the rows of its table.
//!
//! Rows are read in key order, a thousand at a time; their entries are sorted in bounded memory
//! and go into storage as one sorted load. Until the definition says that the index is ready
//! nobody reads it. A crash in between is found at the next open, which fills the index again from
//! nothing.

use crate::engine::Inner;
use crate::maintain::KeyedRow;
use crate::merge_write::{Target, write_sorted};
use crate::progress::check_cancelled;
use crate::rows::RowReader;
use crate::sorter::Sorter;
use crate::{EngineError, Progress};
use rukh_catalog::{CatalogError, IndexId};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, ScanSpec, TableName, WriteBatch};

/// Fills an index in state Building; the caller holds the writer lock.
///
/// Fails with [`EngineError::UniqueViolation`] and [`EngineError::Cancelled`].
pub(crate) fn backfill(inner: &Inner, id: IndexId, progress: &dyn Progress) -> Result<(), EngineError> {
    let store = inner.store.as_ref();
    clear(store, &rukh_catalog::Index::storage_name_of(id))?;
    let snapshot = inner.snapshot();
    let unknown = || CatalogError::UnknownIndex {
        name: format!("index {}", id.0),
    };
    let (table, _) = snapshot.catalog.index(id).ok_or_else(unknown)?;
    let maintainer = inner.maintainer(&snapshot.definitions, table.id)?;
    let position = maintainer
        .indexes
        .iter()
        .position(|index| index.codec.index.id == id);
    let position = position.ok_or_else(unknown)?;
    let index = &maintainer.indexes[position];
    progress.total(Some(
        store.approximate_keys(&maintainer.codec.families[0].storage)?,
    ));
    let mut sorter = Sorter::new(&inner.load_directory()?);
    let mut reader = RowReader::new(&snapshot, maintainer.codec.clone())?;
    while let Some(rows) = reader.next()? {
        check_cancelled(progress)?;
        let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
        index.visit_entries(&keyed, &mut |_, key, value| {
            sorter.add(key, value);
            Ok(())
        })?;
        if sorter.buffered_bytes() > inner.load_bytes_max() {
            sorter.spill()?;
        }
        progress.advance(rows.len() as u64);
    }
    let tick = &mut |_| check_cancelled(progress);
    let files = write_sorted(
        store,
        &snapshot,
        &maintainer,
        Target::Index(position),
        sorter,
        tick,
    );
    let files = files.inspect_err(|_| {
        // Strays are harmless, and removed when the database is opened next.
        let _ = store.discard_stray_files(&[]);
    })?;
    if files.is_empty() {
        return Ok(());
    }
    Ok(store.ingest(vec![(TableName::new(index.codec.storage.clone())?, files)])?)
}

/// Removes what an earlier attempt left.
fn clear(store: &dyn KvStore, storage: &str) -> Result<(), EngineError> {
    let first = ScanSpec::all().keys_only().limited(1);
    if store.latest().count(storage, first)?.0 == 0 {
        return Ok(());
    }
    let mut batch = WriteBatch::new();
    batch.delete_range(storage, &KeyRange::all());
    Ok(store.write(batch, Durability::Synced)?)
}
