//! [`StatementError`]: what is wrong with the text of a statement.

use thiserror::Error;

/// An error of a statement: it fails again when it is run again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct StatementError {
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

impl StatementError {
    /// Makes an error with this SQLSTATE.
    pub fn statement(sqlstate: &'static str, message: impl Into<String>) -> Self {
        StatementError {
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
        }
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

    /// Makes the error for a state that the program excludes, XX000.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::statement("XX000", message)
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
}
