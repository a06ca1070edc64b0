//! `timestamp - timestamp` is an INTERVAL of days and time; DataFusion makes a Duration of it, which does not compare with
//! intervals and has no text past 292 years.
//!
//! | operands                       | here                                        |
//! |--------------------------------|---------------------------------------------|
//! | two of TIMESTAMP and DATE       | days and time, both of one sign              |
//! | one of them TIMESTAMPTZ          | the same, the other one read in the session's zone |
//! | two TIMEs                       | time                                        |
//!
//! Days of 24 hours are carried out of the time, as in `timestamp_mi` of PostgreSQL, but not out of a difference of TIMEs.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, IntervalMonthDayNano, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, DataType, Interval, is_infinite_timestamp};

use crate::forms::intervals::{INTERVAL, arrow_of, out_of_range};
use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;

/// Name of the function.
pub const TIME_DIFFERENCE: &str = "time_difference";

/// Returns the function of `left - right` for operands of these types, or `None` where the difference is no interval.
pub fn time_difference(left: &ArrowType, right: &ArrowType) -> Option<Arc<ScalarUDF>> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(TimeDifference { signature }))
    });
    common_type(left, right).map(|_| FUNCTION.clone())
}

/// Returns the type in which the two are subtracted.
fn common_type(left: &ArrowType, right: &ArrowType) -> Option<ArrowType> {
    use ArrowType::{Date32, Time32, Time64, Timestamp};
    match (left, right) {
        (Timestamp(_, Some(_)), Timestamp(..) | Date32)
        | (Timestamp(_, None) | Date32, Timestamp(_, Some(_))) => Some(arrow_type(&DataType::TIMESTAMP_TZ)),
        (Timestamp(_, None), Timestamp(_, None) | Date32) | (Date32, Timestamp(_, None)) => {
            Some(arrow_type(&DataType::TIMESTAMP))
        }
        (Time32(_) | Time64(_), Time32(_) | Time64(_)) => Some(ArrowType::Time64(TimeUnit::Microsecond)),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeDifference {
    signature: Signature,
}

impl ScalarUDFImpl for TimeDifference {
    fn name(&self) -> &str {
        TIME_DIFFERENCE
    }

    fn display_name(&self, args: &[Expr]) -> DataFusionResult<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> DataFusionResult<String> {
        match args {
            [left, right] => Ok(format!("{} - {}", left.schema_name(), right.schema_name())),
            _ => Ok(self.name().to_string()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let common = match types {
            [ArrowType::Null, other] | [other, ArrowType::Null] => common_type(other, other),
            [left, right] => common_type(left, right),
            _ => None,
        };
        match common {
            Some(common) => Ok(vec![common.clone(), common]),
            None => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(INTERVAL)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [left, right] = arrays.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let are_times = matches!(left.data_type(), ArrowType::Time64(_));
        let pairs = micros_of(left).into_iter().zip(micros_of(right));
        let differences = pairs.map(|pair| match pair {
            (Some(left), Some(right)) => difference(left, right, are_times).map(Some),
            _ => Ok(None),
        });
        let differences: IntervalMonthDayNanoArray = differences.collect::<DataFusionResult<_>>()?;
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &differences,
                0,
            )?)),
            false => Ok(ColumnarValue::Array(Arc::new(differences))),
        }
    }
}

/// The error of a difference of timestamps that are not both finite.
pub(crate) fn no_difference() -> SqlError {
    SqlError::statement("22008", "cannot subtract infinite timestamps")
}

fn micros_of(values: &ArrayRef) -> Vec<Option<i64>> {
    match values.data_type() {
        ArrowType::Time64(_) => values.as_primitive::<Time64MicrosecondType>().iter().collect(),
        _ => values.as_primitive::<TimestampMicrosecondType>().iter().collect(),
    }
}

fn difference(left: i64, right: i64, are_times: bool) -> DataFusionResult<IntervalMonthDayNano> {
    if !are_times && (is_infinite_timestamp(left) || is_infinite_timestamp(right)) {
        return Err(DataFusionError::External(Box::new(no_difference())));
    }
    let micros = left.checked_sub(right).ok_or_else(out_of_range)?;
    if are_times {
        return arrow_of(Interval {
            months: 0,
            days: 0,
            micros,
        });
    }
    let days = i32::try_from(micros / DAY_MICROS).map_err(|_| out_of_range())?;
    let micros = micros % DAY_MICROS;
    arrow_of(Interval {
        months: 0,
        days,
        micros,
    })
}
