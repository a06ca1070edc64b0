//! Floating-point numbers in PostgreSQL's spelling.
//!
//! The digits are the fewest that read back as the same number. They are laid out plainly while the
//! decimal exponent is between -4 and a limit of the type, else in scientific form with at least two
//! digits of exponent.

use std::fmt::LowerExp;

/// The smallest decimal exponent that is laid out without `e`.
const PLAIN_EXPONENT_MIN: i32 = -4;

/// Appends a double: `1.5`, `1e+15`, `NaN`, `-Infinity`.
pub fn write_f64(value: f64, out: &mut String) {
    match special(value) {
        Some(name) => out.push_str(name),
        None => write_finite(value, 15, out),
    }
}

/// Appends a real: as [`write_f64`], with the digits and the limit of four-byte numbers (`1e+06`).
pub fn write_f32(value: f32, out: &mut String) {
    match special(f64::from(value)) {
        Some(name) => out.push_str(name),
        None => write_finite(value, 6, out),
    }
}

fn special(value: f64) -> Option<&'static str> {
    match value {
        value if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

/// Lays out the shortest digits of `value`; exponents from `plain_limit` on are scientific.
fn write_finite(value: impl LowerExp, plain_limit: i32, out: &mut String) {
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    if unsigned.len() < mantissa.len() {
        out.push('-');
    }
    if (PLAIN_EXPONENT_MIN..plain_limit).contains(&exponent) {
        write_plain(&unsigned.replace('.', ""), exponent, out);
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{unsigned}e{sign}{:02}", exponent.abs()));
    }
}

/// Lays out `digits`, of which the first stands for 10^`exponent`.
fn write_plain(digits: &str, exponent: i32, out: &mut String) {
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
        out.push_str(digits);
        return;
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= whole {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
    } else {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (1.2345678901234568e17, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00012, "0.00012"),
            (0.00001, "1e-05"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            let mut out = String::new();
            write_f64(value, &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn reals() {
        let cases = [
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (16_777_216.0, "1.6777216e+07"),
        ];
        for (value, expected) in cases {
            let mut out = String::new();
            write_f32(value, &mut out);
            assert_eq!(out, expected);
        }
    }
}
