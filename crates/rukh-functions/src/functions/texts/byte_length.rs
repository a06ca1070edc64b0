//! `octet_length` and `length` of byte strings.

use std::sync::Arc;

use datafusion::arrow::array::Array;
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::functions::common::undefined::undefined_function;

/// Returns DataFusion's function of texts, for byte strings too.
pub fn beside(texts: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(ByteLength { texts, signature }))
}

/// `octet_length` and `length` of byte strings, beside those of texts that DataFusion has.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ByteLength {
    texts: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for ByteLength {
    fn name(&self) -> &str {
        self.texts.name()
    }

    fn aliases(&self) -> &[String] {
        self.texts.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [ArrowType::Null] => Ok(vec![ArrowType::Utf8]),
            [ty] if ty.is_string() => Ok(vec![ty.clone()]),
            [ty] if ty.is_binary() => Ok(vec![ArrowType::Binary]),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ArrowType::Binary] => Ok(ArrowType::Int32),
            _ => self.texts.return_type(types),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(ColumnarValue::Array(values)) if *values.data_type() == ArrowType::Binary => {
                Ok(ColumnarValue::Array(length(values.as_ref())?))
            }
            Some(ColumnarValue::Scalar(ScalarValue::Binary(bytes))) => {
                let length = bytes.as_ref().map(|bytes| bytes.len() as i32);
                Ok(ColumnarValue::Scalar(ScalarValue::Int32(length)))
            }
            _ => self.texts.invoke_with_args(arguments),
        }
    }
}
