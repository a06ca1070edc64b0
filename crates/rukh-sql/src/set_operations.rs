//! `EXCEPT ALL` and `INTERSECT ALL` count: of m equal rows on the left and n on the right, `max(m - n, 0)` and
//! `min(m, n)` are left.
//!
//! DataFusion makes joins of both which look only whether there is an equal row. Here the equal rows of each side are
//! numbered, from 1 on, and the numbers compared, too: the k-th row on the left has an equal one if there are k on the
//! right. NULLs are equal, as DataFusion has them for all set operations.
//!
//! Without ALL the left side is made distinct before, and there is nothing to count.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, JoinType, NullEquality};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder, cast};

use rukh_error::HIDDEN;
use rukh_error::SqlError;

/// Has `EXCEPT ALL` and `INTERSECT ALL` of a plan count, those of subqueries too.
///
/// The plan is one that is not optimised yet: its only joins that take NULLs for equal are set operations.
pub(crate) fn counted(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let counted = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) if counts(&join) => Ok(Transformed::yes(numbered(join)?)),
        node => Ok(Transformed::no(node)),
    })?;
    Ok(counted.data)
}

/// Whether a join stands for a set operation with ALL.
fn counts(join: &Join) -> bool {
    let is_set_operation = matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none();
    is_set_operation && !matches!(join.left.as_ref(), LogicalPlan::Distinct(Distinct::All(_)))
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
    let types = common_types(join.left.schema(), join.right.schema());
    let left = with_number(&join.left, &types, "left")?;
    let right = with_number(&join.right, &types, "right")?;
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

/// Returns the types in which columns of both sides are compared, where it is not their own.
fn common_types(left: &DFSchema, right: &DFSchema) -> Vec<Option<ArrowType>> {
    let common = |(left, right): (&ArrowType, &ArrowType)| match (left, right) {
        (left, right) if left == right => None,
        (decimal, float) | (float, decimal) if decimal.is_decimal() && float.is_floating() => {
            Some(ArrowType::Float64)
        }
        (left, right) => type_union_coercion(left, right),
    };
    let types = |schema: &DFSchema| -> Vec<ArrowType> {
        schema
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect()
    };
    types(left).iter().zip(&types(right)).map(common).collect()
}

/// Adds to a side the number of each row among those equal to it.
fn with_number(side: &LogicalPlan, types: &[Option<ArrowType>], name: &str) -> DataFusionResult<LogicalPlan> {
    let columns = side.schema().columns().into_iter().map(Expr::Column);
    let keys = columns.zip(types).map(|(column, ty)| match ty {
        Some(ty) => cast(column, ty.clone()),
        None => column,
    });
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
