//! `pg_typeof`.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::DataType;

use crate::functions::common::undefined::undefined_function;
use crate::types::{are_uuids, data_type_of, postgres_name_of};

/// Returns `pg_typeof(x)`: the name of a type, as text.
pub fn pg_typeof() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Stable);
    Arc::new(ScalarUDF::from(TypeOf { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [field] = arguments.arg_fields.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let declared = data_type_of(field);
        let name = match field.data_type() {
            _ if matches!(declared.element().unwrap_or(declared), DataType::Record(_)) => {
                declared.postgres_name()
            }
            ArrowType::Null => "unknown".to_string(),
            ArrowType::List(_) if are_uuids(field) => "uuid[]".to_string(),
            ArrowType::List(of) | ArrowType::LargeList(of) => {
                let mut of = of;
                while let ArrowType::List(inner) | ArrowType::LargeList(inner) = of.data_type() {
                    of = inner;
                }
                match of.data_type() {
                    ArrowType::Struct(_) => "record[]".to_string(),
                    _ => format!("{}[]", postgres_name_of(of)),
                }
            }
            ArrowType::Struct(_) => "record".to_string(),
            _ => postgres_name_of(field).to_string(),
        };
        Ok(ColumnarValue::Scalar(ScalarValue::from(name)))
    }
}
