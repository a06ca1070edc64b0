//! `to_timestamp` of a number as PostgreSQL has it: so many seconds after 1970, as a TIMESTAMPTZ.
//!
//! DataFusion's knows the years of nanoseconds in 64 bits only, and gives a TIMESTAMP.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Float64Type};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::datetime;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::{DataType, Datum};

use crate::types::arrow_type;
use rukh_error::SqlError;

/// Returns `to_timestamp`: of a number as described above, of a text as in DataFusion.
pub fn to_timestamp() -> Arc<ScalarUDF> {
    Arc::new(beside(datetime::to_timestamp(&ConfigOptions::default())))
}

fn beside(others: Arc<ScalarUDF>) -> ScalarUDF {
    ScalarUDF::from(ToTimestamp {
        others,
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToTimestamp {
    others: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for ToTimestamp {
    fn name(&self) -> &str {
        self.others.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [ty] if ty.is_numeric() => Ok(vec![ArrowType::Float64]),
            _ => Ok(types.to_vec()),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ty] if ty.is_numeric() => Ok(arrow_type(&DataType::TIMESTAMP_TZ)),
            _ => self.others.return_type(types),
        }
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let others = self.others.inner().with_updated_config(config)?;
        Some(beside(Arc::new(others)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.as_slice() {
            [ColumnarValue::Array(seconds)] if *seconds.data_type() == ArrowType::Float64 => {
                Ok(ColumnarValue::Array(moments(seconds)?))
            }
            [ColumnarValue::Scalar(seconds)] if seconds.data_type() == ArrowType::Float64 => {
                let made = moments(&seconds.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?))
            }
            _ => self.others.invoke_with_args(arguments),
        }
    }
}

fn moments(seconds: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let seconds = seconds.as_primitive::<Float64Type>();
    let micros = seconds.iter().map(|one| one.map(moment).transpose());
    let micros = micros.collect::<Result<TimestampMicrosecondArray, SqlError>>();
    let micros = micros.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let ArrowType::Timestamp(_, zone) = arrow_type(&DataType::TIMESTAMP_TZ) else {
        return Err(DataFusionError::Internal("a moment is a timestamp".to_string()));
    };
    Ok(Arc::new(micros.with_timezone_opt(zone)))
}

/// Computes from 2000 on, as PostgreSQL does: halves of microseconds go to the even one.
#[expect(clippy::arithmetic_side_effects, reason = "a constant")]
fn moment(seconds: f64) -> Result<i64, SqlError> {
    const FROM_1970_TO_2000: f64 = 946_684_800.0;
    if seconds.is_nan() {
        return Err(SqlError::statement("22008", "timestamp cannot be NaN"));
    }
    let micros = ((seconds - FROM_1970_TO_2000) * 1e6).round_ties_even() as i128;
    // Infinity and what is near to it are the ends of 128 bits.
    let micros = micros.saturating_add(FROM_1970_TO_2000 as i128 * 1_000_000);
    let checked = i64::try_from(micros).map(Datum::Timestamp);
    let checked = checked
        .ok()
        .and_then(|datum| DataType::TIMESTAMP_TZ.check(datum).ok());
    match checked {
        Some(Datum::Timestamp(micros)) => Ok(micros),
        _ => {
            let message = format!("timestamp out of range: \"{seconds}\"");
            Err(SqlError::statement("22008", message))
        }
    }
}
