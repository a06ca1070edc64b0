//! Passes to scans what hash joins, and sorts that keep the first rows only, find out above them while they run, and what
//! subqueries give that conditions compare with.
//!
//! The columns that a join compares are followed down the plan, by position: through projections,
//! filters, groups, unions and other joins, as far as a row that is left out below is a row left out of
//! the join's input and nothing else. DataFusion's own rule does that by name, and two columns of one
//! name below a join would be taken for each other.
//!
//! | on the way down                | which columns go on                                    |
//! |--------------------------------|---------------------------------------------------------|
//! | threads, sorts without a limit | all                                                    |
//! | projection                     | columns, and casts of them                             |
//! | aggregate                      | those that it groups by, in one grouping set           |
//! | union                          | all, into each input                                   |
//! | join                           | those of a side whose rows are kept only as they are   |
//! | anything with a limit          | none                                                   |

use std::sync::Arc;

use datafusion::common::JoinSide;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::JoinType;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::build_join_schema;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use rukh_walk::Tree;

use super::order_use::replaced;
use super::rule::physical_rule;
use super::runtime_filter::{Columns, FIRST_ROWS, HASH_JOIN, RuntimeFilter, SUBQUERY};
use super::scan_column::CastColumn;
use super::{LookupJoinExec, ScanExec};

/// Gives scans the filters of the joins and sorts above them. Runs when the plan is complete.
#[derive(Debug)]
pub(crate) struct RuntimeFilters;

physical_rule!(RuntimeFilters, "runtime_filters", |plan, _| {
    below_operators(plan)
});

/// Gives the filter of each join in a plan to the scans of its other side, that of each sort to those below.
fn below_operators(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    // The operators of a recursive query run again and again, with what they found out before.
    if plan.downcast_ref::<RecursiveQueryExec>().is_some() {
        return Ok(plan);
    }
    let children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let mut changed = children.clone();
    if let Some(join) = plan.downcast_ref::<HashJoinExec>()
        && let Some(filter) = found_out_by(join)
    {
        let columns = spoken_of(&filter);
        let pushed = Pushed {
            filter,
            by: HASH_JOIN,
        };
        changed[1] = pushed.below(changed[1].clone(), columns)?;
    }
    if let Some(sort) = plan
        .downcast_ref::<SortExec>()
        .filter(|sort| sort.fetch().is_some())
        && let Some(filter) = found_out_by(sort)
    {
        let columns = spoken_of(&filter);
        let pushed = Pushed {
            filter,
            by: FIRST_ROWS,
        };
        changed[0] = pushed.below(changed[0].clone(), columns)?;
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        for conjunct in split_conjunction(filter.predicate()) {
            if asks_subquery(conjunct) {
                let pushed = Pushed {
                    filter: known_later(conjunct),
                    by: SUBQUERY,
                };
                let columns = spoken_of(&pushed.filter);
                changed[0] = pushed.below(changed[0].clone(), columns)?;
            }
        }
    }
    let changed = changed.into_iter().map(below_operators);
    let changed = changed.collect::<DataFusionResult<Vec<_>>>()?;
    replaced(plan, &children, changed)
}

/// Returns the filter that an operator fills in while it runs.
fn found_out_by(plan: &dyn ExecutionPlan) -> Option<Arc<DynamicFilterPhysicalExpr>> {
    let found = plan.dynamic_expressions_produced().into_iter().next()?;
    let found: Arc<dyn std::any::Any + Send + Sync> = found;
    found.downcast().ok()
}

/// Whether a condition compares with the value of a subquery, which is known before the scan starts.
fn asks_subquery(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let found = condition.any(&mut |part| Ok(part.downcast_ref::<ScalarSubqueryExpr>().is_some()));
    found.unwrap_or(false)
}

/// Makes a filter of a condition that can be evaluated when its scan starts.
fn known_later(condition: &Arc<dyn PhysicalExpr>) -> Arc<DynamicFilterPhysicalExpr> {
    let columns = collect_columns(condition).into_iter();
    let columns = columns.map(|column| Arc::new(column) as Arc<dyn PhysicalExpr>);
    Arc::new(DynamicFilterPhysicalExpr::new(
        columns.collect(),
        condition.clone(),
    ))
}

