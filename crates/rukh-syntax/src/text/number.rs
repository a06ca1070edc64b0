//! Numbers as they are written, brought into forms that DataFusion reads exactly.
//!
//! | written               | becomes          | because                                        |
//! |-----------------------|------------------|------------------------------------------------|
//! | `1_000`               | `1000`           |                                                |
//! | `1.5e3`, `2e-3`       | `1500.0`, `0.002` | an exponent makes a decimal, as in PostgreSQL   |
//! | `1e300`, 39 digits …  | `1e300`, `…e0`   | no NUMERIC holds it; `casts` makes it a DOUBLE |

#![warn(clippy::arithmetic_side_effects)]

/// Most digits of a NUMERIC before the point, and after it.
const DIGITS_MAX: usize = 38;

/// Returns the form of a number that is passed on, or `None` if it is the one written.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the exponent was bounded by the digits of a NUMERIC"
)]
pub(crate) fn settled(written: &str) -> Option<String> {
    let plain = written.replace('_', "");
    let (mantissa, exponent) = match plain.find(['e', 'E']) {
        Some(at) => (&plain[..at], plain[at + 1..].parse::<i64>().unwrap_or(i64::MAX)),
        None => (plain.as_str(), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_exponent = mantissa.len() < plain.len();
    if !has_exponent && fits(whole, fraction) {
        return (plain != written).then_some(plain);
    }
    Some(
        match has_exponent.then(|| shifted(whole, fraction, exponent)).flatten() {
            Some(decimal) => decimal,
            None if has_exponent => plain,
            None => format!("{plain}e0"),
        },
    )
}

/// Whether only a DOUBLE holds a settled number.
pub fn is_double(settled: &str) -> bool {
    settled.contains(['e', 'E'])
}

/// Moves the point by `exponent` digits; `None` if that takes more digits than a NUMERIC has.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the exponent was bounded by the digits of a NUMERIC"
)]
fn shifted(whole: &str, fraction: &str, exponent: i64) -> Option<String> {
    if exponent.unsigned_abs() > DIGITS_MAX as u64 {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i64 + exponent;
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let digits = format!(
        "{}{digits}{}",
        zeros(1 - point),
        zeros(point - digits.len() as i64)
    );
    let (whole, fraction) = digits.split_at(point.max(1) as usize);
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    fits(whole, fraction).then(|| format!("{whole}.{fraction}"))
}

/// Whether a NUMERIC holds a number.
fn fits(whole: &str, fraction: &str) -> bool {
    whole.trim_start_matches('0').len() <= DIGITS_MAX && fraction.len() <= DIGITS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_brought_into_one_form() {
        let nines = "9".repeat(39);
        let cases = [
            ("5", "5"),
            ("1_000", "1000"),
            ("1.50", "1.50"),
            (".5", ".5"),
            ("1e3", "1000.0"),
            ("1.5e3", "1500.0"),
            ("1.25E1", "12.5"),
            ("2e-3", "0.002"),
            (".5e1", "5.0"),
            ("12e+0", "12.0"),
            ("1_0e1", "100.0"),
            ("1e300", "1e300"),
            ("1e-300", "1e-300"),
            ("1e99999999999999999999", "1e99999999999999999999"),
            (nines.as_str(), &format!("{nines}e0")),
        ];
        for (written, expected) in cases {
            assert_eq!(
                settled(written).as_deref().unwrap_or(written),
                expected,
                "{written}"
            );
        }
    }
}
