//! Why a path fails.

use rukh_error::SqlError;

/// Why a path fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the values, which conditions and silent calls take as unknown.
    Soft(SqlError),
    /// An error of the statement.
    Hard(SqlError),
}

/// Makes an error of the values.
pub(super) fn soft(state: &'static str, message: impl Into<String>) -> Failure {
    Failure::Soft(SqlError::statement(state, message.into()))
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure::Hard(error)
    }
}
