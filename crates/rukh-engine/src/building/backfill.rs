//! Filling the empty column family of an index from the rows of a snapshot.
//!
//! Rows are read by a thread for each core, a thousand at a time; their entries are sorted in bounded
//! memory and go into storage as one sorted load. Until the definition says that the index is ready
//! no query reads it. A crash in between is found at the next open, which fills the index again from
//! nothing.

use crate::building::merge_write::{Destination, Target, write_sorted};
use crate::columnar::BlockBuilder;
use crate::forms::entry::{IndexCodec, KeyedRow};
use crate::forms::maintain::{IndexMaintainer, Maintainer};
use crate::reading::rows::RowReader;
use crate::reading::snapshot::Snapshot;
use crate::state::builds::{Build, BuildPhase};
use crate::state::shared::Inner;
use crate::storage::files::{LOADS, discard_files};
use crate::storage::sorter::{self, Merge, Sorter};
use crate::storage::split::split;
use crate::{EngineError, Progress};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, LoadFile, ScanSpec, TableName, WriteBatch, step_aside};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;

/// Threads that read rows at most.
const THREADS_MAX: usize = 8;

/// Fills an index with the entries of the rows that `snapshot` shows: the one index of each maintainer, with the rows
/// of its table.
///
/// Fails with [`EngineError::UniqueViolation`], [`EngineError::Cancelled`], and
/// [`EngineError::IndexDropped`].
pub(crate) fn backfill(
    inner: &Inner,
    snapshot: &Snapshot,
    maintainers: &[Maintainer],
    build: &Build,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let rows = |maintainer: &Maintainer| {
        let storage = &maintainer.codec.families[0].storage;
        inner.store.approximate_keys(storage)
    };
    let rows = maintainers.iter().map(rows).collect::<Result<Vec<u64>, _>>()?;
    progress.total(Some(rows.iter().sum()));
    for (maintainer, rows) in maintainers.iter().zip(rows) {
        build.enter(BuildPhase::Reading, rows);
        fill(inner, snapshot, maintainer, build, progress)?;
    }
    Ok(())
}

/// Fills the one index of a maintainer.
fn fill(
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
    let table = &maintainer.codec.table;
    if !store.table_exists(&index.codec.storage) {
        // The history began after the build.
        inner.create_storage(std::slice::from_ref(&index.codec.storage), table)?;
    }
    let blocks = index.codec.blocks().map(|blocks| &blocks.storage);
    clear(store, &index.codec.storage)?;
    blocks.map_or(Ok(()), |blocks| clear(store, blocks))?;
    let filling = Filling {
        inner,
        snapshot,
        maintainer,
        index,
        build,
        stop: AtomicBool::new(false),
    };
    let sorters = filling.sorters(progress)?;
    build.enter(BuildPhase::Writing, sorters.iter().map(Sorter::entries).sum());
    let storage = blocks.unwrap_or(&index.codec.storage);
    let files = filling.files(sorters, progress)?;
    if files.is_empty() {
        return Ok(());
    }
    let ingested = store
        .local_files(LOADS)?
        .ingest(vec![(TableName::new(storage.clone())?, files.clone())]);
    ingested.map_err(|error| {
        discard_files(store, &files);
        error.into()
    })
}

/// The filling of an index: rows are read by as many threads as there are cores, entries written by one.
struct Filling<'a> {
    inner: &'a Inner,
    snapshot: &'a Snapshot,
    maintainer: &'a Maintainer,
    index: &'a IndexMaintainer,
    build: &'a Build,
    /// Set when all should give up.
    stop: AtomicBool,
}

