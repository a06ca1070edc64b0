//! Errors of files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rukh_error::SqlError;

/// Makes the error for a file that could not be opened, read or written; an error of the client is returned as it is.
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

/// Runs a library's reader of a file; where it panics over damaged bytes, that is an error like others.
pub(super) fn unbroken<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| "the file is damaged".to_string())
}
