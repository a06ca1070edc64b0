//! COPY: rows from a file into a table, and rows of a table or query into a file.
//!
//! | file      | does                                                              |
//! |-----------|-------------------------------------------------------------------|
//! | `import`  | COPY FROM: which field fills which column, defaults, row numbers  |
//! | `sink`    | rows to the engine: one write if they are few, else a bulk load   |
//! | `csv`     | splits CSV into records                                           |
//! | `json`    | reads JSON objects, one a line                                    |
//! | `parquet` | reads Parquet                                                     |
//! | `export`  | COPY TO                                                           |
//!
//! A COPY is atomic: all rows of the file are there afterwards, or none. Memory is bounded by a few
//! megabytes and what the engine sorts in.

use std::path::Path;

use datafusion::scalar::ScalarValue;

use crate::SqlError;
use crate::session::Session;
use crate::statement::{CopyDirection, CopyStatement};

mod csv;
mod export;
mod import;
mod json;
mod parquet;
mod sink;
#[cfg(test)]
mod tests;

/// Runs COPY; returns its tag, `COPY <rows>`.
pub(crate) fn run(
    session: &mut Session,
    statement: &CopyStatement,
    params: &[ScalarValue],
) -> Result<String, SqlError> {
    let rows = match statement.direction {
        CopyDirection::From => import::import(session, statement)?,
        CopyDirection::To => export::export(session, statement, params)?,
    };
    Ok(format!("COPY {rows}"))
}

/// Makes the error for a file that could not be opened, read or written.
fn file_error(verb: &str, path: &Path, error: &std::io::Error) -> SqlError {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let message = format!("could not {verb} file \"{}\": {reason}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => SqlError::statement("58P01", message),
        std::io::ErrorKind::PermissionDenied => SqlError::statement("42501", message),
        _ => SqlError::io(message),
    }
}
