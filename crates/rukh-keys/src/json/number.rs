//! Numbers of JSON: exact, with the digits after the point that were written, as in PostgreSQL's `numeric`.
//!
//! | written   | spelled    | displayed              |
//! |-----------|------------|------------------------|
//! | `1.50`    | `1.50`     | `1.50`                 |
//! | `-0`      | `0`        | `0`                    |
//! | `15e2`    | `1500`     | `1500`                 |
//! | `1.5e300` | `15e299`   | `15`, and 299 zeros    |
//! | `1e-99`   | `1e-99`    | `0.`, 98 zeros and `1` |
//!
//! The spelling is what is stored: it is short, however many zeros the display has.

use super::error::JsonError;
use std::fmt;

/// The most digits before the point, as in PostgreSQL.
const WHOLE_MAX: i64 = 131_072;
/// The most digits after the point, as in PostgreSQL.
const SCALE_MAX: i64 = 16_383;
/// The longest number that is spelled as it is displayed.
const PLAIN_MAX: i64 = 48;

/// A number in its spelling.
///
/// Displays in full, without an exponent. Equality is that of the spelling; `order` compares the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonNumber(String);

/// A number taken apart: its value is `digits` times ten to the power of `exponent`.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Parts<'a> {
    /// Takes a number of JSON's syntax apart.
    fn of(text: &'a str) -> Parts<'a> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        /// Beyond it no number is within the limits.
        const HUGE: i64 = 1_000_000_000_000_000_000;
        let beyond = if exponent.starts_with('-') { -HUGE } else { HUGE };
        Parts {
            negative,
            whole,
            fraction,
            exponent: exponent.parse().unwrap_or(beyond).clamp(-HUGE, HUGE),
        }
    }

    /// Returns all digits without the zeros in front; empty of zero.
    fn digits(&self) -> String {
        let digits = format!("{}{}", self.whole, self.fraction);
        digits.trim_start_matches('0').to_owned()
    }

    /// The power of ten that the last digit stands for.
    fn unit(&self) -> i64 {
        self.exponent - self.fraction.len() as i64
    }
}

impl JsonNumber {
    /// Spells a number of JSON's syntax.
    ///
    /// # Errors
    /// More than 131,072 digits before the point or 16,383 after it.
    pub fn of_text(text: &str) -> Result<JsonNumber, JsonError> {
        let parts = Parts::of(text);
        let digits = parts.digits();
        let unit = match digits.is_empty() {
            true => parts.unit().min(0),
            false => parts.unit(),
        };
        let scale = (-unit).max(0);
        let whole = digits.len() as i64 + unit;
        if scale > SCALE_MAX || whole > WHOLE_MAX {
            return Err(JsonError::NumberTooLong);
        }
        let sign = if parts.negative && !digits.is_empty() {
            "-"
        } else {
            ""
        };
        let length = whole.max(1) + scale;
        Ok(JsonNumber(match length <= PLAIN_MAX {
            true => format!("{sign}{}", plain(&digits, unit)),
            false => exponential(sign, &digits, unit),
        }))
    }

    /// Returns the spelling.
    pub fn spelling(&self) -> &str {
        &self.0
    }

    /// Takes a spelling; `None` if the bytes are none.
    pub(crate) fn of_spelling(bytes: &[u8]) -> Option<JsonNumber> {
        let text = std::str::from_utf8(bytes).ok()?;
        let number = JsonNumber::of_text(super::parse::number_syntax(text)?).ok()?;
        (number.0 == text).then_some(number)
    }
}

/// Spells a long number: zeros at the end of a whole one are part of the exponent.
fn exponential(sign: &str, digits: &str, unit: i64) -> String {
    let kept = match unit >= 0 {
        true => digits.trim_end_matches('0'),
        false => digits,
    };
    let unit = unit + (digits.len() - kept.len()) as i64;
    format!("{sign}{}e{unit}", if kept.is_empty() { "0" } else { kept })
}

/// Lays digits out without an exponent.
fn plain(digits: &str, unit: i64) -> String {
    if unit >= 0 {
        return match digits.is_empty() {
            true => "0".to_owned(),
            false => format!("{digits}{}", "0".repeat(unit as usize)),
        };
    }
    let scale = unit.unsigned_abs() as usize;
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{whole}.{fraction}")
}

impl fmt::Display for JsonNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&displayed(&self.0))
    }
}

/// Returns what a spelling is displayed as.
pub(super) fn displayed(spelling: &str) -> String {
    if !spelling.contains('e') {
        return spelling.to_owned();
    }
    let parts = Parts::of(spelling);
    // A stored spelling may be anything; the limits hold for it all the same.
    let unit = parts.unit().clamp(-SCALE_MAX, WHOLE_MAX);
    let sign = if parts.negative { "-" } else { "" };
    format!("{sign}{}", plain(&parts.digits(), unit))
}

/// Appends bytes whose order is that of the numbers.
pub(super) fn put_order(spelling: &str, out: &mut Vec<u8>) {
    let parts = Parts::of(spelling);
    let digits = parts.digits();
    if digits.is_empty() {
        out.push(1);
        return;
    }
    // The value is 0.digits times ten to this power.
    let power = digits.len() as i64 + parts.unit();
    out.push(if parts.negative { 0 } else { 2 });
    let start = out.len();
    let place = power.clamp(-(1 << 30), 1 << 30) + (1 << 31);
    out.extend_from_slice(&(place as u32).to_be_bytes());
    out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    out.push(0);
    if parts.negative {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}
