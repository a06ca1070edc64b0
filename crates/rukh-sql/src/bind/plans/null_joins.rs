//! Joins by keys of which NULL equals NULL, kept apart from those by `=`.
//!
//! A join of DataFusion has one rule of NULL for all of its keys. Two of its rules add keys of `=` to those of
//! `IS NOT DISTINCT FROM`, and by both NULL is then NULL: `ON a.x IS NOT DISTINCT FROM b.x WHERE a.y = b.y` found rows
//! whose `y` are NULL. Here what such a join has as keys stays as it is, and `=` is a condition of the join.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, NullEquality};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::Join;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use rukh_walk::Tree;

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// Returns a rule that leaves joins by NULL alone, for one of DataFusion's that does not.
pub(crate) fn minding(rule: Rule) -> Rule {
    match rule.name() {
        "extract_equijoin_predicate" => Arc::new(OneRuleOfNull(rule, is_by_null)),
        "eliminate_cross_join" => Arc::new(OneRuleOfNull(rule, has_inner_by_null)),
        _ => rule,
    }
}

/// A rule of DataFusion that is not for some plans.
#[derive(Debug)]
struct OneRuleOfNull(Rule, fn(&LogicalPlan) -> bool);

impl OptimizerRule for OneRuleOfNull {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        match (self.1)(&plan) {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

fn is_by_null(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(Join { null_equality: NullEquality::NullEqualsNull, on, .. }) if !on.is_empty())
}

fn has_inner_by_null(plan: &LogicalPlan) -> bool {
    let is_inner =
        |node: &LogicalPlan| matches!(node, LogicalPlan::Join(join) if join.join_type == JoinType::Inner);
    plan.any(&mut |node| Ok(is_by_null(node) && is_inner(node)))
        .unwrap_or(true)
}
