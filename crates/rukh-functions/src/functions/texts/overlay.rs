//! `overlay(bytea PLACING bytea FROM n FOR m)` is bytea; DataFusion's makes text of it. Texts are DataFusion's.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BinaryBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::core;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;

use crate::functions::common::undefined::undefined_function;

/// Returns the function, which replaces DataFusion's.
pub fn overlay() -> Arc<ScalarUDF> {
    let texts = core::overlay();
    let of_bytes = |counts: usize| {
        let bytes = vec![ArrowType::Binary; 2];
        TypeSignature::Exact([bytes, vec![ArrowType::Int64; counts]].concat())
    };
    let signature = Signature::one_of(
        vec![of_bytes(1), of_bytes(2), texts.signature().type_signature.clone()],
        texts.signature().volatility,
    );
    Arc::new(ScalarUDF::from(Overlay { texts, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Overlay {
    texts: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for Overlay {
    fn name(&self) -> &str {
        self.texts.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ArrowType::Binary, ..] => Ok(ArrowType::Binary),
            _ => self.texts.return_type(types),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        if arguments.args.first().map(ColumnarValue::data_type) != Some(ArrowType::Binary) {
            return self.texts.invoke_with_args(arguments);
        }
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [whole, new, counts @ ..] = arrays.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let (whole, new) = (whole.as_binary::<i32>(), new.as_binary::<i32>());
        let counts = counts.iter().map(|counts| cast(counts, &ArrowType::Int64));
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        let mut made = BinaryBuilder::new();
        for row in 0..whole.len() {
            let is_null = whole.is_null(row) || new.is_null(row) || counts.iter().any(|of| of.is_null(row));
            let count = |at: usize| counts.get(at).map(|of| of.as_primitive::<Int64Type>().value(row));
            match (is_null, count(0)) {
                (false, Some(from)) => {
                    made.append_value(laid_over(whole.value(row), new.value(row), from, count(1))?)
                }
                _ => made.append_null(),
            }
        }
        let made = made.finish();
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(made))),
        }
    }
}

/// Puts `new` in the place of `count` bytes from the `from`th on, of as many as it has by default (`byteaoverlay` of PostgreSQL).
fn laid_over(whole: &[u8], new: &[u8], from: i64, count: Option<i64>) -> DataFusionResult<Vec<u8>> {
    let error = |state, message| DataFusionError::External(Box::new(SqlError::statement(state, message)));
    if from <= 0 {
        return Err(error("22011", "negative substring length not allowed"));
    }
    let before = from.saturating_sub(1);
    let after = before.saturating_add(count.unwrap_or(new.len() as i64));
    if i32::try_from(after).is_err() {
        return Err(error("22003", "integer out of range"));
    }
    let place = |at: i64| usize::try_from(at).unwrap_or(0).min(whole.len());
    Ok([&whole[..place(before)], new, &whole[place(after)..]].concat())
}
