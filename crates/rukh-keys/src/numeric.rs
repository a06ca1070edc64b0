//! The form of NUMERIC: exact numbers of up to 76 digits, 38 of them after the point, as byte strings whose order is that
//! of the numbers.
//!
//! A positive number is `0.D₁D₂…Dₙ × 100^e` with digits of base 100, of which the first and the last are not zero. Its form is
//! the byte `c0 + e`, and a byte for each digit: `2D + 1`, and `2D` for the last. The form of a negative number is that of its
//! opposite with all bits turned round; zero is `80`. A number has one form, no form is the start of another, and none has a zero
//! byte.
//!
//! | number  | form          |
//! |---------|---------------|
//! | `0`     | `80`          |
//! | `1`     | `c1 02`       |
//! | `1.5`   | `c1 03 64`    |
//! | `100`   | `c2 02`       |
//! | `-1`    | `3e fd`       |
//! | `NaN`   | `d8`          |
//!
//! The form is as short as the number: a byte, and one for each two digits. Byte strings from `d4` on and below `2c` are left
//! for what has no digits: NaN is `d8`, behind all numbers.

use std::cmp::Ordering;
use std::fmt::{self, Write};

/// Digits before the point, and after it, at most.
pub const NUMERIC_HALF: u8 = 38;

/// Digits of base 100 in half a number.
const PAIRS: usize = NUMERIC_HALF as usize / 2;

/// The form of NaN, which is equal to itself and greater than all numbers.
pub const NUMERIC_NAN: [u8; 1] = [0xd8];

/// Ten to the power of the digits of half a number.
const HALF: u128 = 10_u128.pow(NUMERIC_HALF as u32);

const ZERO: u8 = 0x80;
const EXPONENT_ZERO: u8 = 0xc0;

/// A number in two halves.
///
/// Invariant: both are less than 10^38, and zero is not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumericParts {
    /// Whether it is less than zero.
    pub negative: bool,
    /// What is before the point.
    pub whole: u128,
    /// What is after the point, times 10^38.
    pub fraction: u128,
}

impl NumericParts {
    /// Takes a number apart that is given by `whole` and `fraction` × 10^-38; `None` if it has more than 38 digits before the point.
    pub fn new(negative: bool, whole: u128, fraction: u128) -> Option<NumericParts> {
        let (carried, fraction) = (fraction / HALF, fraction % HALF);
        let whole = whole.checked_add(carried).filter(|whole| *whole < HALF)?;
        Some(NumericParts {
            negative: negative && (whole, fraction) != (0, 0),
            whole,
            fraction,
        })
    }

    /// Returns a decimal with `scale` digits after the point, 38 at most.
    pub fn of_decimal(value: i128, scale: u8) -> Option<NumericParts> {
        let unit = 10_u128.pow(u32::from(scale.min(NUMERIC_HALF)));
        let (whole, rest) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
        NumericParts::new(value < 0, whole, rest * (HALF / unit))
    }

    /// Returns the number times 10^`scale`, rounded half away from zero, or `None` if that is more than an `i128` holds.
    pub fn to_decimal(self, scale: u8) -> Option<i128> {
        let rounded = self.rounded(scale)?;
        let unit = 10_u128.pow(u32::from(scale.min(NUMERIC_HALF)));
        let whole = rounded.whole.checked_mul(unit)?;
        let value = i128::try_from(whole.checked_add(rounded.fraction / (HALF / unit))?).ok()?;
        Some(if self.negative { -value } else { value })
    }

    /// Rounds to `scale` digits after the point, half away from zero; `None` if it then has too many before it.
    pub fn rounded(self, scale: u8) -> Option<NumericParts> {
        let unit = HALF / 10_u128.pow(u32::from(scale.min(NUMERIC_HALF)));
        if unit == 1 {
            return Some(self);
        }
        let up = (self.fraction % unit) * 2 >= unit;
        let fraction = (self.fraction / unit + u128::from(up)) * unit;
        NumericParts::new(self.negative, self.whole, fraction)
    }

    /// Cuts off the digits behind the first `scale` after the point.
    pub fn truncated(self, scale: u8) -> NumericParts {
        let unit = HALF / 10_u128.pow(u32::from(scale.min(NUMERIC_HALF)));
        let fraction = self.fraction / unit * unit;
        NumericParts {
            negative: self.negative && (self.whole, fraction) != (0, 0),
            fraction,
            ..self
        }
    }

    /// Returns the DOUBLE nearest to the number.
    pub fn to_double(self) -> f64 {
        let mut text = String::new();
        let _ = self.write(0, &mut text);
        text.parse().unwrap_or(f64::NAN)
    }

    /// Whether it has at most `digits` digits before the point.
    pub fn fits(self, digits: u8) -> bool {
        self.whole < 10_u128.pow(u32::from(digits.min(NUMERIC_HALF)))
    }

