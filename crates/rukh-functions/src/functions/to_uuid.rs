//! `to_uuid`, which casts to UUID are spelled as, and `gen_random_uuid`.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::string::uuid;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::DataType;

use crate::types::TYPE_KEY;

/// Name of the function that casts to UUID are spelled as.
pub const TO_UUID: &str = "to_uuid";

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
        TO_UUID
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let is_nullable = |text: &FieldRef| text.is_nullable();
        Ok(uuid_field(
            self.name(),
            arguments.arg_fields.iter().any(is_nullable),
        ))
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

/// A field of UUIDs, which are texts in Arrow.
fn uuid_field(name: &str, nullable: bool) -> FieldRef {
    let field = Field::new(name, ArrowType::Utf8, nullable);
    let metadata = [(TYPE_KEY.to_string(), DataType::Uuid.to_string())];
    Arc::new(field.with_metadata(metadata.into()))
}

/// Returns `gen_random_uuid()`: DataFusion's `uuid()`, whose values are UUIDs.
pub fn random_uuid() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(RandomUuid { random: uuid() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RandomUuid {
    random: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for RandomUuid {
    fn name(&self) -> &str {
        "gen_random_uuid"
    }

    fn aliases(&self) -> &[String] {
        static ALIASES: LazyLock<[String; 1]> = LazyLock::new(|| ["uuid".to_string()]);
        ALIASES.as_slice()
    }

    fn signature(&self) -> &Signature {
        self.random.signature()
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(uuid_field(self.name(), false))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        self.random.invoke_with_args(arguments)
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
