//! Number literals of more digits than a NUMERIC has: more than 38 before the point, or after it. Alone they are NUMERICs, rounded, if
//! that leaves them the same DOUBLE, else DOUBLEs (`1e300`, `1e-50`). Beside a whole number, a DECIMAL or a NUMERIC they compare exactly.
//! So do those that have too many digits at the scale of what they are compared with.
//!
//! | written, `n NUMERIC(38,10)`     | becomes                                          |
//! |---------------------------------|--------------------------------------------------|
//! | `n < 1e40`                      | true, or NULL where n is                          |
//! | `n > 1e40`, `n = 1e40`          | false, or NULL where n is                         |
//! | `m > 1e40`, `m NUMERIC`         | m above the greatest number, which NaN is         |
//! | `n <= 0.…1` (50 digits)         | `n <= 0.0000000000`                               |
//! | `n > -0.…1`                     | `n > -0.0000000001`                               |
//!
//! A DOUBLE would be the same for neighbours that differ after 15 digits.

#![warn(clippy::arithmetic_side_effects)]

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType as ArrowType, Field, FieldRef, i256,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, binary_expr, lit,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::NUMERIC_HALF;

use crate::casts::numbers::converted_scalar;
use crate::forms::numerics::power_of_ten;
use crate::functions::common::undefined::undefined_function;

/// Name of the function that such a literal is spelled as: of its digits, as a text.
pub const WIDE_NUMBER: &str = "wide_number";

/// NUMERIC without digits.
const NUMERIC: ArrowType = ArrowType::Decimal256(DECIMAL256_MAX_PRECISION, NUMERIC_HALF as i8);

/// Digits of a DECIMAL.
const DIGITS_MAX: usize = DECIMAL128_MAX_PRECISION as usize;

/// Digits of a BIGINT.
const INTEGER_DIGITS: i64 = 19;

