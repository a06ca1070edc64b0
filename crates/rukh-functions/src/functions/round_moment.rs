//! `round_moment(t, n)`: a time or timestamp with `n` digits of a second's fraction, which a cast to `TIMESTAMP(n)` is spelled as.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, ValueError};

use crate::functions::undefined::undefined_function;

/// Name of the function.
pub const ROUND_MOMENT: &str = "round_moment";

/// Returns the function. It rounds as columns of the type do.
pub fn round_moment() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(RoundMoment { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundMoment {
    signature: Signature,
}

impl ScalarUDFImpl for RoundMoment {
    fn name(&self) -> &str {
        ROUND_MOMENT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        use ArrowType::{Int64, Time64, Timestamp};
        match types {
            [
                moment @ (Timestamp(TimeUnit::Microsecond, _) | Time64(TimeUnit::Microsecond)),
                digits,
            ] if digits.is_integer() => Ok(vec![moment.clone(), Int64]),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        let moment = types.first().cloned();
        moment.ok_or_else(|| undefined_function(self.name(), types))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [moments, digits] = arrays.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let rounded = rounded(moments, digits)?;
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&rounded, 0)?)),
            false => Ok(ColumnarValue::Array(rounded)),
        }
    }
}

fn rounded(moments: &ArrayRef, digits: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let digits = digits.as_primitive::<Int64Type>();
    let precision = |at: usize| u8::try_from(digits.value(at).clamp(0, 6)).unwrap_or(6);
    let is_there = |at: &usize| moments.is_valid(*at) && digits.is_valid(*at);
    let all = 0..moments.len();
    let refused = |error: ValueError| DataFusionError::External(Box::new(SqlError::from(error)));
    if let Some(times) = moments.as_primitive_opt::<Time64MicrosecondType>() {
        let round = |at: usize| match (DataType::Time {
            precision: precision(at),
        })
        .check(Datum::Time(times.value(at)))
        {
            Ok(Datum::Time(time)) => Ok(Some(time)),
            Ok(_) => Ok(None),
            Err(error) => Err(refused(error)),
        };
        let values = all.map(|at| Some(at).filter(is_there).map_or(Ok(None), round));
        let values = values.collect::<DataFusionResult<Vec<Option<i64>>>>()?;
        return Ok(Arc::new(datafusion::arrow::array::Time64MicrosecondArray::from(
            values,
        )));
    }
    let times = moments.as_primitive::<TimestampMicrosecondType>();
    let round = |at: usize| {
        let ty = DataType::Timestamp {
            precision: precision(at),
        };
        match ty.check(Datum::Timestamp(times.value(at))) {
            Ok(Datum::Timestamp(time)) => Ok(Some(time)),
            Ok(_) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    };
    let values = all.map(|at| Some(at).filter(is_there).map_or(Ok(None), round));
    let values = values.collect::<DataFusionResult<Vec<Option<i64>>>>()?;
    let array = datafusion::arrow::array::TimestampMicrosecondArray::from(values);
    Ok(Arc::new(array.with_data_type(moments.data_type().clone())))
}
