//! Reads values from text in PostgreSQL's input syntax.

use crate::array::{MalformedRecord, array_form, dimensions, elements, record_fields, record_form};
use crate::datum::Datum;
use crate::error::ValueError;
use crate::json::Json;
use crate::numeric::{NUMERIC_NAN, form_of_digits};
use crate::times::calendar::{
    DATE_MAX, DATE_MIN, DAY_MICROS, TIMESTAMP_INFINITY, TIMESTAMP_MAX, TIMESTAMP_MIN,
    TIMESTAMP_MINUS_INFINITY, date_of_timestamp,
};
use crate::times::datetime::{Day, Failure, Moment, read_moment, read_time};
use crate::times::interval::Interval;
use crate::times::zones::Zone;
use crate::types::inet::Inet;
use crate::types::records::{RecordField, RecordType};
use crate::types::{DataType, decimal_max};
use std::cmp::Ordering;

impl DataType {
    /// Reads a value of the type from text, in PostgreSQL's input syntax, and checks it.
    ///
    /// | type                     | forms                                                       |
    /// |--------------------------|-------------------------------------------------------------|
    /// | BOOLEAN                  | `t`, `true`, `y`, `yes`, `on`, `1` and their opposites       |
    /// | integers                 | `-5`, `1_000`, `0xff`, `0o17`, `0b101`                       |
    /// | REAL, DOUBLE             | `1.5`, `1e3`, `NaN`, `Infinity`, `-inf`                      |
    /// | DECIMAL                  | `1.005`, `1e-3`; rounded half away from zero to the scale    |
    /// | DATE                     | `2012-01-31`, `1/31/2012`, `Jan 31, 2012`; the time of a timestamp is dropped |
    /// | TIME                     | `12:30`, `12:30:15.25`, `12:30 PM`                           |
    /// | TIMESTAMP                | `2012-01-31`, `2012-01-31 12:30:15.25`, `2012-01-31T12:30`; a zone is ignored |
    /// | TIMESTAMP WITH TIME ZONE | the same with `Z`, `+02:00`, `PST` or `Europe/Berlin`; without a zone it is UTC |
    /// | UUID                     | any case, with or without hyphens or braces                 |
    /// | INET, CIDR               | `10.1.2.3`, `10.1.2.3/8`, `2001:db8::/32`; a CIDR has no bits behind its mask |
    /// | CHAR, VARCHAR            | the text itself                                             |
    /// | NUMERIC                  | as DECIMAL, and `NaN`                                        |
    /// | INTERVAL                 | `1 day 02:00`, `2 weeks ago`, `P1DT2H`                       |
    /// | arrays                   | `{1,NULL,"a b"}`, of one dimension                           |
    /// | JSON, JSONB              | JSON                                                         |
    /// | enums                    | a label                                                     |
    /// | BINARY, VARBINARY        | `\x00ff`, or text with `\\` and `\ooo`                       |
    ///
    /// The SQL word NULL is text like any other.
    pub fn parse_text(&self, text: &str) -> Result<Datum, ValueError> {
        let datum = match self {
            DataType::Boolean => Datum::Boolean(self.parse_boolean(text)?),
            DataType::Real => Datum::Float(f64::from(self.parse_real(text)?)),
            DataType::Double => Datum::Float(self.parse_double(text)?),
            DataType::Decimal { precision, scale } => {
                Datum::Decimal(self.parse_decimal(text, *precision, *scale)?)
            }
            DataType::Numeric { precision, scale } => {
                Datum::Numeric(self.parse_numeric(text, *precision, *scale)?)
            }
            DataType::Date => Datum::Date(self.parse_date(text)?),
            DataType::Time { .. } => Datum::Time(self.parse_time(text)?),
            DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
                Datum::Timestamp(self.parse_timestamp(text)?)
            }
            DataType::Uuid => Datum::Uuid(self.parse_uuid(text)?),
            DataType::Inet => match Inet::parse(text) {
                Some(address) => Datum::Inet(address.to_form()),
                None => return Err(self.syntax(text)),
            },
            DataType::Cidr => match Inet::parse_network(text) {
                Some(Ok(network)) => Datum::Inet(network.to_form()),
                Some(Err(())) => {
                    return Err(ValueError::NoNetwork {
                        text: text.to_owned(),
                    });
                }
                None => return Err(self.syntax(text)),
            },
            DataType::Interval => Datum::Interval(self.parse_interval(text)?),
            DataType::Enum(of) => match of.definition().code(text) {
                Some(code) => return Ok(Datum::Int(i64::from(code))),
                None => return Err(self.syntax(text)),
            },
            // It is checked below.
            DataType::Json => Datum::Text(text.to_owned()),
            DataType::Array(element) => return Ok(Datum::Array(parse_array(**element, text)?)),
            DataType::Record(of) => return Ok(Datum::Array(parse_record(*of, text)?)),
            DataType::Jsonb => return Ok(Datum::Jsonb(Json::parse(text)?.to_jsonb()?)),
            DataType::Char(_) | DataType::Varchar(_) => Datum::Text(text.to_owned()),
            DataType::Binary(_) | DataType::Varbinary(_) => Datum::Bytes(self.parse_bytes(text)?),
            DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => {
                Datum::Int(self.parse_int(text)?)
            }
        };
        self.check(datum).map_err(|error| self.quote(error, text))
    }

    /// Puts the text as the user wrote it into a range error.
    fn quote(&self, error: ValueError, text: &str) -> ValueError {
        match error {
            ValueError::OutOfRange { ty, .. } | ValueError::IntegerOutOfRange { ty } => {
                let value = text.trim().to_owned();
                ValueError::OutOfRange { value, ty }
            }
            ValueError::DateTimeOutOfRange { .. } => {
                let value = text.to_owned();
                ValueError::DateTimeOutOfRange { value }
            }
            ValueError::MomentBeyond { .. } => self.moment_beyond(text),
            other => other,
        }
    }

    fn syntax(&self, text: &str) -> ValueError {
        ValueError::InvalidText {
            ty: *self,
            text: text.to_owned(),
        }
    }

    fn too_great(&self, text: &str) -> ValueError {
        ValueError::OutOfRange {
            value: text.to_owned(),
            ty: *self,
        }
    }

    fn parse_interval(&self, text: &str) -> Result<Interval, ValueError> {
        Interval::read(text).ok_or_else(|| match Interval::is_too_large(text) {
            true => ValueError::IntervalOutOfRange {
                text: text.to_owned(),
            },
            false => ValueError::InvalidDateTime {
                ty: *self,
                text: text.to_owned(),
            },
        })
    }

    fn parse_boolean(&self, text: &str) -> Result<bool, ValueError> {
        let word = text.trim().to_ascii_lowercase();
        let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
        if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
            Ok(true)
        } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
            Ok(false)
        } else {
            Err(self.syntax(text))
        }
    }

    fn parse_int(&self, text: &str) -> Result<i64, ValueError> {
        let trimmed = text.trim();
        let (negative, digits) = split_sign(trimmed);
        let (radix, digits) = split_radix(digits);
        self.check_leading_digits(negative, digits)
            .map_err(|_| self.too_great(trimmed))?;
        let mut value: i128 = 0;
        for digit in Digits::new(digits, radix).ok_or_else(|| self.syntax(text))? {
            let digit = digit.ok_or_else(|| self.syntax(text))?;
            // Saturates far outside of every integer type.
            value = value
                .saturating_mul(i128::from(radix))
                .saturating_add(i128::from(digit));
        }
        let value = if negative { -value } else { value };
        i64::try_from(value).map_err(|_| self.too_great(trimmed))
    }

    /// Refuses digits that are too large a number, whatever stands behind them, as PostgreSQL does.
    fn check_leading_digits(&self, negative: bool, digits: &str) -> Result<(), ValueError> {
        let leading = digits.bytes().take_while(u8::is_ascii_digit);
        let size = leading.fold(0_i128, |size, digit| {
            size.saturating_mul(10).saturating_add(i128::from(digit - b'0'))
        });
        let value = if negative { -size } else { size };
        match self.int_bounds() {
            Some((least, most)) if value < i128::from(least) || value > i128::from(most) => {
                Err(ValueError::IntegerOutOfRange { ty: *self })
            }
            _ => Ok(()),
        }
    }

    fn parse_double(&self, text: &str) -> Result<f64, ValueError> {
        let trimmed = text.trim();
        let value: f64 = trimmed.parse().map_err(|_| self.syntax(text))?;
        self.check_float_text(trimmed, value.is_infinite(), value == 0.0)?;
        Ok(value)
    }

    fn parse_real(&self, text: &str) -> Result<f32, ValueError> {
        let trimmed = text.trim();
        let value: f32 = trimmed.parse().map_err(|_| self.syntax(text))?;
        self.check_float_text(trimmed, value.is_infinite(), value == 0.0)?;
        Ok(value)
    }

    /// Refuses digits that became infinite, and digits other than 0 that became zero.
    fn check_float_text(&self, text: &str, infinite: bool, zero: bool) -> Result<(), ValueError> {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let overflow = infinite && text.bytes().any(|byte| byte.is_ascii_digit());
        let underflow = zero && mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        if overflow || underflow {
            Err(self.too_great(text))
        } else {
            Ok(())
        }
    }

    fn parse_decimal(&self, text: &str, precision: u8, scale: u8) -> Result<i128, ValueError> {
        let number = DecimalText::parse(text.trim()).ok_or_else(|| self.no_number(text))?;
        let value = number.scaled(scale, decimal_max(precision));
        value.ok_or(ValueError::NumericOverflow { precision, scale })
    }

    fn no_number(&self, text: &str) -> ValueError {
        let word = text.trim().trim_start_matches(['-', '+']).to_ascii_lowercase();
        let value = match word.as_str() {
            "nan" if text.trim().len() == word.len() => "NaN",
            "inf" | "infinity" => "infinity",
            _ => return self.syntax(text),
        };
        ValueError::NotFinite { value, ty: *self }
    }

    fn parse_numeric(&self, text: &str, precision: u8, scale: u8) -> Result<Vec<u8>, ValueError> {
        if text.trim().eq_ignore_ascii_case("nan") {
            return Ok(NUMERIC_NAN.to_vec());
        }
        let number = DecimalText::parse(text.trim()).ok_or_else(|| self.no_number(text))?;
        let form = form_of_digits(number.negative, &number.digits, number.exponent, scale);
        form.ok_or(ValueError::NumericOverflow { precision, scale })
    }

    fn moment_failure(&self, failure: Failure, text: &str) -> ValueError {
        let value = text.to_owned();
        match failure {
            Failure::Syntax => self.no_datetime(text),
            Failure::Field => ValueError::DateTimeOutOfRange { value },
            Failure::Order => ValueError::DateOrder { value },
            Failure::Offset => ValueError::ZoneOutOfRange { value },
            Failure::Zone(name) => ValueError::UnknownZone { name },
        }
    }

    fn no_datetime(&self, text: &str) -> ValueError {
        let ty = match self {
            DataType::Timestamp { .. } => DataType::TIMESTAMP,
            DataType::TimestampTz { .. } => DataType::TIMESTAMP_TZ,
            DataType::Time { .. } => DataType::Time { precision: 6 },
            other => *other,
        };
        ValueError::InvalidDateTime {
            ty,
            text: text.to_owned(),
        }
    }

    /// Reads days, microseconds of the day, and the zone; an infinity as the microseconds that stand for it.
    fn parse_moment(&self, text: &str) -> Result<Result<(i64, i64, Zone), i64>, ValueError> {
        match read_moment(text).map_err(|failure| self.moment_failure(failure, text))? {
            Moment::Epoch => Ok(Ok((0, 0, Zone::UTC))),
            Moment::Infinity => Ok(Err(TIMESTAMP_INFINITY)),
            Moment::MinusInfinity => Ok(Err(TIMESTAMP_MINUS_INFINITY)),
            Moment::Parts(parts) => match parts.day {
                Day::Date(days) => Ok(Ok((days, parts.time, parts.zone.unwrap_or(Zone::UTC)))),
                Day::FromToday(_) => Err(self.no_datetime(text)),
            },
            Moment::Now => Err(self.no_datetime(text)),
        }
    }

    fn moment_beyond(&self, text: &str) -> ValueError {
        ValueError::MomentBeyond {
            ty: *self,
            value: text.to_owned(),
        }
    }

    fn parse_date(&self, text: &str) -> Result<i32, ValueError> {
        match self.parse_moment(text)? {
            Ok((days, ..)) => i32::try_from(days)
                .ok()
                .filter(|days| (DATE_MIN..=DATE_MAX).contains(days))
                .ok_or_else(|| self.moment_beyond(text)),
            Err(infinity) => Ok(date_of_timestamp(infinity)),
        }
    }

    fn parse_time(&self, text: &str) -> Result<i64, ValueError> {
        read_time(text).map_err(|failure| self.moment_failure(failure, text))
    }

    fn parse_timestamp(&self, text: &str) -> Result<i64, ValueError> {
        let (days, time, zone) = match self.parse_moment(text)? {
            Ok(parts) => parts,
            Err(infinity) => return Ok(infinity),
        };
        let micros = days
            .checked_mul(DAY_MICROS)
            .and_then(|micros| micros.checked_add(time));
        let micros = micros.map(|micros| match self {
            DataType::TimestampTz { .. } => zone.instant(micros),
            _ => micros,
        });
        micros
            .filter(|micros| (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(micros))
            .ok_or_else(|| self.moment_beyond(text))
    }

    fn parse_uuid(&self, text: &str) -> Result<[u8; 16], ValueError> {
        uuid_bytes(text.trim()).ok_or_else(|| self.syntax(text))
    }

    fn parse_bytes(&self, text: &str) -> Result<Vec<u8>, ValueError> {
        match text.strip_prefix("\\x") {
            Some(digits) => parse_hex(digits),
            None => unescape_bytes(text.as_bytes()).ok_or_else(|| self.syntax(text)),
        }
    }
}

