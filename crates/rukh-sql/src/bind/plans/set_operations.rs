//! `EXCEPT ALL` and `INTERSECT ALL` count: of m equal rows on the left and n on the right, `max(m - n, 0)` and
//! `min(m, n)` are left.
//!
//! DataFusion makes joins of both which look only whether there is an equal row. Here the equal rows of each side are
//! numbered, from 1 on, and the numbers compared, too: the k-th row on the left has an equal one if there are k on the
//! right. NULLs are equal, as DataFusion has them for all set operations.
//!
//! Without ALL the left side is made distinct before, and there is nothing to count.
//!
//! Columns of several types get that which they have in common before they are compared, as those of UNION do.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder};

use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_walk::PlanTree;

use crate::bind::types::coercions::{converted, unified_fields};

/// Has `EXCEPT ALL` and `INTERSECT ALL` of a plan count, those of subqueries too.
///
/// The plan is one that is not optimised yet: its only joins that take NULLs for equal are set operations.
pub(crate) fn counted(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let counted = plan.turn_all_up(&mut |node| match node {
        LogicalPlan::Join(join) if is_set_operation(&join) => {
            let join = alike(join)?;
            Ok(Transformed::yes(match join.left.as_ref() {
                LogicalPlan::Distinct(Distinct::All(_)) => LogicalPlan::Join(join),
                _ => numbered(join)?,
            }))
        }
        node => Ok(Transformed::no(node)),
    })?;
    Ok(counted.data)
}

/// Whether a join stands for a set operation.
fn is_set_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
}

/// Gives the columns of both sides the types that they have in common.
fn alike(mut join: Join) -> DataFusionResult<Join> {
    let fields = join
        .left
        .schema()
        .fields()
        .iter()
        .zip(join.right.schema().fields());
    let types: Vec<Option<ArrowType>> = fields
        .map(|(left, right)| match left.data_type() == right.data_type() {
            true => None,
            false => unified_fields([(left, None), (right, None)].into_iter()),
        })
        .collect();
    if types.iter().all(Option::is_none) {
        return Ok(join);
    }
    let cast = |side: &Arc<LogicalPlan>| -> DataFusionResult<Arc<LogicalPlan>> {
        let schema = side.schema();
        let columns = schema.iter().zip(&types).map(|((qualifier, field), ty)| {
            let column = Expr::Column(Column::from((qualifier, field)));
            match ty {
                None => Ok(column),
                Some(ty) => {
                    let typed = converted(column, ty, schema)?;
                    Ok(typed.alias_qualified(qualifier.cloned(), field.name()))
                }
            }
        });
        let columns = columns.collect::<DataFusionResult<Vec<_>>>()?;
        let projected = LogicalPlanBuilder::from(side.as_ref().clone()).project(columns)?;
        Ok(Arc::new(projected.build()?))
    };
    let left = match join.left.as_ref() {
        LogicalPlan::Distinct(Distinct::All(input)) => {
            Arc::new(LogicalPlan::Distinct(Distinct::All(cast(input)?)))
        }
        _ => cast(&join.left)?,
    };
    join = Join::try_new(
        left,
        cast(&join.right)?,
        join.on,
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    Ok(join)
}

/// Numbers equal rows on both sides, and joins by their numbers, too.
fn numbered(join: Join) -> DataFusionResult<LogicalPlan> {
    let columns: Vec<Expr> = join
        .left
        .schema()
        .columns()
        .into_iter()
        .map(Expr::Column)
        .collect();
    let left = with_number(&join.left, "left")?;
    let right = with_number(&join.right, "right")?;
    let mut on = join.on;
    on.push((number("left"), number("right")));
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    LogicalPlanBuilder::from(LogicalPlan::Join(joined))
        .project(columns)?
        .build()
}

/// Adds to a side the number of each row among those equal to it.
fn with_number(side: &LogicalPlan, name: &str) -> DataFusionResult<LogicalPlan> {
    let keys = side.schema().columns().into_iter().map(Expr::Column);
    let mut function = WindowFunction::new(row_number_udwf(), Vec::new());
    function.params.partition_by = keys.collect();
    let number = Expr::WindowFunction(Box::new(function)).alias(number_name(name));
    LogicalPlanBuilder::from(side.clone())
        .window(vec![number])?
        .build()
}

fn number(side: &str) -> Expr {
    Expr::Column(Column::new_unqualified(number_name(side)))
}

fn number_name(side: &str) -> String {
    format!("{side}{HIDDEN}nth")
}
