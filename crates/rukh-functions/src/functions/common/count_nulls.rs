//! `num_nulls` and `num_nonnulls` of any values.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int32Array};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Returns the functions.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    [true, false].map(|nulls| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::from(CountNulls { nulls, signature }))
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CountNulls {
    /// Whether it is NULLs that count, or others.
    nulls: bool,
    signature: Signature,
}

impl ScalarUDFImpl for CountNulls {
    fn name(&self) -> &str {
        match self.nulls {
            true => "num_nulls",
            false => "num_nonnulls",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Int32)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_one = arguments.args.iter().all(is_scalar);
        let rows = if is_one { 1 } else { arguments.number_rows };
        let arrays = arguments.args.iter().map(|value| value.to_array(rows));
        let arrays: Vec<ArrayRef> = arrays.collect::<DataFusionResult<_>>()?;
        let nulls: Vec<_> = arrays.iter().map(|array| array.logical_nulls()).collect();
        let is_null = |of: &Option<_>, row| {
            of.as_ref()
                .is_some_and(|nulls: &datafusion::arrow::buffer::NullBuffer| nulls.is_null(row))
        };
        let count = |row| nulls.iter().filter(|of| is_null(of, row) == self.nulls).count();
        let counts: Int32Array = (0..rows).map(|row| i32::try_from(count(row)).ok()).collect();
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&counts, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(counts))),
        }
    }
}
