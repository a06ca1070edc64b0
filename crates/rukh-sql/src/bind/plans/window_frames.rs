//! Window frames over types that DataFusion has no ranges of: TIME, binary strings and rows.
//!
//! `OVER (ORDER BY t)` has by default the frame RANGE UNBOUNDED PRECEDING: all rows up to the last that is
//! equal to the present one. Without a distance in it that is what GROUPS UNBOUNDED PRECEDING says, which
//! needs no type to be subtracted. With a distance there is no other way to say it.
//!
//! Distances come from the tree as texts, which DataFusion casts to the type of the order: one that this type does not hold is none, so that
//! the frame has no end there. Here they are read as PostgreSQL reads them, or refused ([`distance`]).

use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

use rukh_error::SqlError;
use rukh_functions::forms::intervals::arrow_of;
use rukh_functions::types::{data_type_of_arrow, postgres_name};
use rukh_keys::Interval;

/// Frames a window function by groups where its ORDER BY has no ranges.
///
/// Fails with 0A000 on a frame that has a distance there.
pub(crate) fn framed(
    mut function: Box<WindowFunction>,
    schema: &DFSchema,
) -> DataFusionResult<Transformed<Expr>> {
    let frame = &function.params.window_frame;
    let first = function.params.order_by.first();
    let ty = first.and_then(|sort| sort.expr.get_type(schema).ok());
    let Some(ty) = ty.filter(|ty| frame.units == WindowFrameUnits::Range && has_no_ranges(ty)) else {
        return Ok(Transformed::no(Expr::WindowFunction(function)));
    };
    let is_plain =
        |bound: &WindowFrameBound| bound.is_unbounded() || matches!(bound, WindowFrameBound::CurrentRow);
    if !is_plain(&frame.start_bound) || !is_plain(&frame.end_bound) {
        let message = format!(
            "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
            postgres_name(&data_type_of_arrow(&ty))
        );
        return Err(DataFusionError::External(Box::new(SqlError::unsupported(
            message,
        ))));
    }
    function.params.window_frame = WindowFrame::new_bounds(
        WindowFrameUnits::Groups,
        frame.start_bound.clone(),
        frame.end_bound.clone(),
    );
    Ok(Transformed::yes(Expr::WindowFunction(function)))
}

fn has_no_ranges(ty: &ArrowType) -> bool {
    matches!(
        ty,
        ArrowType::Time32(_) | ArrowType::Time64(_) | ArrowType::Struct(_)
    ) || ty.is_binary()
}

/// Returns a distance of a frame in the type that it is added in; NULL, which is none, stays.
///
/// Fails with 22013 on a negative one, with 0A000 on one of another type than that of the order, and with 22P02 or 22007 on a text that is none.
pub(crate) fn distance(
    by: &ScalarValue,
    units: WindowFrameUnits,
    order: Option<&ArrowType>,
) -> DataFusionResult<ScalarValue> {
    let ty = match (units, order) {
        (WindowFrameUnits::Range, None) => return Ok(by.clone()),
        (WindowFrameUnits::Range, Some(order)) => order,
        _ => &ArrowType::UInt64,
    };
    let is_moment = matches!(
        ty,
        ArrowType::Date32 | ArrowType::Date64 | ArrowType::Timestamp(..) | ArrowType::Interval(_)
    );
    let target = match is_moment {
        true => &ArrowType::Interval(IntervalUnit::MonthDayNano),
        false => ty,
    };
    match by {
        ScalarValue::Utf8(Some(text)) => {
            let read = match is_moment {
                true => interval(text, ty),
                false => number(text, ty),
            };
            read.map_err(|error| DataFusionError::External(Box::new(error)))
        }
        none if none.is_null() => ScalarValue::try_from(target),
        by => Ok(by.clone()),
    }
}

fn negative() -> SqlError {
    let message = "invalid preceding or following size in window function";
    SqlError::statement("22013", message)
}

fn of_other_type(ty: &ArrowType, offset: &str) -> SqlError {
    let message = format!(
        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset type {offset}",
        postgres_name(&data_type_of_arrow(ty))
    );
    SqlError::unsupported(message).with_hint("Cast the offset value to an appropriate type.")
}

/// Reads a distance of moments and intervals.
fn interval(text: &str, ty: &ArrowType) -> Result<ScalarValue, SqlError> {
    if text.parse::<f64>().is_ok() {
        let offset = if text.parse::<i64>().is_ok() {
            "integer"
        } else {
            "numeric"
        };
        return Err(of_other_type(ty, offset));
    }
    let read = Interval::read(text).ok_or_else(|| {
        let message = format!("invalid input syntax for type interval: \"{text}\"");
        SqlError::statement("22007", message)
    })?;
    if read < Interval::default() {
        return Err(negative());
    }
    Ok(ScalarValue::IntervalMonthDayNano(Some(arrow_of(read)?)))
}

/// Reads a distance of numbers. A text without a unit comes as seconds.
fn number(text: &str, ty: &ArrowType) -> Result<ScalarValue, SqlError> {
    let number = text.strip_suffix(" seconds").unwrap_or(text);
    let invalid = || {
        let name = postgres_name(&data_type_of_arrow(ty));
        SqlError::statement(
            "22P02",
            format!("invalid input syntax for type {name}: \"{number}\""),
        )
    };
    let value = number.parse::<f64>().map_err(|_| invalid())?;
    if value < 0.0 || value.is_nan() {
        return Err(negative());
    }
    let digits = match ty {
        ArrowType::Decimal128(_, scale) | ArrowType::Decimal256(_, scale) => {
            // Values differ by multiples of their last digit, so that digits behind it make no difference.
            let plain = match number.contains(['e', 'E']) {
                true => value.to_string(),
                false => number.to_string(),
            };
            let places = usize::try_from(*scale).unwrap_or(0);
            match plain.split_once('.') {
                Some((whole, fraction)) => {
                    format!("{whole}.{}", &fraction[..fraction.len().min(places)])
                }
                None => plain,
            }
        }
        ty if ty.is_integer() && number.parse::<i64>().is_err() => return Err(of_other_type(ty, "numeric")),
        ty if ty.is_numeric() => number.to_string(),
        ty => return Err(of_other_type(ty, "unknown")),
    };
    ScalarValue::try_from_string(digits, ty).map_err(|_| {
        let name = postgres_name(&data_type_of_arrow(ty));
        SqlError::statement("22003", format!("{name} out of range"))
    })
}
