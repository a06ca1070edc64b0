//! Numbers as numbers of another type: casts and assignments give what PostgreSQL gives.
//!
//! | cast                     | Arrow                                  | here                             |
//! |--------------------------|----------------------------------------|----------------------------------|
//! | NUMERIC                  | as a DECIMAL of 76 digits              | as DECIMAL, and of NaN NaN, or 0A000 where the type has none |
//! | DECIMAL to DOUBLE, REAL  | divides, and is one bit off at times   | the nearest float                |
//! | DOUBLE, REAL to DECIMAL  | the exact number, rounded              | 15 or 6 digits of it, rounded    |
//! | NUMERIC to integers      | cut                                    | rounded, 0A000 of NaN            |
//! | text to DECIMAL          | digits and a point                     | exponents, too                   |
//! | DOUBLE to REAL, too large| Infinity                               | error 22003                      |
//! | DOUBLE to REAL, too small| 0                                      | error 22003                      |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array,
};
use datafusion::arrow::compute::cast_with_options;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Decimal256Type, Field, FieldRef, Float32Type, Float64Type,
    Int64Type, i256,
};
use datafusion::common::format::DEFAULT_CAST_OPTIONS;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, cast,
};
use rukh_keys::{
    DataType, Datum, NumericParts, ValueError, decimal_to_double, decimal_to_real, double_to_decimal,
    real_to_decimal,
};

use crate::casts::texts::is_text;
use crate::forms::numerics::{NAN, beside_nan, overflow, parts_of, unscaled_of_form, without_nan};
use crate::scalars::texts;
use crate::types::data_type_of_arrow;
use rukh_error::SqlError;

