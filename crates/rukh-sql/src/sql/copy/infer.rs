//! DESCRIBE FILE: the columns that a file seems to have, for a table to be made for it.
//!
//! Parquet and Arrow say what they hold. Of CSV and JSON the first [`SAMPLE_ROWS`] records are looked at; a
//! column has the first of these types that takes all of its values:
//!
//! | type                             | values                                                            |
//! |----------------------------------|-------------------------------------------------------------------|
//! | BOOLEAN                          | `true`, `false`                                                   |
//! | BIGINT                           | integers as they are printed: not `007`, which is no number        |
//! | DOUBLE                           | numbers, with the same care                                       |
//! | DATE, TIMESTAMP, the same with time zone | as PostgreSQL prints them                                 |
//! | UUID                             | with hyphens                                                      |
//! | VARCHAR                          | everything else, and no value at all                              |
//!
//! Strings of JSON are no numbers and no truth values.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rukh_keys::DataType;
use rukh_syntax::{CopyFormat, CopyHeader, CopyOptions};
use serde_json::Value;

use super::errors::{file_error, unbroken};
use super::formats::csv::{ReadError, Record, Records};
use super::formats::ipc;
use crate::pg::show::{batch, booleans, texts};
use rukh_error::SqlError;
use rukh_functions::types::taken_data_type;

/// Records that are looked at.
const SAMPLE_ROWS: u64 = 100_000;
/// Bytes of them that are looked at.
const SAMPLE_BYTES: u64 = 256 << 20;
/// Columns that a file may have.
const COLUMNS_MAX: usize = 10_000;

/// Types in the order in which they are tried.
const GUESSES: [DataType; 7] = [
    DataType::Boolean,
    DataType::BigInt,
    DataType::Double,
    DataType::Date,
    DataType::TIMESTAMP,
    DataType::TIMESTAMP_TZ,
    DataType::Uuid,
];

/// What is known of a column.
struct Guess {
    name: String,
    /// Which of the types take all values so far.
    fits: [bool; GUESSES.len()],
    values: u64,
}

impl Guess {
    fn new(name: String) -> Self {
        Guess {
            name,
            fits: [true; GUESSES.len()],
            values: 0,
        }
    }

    fn add(&mut self, text: &str) {
        self.values += 1;
        for (fits, ty) in self.fits.iter_mut().zip(&GUESSES) {
            *fits = *fits && takes(ty, text);
        }
    }

    /// Adds a string of JSON.
    fn add_string(&mut self, text: &str) {
        self.add(text);
        self.fits[..3].fill(false);
    }

    fn column(self, rows: u64) -> (String, DataType, bool) {
        let fitting = self.fits.iter().zip(GUESSES).find(|(fits, _)| **fits);
        let ty = match fitting {
            Some((_, ty)) if self.values > 0 => ty,
            _ => DataType::Varchar(None),
        };
        (self.name, ty, self.values < rows)
    }
}

/// Whether a text is a value of a type, written as one would.
fn takes(ty: &DataType, text: &str) -> bool {
    match ty {
        DataType::Boolean => ["true", "false"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word)),
        DataType::BigInt => text.parse::<i64>().is_ok_and(|value| value.to_string() == text),
        DataType::Double => is_number(text) && ty.parse_text(text).is_ok(),
        DataType::Date => text.contains('-') && !text.contains(':') && ty.parse_text(text).is_ok(),
        DataType::Timestamp { .. } => text.contains('-') && !has_zone(text) && ty.parse_text(text).is_ok(),
        DataType::TimestampTz { .. } => has_zone(text) && ty.parse_text(text).is_ok(),
        DataType::Uuid => text.len() == 36 && ty.parse_text(text).is_ok(),
        _ => false,
    }
}

/// Whether a text has the characters of a number, and no zero in front of another digit.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let padded = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    let number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    !padded && text.bytes().all(number) && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a time of day is followed by a zone: `12:30Z`, `12:30+02`.
fn has_zone(text: &str) -> bool {
    let time = text.find(':').map_or("", |colon| &text[colon..]);
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}

/// Runs DESCRIBE FILE: one row for each column, with name, type, and whether it has NULLs.
pub(crate) fn describe(file: &str, options: &CopyOptions) -> Result<RecordBatch, SqlError> {
    let path = Path::new(file);
    let input = File::open(path).map_err(|error| file_error("open", path, &error))?;
    let columns = match options.format {
        CopyFormat::Csv | CopyFormat::Text => csv(path, input, options)?,
        CopyFormat::Binary => {
            return Err(SqlError::unsupported(
                "a binary file does not contain the types of its fields",
            ));
        }
        CopyFormat::Json => json(path, input)?,
        CopyFormat::Parquet => of_schema(&parquet_schema(input).map_err(|reason| unread(path, &reason))?),
        CopyFormat::Arrow | CopyFormat::ArrowStream => {
            let schema = ipc::Batches::new(input).schema();
            let schema = schema.and_then(|schema| schema.ok_or("it has no schema".to_string()));
            of_schema(&schema.map_err(|reason| unread(path, &reason))?)
        }
    };
    batch([
        (
            "column",
            texts(columns.iter().map(|column| Some(column.0.clone()))),
        ),
        (
            "type",
            texts(columns.iter().map(|column| Some(column.1.to_string()))),
        ),
        ("nullable", booleans(columns.iter().map(|column| column.2))),
    ])
}

