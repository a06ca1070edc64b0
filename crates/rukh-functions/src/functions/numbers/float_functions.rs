//! Functions of floats that fail where they have no result: DataFusion's give NaN, infinity or 0.
//!
//! | result                        | of                            | here                                            |
//! |-------------------------------|-------------------------------|-------------------------------------------------|
//! | NaN, of arguments without NaN | `ln`, `log`                   | 2201E, logarithm of zero or a negative number   |
//! |                               | `sqrt`, `power`               | 2201F                                           |
//! |                               | others                        | 22003, input is out of range                    |
//! | infinite, of finite arguments | `ln(0)`, `power(0, -1)`       | 2201E, 2201F                                    |
//! |                               | `atanh`, `cosh`, `cot`, `sinh` | infinity, as in PostgreSQL                      |
//! |                               | others                        | 22003, overflow                                 |
//! | 0, of others                  | `exp`, `power`                | 22003, underflow                                |
//!
//! NaN has no sign in what they give: by its sign it would be less than all numbers.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef, Float32Type, Float64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::math;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::ValueError;

use crate::functions::numbers::arithmetic::{FloatType, without_signs};
use crate::usual::as_usual;
use rukh_error::SqlError;

/// Returns the functions that replace DataFusion's.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let all = [
        math::acos(),
        math::acosh(),
        math::asin(),
        math::asinh(),
        math::atan(),
        math::atan2(),
        math::atanh(),
        math::cbrt(),
        math::cos(),
        math::cosh(),
        math::cot(),
        math::degrees(),
        math::exp(),
        math::ln(),
        math::log(),
        math::log10(),
        math::log2(),
        math::power(),
        math::radians(),
        Arc::new(math::signum().as_ref().clone().with_aliases(["sign"])),
        math::sin(),
        math::sinh(),
        math::sqrt(),
        math::tan(),
        math::tanh(),
    ];
    all.into_iter()
        .map(|usual| Arc::new(ScalarUDF::from(FloatFunction { usual })))
}

/// A function of DataFusion whose results are looked at.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatFunction {
    usual: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for FloatFunction {
    as_usual!(name aliases signature coerce_types return_type output_ordering);

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        self.usual.return_field_from_args(arguments)
    }

    fn simplify(&self, arguments: Vec<Expr>, info: &SimplifyContext) -> DataFusionResult<ExprSimplifyResult> {
        // Of decimals without digits before the point it asks for a 1, which they have not.
        if self.usual.name() == "log" {
            return Ok(ExprSimplifyResult::Original(arguments));
        }
        self.usual.simplify(arguments, info)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let (values, rows) = (arguments.args.clone(), arguments.number_rows);
        match self.usual.invoke_with_args(arguments)? {
            ColumnarValue::Array(results) => Ok(ColumnarValue::Array(self.settled(&values, rows, results)?)),
            ColumnarValue::Scalar(result) if result.data_type().is_floating() => {
                let settled = self.settled(&values, 1, result.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&settled, 0)?))
            }
            other => Ok(other),
        }
    }
}

impl FloatFunction {
    fn settled(
        &self,
        arguments: &[ColumnarValue],
        rows: usize,
        results: ArrayRef,
    ) -> DataFusionResult<ArrayRef> {
        match results.data_type() {
            ArrowType::Float64 => self.settled_floats::<Float64Type>(arguments, rows, results),
            ArrowType::Float32 => self.settled_floats::<Float32Type>(arguments, rows, results),
            _ => Ok(results),
        }
    }

    fn settled_floats<T: FloatType>(
        &self,
        arguments: &[ColumnarValue],
        rows: usize,
        results: ArrayRef,
    ) -> DataFusionResult<ArrayRef> {
        let floats = results.as_primitive::<T>();
        let is_special = |value: f64| !value.is_finite() || value == 0.0;
        if !floats.values().iter().any(|value| is_special(T::double(*value))) {
            return Ok(results);
        }
        let as_doubles = |value: &ColumnarValue| -> DataFusionResult<ArrayRef> {
            Ok(cast(&value.to_array(rows)?, &ArrowType::Float64)?)
        };
        let arguments: Vec<ArrayRef> = arguments.iter().map(as_doubles).collect::<Result<_, _>>()?;
        let mut has_nan = false;
        for (row, value) in floats.iter().enumerate() {
            let Some(value) = value.map(T::double).filter(|value| is_special(*value)) else {
                continue;
            };
            let of: Vec<f64> = arguments
                .iter()
                .map(|values| values.as_primitive::<Float64Type>().value(row))
                .collect();
            check(self.usual.name(), &of, value)
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
            has_nan |= value.is_nan();
        }
        if self.usual.name() == "signum" && has_nan {
            // NaN has no sign.
            let settled = |sign| {
                if T::double(sign).is_nan() {
                    T::Native::default()
                } else {
                    sign
                }
            };
            let signs = floats.unary::<_, T>(settled);
            return Ok(Arc::new(signs));
        }
        Ok(if has_nan {
            without_signs::<T>(floats)
        } else {
            results
        })
    }
}

/// Returns whether `value`, which is zero, infinite or NaN, is what a function has to give.
fn check(name: &str, of: &[f64], value: f64) -> Result<(), SqlError> {
    if of.iter().any(|argument| argument.is_nan()) {
        return Ok(());
    }
    let error = |sqlstate, message: &str| Err(SqlError::statement(sqlstate, message.to_string()));
    let is_log = matches!(name, "ln" | "log" | "log10" | "log2");
    if is_log && of.contains(&0.0) {
        return error("2201E", "cannot take logarithm of zero");
    }
    if is_log && of.iter().any(|argument| *argument < 0.0) {
        return error("2201E", "cannot take logarithm of a negative number");
    }
    let are_finite = of.iter().all(|argument| argument.is_finite());
    match name {
        "log" if !value.is_finite() && are_finite => return Err(SqlError::from(ValueError::DivisionByZero)),
        "sqrt" if value.is_nan() => {
            return error("2201F", "cannot take square root of a negative number");
        }
        "power"
            if value.is_nan() || of[0] == f64::NEG_INFINITY && of[1].is_finite() && of[1].fract() != 0.0 =>
        {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return error("2201F", message);
        }
        "power" if value.is_infinite() && of[0] == 0.0 => {
            return error("2201F", "zero raised to a negative power is undefined");
        }
        _ if value.is_nan() => return error("22003", "input is out of range"),
        _ => {}
    }
    if value.is_infinite() && are_finite && !matches!(name, "atanh" | "cosh" | "cot" | "sinh") {
        return Err(SqlError::from(ValueError::FloatOverflow));
    }
    let vanishes = match name {
        "exp" => are_finite,
        "power" => are_finite && of[0] != 0.0,
        "radians" => of[0] != 0.0,
        _ => false,
    };
    match value == 0.0 && vanishes {
        true => Err(SqlError::from(ValueError::FloatUnderflow)),
        false => Ok(()),
    }
}
