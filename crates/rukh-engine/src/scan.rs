//! Scans: rows in the order of a table or index, with only the columns asked for.
//!
//! A scan is *direct* where each stored entry gives all columns asked for: rows are then shown
//! straight from the storage's buffers. Otherwise entries are collected in batches, and what they
//! lack is read by batched gets (`lookup`): the row of an index entry, the values of other
//! families. Batches begin small and grow, so that a LIMIT reads little ahead.

use crate::EngineError;
use crate::codec::{ColumnPlace, DatumRefs, DecodeError, FamilyValue, TableCodec};
use crate::columnar::{BlockScan, ColumnBatch, ColumnTest, FirstRows};
use crate::entry::{EntryPlace, EntryView, IndexCodec};
use crate::groups::{Grouping, Groups};
use crate::lookup::Batch;
use crate::merged::MergePart;
use crate::points;
use crate::snapshot::Snapshot;
use rukh_catalog::{CatalogError, ColumnId, IndexId, IndexState, Table};
use rukh_keys::{DatumRef, KeyLayout, KeyRange, MaskedCompare};
use rukh_kv::{KvCursor, KvSnapshot, ScanStats};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use visit::{Choice, collect, open_cursor, visit_entries};

mod point;
mod visit;

mod columnar;

pub use columnar::ColumnarCursor;
use columnar::visit_vectors;
pub use point::PointReader;

/// Whose key order a scan follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The table's primary key.
    Table,
    /// An index of it.
    Index(IndexId),
}

/// A test on index entries before their rows are looked up; its view gives
/// [`ScanRequest::entry_columns`].
pub type EntryFilter = Box<dyn FnMut(&RowView<'_>) -> Result<bool, EngineError> + Send>;

/// What to read of a table.
pub struct ScanRequest {
    /// The table, in any version: columns are found by id in the newest.
    pub table: Arc<Table>,
    /// The key order to follow.
    pub source: Source,
    /// The key ranges to read, sorted and disjoint.
    pub ranges: Vec<KeyRange>,
    /// The test on raw key bytes; in a UNIQUE index it may speak of the declared elements only.
    pub masked: MaskedCompare,
    /// Whether rows come in descending order.
    pub reverse: bool,
    /// The ranges in parts that are merged by what their keys have behind a prefix, instead of one
    /// after the other; not together with `groups`.
    pub merge: Option<Vec<MergePart>>,
    /// Where one row of each group is enough: the first in scan order that passes `entry_filter`.
    pub groups: Option<Grouping>,
    /// How many rows to show at most, counted after `entry_filter`.
    pub limit: Option<u64>,
    /// The columns that [`RowView::datum`] gives, by position in this list.
    pub columns: Vec<ColumnId>,
    /// A test on entries before rows are looked up.
    pub entry_filter: Option<EntryFilter>,
    /// The columns that the view of `entry_filter` gives; all must be in the source itself.
    pub entry_columns: Vec<ColumnId>,
    /// Tests on columns, which a columnar index or table evaluates on encoded values; empty for other sources.
    pub tests: Vec<ColumnTest>,
    /// Of a scan by columns, the only rows wanted, if not all are: others may be left out. A row is wanted that one of them wants.
    pub first: Vec<FirstRows>,
    /// Of a scan by columns for first rows, whether it may begin at the other end: where these are rather there, fewer blocks are read.
    pub either_end: bool,
    /// Ends the scan with [`EngineError::Cancelled`] soon after it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl ScanRequest {
    /// Asks for columns of all rows in the order of the primary key.
    pub fn all(table: Arc<Table>, columns: Vec<ColumnId>) -> Self {
        ScanRequest {
            table,
            source: Source::Table,
            ranges: vec![KeyRange::all()],
            masked: MaskedCompare::new(Vec::new()),
            reverse: false,
            merge: None,
            groups: None,
            limit: None,
            columns,
            entry_filter: None,
            entry_columns: Vec::new(),
            tests: Vec::new(),
            first: Vec::new(),
            either_end: false,
            cancel: None,
        }
    }
}

/// What a scan did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCounters {
    /// Key ranges begun.
    pub ranges: u64,
    /// Times an iterator was sent to a key.
    pub seeks: u64,
    /// Keys that iterators stood on; lookups are not counted here.
    pub keys_examined: u64,
    /// Keys examined that failed the masked compare.
    pub masked_misses: u64,
    /// Rows fetched because the source did not have all columns.
    pub lookups: u64,
    /// Rows shown.
    pub rows: u64,
    /// Bytes of keys and values read.
    pub bytes_read: u64,
    /// Blocks of columnar indexes that were looked into.
    pub blocks_read: u64,
    /// Blocks that what is known of their columns ruled out.
    pub blocks_pruned: u64,
    /// Blocks that told totals in place of their rows.
    pub blocks_told: u64,
    /// Changes of columnar indexes that were read beside their blocks.
    pub delta_rows: u64,
}