fn unread(path: &Path, reason: &str) -> SqlError {
    let message = format!("could not read file \"{}\": {reason}", path.display());
    SqlError::statement("22P04", message)
}

fn parquet_schema(input: File) -> Result<SchemaRef, String> {
    let builder = unbroken(|| ParquetRecordBatchReaderBuilder::try_new(input))?;
    builder
        .map(|builder| builder.schema().clone())
        .map_err(|error| error.to_string())
}

fn of_schema(schema: &SchemaRef) -> Vec<(String, DataType, bool)> {
    let fields = schema.fields().iter();
    fields
        .map(|field| (field.name().clone(), taken_data_type(field), field.is_nullable()))
        .collect()
}

fn csv(path: &Path, input: File, options: &CopyOptions) -> Result<Vec<(String, DataType, bool)>, SqlError> {
    let failed = |error: ReadError| match error {
        ReadError::Io(error) => file_error("read", path, &error),
        ReadError::Sql(error, line) => error.with_detail(format!("Line {line} of the file.")),
    };
    let mut records = Records::new(input, options).map_err(|error| file_error("read", path, &error))?;
    let mut record = Record::default();
    let mut columns: Vec<Guess> = Vec::new();
    if options.header != CopyHeader::None && records.read(&mut record).map_err(failed)? {
        check_count(record.len())?;
        for position in 0..record.len() {
            let name = String::from_utf8_lossy(record.field(position).0);
            columns.push(Guess::new(match options.header {
                CopyHeader::Names => name.trim().to_string(),
                _ => format!("c{}", position + 1),
            }));
        }
    }
    let mut rows = 0;
    while rows < SAMPLE_ROWS && records.bytes() < SAMPLE_BYTES && records.read(&mut record).map_err(failed)? {
        if rows == 0 && options.header == CopyHeader::None {
            check_count(record.len())?;
            columns.extend((1..=record.len()).map(|position| Guess::new(format!("c{position}"))));
        }
        rows += 1;
        for (position, column) in columns.iter_mut().enumerate().take(record.len()) {
            let (bytes, quoted) = record.field(position);
            if quoted || bytes != options.null.as_bytes() {
                column.add(&String::from_utf8_lossy(bytes));
            }
        }
    }
    Ok(columns.into_iter().map(|column| column.column(rows)).collect())
}

fn json(path: &Path, input: File) -> Result<Vec<(String, DataType, bool)>, SqlError> {
    let mut input = BufReader::with_capacity(256 << 10, input).take(SAMPLE_BYTES);
    let mut columns: Vec<Guess> = Vec::new();
    let (mut line, mut number, mut rows) = (Vec::new(), 0, 0);
    while rows < SAMPLE_ROWS {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| file_error("read", path, &error))? == 0 {
            break;
        }
        number += 1;
        // The last line of a sample is cut off.
        if line.trim_ascii().is_empty() || (input.limit() == 0 && !line.ends_with(b"\n")) {
            continue;
        }
        let Ok(Value::Object(fields)) = serde_json::from_slice(&line) else {
            return Err(SqlError::statement("22P02", "a line of JSON must be an object")
                .with_detail(format!("Line {number} of the file.")));
        };
        rows += 1;
        for (name, value) in fields {
            let position = match columns.iter().position(|column| column.name == name) {
                Some(position) => position,
                None => {
                    check_count(columns.len() + 1)?;
                    columns.push(Guess::new(name));
                    columns.len() - 1
                }
            };
            match value {
                Value::Null => {}
                Value::String(text) => columns[position].add_string(&text),
                other => columns[position].add(&other.to_string()),
            }
        }
    }
    Ok(columns.into_iter().map(|column| column.column(rows)).collect())
}

fn check_count(columns: usize) -> Result<(), SqlError> {
    match columns > COLUMNS_MAX {
        true => {
            let message = format!("a file may have at most {COLUMNS_MAX} columns");
            Err(SqlError::statement("54011", message))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_take_what_is_written_as_one_would() {
        let cases: &[(&[&str], &str)] = &[
            (&["1", "-5", "0"], "BIGINT"),
            (&["1", "007"], "VARCHAR"),
            (&["1", "2.5", "1e9"], "DOUBLE"),
            (&["9223372036854775808"], "DOUBLE"),
            (&["true", "FALSE"], "BOOLEAN"),
            (&["true", "1"], "VARCHAR"),
            (&["2012-01-31", "2012-02-01"], "DATE"),
            (&["2012-01-31", "2012-02-01 12:00:00"], "TIMESTAMP"),
            (
                &["2012-02-01T12:00:00Z", "2012-02-01 12:00:00+02"],
                "TIMESTAMP WITH TIME ZONE",
            ),
            (&["2012-02-01 12:00:00Z", "2012-02-01 12:00:00"], "VARCHAR"),
            (&["00000000-0000-0000-0000-000000000000"], "UUID"),
            (&["2012-02-30"], "VARCHAR"),
            (&["inf"], "VARCHAR"),
            (&[""], "VARCHAR"),
            (&[], "VARCHAR"),
        ];
        for (values, expected) in cases {
            let mut guess = Guess::new(String::new());
            values.iter().for_each(|text| guess.add(text));
            let (_, ty, nullable) = guess.column(values.len() as u64);
            assert_eq!(
                (ty.to_string().as_str(), nullable),
                (*expected, false),
                "{values:?}"
            );
        }
        let mut guess = Guess::new(String::new());
        guess.add_string("12");
        assert_eq!(guess.column(2), (String::new(), DataType::Varchar(None), true));
    }
}
