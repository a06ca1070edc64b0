//! The choice between joins by hash and joins of two inputs in one order.
//!
//! Where both inputs of a join come in the order of what it compares, as tables do that are keyed alike,
//! they can be read side by side: no hash table is needed, and no memory for it. It is slower than a hash
//! table for each row, so it is taken where the table would be large, and wherever hash tables are
//! switched off. Runs behind [`LookupJoins`](super::LookupJoins), before DataFusion sees to it that
//! inputs have the order they need: these have it, and nothing is sorted.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{JoinSide, JoinType};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, StatisticsArgs, StatisticsContext};
use rukh_walk::Tree;

use super::MergeJoinExec;
use crate::exec::operators::ScanExec;
use crate::exec::operators::rule::physical_rule;
use crate::exec::session_settings::settings::Methods;

/// Rows of the smaller side from which its hash table is too large: with 100 bytes each, 200 MB. More than
/// tables are taken to have of which nothing is known.
const LARGE_ROWS: usize = 2_000_000;

/// Replaces hash joins of inputs in one order by merges.
#[derive(Debug)]
pub(crate) struct MergeJoins;

physical_rule!(MergeJoins, "merge_joins", |plan, _| {
    plan.turn_up(&mut |node| {
        let merged = match node.downcast_ref::<HashJoinExec>() {
            Some(join) => merged(join)?,
            None => None,
        };
        Ok(merged.map_or_else(|| Transformed::no(node), Transformed::yes))
    })
    .data()
});

/// Returns a hash join as a merge, if its inputs are in order and that is the better way.
fn merged(join: &HashJoinExec) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let is_wanted = |methods: Methods, is_large: bool| methods.merge_join && (is_large || !methods.hash_join);
    let Some(methods) = methods_below(join.left()).or_else(|| methods_below(join.right())) else {
        return Ok(None);
    };
    let is_mark = matches!(join.join_type(), JoinType::LeftMark | JoinType::RightMark);
    // DataFusion's projections go below a merge and leave its condition with the places that columns had; the condition of an
    // inner join can stand above.
    let is_filtered_outer = join.filter().is_some() && *join.join_type() != JoinType::Inner;
    if join.null_aware || is_mark || is_filtered_outer || !is_wanted(methods, is_large(join)?) {
        return Ok(None);
    }
    let Some((on, options)) = common_order(join)? else {
        return Ok(None);
    };
    let merge = SortMergeJoinExec::try_new(
        join.left().clone(),
        join.right().clone(),
        on,
        None,
        *join.join_type(),
        options,
        join.null_equality(),
    )?;
    let merge: Arc<dyn ExecutionPlan> = Arc::new(MergeJoinExec::new(merge)?);
    let merge: Arc<dyn ExecutionPlan> = match join.filter() {
        Some(filter) => Arc::new(FilterExec::try_new(above(filter, join)?, merge)?),
        None => merge,
    };
    let Some(projection) = join.projection.as_ref() else {
        return Ok(Some(merge));
    };
    let schema = merge.schema();
    let column = |at: &usize| ProjectionExpr {
        expr: Arc::new(Column::new(schema.field(*at).name(), *at)),
        alias: schema.field(*at).name().clone(),
    };
    let columns: Vec<ProjectionExpr> = projection.iter().map(column).collect();
    Ok(Some(Arc::new(ProjectionExec::try_new(columns, merge)?)))
}

/// Returns the condition of an inner join as one on the rows that it gives.
fn above(filter: &JoinFilter, join: &HashJoinExec) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let width = join.left().schema().fields().len();
    let place = |of: &ColumnIndex| match of.side {
        JoinSide::Left => of.index,
        _ => width.saturating_add(of.index),
    };
    let moved = filter.expression().clone().turn_up(&mut |expr| {
        let Some(column) = expr.downcast_ref::<Column>() else {
            return Ok(Transformed::no(expr));
        };
        let at = place(&filter.column_indices()[column.index()]);
        let moved: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), at));
        Ok(Transformed::yes(moved))
    })?;
    Ok(moved.data)
}

/// What a join compares, in an order that both its inputs have, and the directions of that order.
type Order = (
    Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
    Vec<SortOptions>,
);

/// Returns the order that both inputs have of all that a join compares, if they have one.
fn common_order(join: &HashJoinExec) -> DataFusionResult<Option<Order>> {
    let Some(order) = join.left().output_ordering() else {
        return Ok(None);
    };
    let (mut on, mut options, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for sort in order.iter().take(join.on().len()) {
        let pair = join.on().iter().find(|(left, _)| left.eq(&sort.expr));
        let Some((left, of_right)) = pair else {
            return Ok(None);
        };
        // DataFusion distinguishes -0.0 from 0.0 where keys do not.
        if left.data_type(&join.left().schema())?.is_floating() {
            return Ok(None);
        }
        on.push((left.clone(), of_right.clone()));
        options.push(sort.options);
        right.push(PhysicalSortExpr {
            expr: of_right.clone(),
            options: sort.options,
        });
    }
    let is_all = on.len() == join.on().len() && !on.is_empty();
    let satisfied = is_all && join.right().equivalence_properties().ordering_satisfy(right)?;
    Ok(satisfied.then_some((on, options)))
}

/// Whether the hash table of a join would take much memory.
fn is_large(join: &HashJoinExec) -> DataFusionResult<bool> {
    let rows = |plan: &Arc<dyn ExecutionPlan>| {
        let known = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
        Ok::<_, datafusion::error::DataFusionError>(known.num_rows.get_value().copied().unwrap_or(0))
    };
    Ok(rows(join.left())?.min(rows(join.right())?) >= LARGE_ROWS)
}

/// Returns the ways of reading that the statement of a plan may take, if it reads a table.
fn methods_below(plan: &Arc<dyn ExecutionPlan>) -> Option<Methods> {
    match plan.downcast_ref::<ScanExec>() {
        Some(scan) => Some(scan.context().methods),
        None => plan.children().into_iter().find_map(methods_below),
    }
}
