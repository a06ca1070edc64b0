//! Scans: rows in the order of a table or index, with only the requested columns.
//!
//! A scan is *direct* where each stored entry gives all requested columns: rows are then shown
//! straight from the storage's buffers. Otherwise entries are collected in batches, and what they
//! lack is read by batched gets (`lookup`): the row of an index entry, the values of other
//! families. Batches begin small and grow, so that a LIMIT reads little ahead.

use crate::EngineError;
use crate::columnar::BlockScan;
use crate::forms::codec::{DatumRefs, TableCodec};
use crate::reading::groups::Groups;
use crate::reading::lookup::Batch;
use crate::reading::points;
use crate::reading::scan::request::is_plain;
use crate::reading::snapshot::Snapshot;
use plan::Place;
use rukh_keys::ScanCounters;
use rukh_keys::{KeyRange, MaskedCompare};
use rukh_kv::{KvCursor, KvSnapshot};
use std::sync::Arc;
use visit::{Choice, collect, open_cursor, visit_entries};

mod plan;
mod point;
mod request;
mod start;
mod visit;

mod columnar;

pub use columnar::ColumnarCursor;
use columnar::visit_vectors;
pub(crate) use plan::Plan;
pub use plan::RowView;
pub use point::PointReader;
pub use request::{EntryFilter, ScanRequest, Source};

/// Where row keys or entries come from.
enum Entries {
    Cursor(Box<dyn KvCursor>),
    /// Whole keys of rows, each read by a get.
    Points(points::Points),
    /// A columnar index, and the rows of its batch that were not shown.
    Blocks(Box<BlockScan>, std::ops::Range<usize>),
}

/// A scan under way.
pub struct RowCursor {
    plan: Arc<Plan>,
    kv: Arc<dyn KvSnapshot>,
    entries: Entries,
    choice: Choice,
    batch: Batch,
    /// Rows still to be shown.
    remaining: u64,
    lookups: u64,
    rows: u64,
    bytes_fetched: u64,
}

impl RowCursor {
    pub(crate) fn new(
        codec: Arc<TableCodec>,
        snapshot: &Snapshot,
        request: ScanRequest,
    ) -> Result<Self, EngineError> {
        let by_blocks = !request.tests.is_empty();
        let mut plan = Plan::new(codec, &request, by_blocks)?;
        let kv = snapshot.narrowed(&plan.codec, &plan.ordinals());
        if plan.is_columnar() {
            return RowCursor::of_blocks(plan, kv, snapshot, request);
        }
        let points = match request.source {
            Source::Table if is_plain(&request) => {
                points::Points::of(&plan.codec.key, &request.ranges, &request.masked, request.reverse)
            }
            _ => None,
        };
        plan.batched |= points.is_some();
        let entries = match points {
            Some(points) => Entries::Points(points),
            None => Entries::Cursor(open_cursor(&plan, kv.as_ref(), &request)?),
        };
        Ok(RowCursor {
            batch: Batch::new(plan.fetched.len()),
            plan: Arc::new(plan),
            kv,
            entries,
            choice: Choice {
                filter: request.entry_filter,
                groups: request.groups.map(Groups::new),
                reverse: request.reverse,
            },
            remaining: request.limit.unwrap_or(u64::MAX),
            lookups: 0,
            rows: 0,
            bytes_fetched: 0,
        })
    }

