//! `date_trunc`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, IntervalMonthDayNanoArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DataType, Interval};
use rukh_planner::TimeUnit as Unit;

use crate::forms::intervals::{INTERVAL, arrow_of, interval_of};
use crate::functions::undefined::undefined_function;
use crate::types::arrow_type;

/// Returns the function, beside DataFusion's for other types.
pub fn beside(others: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(DateTrunc { others, signature }))
}

/// Returns the unit that `date_trunc` knows by this name.
pub fn time_unit(name: &str) -> Option<Unit> {
    Some(match name.to_ascii_lowercase().as_str() {
        "microsecond" | "microseconds" => Unit::Microsecond,
        "millisecond" | "milliseconds" => Unit::Millisecond,
        "second" => Unit::Second,
        "minute" => Unit::Minute,
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "quarter" => Unit::Quarter,
        "year" => Unit::Year,
        _ => return None,
    })
}

/// `date_trunc` of every timestamp that a column holds; DataFusion's is limited to the years of
/// nanoseconds in 64 bits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    others: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.others.name()
    }

    fn aliases(&self) -> &[String] {
        self.others.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let micros = |zone: &Option<Arc<str>>| ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone());
        match types {
            [unit, value] if unit.is_string() || unit.is_null() => {
                let value = match value {
                    ArrowType::Timestamp(_, zone) => micros(zone),
                    ArrowType::Time32(_) | ArrowType::Time64(_) => value.clone(),
                    ArrowType::Interval(_) => INTERVAL,
                    ArrowType::Date32 | ArrowType::Date64 | ArrowType::Null => {
                        arrow_type(&DataType::TIMESTAMP_TZ)
                    }
                    ty if ty.is_string() => arrow_type(&DataType::TIMESTAMP_TZ),
                    _ => return Err(undefined_function(self.name(), types)),
                };
                Ok(vec![ArrowType::Utf8, value])
            }
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [_, value] => Ok(value.clone()),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.others.output_ordering(input)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(name))),
            ColumnarValue::Array(values),
        ] = arguments.args.as_slice()
        else {
            return self.invoke_on_arrays(arguments);
        };
        if *values.data_type() == INTERVAL {
            let cut = cut_interval(name)?;
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>().iter();
            let intervals = intervals.map(|interval| {
                let cut = interval.map(|interval| arrow_of(cut(interval_of(interval))));
                cut.transpose()
            });
            let intervals: IntervalMonthDayNanoArray = intervals.collect::<DataFusionResult<_>>()?;
            return Ok(ColumnarValue::Array(Arc::new(intervals)));
        }
        let (ArrowType::Timestamp(TimeUnit::Microsecond, zone), Some(unit)) =
            (values.data_type(), time_unit(name))
        else {
            return self.others.invoke_with_args(arguments);
        };
        if zone
            .as_deref()
            .is_some_and(|zone| zone != "UTC" && zone != "+00:00")
        {
            return self.others.invoke_with_args(arguments);
        }
        let instants = values.as_primitive::<TimestampMicrosecondType>();
        let cut: TimestampMicrosecondArray = instants.unary(|micros| unit.truncate(micros));
        Ok(ColumnarValue::Array(Arc::new(
            cut.with_timezone_opt(zone.clone()),
        )))
    }
}

/// Returns what cuts intervals to a unit, all their parts towards 0. Fails with 22023 or 0A000 on units that intervals have not.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a part less its remainder by a constant is nearer to 0"
)]
fn cut_interval(unit: &str) -> DataFusionResult<Box<dyn Fn(Interval) -> Interval>> {
    const SECOND: i64 = 1_000_000;
    let months = |of: i32| -> Box<dyn Fn(Interval) -> Interval> {
        Box::new(move |interval| Interval {
            months: interval.months - interval.months % of,
            days: 0,
            micros: 0,
        })
    };
    let micros = |of: i64| -> Box<dyn Fn(Interval) -> Interval> {
        Box::new(move |interval| Interval {
            micros: interval.micros - interval.micros % of,
            ..interval
        })
    };
    Ok(match unit.to_ascii_lowercase().as_str() {
        "millennium" | "millennia" | "mil" | "mils" => months(12_000),
        "century" | "centuries" | "cent" | "c" => months(1_200),
        "decade" | "decades" | "dec" | "decs" => months(120),
        "year" | "years" | "yr" | "yrs" | "y" => months(12),
        "quarter" | "qtr" => months(3),
        "month" | "months" | "mon" | "mons" => months(1),
        "day" | "days" | "d" => Box::new(|interval| Interval {
            micros: 0,
            ..interval
        }),
        "hour" | "hours" | "hr" | "hrs" | "h" => micros(3_600 * SECOND),
        "minute" | "minutes" | "min" | "mins" | "m" => micros(60 * SECOND),
        "second" | "seconds" | "sec" | "secs" | "s" => micros(SECOND),
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => micros(1_000),
        "microsecond" | "microseconds" | "usec" | "usecs" | "us" => micros(1),
        other => {
            let mut error = SqlError::statement(
                "22023",
                format!("unit \"{unit}\" not recognized for type interval"),
            );
            if matches!(other, "week" | "weeks" | "w") {
                error = SqlError::statement(
                    "0A000",
                    format!("unit \"{unit}\" not supported for type interval"),
                )
                .with_detail("Months usually have fractional weeks.");
            }
            return Err(DataFusionError::External(Box::new(error)));
        }
    })
}

impl DateTrunc {
    /// A scalar goes the way of arrays: one rule for both.
    fn invoke_on_arrays(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(_))),
            ColumnarValue::Scalar(value),
        ] = arguments.args.as_slice()
        else {
            return self.others.invoke_with_args(arguments);
        };
        arguments.args[1] = ColumnarValue::Array(value.to_array()?);
        match self.invoke_with_args(arguments)? {
            ColumnarValue::Array(cut) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cut, 0)?)),
            scalar => Ok(scalar),
        }
    }
}
