//! What SQL has here and not in DataFusion: types of casts, and functions beside HASH.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast;
use rukh_keys::DataType;

use crate::SqlError;
use crate::statement::data_type;
use crate::types::arrow_type;

/// Returns the functions beside HASH: `to_uuid(text)`, and `gen_random_uuid()` as PostgreSQL names it.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let random = datafusion::functions::string::uuid().as_ref().clone();
    vec![
        Arc::new(ScalarUDF::from(ToUuid::default())),
        Arc::new(random.with_aliases(["gen_random_uuid"])),
    ]
}

/// Types in casts mean what they mean in CREATE TABLE: timestamps are microseconds, FLOAT is DOUBLE.
#[derive(Debug)]
pub(crate) struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> DataFusionResult<Option<FieldRef>> {
        match data_type(sql_type) {
            Ok(ty) => Ok(Some(Arc::new(Field::new("", arrow_type(&ty), true)))),
            Err(_) if is_of_results(sql_type) => Ok(None),
            Err(error) => Err(DataFusionError::External(Box::new(error))),
        }
    }
}

/// Whether only results have this type, not columns: DataFusion knows it.
fn is_of_results(sql_type: &ast::DataType) -> bool {
    matches!(
        sql_type,
        ast::DataType::Interval { .. } | ast::DataType::Array(_) | ast::DataType::Struct(..)
    )
}

/// `to_uuid(text)`: the canonical form of a UUID; fails with 22P02 on other text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ToUuid {
    signature: Signature,
}

impl Default for ToUuid {
    fn default() -> Self {
        ToUuid {
            signature: Signature::exact(vec![ArrowType::Utf8], Volatility::Immutable),
        }
    }
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
