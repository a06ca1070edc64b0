//! NUMERICs in Arrow: Decimal256, a number of the column's scale; NaN is one that no scale reaches.
//!
//! NaN is the greatest of 256 bits, so that Arrow compares, sorts, groups and hashes it as PostgreSQL does. Arithmetic and casts of
//! Arrow are given NULL in its place.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal256Array};
use datafusion::arrow::datatypes::{Decimal256Type, i256};
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, NUMERIC_HALF, NUMERIC_NAN, NumericParts, ValueError};

/// NaN, in whatever scale.
pub const NAN: i256 = i256::MAX;

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

/// Returns an array without its NaNs, which become NULL; `None` if it has none.
pub fn without_nan(array: &ArrayRef) -> Option<ArrayRef> {
    let numerics = array.as_primitive_opt::<Decimal256Type>()?;
    if !numerics.values().contains(&NAN) {
        return None;
    }
    let finite: Decimal256Array = numerics
        .iter()
        .map(|value| value.filter(|value| *value != NAN))
        .collect();
    Some(Arc::new(finite.with_data_type(array.data_type().clone())))
}

/// Columns, or where `true` stands beside one a value for all rows.
pub type Sides<'a> = &'a [(ArrayRef, bool)];

/// Computes with values some of which are NaN: the function gets NULL in its place, and where nothing else is NULL the result is NaN.
/// `None` if no value is NaN.
pub fn beside_nan<E>(
    sides: Sides<'_>,
    compute: impl FnOnce(Vec<ArrayRef>) -> Result<ArrayRef, E>,
) -> Result<Option<ArrayRef>, E> {
    let finite: Vec<Option<ArrayRef>> = sides.iter().map(|(array, _)| without_nan(array)).collect();
    if finite.iter().all(Option::is_none) {
        return Ok(None);
    }
    let pairs = finite.into_iter().zip(sides);
    let finite = pairs.map(|(finite, (array, _))| finite.unwrap_or_else(|| array.clone()));
    let results = compute(finite.collect())?;
    let any = |row: usize, test: fn(&ArrayRef, usize) -> bool| {
        let mut sides = sides.iter();
        sides.any(|(array, is_one)| test(array, if *is_one { 0 } else { row }))
    };
    let is_nan = |row: usize| any(row, is_nan) && !any(row, |array, row| array.is_null(row));
    Ok(Some(with_nan(&results, is_nan)))
}

/// Puts NaN where `is_nan` is true into an array of NUMERICs.
fn with_nan(array: &ArrayRef, is_nan: impl Fn(usize) -> bool) -> ArrayRef {
    let Some(numerics) = array.as_primitive_opt::<Decimal256Type>() else {
        return array.clone();
    };
    let values = numerics.iter().enumerate();
    let values: Decimal256Array = values
        .map(|(row, value)| if is_nan(row) { Some(NAN) } else { value })
        .collect();
    Arc::new(values.with_data_type(array.data_type().clone()))
}

/// Returns whether a row of an array is NaN.
pub fn is_nan(array: &ArrayRef, row: usize) -> bool {
    let numerics = array.as_primitive_opt::<Decimal256Type>();
    numerics.is_some_and(|numerics| numerics.is_valid(row) && numerics.value(row) == NAN)
}

/// Takes a number of a scale apart; `None` if it has more than 38 digits before the point, and of NaN.
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

/// Returns a stored form as a number of a scale, or NaN; `None` of bytes that are none.
pub fn unscaled_of_form(form: &[u8], scale: i8) -> Option<i256> {
    if form == NUMERIC_NAN {
        return Some(NAN);
    }
    unscaled(NumericParts::of_form(form)?, scale)
}

/// Returns a number of a scale as a datum of a NUMERIC.
///
/// # Errors
/// 22003 if it has more digits before the point than a NUMERIC.
pub fn datum_of(value: i256, scale: i8) -> Result<Datum, SqlError> {
    match parts_of(value, scale) {
        None if value == NAN => Ok(Datum::Numeric(NUMERIC_NAN.to_vec())),
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
        let nan = Datum::Numeric(NUMERIC_NAN.to_vec());
        for scale in [0, 10, 38] {
            assert_eq!(unscaled_of_form(&NUMERIC_NAN, scale), Some(NAN));
            assert_eq!(datum_of(NAN, scale), Ok(nan.clone()));
        }
        assert_eq!(
            unscaled_of_form(&[0xc1, 0x03, 0x64], 0),
            Some(i256::from_i128(2)),
            "halves go away from zero"
        );
    }
}
