//! Two indexes for two conditions: the rows of one, of which the other holds few.
//!
//! ```text
//! WHERE a = 1 AND b = 2         with indexes on a and on b
//!
//! reads    b = 2                                   by the index on b, primary keys only
//! and      a = 1, of these primary keys            by the index on a, before rows are looked up
//! ```
//!
//! Each index alone would look up all rows of its condition. Read first is *the one within*: its entries
//! hold the primary key, and what it proves of its rows need not be checked again. The other is then read
//! as usual, order and all, and passes over entries whose primary key is not among those.
//!
//! Deliberately not here: more than two indexes, and keys that do not fit into memory; then the executor
//! reads without the second index, and finds the same rows.

use std::sync::Arc;

use rukh_catalog::{ColumnId, KeyExpr, Table};

use crate::conditions::predicate::Predicate;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Query, Source};
use crate::inputs::target::Target;
use crate::plans::access::{AccessPath, ScanKind, Within};
use crate::plans::cost::{Estimate, KEY, LOOKUP, ROW, SEEK, share_of_conjuncts, sort_cost, stop_share};
use crate::plans::paths::{given_path_on, path_on};

/// Cost below which nothing is worth a second index, microseconds.
const COST_MIN: f64 = 200.0;

/// Two indexes have to cost less than this share of the cheapest single path.
const COST_SHARE: f64 = 0.7;

/// Most primary keys that are kept, by estimate.
const KEYS_MAX: f64 = 100_000.0;

/// Most indexes that are tried with each other.
const INDEXES_MAX: usize = 4;

/// Cost of keeping one primary key, and of looking for one among them.
const KEEP: f64 = 0.25;
const FIND: f64 = 0.15;

/// Returns the columns that name a row, if every index has them.
pub(crate) fn naming_columns(table: &Table) -> Option<Vec<ColumnId>> {
    let mut columns = Vec::new();
    for element in &table.primary_key {
        if let KeyExpr::Column(id) = element.expr {
            columns.push(id);
        }
    }
    let is_named = |expr: &KeyExpr| match expr {
        KeyExpr::Column(_) => true,
        KeyExpr::Hash { column, .. } => columns.contains(column),
        KeyExpr::Expression { .. } => false,
    };
    let all = table.primary_key.iter().all(|element| is_named(&element.expr));
    all.then_some(columns)
}

/// Plans two indexes for a query for which `best` is the cheapest single path; `None` if that would cost
/// more than the share `most` of it.
pub(crate) fn intersected(
    query: &Query<'_>,
    knowledge: &Knowledge,
    targets: &[Target],
    best: &AccessPath,
    most: f64,
) -> Option<AccessPath> {
    if !is_worth_it(query, best) {
        return None;
    }
    let naming = naming_columns(query.table)?;
    let candidates: Vec<(&Target, Within)> = targets
        .iter()
        .filter_map(|target| Some((target, within(query, knowledge, target, &naming)?)))
        .take(INDEXES_MAX)
        .collect();
    let mut found: Option<AccessPath> = None;
    let mut most = best.estimate.cost * most;
    for (inner, within) in &candidates {
        let others = candidates.iter().map(|(outer, _)| *outer);
        for outer in others.filter(|outer| outer.source() != inner.source()) {
            if within.path.estimate.cost >= most {
                break;
            }
            let path = both(query, knowledge, outer, within).filter(|path| path.estimate.cost < most);
            if let Some(path) = path {
                most = path.estimate.cost;
                found = Some(path);
            }
        }
    }
    found
}

/// The same, if it costs clearly less than the single path.
pub(crate) fn better_intersected(
    query: &Query<'_>,
    knowledge: &Knowledge,
    targets: &[Target],
    best: &AccessPath,
) -> Option<AccessPath> {
    match best.estimate.cost < COST_MIN {
        true => None,
        false => intersected(query, knowledge, targets, best, COST_SHARE),
    }
}

/// Whether a query may be served by two indexes at all.
fn is_worth_it(query: &Query<'_>, best: &AccessPath) -> bool {
    let is_scan = !matches!(best.kind, ScanKind::Empty | ScanKind::PointLookup);
    query.intersect
        && query.hints.is_empty()
        && query.groups.is_none()
        && query.conjuncts.len() > 1
        && !query.table.is_columnar()
        && is_scan
}

