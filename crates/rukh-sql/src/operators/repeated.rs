//! Inputs of joins whose rows come once for each row of the other input, and so in no order of their own.
//!
//! DataFusion takes a join for ordered by its one input, and then by the other: by `r.a, l.b` where `r` comes in the order of `a` and `l` in
//! that of `b`. That holds only where no two rows of `r` have one `a`; else each of them begins again with the first `b`. Sorts were left out,
//! and with them went ORDER BY, and the numbers of `row_number()` (apache/datafusion#25052, not mended in 55).
//!
//! So that input hides its order from the join. DataFusion also sorts it where that order is asked for above a merge; merges are
//! [`MergeJoinExec`](super::MergeJoinExec) for that.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Statistics};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, ChildrenPropertiesMode};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, StatisticsArgs,
};

/// Hides the orders that joins do not keep. Runs once all joins are chosen, before sorts are left out.
#[derive(Debug)]
pub(crate) struct RepeatedSides;

impl PhysicalOptimizerRule for RepeatedSides {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match hidden(&node)? {
                Some(hidden) => Transformed::yes(hidden),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "repeated_sides"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns a join by hash whose repeated side hides its order, if it has one to hide.
fn hidden(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else {
        return Ok(None);
    };
    let is_repeated = matches!(join.join_type(), JoinType::Inner | JoinType::Right);
    if !is_repeated || join.left().output_ordering().is_none() {
        return Ok(None);
    }
    let repeated: Arc<dyn ExecutionPlan> = Arc::new(RepeatedExec::new(join.left().clone()));
    let children = vec![repeated, join.right().clone()];
    let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    node.clone().replace_children(children, anew).map(Some)
}

/// Rows of an input as they come, said to be in no order.
#[derive(Debug, Clone)]
pub(crate) struct RepeatedExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl RepeatedExec {
    /// Hides the order of an input.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let mut known = input.equivalence_properties().clone();
        known.clear_orderings();
        let properties = input.properties().as_ref().clone().with_eq_properties(known);
        RepeatedExec {
            input,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for RepeatedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RepeatedExec")
    }
}

impl ExecutionPlan for RepeatedExec {
    fn name(&self) -> &'static str {
        "RepeatedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        Ok(Arc::new(RepeatedExec::new(
            input.unwrap_or_else(|| self.input.clone()),
        )))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, anew)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        Ok(inputs[0].clone())
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let input = self.input.try_swapping_with_projection(projection)?;
        Ok(input.map(|input| Arc::new(RepeatedExec::new(input)) as Arc<dyn ExecutionPlan>))
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> DataFusionResult<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> DataFusionResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
