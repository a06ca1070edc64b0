//! `date_part` and EXTRACT: seconds with their fraction, and the fields that DataFusion lacks.
//!
//! | field                             | DataFusion     | here                                   |
//! |-----------------------------------|----------------|----------------------------------------|
//! | `second`, `millisecond`           | cut to INTEGER | DOUBLE, fraction and all               |
//! | `decade`, `century`, `millennium` | unknown        | INTEGER                                |
//! | `julian`                          | unknown        | DOUBLE: days, and what of the day is over |
//!
//! Of intervals every field is computed here: DataFusion's seconds and epochs have no fraction, and its hours count the days.
//! `epoch` of an interval counts 365.25 days a year, 30 days a month that is left over, and 24 hours a day.
//!
//! All else is DataFusion's: whole numbers are INTEGER, where PostgreSQL's EXTRACT gives NUMERIC and its `date_part`
//! DOUBLE PRECISION.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, FieldRef, Float64Type, Int32Type, IntervalMonthDayNanoType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::datetime;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;

use crate::forms::intervals::{INTERVAL, interval_of};
use crate::functions::undefined::undefined_function;
use rukh_error::SqlError;
use rukh_keys::Interval;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Seconds of a year of 365.25 days.
const YEAR: f64 = 31_557_600.0;

/// Microseconds of a minute.
const MINUTE_MICROS: i64 = 60_000_000;

/// The Julian day on which 1970 began.
const JULIAN_1970: f64 = 2_440_588.0;

/// Returns `date_part`, which replaces DataFusion's.
pub fn date_part() -> Arc<ScalarUDF> {
    let usual = datetime::date_part();
    Arc::new(ScalarUDF::from(DatePart { usual }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    usual: Arc<ScalarUDF>,
}

/// A field that is computed of another one of DataFusion's.
#[derive(Clone, Copy)]
enum Made {
    /// Of the microseconds of a minute: divided by so many.
    Fraction(f64),
    /// Of the year: so many years each.
    Years(i32),
    /// Of the seconds since 1970.
    Julian,
}

impl Made {
    fn of(field: &str) -> Option<Made> {
        Some(match field.to_ascii_lowercase().as_str() {
            "second" | "seconds" | "sec" | "secs" | "s" => Made::Fraction(1e6),
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Made::Fraction(1e3),
            "decade" | "decades" | "dec" | "decs" => Made::Years(10),
            "century" | "centuries" | "cent" | "c" => Made::Years(100),
            "millennium" | "millennia" | "mil" | "mils" => Made::Years(1000),
            "julian" => Made::Julian,
            _ => return None,
        })
    }

    fn base(self) -> &'static str {
        match self {
            Made::Fraction(_) => "microsecond",
            Made::Years(_) => "year",
            Made::Julian => "epoch",
        }
    }

    fn ty(self) -> ArrowType {
        match self {
            Made::Years(_) => ArrowType::Int32,
            _ => ArrowType::Float64,
        }
    }

    /// Computes the field of what DataFusion gives for its base.
    fn values(self, base: &ArrayRef) -> DataFusionResult<ArrayRef> {
        Ok(match self {
            Made::Fraction(micros) => {
                let base = cast(base, &ArrowType::Float64)?;
                let values: Float64Array = base.as_primitive::<Float64Type>().unary(|value| value / micros);
                Arc::new(values)
            }
            Made::Julian => {
                let base = cast(base, &ArrowType::Float64)?;
                let days = |seconds: f64| seconds / DAY + JULIAN_1970;
                let values: Float64Array = base.as_primitive::<Float64Type>().unary(days);
                Arc::new(values)
            }
            Made::Years(years) => {
                let base = cast(base, &ArrowType::Int32)?;
                let values: Int32Array = base
                    .as_primitive::<Int32Type>()
                    .unary(|year| span_of_years(year, years));
                Arc::new(values)
            }
        })
    }
}

/// A field of an interval.
#[derive(Clone, Copy)]
enum IntervalField {
    /// Whole numbers.
    Whole(fn(Interval) -> i64),
    /// Numbers with a fraction.
    Fraction(fn(Interval) -> f64),
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "quotients and remainders of parts by constants, and their products, which 64 bits hold"
)]
impl IntervalField {
    /// Returns the field of this name; `None` where intervals have none, such as days of the week.
    fn of(field: &str) -> Option<IntervalField> {
        use IntervalField::{Fraction, Whole};
        Some(match field.to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" | "usec" | "usecs" | "us" => {
                Whole(|interval| interval.micros % MINUTE_MICROS)
            }
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => {
                Fraction(|interval| (interval.micros % MINUTE_MICROS) as f64 / 1e3)
            }
            "second" | "seconds" | "sec" | "secs" | "s" => {
                Fraction(|interval| (interval.micros % MINUTE_MICROS) as f64 / 1e6)
            }
            "minute" | "minutes" | "min" | "mins" | "m" => {
                Whole(|interval| interval.micros / MINUTE_MICROS % 60)
            }
            "hour" | "hours" | "hr" | "hrs" | "h" => Whole(|interval| interval.micros / (60 * MINUTE_MICROS)),
            "day" | "days" | "d" => Whole(|interval| i64::from(interval.days)),
            "month" | "months" | "mon" | "mons" => Whole(|interval| i64::from(interval.months % 12)),
            "quarter" | "qtr" => Whole(|interval| i64::from(interval.months % 12 / 3 + 1)),
            "year" | "years" | "yr" | "yrs" | "y" => Whole(|interval| i64::from(interval.months / 12)),
            "decade" | "decades" | "dec" | "decs" => Whole(|interval| i64::from(interval.months / 120)),
            "century" | "centuries" | "cent" | "c" => Whole(|interval| i64::from(interval.months / 1_200)),
            "millennium" | "millennia" | "mil" | "mils" => {
                Whole(|interval| i64::from(interval.months / 12_000))
            }
            "epoch" => Fraction(|interval| {
                let years = f64::from(interval.months / 12) * YEAR;
                let days = f64::from(interval.months % 12) * 30.0 + f64::from(interval.days);
                years + days * DAY + interval.micros as f64 / 1e6
            }),
            _ => return None,
        })
    }

    fn ty(self) -> ArrowType {
        match self {
            IntervalField::Whole(_) => ArrowType::Int64,
            IntervalField::Fraction(_) => ArrowType::Float64,
        }
    }

    fn values(self, of: &ColumnarValue) -> DataFusionResult<ColumnarValue> {
        let intervals = cast(&of.to_array(1)?, &INTERVAL)?;
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        let values: ArrayRef = match self {
            IntervalField::Whole(field) => {
                let values: Int64Array = intervals.unary(|interval| field(interval_of(interval)));
                Arc::new(values)
            }
            IntervalField::Fraction(field) => {
                let values: Float64Array = intervals.unary(|interval| field(interval_of(interval)));
                Arc::new(values)
            }
        };
        match of {
            ColumnarValue::Scalar(_) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?)),
            ColumnarValue::Array(_) => Ok(ColumnarValue::Array(values)),
        }
    }
}

