//! `date_trunc`.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, TimestampMicrosecondArray, new_null_array,
};
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
use rukh_keys::{DAY_MICROS, DataType, Interval, civil_from_days, days_from_civil, is_infinite_timestamp};
use rukh_planner::TimeUnit as Unit;

use crate::forms::intervals::{INTERVAL, arrow_of, interval_of};
use crate::functions::common::undefined::undefined_function;
use crate::functions::times::extract::Part;
use crate::types::{arrow_type, data_type_of_arrow, postgres_name};

/// Returns the function, beside DataFusion's for other types.
pub fn beside(others: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(DateTrunc { others, signature }))
}

/// Returns the unit that `date_trunc` knows by this name.
pub fn time_unit(name: &str) -> Option<Unit> {
    Some(match Part::of(name)? {
        Part::Microseconds => Unit::Microsecond,
        Part::Milliseconds => Unit::Millisecond,
        Part::Seconds => Unit::Second,
        Part::Minute => Unit::Minute,
        Part::Hour => Unit::Hour,
        Part::Day => Unit::Day,
        Part::Week => Unit::Week,
        Part::Month => Unit::Month,
        Part::Quarter => Unit::Quarter,
        Part::Year => Unit::Year,
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
            // In a zone, as it is planned; `bound_calls` spells it out.
            [unit, value, zone] if zone.is_string() => {
                let mut coerced = self.coerce_types(&[unit.clone(), value.clone()])?;
                coerced.push(ArrowType::Utf8);
                Ok(coerced)
            }
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
            [_, value] | [_, value, _] => Ok(value.clone()),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.others.output_ordering(input)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        if let Some(ColumnarValue::Array(values)) = arguments.args.get(1)
            && values.null_count() == values.len()
        {
            // Whatever the unit.
            return Ok(ColumnarValue::Array(new_null_array(
                arguments.return_type(),
                values.len(),
            )));
        }
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
            return longer(name, values);
        };
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
    Ok(match Part::of(unit) {
        Some(Part::Millennium) => months(12_000),
        Some(Part::Century) => months(1_200),
        Some(Part::Decade) => months(120),
        Some(Part::Year) => months(12),
        Some(Part::Quarter) => months(3),
        Some(Part::Month) => months(1),
        Some(Part::Day) => Box::new(|interval| Interval {
            micros: 0,
            ..interval
        }),
        Some(Part::Hour) => micros(3_600 * SECOND),
        Some(Part::Minute) => micros(60 * SECOND),
        Some(Part::Seconds) => micros(SECOND),
        Some(Part::Milliseconds) => micros(1_000),
        Some(Part::Microseconds) => micros(1),
        other => {
            let mut error = SqlError::statement(
                "22023",
                format!("unit \"{unit}\" not recognized for type interval"),
            );
            if other == Some(Part::Week) {
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

/// Cuts timestamps to decades and longer units.
fn longer(name: &str, values: &ArrayRef) -> DataFusionResult<ColumnarValue> {
    let years = match Part::of(name) {
        Some(Part::Decade) => 10,
        Some(Part::Century) => 100,
        Some(Part::Millennium) => 1_000,
        _ => {
            let ty = postgres_name(&data_type_of_arrow(values.data_type()));
            let message = format!(
                "unit \"{}\" not recognized for type {ty}",
                name.to_ascii_lowercase()
            );
            let error = SqlError::statement("22023", message);
            return Err(DataFusionError::External(Box::new(error)));
        }
    };
    let ArrowType::Timestamp(TimeUnit::Microsecond, zone) = values.data_type() else {
        return Err(undefined_function("date_trunc", &[values.data_type().clone()]));
    };
    let cut = |micros: i64| {
        if is_infinite_timestamp(micros) {
            return micros;
        }
        let year = civil_from_days(micros.div_euclid(DAY_MICROS)).0;
        // Decades begin with a year that ends in 0, centuries and millennia with one that ends in 1.
        let offset = i64::from(years > 10);
        let first = (year - offset).div_euclid(years) * years + offset;
        days_from_civil(first, 1, 1) * DAY_MICROS
    };
    let cut: TimestampMicrosecondArray = values.as_primitive::<TimestampMicrosecondType>().unary(cut);
    Ok(ColumnarValue::Array(Arc::new(
        cut.with_timezone_opt(zone.clone()),
    )))
}

impl DateTrunc {
    /// Takes the unit of each row, where it is a column.
    fn by_row(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [units, values] = arrays.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let null = ScalarValue::try_from(arguments.return_type())?;
        let units = units.as_string::<i32>();
        arguments.number_rows = 1;
        let mut cut = Vec::with_capacity(values.len());
        for row in 0..values.len() {
            if units.is_null(row) || values.is_null(row) {
                cut.push(null.clone());
                continue;
            }
            let unit = ScalarValue::from(units.value(row));
            let mut one = arguments.clone();
            one.args = vec![
                ColumnarValue::Scalar(unit),
                ColumnarValue::Array(values.slice(row, 1)),
            ];
            let value = self.invoke_with_args(one)?.to_array(1)?;
            cut.push(ScalarValue::try_from_array(&value, 0)?);
        }
        match cut.is_empty() {
            true => Ok(ColumnarValue::Array(null.to_array_of_size(0)?)),
            false => Ok(ColumnarValue::Array(ScalarValue::iter_to_array(cut)?)),
        }
    }

    /// A scalar goes the way of arrays: one rule for both.
    fn invoke_on_arrays(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(_))),
            ColumnarValue::Scalar(value),
        ] = arguments.args.as_slice()
        else {
            let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
            let is_one = arguments.args.iter().all(is_scalar);
            let cut = self.by_row(arguments)?;
            return match is_one {
                true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &cut.to_array(1)?,
                    0,
                )?)),
                false => Ok(cut),
            };
        };
        arguments.args[1] = ColumnarValue::Array(value.to_array()?);
        match self.invoke_with_args(arguments)? {
            ColumnarValue::Array(cut) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cut, 0)?)),
            scalar => Ok(scalar),
        }
    }
}
