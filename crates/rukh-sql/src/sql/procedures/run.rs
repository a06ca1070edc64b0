//! DO.

use rukh_error::SqlError;
use rukh_syntax::ProcedureBlock;

use super::steps::{Flow, Runner};
use crate::sql::session::Session;

/// Runs DO.
///
/// # Errors
/// Those of its statements, and what it raises.
pub(crate) fn run(session: &mut Session, block: &ProcedureBlock) -> Result<(), SqlError> {
    let mut runner = Runner::new(session)?;
    match runner.block(block)? {
        Flow::On | Flow::Return => Ok(()),
        Flow::Exit(None) => Err(SqlError::syntax(
            "EXIT cannot be used outside a loop, unless it has a label",
        )),
        Flow::Continue(None) => Err(SqlError::syntax("CONTINUE cannot be used outside a loop")),
        Flow::Exit(Some(label)) | Flow::Continue(Some(label)) => {
            let message = format!(
                "there is no label \"{label}\" attached to any block or loop enclosing this statement"
            );
            Err(SqlError::syntax(message))
        }
    }
}
