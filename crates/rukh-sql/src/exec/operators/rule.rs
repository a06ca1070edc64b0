//! What all rules for physical plans have in common.

/// Implements `PhysicalOptimizerRule` for a rule by its name and what it makes of a plan: `physical_rule!(TopN, "top_n", |plan, config| …)`.
macro_rules! physical_rule {
    ($rule:ident, $name:literal, |$plan:ident, $config:pat_param| $optimize:block) => {
        impl datafusion::physical_optimizer::PhysicalOptimizerRule for $rule {
            fn optimize(
                &self,
                $plan: std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
                $config: &datafusion::common::config::ConfigOptions,
            ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
                $optimize
            }

            fn name(&self) -> &str {
                $name
            }

            fn schema_check(&self) -> bool {
                true
            }
        }
    };
}

pub(crate) use physical_rule;
