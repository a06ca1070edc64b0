//! Planning one source: from conjuncts to the access path of one table or index.

use rukh_catalog::{ColumnId, Index};
use rukh_keys::Span;

use crate::bounds::constrain::{Constraint, constrain};
use crate::bounds::masked::{Masks, masks};
use crate::bounds::ranges::{Placed, place_spans};
use crate::bounds::spans::{SpanOptions, spans_of_boxes};
use crate::conditions::boxes::TermBox;
use crate::conditions::domain::is_point;
use crate::conditions::interval::Interval;
use crate::inputs::implication::given_by_index;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Hint, Query, Source};
use crate::inputs::target::{Slot, Target};
use crate::plans::access::{AccessPath, ScanKind};
use crate::plans::columnar::{BATCHES, ColumnarRead, column_tests, cost_of_unpacking};
use crate::plans::cost::{PathShape, estimate, estimate_columnar, is_whole_key, known_for_key};
use crate::plans::loose::loose_path;
use crate::plans::merge::merged_path;
use crate::plans::order::path_order;
use crate::plans::point::point_path;

/// Plans one source; `None` if it cannot be used: no such index, not ready, or partial and without
/// all matching rows.
pub fn access_path(query: &Query<'_>, source: Source) -> Option<AccessPath> {
    path_on(query, &Knowledge::of(query), &Target::new(query, source)?)
}

/// Plans a source made ready before; [`Planner`](crate::Planner) keeps all sources of a table and
/// chooses among them.
pub fn access_path_on(query: &Query<'_>, target: &Target) -> Option<AccessPath> {
    point_path(query, target).or_else(|| path_on(query, &Knowledge::of(query), target))
}

/// Plans a source with what is known of the conjuncts.
pub(crate) fn path_on(query: &Query<'_>, knowledge: &Knowledge, target: &Target) -> Option<AccessPath> {
    if query.groups.is_none() {
        return plain_path_on(query, knowledge, target);
    }
    // The limit counts groups, so all rows are to be read.
    let unlimited = Query {
        limit: None,
        ..*query
    };
    let path = plain_path_on(&unlimited, knowledge, target)?;
    Some(loose_path(query, knowledge, target, &path).unwrap_or(path))
}

/// The same for a query that wants all rows.
fn plain_path_on(query: &Query<'_>, knowledge: &Knowledge, target: &Target) -> Option<AccessPath> {
    given_path_on(query, knowledge, target, &[])
}

/// The same for rows of which conjuncts are known to be true.
pub(crate) fn given_path_on(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    known: &[bool],
) -> Option<AccessPath> {
    let mut given = match target.source {
        Source::Index(_) => given_by_index(query, knowledge, target.index(query)?)?,
        Source::Table => vec![false; query.conjuncts.len()],
    };
    given
        .iter_mut()
        .zip(known)
        .for_each(|(given, known)| *given |= known);
    if is_full_scan(query, target) {
        return Some(full_scan(query, knowledge, target));
    }
    let constraint = constrain(query, knowledge, target, &given, options(query, target));
    let columnar = target.index(query).filter(|index| index.is_columnar());
    if let Some(index) = columnar {
        return assemble_columnar(query, knowledge, target, Some(index), constraint);
    }
    if target.source == Source::Table && query.table.is_columnar() {
        return Some(columnar_table_path(query, knowledge, target, constraint));
    }
    let path = assemble(query, knowledge, target, constraint);
    let path = match unexpanded(query, knowledge, target, &given, &path) {
        Some(cheaper) => cheaper,
        None => path,
    };
    let all = || {
        let unordered = Query {
            order: &[],
            limit: None,
            ..*query
        };
        Some(given_path_on(&unordered, knowledge, target, known)?.estimate)
    };
    Some(merged_path(query, knowledge, target, &path, all).unwrap_or(path))
}

/// Most ranges of a path that are taken without a look at fewer of them.
const RANGES_FEW: usize = 8;

