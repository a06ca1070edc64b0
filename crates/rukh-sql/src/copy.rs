//! COPY: rows from and to files.

use datafusion::scalar::ScalarValue;

use crate::SqlError;
use crate::session::Session;
use crate::statement::CopyStatement;

/// Runs COPY; refused until it lands.
pub(crate) fn run(_: &mut Session, _: &CopyStatement, _: &[ScalarValue]) -> Result<String, SqlError> {
    Err(SqlError::unsupported("COPY is not supported yet"))
}
