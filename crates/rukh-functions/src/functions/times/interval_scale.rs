//! `INTERVAL * number` and `INTERVAL / number`.
//!
//! Months, days and time are scaled each; what is left of a month becomes days of which it has 30, what is
//! left of a day becomes time (`interval_mul` of PostgreSQL).

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::errors::external;
use crate::forms::intervals::INTERVAL;
use rukh_error::SqlError;

/// Seconds of a day.
const DAY_SECONDS: f64 = 86_400.0;

/// Days of the part of a month.
const MONTH_DAYS: f64 = 30.0;

/// Returns the function that multiplies an interval by a number.
pub fn multiplied() -> &'static Arc<ScalarUDF> {
    &SCALED[0]
}

/// Returns the function that divides an interval by a number.
pub fn divided() -> &'static Arc<ScalarUDF> {
    &SCALED[1]
}

/// The functions that multiply and divide.
static SCALED: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
    [false, true].map(|divides| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Scaled { divides, signature }))
    })
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct Scaled {
    divides: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Scaled {
    fn name(&self) -> &str {
        match self.divides {
            false => "interval_multiply",
            true => "interval_divide",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, _: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        Ok(vec![INTERVAL, ArrowType::Float64])
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [intervals, factors] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!(
                "{} takes two arguments",
                self.name()
            )));
        };
        let factors = cast(factors, &ArrowType::Float64)?;
        let pairs = intervals
            .as_primitive::<IntervalMonthDayNanoType>()
            .iter()
            .zip(factors.as_primitive::<Float64Type>());
        let scaled = pairs.map(|(interval, factor)| match (interval, factor) {
            (Some(interval), Some(factor)) => scaled(interval, factor, self.divides).map(Some),
            _ => Ok(None),
        });
        let scaled: IntervalMonthDayNanoArray = scaled.collect::<Result<_, SqlError>>().map_err(external)?;
        let scaled: ArrayRef = Arc::new(scaled);
        Ok(match one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&scaled, 0)?),
            false => ColumnarValue::Array(scaled),
        })
    }
}

/// Returns an interval times a factor, or divided by it. Fails with 22012 for a division by zero, with 22008 out of range.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the value was compared with the ends of the type"
)]
pub fn scaled(
    interval: IntervalMonthDayNano,
    factor: f64,
    divides: bool,
) -> Result<IntervalMonthDayNano, SqlError> {
    if divides && factor == 0.0 {
        return Err(SqlError::statement("22012", "division by zero"));
    }
    let scaled = |part: f64| match divides {
        true => part / factor,
        false => part * factor,
    };
    let months = scaled(f64::from(interval.months));
    let month_days = (months.fract() * MONTH_DAYS * 1e6).round_ties_even() / 1e6;
    let days = scaled(f64::from(interval.days));
    let rest = days.fract() + month_days.fract();
    let rest = (rest * DAY_SECONDS * 1e6).round_ties_even() / 1e6;
    let carried = (rest / DAY_SECONDS).trunc();
    let micros = scaled(interval.nanoseconds as f64 / 1e3) + (rest - carried * DAY_SECONDS) * 1e6;
    let days = days.trunc() + month_days.trunc() + carried;
    let out_of_range = || SqlError::statement("22008", "interval out of range");
    let part = |value: f64| {
        let fits = value.is_finite() && value.abs() <= f64::from(i32::MAX);
        fits.then_some(value as i32).ok_or_else(out_of_range)
    };
    let nanoseconds = micros.round_ties_even() * 1e3;
    if !nanoseconds.is_finite() || nanoseconds.abs() >= i64::MAX as f64 {
        return Err(out_of_range());
    }
    Ok(IntervalMonthDayNano {
        months: part(months.trunc())?,
        days: part(days)?,
        nanoseconds: micros.round_ties_even() as i64 * 1_000,
    })
}
