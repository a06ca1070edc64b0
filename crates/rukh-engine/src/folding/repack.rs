//! Repacking: changes become part of blocks, a few blocks at a time.
//!
//! A step takes one block, with the changes from its first key up to the first key of the block
//! behind it. From a snapshot it makes new blocks of both, without any lock. Then, under the
//! writer lock, it writes in one batch: the old block goes, the new ones come, and of the changes
//! those go that are still what they were. A change that was replaced meanwhile stays, and wins over
//! the new block as it did over the old one. If the block, or a change, is not there any more, its
//! table was truncated; if there is another block among them, rows were loaded: the step is done again from
//! a newer snapshot.
//!
//! Changes behind all rows of a block, as writes in the order of the key make them, become blocks of their own if they are many enough,
//! and the block stays. They go as a range, and what others wrote meanwhile is written once more behind that. Changes among the rows of a
//! block go one by one: a read of a few rows walks over the whole of a range tombstone, up to the next change that is left.
//!
//! A step holds one block and [`CHANGE_BLOCKS_MAX`] times as many changes in memory; changes beyond that are left to the
//! next step, beside the new blocks. Nothing but whole steps is ever stored, so that a kill
//! leaves an index as exact as before, and the next repack goes on.
//!
//! Rows that have expired for all snapshots are left out of new blocks. Blocks that have some and no changes get steps of
//! their own. A change that has died stays until then: without it the row that it replaced would be seen again.

use crate::columnar::check::pieces_of;
use crate::columnar::scans::changes::{Change, Changes};
use crate::columnar::scans::open::block_at;
use crate::columnar::scans::scan::BlockScan;
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::build::BlockBuilder;
use crate::columnar::stored::error::corruption;
use crate::columnar::stored::head::Head;
use crate::columnar::stored::row_keys::RowKeys;
use crate::columnar::values::batch::ColumnBatch;
use crate::columnar::values::test::Test;
use crate::forms::entry::{Blocks, DELETED, IndexCodec, id_of_table};
use crate::forms::{row, times};
use crate::progress::{NoProgress, check_cancelled};
use crate::reading::definitions::Definitions;
use crate::reading::snapshot::Snapshot;
use crate::state::shared::{Engine, Inner};
use crate::storage::row_counts::{Grown, Growth};
use crate::{EngineError, Progress};
use rukh_catalog::{CatalogError, IndexId, IndexState, Table, TableId};
use rukh_keys::{DatumRef, KeyRange};
use rukh_kv::{Durability, KvSnapshot, ScanSpec, WriteBatch, step_aside};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::thread;

/// Changes folded in one step, at most: as many as so many blocks have rows.
const CHANGE_BLOCKS_MAX: usize = 4;

/// From so many changes on a step that makes new blocks beside the old ones removes them by one range tombstone, which readers check until
/// compaction removes it, but which costs the writer no more than one deletion.
const RANGE_MIN: usize = 32;

/// As long as no more than one in so many lies among them that is not to go.
const RANGE_SHARE: usize = 2;

/// Bytes of changes folded in one step, about.
const CHANGE_BYTES_MAX: usize = 16 << 20;

/// Blocks with fewer rows than one so many times smaller are joined with the one behind them.
const SMALL_SHARE: usize = 4;

/// Changes behind a block are folded without it from one so many times smaller on, of rows as of changes.
const APART_SHARE: usize = 2;

/// What a columnar index has stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnarDebt {
    /// Blocks.
    pub blocks: u64,
    /// Rows in them; those of blocks that do not decode are left out.
    pub block_rows: u64,
    /// Bytes of blocks in files, and what these had before storage compressed them; both 0 while blocks are in memory only,
    /// and where some lie in files of large values, whose size before that storage does not report.
    pub block_file_bytes: u64,
    /// See there.
    pub block_raw_bytes: u64,
    /// Changes that are in no block yet.
    pub delta_rows: u64,
    /// Bytes of blocks and changes, in memory and on disk, about.
    pub bytes: u64,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Changes become part of blocks.
    Changes,
    /// Rows that have died leave blocks.
    Dead,
}

