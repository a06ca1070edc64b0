//! Floats sort with one zero, as they compare: `-0` is put beside `0` by what is added to it. And aggregates sort by each key once.
//!
//! Arrow sorts -0 before 0. What is stored and read has no -0 (`rukh_keys`), so that columns of tables are sorted as they are, and by the
//! order of keys; products, quotients and functions of floats may have one.
//!
//! | written                                | becomes                     |
//! |----------------------------------------|-----------------------------|
//! | `ORDER BY a * b`, in windows and calls, too | `ORDER BY a * b + 0.0` |
//! | `ORDER BY a`, of a column of a table   | stays                       |
//! | `array_agg(x ORDER BY a, a DESC)`, `DISTINCT ON (a) … ORDER BY a, a DESC` | `ORDER BY a` |
//!
//! DataFusion's aggregates panic or fail where a key comes a second time, which decides nothing.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::{Cast, Sort as SortKey};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use rukh_functions::functions::numbers::arithmetic::operator_of;
use rukh_walk::{PlanTree, Tree};

/// Lets a node sort floats as above.
pub(crate) fn of_node(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    let inputs: Vec<LogicalPlan> = node.inputs().into_iter().cloned().collect();
    let [input] = inputs.as_slice() else {
        return Ok(Transformed::no(node));
    };
    match node {
        LogicalPlan::Sort(mut sort) => {
            let is_changed = sorted(&mut sort.expr, input);
            Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), is_changed))
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let is_changed = distinct
                .sort_expr
                .as_mut()
                .is_some_and(|keys| sorted_once(keys, input));
            let node = LogicalPlan::Distinct(Distinct::On(distinct));
            Ok(Transformed::new_transformed(node, is_changed))
        }
        LogicalPlan::Window(_) | LogicalPlan::Aggregate(_) => {
            let names = NamePreserver::new(&node);
            node.turn_expressions(&mut |expr| {
                let name = names.save(&expr);
                let sorted = expr.turn_up(&mut |mut part| {
                    let is_changed = match &mut part {
                        Expr::WindowFunction(call) => sorted(&mut call.params.order_by, input),
                        Expr::AggregateFunction(call) => sorted_once(&mut call.params.order_by, input),
                        _ => false,
                    };
                    Ok(Transformed::new_transformed(part, is_changed))
                })?;
                Ok(sorted.update_data(|expr| name.restore(expr)))
            })
        }
        other => Ok(Transformed::no(other)),
    }
}

/// As [`sorted`], without keys that come again.
fn sorted_once(keys: &mut Vec<SortKey>, input: &LogicalPlan) -> bool {
    let count = keys.len();
    let mut seen: Vec<Expr> = Vec::with_capacity(count);
    keys.retain(|key| {
        let is_new = !seen.contains(&key.expr);
        if is_new {
            seen.push(key.expr.clone());
        }
        is_new
    });
    sorted(keys, input) || keys.len() < count
}

/// Adds a zero to keys that may be -0; returns whether there are any.
fn sorted(keys: &mut [SortKey], input: &LogicalPlan) -> bool {
    let mut is_changed = false;
    for key in keys {
        let zero = match key.expr.get_type(input.schema()) {
            Ok(ArrowType::Float64) => ScalarValue::Float64(Some(0.0)),
            Ok(ArrowType::Float32) => ScalarValue::Float32(Some(0.0)),
            _ => continue,
        };
        if has_negative_zero(&key.expr, input) {
            key.expr = std::mem::take(&mut key.expr) + Expr::Literal(zero, None);
            is_changed = true;
        }
    }
    is_changed
}

/// Whether a float of the rows of a plan may be -0.
fn has_negative_zero(expr: &Expr, input: &LogicalPlan) -> bool {
    let of = |operand: &Expr| has_negative_zero(operand, input);
    let sum = |op: Operator, left: &Expr, right: &Expr| match op {
        Operator::Plus => of(left) && of(right),
        Operator::Minus => of(left),
        _ => true,
    };
    match expr {
        Expr::Alias(alias) => of(&alias.expr),
        Expr::Column(column) => is_computed(column, input),
        Expr::Literal(ScalarValue::Float64(value), _) => value.is_some_and(is_negative_zero),
        Expr::Literal(ScalarValue::Float32(value), _) => value.map(f64::from).is_some_and(is_negative_zero),
        Expr::Cast(Cast { expr, .. }) => {
            expr.get_type(input.schema()).is_ok_and(|ty| ty.is_floating()) && of(expr)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => sum(*op, left, right),
        Expr::ScalarFunction(call) => match (operator_of(&call.func), call.args.as_slice()) {
            (Some(op), [left, right]) => sum(op, left, right),
            _ => !matches!(call.func.name(), "abs" | "random"),
        },
        Expr::AggregateFunction(call) => match call.func.name() {
            "min" | "max" | "sum" | "avg" => call.params.args.iter().any(of),
            _ => true,
        },
        _ => true,
    }
}

fn is_negative_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// Whether a column is not one of a table, and may be -0.
fn is_computed(column: &Column, plan: &LogicalPlan) -> bool {
    let Ok(at) = plan.schema().index_of_column(column) else {
        return true;
    };
    let of_input = |column: &Column| {
        plan.inputs()
            .first()
            .is_none_or(|input| is_computed(column, input))
    };
    let of_expr =
        |expr: Option<&Expr>, input: &LogicalPlan| expr.is_none_or(|expr| has_negative_zero(expr, input));
    match plan {
        LogicalPlan::TableScan(_) => false,
        LogicalPlan::SubqueryAlias(alias) => {
            let (relation, field) = alias.input.schema().qualified_field(at);
            is_computed(&Column::from((relation, field)), &alias.input)
        }
        LogicalPlan::Projection(projection) => of_expr(projection.expr.get(at), &projection.input),
        LogicalPlan::Aggregate(aggregate) => {
            let exprs = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
            of_expr(exprs.clone().nth(at), &aggregate.input)
        }
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::Distinct(_) => {
            of_input(column)
        }
        LogicalPlan::Join(join) => match join.left.schema().has_column(column) {
            true => is_computed(column, &join.left),
            false => is_computed(column, &join.right),
        },
        _ => true,
    }
}
