//! PostgreSQL's binary form of NUMERIC: digits to the base of 10,000.
//!
//! | field       | bytes | meaning                                                    |
//! |-------------|-------|------------------------------------------------------------|
//! | digits      | 2     | how many digits follow                                     |
//! | weight      | 2     | power of 10,000 that the first digit stands for, signed    |
//! | sign        | 2     | `0000` plus, `4000` minus, `c000` NaN, `d000`, `f000` infinities |
//! | scale       | 2     | decimal digits after the point, for display                |
//! | digit       | 2 each| 0 to 9,999                                                 |

#![warn(clippy::arithmetic_side_effects)]

use bytes::BufMut;
use rukh_keys::NumericParts;

const BASE: u128 = 10_000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;

/// Appends a number, given times ten to the power of `scale`.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "digits and lengths of one number, of which there are some ten thousand at most"
)]
pub(super) fn write(value: i128, scale: u8, out: &mut impl BufMut) {
    let mut rest = value.unsigned_abs();
    let after_point = usize::from(scale).div_ceil(4);
    // The lowest digit of the fraction is filled up to four decimal places.
    let lowest = after_point * 4 - usize::from(scale);
    let mut digits: Vec<u16> = Vec::with_capacity(12);
    if lowest > 0 {
        let places = 10_u128.pow(4 - lowest as u32);
        digits.push((rest % places) as u16 * 10_u16.pow(lowest as u32));
        rest /= places;
    }
    while rest > 0 {
        digits.push((rest % BASE) as u16);
        rest /= BASE;
    }
    while digits.len() < after_point {
        digits.push(0);
    }
    let mut weight = digits.len() as i16 - after_point as i16 - 1;
    while digits.last() == Some(&0) {
        digits.pop();
        weight -= 1;
    }
    let trailing = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..trailing);
    if digits.is_empty() {
        weight = 0;
    }
    out.put_i16(digits.len() as i16);
    out.put_i16(weight);
    out.put_u16(if value < 0 { NEGATIVE } else { 0 });
    out.put_u16(u16::from(scale));
    digits.iter().rev().for_each(|digit| out.put_u16(*digit));
}

/// Appends NaN.
pub(super) fn write_nan(out: &mut impl BufMut) {
    out.put_i16(0);
    out.put_i16(0);
    out.put_u16(NAN);
    out.put_u16(0);
}

/// Appends a number with at least `scale` digits after the point, and as many more as it has.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "digits of a number that has 38 of them before the point and 38 after it"
)]
pub(super) fn write_parts(parts: NumericParts, scale: u8, out: &mut impl BufMut) {
    // Four digits each, the highest first: ten before the point and ten after it.
    let mut digits = [0_u16; 20];
    let mut whole = parts.whole;
    for digit in digits[..10].iter_mut().rev() {
        *digit = (whole % BASE) as u16;
        whole /= BASE;
    }
    let mut unit = 10_u128.pow(34);
    for digit in &mut digits[10..19] {
        *digit = (parts.fraction / unit % BASE) as u16;
        unit = (unit / BASE).max(1);
    }
    digits[19] = (parts.fraction % 100 * 100) as u16;
    let first = digits.iter().position(|digit| *digit != 0);
    let last = digits.iter().rposition(|digit| *digit != 0);
    let (first, end) = first.zip(last).map_or((9, 9), |(first, last)| (first, last + 1));
    let fraction = format!("{:038}", parts.fraction);
    let shown = fraction.trim_end_matches('0').len().max(usize::from(scale));
    out.put_i16((end - first) as i16);
    out.put_i16(9 - first as i16);
    out.put_u16(if parts.negative { NEGATIVE } else { 0 });
    out.put_u16(shown as u16);
    digits[first..end].iter().for_each(|digit| out.put_u16(*digit));
}