/// Which rows are left out because they have died.
struct Dying {
    slot: usize,
    alive: Test,
}

impl Dying {
    /// Returns which rows of an index are dead at a time, if any can be.
    fn at(definitions: &Definitions, index: &IndexCodec, now: i64) -> Result<Option<Dying>, EngineError> {
        let rule = definitions.lifetimes.get(&index.storage);
        let (Some(rule), Some(slot)) = (rule, index.life_slot()) else {
            return Ok(None);
        };
        Ok(Some(Dying {
            slot,
            alive: Test::new(times::TYPES[0], &rule.test(now))?,
        }))
    }

    fn is_dead(&self, life: &DatumRef<'_>) -> bool {
        !self.alive.takes(times::TYPES[0], life)
    }

    /// Whether a change has died.
    fn is_dead_change(&self, value: &[u8]) -> bool {
        let [life, _] = times::datums(row::times(value));
        self.is_dead(&life)
    }

    /// Whether a block has rows that have died.
    fn has_dead(&self, head: &Head<'_>) -> bool {
        match head.column(times::FIRST) {
            Some(known) => !known.holds(&self.alive),
            None => self.is_dead(&DatumRef::Null),
        }
    }
}

/// One step on its way.
struct Step {
    /// Pieces of the old block with their values: of the head the value, of columns the key only.
    old_heads: Vec<(Vec<u8>, Vec<u8>)>,
    pieces: Vec<(Vec<u8>, Vec<u8>)>,
    folded: Vec<Change>,
    /// Where the next step begins; `None` if there is nothing more.
    next: Option<Vec<u8>>,
}

impl Engine {
    /// Folds the changes of a columnar index, or of a columnar table under [`Engine::layout_id`], into its
    /// blocks; writers go on meanwhile. Returns how many changes that were.
    ///
    /// Fails on an index or table that is not columnar, and with [`EngineError::Cancelled`], which leaves the
    /// index as far as it was repacked.
    pub fn repack_index(&self, id: IndexId, progress: &dyn Progress) -> Result<u64, EngineError> {
        self.check_alone("REPACK")?;
        self.inner.check_writable()?;
        repack_all(&self.inner, id, progress)
    }

    /// Returns the id by which a columnar table is repacked.
    pub fn layout_id(table: &Table) -> IndexId {
        id_of_table(table)
    }

    /// Says what a columnar index or table has stored; `None` for another.
    pub fn columnar_debt(&self, id: IndexId) -> Result<Option<ColumnarDebt>, EngineError> {
        let snapshot = self.snapshot();
        let Ok(index) = columnar_index(&snapshot, id) else {
            return Ok(None);
        };
        let blocks = layout(&index);
        let heads = ScanSpec::ranges(vec![Piece::Head.range(&KeyRange::all())]);
        let (store, all) = (&self.inner.store, KeyRange::all());
        let (mut count, mut rows) = (0, 0);
        let mut cursor = snapshot.raw.scan(&blocks.storage, heads)?;
        while let Some(head) = cursor.next()? {
            count += 1;
            rows += Head::parse(head.key, head.value).map_or(0, |head| head.rows as u64);
        }
        let usage = store.table_usage(&blocks.storage)?;
        let (block_file_bytes, block_raw_bytes) = match usage.blob_bytes {
            0 => (usage.file_bytes, usage.raw_bytes),
            _ => (0, 0),
        };
        Ok(Some(ColumnarDebt {
            blocks: count,
            block_rows: rows,
            block_file_bytes,
            block_raw_bytes,
            delta_rows: snapshot.raw.count(&index.storage, ScanSpec::all().keys_only())?.0,
            // The sizes of ranges leave large values out.
            bytes: store.approximate_size(&blocks.storage, &all)?
                + usage.blob_bytes
                + store.approximate_size(&index.storage, &all)?
                + store.table_usage(&index.storage)?.blob_bytes,
        }))
    }
}

