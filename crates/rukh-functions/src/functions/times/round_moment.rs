//! `round_moment(t, n)`: a time or timestamp with `n` digits of a second's fraction, which a cast to `TIMESTAMP(n)` is spelled as.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Int64Type, TimeUnit};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum};

use crate::functions::common::undefined::undefined_function;

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
    let round = |at: usize, micros: i64| {
        let precision = u8::try_from(digits.value(at).clamp(0, 6)).unwrap_or(6);
        let (ty, moment) = match moments.data_type() {
            ArrowType::Time64(_) => (DataType::Time { precision }, Datum::Time(micros)),
            _ => (DataType::Timestamp { precision }, Datum::Timestamp(micros)),
        };
        match ty.check(moment) {
            Ok(Datum::Time(micros) | Datum::Timestamp(micros)) => Ok(Some(micros)),
            Ok(_) => Ok(None),
            Err(error) => Err(DataFusionError::External(Box::new(SqlError::from(error)))),
        }
    };
    let micros = cast(moments, &ArrowType::Int64)?;
    let pairs = micros.as_primitive::<Int64Type>().iter().zip(digits).enumerate();
    let values = pairs.map(|(at, pair)| match pair {
        (Some(micros), Some(_)) => round(at, micros),
        _ => Ok(None),
    });
    let values: Int64Array = values.collect::<DataFusionResult<_>>()?;
    Ok(cast(&values, moments.data_type())?)
}
