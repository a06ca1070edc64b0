//! The choice between joins by hash and joins by lookup.
//!
//! After DataFusion has chosen which side of a hash join is hashed, each join is looked at from the top
//! down: if one side is a scan with a key, or an index, for what is compared, and reading it once for each
//! row of the other side costs less than reading all of it, the join becomes a [`LookupJoinExec`].
//!
//! | join                          | side that may be looked up                                     |
//! |-------------------------------|-----------------------------------------------------------------|
//! | inner                         | either                                                         |
//! | left, semi, anti, mark        | the one whose rows are not all kept                            |
//! | `x NOT IN (…)`                | the same, if neither side may be NULL                          |
//! | semi, the kept side keyed     | the kept one, by the distinct values of the other              |
//! | full                          | none                                                           |
//!
//! A LIMIT above counts: fewer rows of the other side are then needed.

use std::sync::Arc;

use datafusion::common::{JoinType, NullEquality};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};

use super::{LookupJoinExec, LookupSide};
use crate::exec::operators::delegated::with_children;
use crate::exec::operators::rule::physical_rule;

/// Cost of putting one row into a hash table, microseconds.
const HASH_ROW: f64 = 0.15;

/// Cost of looking up for one row beside that of reading, microseconds.
const LOOKUP_ROW: f64 = 0.3;

/// Cost of planning the lookups for some rows and joining them, microseconds, and how many rows that are.
const LOOKUP_START: f64 = 100.0;
const LOOKUP_ROWS: f64 = 4096.0;

/// Rows that a join with a condition beside its keys is expected to look at for one that it gives.
const TRIED_ROWS: f64 = 4.0;

/// Replaces hash joins by lookup joins where these cost less.
#[derive(Debug)]
pub(crate) struct LookupJoins;

physical_rule!(LookupJoins, "lookup_joins", |plan, _| { rewritten(plan, None) });

/// Rewrites a plan of which only so many rows are wanted.
fn rewritten(plan: Arc<dyn ExecutionPlan>, limit: Option<f64>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let plan = match plan.downcast_ref::<HashJoinExec>() {
        Some(join) => cheapest(join, limit)?.unwrap_or(plan),
        None => plan,
    };
    let below = limit_below(plan.as_ref(), limit);
    let children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let rewritten = children.iter().map(|child| rewritten(child.clone(), below));
    let rewritten = rewritten.collect::<DataFusionResult<Vec<_>>>()?;
    let same = |(a, b): (&Arc<dyn ExecutionPlan>, &Arc<dyn ExecutionPlan>)| Arc::ptr_eq(a, b);
    match children.iter().zip(&rewritten).all(same) {
        true => Ok(plan),
        false => with_children(&plan, rewritten),
    }
}

/// Returns how many rows are wanted of the inputs of an operator of which so many are.
fn limit_below(plan: &dyn ExecutionPlan, limit: Option<f64>) -> Option<f64> {
    let least = |fetch: usize| limit.map_or(fetch as f64, |limit| limit.min(fetch as f64));
    if let Some(of) = plan.downcast_ref::<GlobalLimitExec>() {
        return of
            .fetch()
            .map_or(limit, |fetch| Some(least(fetch) + of.skip() as f64));
    }
    if let Some(of) = plan.downcast_ref::<LocalLimitExec>() {
        return Some(least(of.fetch()));
    }
    if let Some(join) = plan.downcast_ref::<LookupJoinExec>() {
        return limit.map(|limit| tried(limit, join.join_type()));
    }
    let passes = plan.downcast_ref::<ProjectionExec>().is_some()
        || plan.downcast_ref::<OutputRequirementExec>().is_some();
    limit.filter(|_| passes)
}

/// Returns how many rows of its outer side a join looks at for so many of its own.
fn tried(limit: f64, join_type: JoinType) -> f64 {
    match join_type {
        JoinType::Left | JoinType::LeftMark => limit,
        _ => limit * TRIED_ROWS,
    }
}

/// Returns the cheapest way to join by lookups, if that costs less than to join by hash.
fn cheapest(join: &HashJoinExec, limit: Option<f64>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if join.null_equality() != NullEquality::NullEqualsNothing || join.on().is_empty() {
        return Ok(None);
    }
    let join = match join.null_aware {
        true if may_be_null(join)? => return Ok(None),
        true => join.builder().with_null_aware(false).build()?,
        false => join.builder().build()?,
    };
    let mut best: Option<Candidate> = None;
    for candidate in [Candidate::left(&join)?, Candidate::right(&join)?]
        .into_iter()
        .flatten()
    {
        if let Some(cost) = candidate.gain(limit)?
            && best.as_ref().is_none_or(|best| best.gain < cost)
        {
            best = Some(Candidate {
                gain: cost,
                ..candidate
            });
        }
    }
    best.map(Candidate::plan).transpose()
}