/// Returns the function: the number of a text.
pub fn wide_number() -> Arc<ScalarUDF> {
    let signature = Signature::exact(vec![ArrowType::Utf8], Volatility::Immutable);
    Arc::new(ScalarUDF::from(WideNumber { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WideNumber {
    signature: Signature,
}

impl ScalarUDFImpl for WideNumber {
    fn name(&self) -> &str {
        WIDE_NUMBER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let text = match arguments.scalar_arguments {
            [Some(value)] => value.try_as_str().flatten(),
            _ => None,
        };
        let Some(text) = text else {
            let types = arguments.arg_fields.iter().map(|field| field.data_type().clone());
            return Err(undefined_function(WIDE_NUMBER, &types.collect::<Vec<_>>()));
        };
        // What is out of range fails when, and if, it is evaluated.
        let ty = number(text).map_or(ArrowType::Float64, |number| number.data_type());
        Ok(Arc::new(Field::new(WIDE_NUMBER, ty, false)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let text = match arguments.args.as_slice() {
            [ColumnarValue::Scalar(value)] => value.try_as_str().flatten(),
            _ => None,
        };
        Ok(ColumnarValue::Scalar(number(text.unwrap_or_default())?))
    }
}

/// Returns a number as a NUMERIC, rounded, if that leaves it the same DOUBLE, else as a DOUBLE.
///
/// # Errors
/// 22003 if no DOUBLE is as great.
fn number(digits: &str) -> DataFusionResult<ScalarValue> {
    let double = digits.parse::<f64>().ok().filter(|double| double.is_finite());
    let Some(double) = double else {
        let message = format!("\"{digits}\" is out of range for type double precision");
        let error = SqlError::statement("22003", message);
        return Err(DataFusionError::External(Box::new(error)));
    };
    let double = ScalarValue::Float64(Some(double));
    // Fails where a NUMERIC has too few digits.
    let Ok(numeric) = converted_scalar(&ScalarValue::from(digits), &NUMERIC) else {
        return Ok(double);
    };
    match converted_scalar(&numeric, &ArrowType::Float64)? == double {
        true => Ok(numeric),
        false => Ok(double),
    }
}

/// Returns the digits of a literal that is spelled as the function.
pub fn wide_digits(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == WIDE_NUMBER => {
            match args.as_slice() {
                [Expr::Literal(value, _)] => value.try_as_str().flatten(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the digits of a literal that no DECIMAL holds together with the values of a type: it is spelled as the function, or the two
/// have more than 38 digits at one scale.
pub fn digits_beside<'a>(literal: &'a Expr, ty: &ArrowType) -> Option<Cow<'a, str>> {
    let Expr::Literal(ScalarValue::Decimal128(Some(unscaled), _, own), _) = literal else {
        return wide_digits(literal).map(Cow::Borrowed);
    };
    let (whole, scale) = match ty {
        ArrowType::Decimal128(precision, scale) => {
            (i64::from(*precision).checked_sub(i64::from(*scale))?, *scale)
        }
        ty if ty.is_signed_integer() => (INTEGER_DIGITS, 0),
        _ => return None,
    };
    let common = i64::from(scale.max(*own));
    let digits = i64::try_from(unscaled.unsigned_abs().to_string().len()).ok()?;
    let whole = whole.max(digits.checked_sub(i64::from(*own))?);
    let is_wide = whole.checked_add(common)? > DIGITS_MAX as i64;
    is_wide.then(|| Cow::Owned(written(*unscaled, *own)))
}

/// Returns the digits of a literal that is a number.
pub fn digits_of(literal: &Expr) -> Option<Cow<'_, str>> {
    match literal {
        Expr::Literal(ScalarValue::Decimal128(Some(unscaled), _, scale), _) => {
            Some(Cow::Owned(written(*unscaled, *scale)))
        }
        other => wide_digits(other).map(Cow::Borrowed),
    }
}

/// Writes a decimal as [`place`] reads numbers.
fn written(unscaled: i128, scale: i8) -> String {
    match scale {
        0.. => format!("{unscaled}e-{scale}"),
        _ => format!("{unscaled}e{}", scale.unsigned_abs()),
    }
}

/// What a number is among those of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Beyond all that the digits can say, below or above.
    Beyond { above: bool },
    /// The greatest number that is not above it, and whether it is the number itself.
    Floor { unscaled: i256, is_exact: bool },
}

/// Returns `x op number`, or `number op x`, exactly, for x of a type of whole numbers or decimals; `None` for other types and operators.
pub fn compared(x: &Expr, ty: &ArrowType, op: Operator, digits: &str, number_is_left: bool) -> Option<Expr> {
    let (precision, scale) = digits_of_type(ty)?;
    let op = if number_is_left { op.swap()? } else { op };
    let is_null = x.clone().is_null();
    // NULL where x is, as any comparison.
    let always = || x.clone().is_not_null().or(lit(ScalarValue::Boolean(None)));
    let never = || is_null.clone().and(lit(ScalarValue::Boolean(None)));
    let beside = |op, unscaled| binary_expr(x.clone(), op, decimal(unscaled, precision, scale));
    let has_nan = matches!(ty, ArrowType::Decimal256(..));
    let greatest = power_of_ten(precision).wrapping_sub(i256::ONE);
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    Some(match (op, place(digits, precision, scale)?) {
        (
            op,
            Place::Floor {
                unscaled,
                is_exact: true,
            },
        ) => beside(op, unscaled),
        // NaN is above it.
        (Lt | LtEq, Place::Beyond { above: true }) if has_nan => beside(LtEq, greatest),
        (Gt | GtEq, Place::Beyond { above: true }) if has_nan => beside(Gt, greatest),
        (Eq, _) => never(),
        (NotEq, _) => always(),
        (IsDistinctFrom, _) => lit(true),
        (IsNotDistinctFrom, _) => lit(false),
        (Lt | LtEq, Place::Beyond { above: true }) | (Gt | GtEq, Place::Beyond { above: false }) => always(),
        (Lt | LtEq | Gt | GtEq, Place::Beyond { .. }) => never(),
        (Lt | LtEq, Place::Floor { unscaled, .. }) => beside(LtEq, unscaled),
        (Gt | GtEq, Place::Floor { unscaled, .. }) => beside(Gt, unscaled),
        _ => return None,
    })
}

/// Returns the number as a literal of the scale of a type, or `None` if there is no such number; fails to be anything for other types.
pub fn exact(ty: &ArrowType, digits: &str) -> Option<Option<Expr>> {
    let (precision, scale) = digits_of_type(ty)?;
    Some(match place(digits, precision, scale)? {
        Place::Floor {
            unscaled,
            is_exact: true,
        } => Some(decimal(unscaled, precision, scale)),
        _ => None,
    })
}

/// Returns a literal of a type of these digits.
fn decimal(unscaled: i256, precision: u8, scale: u8) -> Expr {
    let scale = scale as i8;
    let value = match unscaled.to_i128() {
        Some(unscaled) if precision == DECIMAL128_MAX_PRECISION => {
            ScalarValue::Decimal128(Some(unscaled), precision, scale)
        }
        _ => ScalarValue::Decimal256(Some(unscaled), precision, scale),
    };
    Expr::Literal(value, None)
}

/// Returns how many digits the numbers of a type have in all at most, and how many after the point.
fn digits_of_type(ty: &ArrowType) -> Option<(u8, u8)> {
    let (precision, scale) = match ty {
        ArrowType::Decimal128(_, scale) => (DECIMAL128_MAX_PRECISION, *scale),
        ArrowType::Decimal256(_, scale) => (DECIMAL256_MAX_PRECISION, *scale),
        ty if ty.is_signed_integer() => (DECIMAL128_MAX_PRECISION, 0),
        _ => return None,
    };
    Some((precision, u8::try_from(scale).ok()?))
}

/// Places a number, as it is written, among those of a scale that have at most `precision` digits; `None` of what is no number.
fn place(digits: &str, precision: u8, scale: u8) -> Option<Place> {
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], digits[at.checked_add(1)?..].parse::<i64>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let written = format!("{whole}{fraction}");
    if !written.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let zeros = written.len().checked_sub(written.trim_start_matches('0').len())?;
    let significant = &written[zeros..];
    if significant.is_empty() {
        return Some(Place::Floor {
            unscaled: i256::ZERO,
            is_exact: true,
        });
    }
    // How many digits stand before the point of the number times 10^scale.
    let point = i64::try_from(whole.len())
        .ok()?
        .checked_sub(i64::try_from(zeros).ok()?)?;
    let before = point.checked_add(exponent)?.checked_add(i64::from(scale))?;
    if before > i64::from(precision) {
        return Some(Place::Beyond { above: !negative });
    }
    let kept = usize::try_from(before).unwrap_or(0);
    let (taken, rest) = significant.split_at(kept.min(significant.len()));
    let padding = kept.saturating_sub(taken.len());
    let padded = format!("0{taken}{}", "0".repeat(padding));
    let unscaled = i256::from_string(&padded)?;
    let is_exact = rest.bytes().all(|digit| digit == b'0');
    let unscaled = match (negative, is_exact) {
        (false, _) => unscaled,
        (true, true) => unscaled.checked_neg()?,
        (true, false) => unscaled.checked_neg()?.checked_sub(i256::ONE)?,
    };
    let size = unscaled.checked_abs()?;
    Some(match size < power_of_ten(precision) {
        true => Place::Floor { unscaled, is_exact },
        false => Place::Beyond { above: !negative },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_place_among_those_of_a_scale() {
        let floor = |unscaled, is_exact| {
            let unscaled = i256::from_i128(unscaled);
            Some(Place::Floor { unscaled, is_exact })
        };
        let beyond = |above| Some(Place::Beyond { above });
        for (digits, scale, expected) in [
            ("1e40", 10, beyond(true)),
            ("-1e40", 0, beyond(false)),
            ("1e37", 0, floor(10_i128.pow(37), true)),
            ("1e400000000000", 0, beyond(true)),
            ("1e-400000000000", 2, floor(0, false)),
            ("-1e-50", 2, floor(-1, false)),
            ("12.3456e0", 2, floor(1234, false)),
            ("-12.3456e0", 2, floor(-1235, false)),
            ("12.3400e0", 2, floor(1234, true)),
            ("0.00012e2", 3, floor(12, true)),
            ("0e500", 3, floor(0, true)),
            (
                "99999999999999999999999999999999999999.5e0",
                0,
                floor(10_i128.pow(38) - 1, false),
            ),
            ("-99999999999999999999999999999999999999.5e0", 0, beyond(false)),
            ("x", 0, None),
        ] {
            assert_eq!(place(digits, 38, scale), expected, "{digits} of scale {scale}");
        }
        let nines = "9".repeat(50);
        assert_eq!(place(&format!("{nines}e0"), 76, 38), beyond(true));
        let floor = Place::Floor {
            unscaled: power_of_ten(38).wrapping_sub(i256::ONE),
            is_exact: false,
        };
        assert_eq!(place(&format!("0.{nines}e0"), 76, 38), Some(floor));
    }

    #[test]
    fn numbers_are_numerics_where_that_leaves_the_same_double() {
        for (digits, ty) in [
            ("0.33333333333333333333333333333333333333333333333333e0", NUMERIC),
            ("-99999999999999999999999999999999999999.5e0", NUMERIC),
            ("1e300", ArrowType::Float64),
            ("1e-50", ArrowType::Float64),
            ("123456789e-45", ArrowType::Float64),
        ] {
            let number = number(digits).expect("a number");
            assert_eq!(number.data_type(), ty, "{digits}");
        }
        assert!(number("1e400").is_err());
    }
}