/// The primary keys that one index gives, by the conditions that its entries can decide.
fn within(query: &Query<'_>, knowledge: &Knowledge, target: &Target, naming: &[ColumnId]) -> Option<Within> {
    if target.source() == Source::Table || target.columnar {
        return None;
    }
    let bare = Query {
        needed: naming,
        order: &[],
        limit: None,
        ..*query
    };
    let whole = path_on(&bare, knowledge, target)?;
    if !matches!(whole.kind, ScanKind::RangeScan | ScanKind::SkipScan) {
        return None;
    }
    let is_decided = |at: &usize| !whole.residual.contains(at) && query.conjuncts[*at].is_decidable(query);
    let conjuncts: Vec<usize> = (0..query.conjuncts.len()).filter(is_decided).collect();
    if conjuncts.is_empty() || conjuncts.len() == query.conjuncts.len() {
        return None;
    }
    // What it decides must hold by these conditions alone.
    let alone: Vec<Predicate> = conjuncts.iter().map(|at| query.conjuncts[*at].clone()).collect();
    let query = Query {
        conjuncts: &alone,
        ..bare
    };
    let mut path = path_on(&query, &Knowledge::of(&query), target)?;
    if !path.covering || path.estimate.keys > KEYS_MAX || path.kind == ScanKind::FullScan {
        return None;
    }
    path.residual = path.residual.iter().map(|at| conjuncts[*at]).collect();
    Some(Within {
        path,
        conjuncts,
        columns: naming.to_vec(),
    })
}

/// The path by an index whose rows have to be among those of another.
fn both(query: &Query<'_>, knowledge: &Knowledge, outer: &Target, within: &Within) -> Option<AccessPath> {
    let mut given = vec![false; query.conjuncts.len()];
    within.conjuncts.iter().for_each(|at| given[*at] = true);
    let path = given_path_on(query, knowledge, outer, &given)?;
    if !matches!(path.kind, ScanKind::RangeScan | ScanKind::SkipScan) || path.columnar.is_some() {
        return None;
    }
    // Both would decide the same.
    let is_left = |at: usize| !given[at] && !path.residual.contains(&at);
    (0..query.conjuncts.len()).find(|at| is_left(*at))?;
    let known = within.conjuncts.iter().map(|at| &knowledge.conjuncts[*at]);
    let among = share_of_conjuncts(query, known);
    let all = to_the_end(query, knowledge, outer, &given)?;
    let estimate = estimate(query, &path, &all, &within.path.estimate, among);
    Some(AccessPath {
        estimate,
        within: Some(Arc::new(within.clone())),
        ..path
    })
}

/// What a path reads without a limit.
fn to_the_end(query: &Query<'_>, knowledge: &Knowledge, outer: &Target, given: &[bool]) -> Option<Estimate> {
    let unlimited = Query {
        order: &[],
        limit: None,
        ..*query
    };
    given_path_on(&unlimited, knowledge, outer, given).map(|path| path.estimate)
}

fn estimate(query: &Query<'_>, path: &AccessPath, all: &Estimate, first: &Estimate, among: f64) -> Estimate {
    let sorts = !query.order.is_empty() && !path.ordered;
    let read = stop_share(query.limit, all.rows, sorts);
    let seeks = all.seeks * read;
    let keys = all.keys * read;
    let fetched = (all.keys * among).max(all.rows).min(all.keys) * read;
    let lookups = if path.covering { 0.0 } else { fetched };
    let sorted = if sorts {
        sort_cost(all.rows, query.limit)
    } else {
        0.0
    };
    let outer = SEEK * seeks.max(1.0) + keys * (KEY + ROW + FIND) + lookups * LOOKUP + sorted;
    Estimate {
        keys: first.keys + keys,
        seeks: first.seeks + seeks.max(1.0),
        lookups,
        rows: query.limit.map_or(all.rows, |limit| all.rows.min(limit as f64)),
        cost: first.cost + first.rows * KEEP + outer,
    }
}
