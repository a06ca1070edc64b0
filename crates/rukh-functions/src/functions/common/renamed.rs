//! Functions of DataFusion under other names, where the name keeps what a statement wrote. Casts to VARCHAR(n) and CHAR(n) have these types.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::DataType;

use crate::casts::texts::{CAST_CHAR, CAST_VARCHAR};
use crate::types::{TYPE_KEY, arrow_type, data_type_of, declared_text};
use crate::usual::as_usual;

/// Returns a function under another name.
pub fn renamed(usual: Arc<ScalarUDF>, name: &'static str) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Renamed { usual, name }))
}

/// Returns the function that another one is under another name; `None` of those that have their own.
pub fn usual(function: &ScalarUDF) -> Option<&Arc<ScalarUDF>> {
    let renamed = function.inner().downcast_ref::<Renamed>()?;
    Some(&renamed.usual)
}

/// Returns the type that a cast to VARCHAR(n) or CHAR(n) gives; `None` of other functions.
fn cast_type(name: &str, arguments: &ReturnFieldArgs<'_>) -> Option<DataType> {
    match (name, arguments.arg_fields, arguments.scalar_arguments) {
        (CAST_VARCHAR, _, [_, Some(length)]) => match length.cast_to(&ArrowType::Int64).ok()? {
            ScalarValue::Int64(Some(length)) => Some(DataType::Varchar(Some(u32::try_from(length).ok()?))),
            _ => None,
        },
        // Its argument was cut to the length.
        (CAST_CHAR, [cut], _) => match data_type_of(cut) {
            DataType::Varchar(Some(length)) => Some(DataType::Char(length)),
            _ => None,
        },
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Renamed {
    usual: Arc<ScalarUDF>,
    name: &'static str,
}

impl ScalarUDFImpl for Renamed {
    as_usual!(signature coerce_types return_type is_strict);

    fn name(&self) -> &str {
        self.name
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let ty = cast_type(self.name, &arguments);
        let field = self.usual.return_field_from_args(arguments)?;
        Ok(match ty {
            Some(ty) if *field.data_type() == arrow_type(&ty) => {
                let metadata = [(TYPE_KEY.to_string(), declared_text(&ty))];
                Arc::new(field.as_ref().clone().with_metadata(metadata.into()))
            }
            _ => field,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        self.usual.invoke_with_args(arguments)
    }
}
