//! Casts between JSON and JSONB, and of JSONB to numbers and BOOLEAN.
//!
//! | value            | cast to | is                                                      |
//! |------------------|---------|---------------------------------------------------------|
//! | `{"a":1}` JSON   | JSONB   | its form                                                |
//! | `{"a": 1}` JSONB | JSON    | its text                                                |
//! | `1.5` JSONB      | INTEGER | `2`: the number is a NUMERIC, which is cast further      |
//! | `"1"` JSONB      | INTEGER | an error: `cannot cast jsonb string to type integer`     |
//! | `null` JSONB     | INTEGER | the same of `jsonb null`                                |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, LargeBinaryArray, LargeStringArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, Json, JsonError, Jsonb, JsonbKind};

use crate::batch::array_of;
use crate::types::{arrow_type, data_type_of_arrow, postgres_name};

/// Returns a cast of a document; `None` of other casts. One to a number gives a NUMERIC, which is to be cast further.
pub fn cast_document(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    let target = match (&from, to) {
        (ArrowType::LargeUtf8, ArrowType::LargeBinary) => Target::Jsonb,
        (ArrowType::LargeBinary, ArrowType::LargeUtf8) => Target::Json,
        (ArrowType::LargeBinary, ArrowType::Boolean) => Target::Boolean,
        (ArrowType::LargeBinary, to) if to.is_numeric() => {
            Target::Number(postgres_name(&data_type_of_arrow(to)))
        }
        _ => return None,
    };
    let signature = Signature::exact(vec![from], Volatility::Immutable);
    Some(ScalarUDF::from(DocumentCast { target, signature }).call(vec![expr.clone()]))
}

/// Returns the type that a function casts to if it is one of these casts.
pub fn document_cast(function: &ScalarUDF) -> Option<ArrowType> {
    let cast = function.inner().downcast_ref::<DocumentCast>()?;
    Some(cast.target.arrow())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    Json,
    Jsonb,
    Boolean,
    /// A type of numbers, by its name in messages.
    Number(&'static str),
}

impl Target {
    fn arrow(self) -> ArrowType {
        match self {
            Target::Json => ArrowType::LargeUtf8,
            Target::Jsonb => ArrowType::LargeBinary,
            Target::Boolean => ArrowType::Boolean,
            Target::Number(_) => arrow_type(&DataType::NUMERIC),
        }
    }

    fn refused(self, document: Jsonb<'_>) -> SqlError {
        let kind = match document.kind() {
            JsonbKind::Null => "null",
            JsonbKind::Bool(_) => "boolean",
            JsonbKind::Number => "numeric",
            JsonbKind::Text => "string",
            JsonbKind::Array => "array",
            JsonbKind::Object => "object",
        };
        let ty = match self {
            Target::Number(name) => name,
            _ => "boolean",
        };
        SqlError::statement("22023", format!("cannot cast jsonb {kind} to type {ty}"))
    }

    fn cast(self, values: &ArrayRef) -> Result<ArrayRef, SqlError> {
        if let Target::Jsonb = self {
            let form = |text: Option<&str>| text.map(|text| Json::parse(text)?.to_jsonb()).transpose();
            let forms = values.as_string::<i64>().iter().map(form);
            return Ok(Arc::new(forms.collect::<Result<LargeBinaryArray, JsonError>>()?));
        }
        let forms = values.as_binary::<i64>().iter();
        let mut documents = forms.map(|form| form.map(Jsonb::new));
        Ok(match self {
            Target::Json | Target::Jsonb => {
                let texts = documents.map(|document| document.map(|document| document.to_string()));
                Arc::new(texts.collect::<LargeStringArray>())
            }
            Target::Boolean => {
                let value = |document: Jsonb<'_>| match document.kind() {
                    JsonbKind::Bool(value) => Ok(value),
                    _ => Err(self.refused(document)),
                };
                let value = |document: Option<Jsonb<'_>>| document.map(value).transpose();
                Arc::new(documents.map(value).collect::<Result<BooleanArray, SqlError>>()?)
            }
            Target::Number(_) => {
                let numbers = documents.try_fold(Vec::new(), |mut numbers, document| {
                    numbers.push(match document {
                        None => Datum::Null,
                        Some(document) if document.kind() == JsonbKind::Number => {
                            DataType::NUMERIC.parse_text(document.text())?
                        }
                        Some(document) => return Err(self.refused(document)),
                    });
                    Ok(numbers)
                });
                array_of(&DataType::NUMERIC, &numbers?)?
            }
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DocumentCast {
    target: Target,
    signature: Signature,
}

impl ScalarUDFImpl for DocumentCast {
    fn name(&self) -> &str {
        match self.target {
            Target::Json => "as_json",
            Target::Jsonb => "as_jsonb",
            Target::Boolean => "as_boolean",
            Target::Number(_) => "as_number",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.target.arrow())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = matches!(arguments.args.as_slice(), [ColumnarValue::Scalar(_)]);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [values] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!(
                "{} takes one value",
                self.name()
            )));
        };
        let cast = self.target.cast(values);
        let cast = cast.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cast, 0)?)),
            false => Ok(ColumnarValue::Array(cast)),
        }
    }
}
