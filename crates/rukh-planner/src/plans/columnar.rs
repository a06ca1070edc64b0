//! Scans of columnar indexes: what is tested on encoded columns, and what reading them costs.
//!
//! A columnar index is read for all columns of the query or not at all. Its spans leave out blocks by
//! their keys. What they do not prove is split as for other paths: where conjuncts say that a column
//! lies in a set, the set is tested on encoded values, many rows at once, and rules out blocks by what
//! is known of them; the rest is the residual.

use std::ops::Bound;
use std::sync::Arc;

use rukh_catalog::ColumnId;
use rukh_keys::{Datum, KeyLayout};

use crate::bounds::constrain::Constraint;
use crate::bounds::masked::spans_prove;
use crate::conditions::boxes::Boxes;
use crate::conditions::interval::{Cut, IntervalSet, Side};
use crate::conditions::term::{TermId, TermKind, TermTypes};
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Query, Source};
use crate::inputs::target::Slot;
use crate::plans::cost::{SEEK, share_of_term, stop_share};

/// Rows of a block, about.
const BLOCK_ROWS: f64 = 8192.0;
/// Cost of fetching one column of one block.
const FETCH: f64 = 4.0;
/// Cost of reading one row that is in no block yet, and of finding its place in a block.
const CHANGE: f64 = 0.15;
/// Share of the rows that are in no block yet, where nothing is known of that.
const CHANGED: f64 = 0.003;
/// Cost of testing one value.
const TEST: f64 = 0.001;
/// Cost of giving out one value.
const VALUE: f64 = 0.01;
/// Cost of checking one row against the residual.
const CHECK: f64 = 0.02;

/// Cost of beginning to read a columnar table by batches of columns, where single rows could be had.
pub(crate) const BATCHES: f64 = 100.0;
/// Cost of making one value of a column part of a row.
const UNPACK: f64 = 0.05;

/// Returns what it costs more to read so many keys of a columnar table row by row than if it were stored so: rows that
/// are in no block are stored so.
pub(crate) fn cost_of_unpacking(query: &Query<'_>, ranges: usize, keys: f64) -> f64 {
    let columns = query.table.columns.len() as f64;
    let changed = query.statistics.share_changed(Source::Table).unwrap_or(0.0);
    let keys = keys * (1.0 - changed);
    let blocks = ranges as f64 + keys / BLOCK_ROWS;
    blocks * (2.0 * SEEK + columns * FETCH) + keys * columns * UNPACK
}

/// What is read of a columnar index.
#[derive(Clone, Debug)]
pub struct ColumnarRead {
    /// Tests on encoded columns; a row passes all of them.
    pub tests: Vec<ColumnTest>,
    /// Columns read, by id: those tested, checked and given out.
    pub columns: Vec<ColumnId>,
}

/// A test on one column: that its value lies in a set.
#[derive(Clone, Debug)]
pub struct ColumnTest {
    /// The column.
    pub column: ColumnId,
    /// The test as SQL: `code = 404`, `day >= 5`.
    pub sql: String,
    set: Arc<IntervalSet>,
}

impl ColumnTest {
    /// Returns the values that pass, as ascending ranges.
    pub fn ranges(&self) -> Vec<(Bound<Datum>, Bound<Datum>)> {
        let intervals = self.set.intervals().iter();
        intervals
            .map(|one| (low_bound(&one.low), high_bound(&one.high)))
            .collect()
    }

    /// Whether NULL passes.
    pub fn null(&self) -> bool {
        self.set.null
    }
}

fn low_bound(cut: &Cut) -> Bound<Datum> {
    match cut {
        Cut::At(datum, Side::Before) => Bound::Included(datum.clone()),
        Cut::At(datum, Side::After) => Bound::Excluded(datum.clone()),
        Cut::Min | Cut::Max => Bound::Unbounded,
    }
}

fn high_bound(cut: &Cut) -> Bound<Datum> {
    match cut {
        Cut::At(datum, Side::Before) => Bound::Excluded(datum.clone()),
        Cut::At(datum, Side::After) => Bound::Included(datum.clone()),
        Cut::Min | Cut::Max => Bound::Unbounded,
    }
}

