//! COPY TO: the rows of a table or query as CSV, JSON lines, Parquet or Arrow's IPC format.
//!
//! The file appears under its name when it is complete; until then it has `.partial` behind it. Devices, such as
//! `/dev/stdout`, and pipes are written as they are.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::Query;
use rukh_engine::Progress;
use rukh_keys::{DataType, Datum};

use super::file_error;
use crate::SqlError;
use crate::normalise::quoted;
use crate::progress::Task;
use crate::rows::{ColumnInfo, Rows, rows_of_batch};
use crate::session::Session;
use crate::statement::{
    CopyFormat, CopyHeader, CopyOptions, CopySource, CopyStatement, Name, ObjectName, Statement, parse,
};

/// Runs COPY TO; returns the number of rows.
pub(super) fn export(
    session: &mut Session,
    statement: &CopyStatement,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    if statement.options.header == CopyHeader::Skip {
        return Err(SqlError::statement("22023", "HEADER skip is for COPY FROM"));
    }
    if statement.options.row_number.is_some() {
        return Err(SqlError::statement("22023", "ROW_NUMBER is for COPY FROM"));
    }
    let (query, label) = match &statement.source {
        CopySource::Query(query) => (query.clone(), "copy".to_string()),
        CopySource::Table { name, columns } => (
            Box::new(table_query(session, name, columns)?),
            format!("copy {}", name.name),
        ),
    };
    let snapshot = session.snapshot();
    let context = session.context(snapshot, &query)?;
    let rows = session.query(&query, params, &context)?;
    let task = session.task(label, "rows");
    let file = statement.files.first().map_or("", String::as_str);
    let path = Path::new(file);
    if is_device(path) {
        return write_file(rows, path, path, &statement.options, &task);
    }
    let partial = PathBuf::from(format!("{file}.partial"));
    let written = write_file(rows, &partial, path, &statement.options, &task);
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&partial);
    }
    let count = written?;
    std::fs::rename(&partial, path).map_err(|error| file_error("write", path, &error))?;
    Ok(count)
}

/// Whether a path is no file of a directory, but standard output, a pipe or the like.
fn is_device(path: &Path) -> bool {
    let is_other = |metadata: std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    path.starts_with("/dev") || std::fs::metadata(path).is_ok_and(is_other)
}

/// Makes `SELECT columns FROM table`.
fn table_query(session: &Session, name: &ObjectName, columns: &[Name]) -> Result<Query, SqlError> {
    let table = session.table(name)?;
    for column in columns {
        if table.column_named(&column.text).is_none() {
            let message = format!(
                "column \"{}\" of relation \"{}\" does not exist",
                column.text, table.name
            );
            return Err(SqlError::statement("42703", message).at(column.position));
        }
    }
    let names: Vec<String> = match columns {
        [] => {
            let stored = table
                .columns
                .iter()
                .filter(|column| column.values.generated.is_none());
            stored.map(|column| quoted(&column.name)).collect()
        }
        columns => columns.iter().map(|column| quoted(&column.text)).collect(),
    };
    let sql = format!(
        "SELECT {} FROM {}.{}",
        names.join(", "),
        quoted(&table.schema),
        quoted(&table.name)
    );
    match parse(&sql)? {
        Statement::Query(query) => Ok(*query),
        _ => Err(SqlError::internal("a SELECT was read as another statement")),
    }
}

fn write_file(
    rows: Rows,
    partial: &Path,
    path: &Path,
    options: &CopyOptions,
    task: &Task,
) -> Result<u64, SqlError> {
    let file = File::create(partial).map_err(|error| file_error("open", path, &error))?;
    if options.format == CopyFormat::Parquet {
        return write_parquet(rows, file, path, task);
    }
    if matches!(options.format, CopyFormat::Arrow | CopyFormat::ArrowStream) {
        return write_arrow(rows, file, path, options.format, task);
    }
    let columns = rows.columns().to_vec();
    let mut output = BufWriter::with_capacity(256 << 10, file);
    if options.format == CopyFormat::Csv && options.header == CopyHeader::Names {
        let names = columns.iter().map(|column| Some(column.name.clone()));
        let line = csv_line(names, options);
        output
            .write_all(line.as_bytes())
            .map_err(|error| file_error("write", path, &error))?;
    }
    let line = |row: &[Datum]| match options.format {
        CopyFormat::Json => json_line(row, &columns),
        _ => csv_line(
            row.iter()
                .zip(&columns)
                .map(|(datum, column)| text_of(datum, &column.ty)),
            options,
        ),
    };
    let count = write_lines(rows, &columns, &mut output, path, task, line)?;
    let file = output
        .into_inner()
        .map_err(|error| file_error("write", path, error.error()))?;
    sync(&file, path)?;
    Ok(count)
}

