//! `div(a, b)`: the integer quotient of two NUMERICs, cut towards zero.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, Decimal128Type, i256};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;

use crate::functions::undefined::undefined_function;

/// Digits of the greatest integer.
const DIGITS: u8 = 38;

/// Returns the function.
pub fn div() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(Div { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Div {
    signature: Signature,
}

impl ScalarUDFImpl for Div {
    fn name(&self) -> &str {
        "div"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let decimal = |ty: &ArrowType| match ty {
            ArrowType::Decimal128(..) => Some(ty.clone()),
            ty if ty.is_integer() || ty.is_null() => Some(ArrowType::Decimal128(20, 0)),
            _ => None,
        };
        let coerced: Option<Vec<ArrowType>> = types.iter().map(decimal).collect();
        let coerced = coerced.filter(|types| types.len() == 2);
        coerced.ok_or_else(|| undefined_function(self.name(), types))
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Decimal128(DIGITS, 0))
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
        let scales = (scale_of(left), scale_of(right));
        let pairs = left
            .as_primitive::<Decimal128Type>()
            .iter()
            .zip(right.as_primitive::<Decimal128Type>());
        let quotients = pairs.map(|pair| match pair {
            (Some(left), Some(right)) => quotient(left, right, scales).map(Some),
            _ => Ok(None),
        });
        let quotients = quotients.collect::<Result<Decimal128Array, SqlError>>();
        let quotients = quotients.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let quotients: ArrayRef = Arc::new(quotients.with_precision_and_scale(DIGITS, 0)?);
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&quotients, 0)?)),
            false => Ok(ColumnarValue::Array(quotients)),
        }
    }
}

fn scale_of(array: &ArrayRef) -> u32 {
    match array.data_type() {
        ArrowType::Decimal128(_, scale) => u32::try_from(*scale).unwrap_or(0),
        _ => 0,
    }
}

/// Divides with both at one scale: 256 bits hold 38 digits times 10^38.
fn quotient(left: i128, right: i128, scales: (u32, u32)) -> Result<i128, SqlError> {
    if right == 0 {
        return Err(SqlError::statement("22012", "division by zero"));
    }
    let wide = |value: i128, by: u32| {
        let factor = i256::from_i128(10).checked_pow(by)?;
        i256::from_i128(value).checked_mul(factor)
    };
    let common = scales.0.max(scales.1);
    let left = wide(left, common.saturating_sub(scales.0));
    let right = wide(right, common.saturating_sub(scales.1));
    let quotient = left
        .zip(right)
        .and_then(|(left, right)| left.checked_div(right)?.to_i128());
    let fits = |value: &i128| value.unsigned_abs() < 10_u128.pow(u32::from(DIGITS));
    quotient
        .filter(fits)
        .ok_or_else(|| SqlError::statement("22003", "numeric field overflow"))
}
