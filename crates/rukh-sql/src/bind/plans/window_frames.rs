//! Window frames over types that DataFusion has no ranges of: TIME, binary strings and rows.
//!
//! `OVER (ORDER BY t)` has by default the frame RANGE UNBOUNDED PRECEDING: all rows up to the last that is
//! equal to the present one. Without a distance in it that is what GROUPS UNBOUNDED PRECEDING says, which
//! needs no type to be subtracted. With a distance there is no other way to say it.
//!
//! Distances come from the tree as texts, which DataFusion casts to the type of the order: one that this type does not hold is none, so that
//! the frame has no end there. Here they are read as PostgreSQL reads them, or refused ([`distance`]).

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, Projection, Window, WindowFrame, WindowFrameBound, WindowFrameUnits,
    when,
};

use rukh_error::SqlError;
use rukh_functions::forms::intervals::arrow_of;
use rukh_functions::functions::numbers::frame_order::{
    frame_order, is_frame_order, is_infinite, type_with_room,
};
use rukh_functions::types::{data_type_of_arrow, postgres_name};
use rukh_keys::Interval;
use rukh_syntax::HIDDEN;

/// Frames a window function by groups where its ORDER BY has no ranges, and gives the order room for distances where it has.
///
/// Fails with 0A000 on a frame that has a distance where there are no ranges, and on DISTINCT in a frame that has a beginning; with the errors
/// of [`distance`].
pub(crate) fn framed(
    mut function: Box<WindowFunction>,
    schema: &DFSchema,
) -> DataFusionResult<Transformed<Expr>> {
    if function.params.distinct && !function.params.window_frame.start_bound.is_unbounded() {
        let error = SqlError::unsupported("DISTINCT is not implemented for window functions");
        return Err(DataFusionError::External(Box::new(error)));
    }
    let params = &mut function.params;
    let frame = &mut params.window_frame;
    let order = params.order_by.first_mut();
    let Some((order, ty)) =
        order.and_then(|sort| sort.expr.get_type(schema).ok().map(|ty| (&mut sort.expr, ty)))
    else {
        return Ok(Transformed::no(Expr::WindowFunction(function)));
    };
    let is_plain =
        |bound: &WindowFrameBound| bound.is_unbounded() || matches!(bound, WindowFrameBound::CurrentRow);
    let has_distance = !is_plain(&frame.start_bound) || !is_plain(&frame.end_bound);
    match (frame.units, has_no_ranges(&ty), has_distance) {
        (WindowFrameUnits::Range, true, true) => {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                postgres_name(&data_type_of_arrow(&ty))
            );
            Err(DataFusionError::External(Box::new(SqlError::unsupported(
                message,
            ))))
        }
        (WindowFrameUnits::Range, true, false) => {
            *frame = WindowFrame::new_bounds(
                WindowFrameUnits::Groups,
                frame.start_bound.clone(),
                frame.end_bound.clone(),
            );
            Ok(Transformed::yes(Expr::WindowFunction(function)))
        }
        (WindowFrameUnits::Range, false, true) if !is_frame_order(order) => {
            for bound in [&mut frame.start_bound, &mut frame.end_bound] {
                if let WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) = bound {
                    *by = distance(by, WindowFrameUnits::Range, Some(&ty))?;
                }
            }
            if let Some(roomy) = frame_order(order, &ty) {
                *order = roomy;
            }
            Ok(Transformed::yes(Expr::WindowFunction(function)))
        }
        _ => Ok(Transformed::no(Expr::WindowFunction(function))),
    }
}

/// Gives rows around infinity their frames: `infinity - INTERVAL '1 day'` is infinity, where a frame that has to end before it ends, too.
///
/// Only frames that lie on one side of their row need it. `f OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '1 day' PRECEDING)`
/// becomes `CASE WHEN d is infinite THEN f OVER (ORDER BY d GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) ELSE …` what it was.
pub(crate) fn around_infinity(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    let LogicalPlan::Window(window) = node else {
        return Ok(Transformed::no(node));
    };
    let schema = window.input.schema();
    let mut calls = window.window_expr.clone();
    // By the place of each call: whether its row is infinite, and the name of the call that it has there.
    let mut at_infinity = HashMap::new();
    for (at, call) in window.window_expr.iter().enumerate() {
        if let Some((is_infinite, framed)) = at_infinite_rows(call, schema) {
            let name = format!("infinite{HIDDEN}{at}");
            calls.push(framed.alias(&name));
            at_infinity.insert(schema.fields().len() + at, (is_infinite, name));
        }
    }
    if at_infinity.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let columns = window.schema.iter().enumerate();
    let shown = columns.map(|(at, (relation, field))| {
        let column = Expr::Column(Column::from((relation, field)));
        match at_infinity.remove(&at) {
            Some((is_infinite, name)) => {
                let there = Expr::Column(Column::new_unqualified(name));
                let chosen = when(is_infinite, there).otherwise(column)?;
                Ok(chosen.alias_qualified(relation.cloned(), field.name()))
            }
            None => Ok(column),
        }
    });
    let shown = shown.collect::<DataFusionResult<Vec<_>>>()?;
    let window = LogicalPlan::Window(Window::try_new(calls, window.input)?);
    let plan = Projection::try_new(shown, Arc::new(window))?;
    Ok(Transformed::yes(LogicalPlan::Projection(plan)))
}

/// Returns whether the row of a window function is infinite, and the function with the frame that it has there.
fn at_infinite_rows(call: &Expr, schema: &DFSchema) -> Option<(Expr, Expr)> {
    let Expr::WindowFunction(function) = call.clone().unalias() else {
        return None;
    };
    let order = &function.params.order_by.first()?.expr;
    let frame = &function.params.window_frame;
    let is_on_one_side = matches!(frame.end_bound, WindowFrameBound::Preceding(_))
        && !frame.end_bound.is_unbounded()
        || matches!(frame.start_bound, WindowFrameBound::Following(_)) && !frame.start_bound.is_unbounded();
    if frame.units != WindowFrameUnits::Range || !is_frame_order(order) || !is_on_one_side {
        return None;
    }
    let is_infinite = is_infinite(order, &order.get_type(schema).ok()?)?;
    let none = ScalarValue::UInt64(None);
    let there = |bound: &WindowFrameBound| match (bound.is_unbounded(), bound) {
        (true, WindowFrameBound::Preceding(_)) => WindowFrameBound::Preceding(none.clone()),
        (true, _) => WindowFrameBound::Following(none.clone()),
        (false, _) => WindowFrameBound::CurrentRow,
    };
    let (start, end) = (there(&frame.start_bound), there(&frame.end_bound));
    let mut there = function;
    there.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start, end);
    Some((is_infinite, Expr::WindowFunction(there)))
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
    if value.is_infinite() {
        let message = "infinity as the distance of a window frame is not supported";
        return Err(SqlError::unsupported(message));
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
        ty if ty.is_integer() => match number.parse::<i64>() {
            // Farther than any two of SMALLINT or INTEGER.
            Ok(number) if *ty != ArrowType::Int64 => number.min(1 << 40).to_string(),
            Ok(number) => number.to_string(),
            Err(_) => return Err(of_other_type(ty, "numeric")),
        },
        ty if ty.is_numeric() => number.to_string(),
        ty => return Err(of_other_type(ty, "unknown")),
    };
    let target = type_with_room(ty).unwrap_or_else(|| ty.clone());
    ScalarValue::try_from_string(digits, &target).map_err(|_| {
        let name = postgres_name(&data_type_of_arrow(ty));
        SqlError::statement("22003", format!("{name} out of range"))
    })
}