    /// Returns the form.
    pub fn to_form(self) -> Vec<u8> {
        let pairs: [u8; 2 * PAIRS] = {
            let mut pairs = [0; 2 * PAIRS];
            pairs[..PAIRS].copy_from_slice(&pairs_of(self.whole));
            pairs[PAIRS..].copy_from_slice(&pairs_of(self.fraction));
            pairs
        };
        let Some(first) = pairs.iter().position(|pair| *pair != 0) else {
            return vec![ZERO];
        };
        let last = pairs.iter().rposition(|pair| *pair != 0).unwrap_or(first);
        let mut form = Vec::with_capacity(2 + last - first);
        // The exponent is from -18 to 19.
        form.push(EXPONENT_ZERO.wrapping_add(PAIRS as u8).wrapping_sub(first as u8));
        form.extend(pairs[first..last].iter().map(|pair| 2 * pair + 1));
        form.push(2 * pairs[last]);
        if self.negative {
            form.iter_mut().for_each(|byte| *byte = !*byte);
        }
        form
    }

    /// Reads the form of a number; `None` of any other bytes, and of NaN.
    pub fn of_form(form: &[u8]) -> Option<NumericParts> {
        let (first, negative) = match form.first()? {
            &ZERO if form.len() == 1 => return NumericParts::new(false, 0, 0),
            byte if *byte < ZERO => (!*byte, true),
            byte => (*byte, false),
        };
        let turned = if negative { 0xff } else { 0 };
        let place = (EXPONENT_ZERO + PAIRS as u8).checked_sub(first)?;
        let digits = &form[1..];
        let mut pairs = [0; 2 * PAIRS];
        let places = pairs.get_mut(usize::from(place)..)?.get_mut(..digits.len())?;
        let count = digits.len();
        for (at, (pair, byte)) in places.iter_mut().zip(digits).enumerate() {
            let byte = byte ^ turned;
            *pair = byte / 2;
            let is_last = at + 1 == count;
            if *pair > 99 || (byte % 2 == 0) != is_last || (*pair == 0 && (at == 0 || is_last)) {
                return None;
            }
        }
        if count == 0 {
            return None;
        }
        NumericParts::new(negative, number_of(&pairs[..PAIRS]), number_of(&pairs[PAIRS..]))
    }

    /// Whether bytes are the form of a number, or of NaN.
    pub fn is_form(form: &[u8]) -> bool {
        form == NUMERIC_NAN || NumericParts::of_form(form).is_some()
    }

    /// Writes it with at least `scale` digits after the point, and as many more as it has.
    pub(crate) fn write(self, scale: u8, out: &mut impl Write) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(out, "{sign}{}", self.whole)?;
        let digits = format!("{:0width$}", self.fraction, width = usize::from(NUMERIC_HALF));
        let shown = digits.trim_end_matches('0').len().max(usize::from(scale));
        match shown {
            0 => Ok(()),
            shown => write!(out, ".{}", &digits[..shown.min(digits.len())]),
        }
    }
}

/// Returns the form of a number in decimal digits, the most significant first, times ten to the power of `exponent`: rounded to
/// `scale` digits after the point. `None` if it has more than 38 before it.
pub(crate) fn form_of_digits(negative: bool, digits: &[u8], exponent: i64, scale: u8) -> Option<Vec<u8>> {
    let half = i64::from(NUMERIC_HALF);
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    let digits = &digits[leading..];
    let (mut whole, mut fraction, mut up) = (0_u128, 0_u128, false);
    let count = digits.len() as i64;
    for (at, digit) in digits.iter().enumerate() {
        // The power of ten that the digit counts.
        let power = (count - 1 - at as i64).saturating_add(exponent);
        let unit = |power: i64| u128::from(*digit) * 10_u128.pow(power as u32);
        match power {
            power if power >= half => return None,
            0.. => whole += unit(power),
            power if power >= -half => fraction += unit(power + half),
            power => {
                up = power == -half - 1 && *digit >= 5;
                break;
            }
        }
    }
    // A digit behind the last kept one rounds up by itself; what is behind that cannot make it a half that it is not.
    let parts = NumericParts::new(
        negative,
        whole,
        fraction + u128::from(up && scale == NUMERIC_HALF),
    )?;
    Some(parts.rounded(scale)?.to_form())
}

/// Returns the digits of base 100 of a number below 10^38.
fn pairs_of(number: u128) -> [u8; PAIRS] {
    const EIGHTEEN: u128 = 1_000_000_000_000_000_000;
    let mut pairs = [0; PAIRS];
    let (first, rest) = (number / (EIGHTEEN * EIGHTEEN), number % (EIGHTEEN * EIGHTEEN));
    pairs[0] = first as u8;
    for (half, mut number) in [(1, (rest / EIGHTEEN) as u64), (10, (rest % EIGHTEEN) as u64)] {
        for at in (half..half + 9).rev() {
            pairs[at] = (number % 100) as u8;
            number /= 100;
        }
    }
    pairs
}

