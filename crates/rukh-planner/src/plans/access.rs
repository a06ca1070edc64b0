//! Access paths: one way to read the rows of a query, from one table or index.

use std::sync::Arc;

use rukh_catalog::ColumnId;
use rukh_keys::{KeyLayout, KeyRange, MaskedCompare, Span};

use crate::bounds::masked::MaskedTest;
use crate::bounds::ranges::Placed;
use crate::inputs::query::{OrderKey, Source};
use crate::inputs::target::Target;
use crate::plans::columnar::ColumnarRead;
use crate::plans::cost::Estimate;

/// How a path reads keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// Nothing is read: no row can pass.
    Empty,
    /// Single keys: each range holds one key at most, and if there is one it is the range's start.
    PointLookup,
    /// Several ranges.
    SkipScan,
    /// One range with a bound.
    RangeScan,
    /// All keys.
    FullScan,
    /// Blocks of a columnar index, column by column.
    Columnar,
}

impl ScanKind {
    /// Returns the kind as EXPLAIN writes it.
    pub fn name(self) -> &'static str {
        match self {
            ScanKind::Empty => "empty",
            ScanKind::PointLookup => "point lookup",
            ScanKind::SkipScan => "skip scan",
            ScanKind::RangeScan => "range scan",
            ScanKind::FullScan => "full scan",
            ScanKind::Columnar => "columnar scan",
        }
    }
}

/// One way to read the rows of a query.
///
/// The rows are exactly those whose key lies in one of `ranges`, passes `masked`, for which the
/// conjuncts in `residual_index` and `residual` are true, and which are among those of `within`. Nothing that ranges and masked compares
/// prove is among the residual.
#[derive(Clone, Debug)]
pub struct AccessPath {
    /// Table or index read.
    pub source: Source,
    /// How keys are read.
    pub kind: ScanKind,
    /// Layout of the keys read.
    pub layout: Arc<KeyLayout>,
    /// The ranges over datums, in key order; of a salted key without the bucket.
    pub spans: Vec<Span>,
    /// The buckets read of a salted key; `None` if the key has no salt.
    pub buckets: Option<Vec<u8>>,
    /// The ranges over bytes, salt included: sorted and disjoint.
    pub ranges: Vec<KeyRange>,
    /// Tests on key bytes.
    pub masked: MaskedCompare,
    /// The same for people, one per column.
    pub masked_tests: Vec<MaskedTest>,
    /// Positions of conjuncts to check on the decoded index entry before the lookup; empty unless a
    /// lookup follows.
    pub residual_index: Vec<usize>,
    /// Positions of conjuncts to check on decoded values: of the row after the lookup if there is
    /// one, else of what was read.
    pub residual: Vec<usize>,
    /// Whether what is read alone gives all columns; else the row is looked up in the table.
    pub covering: bool,
    /// Columns that the lookup is for.
    pub lookup_columns: Vec<ColumnId>,
    /// Whether to read backwards.
    pub reverse: bool,
    /// The order in which rows arrive.
    pub order: Vec<OrderKey>,
    /// Whether rows arrive in the wanted order (also if there is none).
    pub ordered: bool,
    /// How one row of each group is read, where that is enough.
    pub loose: Option<LooseScan>,
    /// The runs of keys that are merged, where that gives the wanted order; they hold what
    /// `ranges` do.
    pub merge: Option<Merge>,
    /// What reading is likely to cost.
    pub estimate: Estimate,
    /// What rows have to be among, beside all that.
    pub within: Option<Arc<Within>>,
    /// What is read of a columnar index, if the source is one; its tests are proven, and in addition
    /// to those of keys.
    pub columnar: Option<ColumnarRead>,
}

impl AccessPath {
    /// A path that gives all columns of the rows of some keys, in no order, with nothing left to check.
    pub(crate) fn new(target: &Target, kind: ScanKind, placed: Placed, estimate: Estimate) -> Self {
        AccessPath {
            source: target.source,
            kind,
            layout: target.layout.clone(),
            spans: placed.spans,
            buckets: placed.buckets,
            ranges: placed.ranges,
            masked: MaskedCompare::default(),
            masked_tests: Vec::new(),
            residual_index: Vec::new(),
            residual: Vec::new(),
            covering: true,
            lookup_columns: Vec::new(),
            reverse: false,
            order: Vec::new(),
            ordered: true,
            loose: None,
            merge: None,
            within: None,
            estimate,
            columnar: None,
        }
    }

    /// Returns how keys are read as EXPLAIN writes it.
    pub fn kind_name(&self) -> &'static str {
        match self.loose {
            Some(_) => "loose scan",
            None => self.kind.name(),
        }
    }
}

/// How a path reads one row of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseScan {
    /// Rows are of one group that have the same first so many elements of the key.
    pub columns: usize,
    /// The positions of those that are not fixed to one value by the conditions.
    pub open: Vec<usize>,
    /// Whether a group is cut in two by whether the element behind them is NULL.
    pub null_tag: bool,
    /// Whether the last row of each group is read, too; else it is the first, in the direction of the
    /// path.
    pub both_ends: bool,
    /// Whether there is one row at most for each wanted group.
    pub exact: bool,
}

/// Runs of keys to be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// How many leading elements distinguish the runs, beside the bucket.
    pub columns: usize,
    /// The runs; in each, at least one key may lie.
    pub runs: Vec<Run>,
}

/// Keys that begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its ranges over bytes, sorted and disjoint.
    pub ranges: Vec<KeyRange>,
    /// Bytes that all its keys begin with.
    pub prefix: usize,
}

/// What rows of a path have to be among.
#[derive(Clone, Debug)]
pub struct Within {
    /// Gives the primary keys of the rows, from an index alone. Its residual has conjuncts of the
    /// query, as that of the path does.
    pub path: AccessPath,
    /// The conjuncts that are true of all these rows, by position.
    pub conjuncts: Vec<usize>,
    /// The columns that name a row.
    pub columns: Vec<ColumnId>,
}
