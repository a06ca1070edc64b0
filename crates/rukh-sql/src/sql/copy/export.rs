//! COPY TO: the rows of a table or query in a file or to the client.
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
use rukh_engine::Progress;
use rukh_syntax::sqlparser::ast::Query;
use rukh_syntax::{
    CopyFormat, CopyHeader, CopyOptions, CopySource, CopyStatement, Name, ObjectName, Statement, quoted,
};

use super::client::{CopyClient, CopyShape, client_error};
use super::errors::file_error;
use super::lines::Lines;
use super::rows_in::check_columns;
use crate::bind::spelling::parsing::parse;
use crate::exec::rows::{Rows, rows_of_batch};
use crate::exec::session_settings::progress::Task;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs COPY TO; returns the number of rows.
pub(super) fn export(
    session: &mut Session,
    statement: &CopyStatement,
    params: &[ScalarValue],
    client: Option<&mut dyn CopyClient>,
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
            Box::new(table_query(session, name, columns, &statement.options)?),
            format!("copy {}", name.name),
        ),
    };
    let snapshot = session.snapshot();
    let context = session.context(snapshot, &query)?;
    let rows = session.query(&query, params, &context)?;
    let task = session.task(label, "rows");
    if i16::try_from(rows.columns().len()).is_err() {
        return Err(SqlError::statement("54011", "COPY takes at most 32767 columns"));
    }
    if let Some(client) = client {
        return write_to_client(rows, client, &statement.options, &task);
    }
    let file = statement.files.first().map_or("", String::as_str);
    let path = Path::new(file);
    if is_device(path) {
        return write_file(rows, path, path, &statement.options, &task);
    }
    let partial = PathBuf::from(format!("{file}.partial"));
    let written = write_file(rows, &partial, path, &statement.options, &task);
    if written.is_err() {
        // The first error is the one to report.
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
fn table_query(
    session: &Session,
    name: &ObjectName,
    columns: &[Name],
    options: &CopyOptions,
) -> Result<Query, SqlError> {
    let table = session.table(name)?;
    check_columns(&table, options.forced.quote.as_ref())?;
    for (nth, column) in columns.iter().enumerate() {
        if columns[..nth].iter().any(|before| before.text == column.text) {
            let message = format!("column \"{}\" specified more than once", column.text);
            return Err(SqlError::statement("42701", message).at(column.position));
        }
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
                .declared_columns()
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
    let mut output = BufWriter::with_capacity(256 << 10, file);
    let write = |bytes: &[u8]| {
        let written = output.write_all(bytes);
        written.map_err(|error| file_error("write", path, &error))
    };
    let count = write_lines(rows, options, task, write)?;
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

/// Writes rows by `write`, each at once.
fn write_lines(
    mut rows: Rows,
    options: &CopyOptions,
    task: &Task,
    mut write: impl FnMut(&[u8]) -> Result<(), SqlError>,
) -> Result<u64, SqlError> {
    let columns = match options.format {
        CopyFormat::Binary => rows.binary_columns()?,
        _ => rows.columns().to_vec(),
    };
    let lines = Lines::new(options, &columns)?;
    let mut count = 0;
    let mut line = lines.head();
    // Clients of the binary format expect its head to come with the first row, as text and CSV need not: there it is a line.
    if options.format != CopyFormat::Binary {
        write(&line)?;
        line.clear();
    }
    while let Some(batch) = rows.filled_batch()? {
        for row in rows_of_batch(&batch, &columns)? {
            lines.row(&row, &mut line);
            write(&line)?;
            line.clear();
        }
        count += batch.num_rows() as u64;
        report(task, batch.num_rows())?;
    }
    line.extend(lines.tail());
    write(&line)?;
    Ok(count)
}

fn write_to_client(
    rows: Rows,
    client: &mut dyn CopyClient,
    options: &CopyOptions,
    task: &Task,
) -> Result<u64, SqlError> {
    let shape = CopyShape {
        from_client: false,
        is_binary: options.format == CopyFormat::Binary,
        columns: rows.columns().len(),
    };
    client.begin(shape).map_err(client_error)?;
    write_lines(rows, options, task, |bytes| match bytes {
        [] => Ok(()),
        bytes => client.send(bytes).map_err(client_error),
    })
}

fn write_parquet(mut rows: Rows, file: File, path: &Path, task: &Task) -> Result<u64, SqlError> {
    let failed = |error: datafusion::parquet::errors::ParquetError| {
        SqlError::io(format!(
            "could not write Parquet file \"{}\": {error}",
            path.display()
        ))
    };
    let mut writer = ArrowWriter::try_new(file, rows.shown_schema(), None).map_err(failed)?;
    let mut count = 0;
    while let Some(batch) = rows.shown_batch()? {
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
            ArrowOutput::Stream(StreamWriter::try_new(output, &rows.shown_schema()).map_err(failed)?)
        }
        _ => ArrowOutput::File(FileWriter::try_new(output, &rows.shown_schema()).map_err(failed)?),
    };
    let mut count = 0;
    while let Some(batch) = rows.shown_batch()? {
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
