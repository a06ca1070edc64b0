//! `INTERVAL * number`, `number * INTERVAL` and `INTERVAL / number`, which DataFusion lacks, and what a literal
//! without a type is beside a moment or an interval.
//!
//! | written                       | the literal is read as          |
//! |-------------------------------|---------------------------------|
//! | `ts + '1 mon'`, `'1 mon' + ts`| INTERVAL, beside TIME too       |
//! | `ts - '2020-01-01'`           | the type of the other side      |
//! | `INTERVAL '1 day' + '1 hour'` | INTERVAL, in differences too    |
//! | `INTERVAL '1 day' = '1 day'`, `true = '1'` | the type of the other side |
//!
//! `timestamp - timestamp` is an interval, too, where DataFusion makes a Duration of it (`time_difference`).

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use crate::bind::spelling::rewrite::{IS_DISTINCT, IS_NOT_DISTINCT};
use crate::bind::types::bound_operators::{self, FirstUses};
use crate::bind::types::operators::{documents, networks};
use crate::bind::types::records;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, binary_expr, cast as cast_expr};
use datafusion::scalar::ScalarValue;
use rukh_functions::forms::intervals::INTERVAL;
use rukh_functions::functions::by_row::{self, SHIFTS};
use rukh_functions::functions::common::alike::make_array;
use rukh_functions::functions::common::exact::exact_function;
use rukh_functions::functions::lists::arrays::{contains, overlaps};
use rukh_functions::functions::numbers::arithmetic::checked;
use rukh_functions::functions::times::interval_scale::{divided, multiplied};
use rukh_functions::functions::times::moment_sum::is_day_sum;
use rukh_functions::functions::times::time_difference::time_difference;
use rukh_syntax::sqlparser::ast::BinaryOperator;

/// Plans operators whose operands DataFusion does not know together: of intervals, arrays, documents.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// Of the parameters of the statement that it plans.
    pub(crate) uses: Arc<FirstUses>,
}

