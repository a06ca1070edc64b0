//! What operators around other plans have in common: methods of `ExecutionPlan`, and other inputs for a plan.

use std::sync::Arc;

use datafusion::error::Result as DataFusionResult;
use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
use datafusion::physical_plan::{ExecutionPlan, ReplaceChildrenOptions};

/// Returns a plan with other inputs, its properties computed from these.
pub(crate) fn with_children(
    plan: &Arc<dyn ExecutionPlan>,
    children: Vec<Arc<dyn ExecutionPlan>>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.clone().replace_children(children, recompute)
}

/// Implements the methods of an operator whose field `$inner` is the plan that it stands for: its inputs, expressions and statistics.
/// `$around` makes the operator around a plan with other inputs.
macro_rules! stands_for {
    ($inner:ident, $around:expr) => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            self.$inner.children()
        }

        fn apply_expressions(
            &self,
            f: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            )
                -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            self.$inner.apply_expressions(f)
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
            options: datafusion::physical_plan::ReplaceChildrenOptions,
        ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            type Plan = std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>;
            let around: fn(Plan) -> datafusion::error::Result<Plan> = $around;
            around(self.$inner.clone().replace_children(children, options)?)
        }

        fn child_stats_requests(
            &self,
            partition: Option<usize>,
        ) -> Vec<datafusion::physical_plan::ChildStats> {
            self.$inner.child_stats_requests(partition)
        }

        fn statistics_from_inputs(
            &self,
            inputs: &[std::sync::Arc<datafusion::common::Statistics>],
            args: &datafusion::physical_plan::StatisticsArgs,
        ) -> datafusion::error::Result<std::sync::Arc<datafusion::common::Statistics>> {
            self.$inner.statistics_from_inputs(inputs, args)
        }

        $crate::exec::operators::delegated::recomputed_children!();
    };
}

/// Implements `with_new_children`, which takes nothing over from the properties of the old ones.
macro_rules! recomputed_children {
    () => {
        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            use datafusion::physical_plan::ReplaceChildrenOptions;
            use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
            let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            self.replace_children(children, recompute)
        }
    };
}

pub(crate) use {recomputed_children, stands_for};
