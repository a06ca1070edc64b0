//! Numbers as numbers of another type: casts and assignments give what PostgreSQL gives.
//!
//! | cast                     | Arrow                                  | here                             |
//! |--------------------------|----------------------------------------|----------------------------------|
//! | DECIMAL to DOUBLE, REAL  | divides, and is one bit off at times   | the nearest float                |

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float32Array, Float64Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, Decimal128Type, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, cast,
};
use rukh_keys::{decimal_to_double, decimal_to_real};

use crate::SqlError;
use crate::types::data_type_of_arrow;

/// Returns a cast to a type that gives what PostgreSQL's gives; `None` where DataFusion's does.
pub(crate) fn cast_number(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    is_own(&from, to).then(|| {
        let call = || ScalarUDF::from(NumberCast::new(to)).call(vec![expr.clone()]);
        match expr {
            // What fails does so when, and if, it is evaluated.
            Expr::Literal(value, _) => match converted_scalar(value, to) {
                Ok(value) => Expr::Literal(value, None),
                Err(_) => call(),
            },
            _ => call(),
        }
    })
}

/// Returns a decimal as DOUBLE.
pub(crate) fn double_of(decimal: &Expr, schema: &DFSchema) -> Expr {
    let to = ArrowType::Float64;
    cast_number(decimal, &to, schema).unwrap_or_else(|| cast(decimal.clone(), to))
}

/// Returns the type that a function casts to if it is one of these casts.
pub(crate) fn number_cast(function: &ScalarUDF) -> Option<&ArrowType> {
    let cast = function.inner().downcast_ref::<NumberCast>()?;
    Some(&cast.to)
}

/// Whether a cast is made here.
fn is_own(from: &ArrowType, to: &ArrowType) -> bool {
    match (from, to) {
        (ArrowType::Decimal128(_, scale), ArrowType::Float32 | ArrowType::Float64) => *scale >= 0,
        _ => false,
    }
}

/// Casts values; `None` where Arrow's cast gives what PostgreSQL's gives.
pub(crate) fn converted(values: &ArrayRef, to: &ArrowType) -> Result<Option<ArrayRef>, SqlError> {
    let from = values.data_type();
    if !is_own(from, to) {
        return Ok(None);
    }
    Ok(match (from, to) {
        (ArrowType::Decimal128(_, scale), ArrowType::Float64) => {
            let decimals = values.as_primitive::<Decimal128Type>();
            let doubles: Float64Array =
                decimals.unary(|value| decimal_to_double(value, scale.unsigned_abs()));
            Some(Arc::new(doubles))
        }
        (ArrowType::Decimal128(_, scale), ArrowType::Float32) => {
            let decimals = values.as_primitive::<Decimal128Type>();
            let reals: Float32Array = decimals.unary(|value| decimal_to_real(value, scale.unsigned_abs()));
            Some(Arc::new(reals))
        }
        _ => None,
    })
}

fn converted_scalar(value: &ScalarValue, to: &ArrowType) -> DataFusionResult<ScalarValue> {
    ScalarValue::try_from_array(&converted_array(&value.to_array()?, to)?, 0)
}

fn converted_array(values: &ArrayRef, to: &ArrowType) -> DataFusionResult<ArrayRef> {
    let converted = converted(values, to).map_err(|error| DataFusionError::External(Box::new(error)))?;
    converted.ok_or_else(|| {
        DataFusionError::Internal(format!("a cast of {} to {to} is Arrow's", values.data_type()))
    })
}

/// `x AS DOUBLE` and the like.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NumberCast {
    /// Tells casts to different types apart.
    name: String,
    to: ArrowType,
    signature: Signature,
}

impl NumberCast {
    fn new(to: &ArrowType) -> Self {
        NumberCast {
            name: format!("as_{}", data_type_of_arrow(to).to_string().to_lowercase()),
            to: to.clone(),
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for NumberCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.to.clone())
    }

    /// The field that DataFusion's cast has: plans that were made with that one hold on to it.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let from = arguments.arg_fields.first();
        let nullable = from.is_none_or(|from| from.is_nullable());
        let metadata = from.map(|from| from.metadata().clone()).unwrap_or_default();
        let field = Field::new(self.name(), self.to.clone(), nullable);
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    /// The order of numbers is kept.
    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        match input {
            [value] if value.range.data_type().is_numeric() => Ok(value.sort_properties),
            _ => Ok(SortProperties::Unordered),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [value] = arguments.args.as_slice() else {
            let message = format!("{} takes one argument", self.name);
            return Err(DataFusionError::Internal(message));
        };
        Ok(match value {
            ColumnarValue::Array(values) => ColumnarValue::Array(converted_array(values, &self.to)?),
            ColumnarValue::Scalar(value) => ColumnarValue::Scalar(converted_scalar(value, &self.to)?),
        })
    }
}