/// Whether what a join compares may be NULL.
fn may_be_null(join: &HashJoinExec) -> DataFusionResult<bool> {
    for (left, right) in join.on() {
        if left.nullable(&join.left().schema())? || right.nullable(&join.right().schema())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A join by lookups.
struct Candidate {
    /// The join by hash, its left input being looked up.
    join: HashJoinExec,
    inner: LookupSide,
    /// The columns in the order of the plan that is replaced, if they are not.
    reorder: Option<Arc<dyn ExecutionPlan>>,
    gain: f64,
}

impl Candidate {
    /// Looks up the left input.
    fn left(join: &HashJoinExec) -> DataFusionResult<Option<Candidate>> {
        use JoinType::{Inner, LeftSemi, Right, RightAnti, RightMark, RightSemi};
        match join.join_type() {
            Inner | Right | RightSemi | RightAnti | RightMark => Self::of(join.builder().build()?, None),
            LeftSemi if join.filter().is_none() => Self::of(by_distinct_keys(join)?, None),
            _ => Ok(None),
        }
    }

    /// Looks up the right input.
    fn right(join: &HashJoinExec) -> DataFusionResult<Option<Candidate>> {
        if !join.join_type().supports_swap() {
            return Ok(None);
        }
        let swapped = join.swap_inputs(PartitionMode::CollectLeft)?;
        match swapped.downcast_ref::<HashJoinExec>() {
            Some(join) => Self::left(join),
            None => {
                let Some(inside) = swapped.children().first().map(|child| (*child).clone()) else {
                    return Ok(None);
                };
                let Some(join) = inside.downcast_ref::<HashJoinExec>() else {
                    return Ok(None);
                };
                Ok(Self::left(join)?.map(|candidate| Candidate {
                    reorder: Some(swapped),
                    ..candidate
                }))
            }
        }
    }

    fn of(
        join: HashJoinExec,
        reorder: Option<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Option<Candidate>> {
        let join = join
            .builder()
            .with_partition_mode(PartitionMode::CollectLeft)
            .build()?;
        let inner = LookupSide::of(&join);
        Ok(inner.map(|inner| Candidate {
            join,
            inner,
            reorder,
            gain: 0.0,
        }))
    }

    /// Returns what lookups save, in microseconds; `None` if they do not.
    fn gain(&self, limit: Option<f64>) -> DataFusionResult<Option<f64>> {
        let methods = self.inner.scan().context().methods;
        if !methods.lookup_join {
            return Ok(None);
        }
        let outer = StatisticsContext::new().compute(self.join.right().as_ref(), &StatisticsArgs::new())?;
        let outer = outer.num_rows.get_value().map(|rows| *rows as f64);
        let outer = match (
            outer,
            limit.map(|limit| tried(limit, self.join.join_type().swap())),
        ) {
            (Some(rows), Some(limit)) => rows.min(limit),
            (rows, limit) => rows.or(limit).unwrap_or(f64::INFINITY),
        };
        let all = self.inner.scan().path().estimate;
        let one = self.inner.one().path.estimate;
        let by_hash = all.cost + all.rows * HASH_ROW;
        let starts = (outer / LOOKUP_ROWS).ceil() * LOOKUP_START;
        let gain = by_hash - (outer * (one.cost + LOOKUP_ROW) + starts);
        Ok(match methods.hash_join {
            true => (gain > 0.0).then_some(gain),
            false => Some(gain),
        })
    }

    fn plan(self) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let plan: Arc<dyn ExecutionPlan> = Arc::new(LookupJoinExec::new(self.join, self.inner)?);
        match self.reorder {
            None => Ok(plan),
            Some(reorder) => with_children(&reorder, vec![plan]),
        }
    }
}

/// Makes a semi join that keeps rows of the left side an inner one with the distinct keys of the right.
fn by_distinct_keys(join: &HashJoinExec) -> DataFusionResult<HashJoinExec> {
    let right = join.right();
    let keys = join.on().iter().enumerate();
    let groups = keys.map(|(at, (_, key))| (key.clone(), format!("key {at}")));
    let group_by = PhysicalGroupBy::new_single(groups.collect());
    let distinct = AggregateExec::try_new(
        AggregateMode::Single,
        group_by,
        Vec::new(),
        Vec::new(),
        right.clone(),
        right.schema(),
    )?;
    let pairs = join.on().iter().enumerate().map(|(at, (kept, _))| {
        let key: Arc<dyn datafusion::physical_expr::PhysicalExpr> =
            Arc::new(Column::new(&format!("key {at}"), at));
        (kept.clone(), key)
    });
    let columns = (0..join.left().schema().fields().len()).collect();
    let kept = join
        .projection
        .as_ref()
        .map_or(columns, |projection| projection.to_vec());
    join.builder()
        .with_type(JoinType::Inner)
        .with_new_children(vec![join.left().clone(), Arc::new(distinct)])?
        .with_on(pairs.collect())
        .with_projection(Some(kept))
        .build()
}