impl Filling<'_> {
    /// Returns the entries of all rows: for each part of the table a sorter.
    fn sorters(&self, progress: &dyn Progress) -> Result<Vec<Sorter>, EngineError> {
        let storage = &self.maintainer.codec.families[0].storage;
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(THREADS_MAX);
        let parts = split(self.inner.store.as_ref(), storage, vec![KeyRange::all()], threads)?;
        let bytes_max = self.inner.load_bytes_max() / parts.len();
        let (report, done) = mpsc::channel();
        thread::scope(|scope| {
            let read = |ranges| {
                let report = report.clone();
                scope.spawn(move || {
                    step_aside();
                    let sorter = self.part(ranges, bytes_max, &report);
                    if sorter.is_err() {
                        self.stop.store(true, Relaxed);
                    }
                    sorter
                })
            };
            let parts: Vec<_> = parts.into_iter().map(read).collect();
            drop(report);
            // Ends when all parts have.
            for rows in done {
                progress.advance(rows);
                self.build.advance(rows);
                if progress.cancelled() {
                    self.stop.store(true, Relaxed);
                }
            }
            let (mut sorters, mut failed) = (Vec::new(), None);
            for part in parts {
                match part.join() {
                    Ok(Ok(sorter)) => sorters.push(sorter),
                    // The other threads only report that they were stopped.
                    Ok(Err(EngineError::Cancelled)) => {
                        failed.get_or_insert(EngineError::Cancelled);
                    }
                    Ok(Err(error)) => failed = Some(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            failed.map_or(Ok(sorters), Err)
        })
    }

    /// Writes sorted entries to files, which wait to be ingested.
    fn files(&self, sorters: Vec<Sorter>, progress: &dyn Progress) -> Result<Vec<LoadFile>, EngineError> {
        let (report, done) = mpsc::channel();
        thread::scope(|scope| {
            let writer = scope.spawn(move || {
                step_aside();
                let tick = &mut |entries| {
                    self.build.advance(entries);
                    self.build.check()?;
                    // The other end waits for this one.
                    let _ = report.send(());
                    match self.stop.load(Relaxed) {
                        true => Err(EngineError::Cancelled),
                        false => Ok(()),
                    }
                };
                self.write(sorter::merged(sorters)?, tick)
            });
            // Ends when the writer has.
            for () in done {
                if progress.cancelled() {
                    self.stop.store(true, Relaxed);
                }
            }
            writer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn write(
        &self,
        entries: Merge,
        tick: &mut dyn FnMut(u64) -> Result<(), EngineError>,
    ) -> Result<Vec<LoadFile>, EngineError> {
        if self.index.codec.blocks().is_some() {
            return write_blocks(self.inner, &self.index.codec, entries, tick);
        }
        let to = Destination {
            target: Target::Index(0),
            blocks: None,
            beside: Vec::new(),
        };
        let store = &self.inner.store;
        let loads = write_sorted(store, self.snapshot, self.maintainer, entries, to, tick)?;
        Ok(loads.into_iter().flat_map(|(_, files)| files).collect())
    }

    /// Reads the rows of one part, and reports progress.
    fn part(
        &self,
        ranges: Vec<KeyRange>,
        bytes_max: usize,
        report: &mpsc::Sender<u64>,
    ) -> Result<Sorter, EngineError> {
        let mut sorter = Sorter::new(&self.inner.load_directory()?);
        let reader = RowReader::within(self.snapshot, self.maintainer.codec.clone(), ranges)?;
        let mut reader = reader.only(self.index.needed());
        while let Some(rows) = reader.next()? {
            if self.stop.load(Relaxed) {
                return Err(EngineError::Cancelled);
            }
            self.build.check()?;
            let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
            self.index.visit_entries(&keyed, &mut |_, key, value| {
                sorter.add(key, value);
                Ok(())
            })?;
            if sorter.buffered_bytes() > bytes_max {
                sorter.spill()?;
            }
            // The other end waits for this one.
            let _ = report.send(rows.len() as u64);
        }
        sorter.sort();
        Ok(sorter)
    }
}

/// Writes sorted entries of a columnar index as blocks, to files that wait to be ingested.
///
/// Storage has the columns apart: pieces of blocks, which are made in key order of their entries, are
/// sorted once more.
fn write_blocks(
    inner: &Inner,
    index: &IndexCodec,
    mut entries: Merge,
    tick: &mut dyn FnMut(u64) -> Result<(), EngineError>,
) -> Result<Vec<LoadFile>, EngineError> {
    let mut pieces = Sorter::new(&inner.load_directory()?);
    let mut builder = BlockBuilder::new(index, inner.debts.block_rows.load(Relaxed));
    loop {
        let more = entries.advance()?;
        if builder.is_full() || !more {
            tick(builder.rows() as u64)?;
            let made = builder.finish()?;
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
    let mut writer = inner.store.local_files(LOADS)?.sorted_writer(&blocks.storage)?;
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
