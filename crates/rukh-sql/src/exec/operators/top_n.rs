//! ORDER BY and LIMIT over one scan: a path that delivers the order and stops may beat a sort.
//!
//! DataFusion sorts what a scan gives and keeps the first rows. Here the planner plans again, for the
//! order and the limit together: if the cheapest way is a path in that order, the scan takes it, stops
//! after so many rows, and the sort goes. Rows in the order of the first columns alone let the sort end early. If a columnar scan stays below a sort, it leaves out blocks that have none of the first rows. Computed columns between sort and scan stay where they are,
//! as long as none is sorted by.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, LexOrdering, OrderingRequirements, PhysicalSortExpr};
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use rukh_engine::{FirstRows, NullsWanted};
use rukh_walk::Tree;

use super::ScanExec;
use super::delegated::with_children;
use super::one_per_group::{Input, with_scan};
use super::rule::physical_rule;

/// Replaces sorts of a few rows by scans in order. Runs before work is spread over threads.
#[derive(Debug)]
pub(crate) struct TopN;

physical_rule!(TopN, "top_n", |plan, _| {
    plan.turn_down(&mut |node| {
        let scan = match node.downcast_ref::<SortExec>() {
            Some(sort) => sort
                .fetch()
                .map(|fetch| in_order(sort.input(), sort.expr(), fetch)),
            None => None,
        };
        Ok(match scan.transpose()?.flatten() {
            Some(scan) => Transformed::yes(scan),
            None => {
                match with_first_rows(&node)?.map_or_else(|| partly_in_order(&node), |sort| Ok(Some(sort)))? {
                    Some(sort) => Transformed::yes(sort),
                    None => Transformed::no(node),
                }
            }
        })
    })
    .data()
});

/// Returns a sort of a few rows with its scan read in the other direction, if rows then come in the order of the
/// first columns sorted by: `ORDER BY a DESC, b` on the key (a, b). The sort ends with the last row that is equal
/// in these to one it keeps.
fn partly_in_order(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = node
        .downcast_ref::<SortExec>()
        .filter(|sort| sort.fetch().is_some())
    else {
        return Ok(None);
    };
    let order = sort.expr();
    for count in (1..order.len()).rev() {
        if let Some(input) = on_scan(sort.input(), &order[..count], &|scan, order| {
            scan.turned_round(order)
        })? {
            return with_children(node, vec![input]).map(Some);
        }
    }
    Ok(None)
}

/// Returns a sort of a few rows of a columnar scan with a scan below it that leaves out blocks which have none of them.
fn with_first_rows(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = node.downcast_ref::<SortExec>() else {
        return Ok(None);
    };
    let (Some(count), input) = (sort.fetch(), Input { plan: sort.input() }) else {
        return Ok(None);
    };
    let order = sort.expr().first();
    let (Some(scan), Some(column)) = (input.scan(), input.column(&order.expr)) else {
        return Ok(None);
    };
    let first = FirstRows {
        column,
        descending: order.options.descending,
        nulls: match order.options.nulls_first {
            true => NullsWanted::First,
            false => NullsWanted::Last,
        },
        count,
        ties: true,
    };
    match scan.with_first(vec![first]) {
        Some(scan) => with_scan(node, &(Arc::new(scan) as Arc<dyn ExecutionPlan>)).map(Some),
        None => Ok(None),
    }
}

/// Returns the plan with its scan replaced by one that gives the first rows in this order, if that is
/// the cheapest way to them.
fn in_order(
    plan: &Arc<dyn ExecutionPlan>,
    order: &[PhysicalSortExpr],
    fetch: usize,
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let scan = on_scan(plan, order, &|scan, order| scan.first_in_order(order, fetch))?;
    Ok(scan.map(|scan| match computes(&scan) {
        true => in_need_of(scan, order),
        false => scan,
    }))
}

/// Whether columns are computed of what a scan gives: DataFusion spreads that over threads.
fn computes(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else {
        return false;
    };
    let mut exprs = projection.expr().iter();
    exprs.any(|column| !column.expr.is::<Column>()) || computes(projection.input())
}

/// Returns the plan with word that its order is needed, which the sort that has gone said before: a LIMIT above it counts on that.
fn in_need_of(plan: Arc<dyn ExecutionPlan>, order: &[PhysicalSortExpr]) -> Arc<dyn ExecutionPlan> {
    let order = LexOrdering::new(order.iter().cloned()).map(OrderingRequirements::from);
    Arc::new(OutputRequirementExec::new(
        plan,
        order,
        Distribution::SinglePartition,
        None,
    ))
}

/// What becomes of a scan for an order.
type Reordered<'a> =
    &'a dyn Fn(&ScanExec, &[PhysicalSortExpr]) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>>;

/// Returns the plan, a scan below projections, with another scan for the order that it is to have.
fn on_scan(
    plan: &Arc<dyn ExecutionPlan>,
    order: &[PhysicalSortExpr],
    reordered: Reordered<'_>,
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return reordered(scan, order);
    }
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else {
        return Ok(None);
    };
    let below = |sort: &PhysicalSortExpr| {
        let column = sort.expr.downcast_ref::<Column>()?;
        let expr = &projection.expr().get(column.index())?.expr;
        expr.downcast_ref::<Column>()?;
        Some(PhysicalSortExpr {
            expr: expr.clone(),
            options: sort.options,
        })
    };
    let Some(order) = order.iter().map(below).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let input = on_scan(projection.input(), &order, reordered)?;
    input.map(|input| with_children(plan, vec![input])).transpose()
}
