//! Numbers of one kind as those of another, as PostgreSQL's casts make them.

use crate::datum::Datum;
use crate::error::ValueError;
use crate::types::DataType;

/// Powers of ten that DOUBLE holds exactly.
const EXACT_DOUBLES: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Powers of ten that REAL holds exactly.
const EXACT_REALS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

/// Returns the DOUBLE nearest to a decimal with `scale` digits after the point.
#[inline]
pub fn decimal_to_double(value: i128, scale: u8) -> f64 {
    const EXACT: i128 = 1 << f64::MANTISSA_DIGITS;
    match EXACT_DOUBLES.get(usize::from(scale)) {
        // Both are exact as floats, so the quotient is rounded once.
        Some(unit) if (-EXACT..=EXACT).contains(&value) => value as i64 as f64 / unit,
        _ => format!("{value}e-{scale}").parse().unwrap_or(f64::NAN),
    }
}

/// Returns the REAL nearest to a decimal with `scale` digits after the point.
#[inline]
pub fn decimal_to_real(value: i128, scale: u8) -> f32 {
    const EXACT: i128 = 1 << f32::MANTISSA_DIGITS;
    match EXACT_REALS.get(usize::from(scale)) {
        Some(unit) if (-EXACT..=EXACT).contains(&value) => value as i64 as f32 / unit,
        _ => format!("{value}e-{scale}").parse().unwrap_or(f32::NAN),
    }
}

/// Returns a DOUBLE as a decimal: its first 15 digits, rounded half away from zero.
pub fn double_to_decimal(value: f64, precision: u8, scale: u8) -> Result<i128, ValueError> {
    digits_to_decimal(&format!("{value:.14e}"), precision, scale)
}

/// Returns a REAL as a decimal: its first 6 digits, rounded half away from zero.
pub fn real_to_decimal(value: f32, precision: u8, scale: u8) -> Result<i128, ValueError> {
    digits_to_decimal(&format!("{value:.5e}"), precision, scale)
}

fn digits_to_decimal(digits: &str, precision: u8, scale: u8) -> Result<i128, ValueError> {
    match (DataType::Decimal { precision, scale }).parse_text(digits) {
        Ok(Datum::Decimal(value)) => Ok(value),
        Err(error @ ValueError::NotFinite { value: "NaN", .. }) => Err(error),
        _ => Err(ValueError::NumericOverflow { precision, scale }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_the_nearest_float() {
        assert_eq!(decimal_to_double(1, 1), 0.1);
        assert_eq!(decimal_to_double(-12345, 2), -123.45);
        assert_eq!(decimal_to_double(10_i128.pow(38) - 1, 38), 1.0);
        assert_eq!(decimal_to_double(-9_736_640_168_902_517, 13), -973.6640168902517);
        assert_eq!(decimal_to_real(1, 1), 0.1);
        assert_eq!(decimal_to_real(16_777_217, 0), 16_777_216.0);
        // Halfway between two REALs but for the last digit, which a DOUBLE on the way would lose.
        let above_half = 16_777_217_000_000_000_000_000_001;
        assert_eq!(decimal_to_real(above_half, 18), 16_777_218.0);
    }

    #[test]
    fn floats_become_decimals_by_their_digits() {
        assert_eq!(double_to_decimal(1.005, 10, 2), Ok(101));
        assert_eq!(double_to_decimal(-1.005, 10, 2), Ok(-101));
        assert_eq!(
            double_to_decimal(1_234_567_890_123_456_789.0, 20, 0),
            Ok(1_234_567_890_123_460_000)
        );
        assert_eq!(real_to_decimal(0.285, 10, 2), Ok(29));
        assert_eq!(real_to_decimal(12_345_678.0, 10, 1), Ok(123_457_000));
        // Digits that are cut at a half go to the even neighbour.
        assert_eq!(real_to_decimal(100_000.5, 10, 0), Ok(100_000));
        assert_eq!(real_to_decimal(100_001.5, 10, 0), Ok(100_002));
        let overflow = |precision, scale| Err(ValueError::NumericOverflow { precision, scale });
        assert_eq!(double_to_decimal(1e8, 10, 2), overflow(10, 2));
        let ty = DataType::Decimal {
            precision: 38,
            scale: 9,
        };
        let nan = ValueError::NotFinite { value: "NaN", ty };
        assert_eq!(double_to_decimal(f64::NAN, 38, 9), Err(nan));
        assert_eq!(real_to_decimal(f32::NEG_INFINITY, 38, 9), overflow(38, 9));
    }
}
