//! Which scans give rows in an order that no operator relies on.
//!
//! Such a scan may read another index when it runs than the one it was planned with. The rule runs while
//! the order that the statement itself asks for still stands in the plan, as DataFusion's output
//! requirement; later rules that come to rely on an order replan the scan.

use std::sync::Arc;

use datafusion::error::Result as DataFusionResult;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::ScanExec;
use super::delegated::with_children;
use super::rule::physical_rule;

/// Marks the scans that are free to give rows in any order.
#[derive(Debug)]
pub(crate) struct OrderUse;

physical_rule!(OrderUse, "order_use", |plan, _| { marked(plan, false) });

/// Marks the scans below a plan whose own order is relied on or not.
fn marked(plan: Arc<dyn ExecutionPlan>, is_relied_on: bool) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Ok(match is_relied_on {
            true => plan,
            false => Arc::new(scan.free_of_order()),
        });
    }
    let required = plan.required_input_ordering();
    let maintains = plan.maintains_input_order();
    let relies = relies_on_order(plan.as_ref());
    let children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let mut changed = Vec::with_capacity(children.len());
    for (at, child) in children.iter().enumerate() {
        let is_required = required.get(at).is_some_and(Option::is_some);
        let passes_on = is_relied_on && maintains.get(at).copied().unwrap_or(true);
        changed.push(marked(child.clone(), relies || is_required || passes_on)?);
    }
    replaced(plan, &children, changed)
}

/// Whether an operator makes use of an order that it does not ask for.
fn relies_on_order(plan: &dyn ExecutionPlan) -> bool {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    let in_groups = aggregate.is_some_and(|of| *of.input_order_mode() != InputOrderMode::Linear);
    in_groups || plan.downcast_ref::<SortExec>().is_some()
}

/// Returns a plan with other children, or itself if they are the same.
pub(super) fn replaced(
    plan: Arc<dyn ExecutionPlan>,
    children: &[Arc<dyn ExecutionPlan>],
    changed: Vec<Arc<dyn ExecutionPlan>>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let is_same = |(a, b): (&Arc<dyn ExecutionPlan>, &Arc<dyn ExecutionPlan>)| Arc::ptr_eq(a, b);
    match children.iter().zip(&changed).all(is_same) {
        true => Ok(plan),
        false => with_children(&plan, changed),
    }
}