/// Reads a number as text; `None` if the bytes are none. NaN and infinities come as their names.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "digits and lengths of one number, of which there are some ten thousand at most"
)]
pub(super) fn read(bytes: &[u8]) -> Option<String> {
    let field = |at: usize| Some(u16::from_be_bytes([*bytes.get(at * 2)?, *bytes.get(at * 2 + 1)?]));
    let (count, weight) = (usize::from(field(0)?), field(1)? as i16);
    let (sign, scale) = (field(2)?, usize::from(field(3)?));
    if bytes.len() != 8 + count * 2 {
        return None;
    }
    let mut text = match sign {
        0 => String::new(),
        NEGATIVE => "-".to_string(),
        NAN => return Some("NaN".to_string()),
        0xd000 => return Some("Infinity".to_string()),
        0xf000 => return Some("-Infinity".to_string()),
        _ => return None,
    };
    // Far beyond what any type of Rukh holds, and not worth the memory.
    if scale > 0x3fff || i32::from(weight).abs() > 1_000 {
        return None;
    }
    let digit = |power: i32| -> Option<u16> {
        let at = i32::from(weight) - power;
        match usize::try_from(at) {
            Ok(at) if at < count => field(4 + at).filter(|digit| u128::from(*digit) < BASE),
            _ => Some(0),
        }
    };
    for power in (0..=i32::from(weight).max(0)).rev() {
        text.push_str(&format!("{:04}", digit(power)?));
    }
    let mut fraction = String::new();
    let lowest = (scale.div_ceil(4) as i32).max(count as i32 - 1 - i32::from(weight));
    for power in 1..=lowest {
        fraction.push_str(&format!("{:04}", digit(-power)?));
    }
    fraction.truncate(scale);
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(&fraction);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;

    fn hex(value: i128, scale: u8) -> String {
        let mut out = BytesMut::new();
        write(value, scale, &mut out);
        out.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As PostgreSQL's `numeric_send` writes them.
    #[test]
    fn numbers_have_postgres_bytes() {
        let cases = [
            (0, 0, "0000000000000000"),
            (0, 2, "0000000000000002"),
            (1, 0, "00010000000000000001"),
            (-1, 0, "00010000400000000001"),
            (10_000, 0, "00010001000000000001"),
            (150, 2, "000200000000000200011388"),
            (1, 4, "0001ffff000000040001"),
            (1, 6, "0001fffe000000060064"),
            (12_345_678_901, 4, "00030001000000040"),
        ];
        for (value, scale, expected) in cases {
            let found = hex(value, scale);
            assert!(found.starts_with(expected), "{value} scale {scale}: {found}");
        }
    }

    #[test]
    fn numbers_come_back() {
        let numbers = [
            0_i128,
            1,
            -1,
            9,
            10,
            9_999,
            10_000,
            10_001,
            123_456_789,
            i64::MAX.into(),
            10_i128.pow(37) + 7,
        ];
        for value in numbers {
            for scale in 0..=12_u8 {
                let mut out = BytesMut::new();
                write(value, scale, &mut out);
                let text = read(&out).expect("what was written is a number");
                let digits: String = text.chars().filter(|c| *c != '.').collect();
                assert_eq!(digits.parse::<i128>().ok(), Some(value), "{text}");
                let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
                assert_eq!(places, usize::from(scale), "{text}");
            }
        }
    }

    #[test]
    fn wide_numbers_come_back() {
        let largest = 10_u128.pow(38) - 1;
        for whole in [0, 1, 10_000, 123_456_789_012_345, largest] {
            for fraction in [0, 1, 10_u128.pow(37), 5 * 10_u128.pow(30), largest] {
                let parts = NumericParts::new(true, whole, fraction).expect("it is in range");
                let mut out = BytesMut::new();
                write_parts(parts, 2, &mut out);
                let text = read(&out).expect("what was written is a number");
                let read = rukh_keys::DataType::NUMERIC.parse_text(&text);
                assert_eq!(read, Ok(rukh_keys::Datum::Numeric(parts.to_form())), "{text}");
            }
        }
        let mut out = BytesMut::new();
        write_parts(NumericParts::default(), 0, &mut out);
        assert_eq!(out[..], [0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn bytes_that_are_no_number() {
        assert_eq!(read(b""), None);
        assert_eq!(read(&[0, 1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(read(&[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff]), None);
        assert_eq!(read(&[0, 0, 0x7f, 0xff, 0, 0, 0, 0]), None);
        assert_eq!(read(&[0, 0, 0, 0, 0xc0, 0, 0, 0]).as_deref(), Some("NaN"));
    }
}
