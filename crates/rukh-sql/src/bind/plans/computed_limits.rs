//! `LIMIT (SELECT 1)`: a limit that a subquery or a volatile function computes.
//!
//! DataFusion takes constants only. Here rows are numbered in their order, and a condition on the number keeps some of them:
//!
//! ```text
//! SELECT a FROM t ORDER BY a LIMIT (SELECT 2) OFFSET 1
//! SELECT a FROM (SELECT a, row_number() OVER () AS n FROM (SELECT a FROM t ORDER BY a)) WHERE n > 1 AND n <= 1 + (SELECT 2)
//! ```
//!
//! The order reaches `row_number` by `inner_order`.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::expr_fn::coalesce;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::Limit;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, scalar_subquery};
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;

use crate::bind::plans::outer_columns::query_of;
use crate::bind::types::coercions::whole;

/// Makes conditions of limits that subqueries compute.
pub(crate) fn numbered(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Limit(limit) => kept(limit),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn kept(limit: Limit) -> DataFusionResult<Transformed<LogicalPlan>> {
    let is_computed = |count: &Option<Box<Expr>>| match count {
        Some(count) => count.exists(|part| Ok(query_of(part).is_some() || part.is_volatile_node())),
        None => Ok(false),
    };
    if !is_computed(&limit.skip)? && !is_computed(&limit.fetch)? {
        return Ok(Transformed::no(LogicalPlan::Limit(limit)));
    }
    let skip = match limit.skip {
        Some(skip) => coalesce(vec![once(*skip)?, lit(0_i64)]),
        None => lit(0_i64),
    };
    let name = format!("place{HIDDEN}");
    let place = Expr::Column(Column::new_unqualified(&name));
    let mut condition = place.clone().gt(skip.clone());
    if let Some(fetch) = limit.fetch {
        // NULL is no limit.
        let within = place.lt_eq(skip + once(*fetch)?);
        condition = condition.and(coalesce(vec![within, lit(true)]));
    }
    let shown = limit.input.schema().columns().into_iter().map(Expr::Column);
    let shown: Vec<Expr> = shown.collect();
    let number = WindowFunction::new(row_number_udwf(), Vec::new());
    let number = Expr::WindowFunction(Box::new(number)).alias(name);
    let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(limit.input))
        .window(vec![number])?
        .filter(condition)?
        .project(shown)?
        .build()?;
    Ok(Transformed::yes(plan))
}

/// Returns a count that is computed once: what is volatile becomes a subquery.
fn once(count: Expr) -> DataFusionResult<Expr> {
    let count = whole(count, &DFSchema::empty())?;
    if !count.is_volatile() {
        return Ok(count);
    }
    let nothing = LogicalPlanBuilder::empty(true);
    let plan = nothing
        .project(vec![count.alias(format!("count{HIDDEN}"))])?
        .build()?;
    Ok(scalar_subquery(Arc::new(plan)))
}