/// Tells in which decade (from 0), century or millennium (from 1) a year lies.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "years are those of dates, and the divisors are constants"
)]
fn span_of_years(year: i32, years: i32) -> i32 {
    match years {
        10 => year.div_euclid(10),
        _ if year > 0 => year.saturating_sub(1) / years + 1,
        _ => year / years - 1,
    }
}

fn name_of(value: Option<&ScalarValue>) -> Option<&str> {
    match value? {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Some(text),
        _ => None,
    }
}

/// Returns the field of this name of an interval. Fails with 22023 or 0A000 as PostgreSQL does.
fn interval_field(name: Option<&str>) -> DataFusionResult<IntervalField> {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    IntervalField::of(&name).ok_or_else(|| {
        let known = ["dow", "doy", "isodow", "isoyear", "julian", "timezone", "week"];
        let (state, what) = match known.contains(&name.as_str()) {
            true => ("0A000", "not supported"),
            false => ("22023", "not recognized"),
        };
        let message = format!("unit \"{name}\" {what} for type interval");
        DataFusionError::External(Box::new(SqlError::statement(state, message)))
    })
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        self.usual.name()
    }

    fn aliases(&self) -> &[String] {
        self.usual.aliases()
    }

    fn signature(&self) -> &Signature {
        self.usual.signature()
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        self.usual.coerce_types(types)
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Err(undefined_function(self.name(), types))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let name = name_of(arguments.scalar_arguments.first().copied().flatten());
        if let [_, of] = arguments.arg_fields
            && matches!(of.data_type(), ArrowType::Interval(_))
        {
            let ty = interval_field(name)?.ty();
            return Ok(Arc::new(Field::new(self.name(), ty, true)));
        }
        match name.and_then(Made::of) {
            Some(made) => Ok(Arc::new(Field::new(self.name(), made.ty(), true))),
            None => self.usual.return_field_from_args(arguments),
        }
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.usual.output_ordering(input)
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let name = match arguments.args.first() {
            Some(ColumnarValue::Scalar(field)) => name_of(Some(field)),
            _ => None,
        };
        if let [_, of] = arguments.args.as_slice()
            && matches!(of.data_type(), ArrowType::Interval(_))
        {
            return interval_field(name)?.values(of);
        }
        let made = name.and_then(Made::of);
        let (Some(made), [_, _]) = (made, arguments.args.as_slice()) else {
            return self.usual.invoke_with_args(arguments);
        };
        let base = ScalarValue::Utf8(Some(made.base().to_string()));
        let ty = match made {
            Made::Julian => ArrowType::Float64,
            _ => ArrowType::Int32,
        };
        arguments.args[0] = ColumnarValue::Scalar(base);
        arguments.return_field = Arc::new(Field::new(self.name(), ty, true));
        match self.usual.invoke_with_args(arguments)? {
            ColumnarValue::Array(base) => Ok(ColumnarValue::Array(made.values(&base)?)),
            ColumnarValue::Scalar(base) => {
                let values = made.values(&base.to_array()?)?;
                let value = ScalarValue::try_from_array(&values, 0)?;
                Ok(ColumnarValue::Scalar(value))
            }
        }
    }
}
