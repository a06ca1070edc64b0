//! COPY FROM JSON: one object a line, its keys the names of columns.

use std::io::{BufRead, BufReader, Read};

use rukh_keys::Datum;
use serde_json::Value;

use super::file_error;
use super::import::{Assembler, Import, shortened};
use crate::SqlError;

/// Longest line: a file without line ends must not be read into memory as a whole.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Reads all lines; empty ones are passed over.
pub(super) fn read(import: &mut Import<'_>, file: impl Read) -> Result<(), SqlError> {
    // A key that is absent takes the default, so every column must have its default at hand.
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
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let message = format!(
            "invalid input syntax for type json: {}",
            without_place(&error.to_string())
        );
        in_line(SqlError::statement("22P02", message))
    })?;
    let Value::Object(fields) = value else {
        return Err(in_line(SqlError::statement(
            "22P02",
            "a line of JSON must be an object",
        )));
    };
    let mut row = assembler.row(Vec::new()).map_err(in_line)?;
    for (name, value) in &fields {
        let position = import.columns.named(name);
        let position = position.ok_or_else(|| in_line(import.columns.unknown(name, "the JSON object")))?;
        row[position] = datum(import, value, position, number)?;
    }
    Ok(row)
}

fn datum(import: &Import<'_>, value: &Value, position: usize, line: u64) -> Result<Datum, SqlError> {
    let (name, ty) = import.columns.column(position);
    let text = match value {
        Value::Null => return Ok(Datum::Null),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "true".to_string(),
        Value::Bool(false) => "false".to_string(),
        other => other.to_string(),
    };
    ty.parse_text(&text).map_err(|error| {
        let place = format!("line {line}, column {name}: \"{}\"", shortened(&text));
        import.located(error.into(), &place)
    })
}

/// Cuts `at line 1 column 5` off: the line is another one here.
fn without_place(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}
