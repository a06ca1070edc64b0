//! Writes values as text, as PostgreSQL does.

use crate::array::{array_text, array_values, record_text, record_values};
use crate::datum::Datum;
use crate::json::Jsonb;
use crate::numeric::{NUMERIC_NAN, NumericParts};
use crate::times::calendar::{
    DATE_INFINITY, DATE_MINUS_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY, civil_from_days,
    split_timestamp,
};
use crate::times::interval_style::IntervalStyle;
use crate::types::DataType;
use crate::types::inet::Inet;
use crate::types::records::RecordType;
use std::fmt::{self, Write};

impl DataType {
    /// Writes a value of the type as PostgreSQL's text output: `t`, `1.50`, `2012-01-01 12:00:00`,
    /// `2012-01-01 12:00:00+00`, `\x00ff`. NULL gives an empty string; callers distinguish it.
    pub fn format_text(&self, datum: &Datum) -> String {
        self.format_text_in(datum, IntervalStyle::default())
    }

    /// As [`DataType::format_text`], with intervals in a style, those in arrays and records among them.
    pub fn format_text_in(&self, datum: &Datum, style: IntervalStyle) -> String {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = self.write_text(datum, style, &mut text);
        text
    }

    fn write_text(&self, datum: &Datum, style: IntervalStyle, out: &mut String) -> fmt::Result {
        match datum {
            Datum::Null => Ok(()),
            Datum::Boolean(value) => out.write_str(if *value { "t" } else { "f" }),
            Datum::Int(value) => match self.label(*value) {
                Some(label) => out.write_str(label),
                None => write!(out, "{value}"),
            },
            Datum::Float(value) if *self == DataType::Real => out.write_str(&real_text(*value)),
            Datum::Float(value) => out.write_str(&double_text(*value)),
            Datum::Decimal(value) => write_decimal(*value, self.scale(), out),
            Datum::Numeric(form) => write_numeric(form, self.numeric_scale(), out),
            Datum::Date(days) => write_date(*days, out),
            Datum::Time(micros) => write_time(*micros, out),
            Datum::Timestamp(micros) => write_timestamp(*micros, out, |time, out| {
                out.write_char(' ')?;
                write_time(time, out)?;
                match self {
                    DataType::TimestampTz { .. } => out.write_str("+00"),
                    _ => Ok(()),
                }
            }),
            Datum::Uuid(bytes) => write_uuid(bytes, out),
            Datum::Inet(form) => out.write_str(&inet_text(form, *self == DataType::Cidr)),
            Datum::Interval(interval) => out.write_str(&interval.text_in(style)),
            Datum::Array(form) => match self {
                DataType::Array(element) => out.write_str(&shown_array(**element, form, style)),
                DataType::Record(of) => out.write_str(&shown_record(*of, form, style)),
                _ => write_hex(form, out),
            },
            Datum::Jsonb(form) => write!(out, "{}", Jsonb::new(form)),
            Datum::Text(text) => out.write_str(text),
            Datum::Bytes(bytes) => {
                out.write_str("\\x")?;
                write_hex(bytes, out)
            }
        }
    }

    /// Digits after the point that a NUMERIC shows at least.
    pub(crate) fn numeric_scale(&self) -> u8 {
        match self {
            numeric if *numeric == DataType::NUMERIC => 0,
            DataType::Numeric { scale, .. } => *scale,
            _ => 0,
        }
    }

    /// The digits after the point of a DECIMAL, 0 for other types.
    pub(crate) fn scale(&self) -> u8 {
        match self {
            DataType::Decimal { scale, .. } => *scale,
            _ => 0,
        }
    }
}

/// Returns a row as text; bytes that are none as such.
pub(crate) fn shown_record(of: RecordType, form: &[u8], style: IntervalStyle) -> String {
    let Some(values) = record_values(of, form) else {
        let mut shown = String::new();
        // Writing into a String does not fail.
        let _ = write_hex(form, &mut shown);
        return shown;
    };
    let texts = values
        .iter()
        .zip(of.fields())
        .map(|(value, field)| (!value.is_null()).then(|| field.ty.format_text_in(value, style)));
    let texts: Vec<Option<String>> = texts.collect();
    record_text(texts.iter().map(Option::as_deref))
}

/// Returns an array as text; bytes that are none as such.
pub(crate) fn shown_array(element: DataType, form: &[u8], style: IntervalStyle) -> String {
    let Some(values) = array_values(element, form) else {
        let mut shown = String::new();
        // Writing into a String does not fail.
        let _ = write_hex(form, &mut shown);
        return shown;
    };
    let texts = values
        .iter()
        .map(|value| (!value.is_null()).then(|| element.format_text_in(value, style)));
    let texts: Vec<Option<String>> = texts.collect();
    array_text(texts.iter().map(Option::as_deref))
}

