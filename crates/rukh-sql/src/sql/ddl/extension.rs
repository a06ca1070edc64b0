//! CREATE EXTENSION: schemas name extensions whose functions are built in, and these are passed over with a notice.

use rukh_syntax::{ExtensionStatement, Name};

use crate::exec::session_settings::notice::Notice;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Extensions that schemas often name, with what of each is built in.
const KNOWN: [(&str, &str); 3] = [
    (
        "pgcrypto",
        "gen_random_uuid() is built in, and its other functions are not there",
    ),
    ("plpgsql", "DO runs blocks of it; functions are of LANGUAGE sql"),
    (
        "uuid-ossp",
        "uuid_generate_v4() is built in, and its other functions are not there",
    ),
];

/// Runs a statement about extensions; returns its tag.
///
/// Fails with 0A000 on one that is not known, and with 42704 where that has to be there.
pub(crate) fn extension(
    session: &mut Session,
    statement: &ExtensionStatement,
) -> Result<&'static str, SqlError> {
    let unknown = |name: &Name| {
        let message = format!("extension \"{}\" does not exist", name.text);
        SqlError::statement("42704", message).at(name.position)
    };
    match statement {
        ExtensionStatement::Create { name } => {
            let message = format!("extension \"{}\" is not available", name.text);
            pass_over(session, name, SqlError::unsupported(message).at(name.position))?;
            Ok("CREATE EXTENSION")
        }
        ExtensionStatement::Comment { name } => {
            pass_over(session, name, unknown(name))?;
            Ok("COMMENT")
        }
        ExtensionStatement::Drop { names, if_exists } => {
            for name in names {
                if !if_exists {
                    return Err(unknown(name));
                }
                let message = format!("extension \"{}\" does not exist, skipping", name.text);
                session.notice(Notice::new(message));
            }
            Ok("DROP EXTENSION")
        }
    }
}

/// Adds the notice about an extension; fails if it is not known.
fn pass_over(session: &mut Session, name: &Name, unknown: SqlError) -> Result<(), SqlError> {
    let (_, there) = KNOWN
        .iter()
        .find(|(known, _)| *known == name.text)
        .ok_or(unknown)?;
    session.notice(Notice::new(format!(
        "extension \"{}\" is passed over: {there}",
        name.text
    )));
    Ok(())
}
