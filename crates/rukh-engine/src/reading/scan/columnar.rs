//! Scans of columnar indexes: what of a request blocks answer, and their rows as those of any other scan.

use super::plan::Place;
use super::visit::Choice;
use super::{Entries, EntryFilter, Plan, RowCursor, RowView, ScanCounters, ScanRequest};
use crate::EngineError;
use crate::columnar::{BlockScan, BlockScanSpec, BlockTotals, ColumnBatch, TotalWanted};
use crate::forms::codec::TableCodec;
use crate::reading::lookup::Batch;
use crate::reading::scan::plan::Access;
use crate::reading::snapshot::Snapshot;
use rukh_catalog::{CatalogError, ColumnId};
use rukh_kv::KvSnapshot;
use std::sync::Arc;

/// A scan of a columnar index under way, column by column.
pub struct ColumnarCursor {
    blocks: BlockScan,
}

impl ColumnarCursor {
    pub(crate) fn new(
        codec: Arc<TableCodec>,
        snapshot: &Snapshot,
        mut request: ScanRequest,
    ) -> Result<Self, EngineError> {
        let mut plan = Plan::new(codec, &request, true)?;
        let lacks = |column: &ColumnId| plan.entry_access(*column).is_none();
        if let Some(lacking) = request.columns.iter().find(|column| lacks(column)) {
            return Err(plan.unknown_column(*lacking));
        }
        let Some(index) = plan.index.clone().filter(|index| index.blocks().is_some()) else {
            let message = "the source is not columnar".to_string();
            return Err(CatalogError::Unsupported { message }.into());
        };
        let mut spec = block_scan_spec(&mut plan, &mut request)?;
        for first in request.first {
            let slot = request.columns.iter().position(|column| *column == first.column);
            let slot = slot.ok_or_else(|| plan.unknown_column(first.column))?;
            spec.first.push((spec.columns[slot], first));
        }
        Ok(ColumnarCursor {
            blocks: BlockScan::new(snapshot.raw.clone(), index, spec)?.keeping(snapshot.kept()),
        })
    }

    /// Has blocks whose rows are all wanted give totals of these columns in place of their rows, where they need not be read
    /// for it. To be called before the first batch, with places of columns that are given out.
    pub fn total(&mut self, wanted: Vec<TotalWanted>) {
        self.blocks.total(wanted);
    }

    /// Has byte strings of these columns come by their number among some ([`Values::Coded`](crate::Values::Coded)). To be called
    /// before the first batch, with places of columns that are given out.
    pub fn code(&mut self, columns: &[usize]) {
        self.blocks.code(columns);
    }

    /// Returns the totals of all blocks that were answered by their heads; `None` if the request has none.
    pub fn totals(&self) -> Result<Option<BlockTotals>, EngineError> {
        self.blocks.totals()
    }

    /// Reads the next entries, about `rows` of them, in key order or its reverse; `None` at the end.
    pub fn next_batch(&mut self, rows: usize) -> Result<Option<ColumnBatch>, EngineError> {
        self.blocks.take_batch(rows)
    }

    /// Returns what the scan did so far.
    pub fn counters(&self) -> ScanCounters {
        self.blocks.counters()
    }
}

impl RowCursor {
    /// Starts a scan of a columnar index.
    ///
    /// Rows that lack columns are looked up.
    pub(super) fn of_blocks(
        mut plan: Plan,
        kv: Arc<dyn KvSnapshot>,
        snapshot: &Snapshot,
        mut request: ScanRequest,
    ) -> Result<Self, EngineError> {
        if request.groups.is_some() || request.merge.is_some() {
            let message = "a columnar index is read from end to end".to_string();
            return Err(CatalogError::Unsupported { message }.into());
        }
        let spec = block_scan_spec(&mut plan, &mut request)?;
        let index = plan.index.clone().expect("the plan is of an index");
        let blocks = BlockScan::new(snapshot.raw.clone(), index, spec)?.keeping(snapshot.kept());
        Ok(RowCursor {
            batch: Batch::new(plan.fetched.len()),
            plan: Arc::new(plan),
            kv,
            entries: Entries::Blocks(Box::new(blocks), 0..0),
            choice: Choice {
                filter: request.entry_filter,
                groups: None,
                reverse: request.reverse,
            },
            remaining: request.limit.unwrap_or(u64::MAX),
            lookups: 0,
            rows: 0,
            bytes_fetched: 0,
        })
    }
}

/// Says what to read of a columnar index: columns of the entry, where rows need no lookup, then those
/// of the filter; or those of the filter, then the elements of the key.
fn block_scan_spec(plan: &mut Plan, request: &mut ScanRequest) -> Result<BlockScanSpec, EngineError> {
    let index = plan.index.clone().expect("the plan is of an index");
    let codec = plan.codec.clone();
    let slot = |column: ColumnId| {
        if let (ColumnId::LIFE, Some(slot)) = (column, index.life_slot()) {
            return Ok(slot);
        }
        let place = codec
            .table
            .position(column)
            .and_then(|position| index.place(position));
        place
            .map(|place| index.slot(place))
            .ok_or_else(|| plan.unknown_column(column))
    };
    let tests = std::mem::take(&mut request.tests).into_iter();
    let tests = tests.map(|test| Ok((slot(test.column)?, test)));
    let tests = tests.collect::<Result<_, EngineError>>()?;
    let mut columns = Vec::new();
    let covered = !plan.batched;
    let (given, filtered) = (covered.then_some(&request.columns), &request.entry_columns);
    for column in given.into_iter().flatten().chain(filtered) {
        columns.push(slot(*column)?);
    }
    let vectors = |range: std::ops::Range<usize>| range.map(Access::Vector).collect::<Vec<_>>();
    if covered {
        plan.columns = vectors(0..request.columns.len());
    }
    let first = if covered { request.columns.len() } else { 0 };
    plan.entry_columns = vectors(first..columns.len());
    plan.key_vectors = columns.len();
    if plan.batched {
        columns.extend(0..index.layout.columns().len());
    }
    Ok(BlockScanSpec {
        ranges: std::mem::take(&mut request.ranges),
        tests,
        columns,
        reverse: request.reverse,
        first: Vec::new(),
        either_end: request.either_end,
        cancel: request.cancel.clone(),
    })
}

/// Rows of a batch of a columnar index.
const VECTOR_ROWS: usize = 1024;

/// Shows further entries of a columnar index that pass the filter to `visit`, with the place of the
/// elements of their keys, until it returns `false`.
pub(super) fn visit_vectors(
    blocks: &mut BlockScan,
    rest: &mut std::ops::Range<usize>,
    plan: &Plan,
    filter: &mut Option<EntryFilter>,
    visit: &mut dyn FnMut(&RowView<'_>, usize) -> Result<bool, EngineError>,
) -> Result<(), EngineError> {
    loop {
        if rest.start >= rest.end {
            let Some(batch) = blocks.next_batch(VECTOR_ROWS)? else {
                return Ok(());
            };
            *rest = 0..batch.rows;
        }
        for row in rest.by_ref() {
            let mut view = RowView {
                plan,
                columns: &plan.entry_columns,
                place: Place::Vectors {
                    batch: blocks.batch(),
                    row,
                },
            };
            if let Some(filter) = filter
                && !filter(&view)?
            {
                continue;
            }
            view.columns = &plan.columns;
            if !visit(&view, plan.key_vectors)? {
                return Ok(());
            }
        }
    }
}