/// Returns the columns of a filter, as they are in its own input.
fn spoken_of(filter: &DynamicFilterPhysicalExpr) -> Columns {
    let columns = filter.children().into_iter().flat_map(collect_columns);
    columns.map(|of| (of.index(), column(of.index()))).collect()
}

/// The filters that scans receive.
struct Pushed {
    filter: Arc<DynamicFilterPhysicalExpr>,
    by: &'static str,
}

impl Pushed {
    /// Passes it to the scans that give these columns of a plan.
    fn below(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        columns: Columns,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        if columns.is_empty() {
            return Ok(plan);
        }
        if let Some(scan) = plan.downcast_ref::<ScanExec>() {
            let filter = RuntimeFilter::new(self.filter.clone(), columns, self.by);
            let is_on = scan.context().methods.runtime_filter;
            let filtered = scan.with_filter(filter).filter(|_| is_on);
            return Ok(filtered.map_or(plan, |scan| Arc::new(scan)));
        }
        if plan.fetch().is_some() {
            return Ok(plan);
        }
        let children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
        let mut changed = Vec::with_capacity(children.len());
        for (side, child) in children.iter().enumerate() {
            changed.push(self.below(child.clone(), columns_below(&plan, side, &columns)?)?);
        }
        replaced(plan, &children, changed)
    }
}

/// Returns what columns of a plan are in one of its inputs.
fn columns_below(plan: &Arc<dyn ExecutionPlan>, side: usize, columns: &Columns) -> DataFusionResult<Columns> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return Ok(moved(columns, |at| {
            CastColumn::of(projection.expr().get(at)?.expr.as_ref(), None)
        }));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        let is_whole = groups.is_single() && aggregate.limit_options().is_none();
        return Ok(moved(columns, |at| {
            let (expr, _) = groups.expr().get(at).filter(|_| is_whole)?;
            CastColumn::of(expr.as_ref(), None)
        }));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let projection = filter.projection();
        return Ok(moved(columns, |at| match projection {
            Some(projection) => projection.get(at).map(|at| column(*at)),
            None => Some(column(at)),
        }));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return columns_of_join(join, side, columns);
    }
    if let Some(join) = plan.downcast_ref::<LookupJoinExec>() {
        return columns_of_join(join.by_hash(), 1, columns);
    }
    let passes = matches!(
        plan.name(),
        "CoalesceBatchesExec"
            | "CoalescePartitionsExec"
            | "CooperativeExec"
            | "RepartitionExec"
            | "RepeatedExec"
            | "SortPreservingMergeExec"
            | "UnionExec"
    );
    Ok(match passes || plan.downcast_ref::<SortExec>().is_some() {
        true => columns.clone(),
        false => Columns::new(),
    })
}

/// Returns what columns of a join are on one of its sides, if rows of that side that are left out change
/// nothing for the others.
fn columns_of_join(join: &HashJoinExec, side: usize, columns: &Columns) -> DataFusionResult<Columns> {
    use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let (wanted, is_kept) = match side {
        0 => (
            JoinSide::Left,
            matches!(join.join_type(), Inner | Left | LeftSemi | LeftAnti | LeftMark),
        ),
        _ => (
            JoinSide::Right,
            matches!(
                join.join_type(),
                Inner | Right | RightSemi | RightAnti | RightMark
            ),
        ),
    };
    if !is_kept || join.null_aware {
        return Ok(Columns::new());
    }
    let (_, places) = build_join_schema(&join.left().schema(), &join.right().schema(), join.join_type());
    Ok(moved(columns, |at| {
        let at = match join.projection.as_ref() {
            Some(projection) => *projection.get(at)?,
            None => at,
        };
        let place = places.get(at).filter(|place| place.side == wanted)?;
        Some(column(place.index))
    }))
}

fn column(position: usize) -> CastColumn {
    CastColumn {
        position,
        casts: Vec::new(),
    }
}

/// Says of columns what they are one operator further down.
fn moved(columns: &Columns, below: impl Fn(usize) -> Option<CastColumn>) -> Columns {
    let one = |(of, cast): (&usize, &CastColumn)| {
        let mut found = below(cast.position)?;
        found.casts.extend(cast.casts.iter().copied());
        Some((*of, found))
    };
    columns.iter().filter_map(one).collect()
}
