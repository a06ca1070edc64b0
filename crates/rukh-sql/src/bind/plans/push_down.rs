//! DataFusion's push-down of filters, given comparisons with their column on the left only, and no condition that has to stay.
//!
//! A condition that reads no column is pushed below an aggregate by DataFusion. `SELECT count(*) FROM t HAVING (SELECT 1) > 5`
//! then counts no rows, and returns a row all the same. A volatile condition (`random() > 0.5`) is pushed below joins, aggregates and
//! windows, where it is evaluated for other rows than those it was written for. [`held_back`] keeps such conditions where they are.
//!
//! Of several bounds of one column it keeps the narrowest, and of two with the same constant the one
//! whose operator is `<` or `>`. It does not see that `1 > x` is such a bound: `x <= 1 AND 1 > x`
//! becomes `x <= 1`. Its simplifier turns most comparisons round before, but not those whose constant
//! comes to be later, of a cast or of a projection. So they are turned round where filters meet.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::logical_plan::Filter;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan};
use datafusion::optimizer::optimizer::{ApplyOrder, Optimizer};
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use rukh_walk::Tree;

use crate::bind::plans::null_joins::minding;

/// Returns DataFusion's rules for logical plans, with the push-down of filters as it is here, and `null_joins`.
pub(crate) fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let ours: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(PushDown(PushDownFilter::new()));
    Optimizer::new()
        .rules
        .into_iter()
        .map(|rule| match rule.name() == ours.name() {
            true => ours.clone(),
            false => minding(rule),
        })
        .collect()
}

/// Pushes filters down, their columns on the left.
#[derive(Debug)]
struct PushDown(PushDownFilter);

impl OptimizerRule for PushDown {
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
        columns_left(plan)?.transform_data(|plan| match plan {
            LogicalPlan::Filter(filter) => self.filtered(filter, config),
            other => self.0.rewrite(other, config),
        })
    }
}

impl PushDown {
    /// Pushes down those conditions of a filter that need not stay.
    fn filtered(
        &self,
        filter: Filter,
        config: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        // DataFusion makes one filter of several that follow each other.
        let mut conditions: Vec<Expr> = split_conjunction_owned(filter.predicate.clone());
        let mut input = &filter.input;
        while let LogicalPlan::Filter(inner) = input.as_ref() {
            conditions.extend(split_conjunction_owned(inner.predicate.clone()));
            input = &inner.input;
        }
        let (held, free): (Vec<Expr>, Vec<Expr>) = conditions
            .into_iter()
            .partition(|condition| held_back(condition, input));
        let Some(held) = conjunction(held) else {
            return self.0.rewrite(LogicalPlan::Filter(filter), config);
        };
        let Some(free) = conjunction(free) else {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        };
        let below = LogicalPlan::Filter(Filter::try_new(free, input.clone())?);
        self.0.rewrite(below, config)?.map_data(|below| {
            let above = Filter::try_new(held, Arc::new(below))?;
            Ok(LogicalPlan::Filter(above))
        })
    }
}

/// Whether a condition on the rows of `input` must not become one on the rows that `input` reads.
///
/// | condition         | stays above                                                                      |
/// |-------------------|----------------------------------------------------------------------------------|
/// | reads no column   | an aggregate that has a row where its input has none: without GROUP BY, or GROUPING SETS |
/// | is volatile       | whatever gives other rows than it reads: aggregates, joins, windows, DISTINCT      |
fn held_back(condition: &Expr, input: &LogicalPlan) -> bool {
    let of_no_group = match input {
        LogicalPlan::Aggregate(aggregate) => {
            aggregate.group_expr.is_empty()
                || matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)])
        }
        _ => false,
    };
    let one_to_one = matches!(
        input,
        LogicalPlan::Projection(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::TableScan(_)
    );
    (of_no_group && condition.column_refs().is_empty()) || (!one_to_one && condition.is_volatile())
}

/// Turns comparisons round in a filter, and in those right below it, which will be one with it.
fn columns_left(plan: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else {
        return Ok(Transformed::no(plan));
    };
    let input = match input.as_ref() {
        LogicalPlan::Filter(_) => columns_left(Arc::unwrap_or_clone(input))?.update_data(Arc::new),
        _ => Transformed::no(input),
    };
    let predicate = predicate.turn_up(&mut |expr| Ok(turned(expr)))?;
    let is_changed = input.transformed || predicate.transformed;
    let filter = Filter::try_new(predicate.data, input.data)?;
    Ok(Transformed::new_transformed(
        LogicalPlan::Filter(filter),
        is_changed,
    ))
}

/// Returns `x < k` for `k > x`, if k is a constant and x a column.
fn turned(expr: Expr) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Transformed::no(expr);
    };
    match (left.as_ref(), op.swap(), right.as_ref()) {
        (Expr::Literal(..), Some(swapped), Expr::Column(_)) => {
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(right, swapped, left)))
        }
        _ => Transformed::no(Expr::BinaryExpr(BinaryExpr::new(left, op, right))),
    }
}
