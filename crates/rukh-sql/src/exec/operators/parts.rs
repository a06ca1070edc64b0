//! How a scan is cut into partitions: by the real distribution of keys, and by the end it starts from.

use std::sync::Arc;

use rukh_catalog::{FamilyId, Index, Table};
use rukh_keys::KeyRange;
use rukh_planner::AccessPath;

use crate::exec::context::StatementContext;
use rukh_error::SqlError;

/// Estimated keys from which a scan is split over the cores.
const PARALLEL_KEYS_MIN: f64 = 50_000.0;

/// What one partition reads.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) ranges: Vec<KeyRange>,
    pub(super) reverse: bool,
}

/// Splits a scan over so many partitions at most: a loose scan from both ends has one for each.
pub(super) fn parts(
    context: &StatementContext,
    table: &Arc<Table>,
    path: &AccessPath,
    limit: Option<usize>,
    most: usize,
) -> Result<Vec<Part>, SqlError> {
    let ranges = partitions(context, table, path, limit, most)?;
    let part = |reverse: bool| move |ranges: Vec<KeyRange>| Part { ranges, reverse };
    let there = ranges.iter().cloned().map(part(path.reverse));
    let both_ends = path.loose.as_ref().is_some_and(|loose| loose.both_ends);
    let back = ranges
        .iter()
        .filter(|_| both_ends)
        .cloned()
        .map(part(!path.reverse));
    Ok(there.chain(back).collect())
}

/// Splits the ranges of a large scan over the cores, by the real distribution of keys.
fn partitions(
    context: &StatementContext,
    table: &Arc<Table>,
    path: &AccessPath,
    limit: Option<usize>,
    most: usize,
) -> Result<Vec<Vec<KeyRange>>, SqlError> {
    let whole = limit.is_none() && !path.reverse && path.merge.is_none();
    let large = path.estimate.keys >= PARALLEL_KEYS_MIN && whole;
    let source = crate::exec::access::engine_source(path.source);
    let is_small = || match path.columnar {
        // Its blocks say themselves how many there are.
        Some(_) => Ok(false),
        None => Ok::<_, SqlError>(stored_keys(context, table, path)? < PARALLEL_KEYS_MIN),
    };
    if !large || most < 2 || is_small()? {
        return Ok(vec![path.ranges.clone()]);
    }
    let split = context.snapshot.split(table, source, path.ranges.clone(), most)?;
    Ok(if split.is_empty() { vec![Vec::new()] } else { split })
}

/// Returns about how many keys the table or index of a path has: estimates without statistics are large.
fn stored_keys(context: &StatementContext, table: &Table, path: &AccessPath) -> Result<f64, SqlError> {
    let storage = match path.source {
        rukh_planner::Source::Table => table.storage_name(FamilyId(0)),
        rukh_planner::Source::Index(id) => Index::storage_name_of(id),
    };
    // Where storage lacks it, the scan says so.
    match context.engine.store().table_exists(&storage) {
        true => Ok(context.engine.store().approximate_keys(&storage)? as f64),
        false => Ok(0.0),
    }
}
