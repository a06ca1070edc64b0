//! Values as PostgreSQL sends them, as text or binary.

use bytes::{BufMut, BytesMut};
use rukh::{DataType, Datum, Interval, IntervalStyle, Row, array_dimensions, array_of_dimensions, binary};
use std::borrow::Cow;
use std::fmt::Write;

use crate::protocol::arrays;
use crate::protocol::types::WireType;

/// The numbers of PostgreSQL's types `regproc`, `oid` and `text`.
const REGPROC: u32 = 24;
const OID: u32 = 26;
/// The number of arrays of `interval`.
const INTERVALS: u32 = 1187;
const TEXT: u32 = 25;

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As text.
    Text,
    /// In PostgreSQL's binary form.
    Binary,
}

impl Format {
    /// Reads a format code; `None` if there is no such format.
    pub(crate) fn of_code(code: i16) -> Option<Format> {
        match code {
            0 => Some(Format::Text),
            1 => Some(Format::Binary),
            _ => None,
        }
    }

    /// Returns the format code.
    pub(crate) fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
}

/// Appends a DataRow message.
pub(crate) fn write_row(
    row: &Row,
    types: &[WireType],
    formats: &[Format],
    style: IntervalStyle,
    out: &mut BytesMut,
) {
    out.put_u8(b'D');
    let start = out.len();
    out.put_i32(0);
    // A result has at most as many columns as its description, which is counted in 16 bits.
    out.put_i16(types.len() as i16);
    for (at, (wire, format)) in types.iter().zip(formats).enumerate() {
        match row.datum(at) {
            Datum::Text(text) if wire.oid == INTERVALS && *format == Format::Text => {
                arrays::write_text_value(&intervals_in(text, style), *wire, *format, out);
            }
            Datum::Text(text) if wire.oid != TEXT => arrays::write_text_value(text, *wire, *format, out),
            Datum::Int(number) if matches!(wire.oid, OID | REGPROC) && *format == Format::Binary => {
                out.put_i32(4);
                // Numbers of objects have 32 bits.
                out.put_u32(*number as u32);
            }
            Datum::Int(number) if wire.oid == REGPROC => {
                let name = rukh::function_name(*number).unwrap_or_else(|| number.to_string());
                write_value(&Datum::Text(name), &DataType::Varchar(None), *format, style, out);
            }
            datum => write_value(datum, &wire.ty, *format, style, out),
        }
    }
    set_length(out, start);
}

/// Returns the text of an array of intervals with these in a style.
fn intervals_in(text: &str, style: IntervalStyle) -> Cow<'_, str> {
    let written = || {
        let (lengths, elements) = array_dimensions(text)?;
        let interval = |element: &Option<String>| match element {
            Some(element) => Interval::read(element).map(|interval| Some(interval.text_in(style))),
            None => Some(None),
        };
        let elements: Option<Vec<_>> = elements.iter().map(interval).collect();
        Some(array_of_dimensions(&lengths, &elements?))
    };
    match style == IntervalStyle::default() {
        true => Cow::Borrowed(text),
        false => written().map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// Appends the length of a value, then the value.
pub(crate) fn write_value(
    datum: &Datum,
    ty: &DataType,
    format: Format,
    style: IntervalStyle,
    out: &mut BytesMut,
) {
    if datum.is_null() {
        out.put_i32(-1);
        return;
    }
    let start = out.len();
    out.put_i32(0);
    match format {
        Format::Text => write_text(datum, ty, style, out),
        Format::Binary => binary::write(datum, ty, out),
    }
    let length = out.len() - start - 4;
    put_length(out, start, length);
}

/// Appends a value as text.
fn write_text(datum: &Datum, ty: &DataType, style: IntervalStyle, out: &mut BytesMut) {
    match datum {
        Datum::Text(text) => out.put_slice(text.as_bytes()),
        Datum::Boolean(value) => out.put_u8(if *value { b't' } else { b'f' }),
        Datum::Int(value) if ty.is_integer() => {
            // A buffer in memory takes what it is given.
            let _ = write!(out, "{value}");
        }
        _ => out.put_slice(ty.format_text_in(datum, style).as_bytes()),
    }
}

/// Fills in the length of a message, which begins at `start` and counts itself.
pub(crate) fn set_length(out: &mut BytesMut, start: usize) {
    let length = out.len() - start;
    put_length(out, start, length);
}

fn put_length(out: &mut BytesMut, at: usize, length: usize) {
    // Rows are far below 2 GiB: values are bounded where they are stored.
    out[at..at + 4].copy_from_slice(&(length as i32).to_be_bytes());
}
