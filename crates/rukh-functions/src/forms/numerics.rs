//! NUMERICs in Arrow: Decimal256, a number of the column's scale.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::LazyLock;

use datafusion::arrow::array::Decimal256Array;
use datafusion::arrow::datatypes::i256;
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, NUMERIC_HALF, NumericParts, ValueError};

/// Ten to the power of its place.
static TENS: LazyLock<Vec<i256>> = LazyLock::new(|| {
    let powers = std::iter::successors(Some(i256::ONE), |power| power.checked_mul(i256::from_i128(10)));
    powers.take(MOST.saturating_add(1)).collect()
});

/// Most digits.
const MOST: usize = 2 * NUMERIC_HALF as usize;

/// Returns ten to a power, of 76 at most.
pub fn power_of_ten(power: u8) -> i256 {
    TENS[usize::from(power).min(MOST)]
}

/// Takes a number of a scale apart; `None` if it has more than 38 digits before the point.
pub fn parts_of(value: i256, scale: i8) -> Option<NumericParts> {
    let scale = u8::try_from(scale).ok()?.min(NUMERIC_HALF);
    if let Some(value) = value.to_i128() {
        return NumericParts::of_decimal(value, scale);
    }
    let unit = power_of_ten(scale);
    let (whole, rest) = (value.checked_div(unit)?, value.checked_rem(unit)?);
    let fraction = rest.checked_mul(power_of_ten(NUMERIC_HALF.saturating_sub(scale)))?;
    let size = |half: i256| half.to_i128().map(i128::unsigned_abs);
    NumericParts::new(value < i256::ZERO, size(whole)?, size(fraction)?)
}

/// Returns a number times 10^`scale`, rounded half away from zero; `None` if it then has more than 38 digits before the point.
pub fn unscaled(parts: NumericParts, scale: i8) -> Option<i256> {
    let scale = u8::try_from(scale).ok()?.min(NUMERIC_HALF);
    let parts = parts.rounded(scale)?;
    let half = |half: u128| i128::try_from(half).ok().map(i256::from_i128);
    let fraction = half(parts.fraction)?.checked_div(power_of_ten(NUMERIC_HALF.saturating_sub(scale)))?;
    let size = half(parts.whole)?
        .checked_mul(power_of_ten(scale))?
        .checked_add(fraction)?;
    match parts.negative {
        true => size.checked_neg(),
        false => Some(size),
    }
}

/// Returns a stored form as a number of a scale; `None` of bytes that are none.
pub fn unscaled_of_form(form: &[u8], scale: i8) -> Option<i256> {
    unscaled(NumericParts::of_form(form)?, scale)
}

/// Returns a number of a scale as a datum of a NUMERIC.
///
/// # Errors
/// 22003 if it has more digits before the point than a NUMERIC.
pub fn datum_of(value: i256, scale: i8) -> Result<Datum, SqlError> {
    match parts_of(value, scale) {
        Some(parts) => Ok(Datum::Numeric(parts.to_form())),
        None => Err(overflow(&DataType::NUMERIC)),
    }
}

/// Returns the error of a number that a type does not hold.
pub fn overflow(ty: &DataType) -> SqlError {
    SqlError::from(match ty {
        DataType::Decimal { precision, scale } | DataType::Numeric { precision, scale } => {
            ValueError::NumericOverflow {
                precision: *precision,
                scale: *scale,
            }
        }
        other => ValueError::IntegerOutOfRange { ty: *other },
    })
}

/// Returns the values of an array as datums of a NUMERIC.
pub fn datums(array: &Decimal256Array) -> Result<Vec<Datum>, SqlError> {
    let scale = array.scale();
    array
        .iter()
        .map(|value| value.map_or(Ok(Datum::Null), |value| datum_of(value, scale)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for text in [
            "0",
            "-1.5",
            "99999999999999999999999999999999999999.99999999999999999999999999999999999999",
            "-99999999999999999999999999999999999999.99999999999999999999999999999999999999",
            "0.00000000000000000000000000000000000001",
            "12345678901234567890123456789012345678",
        ] {
            let Ok(Datum::Numeric(form)) = DataType::NUMERIC.parse_text(text) else {
                panic!("{text} is a number");
            };
            let value = unscaled_of_form(&form, 38).expect("it fits");
            assert_eq!(datum_of(value, 38), Ok(Datum::Numeric(form)), "{text}");
        }
        assert!(datum_of(power_of_ten(76), 38).is_err());
        assert_eq!(
            unscaled_of_form(&[0xc1, 0x03, 0x64], 0),
            Some(i256::from_i128(2)),
            "halves go away from zero"
        );
    }
}