/// Splits `-5` into `true` and `5`.
fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Splits `0xff` into 16 and `ff`.
fn split_radix(text: &str) -> (u32, &str) {
    let rest = text.get(2..).unwrap_or_default();
    match text.get(..2) {
        Some("0x" | "0X") => (16, rest),
        Some("0o" | "0O") => (8, rest),
        Some("0b" | "0B") => (2, rest),
        _ => (10, text),
    }
}

/// The digits of a number in which single underscores may stand between digits.
///
/// Yields `None` for a character that is no digit.
struct Digits<'a> {
    bytes: std::slice::Iter<'a, u8>,
    radix: u32,
}

impl<'a> Digits<'a> {
    /// `None` if the text is empty or an underscore does not stand between two characters.
    fn new(text: &'a str, radix: u32) -> Option<Digits<'a>> {
        // After 0x, 0o and 0b an underscore may lead, as in PostgreSQL.
        let leads = text.starts_with('_') && radix == 10;
        let bad = text.is_empty() || leads || text.ends_with('_') || text.contains("__");
        (!bad).then(|| Digits {
            bytes: text.as_bytes().iter(),
            radix,
        })
    }
}

impl Iterator for Digits<'_> {
    type Item = Option<u32>;

    fn next(&mut self) -> Option<Option<u32>> {
        let radix = self.radix;
        let byte = self.bytes.find(|byte| **byte != b'_')?;
        Some(char::from(*byte).to_digit(radix))
    }
}