/// Returns a path like another but for intervals of small types, which it reads as they are instead of value
/// by value, if that is cheaper: a table of few rows has fewer keys in `code > 0 AND day = 5` than TINYINTs
/// are greater than 0.
fn unexpanded(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    given: &[bool],
    path: &AccessPath,
) -> Option<AccessPath> {
    let is_interval = |slot: &Slot| {
        let set = knowledge.known.as_ref()?.get(slot.term?)?;
        let several = |one: &Interval| !is_point(slot.ty, one);
        set.intervals().iter().any(several).then_some(())
    };
    let has_intervals = || {
        target
            .search_slots()
            .iter()
            .any(|slot| is_interval(slot).is_some())
    };
    if path.ranges.len() <= RANGES_FEW || !query.hints.is_empty() || !has_intervals() {
        return None;
    }
    let options = SpanOptions {
        small: 1,
        ..options(query, target)
    };
    let constraint = constrain(query, knowledge, target, given, options);
    let other = assemble(query, knowledge, target, constraint);
    (other.estimate.cost < path.estimate.cost).then_some(other)
}

/// Most datums of all spans of a path: of keys with many elements there are fewer spans.
const SPAN_DATUMS_MAX: usize = 131_072;

fn options(query: &Query<'_>, target: &Target) -> SpanOptions {
    let usual = SpanOptions::usual();
    let usual = SpanOptions {
        budget: usual.budget.min(SPAN_DATUMS_MAX / target.slots.len().max(1)),
        ..usual
    };
    let is_range = query.hints.contains(&Hint::RangeScan);
    SpanOptions {
        small: if query.hints.contains(&Hint::SkipScan) && !is_range {
            usual.budget
        } else {
            usual.small
        },
        expand: !is_range,
        ..usual
    }
}

/// The path of the FULL_SCAN hint: the whole table, every condition on decoded rows.
fn full_scan(query: &Query<'_>, knowledge: &Knowledge, target: &Target) -> AccessPath {
    let boxes = spans_of_boxes(
        &[TermBox::everything()],
        target.search_slots(),
        SpanOptions::usual(),
    );
    let nothing = vec![false; query.conjuncts.len()];
    let constraint = Constraint {
        boxes,
        proven: nothing,
    };
    assemble(query, knowledge, target, constraint)
}

/// Whether the FULL_SCAN hint names this source.
fn is_full_scan(query: &Query<'_>, target: &Target) -> bool {
    target.source == Source::Table && query.hints.contains(&Hint::FullScan)
}

fn assemble(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    mut constraint: Constraint,
) -> AccessPath {
    let placed = place_spans(&mut constraint.boxes, target);
    let kind = scan_kind(&placed, target);
    // The few rows of a point lookup are checked once decoded; there is no scan to spare.
    let is_lookup = matches!(kind, ScanKind::PointLookup | ScanKind::Empty);
    let masks = match is_lookup || is_full_scan(query, target) {
        true => Masks::none(std::mem::take(&mut constraint.proven)),
        false => masks(query, knowledge, target, &mut constraint),
    };
    let open: Vec<usize> = (0..query.conjuncts.len())
        .filter(|at| !masks.proven[*at])
        .collect();
    let checks = Checks::split(query, target.index(query), open);
    let buckets = placed.buckets.as_ref().map_or(1, Vec::len);
    let single = kind == ScanKind::PointLookup && placed.ranges.len() <= 1;
    let known = known_for_key(query, knowledge.known.as_ref(), target);
    let order = path_order(
        query,
        target,
        &known,
        buckets <= 1,
        single || kind == ScanKind::Empty,
    );
    let shape = PathShape {
        target,
        constraint: &constraint,
        placed: &placed,
        masks: &masks,
        residual_index: &checks.residual_index,
        covering: checks.covering,
        ordered: order.satisfied,
    };
    let estimate = estimate(query, knowledge, &shape);
    AccessPath {
        masked: masks.compare,
        masked_tests: masks.tests,
        residual_index: checks.residual_index,
        residual: checks.residual,
        covering: checks.covering,
        lookup_columns: checks.lookup_columns,
        reverse: order.reverse,
        order: order.delivered,
        ordered: order.satisfied,
        ..AccessPath::new(target, kind, placed, estimate)
    }
}

/// Plans a columnar table: row by row, or by columns if that is cheaper.
fn columnar_table_path(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    constraint: Constraint,
) -> AccessPath {
    let mut rows = assemble(query, knowledge, target, constraint.clone());
    if matches!(rows.kind, ScanKind::Empty) {
        return rows;
    }
    rows.estimate.cost += cost_of_unpacking(query, rows.ranges.len(), rows.estimate.keys);
    if rows.kind == ScanKind::PointLookup {
        return rows;
    }
    match assemble_columnar(query, knowledge, target, None, constraint) {
        // When a row was written is read with the row.
        Some(columns) if columns.estimate.cost < rows.estimate.cost && !reads_times(&columns) => columns,
        _ => rows,
    }
}

