//! `to_uuid`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::DataType;

/// Returns the function.
pub fn to_uuid() -> Arc<ScalarUDF> {
    let signature = Signature::exact(vec![ArrowType::Utf8], Volatility::Immutable);
    Arc::new(ScalarUDF::from(ToUuid { signature }))
}

/// `to_uuid(text)`: the canonical form of a UUID; fails with 22P02 on other text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ToUuid {
    signature: Signature,
}

impl ScalarUDFImpl for ToUuid {
    fn name(&self) -> &str {
        "to_uuid"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(ColumnarValue::Array(texts)) => Ok(ColumnarValue::Array(canonical_uuids(texts)?)),
            Some(ColumnarValue::Scalar(text)) => {
                let canonical = canonical_uuids(&text.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&canonical, 0)?))
            }
            None => Err(DataFusionError::Internal("to_uuid takes a text".to_string())),
        }
    }
}

fn canonical_uuids(texts: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let canonical = texts
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(canonical_uuid).transpose());
    Ok(Arc::new(canonical.collect::<DataFusionResult<StringArray>>()?))
}

fn canonical_uuid(text: &str) -> DataFusionResult<String> {
    match DataType::Uuid.parse_text(text) {
        Ok(datum) => Ok(DataType::Uuid.format_text(&datum)),
        Err(error) => Err(DataFusionError::External(Box::new(SqlError::from(error)))),
    }
}
