//! Rows as CSV, text, JSON lines and binary rows.

use rukh_keys::{DataType, Datum, NUMERIC_NAN};
use rukh_syntax::{CopyFormat, CopyHeader, CopyOptions, GivenColumns, Name};

use super::formats::text::escape_into;
use crate::exec::columns::ColumnInfo;
use rukh_error::SqlError;
use rukh_functions::forms::binary;

/// Writes rows one after another.
pub(super) struct Lines<'a> {
    options: &'a CopyOptions,
    columns: Vec<ColumnInfo>,
    /// Which columns of CSV are always in quotes; none if it is empty.
    quoted: Vec<bool>,
}

impl<'a> Lines<'a> {
    /// Fails on columns of an option that are none of these.
    pub(super) fn new(options: &'a CopyOptions, columns: &[ColumnInfo]) -> Result<Self, SqlError> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        Ok(Lines {
            options,
            columns: columns.to_vec(),
            quoted: given_columns(options.forced.quote.as_ref(), &names, "FORCE_QUOTE")?,
        })
    }

    /// Returns what stands before the first row.
    pub(super) fn head(&self) -> Vec<u8> {
        let names = || self.columns.iter().map(|column| Some(column.name.clone()));
        let has_names = self.options.header == CopyHeader::Names;
        match self.options.format {
            CopyFormat::Csv if has_names => csv_line(names(), self.options).into_bytes(),
            CopyFormat::Text if has_names => {
                let mut line = Vec::new();
                text_line(names(), self.options, &mut line);
                line
            }
            CopyFormat::Binary => [SIGNATURE.as_slice(), &[0; 8]].concat(),
            _ => Vec::new(),
        }
    }

    /// Appends a row.
    pub(super) fn row(&self, row: &[Datum], out: &mut Vec<u8>) {
        let fields = row.iter().zip(&self.columns);
        let texts = || {
            fields
                .clone()
                .map(|(datum, column)| text_of(datum, &column.ty, self.options.format))
        };
        match self.options.format {
            CopyFormat::Json => out.extend(json_line(row, &self.columns).into_bytes()),
            CopyFormat::Text => text_line(texts(), self.options, out),
            CopyFormat::Binary => binary_row(row, &self.columns, out),
            _ => out.extend(csv_line_quoted(texts(), self.options, &self.quoted).into_bytes()),
        }
    }

    /// Returns what stands after the last row.
    pub(super) fn tail(&self) -> Vec<u8> {
        match self.options.format {
            CopyFormat::Binary => (-1_i16).to_be_bytes().to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Returns a value as text, or `None` for NULL.
fn text_of(datum: &Datum, ty: &DataType, format: CopyFormat) -> Option<String> {
    match datum {
        Datum::Null => None,
        // As PostgreSQL's own form has it.
        Datum::Boolean(value) if format == CopyFormat::Text => {
            Some(if *value { "t" } else { "f" }.to_string())
        }
        datum => Some(ty.format_text(datum)),
    }
}

fn binary_row(row: &[Datum], columns: &[ColumnInfo], out: &mut Vec<u8>) {
    // A result has at most 32767 columns, which `export` has checked.
    out.extend((row.len() as i16).to_be_bytes());
    for (datum, column) in row.iter().zip(columns) {
        if datum.is_null() {
            out.extend((-1_i32).to_be_bytes());
            continue;
        }
        let start = out.len();
        out.extend([0; 4]);
        binary::write(datum, &column.ty, out);
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Appends one line of the text format with its line end.
fn text_line(fields: impl Iterator<Item = Option<String>>, options: &CopyOptions, out: &mut Vec<u8>) {
    for (position, field) in fields.enumerate() {
        if position > 0 {
            out.push(options.delimiter);
        }
        match field {
            None => out.extend(options.null.as_bytes()),
            Some(text) => escape_into(out, &text, options.delimiter),
        }
    }
    out.push(b'\n');
}

/// Says which of these columns an option is for; an empty list if it is for none.
///
/// Fails with 42P10 on a name that is none of them.
pub(super) fn given_columns(
    given: Option<&GivenColumns>,
    names: &[&str],
    option: &str,
) -> Result<Vec<bool>, SqlError> {
    let listed = match given {
        None => return Ok(Vec::new()),
        Some(GivenColumns::All) => return Ok(vec![true; names.len()]),
        Some(GivenColumns::Named(listed)) => listed,
    };
    if let Some(Name { text, position }) = listed.iter().find(|name| !names.contains(&name.text.as_str())) {
        let message = format!("{option} column \"{text}\" not referenced by COPY");
        return Err(SqlError::statement("42P10", message).at(*position));
    }
    let is_listed = |name: &&str| listed.iter().any(|listed| listed.text == **name);
    Ok(names.iter().map(is_listed).collect())
}

/// Returns one line of CSV with its line end.
pub(super) fn csv_line(fields: impl Iterator<Item = Option<String>>, options: &CopyOptions) -> String {
    csv_line_quoted(fields, options, &[])
}

/// As [`csv_line`], with quotes around fields that need none.
fn csv_line_quoted(
    fields: impl Iterator<Item = Option<String>>,
    options: &CopyOptions,
    quoted: &[bool],
) -> String {
    let is_quoted = |position: usize| quoted.get(position).copied().unwrap_or_default();
    let mut line = String::new();
    for (position, field) in fields.enumerate() {
        if position > 0 {
            line.push(char::from(options.delimiter));
        }
        match field {
            None => line += &options.null,
            Some(text) if is_quoted(position) || needs_quotes(&text, options) => {
                quote_into(&mut line, &text, options)
            }
            Some(text) => line += &text,
        }
    }
    line.push('\n');
    line
}

fn needs_quotes(text: &str, options: &CopyOptions) -> bool {
    let special =
        |byte: u8| byte == options.delimiter || byte == options.quote || byte == b'\n' || byte == b'\r';
    text.bytes().any(special) || text == options.null || text == "\\."
}

fn quote_into(line: &mut String, text: &str, options: &CopyOptions) {
    let (quote, escape) = (char::from(options.quote), char::from(options.escape));
    line.push(quote);
    for character in text.chars() {
        if character == quote || character == escape {
            line.push(escape);
        }
        line.push(character);
    }
    line.push(quote);
}

/// Returns a row as one JSON object with its line end.
fn json_line(row: &[Datum], columns: &[ColumnInfo]) -> String {
    let field = |(datum, column): (&Datum, &ColumnInfo)| {
        let name = serde_json::Value::from(column.name.as_str());
        format!("{name}:{}", json_value(datum, &column.ty))
    };
    let fields: Vec<String> = row.iter().zip(columns).map(field).collect();
    format!("{{{}}}\n", fields.join(","))
}

fn json_value(datum: &Datum, ty: &DataType) -> String {
    let text = ty.format_text(datum);
    match datum {
        Datum::Null => "null".to_string(),
        // Between its tokens only: in strings they are escaped.
        _ if matches!(ty, DataType::Json | DataType::Jsonb) => text.replace(['\n', '\r'], " "),
        Datum::Boolean(value) => value.to_string(),
        Datum::Int(_) if ty.is_integer() => text,
        Datum::Decimal(value) if value.unsigned_abs() < JSON_NUMBER_MAX => text,
        Datum::Numeric(form) if text.len() <= JSON_NUMERIC_MAX && *form != NUMERIC_NAN => text,
        Datum::Float(value) if value.is_finite() => text,
        _ => serde_json::Value::from(text).to_string(),
    }
}

/// Decimals of more digits than these are written as strings: most readers take numbers for a DOUBLE,
/// which holds fifteen.
const JSON_NUMBER_MAX: u128 = 1_000_000_000_000_000;

/// The same of a NUMERIC: characters of its text.
const JSON_NUMERIC_MAX: usize = 15;

/// What a file starts with.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
