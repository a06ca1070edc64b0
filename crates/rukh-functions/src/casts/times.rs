//! Casts between dates, times, timestamps and intervals.
//!
//! | value                | cast to   | Arrow           | here, as in PostgreSQL |
//! |----------------------|-----------|-----------------|------------|
//! | `12:30` TIME         | INTERVAL  | has none        | `12:30:00` |
//! | `1 mon 2 days 25:00` | TIME      | has none        | `01:00:00`: months and days are dropped, and so are whole days of the time |
//! | `-03:00`             | TIME      | has none        | `21:00:00` |
//! | `infinity`           | DATE, TIMESTAMP, TIMESTAMPTZ | an error | `infinity` |
//! | `infinity`           | TIME      | an error        | NULL       |
//! | a year after 262142  | DATE      | an error        | the day    |
//! | a day after 294246   | TIMESTAMP | an error        | 22008, or where the two are compared what comes after all timestamps but `infinity` |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray, Time64MicrosecondArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Date32Type, Field, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, TIMESTAMP_MAX, date_of_timestamp, is_infinite_timestamp, timestamp_of_date};

use crate::forms::intervals::{INTERVAL, interval_of};

const TIME: ArrowType = ArrowType::Time64(TimeUnit::Microsecond);

/// Returns a cast between dates, times, timestamps and intervals; `None` of other casts.
pub fn cast_time(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    let to = match (&from, to) {
        (ArrowType::Time64(_), ArrowType::Interval(_)) => INTERVAL,
        (ArrowType::Interval(_), ArrowType::Time64(_)) => TIME,
        (from, to) if is_between_moments(from, to) => to.clone(),
        _ => return None,
    };
    if let Expr::Literal(value, _) = expr
        && is_between_moments(&from, &to)
        && let Ok(cast) = value.to_array().and_then(|values| converted(&values, &to, false))
    {
        return ScalarValue::try_from_array(&cast, 0)
            .ok()
            .map(|value| Expr::Literal(value, None));
    }
    let signature = Signature::exact(vec![from], Volatility::Immutable);
    let cast = TimeCast {
        to,
        signature,
        is_compared: false,
    };
    Some(ScalarUDF::from(cast).call(vec![expr.clone()]))
}

/// Returns one side of a comparison, of which a cast of dates to timestamps does not fail: they compare with timestamps, however late.
pub fn comparable(expr: Expr) -> Expr {
    match expr {
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<TimeCast>() {
            Some(cast) if matches!(cast.to, ArrowType::Timestamp(..)) => {
                let compared = TimeCast {
                    to: cast.to.clone(),
                    signature: cast.signature.clone(),
                    is_compared: true,
                };
                ScalarUDF::from(compared).call(call.args)
            }
            _ => Expr::ScalarFunction(call),
        },
        other => other,
    }
}

/// Whether a cast is one from a date or timestamp to another, or to a time of day.
fn is_between_moments(from: &ArrowType, to: &ArrowType) -> bool {
    let is_timestamp = |ty: &ArrowType| matches!(ty, ArrowType::Timestamp(TimeUnit::Microsecond, _));
    match to {
        to if from == to => false,
        ArrowType::Date32 | &TIME => is_timestamp(from),
        to => is_timestamp(to) && (*from == ArrowType::Date32 || is_timestamp(from)),
    }
}

/// Returns the type that a function casts to if it is one of these casts.
pub fn time_cast(function: &ScalarUDF) -> Option<&ArrowType> {
    let cast = function.inner().downcast_ref::<TimeCast>()?;
    Some(&cast.to)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeCast {
    to: ArrowType,
    signature: Signature,
    /// What it gives is compared, and not shown.
    is_compared: bool,
}

impl ScalarUDFImpl for TimeCast {
    fn name(&self) -> &str {
        match self.to {
            TIME => "as_time",
            ArrowType::Date32 => "as_date",
            ArrowType::Timestamp(_, None) => "as_timestamp",
            ArrowType::Timestamp(..) => "as_timestamptz",
            _ => "as_interval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.to.clone())
    }

    /// The field that DataFusion's cast has, which an optimised plan may compare it with.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let from = arguments.arg_fields.first();
        let may_be_null = from.is_none_or(|from| from.is_nullable()) || self.to == TIME;
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), may_be_null)))
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        let of = input.first().filter(|_| !matches!(self.to, TIME | INTERVAL));
        Ok(of.map_or(SortProperties::Unordered, |of| of.sort_properties))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = matches!(arguments.args.as_slice(), [ColumnarValue::Scalar(_)]);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [values] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!(
                "{} takes one value",
                self.name()
            )));
        };
        let cast = converted(values, &self.to, self.is_compared)?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cast, 0)?)),
            false => Ok(ColumnarValue::Array(cast)),
        }
    }
}

/// Casts values.
fn converted(values: &ArrayRef, to: &ArrowType, is_compared: bool) -> DataFusionResult<ArrayRef> {
    Ok(match (values.data_type(), to) {
        (ArrowType::Interval(_), _) => {
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
            let times = intervals.iter().map(|interval| interval.map(time_of));
            Arc::new(times.collect::<Time64MicrosecondArray>())
        }
        (ArrowType::Time64(_), _) => {
            let times = values.as_primitive::<Time64MicrosecondType>();
            let interval = |micros: i64| IntervalMonthDayNano {
                months: 0,
                days: 0,
                nanoseconds: micros.saturating_mul(1_000),
            };
            let intervals = times.iter().map(|time| time.map(interval));
            Arc::new(intervals.collect::<IntervalMonthDayNanoArray>())
        }
        (ArrowType::Date32, to) => {
            let beyond = || SqlError::statement("22008", "date out of range for timestamp");
            let dates = values.as_primitive::<Date32Type>();
            let moments = dates.try_unary::<_, TimestampMicrosecondType, SqlError>(|days| {
                match timestamp_of_date(days) {
                    None if is_compared => Ok(TIMESTAMP_MAX.saturating_add(1)),
                    moment => moment.ok_or_else(beyond),
                }
            });
            let moments = moments.map_err(|error| DataFusionError::External(Box::new(error)))?;
            Arc::new(moments.with_data_type(to.clone()))
        }
        (_, ArrowType::Date32) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            Arc::new(moments.unary::<_, Date32Type>(date_of_timestamp))
        }
        (_, &TIME) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            let time = |micros: i64| (!is_infinite_timestamp(micros)).then(|| micros.rem_euclid(DAY_MICROS));
            Arc::new(moments.unary_opt::<_, Time64MicrosecondType>(time))
        }
        (_, to) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            Arc::new(moments.clone().with_data_type(to.clone()))
        }
    })
}

/// The microseconds of the day that the time of an interval is at.
fn time_of(interval: IntervalMonthDayNano) -> i64 {
    interval_of(interval).micros.rem_euclid(DAY_MICROS)
}