fn repack_all(inner: &Inner, id: IndexId, progress: &dyn Progress) -> Result<u64, EngineError> {
    let repack = inner.debts.repack_of(id);
    let _repack = repack.lock();
    let known = inner.known_changes(id);
    let mut folded = 0;
    aside(inner, id, |make| {
        for want in [Want::Changes, Want::Dead] {
            let mut start = Some(Vec::new());
            while let Some(from) = start {
                check_cancelled(progress)?;
                // A writer that is faster than that is not waited for.
                let (done, next) = match inner.is_far_behind(id, folded) {
                    true => step(inner, id, &from, want)?,
                    false => step_made(inner, &mut || make(&from, want))?,
                };
                folded += done;
                progress.advance(done);
                start = next;
            }
        }
        Ok(())
    })?;
    inner.settle_debt(id, known)?;
    Ok(folded)
}

/// Lets `work` have steps made by a thread of low priority.
fn aside(
    inner: &Inner,
    id: IndexId,
    work: impl FnOnce(&dyn Fn(&[u8], Want) -> Result<Option<Made>, EngineError>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let (ask, requests) = mpsc::channel::<(Vec<u8>, Want)>();
    let (give, given) = mpsc::channel();
    thread::scope(|scope| {
        let maker = scope.spawn(move || {
            step_aside();
            for (start, want) in requests {
                if give.send(make(inner, id, &start, want)).is_err() {
                    break;
                }
            }
        });
        let done = work(&|start, want| {
            // If the thread has gone, it has panicked, which is reported below.
            let _ = ask.send((start.to_vec(), want));
            given.recv().unwrap_or(Ok(None))
        });
        drop(ask);
        match maker.join() {
            Ok(()) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Removes what has died of a columnar index or table, and folds its changes; others write meanwhile.
pub(crate) fn remove_dead(inner: &Inner, id: IndexId) -> Result<(), EngineError> {
    match repack_all(inner, id, &NoProgress) {
        // The index is not read, or it was dropped meanwhile.
        Err(EngineError::IndexNotReady { .. } | EngineError::Catalog(CatalogError::UnknownIndex { .. })) => {
            Ok(())
        }
        done => done.map(|_| ()),
    }
}

/// Removes what has died at `now` of a columnar index or table whose lifetime is about to change; the caller holds the
/// writer lock.
pub(crate) fn bury_index(inner: &Inner, index: &Arc<IndexCodec>, now: i64) -> Result<(), EngineError> {
    let block_rows = inner.debts.block_rows.load(Relaxed);
    for want in [Want::Changes, Want::Dead] {
        let mut start = Some(Vec::new());
        while let Some(from) = start {
            let snapshot = inner.snapshot();
            let dying = Dying::at(&snapshot.definitions, index, now)?;
            let Some(step) = prepare(&snapshot.raw, index, &from, block_rows, dying.as_ref(), want)? else {
                break;
            };
            if let Some(left) = still_left(&snapshot, index, &step)? {
                inner
                    .store
                    .write(batch_of(index, &step, &left)?, Durability::Synced)?;
            }
            start = step.next;
        }
    }
    inner.forget_debt(index.index.id);
    Ok(())
}

pub(crate) fn layout(index: &IndexCodec) -> &Blocks {
    index.blocks().expect("the index is columnar")
}

/// Returns a columnar index that may be read, or a columnar table under its id.
pub(crate) fn columnar_index(snapshot: &Snapshot, id: IndexId) -> Result<Arc<IndexCodec>, EngineError> {
    let unknown = || CatalogError::UnknownIndex {
        name: format!("index {}", id.0),
    };
    if let Some(table) = snapshot.catalog.table(TableId(id.0)) {
        let codec = snapshot.definitions.codec(table.id)?;
        return codec.blocks.clone().ok_or_else(|| {
            EngineError::Catalog(CatalogError::Unsupported {
                message: format!("table \"{}\" is not columnar", table.name),
            })
        });
    }
    let (table, index) = snapshot.catalog.index(id).ok_or_else(unknown)?;
    let codec = snapshot.definitions.codec(table.id)?;
    let codec = codec.index(id).ok_or_else(unknown)?;
    if codec.blocks().is_none() {
        return Err(EngineError::Catalog(CatalogError::Unsupported {
            message: format!("index \"{}\" is not columnar", index.name),
        }));
    }
    match index.state {
        IndexState::Ready => Ok(codec.clone()),
        _ => Err(EngineError::IndexNotReady {
            index: index.name.clone(),
        }),
    }
}

/// Times that a step is tried while its table is truncated.
const ATTEMPTS: usize = 8;

/// Folds the first changes from `start` on, or takes what is dead from the first block that has some; returns how many
/// changes were folded, and where to go on.
pub(crate) fn step(
    inner: &Inner,
    id: IndexId,
    start: &[u8],
    want: Want,
) -> Result<(u64, Option<Vec<u8>>), EngineError> {
    step_made(inner, &mut || make(inner, id, start, want))
}

/// The same for a step of another thread.
fn step_made(
    inner: &Inner,
    make: &mut dyn FnMut() -> Result<Option<Made>, EngineError>,
) -> Result<(u64, Option<Vec<u8>>), EngineError> {
    for _ in 0..ATTEMPTS {
        let Some(made) = make()? else {
            return Ok((0, None));
        };
        let step = &made.step;
        if apply(inner, &made)? {
            return Ok((step.folded.len() as u64, step.next.clone()));
        }
    }
    Ok((0, None))
}

/// A step that is to be written.
struct Made {
    index: Arc<IndexCodec>,
    step: Step,
    /// How many writes the snapshot has, if none was under way when it was taken.
    writes: Option<u64>,
}

/// Makes a step from a snapshot, without any lock; `None` if there is nothing to be done.
fn make(inner: &Inner, id: IndexId, start: &[u8], want: Want) -> Result<Option<Made>, EngineError> {
    let block_rows = inner.debts.block_rows.load(Relaxed);
    let writes = inner.watched.writes();
    let snapshot = inner.snapshot();
    let writes = writes.filter(|writes| inner.watched.writes() == Some(*writes));
    let index = columnar_index(&snapshot, id)?;
    let dying = Dying::at(&snapshot.definitions, &index, inner.clock.horizon())?;
    let step = prepare(&snapshot.raw, &index, start, block_rows, dying.as_ref(), want)?;
    Ok(step.map(|step| Made { index, step, writes }))
}

/// Makes the new blocks of the first changes from `start` on, or of the first block with rows that are dead; `None` if
/// there are none.
fn prepare(
    kv: &Arc<dyn KvSnapshot>,
    index: &Arc<IndexCodec>,
    start: &[u8],
    block_rows: usize,
    dying: Option<&Dying>,
    want: Want,
) -> Result<Option<Step>, EngineError> {
    let storage = &layout(index).storage;
    let from = |start: &[u8]| KeyRange {
        start: start.to_vec(),
        limit: None,
    };
    let changes_from = |start: &[u8]| -> Result<Changes, EngineError> {
        let changes = kv.scan(&index.storage, ScanSpec::ranges(vec![from(start)]))?;
        Ok(Changes::new(changes))
    };
    let (at, mut changes) = match want {
        Want::Changes => {
            let mut changes = changes_from(start)?;
            let Some((first_change, _)) = changes.peek()? else {
                return Ok(None);
            };
            // The block whose rows the first change lies among or behind; before all blocks, the first one.
            let at = block_at(kv.as_ref(), storage, first_change)?.unwrap_or_default();
            (at, changes)
        }
        Want::Dead => match first_with_dead(kv.as_ref(), index, from(start), dying)? {
            Some(at) => (at.clone(), changes_from(&at)?),
            None => return Ok(None),
        },
    };
    let heads = Piece::Head.range(&from(&at));
    let mut heads = kv.scan(storage, ScanSpec::ranges(vec![heads]))?;
    let mut next_head = || -> Result<Option<(Vec<u8>, Vec<u8>)>, EngineError> {
        Ok(heads.next()?.map(|head| (head.key.to_vec(), head.value.to_vec())))
    };
    let old = next_head()?;
    let behind = next_head()?;
    let first_key = |head: &(Vec<u8>, Vec<u8>)| head.0[2..].to_vec();
    let limit = behind.as_ref().map(first_key);
    let mut bytes = 0;
    let within = |key: &[u8]| limit.as_ref().is_none_or(|limit| key < limit.as_slice());
    let mut folded: Vec<Change> = Vec::new();
    let mut more = false;
    while let Some((key, _)) = changes.peek()? {
        if !within(key) {
            break;
        }
        if folded.len() == CHANGE_BLOCKS_MAX * block_rows || bytes >= CHANGE_BYTES_MAX {
            more = true;
            break;
        }
        let taken = changes.next()?;
        bytes += taken.as_ref().map_or(0, |(key, value)| key.len() + value.len());
        folded.extend(taken);
    }
    let next = match more {
        true => folded.last().map(|(key, _)| [key.as_slice(), &[0]].concat()),
        false => limit.clone(),
    };
    let mut step = Step {
        old_heads: old.into_iter().collect(),
        pieces: Vec::new(),
        folded,
        next,
    };
    if let (Want::Changes, Some(old)) = (want, step.old_heads.first())
        && is_apart(index, old, &step.folded, block_rows)?
    {
        step.old_heads.clear();
    }
    let mut builder = BlockBuilder::new(index, block_rows);
    step.pieces = match step.old_heads.first().map(first_key) {
        None => fold(kv, index, None, &step.folded, dying, &mut builder)?,
        Some(first) => fold(
            kv,
            index,
            Some(range_of_block(&first, limit.as_deref())),
            &step.folded,
            dying,
            &mut builder,
        )?,
    };
    let small = builder.rows() < block_rows / SMALL_SHARE && step.pieces.is_empty();
    if let (true, false, Some(behind)) = (small, more, behind) {
        // With the block behind it, and none of its changes: these stay where they are.
        let range = range_of_block(
            &first_key(&behind),
            next_head()?.as_ref().map(first_key).as_deref(),
        );
        step.pieces = fold(kv, index, Some(range), &[], dying, &mut builder)?;
        step.old_heads.push(behind);
    }
    step.pieces.extend(builder.finish()?);
    Ok(Some(step))
}

/// Whether changes behind all rows of a block make blocks of their own: neither they nor the rows are few.
fn is_apart(
    index: &IndexCodec,
    (key, value): &(Vec<u8>, Vec<u8>),
    folded: &[Change],
    block_rows: usize,
) -> Result<bool, EngineError> {
    let head = Head::parse(key, value).map_err(|e| corruption(index, &key[2..], None, e))?;
    let is_behind = folded
        .first()
        .is_some_and(|(key, _)| key.as_slice() > head.last_key);
    Ok(is_behind && head.rows.min(folded.len()) >= block_rows / APART_SHARE)
}

/// Returns the first key of the first block in a range that has rows which are dead.
fn first_with_dead(
    kv: &dyn KvSnapshot,
    index: &IndexCodec,
    range: KeyRange,
    dying: Option<&Dying>,
) -> Result<Option<Vec<u8>>, EngineError> {
    let Some(dying) = dying else {
        return Ok(None);
    };
    let heads = Piece::Head.range(&range);
    let mut heads = kv.scan(&layout(index).storage, ScanSpec::ranges(vec![heads]))?;
    while let Some(entry) = heads.next()? {
        let (_, first) = Piece::of(entry.key).map_err(|e| corruption(index, &[], None, e))?;
        let head = Head::parse(entry.key, entry.value).map_err(|e| corruption(index, first, None, e))?;
        if dying.has_dead(&head) {
            return Ok(Some(first.to_vec()));
        }
    }
    Ok(None)
}

/// The range of keys that a block has alone.
fn range_of_block(first: &[u8], limit: Option<&[u8]>) -> KeyRange {
    KeyRange {
        start: first.to_vec(),
        limit: limit.map(<[u8]>::to_vec),
    }
}

/// Adds the rows of the blocks in a range, merged with changes and without what is dead, to a builder; returns the pieces
/// of the blocks that were full.
fn fold(
    kv: &Arc<dyn KvSnapshot>,
    index: &Arc<IndexCodec>,
    range: Option<KeyRange>,
    changes: &[Change],
    dying: Option<&Dying>,
    builder: &mut BlockBuilder<'_>,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, EngineError> {
    let mut pieces = Vec::new();
    let mut changes = changes.iter().peekable();
    let is_gone = |value: &[u8]| value == DELETED || dying.is_some_and(|dying| dying.is_dead_change(value));
    let put = |builder: &mut BlockBuilder<'_>, (key, value): &Change| match is_gone(value) {
        true => Ok(()),
        false => builder.add_entry(key, value),
    };
    if let Some(range) = range {
        let mut rows = BlockScan::blocks_alone(kv.clone(), index.clone(), range)?;
        while let Some(batch) = rows.next_batch(1)? {
            let keys = RowKeys::new(index, &batch.columns);
            let mut next = 0;
            while let Some((key, _)) = changes.peek() {
                let place = keys.search(next..batch.rows, key)?;
                let (row, is_there) = place.map_or_else(|row| (row, false), |row| (row, true));
                copy(index, builder, batch, next..row, dying)?;
                next = row + usize::from(is_there);
                if row == batch.rows {
                    break;
                }
                changes.next().map_or(Ok(()), |change| put(builder, change))?;
            }
            copy(index, builder, batch, next..batch.rows, dying)?;
        }
    }
    for change in changes {
        put(builder, change)?;
        // Rows before are those of one block: a few blocks at once, of even size.
        if builder.rows() >= CHANGE_BLOCKS_MAX * builder.block_rows() {
            pieces.extend(builder.finish()?);
        }
    }
    Ok(pieces)
}

/// Adds some rows of a block without what is dead to a builder.
fn copy(
    index: &IndexCodec,
    builder: &mut BlockBuilder<'_>,
    batch: &ColumnBatch,
    rows: Range<usize>,
    dying: Option<&Dying>,
) -> Result<(), EngineError> {
    let failed = |e| corruption(index, &[], None, e);
    let Some(dying) = dying else {
        return builder.add_rows(&batch.columns, rows).map_err(failed);
    };
    let mut alive = rows.start..rows.start;
    for row in rows {
        let life = batch.columns[dying.slot].datum(row).map_err(failed)?;
        if dying.is_dead(&life) {
            builder.add_rows(&batch.columns, alive).map_err(failed)?;
            alive = row + 1..row + 1;
        } else {
            alive.end = row + 1;
        }
    }
    builder.add_rows(&batch.columns, alive).map_err(failed)
}

/// Whether there are no blocks but the old ones where the new ones will be: a load may have brought some.
fn is_alone(now: &Snapshot, index: &IndexCodec, step: &Step) -> Result<bool, EngineError> {
    let firsts = || step.old_heads.iter().map(|(key, _)| &key[2..]);
    let keys = || firsts().chain(step.folded.iter().map(|(key, _)| key.as_slice()));
    let (Some(start), Some(end)) = (keys().min(), keys().max()) else {
        return Ok(true);
    };
    let heads = ScanSpec::ranges(vec![Piece::Head.range(&up_to(start, end))]).keys_only();
    let found = now.raw.count(&layout(index).storage, heads)?.0;
    Ok(found == step.old_heads.len() as u64)
}

/// Writes a step, unless what it is made of has gone; returns whether it did.
fn apply(inner: &Inner, made: &Made) -> Result<bool, EngineError> {
    let (index, step) = (&*made.index, &made.step);
    let guard = inner.lock_writer()?;
    let now = inner.snapshot();
    if columnar_index(&now, index.index.id).is_err() {
        return Ok(false);
    }
    let nothing_written = made.writes.is_some() && made.writes == inner.watched.writes();
    let left = match nothing_written {
        true => Some(Left::all(&step.folded)),
        false => still_left(&now, index, step)?,
    };
    let Some(left) = left else {
        return Ok(false);
    };
    let batch = batch_of(index, step, &left)?;
    // Rows are what they were: indexes that are being built need not look at them again.
    let unchanged = Growth::from([(TableId(index.index.id.0), Grown::default())]);
    inner.commit_noted(batch, Durability::Buffered, guard, &[], &unchanged)?;
    Ok(true)
}

/// Returns what became of the changes of a step; `None` if its blocks have gone. The caller holds the writer lock.
fn still_left(now: &Snapshot, index: &IndexCodec, step: &Step) -> Result<Option<Left>, EngineError> {
    let heads: Vec<Vec<u8>> = step.old_heads.iter().map(|(key, _)| key.clone()).collect();
    let stored = now.raw.multi_get(&layout(index).storage, &heads)?;
    let same = |(old, stored): (&(Vec<u8>, Vec<u8>), Option<Vec<u8>>)| stored.as_ref() == Some(&old.1);
    if !step.old_heads.iter().zip(stored).all(same) {
        return Ok(None);
    }
    let left = left(now, index, &step.folded)?;
    Ok(match left.is_some() && is_alone(now, index, step)? {
        true => left,
        false => None,
    })
}

/// Returns what a step writes.
fn batch_of(index: &IndexCodec, step: &Step, left: &Left) -> Result<WriteBatch, EngineError> {
    let blocks = layout(index);
    let mut batch = WriteBatch::new();
    for (key, head) in &step.old_heads {
        let first = &key[2..];
        let head = Head::parse(key, head).map_err(|e| corruption(index, first, None, e))?;
        batch.delete(&blocks.storage, key);
        for piece in pieces_of(&head, first) {
            batch.delete(&blocks.storage, &piece);
        }
    }
    for (key, value) in &step.pieces {
        batch.put(&blocks.storage, key, value);
    }
    match (step.folded.first(), step.folded.last()) {
        (Some((first, _)), Some((last, _)))
            if step.old_heads.is_empty()
                && left.gone.len() >= RANGE_MIN
                && left.newer.len() * RANGE_SHARE <= left.gone.len() =>
        {
            batch.delete_range(&index.storage, &up_to(first, last));
            for (key, value) in &left.newer {
                batch.put(&index.storage, key, value);
            }
        }
        _ => {
            let gone = left.gone.iter();
            gone.for_each(|at| batch.delete(&index.storage, &step.folded[*at].0));
        }
    }
    Ok(batch)
}

/// The range from one key to another, both of them in it.
fn up_to(first: &[u8], last: &[u8]) -> KeyRange {
    KeyRange {
        start: first.to_vec(),
        limit: Some([last, &[0]].concat()),
    }
}

/// What became of the changes that a step has folded.
struct Left {
    /// Those that are still what they were.
    gone: Vec<usize>,
    /// What others wrote between the first and the last of them since.
    newer: Vec<Change>,
}

impl Left {
    /// All are what they were.
    fn all(folded: &[Change]) -> Self {
        Left {
            gone: (0..folded.len()).collect(),
            newer: Vec::new(),
        }
    }
}

/// Says what became of changes, which are in key order; `None` if one has gone.
fn left(now: &Snapshot, index: &IndexCodec, folded: &[Change]) -> Result<Option<Left>, EngineError> {
    let mut left = Left {
        gone: Vec::with_capacity(folded.len()),
        newer: Vec::new(),
    };
    let (Some((first, _)), Some((last, _))) = (folded.first(), folded.last()) else {
        return Ok(Some(left));
    };
    // All changes between them were folded, so that few others lie there.
    let range = up_to(first, last);
    let mut stored = now.raw.scan(&index.storage, ScanSpec::ranges(vec![range]))?;
    let mut next = 0;
    while let Some(entry) = stored.next()? {
        let order = folded
            .get(next)
            .map_or(Ordering::Less, |(key, _)| entry.key.cmp(key));
        match order {
            Ordering::Equal if folded[next].1 == entry.value => left.gone.push(next),
            Ordering::Less | Ordering::Equal => left.newer.push((entry.key.to_vec(), entry.value.to_vec())),
            Ordering::Greater => return Ok(None),
        }
        next += usize::from(order.is_eq());
    }
    Ok((next == folded.len()).then_some(left))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
