//! The one place where inner errors become what a user sees: kind, SQLSTATE, message, place.
//!
//! SQLSTATEs are PostgreSQL's (appendix A of its manual). Every crate from the functions to the session fails with
//! [`SqlError`]. The errors of the crates below and of DataFusion become one here, by `From`, which Rust has stand beside the type.

mod datafusion_errors;
mod sql_error;

pub use sql_error::{ErrorKind, SqlError, Violated, storage_error};
