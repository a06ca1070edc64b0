//! `hash`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BinaryBuilder};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Datum, hash_datum};

use crate::errors::external;
use crate::scalars::datums_from_array;
use crate::types::data_type_of_arrow;

/// Returns the function.
pub fn hash() -> Arc<ScalarUDF> {
    let signature = Signature::one_of(vec![TypeSignature::Any(2)], Volatility::Immutable);
    Arc::new(ScalarUDF::from(HashFunction { signature }))
}

/// `hash(value, n)`: the first 4, 8 or 16 bytes of the MD5 of a value, as keys hold it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct HashFunction {
    signature: Signature,
}

impl ScalarUDFImpl for HashFunction {
    fn name(&self) -> &str {
        "hash"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = args.number_rows;
        let bytes = match args.args.get(1) {
            Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(bytes @ (4 | 8 | 16))))) => *bytes as u8,
            _ => {
                return Err(external(SqlError::statement(
                    "22023",
                    "HASH takes 4, 8 or 16 bytes",
                )));
            }
        };
        let values = args.args[0].to_array(rows)?;
        Ok(ColumnarValue::Array(hashes(&values, bytes).map_err(external)?))
    }
}

fn hashes(values: &ArrayRef, bytes: u8) -> Result<ArrayRef, SqlError> {
    let ty = data_type_of_arrow(values.data_type());
    let mut hashes = BinaryBuilder::with_capacity(values.len(), values.len() * usize::from(bytes));
    for datum in datums_from_array(values, &ty)? {
        match hash_datum(&datum, bytes) {
            Datum::Bytes(hash) => hashes.append_value(hash),
            _ => hashes.append_null(),
        }
    }
    Ok(Arc::new(hashes.finish()))
}