/// A decimal number taken apart: digits without a point, and the power of ten they stand for.
struct DecimalText {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl DecimalText {
    fn parse(text: &str) -> Option<DecimalText> {
        let (negative, number) = split_sign(text);
        let (mantissa, power) = match number.find(['e', 'E']) {
            Some(at) => (&number[..at], parse_exponent(&number[at + 1..])?),
            None => (number, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut digits = decimal_digits(whole)?;
        let fraction = decimal_digits(fraction)?;
        let exponent = power.saturating_sub(fraction.len() as i64);
        digits.extend(fraction);
        Some(DecimalText {
            negative,
            digits,
            exponent,
        })
    }

    /// Returns the number times ten to the power of `scale`, rounded half away from zero, or
    /// `None` if that is beyond `max`.
    fn scaled(&self, scale: u8, max: i128) -> Option<i128> {
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        let digits = &self.digits[leading..];
        let shift = self.exponent.saturating_add(i64::from(scale));
        let kept = (digits.len() as i64).saturating_add(shift.min(0));
        if digits.is_empty() || kept < 0 {
            return Some(0);
        }
        let mut value = 0;
        for digit in &digits[..kept as usize] {
            value = push_digit(value, *digit, max)?;
        }
        for _ in 0..shift.max(0) {
            value = push_digit(value, 0, max)?;
        }
        let rounds_up = digits.get(kept as usize).is_some_and(|digit| *digit >= 5);
        let value = value + i128::from(rounds_up);
        (value <= max).then_some(if self.negative { -value } else { value })
    }
}

/// Appends a digit to a number that must not pass `max`, which is below 10^38.
fn push_digit(value: i128, digit: u8, max: i128) -> Option<i128> {
    let value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    (value <= max).then_some(value)
}

fn decimal_digits(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    Digits::new(text, 10)?
        .map(|digit| digit.map(|digit| digit as u8))
        .collect()
}

/// Reads the power of ten after `e`; very great ones saturate.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    let mut value: i64 = 0;
    for digit in Digits::new(digits, 10)? {
        value = value
            .saturating_mul(10)
            .saturating_add(i64::from(digit?))
            .min(1 << 40);
    }
    Some(if negative { -value } else { value })
}

/// Reads 32 hexadecimal digits; a hyphen may stand after each fourth, braces around all.
fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let mut bytes = [0; 16];
    let mut digits = 0;
    let mut after_hyphen = true;
    for character in inner.chars() {
        if character == '-' {
            if after_hyphen || digits % 4 != 0 || digits == 32 {
                return None;
            }
            after_hyphen = true;
        } else {
            let digit = character.to_digit(16)? as u8;
            let byte: &mut u8 = bytes.get_mut(digits / 2)?;
            *byte = *byte << 4 | digit;
            digits += 1;
            after_hyphen = false;
        }
    }
    (digits == 32).then_some(bytes)
}

fn parse_array(element: DataType, text: &str) -> Result<Vec<u8>, ValueError> {
    let Some(texts) = elements(text) else {
        return Err(match dimensions(text) {
            Some(_) => ValueError::ArrayDimensions,
            None => ValueError::InvalidArray {
                text: text.to_owned(),
            },
        });
    };
    let value = |text: Option<String>| text.map_or(Ok(Datum::Null), |text| element.parse_text(&text));
    let values = texts
        .into_iter()
        .map(value)
        .collect::<Result<Vec<Datum>, ValueError>>()?;
    array_form(element, &values)
}

fn parse_record(of: RecordType, text: &str) -> Result<Vec<u8>, ValueError> {
    let invalid = |detail: &'static str| ValueError::InvalidRecord {
        text: text.to_owned(),
        detail,
    };
    let texts = match of.fields() {
        // `()` is one NULL otherwise.
        [] if text.trim() == "()" => Vec::new(),
        _ => record_fields(text).map_err(|MalformedRecord(detail)| invalid(detail))?,
    };
    match texts.len().cmp(&of.fields().len()) {
        Ordering::Less => return Err(invalid("Too few columns.")),
        Ordering::Greater => return Err(invalid("Too many columns.")),
        Ordering::Equal => {}
    }
    let value = |(text, field): (Option<String>, &RecordField)| {
        text.map_or(Ok(Datum::Null), |text| field.ty.parse_text(&text))
    };
    let values = texts.into_iter().zip(of.fields()).map(value);
    record_form(of, &values.collect::<Result<Vec<Datum>, ValueError>>()?)
}

/// Reads pairs of hexadecimal digits; blanks may stand between the pairs.
fn parse_hex(text: &str) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut characters = text.chars().filter(|character| !character.is_whitespace());
    let digit = |character: char| {
        let digit = character
            .to_digit(16)
            .ok_or(ValueError::InvalidHexDigit { digit: character });
        digit.map(|digit| digit as u8)
    };
    while let Some(first) = characters.next() {
        let high = digit(first)?;
        let low = digit(characters.next().ok_or(ValueError::OddHexDigits)?)?;
        bytes.push(high << 4 | low);
    }
    Ok(bytes)
}

/// Reads PostgreSQL's escape form: `\\` is a backslash, `\ooo` a byte in octal.
fn unescape_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'\\' {
            bytes.push(first);
        } else if let Some(after) = tail.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = after;
        } else {
            let (octal, after) = tail.split_at_checked(3)?;
            bytes.push(octal_byte(octal)?);
            rest = after;
        }
    }
    Some(bytes)
}

fn octal_byte(digits: &[u8]) -> Option<u8> {
    let mut value: u32 = 0;
    for digit in digits {
        value = value * 8 + char::from(*digit).to_digit(8)?;
    }
    u8::try_from(value).ok()
}
