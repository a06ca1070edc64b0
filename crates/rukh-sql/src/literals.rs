//! Untyped string literals take the type of what they are compared with, as in PostgreSQL.
//!
//! `day >= '2015-10-01'` compares dates, `n = '5'` integers, and `n = 'five'` is an error that says so
//! (DataFusion would compare texts). Literals compared with UUIDs and CHARs get their stored form.

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{Cast, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use rukh_keys::DataType;

use crate::SqlError;
use crate::scalars::scalar_from_datum;
use crate::types::data_type_of;

/// Types the string literals of every comparison in the plan, subqueries included.
///
/// Fails with 22P02 or 22007 on a literal that its type cannot read.
pub(crate) fn type_literals(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let typed = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let typed = expr.transform_up(|expr| typed_expr(expr, &schema))?;
            Ok(typed.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(typed.data)
}

/// Types the string literals of one expression on the columns of `schema`.
pub(crate) fn typed_expression(expr: Expr, schema: &DFSchema) -> Result<Expr, SqlError> {
    Ok(expr.transform_up(|part| typed_expr(part, schema))?.data)
}

fn typed_expr(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let (new_left, new_right) = (retyped(&left, &right, schema)?, retyped(&right, &left, schema)?);
            let changed = new_left.is_some() || new_right.is_some();
            let left = new_left.map_or(left, Box::new);
            let right = new_right.map_or(right, Box::new);
            Ok(Transformed::new_transformed(
                Expr::BinaryExpr(BinaryExpr { left, op, right }),
                changed,
            ))
        }
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let low = retyped(&low, &expr, schema)?.map_or(low, Box::new);
            let high = retyped(&high, &expr, schema)?.map_or(high, Box::new);
            Ok(Transformed::yes(Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            })))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let list = list
                .into_iter()
                .map(|element| Ok(retyped(&element, &expr, schema)?.unwrap_or(element)))
                .collect::<DataFusionResult<Vec<_>>>()?;
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        Expr::Cast(Cast { expr, field }) if is_typed_time(field.data_type()) => {
            let read = literal_text(&expr)
                .map(|text| scalar_of_text(&data_type_of(&field), text))
                .transpose()?;
            let changed = read.is_some();
            let expr = read.map_or(expr, |value| Box::new(Expr::Literal(value, None)));
            Ok(Transformed::new_transformed(
                Expr::Cast(Cast { expr, field }),
                changed,
            ))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Returns whether a literal cast to the type is read by our rules: PostgreSQL's date and time syntax.
fn is_typed_time(arrow: &ArrowType) -> bool {
    matches!(
        arrow,
        ArrowType::Date32 | ArrowType::Time64(_) | ArrowType::Time32(_) | ArrowType::Timestamp(..)
    )
}

fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

fn scalar_of_text(ty: &DataType, text: &str) -> DataFusionResult<ScalarValue> {
    let datum = ty.parse_text(text);
    let datum = datum.map_err(|error| DataFusionError::External(Box::new(SqlError::from(error))))?;
    Ok(scalar_from_datum(&datum, ty))
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(
        op,
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

/// Returns `literal` in the type of `other`, or `None` when it stays as it is.
fn retyped(literal: &Expr, other: &Expr, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    let Some(text) = literal_text(literal) else {
        return Ok(None);
    };
    if matches!(other, Expr::Literal(..)) {
        return Ok(None);
    }
    let Ok((_, field)) = other.to_field(schema) else {
        return Ok(None);
    };
    let Some(ty) = target(&field, text) else {
        return Ok(None);
    };
    Ok(Some(Expr::Literal(scalar_of_text(&ty, text)?, None)))
}

/// Returns the type to read a literal in, or `None` when text is compared as text.
fn target(field: &FieldRef, text: &str) -> Option<DataType> {
    let arrow = field.data_type();
    match data_type_of(field) {
        DataType::Uuid => Some(DataType::Uuid),
        DataType::Char(_) => Some(DataType::Char(text.len().max(1) as u32)),
        DataType::Decimal { .. } => {
            let fraction = text.trim().split_once('.').map_or(0, |(_, digits)| digits.len());
            Some(DataType::Decimal {
                precision: 38,
                scale: fraction.min(37) as u8,
            })
        }
        ty if is_typed(arrow) => Some(ty),
        _ => None,
    }
}

fn is_typed(arrow: &ArrowType) -> bool {
    arrow.is_numeric() || arrow.is_binary() || *arrow == ArrowType::Boolean || is_typed_time(arrow)
}
