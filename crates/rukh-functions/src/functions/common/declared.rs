//! `declared(value, 'type')`: gives the value, as one of a type that Arrow does not distinguish from another one: a UUID is a text to it.
//!
//! CASE, `coalesce` and their kin keep no word of it. And texts of several lengths are VARCHAR where they stand in one column.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};
use rukh_keys::DataType;

use crate::functions::common::undefined::undefined_function;
use crate::types::{TYPE_KEY, arrow_type, declared_text};

/// The name of the function.
pub const DECLARED: &str = "declared";

/// Returns the function.
pub fn declared() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Declared {
        signature: Signature::any(2, Volatility::Immutable),
    }))
}

/// Returns a value as one of a type.
pub fn declared_as(value: Expr, ty: &DataType) -> Expr {
    declared().call(vec![value, lit(ty.to_string())])
}

/// Returns the value that a call gives as one of a type; `None` of other expressions.
pub fn declared_value(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == DECLARED => args.first(),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Declared {
    signature: Signature,
}

fn missing() -> DataFusionError {
    DataFusionError::Internal(format!("{DECLARED} takes a value and the name of its type"))
}

impl ScalarUDFImpl for Declared {
    fn name(&self) -> &str {
        DECLARED
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        types.first().cloned().ok_or_else(missing)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let name = match arguments.scalar_arguments {
            [_, Some(name)] => name.try_as_str().flatten(),
            _ => None,
        };
        let (Some(field), Some(ty)) = (
            arguments.arg_fields.first(),
            name.and_then(|name| name.parse().ok()),
        ) else {
            let types = arguments.arg_fields.iter().map(|field| field.data_type().clone());
            return Err(undefined_function(DECLARED, &types.collect::<Vec<_>>()));
        };
        let ty: DataType = ty;
        let field = field.as_ref().clone();
        let field = match field.data_type().is_null() {
            true => field.with_data_type(arrow_type(&ty)),
            false => field,
        };
        let metadata = match ty {
            // What nothing is said of is a text.
            DataType::Varchar(None) => [].into(),
            ty => [(TYPE_KEY.to_string(), declared_text(&ty))].into(),
        };
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let value = arguments.args.into_iter().next().ok_or_else(missing)?;
        match value.data_type() == *arguments.return_field.data_type() {
            true => Ok(value),
            false => value.cast_to(arguments.return_field.data_type(), None),
        }
    }
}
