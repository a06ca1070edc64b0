//! Loose scans: where one row of each group is enough, a seek from group to group.
//!
//! A group has the same values in the leading elements of a key. The row wanted of it comes first as
//! the key is read forward or backward, so one seek per group finds it, however many rows there are:
//!
//! | key               | query                               | groups    | reads                     |
//! |-------------------|-------------------------------------|-----------|---------------------------|
//! | (sensor, ts)      | DISTINCT sensor                     | sensor    | forward                   |
//! | (sensor, ts)      | max(ts) GROUP BY sensor             | sensor    | backward                  |
//! | (sensor, ts DESC) | DISTINCT ON (sensor) … ts DESC      | sensor    | forward                   |
//! | (sensor, ts)      | min(ts), max(ts) GROUP BY sensor    | sensor    | both ways                 |
//! | (sensor, ts)      | max(ts) WHERE sensor = 5            | none      | backward: one row         |
//! | (a, sensor, ts)   | max(ts) GROUP BY sensor             | a, sensor | backward: finer groups    |
//! | (sensor, v NULL)  | max(v) GROUP BY sensor              | sensor, v IS NULL | backward          |
//! | (sensor, ts)      | max(ts) GROUP BY sensor, ts <= 9    | sensor    | backward, masked          |
//! | (sensor), salted  | DISTINCT sensor                     | sensor    | forward, in each bucket   |
//!
//! Groups may be finer than the wanted ones: the scan then reads the row wanted, and others. NULLs
//! that come first are a group of their own where a value is wanted instead.
//!
//! Invariant: of each wanted group, the row wanted is among those read, unless no row passes the
//! conditions; all conditions are decided before the scan leaves a group.

use rukh_catalog::{ColumnId, FamilyId};

use crate::conditions::boxes::TermBox;
use crate::conditions::domain::few_values;
use crate::conditions::term::{TermId, TermKind};
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{GroupRow, Grouped, Hint, OrderKey, Query};
use crate::inputs::statistics::Statistics;
use crate::inputs::target::{Slot, Target};
use crate::plans::access::{AccessPath, LooseScan, ScanKind};
use crate::plans::cost::{Estimate, KEY, LOOKUP, ROW, SEEK, known_for_key, sort_cost};
use crate::plans::order::{
    Direction, delivered, is_fixed, is_past_unique, may_be_null, next_open, required_direction,
    slot_direction,
};

/// Most values of an element that are counted one by one.
const COUNTED_MAX: usize = 1_024;

/// Masked misses per group that are passed before a seek, and the group's own row.
const MASKED_TRIES: f64 = 5.0;

/// Returns the loose form of a path that was planned without a limit, if it has one that costs less,
/// or that the SKIP_SCAN hint asks for.
pub(crate) fn loose_path(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    path: &AccessPath,
) -> Option<AccessPath> {
    let groups = query.groups?;
    let scans = !matches!(
        path.kind,
        ScanKind::Empty | ScanKind::PointLookup | ScanKind::Columnar
    );
    let refused = [Hint::FullScan, Hint::RangeScan];
    let is_refused = refused.iter().any(|hint| query.hints.contains(hint));
    if !scans || is_refused || !is_checked_in_time(query, target, path) {
        return None;
    }
    let known = known_for_key(query, knowledge.known.as_ref(), target);
    let shape = Shape::of(query, target, &known, groups)?;
    let buckets = path.buckets.as_ref().map_or(1, Vec::len);
    let sorted = buckets <= 1 && !shape.both_ends;
    let by_order = required_direction(query, target, &known);
    let direction = shape.direction.or(by_order).unwrap_or(Direction::Forward);
    let reverse = direction == Direction::Backward;
    let ordered = query.order.is_empty() || (sorted && by_order == Some(direction));
    let in_one_bucket = target
        .layout
        .salt()
        .is_none_or(|salt| buckets <= 1 || salt.columns.iter().all(|column| *column < shape.columns));
    let mut loose = path.clone();
    loose.merge = None;
    loose.reverse = reverse;
    loose.ordered = ordered;
    loose.order = match sorted {
        true => delivered(query, target, &known, 0, reverse),
        false => Vec::new(),
    };
    let each_bucket = if in_one_bucket { 1.0 } else { buckets as f64 };
    let exact = in_one_bucket
        && !shape.null_tag
        && !shape.both_ends
        && is_exact(query, target, &known, groups, &shape);
    let limit = query.limit.filter(|_| exact && ordered);
    loose.estimate = cost(query, target, &known, &shape, each_bucket, limit, &loose);
    if loose.estimate.cost >= path.estimate.cost && !query.hints.contains(&Hint::SkipScan) {
        return None;
    }
    loose.loose = Some(LooseScan {
        exact,
        open: shape.open(query, target, &known),
        columns: shape.columns,
        null_tag: shape.null_tag,
        both_ends: shape.both_ends,
    });
    Some(loose)
}