/// Makes what was written durable; a pipe or a terminal has no such thing.
fn sync(file: &File, path: &Path) -> Result<(), SqlError> {
    match is_device(path) {
        true => Ok(()),
        false => file.sync_all().map_err(|error| file_error("write", path, &error)),
    }
}

fn write_lines(
    mut rows: Rows,
    columns: &[ColumnInfo],
    output: &mut impl Write,
    path: &Path,
    task: &Task,
    line: impl Fn(&[Datum]) -> String,
) -> Result<u64, SqlError> {
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        for row in rows_of_batch(&batch, columns)? {
            output
                .write_all(line(&row).as_bytes())
                .map_err(|error| file_error("write", path, &error))?;
        }
        count += batch.num_rows() as u64;
        report(task, batch.num_rows())?;
    }
    Ok(count)
}

fn write_parquet(mut rows: Rows, file: File, path: &Path, task: &Task) -> Result<u64, SqlError> {
    let failed = |error: datafusion::parquet::errors::ParquetError| {
        SqlError::io(format!(
            "could not write Parquet file \"{}\": {error}",
            path.display()
        ))
    };
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).map_err(failed)?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        writer.write(&batch).map_err(failed)?;
        count += batch.num_rows() as u64;
        report(task, batch.num_rows())?;
    }
    let file = writer.into_inner().map_err(failed)?;
    sync(&file, path)?;
    Ok(count)
}

fn write_arrow(
    mut rows: Rows,
    file: File,
    path: &Path,
    format: CopyFormat,
    task: &Task,
) -> Result<u64, SqlError> {
    let failed = |error: ArrowError| {
        SqlError::io(format!(
            "could not write Arrow file \"{}\": {error}",
            path.display()
        ))
    };
    let output = BufWriter::with_capacity(256 << 10, file);
    let mut writer = match format {
        CopyFormat::ArrowStream => {
            ArrowOutput::Stream(StreamWriter::try_new(output, &rows.schema()).map_err(failed)?)
        }
        _ => ArrowOutput::File(FileWriter::try_new(output, &rows.schema()).map_err(failed)?),
    };
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        match &mut writer {
            ArrowOutput::Stream(writer) => writer.write(&batch),
            ArrowOutput::File(writer) => writer.write(&batch),
        }
        .map_err(failed)?;
        count += batch.num_rows() as u64;
        report(task, batch.num_rows())?;
    }
    // The end is written with the writer's inner one.
    let output = match writer {
        ArrowOutput::Stream(writer) => writer.into_inner(),
        ArrowOutput::File(writer) => writer.into_inner(),
    };
    let file = output.map_err(failed)?.into_inner();
    let file = file.map_err(|error| file_error("write", path, error.error()))?;
    sync(&file, path)?;
    Ok(count)
}

/// Arrow's IPC format, in one of its two frames.
enum ArrowOutput {
    File(FileWriter<BufWriter<File>>),
    Stream(StreamWriter<BufWriter<File>>),
}

fn report(task: &Task, rows: usize) -> Result<(), SqlError> {
    task.advance(rows as u64);
    match task.cancelled() {
        true => Err(SqlError::cancelled()),
        false => Ok(()),
    }
}

/// Returns a value as text, or `None` for NULL.
fn text_of(datum: &Datum, ty: &DataType) -> Option<String> {
    (!datum.is_null()).then(|| ty.format_text(datum))
}

/// Returns one line of CSV with its line end.
pub(super) fn csv_line(fields: impl Iterator<Item = Option<String>>, options: &CopyOptions) -> String {
    let mut line = String::new();
    for (position, field) in fields.enumerate() {
        if position > 0 {
            line.push(char::from(options.delimiter));
        }
        match field {
            None => line += &options.null,
            Some(text) if needs_quotes(&text, options) => quote_into(&mut line, &text, options),
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
        Datum::Boolean(value) => value.to_string(),
        Datum::Int(_) => text,
        Datum::Decimal(value) if value.unsigned_abs() < JSON_NUMBER_MAX => text,
        Datum::Float(value) if value.is_finite() => text,
        _ => serde_json::Value::from(text).to_string(),
    }
}

/// Decimals of more digits than these are written as strings: most readers take numbers for a DOUBLE,
/// which holds fifteen.
const JSON_NUMBER_MAX: u128 = 1_000_000_000_000_000;
