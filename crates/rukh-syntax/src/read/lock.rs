//! LOCK TABLE.
//!
//! ```text
//! LOCK [TABLE] [ONLY] table [*], … [IN mode MODE] [NOWAIT]
//! ```
//!
//! | mode                                                          | what it does here                        |
//! |---------------------------------------------------------------|------------------------------------------|
//! | ACCESS SHARE, ROW SHARE, ROW EXCLUSIVE, SHARE UPDATE EXCLUSIVE | nothing: others may read and write        |
//! | SHARE, SHARE ROW EXCLUSIVE, EXCLUSIVE, ACCESS EXCLUSIVE         | others must not have changed the table by COMMIT, or wait |

use sqlparser::tokenizer::Token;

use super::reader::Reader;
use crate::StatementError;
use crate::tree::{LockStatement, Statement};

/// The modes, and whether others may write meanwhile; of two that begin alike the longer comes first.
const MODES: &[(&[&str], bool)] = &[
    (&["access", "share"], true),
    (&["row", "share"], true),
    (&["row", "exclusive"], true),
    (&["share", "update", "exclusive"], true),
    (&["share", "row", "exclusive"], false),
    (&["share"], false),
    (&["exclusive"], false),
    (&["access", "exclusive"], false),
];

/// Reads LOCK TABLE.
pub(crate) fn lock(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["lock"])?;
    reader.accept(&["table"]);
    let tables = reader.list(|reader| {
        reader.accept(&["only"]);
        let name = reader.object_name()?;
        reader.accept_token(&Token::Mul);
        Ok(name)
    })?;
    let others_write = match reader.accept(&["in"]) {
        true => mode(reader)?,
        false => false,
    };
    let nowait = reader.accept(&["nowait"]);
    Ok(Statement::Lock(LockStatement {
        tables,
        others_write,
        nowait,
    }))
}

/// Reads a mode; returns whether others may write meanwhile.
fn mode(reader: &mut Reader<'_>) -> Result<bool, StatementError> {
    let known = MODES.iter().find(|(words, _)| reader.accept(words));
    let Some((_, others_write)) = known else {
        return Err(reader.unexpected());
    };
    reader.expect(&["mode"])?;
    Ok(*others_write)
}