/// Whether all conditions left to check are decided on what the scan walks over.
fn is_checked_in_time(query: &Query<'_>, target: &Target, path: &AccessPath) -> bool {
    let in_entry = |column: &ColumnId| match target.index(query) {
        Some(index) => index.covers(query.table, *column),
        None => {
            let column = query.table.column(*column);
            column.is_some_and(|column| query.table.in_primary_key(column.id) || column.family == FamilyId(0))
        }
    };
    let mut left = path.residual_index.iter();
    let mut late = path.residual.iter();
    let decided = |at: &usize| {
        let conjunct = &query.conjuncts[*at];
        let columns = query.columns_of(conjunct);
        conjunct.is_decidable(query) && columns.is_some_and(|columns| columns.iter().all(in_entry))
    };
    left.all(decided)
        && if path.covering {
            late.all(decided)
        } else {
            late.next().is_none()
        }
}

/// Which groups of a key serve, and the end at which the row wanted is.
struct Shape {
    columns: usize,
    null_tag: bool,
    both_ends: bool,
    /// `None` if any row of a group will do.
    direction: Option<Direction>,
}

impl Shape {
    fn of(query: &Query<'_>, target: &Target, known: &TermBox, groups: &Grouped) -> Option<Shape> {
        let place = |term: TermId| {
            let slots = target.search_slots();
            slots
                .iter()
                .position(|slot| slot.term == Some(term) && slot.hash_of.is_none())
        };
        let mut least = 0;
        for term in &groups.by {
            if !is_fixed(query, known, *term) {
                least = least.max(place(*term)? + 1);
            }
        }
        let is_open = |term: TermId| !is_fixed(query, known, term) && !groups.by.contains(&term);
        let any = Shape {
            columns: least,
            null_tag: false,
            both_ends: false,
            direction: None,
        };
        let shape = match &groups.row {
            GroupRow::Least(term) | GroupRow::Greatest(term) | GroupRow::LeastAndGreatest(term)
                if is_open(*term) =>
            {
                let at = place(*term)?;
                match at < least {
                    true => any,
                    false => Shape::extreme(&target.slots[at], known, &groups.row, at),
                }
            }
            GroupRow::First(order) => {
                let open: Vec<&OrderKey> = order.iter().filter(|key| is_open(key.term)).collect();
                match open.first() {
                    None => any,
                    Some(first) => {
                        let columns = place(first.term).filter(|at| *at >= least)?;
                        Shape {
                            columns,
                            direction: Some(order_direction(query, target, known, &open, columns)?),
                            ..any
                        }
                    }
                }
            }
            _ => any,
        };
        // Whole keys are groups of one row.
        let most = target.slots.len().min(target.searchable);
        (shape.columns < most).then_some(shape)
    }

    /// Groups in which an element is least or greatest at one end.
    fn extreme(slot: &Slot, known: &TermBox, row: &GroupRow, columns: usize) -> Shape {
        let at_start = |greatest: bool| slot.descending == greatest;
        let (reads_start, reads_end) = match row {
            GroupRow::Greatest(_) => (at_start(true), !at_start(true)),
            GroupRow::LeastAndGreatest(_) => (true, true),
            _ => (at_start(false), !at_start(false)),
        };
        // Ascending keys have NULLs last, descending ones first.
        let nulls_met = if slot.descending { reads_start } else { reads_end };
        Shape {
            columns,
            null_tag: nulls_met && may_be_null(slot, known),
            both_ends: reads_start && reads_end,
            direction: Some(match reads_start {
                true => Direction::Forward,
                false => Direction::Backward,
            }),
        }
    }

    fn open(&self, query: &Query<'_>, target: &Target, known: &TermBox) -> Vec<usize> {
        let is_open = |at: &usize| {
            let term = target.slots[*at].term;
            !term.is_some_and(|term| is_fixed(query, known, term))
        };
        (0..self.columns).filter(is_open).collect()
    }
}

