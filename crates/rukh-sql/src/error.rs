//! The one place where inner errors become what a user sees: kind, SQLSTATE, message, place.
//!
//! SQLSTATEs are PostgreSQL's (appendix A of its manual).

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use rukh_catalog::CatalogError;
use rukh_engine::EngineError;
use rukh_keys::ValueError;
use thiserror::Error;

/// What a caller would do differently about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The statement is wrong; the same statement will fail again.
    Statement,
    /// The data break a rule of the table.
    Constraint,
    /// Another session changed the same rows; trying again may succeed.
    Conflict,
    /// Stored bytes that do not decode.
    Corruption,
    /// The machine failed: disk, files, memory.
    Io,
    /// The statement was cancelled.
    Cancelled,
}

/// An error as users see it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SqlError {
    /// What a caller would do about it.
    pub kind: ErrorKind,
    /// Five characters, as in PostgreSQL.
    pub sqlstate: &'static str,
    /// Lower case, no final stop, names the object.
    pub message: String,
    /// Further facts, as sentences.
    pub detail: Option<String>,
    /// What to do about it, as sentences.
    pub hint: Option<String>,
    /// Place in the statement, in characters from 1.
    pub position: Option<usize>,
}

impl SqlError {
    /// Makes an error of the statement with this SQLSTATE.
    pub fn statement(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Statement, sqlstate, message)
    }

    /// Makes a syntax error, 42601.
    pub fn syntax(message: impl Into<String>) -> Self {
        Self::statement("42601", message)
    }

    /// Makes an error for something that Rukh does not do, 0A000.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::statement("0A000", message)
    }

    /// Makes an error for an unknown table, 42P01.
    pub fn undefined_table(name: &str) -> Self {
        Self::statement("42P01", format!("relation \"{name}\" does not exist"))
    }

    /// Makes an error for an unknown column, 42703.
    pub fn undefined_column(name: &str) -> Self {
        Self::statement("42703", format!("column \"{name}\" does not exist"))
    }

    /// Makes the error of a cancelled statement, 57014.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "57014", "canceling statement due to user request")
    }

    /// Makes an error of the machine, 58030.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, "58030", message)
    }

    /// Makes the error for a state that the program excludes, XX000.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, "XX000", message)
    }

    /// Adds the place in the statement, unless one is known.
    pub fn at(mut self, position: usize) -> Self {
        self.position.get_or_insert(position);
        self
    }

    /// Adds further facts.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn new(kind: ErrorKind, sqlstate: &'static str, message: impl Into<String>) -> Self {
        SqlError { kind, sqlstate, message: message.into(), detail: None, hint: None, position: None }
    }
}
