//! The one readable form of datums, keys and spans: `/201510/'jericho'/NULL`, `[/1/5 - /1]`.

use crate::datum::{Datum, DatumRef};
use crate::json::Jsonb;
use crate::layout::{KeyColumn, KeyLayout};
use crate::output::{
    double_text, inet_text, real_text, shown_array, shown_record, write_date, write_decimal, write_hex,
    write_numeric, write_time, write_timestamp, write_uuid,
};
use crate::range::{Edge, Span};
use crate::times::interval_style::IntervalStyle;
use crate::types::DataType;
use std::fmt::{self, Write};

/// Writes a datum as an element of a key: `NULL`, `true`, `5`, `1.5`, `'text'` with quotes doubled
/// and control characters as `\x01`, `2012-01-01` (also for a timestamp at midnight),
/// `2012-01-01T01:00:00.25`, `12:30:00`, `x'00ff'`. A decimal has no point here; see
/// [`DataType::display`].
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_datum(&self.as_ref(), None, f)
    }
}

impl fmt::Display for DatumRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_datum(self, None, f)
    }
}

fn write_datum(datum: &DatumRef<'_>, ty: Option<DataType>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match datum {
        DatumRef::Null => f.write_str("NULL"),
        DatumRef::Boolean(value) => write!(f, "{value}"),
        DatumRef::Int(value) => match ty.and_then(|ty| ty.label(*value)) {
            Some(label) => write_quoted(label, f),
            None => write!(f, "{value}"),
        },
        DatumRef::Float(value) if ty == Some(DataType::Real) => f.write_str(&real_text(*value)),
        DatumRef::Float(value) => f.write_str(&double_text(*value)),
        DatumRef::Decimal(value) => write_decimal(*value, ty.map_or(0, |ty| ty.scale()), f),
        DatumRef::Numeric(form) => write_numeric(form, ty.map_or(0, |ty| ty.numeric_scale()), f),
        DatumRef::Date(days) => write_date(*days, f),
        DatumRef::Time(micros) => write_time(*micros, f),
        DatumRef::Timestamp(micros) => write_timestamp(*micros, f, |time, f| match time {
            0 => Ok(()),
            time => {
                f.write_str("T")?;
                write_time(time, f)
            }
        }),
        DatumRef::Uuid(bytes) => write_uuid(bytes, f),
        DatumRef::Inet(form) => write_quoted(&inet_text(form, ty == Some(DataType::Cidr)), f),
        DatumRef::Interval(interval) => f.write_str(&interval.text()),
        DatumRef::Array(form) => match ty {
            Some(DataType::Array(element)) => {
                write_quoted(&shown_array(*element, form, IntervalStyle::default()), f)
            }
            Some(DataType::Record(of)) => write_quoted(&shown_record(of, form, IntervalStyle::default()), f),
            _ => write_hex(form, f),
        },
        DatumRef::Jsonb(form) => write_quoted(&Jsonb::new(form).to_string(), f),
        DatumRef::Text(text) => write_quoted(text, f),
        DatumRef::Bytes(bytes) => {
            f.write_str("x'")?;
            write_hex(bytes, f)?;
            f.write_str("'")
        }
    }
}

fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("'")?;
    for character in text.chars() {
        match character {
            '\'' => f.write_str("''")?,
            control if control.is_control() => write!(f, "\\x{:02x}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_str("'")
}

/// Displays a datum as an element of a key, with what only the type knows: the scale of a DECIMAL,
/// the shorter digits of a REAL.
#[derive(Debug, Clone, Copy)]
pub struct DatumDisplay<'a> {
    datum: &'a Datum,
    ty: DataType,
}

impl fmt::Display for DatumDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_datum(&self.datum.as_ref(), Some(self.ty), f)
    }
}

impl DataType {
    /// Displays a value of the type as an element of a key, such as `1.50` or `'it''s'`.
    pub fn display<'a>(&self, datum: &'a Datum) -> DatumDisplay<'a> {
        DatumDisplay { datum, ty: *self }
    }
}

/// Displays datums as a key: `/1/'a'`.
#[derive(Debug, Clone, Copy)]
pub struct KeyDisplay<'a> {
    columns: &'a [KeyColumn],
    datums: &'a [Datum],
}

impl fmt::Display for KeyDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, datum) in self.datums.iter().enumerate() {
            let ty = self.columns.get(position).map(|column| column.ty);
            f.write_str("/")?;
            write_datum(&datum.as_ref(), ty, f)?;
        }
        Ok(())
    }
}

/// Displays a span: `[/1/5 - /1]`, `(/2 - ]`, `[ - /NULL)`.
#[derive(Debug, Clone, Copy)]
pub struct SpanDisplay<'a> {
    layout: &'a KeyLayout,
    span: &'a Span,
}

impl fmt::Display for SpanDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span {
            start,
            start_edge,
            end,
            end_edge,
        } = self.span;
        let open = if start.is_empty() || *start_edge == Edge::Included {
            "["
        } else {
            "("
        };
        let close = if end.is_empty() || *end_edge == Edge::Included {
            "]"
        } else {
            ")"
        };
        let (start, end) = (self.layout.display(start), self.layout.display(end));
        write!(f, "{open}{start} - {end}{close}")
    }
}

impl Span {
    /// Displays the span with the types of a layout.
    pub fn display<'a>(&'a self, layout: &'a KeyLayout) -> SpanDisplay<'a> {
        SpanDisplay { layout, span: self }
    }
}

impl KeyLayout {
    /// Displays the datums of a key, or of a prefix of one.
    pub fn display<'a>(&'a self, datums: &'a [Datum]) -> KeyDisplay<'a> {
        KeyDisplay {
            columns: self.columns(),
            datums,
        }
    }

    /// Returns the readable form of an encoded key: `/1/'a'`, or its bytes in hexadecimal if they
    /// do not decode.
    pub fn describe(&self, key: &[u8]) -> String {
        match self.decode(key) {
            Ok(datums) => self.display(&datums).to_string(),
            Err(_) => {
                let mut text = String::new();
                // Writing into a String does not fail.
                let _ = write_hex(key, &mut text);
                text
            }
        }
    }
}
