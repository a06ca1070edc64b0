//! `to_uuid` and `to_uuids`, which casts to UUID and UUID[] are spelled as, and `gen_random_uuid`.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::string::uuid;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::DataType;

use crate::types::TYPE_KEY;

/// Name of the function that casts to UUID are spelled as.
pub const TO_UUID: &str = "to_uuid";

/// Name of the function that casts to UUID[] are spelled as.
pub const TO_UUIDS: &str = "to_uuids";

/// Returns both functions.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    let texts = ArrowType::new_list(ArrowType::Utf8, true);
    [(TO_UUID, ArrowType::Utf8), (TO_UUIDS, texts)].map(|(name, ty)| {
        let signature = Signature::exact(vec![ty.clone()], Volatility::Immutable);
        Arc::new(ScalarUDF::from(ToUuid { name, ty, signature }))
    })
}

/// Returns an array of texts as one of UUIDs.
pub fn uuids(texts: Expr) -> Expr {
    let [_, uuids] = functions();
    uuids.call(vec![texts])
}

/// The canonical form of a text that is a UUID, or of those of an array; fails with 22P02 on other text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ToUuid {
    name: &'static str,
    ty: ArrowType,
    signature: Signature,
}

impl ScalarUDFImpl for ToUuid {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.ty.clone())
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let is_nullable = |text: &FieldRef| text.is_nullable();
        Ok(uuid_field(
            self.name(),
            &self.ty,
            arguments.arg_fields.iter().any(is_nullable),
        ))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(ColumnarValue::Array(texts)) => Ok(ColumnarValue::Array(canonical(texts)?)),
            Some(ColumnarValue::Scalar(text)) => {
                let canonical = canonical(&text.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&canonical, 0)?))
            }
            None => Err(DataFusionError::Internal("to_uuid takes a text".to_string())),
        }
    }
}

/// A field of UUIDs, which are texts in Arrow, or of arrays of them.
fn uuid_field(name: &str, ty: &ArrowType, nullable: bool) -> FieldRef {
    let field = Field::new(name, ty.clone(), nullable);
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
        static ALIASES: LazyLock<[String; 2]> =
            LazyLock::new(|| ["uuid".to_string(), "uuid_generate_v4".to_string()]);
        ALIASES.as_slice()
    }

    fn signature(&self) -> &Signature {
        self.random.signature()
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(uuid_field(self.name(), &ArrowType::Utf8, false))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        self.random.invoke_with_args(arguments)
    }
}

fn canonical(values: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let Some(lists) = values.as_list_opt::<i32>() else {
        return canonical_uuids(values);
    };
    let (ArrowType::List(element), nulls) = (lists.data_type(), lists.nulls().cloned()) else {
        return canonical_uuids(values);
    };
    let uuids = canonical_uuids(lists.values())?;
    let lists = ListArray::try_new(element.clone(), lists.offsets().clone(), uuids, nulls)?;
    Ok(Arc::new(lists))
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
