//! `to_timestamp` as PostgreSQL has it: so many seconds after 1970, or what a text says by a pattern (`moment_input`), as a TIMESTAMPTZ.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Float64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_keys::{
    DataType, Datum, TIMESTAMP_INFINITY, TIMESTAMP_MAX, TIMESTAMP_MIN, TIMESTAMP_MINUS_INFINITY,
};

use crate::functions::common::undefined::undefined_function;
use crate::functions::times::moment_input;
use crate::types::arrow_type;
use rukh_error::SqlError;

/// Returns `to_timestamp` of a number.
pub fn to_timestamp() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(ToTimestamp { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToTimestamp {
    signature: Signature,
}

impl ScalarUDFImpl for ToTimestamp {
    fn name(&self) -> &str {
        "to_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [ty] if ty.is_numeric() => Ok(vec![ArrowType::Float64]),
            [text, pattern] if text.is_string() && pattern.is_string() => Ok(vec![ArrowType::Utf8; 2]),
            _ => Err(undefined_function("to_timestamp", types)),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(arrow_type(&DataType::TIMESTAMP_TZ))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let of_arrays = |arrays: &[ArrayRef]| match arrays {
            [seconds] => moments(seconds),
            [texts, patterns] => {
                let (texts, patterns) = (texts.as_string::<i32>(), patterns.as_string::<i32>());
                let read = |(text, pattern): (Option<&str>, Option<&str>)| {
                    let pair = text.zip(pattern);
                    pair.map(|(text, pattern)| checked(moment_input::read(text, pattern)?.0, text))
                        .transpose()
                };
                with_zone(texts.iter().zip(patterns).map(read).collect())
            }
            _ => Err(undefined_function("to_timestamp", &[])),
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
    }
}

/// Fails with 22008 on a moment, microseconds since 1970, that is out of the calendar.
fn checked(micros: i64, text: &str) -> Result<i64, SqlError> {
    match (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&micros) {
        true => Ok(micros),
        false => Err(SqlError::statement(
            "22008",
            format!("timestamp out of range: \"{text}\""),
        )),
    }
}

fn with_zone(micros: Result<TimestampMicrosecondArray, SqlError>) -> DataFusionResult<ArrayRef> {
    let micros = micros.map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(Arc::new(micros.with_timezone("UTC")))
}

fn moments(seconds: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let seconds = seconds.as_primitive::<Float64Type>();
    with_zone(seconds.iter().map(|one| one.map(moment).transpose()).collect())
}

/// Computes from 2000 on, as PostgreSQL does: halves of microseconds go to the even one.
#[expect(clippy::arithmetic_side_effects, reason = "a constant")]
fn moment(seconds: f64) -> Result<i64, SqlError> {
    const FROM_1970_TO_2000: f64 = 946_684_800.0;
    match seconds {
        f64::INFINITY => return Ok(TIMESTAMP_INFINITY),
        f64::NEG_INFINITY => return Ok(TIMESTAMP_MINUS_INFINITY),
        _ => {}
    }
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
