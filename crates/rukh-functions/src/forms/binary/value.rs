//! One value, by its type.

#![warn(clippy::arithmetic_side_effects)]

use bytes::BufMut;
use rukh_keys::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DataType, Datum, Inet, Interval, Jsonb, NumericParts, RecordType,
    array_form, array_values, is_infinite_timestamp, record_form, record_values,
};

use crate::types::oid_of;

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
const EPOCH_DAYS: i32 = 10_957;
/// Microseconds of as many days.
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// Appends a value of a type, without its length; nothing for NULL.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "dates and timestamps of columns are far from the ends of their types"
)]
pub fn write(datum: &Datum, ty: &DataType, out: &mut impl BufMut) {
    match datum {
        Datum::Null => {}
        Datum::Boolean(value) => out.put_u8(u8::from(*value)),
        // A datum of a type is within the type's bounds.
        Datum::Int(value) => match ty {
            DataType::TinyInt | DataType::SmallInt => out.put_i16(*value as i16),
            DataType::Integer => out.put_i32(*value as i32),
            DataType::Enum(_) => out.put_slice(ty.label(*value).unwrap_or_default().as_bytes()),
            _ => out.put_i64(*value),
        },
        Datum::Float(value) => match ty {
            DataType::Real => out.put_f32(*value as f32),
            _ => out.put_f64(*value),
        },
        Datum::Decimal(value) => {
            let scale = match ty {
                DataType::Decimal { scale, .. } => *scale,
                _ => 0,
            };
            super::numeric::write(*value, scale, out);
        }
        Datum::Numeric(form) => {
            let scale = match ty {
                DataType::Numeric { scale, .. } if *ty != DataType::NUMERIC => *scale,
                _ => 0,
            };
            match NumericParts::of_form(form) {
                Some(parts) => super::numeric::write_parts(parts, scale, out),
                None => super::numeric::write_nan(out),
            }
        }
        // Infinities are the same ends.
        Datum::Date(days @ (DATE_INFINITY | DATE_MINUS_INFINITY)) => out.put_i32(*days),
        Datum::Date(days) => out.put_i32(days - EPOCH_DAYS),
        Datum::Time(micros) => out.put_i64(*micros),
        Datum::Timestamp(micros) if is_infinite_timestamp(*micros) => out.put_i64(*micros),
        Datum::Timestamp(micros) => out.put_i64(micros - EPOCH_MICROS),
        Datum::Interval(interval) => {
            out.put_i64(interval.micros);
            out.put_i32(interval.days);
            out.put_i32(interval.months);
        }
        Datum::Array(form) => match ty {
            DataType::Record(of) => write_record(form, *of, out),
            _ => write_array(form, ty, out),
        },
        // The text behind the version of the form, which is 1.
        Datum::Jsonb(form) => {
            out.put_u8(1);
            out.put_slice(Jsonb::new(form).to_string().as_bytes());
        }
        Datum::Inet(form) => {
            // What is no address was refused when it was read.
            let sent = Inet::of_form(form).map(|value| value.to_wire(*ty == DataType::Cidr));
            out.put_slice(&sent.unwrap_or_default());
        }
        Datum::Uuid(bytes) => out.put_slice(bytes),
        Datum::Text(text) => out.put_slice(text.as_bytes()),
        Datum::Bytes(bytes) => out.put_slice(bytes),
    }
}

