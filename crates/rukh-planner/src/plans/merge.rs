//! Runs of keys that each are in the wanted order, to be merged instead of sorted.
//!
//! Where the order is that of the elements behind some leading ones, and these have few values, each of
//! their values has a run of keys in order; buckets of a salted key are such runs, too:
//!
//! | key              | condition                | order    | runs                             |
//! |------------------|--------------------------|----------|----------------------------------|
//! | (a, b), salted   |                          | a, b     | one per bucket                   |
//! | (a, b)           | a IN (1, 5)              | b DESC   | `/1`, `/5`, read backwards       |
//! | (a, b)           | a BETWEEN 1 AND 3, b > 7 | b        | `/1`, `/2`, `/3`, each from `/7` |
//! | (a, b)           | a IN (1, 5)              | b, a     | none: a sort is needed           |
//!
//! A run costs a seek, and a row a few comparisons; what a LIMIT leaves is not read. That is weighed
//! against a sort of all rows.

use rukh_keys::{Datum, KeyRange, Span};

use crate::conditions::boxes::TermBox;
use crate::conditions::domain::few_values;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::Query;
use crate::inputs::target::Target;
use crate::plans::access::{AccessPath, Merge, Run};
use crate::plans::cost::{Estimate, KEY, LOOKUP, ROW, SEEK, known_for_key};
use crate::plans::order::{Direction, delivered, is_fixed, is_past_unique, next_open, slot_direction};

/// Most runs that are merged: each keeps an iterator.
const RUNS_MAX: usize = 64;

/// Cost of taking one row from the runs, and of one comparison for it.
const TAKE: f64 = 0.06;
const COMPARE: f64 = 0.02;

/// Returns a path that is not in the wanted order with its runs merged, if it has some and that
/// costs less than the sort; `all` is the path's estimate without a limit.
pub(crate) fn merged_path(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    path: &AccessPath,
    all: impl FnOnce() -> Option<Estimate>,
) -> Option<AccessPath> {
    if path.ordered || query.order.is_empty() || path.ranges.is_empty() {
        return None;
    }
    let known = known_for_key(query, knowledge.known.as_ref(), target);
    let buckets = path.buckets.as_ref().map_or(1, Vec::len);
    let (columns, direction) = ordered_behind(query, target, &known, buckets > 1)?;
    let runs = runs(target, &known, path, columns)?;
    let estimate = cost(query, path, &all()?, runs.len());
    if runs.len() < 2 || estimate.cost >= path.estimate.cost {
        return None;
    }
    let reverse = direction == Direction::Backward;
    Some(AccessPath {
        merge: Some(Merge { columns, runs }),
        reverse,
        order: delivered(query, target, &known, columns, reverse),
        ordered: true,
        estimate,
        ..path.clone()
    })
}

/// The fewest leading elements behind which a key is in the wanted order, and the direction.
fn ordered_behind(
    query: &Query<'_>,
    target: &Target,
    known: &TermBox,
    salted: bool,
) -> Option<(usize, Direction)> {
    let first = if salted { 0 } else { 1 };
    let most = target.search_slots().len();
    for columns in first..most {
        let is_few = |at: usize| {
            let slot = &target.slots[at];
            let set = slot.term.and_then(|term| known.get(term));
            set.is_some_and(|set| few_values(slot.ty, set, RUNS_MAX).is_some())
        };
        if columns > 0 && !is_few(columns - 1) {
            return None;
        }
        let starts_byte = target
            .layout
            .field(columns)
            .is_none_or(|field| field.bit.unwrap_or(0) == 0);
        if starts_byte && let Some(direction) = direction_behind(query, target, known, columns) {
            return Some((columns, direction));
        }
    }
    None
}

/// The direction in which the elements behind some are in the wanted order.
fn direction_behind(
    query: &Query<'_>,
    target: &Target,
    known: &TermBox,
    columns: usize,
) -> Option<Direction> {
    let mut at = columns;
    let mut direction = None;
    for key in query.order.iter().filter(|key| !is_fixed(query, known, key.term)) {
        at = next_open(query, target, known, at);
        let Some(slot) = target
            .slots
            .get(at)
            .filter(|_| !is_past_unique(target, known, at))
        else {
            // Whole keys are in order; behind leading elements there may be equal ones.
            match columns {
                0 => break,
                _ => return None,
            }
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

/// The runs of a path by the values of its leading elements.
fn runs(target: &Target, known: &TermBox, path: &AccessPath, columns: usize) -> Option<Vec<Run>> {
    let mut prefixes: Vec<Vec<Datum>> = vec![Vec::new()];
    for slot in &target.slots[..columns] {
        let values = few_values(slot.ty, known.get(slot.term?)?, RUNS_MAX / prefixes.len())?;
        let with = |prefix: &Vec<Datum>| {
            let one = |value: &Datum| prefix.iter().cloned().chain([value.clone()]).collect();
            values.iter().map(one).collect::<Vec<Vec<Datum>>>()
        };
        prefixes = prefixes.iter().flat_map(with).collect();
    }
    let buckets: Vec<Option<u8>> = match &path.buckets {
        Some(buckets) => buckets.iter().copied().map(Some).collect(),
        None => vec![None],
    };
    if prefixes.len() * buckets.len() > RUNS_MAX {
        return None;
    }
    let mut runs = Vec::new();
    for bucket in buckets {
        for prefix in &prefixes {
            let whole = target.layout.range(&Span::prefix(prefix.clone()), bucket);
            // A value that the key cannot hold would give a run that overlaps with others.
            if target.layout.decode_prefix(&whole.start, columns).ok()? != *prefix {
                return None;
            }
            let inside = path.ranges.iter().map(|range| range.intersect(&whole));
            let ranges: Vec<KeyRange> = inside.filter(|range| !range.is_empty()).collect();
            if !ranges.is_empty() {
                let prefix = whole.start.len();
                runs.push(Run { ranges, prefix });
            }
        }
    }
    Some(runs)
}

/// Estimates the path as its runs are merged and a limit stops it, by its estimate to the end.
fn cost(query: &Query<'_>, path: &AccessPath, all: &Estimate, runs: usize) -> Estimate {
    let read = match query.limit {
        Some(limit) if all.rows > 0.0 => (limit as f64 / all.rows).min(1.0),
        _ => 1.0,
    };
    let runs = runs as f64;
    let keys = (all.keys * read + runs).min(all.keys.max(runs));
    let lookups = all.lookups * read;
    let seeks = path.ranges.len().max(1) as f64;
    let seeks = seeks.max(runs);
    let each = KEY + ROW + TAKE + runs.log2() * COMPARE;
    Estimate {
        keys,
        seeks,
        lookups,
        rows: query.limit.map_or(all.rows, |limit| all.rows.min(limit as f64)),
        cost: seeks * SEEK + keys * each + lookups * LOOKUP,
    }
}