impl ExprPlanner for Intervals {
    fn plan_array_literal(
        &self,
        elements: Vec<Expr>,
        schema: &DFSchema,
    ) -> DataFusionResult<PlannerResult<Vec<Expr>>> {
        let is_special = |element: &Expr| {
            let ty = element.get_type(schema);
            ty.is_ok_and(|ty| ty.is_null() || matches!(ty, ArrowType::FixedSizeBinary(_)))
        };
        Ok(match elements.iter().any(is_special) {
            true => PlannerResult::Planned(make_array().call(elements)),
            false => PlannerResult::Original(elements),
        })
    }

    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> DataFusionResult<PlannerResult<RawBinaryExpr>> {
        let op = distinct_of(&expr.op).or_else(|| operator(&expr.op));
        if let Some(op) = op
            && let Some(comparison) = records::comparison(&expr.left, op, &expr.right, schema)?
        {
            return Ok(PlannerResult::Planned(comparison));
        }
        if let Some(op) = distinct_of(&expr.op) {
            // Literals are what they are beside `=`.
            let equal = RawBinaryExpr {
                op: BinaryOperator::Eq,
                ..expr
            };
            let equal = bound_operators::with_parameter(equal, schema, &self.uses)?;
            let alike = bound_operators::typed(equal, schema)?;
            let of = |side: &Expr| side.get_type(schema).ok();
            let (left, right) = (of(&alike.left), of(&alike.right));
            let left_side = compared_with(alike.left, right.as_ref());
            let right_side = compared_with(alike.right, left.as_ref());
            let (left_side, right_side) = networks::alike(left_side, right_side, schema);
            return Ok(PlannerResult::Planned(binary_expr(left_side, op, right_side)));
        }
        let expr =
            bound_operators::typed(bound_operators::with_parameter(expr, schema, &self.uses)?, schema)?;
        if let Some(call) = documents::planned(&expr, schema).or_else(|| networks::planned(&expr, schema)) {
            return Ok(PlannerResult::Planned(call));
        }
        let of = |side: &Expr| side.get_type(schema).ok();
        let is_interval = |ty: &Option<ArrowType>| matches!(ty, Some(ArrowType::Interval(_)));
        let is_number =
            |ty: &Option<ArrowType>| ty.as_ref().is_some_and(|ty| ty.is_numeric() || ty.is_null());
        let is_list = |ty: &Option<ArrowType>| matches!(ty, Some(ArrowType::List(_)));
        let (left, right) = (of(&expr.left), of(&expr.right));
        let function = match expr.op {
            BinaryOperator::Plus | BinaryOperator::Minus => {
                let is_sum = expr.op == BinaryOperator::Plus;
                let (l, r) = (
                    read_beside(expr.left, right.as_ref(), is_sum),
                    read_beside(expr.right, left.as_ref(), is_sum),
                );
                let difference = match is_sum {
                    true => None,
                    false => of(&l).zip(of(&r)).and_then(|(l, r)| time_difference(&l, &r)),
                };
                let op = if is_sum { Operator::Plus } else { Operator::Minus };
                let counts_days = of(&l).zip(of(&r)).is_some_and(|(l, r)| is_day_sum(op, &l, &r));
                let function = difference.or_else(|| counts_days.then(|| checked(op)).flatten());
                return Ok(match function {
                    Some(function) => PlannerResult::Planned(function.call(vec![l, r])),
                    None => PlannerResult::Original(RawBinaryExpr {
                        op: expr.op,
                        left: l,
                        right: r,
                    }),
                });
            }
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => {
                let left_side = compared_with(expr.left, right.as_ref());
                let right_side = compared_with(expr.right, left.as_ref());
                let (left, right) = networks::alike(left_side, right_side, schema);
                return Ok(PlannerResult::Original(RawBinaryExpr {
                    op: expr.op,
                    left,
                    right,
                }));
            }
            BinaryOperator::AtArrow | BinaryOperator::ArrowAt | BinaryOperator::PGOverlap
                if is_list(&left) && is_list(&right) =>
            {
                let (function, arguments) = match expr.op {
                    BinaryOperator::ArrowAt => (contains(), vec![expr.right, expr.left]),
                    BinaryOperator::AtArrow => (contains(), vec![expr.left, expr.right]),
                    _ => (overlaps(), vec![expr.left, expr.right]),
                };
                return Ok(PlannerResult::Planned(function.call(arguments)));
            }
            BinaryOperator::PGBitwiseShiftLeft | BinaryOperator::PGBitwiseShiftRight
                if left == Some(ArrowType::Int16) && right.as_ref().is_some_and(ArrowType::is_integer) =>
            {
                let is_left = expr.op == BinaryOperator::PGBitwiseShiftLeft;
                let [shift_left, shift_right] = SHIFTS;
                let Some(function) = by_row::function(if is_left { shift_left } else { shift_right }) else {
                    return Ok(PlannerResult::Original(expr));
                };
                let arguments = vec![expr.left, cast_expr(expr.right, ArrowType::Int32)];
                return Ok(PlannerResult::Planned(function.call(arguments)));
            }
            BinaryOperator::Multiply => multiplied(),
            BinaryOperator::Divide => divided(),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let arguments = if is_interval(&left) && is_number(&right) {
            vec![expr.left, expr.right]
        } else if is_number(&left) && is_interval(&right) && expr.op == BinaryOperator::Multiply {
            vec![expr.right, expr.left]
        } else {
            let op = match expr.op {
                BinaryOperator::Multiply => Operator::Multiply,
                _ => Operator::Divide,
            };
            // What a parameter is follows from the operator's other side.
            let known = left
                .zip(right)
                .filter(|(left, right)| !left.is_null() && !right.is_null());
            let exact = known.and_then(|(left, right)| exact_function(op, &left, &right));
            return Ok(match exact {
                Some(function) => PlannerResult::Planned(function.call(vec![expr.left, expr.right])),
                None => PlannerResult::Original(expr),
            });
        };
        Ok(PlannerResult::Planned(function.call(arguments)))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> DataFusionResult<PlannerResult<RawFieldAccessExpr>> {
        Ok(match documents::subscript(&expr, schema) {
            Some(call) => PlannerResult::Planned(call),
            None => PlannerResult::Original(expr),
        })
    }
}

/// Returns the comparison that an operator is.
fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

/// Returns the operator that `rewrite` writes so.
fn distinct_of(op: &BinaryOperator) -> Option<Operator> {
    match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => match parts.as_slice() {
            [name] if name == IS_DISTINCT => Some(Operator::IsDistinctFrom),
            [name] if name == IS_NOT_DISTINCT => Some(Operator::IsNotDistinctFrom),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a text literal as one of the type that it is compared with, where DataFusion knows no comparison of the two.
fn compared_with(literal: Expr, other: Option<&ArrowType>) -> Expr {
    match other {
        Some(ty @ (ArrowType::Interval(_) | ArrowType::Boolean)) if is_text(&literal) => {
            cast_expr(literal, ty.clone())
        }
        Some(ty @ ArrowType::FixedSizeBinary(_)) if is_text(&literal) => {
            let ty = networks::type_beside(&literal, ty);
            cast_expr(literal, ty)
        }
        _ => literal,
    }
}

fn is_text(literal: &Expr) -> bool {
    matches!(
        literal,
        Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _)
    )
}

/// Returns a text literal as what it is in a sum or difference with a value of another type.
fn read_beside(literal: Expr, other: Option<&ArrowType>, is_sum: bool) -> Expr {
    let is_text = is_text(&literal);
    match other {
        Some(ArrowType::Interval(_)) if is_text => cast_expr(literal, INTERVAL),
        Some(ArrowType::Timestamp(..) | ArrowType::Time64(_) | ArrowType::Time32(_)) if is_text && is_sum => {
            cast_expr(literal, INTERVAL)
        }
        Some(
            ty @ (ArrowType::Timestamp(..) | ArrowType::Time64(_) | ArrowType::Time32(_) | ArrowType::Date32),
        ) if is_text && !is_sum => cast_expr(literal, ty.clone()),
        _ => literal,
    }
}
