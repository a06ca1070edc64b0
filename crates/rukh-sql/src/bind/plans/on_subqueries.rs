//! Subqueries in the ON of an inner join stand in a filter above it, where what makes joins of subqueries finds them:
//! `a JOIN b ON a.k = b.k AND b.x > ALL (SELECT …)` was refused. Of outer joins they stay where they are.

use datafusion::common::JoinType;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use crate::bind::plans::outer_columns::query_of;
use rukh_error::SqlError;
use rukh_walk::{PlanTree, Tree};

/// Takes subqueries out of the conditions of inner joins.
pub(crate) fn in_filters(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.turn_all_up(&mut |node| match node {
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => taken_out(join),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn taken_out(mut join: Join) -> DataFusionResult<Transformed<LogicalPlan>> {
    let has_query = |expr: &Expr| {
        expr.any(&mut |part| Ok(query_of(part).is_some()))
            .unwrap_or(false)
    };
    let conjuncts = join
        .filter
        .take()
        .map(split_conjunction_owned)
        .unwrap_or_default();
    let (asking, plain): (Vec<Expr>, Vec<Expr>) = conjuncts.into_iter().partition(has_query);
    join.filter = conjunction(plain);
    let join = LogicalPlan::Join(join);
    match conjunction(asking) {
        Some(condition) => LogicalPlanBuilder::from(join)
            .filter(condition)?
            .build()
            .map(Transformed::yes),
        None => Ok(Transformed::no(join)),
    }
}
