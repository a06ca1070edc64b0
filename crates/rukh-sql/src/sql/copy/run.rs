//! The entry of COPY, and errors of files.

use datafusion::scalar::ScalarValue;
use rukh_syntax::{CopyDirection, CopyStatement};

use super::client::{self, CopyClient};
use super::{export, import};
use crate::sql::session::Session;
use rukh_error::SqlError;

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
