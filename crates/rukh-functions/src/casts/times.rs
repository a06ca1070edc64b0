//! Casts between TIME and INTERVAL.
//!
//! | value                | cast to  | is         |
//! |----------------------|----------|------------|
//! | `12:30` TIME         | INTERVAL | `12:30:00` |
//! | `1 mon 2 days 25:00` | TIME     | `01:00:00`: months and days are dropped, and so are whole days of the time |
//! | `-03:00`             | TIME     | `21:00:00` |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray, Time64MicrosecondArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType, TimeUnit,
};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_keys::DAY_MICROS;

use crate::forms::intervals::{INTERVAL, interval_of};

const TIME: ArrowType = ArrowType::Time64(TimeUnit::Microsecond);

/// Returns a cast between TIME and INTERVAL; `None` of other casts.
pub fn cast_time(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    let to = match (&from, to) {
        (ArrowType::Time64(_), ArrowType::Interval(_)) => INTERVAL,
        (ArrowType::Interval(_), ArrowType::Time64(_)) => TIME,
        _ => return None,
    };
    let signature = Signature::exact(vec![from], Volatility::Immutable);
    Some(ScalarUDF::from(TimeCast { to, signature }).call(vec![expr.clone()]))
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
}

impl ScalarUDFImpl for TimeCast {
    fn name(&self) -> &str {
        match self.to {
            TIME => "as_time",
            _ => "as_interval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.to.clone())
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
        let cast: ArrayRef = match self.to {
            TIME => {
                let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
                let times = intervals.iter().map(|interval| interval.map(time_of));
                Arc::new(times.collect::<Time64MicrosecondArray>())
            }
            _ => {
                let times = values.as_primitive::<Time64MicrosecondType>();
                let interval = |micros: i64| IntervalMonthDayNano {
                    months: 0,
                    days: 0,
                    nanoseconds: micros.saturating_mul(1_000),
                };
                let intervals = times.iter().map(|time| time.map(interval));
                Arc::new(intervals.collect::<IntervalMonthDayNanoArray>())
            }
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cast, 0)?)),
            false => Ok(ColumnarValue::Array(cast)),
        }
    }
}

/// The microseconds of the day that the time of an interval is at.
fn time_of(interval: IntervalMonthDayNano) -> i64 {
    interval_of(interval).micros.rem_euclid(DAY_MICROS)
}
