//! Filling the empty column family of an index from the rows of a snapshot.
//!
//! Rows are read in key order, a thousand at a time; their entries are sorted in bounded memory
//! and go into storage as one sorted load. Until the definition says that the index is ready
//! nobody reads it. A crash in between is found at the next open, which fills the index again from
//! nothing.

use crate::builds::{Build, BuildPhase};
use crate::columnar::BlockBuilder;
use crate::engine::Inner;
use crate::entry::IndexCodec;
use crate::maintain::{KeyedRow, Maintainer};
use crate::merge_write::{Destination, Target, write_sorted};
use crate::progress::check_cancelled;
use crate::rows::RowReader;
use crate::snapshot::Snapshot;
use crate::sorter::Sorter;
use crate::{EngineError, Progress};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, LoadFile, ScanSpec, TableName, WriteBatch};
use std::sync::atomic::Ordering::Relaxed;

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
    let blocks = index.codec.blocks().map(|blocks| &blocks.storage);
    clear(store, &index.codec.storage)?;
    blocks.map_or(Ok(()), |blocks| clear(store, blocks))?;
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
    let (storage, files) = match blocks {
        Some(blocks) => (blocks, write_blocks(inner, &index.codec, sorter, tick)?),
        None => {
            let to = Destination {
                target: Target::Index(0),
                blocks: None,
                beside: Vec::new(),
            };
            let loads = write_sorted(store, snapshot, maintainer, sorter, to, tick)?;
            let files = loads.into_iter().flat_map(|(_, files)| files).collect();
            (&index.codec.storage, files)
        }
    };
    if files.is_empty() {
        return Ok(());
    }
    let ingested = store.ingest(vec![(TableName::new(storage.clone())?, files.clone())]);
    ingested.map_err(|error| {
        // Strays are harmless, and removed when the database is opened next.
        let _ = store.discard_files(&files);
        error.into()
    })
}

/// Writes sorted entries of a columnar index as blocks, to files that wait to be ingested.
///
/// Storage has the columns apart: pieces of blocks, which are made in key order of their entries, are
/// sorted once more.
fn write_blocks(
    inner: &Inner,
    index: &IndexCodec,
    sorter: Sorter,
    tick: &mut dyn FnMut(u64) -> Result<(), EngineError>,
) -> Result<Vec<LoadFile>, EngineError> {
    let mut entries = sorter.finish()?;
    let mut pieces = Sorter::new(&inner.load_directory()?);
    let mut builder = BlockBuilder::new(index, inner.debts.block_rows.load(Relaxed));
    loop {
        let more = entries.advance()?;
        if builder.is_full() || !more {
            tick(builder.rows() as u64)?;
            let made = builder.finish();
            made.iter().for_each(|(key, value)| pieces.add(key, value));
            if pieces.buffered_bytes() > inner.load_bytes_max() {
                pieces.spill()?;
            }
        }
        if !more {
            break;
        }
        builder.add_entry(entries.key(), entries.value())?;
    }
    let blocks = index.blocks().expect("the index is columnar");
    let mut writer = inner.store.sorted_writer(&blocks.storage)?;
    let mut pieces = pieces.finish()?;
    while pieces.advance()? {
        writer.add(pieces.key(), pieces.value())?;
    }
    Ok(writer.finish()?)
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
