//! `date_part` and EXTRACT: seconds with their fraction, and the fields that DataFusion lacks.
//!
//! | field                             | DataFusion     | here                                   |
//! |-----------------------------------|----------------|----------------------------------------|
//! | `second`, `millisecond`           | cut to INTEGER | DOUBLE, fraction and all               |
//! | `decade`, `century`, `millennium` | unknown        | INTEGER                                |
//! | `julian`                          | unknown        | DOUBLE: days, and what of the day is over |
//!
//! All else is DataFusion's: whole numbers are INTEGER, where PostgreSQL's EXTRACT gives NUMERIC and its `date_part`
//! DOUBLE PRECISION.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, FieldRef, Float64Type, Int32Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::datetime;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;

use crate::functions::undefined::undefined_function;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

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

    /// Computes the field of what DataFusion gives for its base; of an interval's years there is no year 0 to skip.
    fn values(self, base: &ArrayRef, is_interval: bool) -> DataFusionResult<ArrayRef> {
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
                    .unary(|year| span_of_years(year, years, is_interval));
                Arc::new(values)
            }
        })
    }
}

/// The seconds of intervals, whose sign is that of the whole time; DataFusion's have no fraction.
fn fraction_of_intervals(of: &ColumnarValue, micros: f64) -> DataFusionResult<ColumnarValue> {
    let is_scalar = matches!(of, ColumnarValue::Scalar(_));
    let ty = ArrowType::Interval(IntervalUnit::MonthDayNano);
    let intervals = cast(&of.to_array(1)?, &ty)?;
    let seconds = |interval: IntervalMonthDayNano| (interval.nanoseconds / 1000 % 60_000_000) as f64 / micros;
    let values: Float64Array = intervals
        .as_primitive::<IntervalMonthDayNanoType>()
        .unary(seconds);
    match is_scalar {
        true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?)),
        false => Ok(ColumnarValue::Array(Arc::new(values))),
    }
}

/// Tells in which decade (from 0), century or millennium (from 1) a year lies.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "years are those of dates, and the divisors are constants"
)]
fn span_of_years(year: i32, years: i32, is_interval: bool) -> i32 {
    match (is_interval, years) {
        (true, _) => year / years,
        (_, 10) => year.div_euclid(10),
        _ if year > 0 => year.saturating_sub(1) / years + 1,
        _ => year / years - 1,
    }
}

fn field_of(value: Option<&ScalarValue>) -> Option<Made> {
    match value? {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Made::of(text),
        _ => None,
    }
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
        match field_of(arguments.scalar_arguments.first().copied().flatten()) {
            Some(made) => Ok(Arc::new(Field::new(self.name(), made.ty(), true))),
            None => self.usual.return_field_from_args(arguments),
        }
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.usual.output_ordering(input)
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let made = match arguments.args.first() {
            Some(ColumnarValue::Scalar(field)) => field_of(Some(field)),
            _ => None,
        };
        let (Some(made), [_, of]) = (made, arguments.args.as_slice()) else {
            return self.usual.invoke_with_args(arguments);
        };
        let is_interval = matches!(of.data_type(), ArrowType::Interval(_));
        if let (true, Made::Fraction(micros)) = (is_interval, made) {
            return fraction_of_intervals(of, micros);
        }
        let base = ScalarValue::Utf8(Some(made.base().to_string()));
        let ty = match made {
            Made::Julian => ArrowType::Float64,
            _ => ArrowType::Int32,
        };
        arguments.args[0] = ColumnarValue::Scalar(base);
        arguments.return_field = Arc::new(Field::new(self.name(), ty, true));
        match self.usual.invoke_with_args(arguments)? {
            ColumnarValue::Array(base) => Ok(ColumnarValue::Array(made.values(&base, is_interval)?)),
            ColumnarValue::Scalar(base) => {
                let values = made.values(&base.to_array()?, is_interval)?;
                let value = ScalarValue::try_from_array(&values, 0)?;
                Ok(ColumnarValue::Scalar(value))
            }
        }
    }
}