/// Writes a NUMERIC with at least so many digits after the point; bytes that are no number are shown as such.
pub(crate) fn write_numeric(form: &[u8], scale: u8, out: &mut impl Write) -> fmt::Result {
    match NumericParts::of_form(form) {
        Some(parts) => parts.write(scale, out),
        None if form == NUMERIC_NAN => out.write_str("NaN"),
        None => write_hex(form, out),
    }
}

/// Writes an unscaled decimal with `scale` digits after the point.
pub(crate) fn write_decimal(value: i128, scale: u8, out: &mut impl Write) -> fmt::Result {
    let sign = if value < 0 { "-" } else { "" };
    let width = usize::from(scale) + 1;
    let digits = format!("{:0width$}", value.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let point = if scale == 0 { "" } else { "." };
    write!(out, "{sign}{whole}{point}{fraction}")
}

/// Writes a date as `2012-01-31`, `0044-03-15 BC` or `infinity`.
pub(crate) fn write_date(days: i32, out: &mut impl Write) -> fmt::Result {
    match days {
        DATE_INFINITY => out.write_str("infinity"),
        DATE_MINUS_INFINITY => out.write_str("-infinity"),
        days => {
            let era = write_day(i64::from(days), out)?;
            out.write_str(era)
        }
    }
}

/// Writes microseconds since 1970 as a date, what `time` makes of the microseconds of the day, and ` BC` of years before 1; or as `infinity`.
pub(crate) fn write_timestamp<W: Write>(
    micros: i64,
    out: &mut W,
    time: impl FnOnce(i64, &mut W) -> fmt::Result,
) -> fmt::Result {
    match micros {
        TIMESTAMP_INFINITY => out.write_str("infinity"),
        TIMESTAMP_MINUS_INFINITY => out.write_str("-infinity"),
        micros => {
            let (days, of_day) = split_timestamp(micros);
            let era = write_day(days, out)?;
            time(of_day, out)?;
            out.write_str(era)
        }
    }
}

/// Writes a day as `2012-01-31`; returns ` BC` of years before 1, which is to stand at the end.
fn write_day(days: i64, out: &mut impl Write) -> Result<&'static str, fmt::Error> {
    let (year, month, day) = civil_from_days(days);
    let (shown, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    write!(out, "{shown:04}-{month:02}-{day:02}")?;
    Ok(era)
}

/// Writes a time of day as `12:30:15.25`, the fraction without trailing zeros.
pub(crate) fn write_time(micros: i64, out: &mut impl Write) -> fmt::Result {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "{hour:02}:{minute:02}:{second:02}")?;
    if fraction == 0 {
        return Ok(());
    }
    let digits = format!("{fraction:06}");
    write!(out, ".{}", digits.trim_end_matches('0'))
}

/// Writes bytes as lower-case hexadecimal digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut impl Write) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

/// Writes a UUID in its form of five groups.
pub(crate) fn write_uuid(bytes: &[u8; 16], out: &mut impl Write) -> fmt::Result {
    for (position, byte) in bytes.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            out.write_char('-')?;
        }
        write!(out, "{byte:02x}")?;
    }
    Ok(())
}

/// Returns an address or a network as text; bytes that are none as such.
pub(crate) fn inet_text(form: &[u8], is_network: bool) -> String {
    let mut text = String::new();
    match Inet::of_form(form) {
        Some(value) => text = value.text(is_network),
        // Writing into a String does not fail.
        None => drop(write_hex(form, &mut text)),
    }
    text
}

/// Writes a DOUBLE in the fewest digits that read back as the same value.
pub(crate) fn double_text(value: f64) -> String {
    special_float(value).unwrap_or_else(|| shortest(&format!("{value:e}"), 15))
}

/// Writes a REAL in the fewest digits that read back as the same `f32`.
pub(crate) fn real_text(value: f64) -> String {
    special_float(value).unwrap_or_else(|| shortest(&format!("{:e}", value as f32), 6))
}

fn special_float(value: f64) -> Option<String> {
    let name = match value {
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Lays out Rust's `-1.25e-7` as PostgreSQL does: with an exponent of two digits and a sign when
/// the power of ten is below -4 or not below `fixed_below`, else without an exponent.
fn shortest(scientific: &str, fixed_below: i32) -> String {
    let (mantissa, power) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if power < -4 || power >= fixed_below {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", power.unsigned_abs());
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    format!("{sign}{}", place_point(&digits, power))
}

/// Puts the point behind the digit that stands for ones, filling up with zeros.
fn place_point(digits: &str, power: i32) -> String {
    if power < 0 {
        let zeros = "0".repeat(power.unsigned_abs() as usize - 1);
        return format!("0.{zeros}{digits}");
    }
    let whole = power as usize + 1;
    match digits.split_at_checked(whole) {
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}", "0".repeat(whole - digits.len())),
    }
}
