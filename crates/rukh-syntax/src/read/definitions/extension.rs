//! Extensions.
//!
//! ```text
//! CREATE EXTENSION [IF NOT EXISTS] name [WITH] [SCHEMA schema] [VERSION version] [CASCADE]
//! DROP EXTENSION [IF EXISTS] name, … [CASCADE | RESTRICT]
//! COMMENT ON EXTENSION name IS text
//! ```

use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::reader::Reader;
use crate::tree::{ExtensionStatement, Statement};

/// Reads CREATE EXTENSION.
pub(crate) fn create_extension(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create", "extension"])?;
    reader.if_not_exists();
    let name = reader.name()?;
    reader.accept(&["with"]);
    loop {
        if reader.accept(&["schema"]) {
            reader.name()?;
        } else if reader.accept(&["version"]) {
            match reader.peek_at(0) {
                Token::SingleQuotedString(_) => drop(reader.string()?),
                _ => drop(reader.name()?),
            }
        } else if !reader.accept(&["cascade"]) {
            break;
        }
    }
    Ok(Statement::Extension(ExtensionStatement::Create { name }))
}

/// Reads DROP EXTENSION.
pub(crate) fn drop_extension(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["drop", "extension"])?;
    let if_exists = reader.if_exists();
    let names = reader.list(Reader::name)?;
    reader.cascade();
    Ok(Statement::Extension(ExtensionStatement::Drop {
        names,
        if_exists,
    }))
}

/// Reads COMMENT ON EXTENSION.
pub(crate) fn comment_on_extension(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["comment", "on", "extension"])?;
    let name = reader.name()?;
    reader.expect(&["is"])?;
    if !reader.accept(&["null"]) {
        reader.string()?;
    }
    Ok(Statement::Extension(ExtensionStatement::Comment { name }))
}