/// Returns a cast to a type that gives what PostgreSQL's gives; `None` where DataFusion's does.
pub fn cast_number(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
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
pub fn double_of(decimal: &Expr, schema: &DFSchema) -> Expr {
    let to = ArrowType::Float64;
    cast_number(decimal, &to, schema).unwrap_or_else(|| cast(decimal.clone(), to))
}

/// Returns the type that a function casts to if it is one of these casts.
pub fn number_cast(function: &ScalarUDF) -> Option<&ArrowType> {
    let cast = function.inner().downcast_ref::<NumberCast>()?;
    Some(&cast.to)
}

/// Whether a cast is made here.
fn is_own(from: &ArrowType, to: &ArrowType) -> bool {
    match (from, to) {
        (ArrowType::Decimal128(_, scale), ArrowType::Float32 | ArrowType::Float64) => *scale >= 0,
        (ArrowType::Decimal256(..), ArrowType::Float32 | ArrowType::Float64) => true,
        (ArrowType::Decimal256(..), ArrowType::Decimal128(..) | ArrowType::Decimal256(..)) => from != to,
        (ArrowType::Decimal256(..), to) if to.is_signed_integer() => true,
        (ArrowType::Float64, ArrowType::Float32) => true,
        (from, ArrowType::Decimal128(_, scale) | ArrowType::Decimal256(_, scale)) => {
            *scale >= 0 && (matches!(from, ArrowType::Float32 | ArrowType::Float64) || is_text(from))
        }
        _ => false,
    }
}

/// Casts values; `None` where Arrow's cast gives what PostgreSQL's gives.
pub fn converted(values: &ArrayRef, to: &ArrowType) -> Result<Option<ArrayRef>, SqlError> {
    let from = values.data_type();
    if !is_own(from, to) {
        return Ok(None);
    }
    Ok(Some(match (from, to) {
        (ArrowType::Decimal128(_, scale), ArrowType::Float64) => {
            let decimals = values.as_primitive::<Decimal128Type>();
            let doubles: Float64Array =
                decimals.unary(|value| decimal_to_double(value, scale.unsigned_abs()));
            Arc::new(doubles)
        }
        (ArrowType::Decimal128(_, scale), _) => {
            let decimals = values.as_primitive::<Decimal128Type>();
            let reals: Float32Array = decimals.unary(|value| decimal_to_real(value, scale.unsigned_abs()));
            Arc::new(reals)
        }
        (ArrowType::Decimal256(..), ArrowType::Decimal128(precision, scale)) => {
            if without_nan(values).is_some() {
                return Err(not_finite(*precision, *scale));
            }
            return Ok(None);
        }
        (ArrowType::Decimal256(..), ArrowType::Decimal256(..)) => {
            return beside_nan(&[(values.clone(), false)], |finite| {
                let numbers = cast_with_options(&finite[0], to, &DEFAULT_CAST_OPTIONS);
                numbers.map_err(|error| DataFusionError::from(error).into())
            });
        }
        (ArrowType::Decimal256(_, scale), to) if to.is_signed_integer() => integers(values, *scale, to)?,
        (ArrowType::Decimal256(_, scale), to) => {
            let numerics = values.as_primitive::<Decimal256Type>();
            let double = |value| parts_of(value, *scale).map_or(f64::NAN, NumericParts::to_double);
            match to {
                ArrowType::Float64 => Arc::new(numerics.unary::<_, Float64Type>(double)),
                _ => {
                    Arc::new(numerics.try_unary::<_, Float32Type, SqlError>(|value| real_of(double(value)))?)
                }
            }
        }
        (_, ArrowType::Decimal256(precision, scale)) => {
            let numerics = numerics(values, *precision, *scale)?;
            let typed = numerics.with_precision_and_scale(*precision, *scale);
            Arc::new(typed.map_err(DataFusionError::from)?)
        }
        (_, ArrowType::Decimal128(precision, scale)) => {
            let decimals = decimals(values, *precision, scale.unsigned_abs())?;
            let typed = decimals.with_precision_and_scale(*precision, *scale);
            Arc::new(typed.map_err(DataFusionError::from)?)
        }
        _ => {
            let reals: Float32Array = values.as_primitive::<Float64Type>().try_unary(real_of)?;
            Arc::new(reals)
        }
    }))
}

/// Returns the error of NaN as a DECIMAL.
fn not_finite(precision: u8, scale: i8) -> SqlError {
    let ty = data_type_of_arrow(&ArrowType::Decimal128(precision, scale));
    SqlError::from(ValueError::NotFinite { value: "NaN", ty })
}

/// Casts floats or texts to decimals.
fn decimals(values: &ArrayRef, precision: u8, scale: u8) -> Result<Decimal128Array, SqlError> {
    match values.data_type() {
        ArrowType::Float64 => {
            let doubles = values.as_primitive::<Float64Type>();
            Ok(doubles.try_unary(|value| double_to_decimal(value, precision, scale))?)
        }
        ArrowType::Float32 => {
            let reals = values.as_primitive::<Float32Type>();
            Ok(reals.try_unary(|value| real_to_decimal(value, precision, scale))?)
        }
        _ => {
            let ty = DataType::Decimal { precision, scale };
            let read = |text| match ty.parse_text(text)? {
                Datum::Decimal(value) => Ok(Some(value)),
                _ => Ok(None),
            };
            let texts = texts(values)?.into_iter();
            texts.map(|text| text.map_or(Ok(None), read)).collect()
        }
    }
}

/// Casts NUMERICs to integers, rounded half away from zero.
fn integers(values: &ArrayRef, scale: i8, to: &ArrowType) -> Result<ArrayRef, SqlError> {
    let ty = data_type_of_arrow(to);
    let integer = |value: i256| match parts_of(value, scale).and_then(|parts| parts.to_decimal(0)) {
        None if value == NAN => {
            let message = format!("cannot convert NaN to {}", ty.postgres_name());
            Err(SqlError::unsupported(message))
        }
        integer => {
            let integer = integer.and_then(|integer| i64::try_from(integer).ok());
            let integer = integer.ok_or(ValueError::IntegerOutOfRange { ty })?;
            match ty.check(Datum::Int(integer))? {
                Datum::Int(integer) => Ok(integer),
                _ => Err(SqlError::internal("an integer is one")),
            }
        }
    };
    let numerics = values.as_primitive::<Decimal256Type>();
    let integers = numerics.try_unary::<_, Int64Type, SqlError>(integer)?;
    Ok(cast_with_options(&integers, to, &DEFAULT_CAST_OPTIONS).map_err(DataFusionError::from)?)
}

/// Casts floats or texts to NUMERICs.
fn numerics(values: &ArrayRef, precision: u8, scale: i8) -> Result<Decimal256Array, SqlError> {
    let ty = DataType::Numeric {
        precision,
        scale: scale.unsigned_abs(),
    };
    let read = |text: &str| match ty.parse_text(text)? {
        Datum::Numeric(form) => Ok(unscaled_of_form(&form, scale)),
        _ => Ok(None),
    };
    // Floats by as many digits as PostgreSQL takes; `NaN` has its name, by whatever digits.
    let digits: Vec<Option<String>> = match values.data_type() {
        ArrowType::Float64 => {
            let doubles = values.as_primitive::<Float64Type>().iter();
            doubles
                .map(|value| value.map(|value| format!("{value:.14e}")))
                .collect()
        }
        ArrowType::Float32 => {
            let reals = values.as_primitive::<Float32Type>().iter();
            reals
                .map(|value| value.map(|value| format!("{value:.5e}")))
                .collect()
        }
        _ => {
            let texts = texts(values)?.into_iter();
            return texts.map(|text| text.map_or(Ok(None), read)).collect();
        }
    };
    let number = |digits: &str| match read(digits) {
        Err(error) if error.sqlstate != "0A000" => Err(overflow(&ty)),
        read => read,
    };
    digits
        .iter()
        .map(|digits| digits.as_deref().map_or(Ok(None), number))
        .collect()
}

fn real_of(value: f64) -> Result<f32, SqlError> {
    let real = value as f32;
    let problem = match real {
        _ if real.is_infinite() && value.is_finite() => "overflow",
        _ if real == 0.0 && value != 0.0 => "underflow",
        _ => return Ok(real),
    };
    Err(SqlError::statement(
        "22003",
        format!("value out of range: {problem}"),
    ))
}

/// Casts one value.
///
/// # Errors
/// 22003 if the type does not hold it, 22P02 if it is no number.
pub fn converted_scalar(value: &ScalarValue, to: &ArrowType) -> DataFusionResult<ScalarValue> {
    ScalarValue::try_from_array(&converted_array(&value.to_array()?, to)?, 0)
}

fn converted_array(values: &ArrayRef, to: &ArrowType) -> DataFusionResult<ArrayRef> {
    let converted = converted(values, to).map_err(|error| DataFusionError::External(Box::new(error)))?;
    match converted {
        Some(converted) => Ok(converted),
        None => Ok(cast_with_options(values, to, &DEFAULT_CAST_OPTIONS)?),
    }
}

/// `x AS DOUBLE` and the like.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NumberCast {
    /// Distinguishes casts to different types.
    name: String,
    to: ArrowType,
    signature: Signature,
}

impl NumberCast {
    fn new(to: &ArrowType) -> Self {
        NumberCast {
            name: match to {
                ArrowType::Float32 => "as_real".to_string(),
                to if to.is_signed_integer() => format!("as_{}", data_type_of_arrow(to).postgres_name()),
                ArrowType::Decimal128(precision, scale) => format!("as_decimal_{precision}_{scale}"),
                ArrowType::Decimal256(precision, scale) => format!("as_numeric_{precision}_{scale}"),
                _ => "as_double".to_string(),
            },
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

    fn is_strict(&self) -> bool {
        true
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