impl From<ScanStats> for ScanCounters {
    fn from(stats: ScanStats) -> Self {
        ScanCounters {
            ranges: stats.ranges,
            seeks: stats.seeks,
            keys_examined: stats.keys_examined,
            masked_misses: stats.masked_misses,
            bytes_read: stats.bytes_read,
            ..ScanCounters::default()
        }
    }
}

/// Returns the storage table of a source.
pub(crate) fn storage_name(codec: &TableCodec, source: Source) -> Result<&str, EngineError> {
    match source {
        Source::Table => Ok(&codec.families[0].storage),
        Source::Index(id) => Ok(&ready_index(codec, id)?.storage),
    }
}

/// Returns the index that a source is, if it is columnar; a columnar table is one of all of its columns.
pub(crate) fn columnar_index(
    codec: &TableCodec,
    source: Source,
) -> Result<Option<&Arc<IndexCodec>>, EngineError> {
    match source {
        Source::Table => Ok(codec.blocks.as_ref()),
        Source::Index(id) => Ok(Some(ready_index(codec, id)?).filter(|index| index.blocks().is_some())),
    }
}

fn ready_index(codec: &TableCodec, id: IndexId) -> Result<&Arc<IndexCodec>, EngineError> {
    let unknown = || CatalogError::UnknownIndex {
        name: format!("index {}", id.0),
    };
    let index = codec.index(id).ok_or_else(unknown)?;
    match index.index.state {
        IndexState::Ready => Ok(index),
        IndexState::Building | IndexState::Disabled | IndexState::Broken => Err(EngineError::IndexNotReady {
            index: index.index.name.clone(),
        }),
    }
}

/// Where a view finds a column.
#[derive(Clone, Copy, Debug)]
enum Access {
    /// In the index entry.
    Entry(EntryPlace),
    /// In the row key.
    Key(usize),
    /// In the value of the `fetched`-th family read.
    Value { fetched: usize, ordinal: usize },
    /// With the value of family 0, or of the index entry: when it was written.
    Written,
    /// In this column of what a columnar index gives out.
    Vector(usize),
}

/// Everything about a scan that does not change while it runs.
pub(crate) struct Plan {
    pub(crate) codec: Arc<TableCodec>,
    pub(crate) index: Option<Arc<IndexCodec>>,
    columns: Vec<Access>,
    entry_columns: Vec<Access>,
    /// Families whose values are read, family 0 first; the others only if a column needs them.
    pub(crate) fetched: Vec<usize>,
    /// Whether a column needs the value of family 0.
    pub(crate) base_needed: bool,
    /// Whether the entries' own values are read.
    values: bool,
    /// Whether rows need more than their entries.
    pub(crate) batched: bool,
    /// Where a columnar index gives out the elements of its key, for lookups.
    key_vectors: usize,
}

impl Plan {
    /// Prepares a scan; `by_blocks` says that of a columnar table blocks are read as they are stored.
    fn new(codec: Arc<TableCodec>, request: &ScanRequest, by_blocks: bool) -> Result<Self, EngineError> {
        let index = match request.source {
            Source::Table => codec.blocks.clone().filter(|_| by_blocks),
            Source::Index(id) => Some(ready_index(&codec, id)?.clone()),
        };
        let mut plan = Plan {
            codec,
            index,
            columns: Vec::new(),
            entry_columns: Vec::new(),
            fetched: vec![0],
            base_needed: false,
            values: false,
            batched: false,
            key_vectors: 0,
        };
        let covered = request
            .columns
            .iter()
            .all(|column| plan.entry_access(*column).is_some());
        plan.batched = !covered;
        plan.columns = plan.accesses(&request.columns, covered)?;
        if request.entry_filter.is_some() {
            plan.entry_columns = plan.accesses(&request.entry_columns, true)?;
        }
        plan.base_needed = plan
            .columns
            .iter()
            .any(|a| matches!(a, Access::Value { fetched: 0, .. } | Access::Written));
        let from_rows = plan.batched && plan.index.is_some();
        let columns = plan.columns.iter().filter(|_| !from_rows);
        let read_in_entry = columns.chain(&plan.entry_columns);
        plan.values = read_in_entry
            .filter(|access| plan.reads_entry_value(access))
            .count()
            > 0;
        plan.values |= plan
            .index
            .as_ref()
            .is_some_and(|index| plan.batched && index.index.unique);
        Ok(plan)
    }

