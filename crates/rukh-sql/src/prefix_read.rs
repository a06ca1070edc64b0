//! SELECT of the rows of a short key prefix, from a plan that is nothing else.
//!
//! | query                                              | reads                     |
//! |----------------------------------------------------|---------------------------|
//! | `SELECT c FROM t WHERE a = $1` on key (a, b)        | one range                 |
//! | `… WHERE a = $1 ORDER BY b DESC LIMIT 10`           | the last ten keys of one  |
//!
//! As for [`crate::point_read`], what a planner would say of such a query is known beforehand where no index
//! begins with a column that it names: there is one range to read, and nothing to check. The first run asks the
//! planner all the same. A prefix of many rows goes the way of all direct plans, which choose anew each time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rukh_catalog::{ColumnId, Index, KeyExpr, TableId};
use rukh_engine::PointReader;
use rukh_keys::DatumRef;
use rukh_planner::{Constant, Source};
use smallvec::SmallVec;

use crate::access::Conditions;
use crate::context::{QueryStats, RunPath, StatementContext};
use crate::direct::DirectPlan;
use crate::point_read::SoughtKey;
use crate::rows::{Columns, Rows};
use crate::session::Session;
use crate::shape::Shape;
use rukh_error::SqlError;

/// Most rows that are read at once; more are worth choosing the path for each time.
const ROWS_MAX: usize = 1024;

/// The read of the rows of a key prefix.
#[derive(Debug)]
pub(crate) struct PrefixRead {
    table: TableId,
    key: SoughtKey,
    output: Vec<ColumnId>,
    shown: Columns,
    /// Rows passed over, and rows given after them.
    skip: u64,
    fetch: Option<u64>,
    /// Set when the plan first runs; `None` if the planner wants something else.
    reader: OnceLock<Option<PrefixReader>>,
    /// A prefix had more rows than are read at once.
    long: AtomicBool,
}

#[derive(Debug)]
struct PrefixReader {
    reader: PointReader,
    reverse: bool,
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
    fn reader(
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

impl Session {
    /// Reads the rows of a prefix; `None` if the query is to be run as any other direct plan. `version` is that
    /// of the catalog that the plan was made for.
    pub(crate) fn read_prefix(
        &mut self,
        plan: &DirectPlan,
        prefix: &PrefixRead,
        version: u64,
        params: &[Constant],
    ) -> Result<Option<Rows>, SqlError> {
        if self.settings.log_min_duration.is_some() || prefix.long.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let started = Instant::now();
        let Some(key) = prefix.key.datums(params) else {
            return Ok(None);
        };
        let key: SmallVec<[DatumRef<'_>; 10]> = key.iter().map(|datum| datum.as_ref().as_ref()).collect();
        let latest = !self.is_in_block();
        let snapshot = match latest {
            true => self.engine().latest(prefix.table),
            false => self.snapshot(),
        };
        if snapshot.catalog.version != version {
            return Ok(None);
        }
        let reader = match prefix.reader.get() {
            Some(known) => known,
            None => {
                let context = self.plain_context(snapshot.clone());
                let made = prefix.reader(plan, &context, params)?;
                prefix.reader.get_or_init(|| made)
            }
        };
        let Some(PrefixReader { reader, reverse }) = reader else {
            return Ok(None);
        };
        if !reader.fits(&snapshot) {
            return Ok(None);
        }
        let cancel = self.cancel().flag();
        let read = reader.read_prefix(&snapshot, &key, *reverse, prefix.fetch, ROWS_MAX, cancel);
        let (rows, counters) = match read {
            Err(rukh_engine::EngineError::Value { .. }) => return Ok(None),
            read => read?,
        };
        let Some(mut rows) = rows else {
            prefix.long.store(true, Ordering::Relaxed);
            return Ok(None);
        };
        if latest && !self.engine().has_definitions_of(&snapshot) {
            return Ok(None);
        }
        let skipped = usize::try_from(prefix.skip).map_or(rows.len(), |skip| skip.min(rows.len()));
        rows.drain(..skipped);
        let elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ran_point(QueryStats {
            path: RunPath::Direct,
            counters,
            planning_us: 0,
            elapsed_us,
        });
        Ok(Some(Rows::at_hand(prefix.shown.clone(), rows)))
    }
}
