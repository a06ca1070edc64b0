//! `VALUES ((SELECT 1), 2)`: rows of subqueries.
//!
//! DataFusion computes VALUES when it plans, before any subquery has run. Here each row becomes a SELECT without FROM, and several rows their
//! UNION ALL.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::logical_plan::{Projection, Union, Values};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use rukh_error::SqlError;

use crate::bind::plans::outer_columns::query_of;

/// Makes SELECTs of VALUES with subqueries.
pub(crate) fn selected(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Values(values) => rows_of(values),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn rows_of(values: Values) -> DataFusionResult<Transformed<LogicalPlan>> {
    let mut has_query = false;
    for expr in values.values.iter().flatten() {
        has_query |= expr.exists(|part| Ok(query_of(part).is_some()))?;
    }
    if !has_query {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let names: Vec<&String> = values.schema.fields().iter().map(|field| field.name()).collect();
    let row = |row: Vec<Expr>| {
        let columns = row
            .into_iter()
            .zip(&names)
            .map(|(value, name)| value.alias(*name));
        let nothing = Arc::new(LogicalPlanBuilder::empty(true).build()?);
        let projection = Projection::try_new(columns.collect(), nothing)?;
        Ok(Arc::new(LogicalPlan::Projection(projection)))
    };
    let mut rows = values
        .values
        .into_iter()
        .map(row)
        .collect::<DataFusionResult<Vec<_>>>()?;
    let plan = match rows.len() {
        0 => return Err(DataFusionError::Internal("VALUES has rows".to_string())),
        1 => Arc::unwrap_or_clone(rows.remove(0)),
        _ => LogicalPlan::Union(Union::try_new_with_loose_types(rows)?),
    };
    Ok(Transformed::yes(plan))
}