    /// Returns where the entries of the source have a column, if they do.
    fn entry_access(&self, column: ColumnId) -> Option<Access> {
        if column == ColumnId::WRITTEN {
            let in_blocks = self.is_columnar();
            return (!in_blocks).then_some(Access::Written);
        }
        let position = self.codec.table.position(column)?;
        match &self.index {
            Some(index) => index.place(position).map(Access::Entry),
            None => match self.codec.place(position) {
                ColumnPlace::Key(at) => Some(Access::Key(at)),
                ColumnPlace::Value { family: 0, ordinal } => Some(Access::Value { fetched: 0, ordinal }),
                ColumnPlace::Value { .. } => None,
                ColumnPlace::Written => Some(Access::Written),
            },
        }
    }

    fn accesses(&mut self, columns: &[ColumnId], in_entry: bool) -> Result<Vec<Access>, EngineError> {
        let mut accesses = Vec::with_capacity(columns.len());
        for column in columns {
            let access = match in_entry {
                true => self.entry_access(*column),
                false => self.row_access(*column),
            };
            accesses.push(access.ok_or_else(|| self.unknown_column(*column))?);
        }
        Ok(accesses)
    }

    /// Returns where the row has a column, and notes the family to be read.
    fn row_access(&mut self, column: ColumnId) -> Option<Access> {
        if column == ColumnId::WRITTEN {
            return Some(Access::Written);
        }
        let position = self.codec.table.position(column)?;
        Some(match self.codec.place(position) {
            ColumnPlace::Key(at) => Access::Key(at),
            ColumnPlace::Written => Access::Written,
            ColumnPlace::Value { family, ordinal } => {
                let known = self.fetched.iter().position(|fetched| *fetched == family);
                let fetched = known.unwrap_or_else(|| {
                    self.fetched.push(family);
                    self.fetched.len() - 1
                });
                Access::Value { fetched, ordinal }
            }
        })
    }

    fn unknown_column(&self, column: ColumnId) -> EngineError {
        let table = &self.codec.table;
        let column = match table.column(column) {
            Some(column) => column.name.clone(),
            None => format!("column {}", column.0),
        };
        CatalogError::UnknownColumn {
            table: table.name.clone(),
            column,
        }
        .into()
    }

    fn reads_entry_value(&self, access: &Access) -> bool {
        match (access, &self.index) {
            (Access::Entry(place), Some(index)) => index.needs_value(*place),
            (Access::Value { fetched: 0, .. }, None) | (Access::Written, _) => true,
            _ => false,
        }
    }

    /// Returns which values of family 0 its views look at.
    fn ordinals(&self) -> Arc<[usize]> {
        let looked_at = self.columns.iter().chain(&self.entry_columns);
        let ordinals = looked_at.filter_map(|access| match access {
            Access::Value { fetched: 0, ordinal } => Some(*ordinal),
            _ => None,
        });
        let mut ordinals: Vec<usize> = ordinals.collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        ordinals.into()
    }