/// Reads a value of a type; `None` if the bytes are none. It may be out of the type's domain.
///
/// DECIMAL, NUMERIC and texts are not read here: see [`read_decimal`]; a text's bytes are the text.
pub fn read(bytes: &[u8], ty: &DataType) -> Option<Datum> {
    Some(match ty {
        DataType::Boolean => match bytes {
            [0] => Datum::Boolean(false),
            [_] => Datum::Boolean(true),
            _ => return None,
        },
        DataType::TinyInt | DataType::SmallInt => {
            Datum::Int(i16::from_be_bytes(bytes.try_into().ok()?).into())
        }
        DataType::Integer => Datum::Int(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::BigInt => Datum::Int(i64::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Real => Datum::Float(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::Double => Datum::Float(f64::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Date => {
            let days = i32::from_be_bytes(bytes.try_into().ok()?);
            match days {
                DATE_INFINITY | DATE_MINUS_INFINITY => Datum::Date(days),
                days => Datum::Date(days.checked_add(EPOCH_DAYS)?),
            }
        }
        DataType::Time { .. } => Datum::Time(i64::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            let micros = i64::from_be_bytes(bytes.try_into().ok()?);
            match is_infinite_timestamp(micros) {
                true => Datum::Timestamp(micros),
                false => Datum::Timestamp(micros.checked_add(EPOCH_MICROS)?),
            }
        }
        DataType::Uuid => Datum::Uuid(bytes.try_into().ok()?),
        DataType::Inet => Datum::Inet(Inet::of_wire(bytes)?.to_form()),
        DataType::Cidr => Datum::Inet(Inet::of_wire(bytes).filter(|value| value.is_network())?.to_form()),
        DataType::Interval => {
            let (micros, rest) = bytes.split_at_checked(8)?;
            let (days, months) = rest.split_at_checked(4)?;
            Datum::Interval(Interval {
                micros: i64::from_be_bytes(micros.try_into().ok()?),
                days: i32::from_be_bytes(days.try_into().ok()?),
                months: i32::from_be_bytes(months.try_into().ok()?),
            })
        }
        DataType::Binary(_) | DataType::Varbinary(_) => Datum::Bytes(bytes.to_vec()),
        DataType::Array(element) => read_array(bytes, **element)?,
        DataType::Record(of) => read_record(bytes, *of)?,
        DataType::Enum(_) => ty.parse_text(std::str::from_utf8(bytes).ok()?).ok()?,
        DataType::Json => Datum::Text(std::str::from_utf8(bytes).ok()?.to_owned()),
        DataType::Jsonb => {
            let text = std::str::from_utf8(bytes.strip_prefix(&[1])?).ok()?;
            ty.parse_text(text).ok()?
        }
        DataType::Decimal { .. } | DataType::Numeric { .. } | DataType::Char(_) | DataType::Varchar(_) => {
            return None;
        }
    })
}

/// Appends an array: its dimensions, whether there are NULLs, the type of the elements, the length and first place, and the elements.
fn write_array(form: &[u8], ty: &DataType, out: &mut impl BufMut) {
    let element = ty.element().unwrap_or(*ty);
    let values = array_values(element, form).unwrap_or_default();
    out.put_i32(i32::from(!values.is_empty()));
    out.put_i32(i32::from(values.iter().any(Datum::is_null)));
    out.put_u32(oid_of(&element));
    if !values.is_empty() {
        out.put_i32(i32::try_from(values.len()).unwrap_or(i32::MAX));
        out.put_i32(1);
    }
    for value in values {
        write_field(&value, &element, out);
    }
}

/// Appends a row: how many fields it has, and of each the number of its type, its length, or -1 for NULL, and its bytes.
fn write_record(form: &[u8], of: RecordType, out: &mut impl BufMut) {
    // What is no row was refused when it was read.
    let values = record_values(of, form).unwrap_or_default();
    out.put_i32(i32::try_from(values.len()).unwrap_or(i32::MAX));
    for (value, field) in values.iter().zip(of.fields()) {
        out.put_u32(oid_of(&field.ty));
        write_field(value, &field.ty, out);
    }
}

/// Appends the length of a value, or -1 for NULL, and its bytes.
fn write_field(value: &Datum, ty: &DataType, out: &mut impl BufMut) {
    let mut bytes = Vec::new();
    write(value, ty, &mut bytes);
    match value.is_null() {
        true => out.put_i32(-1),
        false => {
            out.put_i32(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            out.put_slice(&bytes);
        }
    }
}

/// Reads a row, whose fields have the types of `of`.
fn read_record(bytes: &[u8], of: RecordType) -> Option<Datum> {
    let (head, mut rest) = bytes.split_first_chunk::<4>()?;
    if usize::try_from(i32::from_be_bytes(*head)).ok()? != of.fields().len() {
        return None;
    }
    let mut values = Vec::new();
    for field in of.fields() {
        let (_oid, tail) = rest.split_first_chunk::<4>()?;
        let (value, tail) = read_field(tail, field.ty)?;
        values.push(value);
        rest = tail;
    }
    let form = record_form(of, &values).ok()?;
    rest.is_empty().then_some(Datum::Array(form))
}

/// Reads the length of a value and the value; returns what follows, too.
fn read_field(bytes: &[u8], ty: DataType) -> Option<(Datum, &[u8])> {
    let (head, tail) = bytes.split_first_chunk::<4>()?;
    let length = i32::from_be_bytes(*head);
    if length == -1 {
        return Some((Datum::Null, tail));
    }
    let (value, tail) = tail.split_at_checked(usize::try_from(length).ok()?)?;
    let datum = match ty {
        text if text.is_text() => Datum::Text(std::str::from_utf8(value).ok()?.to_owned()),
        number if number.is_decimal() => ty.parse_text(&read_decimal(value)?).ok()?,
        _ => ty.check(read(value, &ty)?).ok()?,
    };
    Some((datum, tail))
}

/// Reads an array of one dimension at most.
fn read_array(bytes: &[u8], element: DataType) -> Option<Datum> {
    let mut rest = bytes;
    let mut number = || -> Option<i32> {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        rest = tail;
        Some(i32::from_be_bytes(*head))
    };
    let (dimensions, _nulls, _element) = (number()?, number()?, number()?);
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, _first) = (usize::try_from(number()?).ok()?, number()?);
            count
        }
        _ => return None,
    };
    let mut values = Vec::new();
    for _ in 0..count {
        let (value, tail) = read_field(rest, element)?;
        rest = tail;
        values.push(value);
    }
    let form = array_form(element, &values).ok()?;
    rest.is_empty().then_some(Datum::Array(form))
}

/// Reads a DECIMAL or NUMERIC as text; `None` if the bytes are none. NaN and infinities come as their names.
pub fn read_decimal(bytes: &[u8]) -> Option<String> {
    super::numeric::read(bytes)
}
