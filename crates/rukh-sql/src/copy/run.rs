//! The entry of COPY, and errors of files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use datafusion::scalar::ScalarValue;

use super::client::{self, CopyClient};
use super::{export, import};
use crate::session::Session;
use rukh_error::SqlError;
use rukh_syntax::{CopyDirection, CopyStatement};

/// Runs COPY; returns its tag, `COPY <rows>`. `client` takes the rows of STDOUT, and has those of STDIN.
pub(crate) fn run(
    session: &mut Session,
    statement: &CopyStatement,
    params: &[ScalarValue],
    client: Option<&mut dyn CopyClient>,
) -> Result<String, SqlError> {
    let client = match (statement.files.is_empty(), client) {
        (true, None) => return Err(client::no_client(statement)),
        (is_for_client, client) => client.filter(|_| is_for_client),
    };
    if client.is_some() {
        client::check_format(statement)?;
    }
    let rows = match statement.direction {
        CopyDirection::From => import::import(session, statement, client)?,
        CopyDirection::To => export::export(session, statement, params, client)?,
    };
    Ok(format!("COPY {rows}"))
}

/// Runs a library's reader of a file; where it panics over damaged bytes, that is an error like others.
pub(super) fn unbroken<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| "the file is damaged".to_string())
}

/// Makes the error for a file that could not be opened, read or written; what a client failed with is told as it is.
pub(super) fn file_error(verb: &str, path: &Path, error: &std::io::Error) -> SqlError {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<SqlError>()) {
        return error.clone();
    }
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let message = format!("could not {verb} file \"{}\": {reason}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => SqlError::statement("58P01", message),
        std::io::ErrorKind::PermissionDenied => SqlError::statement("42501", message),
        _ => SqlError::of_system(message, error),
    }
}