fn reads_times(path: &AccessPath) -> bool {
    let read = path.columnar.iter().flat_map(|read| &read.columns);
    read.into_iter().any(|column| *column == ColumnId::WRITTEN)
}

/// Plans a columnar index, or without one a columnar table; `None` if the index lacks a column that the query
/// reads.
fn assemble_columnar(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    index: Option<&Index>,
    mut constraint: Constraint,
) -> Option<AccessPath> {
    let placed = place_spans(&mut constraint.boxes, target);
    let kind = match scan_kind(&placed, target) {
        ScanKind::Empty => ScanKind::Empty,
        _ => ScanKind::Columnar,
    };
    let mut proven = std::mem::take(&mut constraint.proven);
    let tests = match kind {
        ScanKind::Empty => Vec::new(),
        _ => column_tests(query, knowledge, &constraint, &mut proven),
    };
    let residual: Vec<usize> = (0..query.conjuncts.len()).filter(|at| !proven[*at]).collect();
    let mut columns: Vec<ColumnId> = tests.iter().map(|test| test.column).collect();
    let mut given = query.needed.to_vec();
    for at in &residual {
        given.extend(query.columns_of(&query.conjuncts[*at])?);
    }
    for column in given {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let covers = |column: &ColumnId| index.is_none_or(|index| index.covers(query.table, *column));
    if !columns.iter().all(covers) {
        return None;
    }
    let known = known_for_key(query, knowledge.known.as_ref(), target);
    let one_bucket = placed.buckets.as_ref().map_or(1, Vec::len) <= 1;
    let order = path_order(query, target, &known, one_bucket, kind == ScanKind::Empty);
    let read = ColumnarRead { tests, columns };
    let masks = Masks::none(proven);
    let shape = PathShape {
        target,
        constraint: &constraint,
        placed: &placed,
        masks: &masks,
        residual_index: &[],
        covering: true,
        ordered: order.satisfied,
    };
    let mut estimate = estimate_columnar(query, knowledge, &shape, &read, !residual.is_empty());
    if index.is_none() {
        estimate.cost += BATCHES;
    }
    Some(AccessPath {
        residual,
        reverse: order.reverse,
        order: order.delivered,
        ordered: order.satisfied,
        columnar: Some(read),
        ..AccessPath::new(target, kind, placed, estimate)
    })
}

fn scan_kind(placed: &Placed, target: &Target) -> ScanKind {
    match placed.spans.as_slice() {
        [] => ScanKind::Empty,
        spans if spans.iter().all(|span| is_whole_key(span, target)) => ScanKind::PointLookup,
        [span] if *span == Span::all() => ScanKind::FullScan,
        [_] => ScanKind::RangeScan,
        _ => ScanKind::SkipScan,
    }
}

/// Where conjuncts are checked, and what has to be looked up.
struct Checks {
    residual_index: Vec<usize>,
    residual: Vec<usize>,
    covering: bool,
    lookup_columns: Vec<ColumnId>,
}

impl Checks {
    fn split(query: &Query<'_>, index: Option<&Index>, open: Vec<usize>) -> Checks {
        let Some(index) = index else {
            return Checks {
                residual_index: Vec::new(),
                residual: open,
                covering: true,
                lookup_columns: Vec::new(),
            };
        };
        let is_covered = |column: &ColumnId| index.covers(query.table, *column);
        let columns_of = |at: &usize| query.columns_of(&query.conjuncts[*at]);
        let (on_entry, after): (Vec<usize>, Vec<usize>) = open
            .into_iter()
            .partition(|at| columns_of(at).is_some_and(|columns| columns.iter().all(is_covered)));
        let missing = query.needed.iter().copied().filter(|column| !is_covered(column));
        let mut lookup_columns: Vec<ColumnId> = missing.collect();
        for at in &after {
            let columns = columns_of(at).unwrap_or_default();
            lookup_columns.extend(columns.into_iter().filter(|column| !is_covered(column)));
        }
        lookup_columns.sort();
        lookup_columns.dedup();
        let covering = after.is_empty() && lookup_columns.is_empty();
        match covering {
            true => Checks {
                residual_index: Vec::new(),
                residual: on_entry,
                covering,
                lookup_columns,
            },
            false => Checks {
                residual_index: on_entry,
                residual: after,
                covering,
                lookup_columns,
            },
        }
    }
}