    /// Whether entries come from blocks.
    fn is_columnar(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.blocks().is_some())
    }

    /// The layout of the keys that the scan walks over.
    fn layout(&self) -> &KeyLayout {
        match &self.index {
            Some(index) => &index.layout,
            None => &self.codec.key,
        }
    }

    fn entry_corruption(&self, key: &[u8], error: DecodeError) -> EngineError {
        match &self.index {
            Some(index) => index.corruption(key, error),
            None => self.codec.corruption(key, error),
        }
    }

    fn storage(&self) -> &str {
        match &self.index {
            Some(index) => &index.storage,
            None => &self.codec.families[0].storage,
        }
    }

    /// Opens a stored entry of the source.
    #[inline]
    fn entry<'a>(&'a self, key: &'a [u8], value: &'a [u8]) -> Result<Place<'a>, EngineError> {
        match &self.index {
            Some(index) if self.values => {
                let entry = index.open(key, value).map_err(|e| index.corruption(key, e))?;
                Ok(Place::Entry { key, entry })
            }
            Some(index) => Ok(Place::Entry {
                key,
                entry: index.open_key(key),
            }),
            None => {
                let mut values = FamilyValues::new();
                if self.values {
                    let base = self.codec.families[0].open(value);
                    values.push(Some(base.map_err(|e| self.codec.corruption(key, e.into()))?));
                }
                Ok(Place::Row { key, values })
            }
        }
    }

    /// Opens a row that was fetched, its values in the order of [`Plan::fetched`].
    pub(crate) fn row<'a>(
        &'a self,
        key: &'a [u8],
        values: impl Iterator<Item = Option<&'a [u8]>>,
    ) -> Result<RowView<'a>, EngineError> {
        let mut opened = FamilyValues::new();
        for (nth, value) in values.enumerate() {
            let family = &self.codec.families[self.fetched[nth]];
            let value = value.filter(|_| nth > 0 || self.base_needed);
            let value = value.map(|value| family.open(value)).transpose();
            opened.push(value.map_err(|e| self.codec.family_corruption(family, key, e.into()))?);
        }
        Ok(RowView {
            plan: self,
            columns: &self.columns,
            place: Place::Row { key, values: opened },
        })
    }
}

type FamilyValues<'a> = SmallVec<[Option<FamilyValue<'a>>; 1]>;

/// What a view looks at.
enum Place<'a> {
    Entry { key: &'a [u8], entry: EntryView<'a> },
    Row { key: &'a [u8], values: FamilyValues<'a> },
    Vectors { batch: &'a ColumnBatch, row: usize },
}

/// A row under the scan's cursor: columns decode when they are asked for.
pub struct RowView<'a> {
    plan: &'a Plan,
    columns: &'a [Access],
    place: Place<'a>,
}

impl RowView<'_> {
    /// Returns the datum of the `i`-th column asked for.
    ///
    /// Fails with [`EngineError::Corruption`] that names the table or index and the key.
    ///
    /// # Panics
    /// If the scan asked for fewer columns.
    #[inline]
    pub fn datum(&self, i: usize) -> Result<DatumRef<'_>, EngineError> {
        let codec = &*self.plan.codec;
        match (&self.place, self.columns[i]) {
            (Place::Entry { key, entry }, Access::Entry(place)) => entry
                .datum(codec, place)
                .map_err(|e| self.entry_corruption(key, e)),
            (Place::Row { key, .. }, Access::Key(at)) => codec
                .key
                .decode_column(key, at)
                .map_err(|e| codec.corruption(key, e.into())),
            (Place::Row { key, values }, Access::Value { fetched, ordinal }) => {
                let Some(Some(value)) = values.get(fetched) else {
                    return Ok(DatumRef::Null);
                };
                let family = &codec.families[self.plan.fetched[fetched]];
                value
                    .datum(ordinal)
                    .map_err(|e| codec.family_corruption(family, key, e.into()))
            }
            (Place::Entry { key, entry }, Access::Written) => entry
                .written(codec.since())
                .map_err(|e| self.entry_corruption(key, e)),
            (Place::Row { key, values }, Access::Written) => match values.first() {
                Some(Some(value)) => value
                    .written(codec.since())
                    .map_err(|e| codec.corruption(key, e.into())),
                _ => Ok(DatumRef::Null),
            },
            (Place::Vectors { batch, row }, Access::Vector(at)) => batch.columns[at]
                .datum(*row)
                .map_err(|e| self.vector_corruption(e)),
            _ => unreachable!("a plan gives entry places to entries, row places to rows"),
        }
    }

    /// Returns how many columns the view gives.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether the view gives no column.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    fn vector_corruption(&self, error: impl ToString) -> EngineError {
        match &self.plan.index {
            Some(index) => index.corruption(&[], error),
            None => self.plan.codec.corruption(&[], DecodeError::EntryForm),
        }
    }

    fn entry_corruption(&self, key: &[u8], error: DecodeError) -> EngineError {
        self.plan.entry_corruption(key, error)
    }
}

/// Whether a scan shows all keys of its ranges, one range after the other.
fn is_plain(request: &ScanRequest) -> bool {
    request.entry_filter.is_none() && request.groups.is_none() && request.merge.is_none()
}

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
