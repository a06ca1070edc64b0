//! Values of a row as functions that are computed row by row take them.

use datafusion::common::ScalarValue;
use rukh_error::SqlError;

use crate::forms::numerics::NAN;
use crate::numbers::Number;

/// Computes a function of values none of which is NULL.
pub(crate) type Compute = fn(&[ScalarValue]) -> Result<ScalarValue, SqlError>;

pub(crate) fn int4(value: i64) -> ScalarValue {
    ScalarValue::Int32(i32::try_from(value).ok())
}

/// Returns an argument that is a float.
pub(crate) fn float(values: &[ScalarValue], at: usize) -> Result<f64, SqlError> {
    match values.get(at) {
        Some(ScalarValue::Float64(Some(value))) => Ok(*value),
        other => Err(SqlError::internal(format!("{other:?} is no DOUBLE"))),
    }
}

/// Returns an argument that is an integer.
pub(crate) fn integer(values: &[ScalarValue], at: usize) -> Result<i64, SqlError> {
    match values.get(at) {
        Some(ScalarValue::Int16(Some(value))) => Ok(i64::from(*value)),
        Some(ScalarValue::Int32(Some(value))) => Ok(i64::from(*value)),
        Some(ScalarValue::Int64(Some(value))) => Ok(*value),
        other => Err(SqlError::internal(format!("{other:?} is no integer"))),
    }
}

/// Returns an argument that is a NUMERIC; `None` of NaN.
pub(crate) fn number(values: &[ScalarValue], at: usize) -> Result<Option<Number>, SqlError> {
    match values.get(at) {
        Some(ScalarValue::Decimal128(Some(value), _, scale)) => Ok(Some(Number::of_i128(*value, *scale))),
        Some(ScalarValue::Decimal256(Some(value), _, scale)) => {
            Ok((*value != NAN).then(|| Number::of_i256(*value, *scale)))
        }
        other => Err(SqlError::internal(format!("{other:?} is no NUMERIC"))),
    }
}

/// Returns an argument that is a byte string.
pub(crate) fn bytes(values: &[ScalarValue], at: usize) -> Result<&[u8], SqlError> {
    match values.get(at) {
        Some(ScalarValue::Binary(Some(value)) | ScalarValue::LargeBinary(Some(value))) => Ok(value),
        other => Err(SqlError::internal(format!("{other:?} is no byte string"))),
    }
}