    /// Shows up to `max` further rows to `sink`; returns how many, 0 when there are no more.
    ///
    /// An error of `sink` ends the call and is returned; the row it was shown counts as seen.
    pub fn next_rows(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(&RowView<'_>) -> Result<(), EngineError>,
    ) -> Result<usize, EngineError> {
        let max = usize::try_from(self.remaining).map_or(max, |remaining| max.min(remaining));
        if max == 0 {
            return Ok(0);
        }
        let shown = match self.plan.batched {
            true => self.next_batched(max, sink)?,
            false => self.next_direct(max, sink)?,
        };
        self.remaining -= shown as u64;
        self.rows += shown as u64;
        Ok(shown)
    }

    /// Leaves out, of what is ahead, keys outside of `ranges` and those that fail `masked`, which replaces the
    /// request's; returns whether it does. Rows that were collected before are shown all the same.
    pub fn narrow(&mut self, ranges: Vec<KeyRange>, masked: MaskedCompare) -> bool {
        match &mut self.entries {
            Entries::Cursor(cursor) if self.choice.groups.is_none() => cursor.narrow(ranges, masked),
            _ => false,
        }
    }

    /// Returns what the scan did so far.
    pub fn counters(&self) -> ScanCounters {
        let entries = match &self.entries {
            Entries::Cursor(cursor) => cursor.stats().into(),
            Entries::Points(points) => points.counters(),
            Entries::Blocks(blocks, _) => blocks.counters(),
        };
        ScanCounters {
            lookups: self.lookups,
            rows: self.rows,
            bytes_read: entries.bytes_read + self.bytes_fetched,
            ..entries
        }
    }

    fn next_direct(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(&RowView<'_>) -> Result<(), EngineError>,
    ) -> Result<usize, EngineError> {
        let (plan, choice) = (&*self.plan, &mut self.choice);
        let mut shown = 0;
        let cursor = match &mut self.entries {
            Entries::Cursor(cursor) => cursor,
            Entries::Points(_) => return Ok(0),
            Entries::Blocks(blocks, rest) => {
                visit_vectors(blocks, rest, plan, &mut choice.filter, &mut |view, _| {
                    sink(view)?;
                    shown += 1;
                    Ok(shown < max)
                })?;
                return Ok(shown);
            }
        };
        visit_entries(cursor.as_mut(), plan, choice, &mut |view, _| {
            sink(view)?;
            shown += 1;
            Ok(shown < max)
        })?;
        Ok(shown)
    }

    fn next_batched(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(&RowView<'_>) -> Result<(), EngineError>,
    ) -> Result<usize, EngineError> {
        let mut shown = 0;
        while shown < max {
            if self.batch.is_done() {
                if self.fill(self.remaining - shown as u64)? == 0 {
                    break;
                }
                continue;
            }
            shown += self.batch.show(&self.plan, max - shown, sink)?;
        }
        Ok(shown)
    }

    /// Collects the next entries, at most `most`, and fetches what they lack; returns how many there
    /// were. Points that hold no row count, too: more may follow them.
    fn fill(&mut self, most: u64) -> Result<usize, EngineError> {
        let limited = self.remaining < u64::MAX / 2;
        let size = self
            .batch
            .start(usize::try_from(most).unwrap_or(usize::MAX), limited);
        let (plan, batch) = (&*self.plan, &mut self.batch);
        let collected;
        match &mut self.entries {
            Entries::Points(points) => {
                while batch.len() < size
                    && let Some(key) = points.next()
                {
                    batch.push_key(&key);
                }
                collected = batch.len();
                batch.fetch(plan, self.kv.as_ref(), 0)?;
                points.found(batch.drop_absent(), batch.bytes());
            }
            Entries::Cursor(cursor) => {
                collect(cursor.as_mut(), plan, &mut self.choice, batch, size)?;
                collected = batch.len();
                if plan.index.is_some() {
                    batch.fetch(plan, self.kv.as_ref(), 0)?;
                    batch.check_present(plan)?;
                    self.lookups += batch.len() as u64;
                } else {
                    batch.fetch(plan, self.kv.as_ref(), 1)?;
                }
                self.bytes_fetched += batch.bytes();
            }
            Entries::Blocks(blocks, rest) => {
                let index = plan.index.as_ref().expect("entries come from an index");
                let elements = index.layout.columns().len();
                visit_vectors(blocks, rest, plan, &mut self.choice.filter, &mut |view, first| {
                    let Place::Vectors { batch: columns, row } = view.place else {
                        return Ok(true);
                    };
                    let datums = (first..first + elements).map(|at| columns.columns[at].datum(row));
                    let datums: Result<DatumRefs<'_>, _> = datums.collect();
                    let datums = datums.map_err(|e| view.vector_corruption(e))?;
                    let (mut key, mut row_key) = (Vec::new(), Vec::new());
                    index.layout.encode_into(&datums, &mut key)?;
                    index.row_key_of(&plan.codec, &datums, &mut row_key)?;
                    let push = batch.push_entry(&key, |out| {
                        out.extend_from_slice(&row_key);
                        Ok(())
                    });
                    push.map_err(|e| index.corruption(&key, e))?;
                    Ok(batch.len() < size)
                })?;
                collected = batch.len();
                batch.fetch(plan, self.kv.as_ref(), 0)?;
                batch.check_present(plan)?;
                self.lookups += batch.len() as u64;
                self.bytes_fetched += batch.bytes();
            }
        }
        Ok(collected)
    }
}
