//! COPY FROM JSON: one object a line, its keys the names of columns.
//!
//! A library checks the line. Numbers are read from their text, as those of any other format: what the library makes of them has the digits of a
//! DOUBLE at most, and not always the nearest one.

use std::io::{BufRead, BufReader, Read};

use rukh_keys::{DataType, Datum};
use serde::de::IgnoredAny;

use crate::sql::copy::errors::file_error;
use crate::sql::copy::rows_in::{Assembler, Import, shortened};
use rukh_error::SqlError;

/// Longest line: a file without line ends must not be read into memory as a whole.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Reads all lines; empty ones are passed over.
pub(in crate::sql::copy) fn read(import: &mut Import<'_>, file: impl Read) -> Result<(), SqlError> {
    // A key that is absent takes the default, so every column needs its default.
    let mut assembler = import.columns.assembler(Vec::new())?;
    let mut input = BufReader::with_capacity(256 << 10, file);
    let mut line = Vec::new();
    let (mut number, mut done) = (0, 0);
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut input, LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line);
        let read = read.map_err(|error| file_error("read", import.path, &error))?;
        if read == 0 {
            return Ok(());
        }
        done += read as u64;
        number += 1;
        if !line.trim_ascii().is_empty() {
            let text = || String::from_utf8_lossy(line.trim_ascii()).into_owned();
            match row(import, &line, number, &mut assembler) {
                Ok(row) => import.push_checked(row, number, || done, text)?,
                Err(error) => import.reject(error, number, text)?,
            }
        }
    }
}

fn row(
    import: &Import<'_>,
    line: &[u8],
    number: u64,
    assembler: &mut Assembler,
) -> Result<Vec<Datum>, SqlError> {
    let in_line = |error: SqlError| import.located(error, &format!("line {number}"));
    let invalid = |error: serde_json::Error| {
        let message = format!(
            "invalid input syntax for type json: {}",
            without_place(&error.to_string())
        );
        in_line(SqlError::statement("22P02", message))
    };
    serde_json::from_slice::<IgnoredAny>(line).map_err(invalid)?;
    let Some(mut members) = Members::of(line) else {
        let message = "a line of JSON must be an object";
        return Err(in_line(SqlError::statement("22P02", message)));
    };
    let mut row = assembler.row(Vec::new()).map_err(in_line)?;
    while let Some((name, value)) = members.next() {
        let name: String = serde_json::from_slice(name).map_err(invalid)?;
        let position = import.columns.named(&name);
        let position = position.ok_or_else(|| in_line(import.columns.unknown(&name, "the JSON object")))?;
        let text = match value {
            b"null" => {
                row[position] = Datum::Null;
                continue;
            }
            [b'"', ..] if !takes_documents(import, position) => {
                serde_json::from_slice(value).map_err(invalid)?
            }
            _ => std::str::from_utf8(value)
                .map_err(|_| in_line(SqlError::statement("22021", "a line of JSON must be UTF-8")))?
                .to_string(),
        };
        row[position] = datum(import, &text, position, number)?;
    }
    Ok(row)
}

fn takes_documents(import: &Import<'_>, position: usize) -> bool {
    matches!(
        import.columns.column(position).1,
        DataType::Json | DataType::Jsonb
    )
}

fn datum(import: &Import<'_>, text: &str, position: usize, line: u64) -> Result<Datum, SqlError> {
    let (name, ty) = import.columns.column(position);
    ty.parse_text(text).map_err(|error| {
        let place = format!("line {line}, column {name}: \"{}\"", shortened(text));
        import.located(error.into(), &place)
    })
}

/// The members of an object as they are written: names and values one after the other. What is left of a text that is known to be JSON.
struct Members<'a>(&'a [u8]);

impl<'a> Members<'a> {
    /// Begins with the first member; `None` if the text is no object.
    fn of(json: &'a [u8]) -> Option<Self> {
        json.trim_ascii_start().strip_prefix(b"{").map(Members)
    }

    /// Returns the next member, if there is one.
    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let between = |byte: &u8| byte.is_ascii_whitespace() || b",:".contains(byte);
        let mut part = || {
            let start = self.0.iter().position(|byte| !between(byte))?;
            let part = &self.0[start..];
            let (value, rest) = part.split_at(length(part));
            self.0 = rest;
            (!value.is_empty()).then_some(value)
        };
        Some((part()?, part()?))
    }
}

/// Returns the length of the value that JSON begins with; 0 at the end of an object.
fn length(json: &[u8]) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in json.iter().enumerate() {
        if in_string {
            (in_string, escaped) = match byte {
                _ if escaped => (true, false),
                b'\\' => (true, true),
                b'"' => (false, false),
                _ => (true, false),
            };
            if !in_string && depth == 0 {
                return at + 1;
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b'}' | b',' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
    }
    json.len()
}

/// Cuts `at line 1 column 5` off: the line is another one here.
fn without_place(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_as_they_are_written() {
        let members = |line: &str| {
            let text = |part: &[u8]| String::from_utf8(part.to_vec()).expect("it is UTF-8");
            let mut members = Members::of(line.as_bytes()).expect("it is an object");
            let mut found = Vec::new();
            while let Some((name, value)) = members.next() {
                found.push((text(name), text(value)));
            }
            found
        };
        let found = members(
            r#" {"a" : -1.50e+3 , "b":"x, \"{}\\", "c\u0041":{"d":[1,{"e":"]}"}]},"f":[ ],"g":null,"h":true} "#,
        );
        let expected = [
            ("\"a\"", "-1.50e+3"),
            ("\"b\"", r#""x, \"{}\\""#),
            ("\"c\\u0041\"", r#"{"d":[1,{"e":"]}"}]}"#),
            ("\"f\"", "[ ]"),
            ("\"g\"", "null"),
            ("\"h\"", "true"),
        ];
        let expected = expected.map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(found, expected);
        assert!(members("{}").is_empty() && members(" { } ").is_empty());
    }
}
