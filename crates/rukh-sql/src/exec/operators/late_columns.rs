//! ORDER BY … LIMIT over computed columns: rows are sorted first, and columns computed of those that are left.
//!
//! DataFusion computes the select list and sorts after it, of all rows. PostgreSQL computes what the sort does not
//! need after it, and so do we: of ten rows, not of ten million, and the scan below reads the first rows
//! without a projection in between.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use rukh_walk::Tree;

use super::delegated::with_children;
use super::rule::physical_rule;

/// Moves projections above the sorts of a few rows. Runs behind the rule that pushes projections down, and before
/// sorts pass to those below which rows they still want.
#[derive(Debug)]
pub(crate) struct LateColumns;

physical_rule!(LateColumns, "late_columns", |plan, _| {
    plan.turn_down(&mut |node| {
        Ok(match computed_late(&node)? {
            Some(late) => Transformed::yes(late),
            None => Transformed::no(node),
        })
    })
    .data()
});

/// Returns a sort of a few rows of computed columns as a projection of sorted rows, if it computes columns that
/// it does not sort by. Volatile functions are evaluated as often as before.
fn computed_late(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = node.downcast_ref::<SortExec>() else {
        return Ok(None);
    };
    let (Some(_), Some(projection)) = (sort.fetch(), sort.input().downcast_ref::<ProjectionExec>()) else {
        return Ok(None);
    };
    let sorted_by = |at: usize| {
        let mut columns = sort
            .expr()
            .iter()
            .filter_map(|key| key.expr.downcast_ref::<Column>());
        columns.any(|column| column.index() == at)
    };
    let mut late = projection.expr().iter().enumerate();
    let computes = late.any(|(at, column)| !column.expr.is::<Column>() && !sorted_by(at));
    if !computes || projection.expr().iter().any(|column| is_volatile(&column.expr)) {
        return Ok(None);
    }
    let below = |key: &PhysicalSortExpr| {
        let column = key.expr.downcast_ref::<Column>()?;
        let expr = projection.expr().get(column.index())?.expr.clone();
        let options = key.options;
        Some(PhysicalSortExpr { expr, options })
    };
    let keys = sort.expr().iter().map(below).collect::<Option<Vec<_>>>();
    let Some(order) = keys.and_then(LexOrdering::new) else {
        return Ok(None);
    };
    let sorted = SortExec::new(order, projection.input().clone())
        .with_fetch(sort.fetch())
        .with_preserve_partitioning(sort.preserve_partitioning());
    with_children(sort.input(), vec![Arc::new(sorted)]).map(Some)
}
