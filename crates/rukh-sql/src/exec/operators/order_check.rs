//! DataFusion's last check of a plan, which knows an order by its text, too.
//!
//! An input has the order that an operator requires if DataFusion can derive how its keys are ordered. It cannot of `abs(i) > 3`: it
//! compares what is known of the values on both sides, of which a function's have no type, and fails. So `ORDER BY abs(i) > 3` was
//! refused although a sort by that stood right below. Here an order is there as well if the keys of the input are those required.

use std::sync::Arc;

use super::rule::physical_rule;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_optimizer::sanity_checker::check_plan_sanity;
use datafusion::physical_plan::execution_plan::InvariantLevel;
use datafusion::physical_plan::{ChildSatisfactionOptions, ExecutionPlan, ExecutionPlanProperties};
use rukh_walk::Tree;

/// Checks that the inputs of all operators have the orders and distributions that these require.
#[derive(Debug)]
pub(crate) struct OrderCheck;

physical_rule!(OrderCheck, "order_check", |plan, config| {
    plan.each(&mut |node| {
        match check_plan_sanity(node, &config.optimizer) {
            Err(_) if is_sound(node)? => node.check_invariants(InvariantLevel::Executable)?,
            checked => checked?,
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(plan)
});

/// Whether the inputs of an operator have the orders and distributions that it requires.
fn is_sound(plan: &Arc<dyn ExecutionPlan>) -> DataFusionResult<bool> {
    let distributions = plan.input_distribution_requirements();
    let options = || ChildSatisfactionOptions::new().with_allow_subset(true);
    for (at, (input, required)) in plan
        .children()
        .into_iter()
        .zip(plan.required_input_ordering())
        .enumerate()
    {
        let is_ordered = match required {
            Some(required) => has_order(input, &required.into_single())?,
            None => true,
        };
        let satisfaction = distributions.child_satisfaction(at, input.as_ref(), options())?;
        if !is_ordered || !satisfaction.is_satisfied() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_order(input: &Arc<dyn ExecutionPlan>, required: &LexRequirement) -> DataFusionResult<bool> {
    let keys = input.output_ordering().into_iter().flatten();
    let mut pairs = required.iter().zip(keys);
    let is_same = pairs.all(|(required, key)| {
        required.expr.eq(&key.expr) && required.options.is_none_or(|options| options == key.options)
    });
    let is_long_enough = input
        .output_ordering()
        .is_some_and(|keys| keys.len() >= required.len());
    if is_same && is_long_enough {
        return Ok(true);
    }
    input
        .equivalence_properties()
        .ordering_satisfy_requirement(required.iter().cloned())
}
