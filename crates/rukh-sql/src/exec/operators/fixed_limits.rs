//! LIMIT and OFFSET below another ORDER BY keep the rows that they give.
//!
//! `SELECT * FROM (SELECT … LIMIT 4 OFFSET 3) q ORDER BY b`: DataFusion sorts below the limit, as below any operator that keeps the order of
//! its input. The limit gives other rows then, and fewer: only the first 4 of them are sorted, of which it leaves out 3. So limits are
//! operators of ours while DataFusion places sorts, below which none is placed, and whose input keeps the order that it is sorted in.
//!
//! DataFusion takes sorts away whose order nothing needs, as that below an OFFSET without LIMIT, where the columns that it sorts by go no
//! further: it leaves those alone that have an end, so that these get one for that time, too.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    PlanProperties, ReplaceChildrenOptions,
};
use rukh_walk::Tree;

use super::delegated::{recomputed_children, with_children};
use super::rule::physical_rule;

/// The end of a sort that has none: more rows than there are.
const END: usize = usize::MAX;

/// Puts operators of ours in the place of limits. It runs before DataFusion places sorts.
#[derive(Debug)]
pub(crate) struct FixedLimits;

physical_rule!(FixedLimits, "fixed_limits", |plan, _| {
    plan.turn_up(&mut |node| {
        let Some(limit) = node.downcast_ref::<GlobalLimitExec>() else {
            return Ok(Transformed::no(node));
        };
        let order = limit
            .input()
            .output_ordering()
            .filter(|_| is_sorted(limit.input()));
        let order = order.cloned();
        let mut limit = limit.clone();
        if limit.fetch().is_none() {
            let required = limit.required_ordering().clone();
            limit = GlobalLimitExec::new(with_end(limit.input())?, limit.skip(), None);
            limit.set_required_ordering(required);
        }
        Ok(Transformed::yes(FixedLimitExec::new(limit, order)))
    })
    .data()
});

/// Whether the order of a plan is one that it is sorted in.
fn is_sorted(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.children().as_slice() {
        _ if plan.is::<SortExec>() => true,
        [input] if plan.maintains_input_order() == [true] => is_sorted(input),
        _ => false,
    }
}

/// Gives the sort whose order a plan has an end.
fn with_end(plan: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let end = sort.fetch().or(Some(END));
        return Ok(Arc::new(sort.with_fetch(end)));
    }
    match plan.children().as_slice() {
        [input] if plan.maintains_input_order() == [true] => with_children(plan, vec![with_end(input)?]),
        _ => Ok(plan.clone()),
    }
}

/// Puts the limits back. It runs right after.
#[derive(Debug)]
pub(crate) struct LimitsAgain;

physical_rule!(LimitsAgain, "limits_again", |plan, _| {
    plan.turn_up(&mut |node| {
        if let Some(fixed) = node.downcast_ref::<FixedLimitExec>() {
            return Ok(Transformed::yes(Arc::new(fixed.limit.clone())));
        }
        if node.fetch() != Some(END) {
            return Ok(Transformed::no(node));
        }
        // Sorts, and merges of what was sorted in several partitions.
        Ok(
            match (
                node.downcast_ref::<SortExec>(),
                node.downcast_ref::<SortPreservingMergeExec>(),
            ) {
                (Some(sort), _) => Transformed::yes(Arc::new(sort.with_fetch(None))),
                (_, Some(merge)) => Transformed::yes(Arc::new(merge.clone().with_fetch(None))),
                _ => Transformed::no(node),
            },
        )
    })
    .data()
});

/// A limit below which nothing is sorted.
#[derive(Debug, Clone)]
struct FixedLimitExec {
    limit: GlobalLimitExec,
    /// The order in which its input came.
    order: Option<LexOrdering>,
}

impl FixedLimitExec {
    #[expect(clippy::new_ret_no_self, reason = "plans are shared")]
    fn new(limit: GlobalLimitExec, order: Option<LexOrdering>) -> Arc<dyn ExecutionPlan> {
        Arc::new(FixedLimitExec { limit, order })
    }
}

impl DisplayAs for FixedLimitExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for FixedLimitExec {
    fn name(&self) -> &'static str {
        "FixedLimitExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.limit.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.limit.children()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.unwrap_or_else(|| self.limit.input().clone());
        let mut limit = GlobalLimitExec::new(input, self.limit.skip(), self.limit.fetch());
        limit.set_required_ordering(self.limit.required_ordering().clone());
        Ok(FixedLimitExec::new(limit, self.order.clone()))
    }

    recomputed_children!();

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.limit.input_distribution_requirements()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.order.clone().map(OrderingRequirements::from)]
    }

    // An order that an operator above needs is none that its input may be sorted in.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        self.limit.execute(partition, context)
    }
}