fn number_of(pairs: &[u8]) -> u128 {
    let number = |pairs: &[u8]| {
        pairs
            .iter()
            .fold(0_u64, |number, pair| number * 100 + u64::from(*pair))
    };
    // Nine digits of base 100 are less than 2^64.
    let (first, rest) = pairs.split_at(pairs.len() % 9);
    let parts = rest.chunks(9).map(number);
    parts.fold(u128::from(number(first)), |sum, part| {
        sum * 1_000_000_000_000_000_000 + u128::from(part)
    })
}

impl Ord for NumericParts {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |parts: &NumericParts| (parts.whole, parts.fraction);
        match (self.negative, other.negative) {
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
            (negative, others) => others.cmp(&negative),
        }
    }
}

impl PartialOrd for NumericParts {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> Vec<u8> {
        match crate::DataType::NUMERIC.parse_text(text) {
            Ok(crate::Datum::Numeric(form)) => form,
            other => panic!("{text} is {other:?}"),
        }
    }

    fn text(form: &[u8], scale: u8) -> String {
        let mut text = String::new();
        let parts = NumericParts::of_form(form).expect("a form is read");
        parts.write(scale, &mut text).expect("a text takes all");
        text
    }

    #[test]
    fn forms_are_as_documented() {
        assert_eq!(form("0"), [0x80]);
        assert_eq!(form("-0.000"), [0x80]);
        assert_eq!(form("1"), [0xc1, 0x02]);
        assert_eq!(form("1.50"), [0xc1, 0x03, 0x64]);
        assert_eq!(form("100"), [0xc2, 0x02]);
        assert_eq!(form("-1"), [0x3e, 0xfd]);
        assert_eq!(form("1e-38"), [0xae, 0x02]);
        assert_eq!(form("99e36"), [0xd3, 0xc6]);
        assert_eq!(form(" nan "), NUMERIC_NAN);
        assert!(form(&"9".repeat(38)).as_slice() < NUMERIC_NAN.as_slice());
    }

    #[test]
    fn halves_go_away_from_zero() {
        for (given, scale, expected) in [
            ("0.5", 0, "1"),
            ("-0.5", 0, "-1"),
            ("-0.4", 0, "0"),
            ("2.45", 1, "2.5"),
            ("9.99", 1, "10.0"),
            ("1e-39", 38, "0.00000000000000000000000000000000000000"),
            ("5e-39", 38, "0.00000000000000000000000000000000000001"),
            ("4.9e-39", 38, "0.00000000000000000000000000000000000000"),
            ("1.49999999999999999999999999999999999999999999", 0, "1"),
        ] {
            let ty = crate::DataType::Numeric {
                precision: 38 + scale,
                scale,
            };
            let Ok(crate::Datum::Numeric(form)) = ty.parse_text(given) else {
                panic!("{given} is no number");
            };
            assert_eq!(text(&form, scale), expected, "{given}");
        }
        let largest = "9".repeat(38);
        assert_eq!(text(&form(&largest), 0), largest);
        assert!(
            crate::DataType::NUMERIC
                .parse_text(&format!("{largest}9"))
                .is_err()
        );
        assert!(crate::DataType::NUMERIC.parse_text("1e38").is_err());
        let integral = crate::DataType::Numeric {
            precision: 38,
            scale: 0,
        };
        assert!(integral.parse_text(&format!("{largest}.5")).is_err());
    }

    fn parts() -> impl Strategy<Value = NumericParts> {
        let half = || {
            prop_oneof![
                Just(0_u128),
                0_u128..200,
                0..HALF,
                (0_u32..36, 1_u128..200).prop_map(|(power, digit)| (digit * 10_u128.pow(power)) % HALF),
            ]
        };
        (any::<bool>(), half(), half()).prop_map(|(negative, whole, fraction)| {
            NumericParts::new(negative, whole, fraction).expect("in range")
        })
    }

    proptest! {
        #[test]
        fn forms_are_read_and_have_the_order_of_numbers(left in parts(), right in parts()) {
            let (one, other) = (left.to_form(), right.to_form());
            prop_assert_eq!(NumericParts::of_form(&one), Some(left));
            prop_assert_eq!(one.cmp(&other), left.cmp(&right));
            prop_assert!(!one.contains(&0));
            prop_assert!(one == other || !one.starts_with(&other));
            prop_assert_eq!(form(&text(&one, 0)), one);
        }

        #[test]
        fn other_bytes_are_no_forms(bytes in prop::collection::vec(any::<u8>(), 0..6)) {
            if let Some(parts) = NumericParts::of_form(&bytes) {
                prop_assert_eq!(parts.to_form(), bytes);
            }
        }

        #[test]
        fn decimals_are_numbers(value in any::<i64>(), scale in 0_u8..19) {
            let parts = NumericParts::of_decimal(i128::from(value), scale).expect("it is in range");
            prop_assert_eq!(parts.to_decimal(scale), Some(i128::from(value)));
        }
    }
}
