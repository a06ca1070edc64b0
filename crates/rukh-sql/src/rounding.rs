//! Rounding of floats as PostgreSQL does it: halves go to the even neighbour.
//!
//! Deliberately not here: decimals, whose halves go away from zero as DataFusion's do, and `round(x, n)`.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{AsArray, Float32Array, Float64Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef, Float32Type, Float64Type};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::math;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::functions::undefined_function;

/// Returns `round`, which gives floats to [`round_half_to_even`] and all else to DataFusion.
pub(crate) fn round() -> Arc<ScalarUDF> {
    let others = math::round();
    let signature = others.signature().clone();
    Arc::new(ScalarUDF::from(Round { others, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    others: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        self.others.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        self.others.return_type(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        self.others.return_field_from_args(arguments)
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.others.output_ordering(input)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.as_slice() {
            [one] if one.data_type().is_floating() => half_to_even(one),
            _ => self.others.invoke_with_args(arguments),
        }
    }
}

fn half_to_even(value: &ColumnarValue) -> DataFusionResult<ColumnarValue> {
    match value {
        ColumnarValue::Array(values) => {
            if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
                let whole: Float64Array = floats.unary(f64::round_ties_even);
                return Ok(ColumnarValue::Array(Arc::new(whole)));
            }
            let whole: Float32Array = values.as_primitive::<Float32Type>().unary(f32::round_ties_even);
            Ok(ColumnarValue::Array(Arc::new(whole)))
        }
        ColumnarValue::Scalar(ScalarValue::Float64(value)) => Ok(ColumnarValue::Scalar(
            ScalarValue::Float64(value.map(f64::round_ties_even)),
        )),
        ColumnarValue::Scalar(ScalarValue::Float32(value)) => Ok(ColumnarValue::Scalar(
            ScalarValue::Float32(value.map(f32::round_ties_even)),
        )),
        other => Err(undefined_function("round", &[other.data_type()])),
    }
}

/// Returns the function that rounds floats to whole numbers, halves to even ones.
pub(crate) fn round_half_to_even() -> Arc<ScalarUDF> {
    static RINT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::exact(vec![ArrowType::Float64], Volatility::Immutable);
        Arc::new(ScalarUDF::from(RoundHalfToEven { signature }))
    });
    RINT.clone()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundHalfToEven {
    signature: Signature,
}

impl ScalarUDFImpl for RoundHalfToEven {
    fn name(&self) -> &str {
        "rint"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(value) => half_to_even(value),
            None => Err(undefined_function(self.name(), &[])),
        }
    }
}