/// The direction in which the elements from `at` on come in this order, if there is one.
fn order_direction(
    query: &Query<'_>,
    target: &Target,
    known: &TermBox,
    order: &[&OrderKey],
    mut at: usize,
) -> Option<Direction> {
    let mut direction = None;
    for key in order {
        at = next_open(query, target, known, at);
        let Some(slot) = target
            .slots
            .get(at)
            .filter(|_| !is_past_unique(target, known, at))
        else {
            // No two rows of a group are equal so far.
            break;
        };
        let here = slot_direction(slot, key, known)?;
        if direction.is_some_and(|before| before != here) {
            return None;
        }
        direction = Some(here);
        at += 1;
    }
    direction
}

/// Whether the groups of a key are the wanted ones and no finer.
fn is_exact(query: &Query<'_>, target: &Target, known: &TermBox, groups: &Grouped, shape: &Shape) -> bool {
    let is_given = |term: TermId| groups.by.contains(&term) || is_fixed(query, known, term);
    let is_grouped = |slot: &Slot| match (slot.hash_of, slot.term) {
        (Some((column, _)), term) => is_given(TermId::column(column)) || term.is_some_and(is_given),
        (None, term) => term.is_some_and(is_given),
    };
    target.slots[..shape.columns].iter().all(is_grouped)
}

/// Estimates the loose form of a path, stopped after `limit` groups, by its estimate for all rows.
fn cost(
    query: &Query<'_>,
    target: &Target,
    known: &TermBox,
    shape: &Shape,
    buckets: f64,
    limit: Option<u64>,
    path: &AccessPath,
) -> Estimate {
    let all = path.estimate;
    let keys = all.keys.max(1.0);
    let groups = group_count(query, target, known, shape.columns).min(keys);
    let ends = if shape.both_ends { 2.0 } else { 1.0 };
    let halves = if shape.null_tag { 2.0 } else { 1.0 };
    let visits = (groups * buckets * ends * halves).max(path.ranges.len() as f64);
    let passing = (all.rows / keys).clamp(1.0 / keys, 1.0);
    let tries = (1.0 / passing).min(keys / groups).max(1.0);
    let is_masked = !path.masked.is_empty() && path.residual.is_empty() && path.residual_index.is_empty();
    let (tries, seeks_each) = match is_masked && tries > MASKED_TRIES {
        true => (MASKED_TRIES, 2.0),
        false => (tries, 1.0),
    };
    let read = limit.map_or(1.0, |limit| (limit as f64 / groups).min(1.0));
    let (seeks, keys) = (
        (visits * seeks_each * read).max(1.0),
        (visits * tries * read).max(1.0),
    );
    let rows = (visits * read).max(1.0).min(keys);
    let lookups = if path.covering { 0.0 } else { rows };
    let sorted = match path.ordered {
        true => 0.0,
        false => sort_cost(rows, query.limit),
    };
    Estimate {
        keys,
        seeks,
        lookups,
        rows,
        cost: seeks * SEEK + keys * (KEY + ROW) + lookups * LOOKUP + sorted,
    }
}

/// How many groups of leading elements there are likely to be.
fn group_count(query: &Query<'_>, target: &Target, known: &TermBox, columns: usize) -> f64 {
    let slots = &target.slots[..columns];
    let is_grouped = |column: ColumnId| slots.iter().any(|slot| slot.term == Some(TermId::column(column)));
    let values = |slot: &Slot| match (slot.hash_of, slot.term) {
        (Some((column, _)), _) if is_grouped(column) => 1.0,
        (Some((column, _)), _) => distinct(query.statistics, known, TermId::column(column), slot),
        (None, Some(term)) => distinct(query.statistics, known, term, slot),
        (None, None) => query.statistics.row_count(),
    };
    slots.iter().map(values).product::<f64>().max(1.0)
}

/// How many values an element is likely to have.
fn distinct(statistics: &Statistics, known: &TermBox, term: TermId, slot: &Slot) -> f64 {
    let all = statistics.distinct(term, slot.ty);
    let Some(set) = known.get(term) else {
        return all + if slot.nullable { 1.0 } else { 0.0 };
    };
    if matches!(term.kind(), TermKind::Column(_))
        && let Some(values) = few_values(slot.ty, set, COUNTED_MAX)
    {
        return (values.len() as f64).min(all + 1.0);
    }
    let share = statistics.share(term, slot.ty, set);
    (all * share).max(1.0) + if set.null { 1.0 } else { 0.0 }
}
