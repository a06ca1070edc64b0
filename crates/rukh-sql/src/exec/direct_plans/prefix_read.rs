//! SELECT of the rows of a short key prefix, from a plan that is nothing else.
//!
//! | query                                              | reads                     |
//! |----------------------------------------------------|---------------------------|
//! | `SELECT c FROM t WHERE a = $1` on key (a, b)        | one range                 |
//! | `… WHERE a = $1 ORDER BY b DESC LIMIT 10`           | the last ten keys of one  |
//!
//! As for [`crate::exec::direct_plans::point_read`], what a planner would say of such a query is known beforehand where no index
//! begins with a column that it names: there is one range to read, and nothing to check. The first run asks the
//! planner all the same. A prefix of many rows goes the way of all direct plans, which choose a path for each execution.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use rukh_catalog::{ColumnId, Index, KeyExpr, TableId};
use rukh_engine::PointReader;
use rukh_planner::{Constant, Source};

use crate::exec::access::Conditions;
use crate::exec::columns::Columns;
use crate::exec::context::StatementContext;
use crate::exec::direct_plans::direct::DirectPlan;
use crate::exec::direct_plans::point_read::SoughtKey;
use crate::exec::direct_plans::shape::Shape;
use rukh_error::SqlError;

/// Most rows that are read at once; more are worth choosing the path for each time.
pub(crate) const ROWS_MAX: usize = 1024;

/// The read of the rows of a key prefix.
#[derive(Debug)]
pub(crate) struct PrefixRead {
    pub(crate) table: TableId,
    pub(crate) key: SoughtKey,
    pub(crate) output: Vec<ColumnId>,
    pub(crate) shown: Columns,
    /// Rows passed over, and rows given after them.
    pub(crate) skip: u64,
    pub(crate) fetch: Option<u64>,
    /// Set when the plan first runs; `None` if the planner wants something else.
    pub(crate) reader: OnceLock<Option<PrefixReader>>,
    /// A prefix had more rows than are read at once.
    pub(crate) long: AtomicBool,
}

/// A read that the planner has agreed to.
#[derive(Debug)]
pub(crate) struct PrefixReader {
    pub(crate) reader: PointReader,
    pub(crate) reverse: bool,
}

impl PrefixRead {
    /// Returns the read that conditions and shape come to, if it may be one of a key prefix.
    pub(crate) fn of(conditions: &Conditions, shape: &Shape, shown: &Columns) -> Option<PrefixRead> {
        let table = &conditions.table;
        let count = conditions.predicates.len();
        let plain = shape.totals.is_empty() && shape.groups.is_none();
        if !plain || count == 0 || count >= table.primary_key.len() {
            return None;
        }
        let named = &table.primary_key[..count];
        let begins_alike = |index: &Index| match index.elements.first().map(|element| &element.expr) {
            Some(first @ KeyExpr::Column(_)) => named.iter().any(|one| one.expr == *first),
            _ => true,
        };
        if table.indexes.iter().any(begins_alike) {
            return None;
        }
        Some(PrefixRead {
            table: table.id,
            key: SoughtKey::of(conditions)?,
            output: shape.output.clone(),
            shown: shown.clone(),
            skip: shape.skip,
            fetch: shape.limit(),
            reader: OnceLock::new(),
            long: AtomicBool::new(false),
        })
    }

    /// Asks the planner whether the read is all that the plan comes to.
    pub(crate) fn reader(
        &self,
        plan: &DirectPlan,
        context: &StatementContext,
        params: &[Constant],
    ) -> Result<Option<PrefixReader>, SqlError> {
        let Some(chosen) = plan.paths(context, params).and_then(|mut paths| paths.pop()) else {
            return Ok(None);
        };
        let path = chosen.plan.path;
        let nothing_else = chosen.union.is_none()
            && path.source == Source::Table
            && path.spans.len() == 1
            && path.masked.is_empty()
            && path.residual.is_empty()
            && path.residual_index.is_empty()
            && path.within.is_none()
            && path.loose.is_none()
            && path.merge.is_none()
            && path.columnar.is_none();
        if !nothing_else {
            return Ok(None);
        }
        let reader = PointReader::new(&context.snapshot, self.table, self.output.clone())?;
        Ok(reader.is_single_scan().then_some(PrefixReader {
            reader,
            reverse: path.reverse,
        }))
    }
}