/// Finds the tests of what the spans of `constraint` leave open, and marks the conjuncts that they
/// prove together with the spans.
pub(crate) fn column_tests(
    query: &Query<'_>,
    knowledge: &Knowledge,
    constraint: &Constraint,
    proven: &mut [bool],
) -> Vec<ColumnTest> {
    let Some(known) = knowledge.known.as_ref().filter(|_| proven.contains(&false)) else {
        return Vec::new();
    };
    let mut tests = Vec::new();
    for (term, set) in known.sets() {
        let TermKind::Column(column) = term.kind() else {
            continue;
        };
        let Some(slot) = column_slot(query, *term, column).filter(|slot| !slot.is_everything(set)) else {
            continue;
        };
        if spans_prove(constraint, *term, set) {
            continue;
        }
        tests.push(ColumnTest {
            column,
            sql: slot.describe(set),
            set: set.clone(),
        });
    }
    for (at, conjunct) in knowledge.conjuncts.iter().enumerate() {
        proven[at] |= is_tested(conjunct, constraint, &tests);
    }
    tests
}

fn column_slot(query: &Query<'_>, term: TermId, column: ColumnId) -> Option<Slot> {
    let ty = query.term_type(term)?;
    Some(Slot {
        term: Some(term),
        hash_of: None,
        ty: ty.ty,
        nullable: ty.nullable,
        descending: false,
        name: query.table.column_name(column).to_string(),
    })
}

/// Whether a conjunct says exactly that each of some columns lies in a set, and each of them is tested
/// or proven by the spans.
fn is_tested(conjunct: &Boxes, constraint: &Constraint, tests: &[ColumnTest]) -> bool {
    let [one] = conjunct.list.as_slice() else {
        return false;
    };
    let holds = |(term, set): &(TermId, Arc<IntervalSet>)| {
        let is_in = |test: &ColumnTest| TermId::column(test.column) == *term && test.set.is_subset(set);
        tests.iter().any(is_in) || spans_prove(constraint, *term, set)
    };
    conjunct.exact && one.sets().iter().all(holds)
}

/// What a scan is likely to read.
pub(crate) struct ColumnarShape<'a> {
    pub(crate) layout: &'a KeyLayout,
    pub(crate) source: Source,
    /// Ranges of keys.
    pub(crate) ranges: usize,
    /// Entries in these ranges.
    pub(crate) keys: f64,
    pub(crate) tests: &'a [ColumnTest],
    /// Columns given out or checked, beside those tested.
    pub(crate) given: usize,
    /// Whether something is left to check.
    pub(crate) checks: bool,
    /// The share of the entries that the query stops after.
    pub(crate) rows: f64,
    pub(crate) sorts: bool,
}

/// Returns what it costs to merge blocks with what is in none of them yet: where they have changes, their key columns are
/// read.
fn cost_of_changes(query: &Query<'_>, shape: &ColumnarShape<'_>, keys: f64, blocks: f64) -> f64 {
    let share = query.statistics.share_changed(shape.source);
    let changes = keys * share.unwrap_or(CHANGED);
    let merged = match share {
        Some(_) => blocks * (1.0 - (-changes / blocks).exp()),
        None => 0.0,
    };
    changes * CHANGE + merged * shape.layout.columns().len() as f64 * FETCH
}

/// Returns the entries that are looked into, and what that costs without sorting.
pub(crate) fn columnar_cost(query: &Query<'_>, shape: &ColumnarShape<'_>) -> (f64, f64) {
    let share: f64 = shape
        .tests
        .iter()
        .map(|test| share_of_term(query, TermId::column(test.column), &test.set))
        .product();
    let read = stop_share(query.limit, shape.rows, shape.sorts);
    let keys = (shape.keys * read).max(1.0);
    let survivors = keys * share;
    let ranges = (shape.ranges as f64 * read).max(1.0);
    let blocks = keys / BLOCK_ROWS + ranges;
    // A block is read further where a row of it is left.
    let further = blocks * (1.0 - (1.0 - share.clamp(0.0, 1.0)).powf(BLOCK_ROWS));
    let cut = ranges * 2.0 * shape.layout.columns().len() as f64;
    let tested = shape.tests.len() as f64;
    let given = shape.given as f64;
    let cost = ranges * 3.0 * SEEK
        + (cut + blocks * (1.0 + tested) + further * given) * FETCH
        + keys * tested * TEST
        + cost_of_changes(query, shape, keys, blocks)
        + survivors * given * VALUE
        + if shape.checks { survivors * CHECK } else { 0.0 };
    (keys, cost)
}
