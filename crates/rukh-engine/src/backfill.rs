//! Filling the empty column family of an index from the rows of a snapshot.
//!
//! Rows are read in key order, a thousand at a time; their entries are sorted in bounded memory
//! and go into storage as one sorted load. Until the definition says that the index is ready
//! nobody reads it. A crash in between is found at the next open, which fills the index again from
//! nothing.

use crate::builds::{Build, BuildPhase};
use crate::engine::Inner;
use crate::maintain::{KeyedRow, Maintainer};
use crate::merge_write::{Target, write_sorted};
use crate::progress::check_cancelled;
use crate::rows::RowReader;
use crate::snapshot::Snapshot;
use crate::sorter::Sorter;
use crate::{EngineError, Progress};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, ScanSpec, TableName, WriteBatch};

/// Fills the one index of `maintainer` with the entries of the rows that `snapshot` shows.
///
/// Fails with [`EngineError::UniqueViolation`], [`EngineError::Cancelled`], and
/// [`EngineError::IndexDropped`].
pub(crate) fn backfill(
    inner: &Inner,
    snapshot: &Snapshot,
    maintainer: &Maintainer,
    build: &Build,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let store = inner.store.as_ref();
    let [index] = maintainer.indexes.as_slice() else {
        return Ok(());
    };
    clear(store, &index.codec.storage)?;
    let rows = store.approximate_keys(&maintainer.codec.families[0].storage)?;
    progress.total(Some(rows));
    build.enter(BuildPhase::Reading, rows);
    let mut sorter = Sorter::new(&inner.load_directory()?);
    let mut reader = RowReader::new(snapshot, maintainer.codec.clone())?;
    while let Some(rows) = reader.next()? {
        check_cancelled(progress)?;
        build.check()?;
        let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
        index.visit_entries(&keyed, &mut |_, key, value| {
            sorter.add(key, value);
            Ok(())
        })?;
        if sorter.buffered_bytes() > inner.load_bytes_max() {
            sorter.spill()?;
        }
        progress.advance(rows.len() as u64);
        build.advance(rows.len() as u64);
    }
    build.enter(BuildPhase::Writing, sorter.entries());
    let tick = &mut |entries| {
        build.advance(entries);
        build.check()?;
        check_cancelled(progress)
    };
    let files = write_sorted(
        store,
        snapshot,
        maintainer,
        Target::Index(0),
        sorter,
        Vec::new(),
        tick,
    )?;
    if files.is_empty() {
        return Ok(());
    }
    let ingested = store.ingest(vec![(
        TableName::new(index.codec.storage.clone())?,
        files.clone(),
    )]);
    ingested.map_err(|error| {
        // Strays are harmless, and removed when the database is opened next.
        let _ = store.discard_files(&files);
        error.into()
    })
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
