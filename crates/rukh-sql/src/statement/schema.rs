//! Schemas.
//!
//! ```text
//! CREATE SCHEMA [IF NOT EXISTS] {name [AUTHORIZATION role] | AUTHORIZATION role}
//! ALTER SCHEMA name RENAME TO name
//! DROP SCHEMA [IF EXISTS] name, … [CASCADE | RESTRICT]
//! ```

use super::reader::Reader;
use super::{Name, Statement};
use crate::SqlError;

/// A statement about schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaStatement {
    /// CREATE SCHEMA.
    Create {
        /// The schema.
        name: Name,
        /// Whether an existing schema is only worth a notice.
        if_not_exists: bool,
        /// AUTHORIZATION.
        owner: Option<Name>,
    },
    /// ALTER SCHEMA … RENAME TO.
    Rename {
        /// The schema.
        old: Name,
        /// Its new name.
        new: Name,
    },
    /// DROP SCHEMA.
    Drop {
        /// Schemas to drop, at least one.
        names: Vec<Name>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether what they hold goes, too.
        cascade: bool,
    },
}

/// Reads CREATE SCHEMA.
pub(super) fn create_schema(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    reader.expect(&["create", "schema"])?;
    let if_not_exists = reader.if_not_exists();
    let name = match reader.peeks(&["authorization"]) {
        true => None,
        false => Some(reader.name()?),
    };
    let owner = match reader.accept(&["authorization"]) {
        true => Some(reader.name()?),
        false => None,
    };
    if reader.peeks_any(&["create", "grant"]) {
        return Err(reader.unsupported("CREATE SCHEMA with the objects in it is not supported"));
    }
    let name = name
        .or_else(|| owner.clone())
        .ok_or_else(|| reader.unexpected())?;
    Ok(statement(SchemaStatement::Create {
        name,
        if_not_exists,
        owner,
    }))
}

/// Reads ALTER SCHEMA, after these words.
pub(super) fn alter_schema(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    let old = reader.name()?;
    reader.expect(&["rename", "to"])?;
    let new = reader.name()?;
    Ok(statement(SchemaStatement::Rename { old, new }))
}

/// Reads DROP SCHEMA.
pub(super) fn drop_schema(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    reader.expect(&["drop", "schema"])?;
    let if_exists = reader.if_exists();
    let names = reader.list(Reader::name)?;
    let cascade = reader.cascade();
    Ok(statement(SchemaStatement::Drop {
        names,
        if_exists,
        cascade,
    }))
}

fn statement(schema: SchemaStatement) -> Statement {
    Statement::Schema(Box::new(schema))
}
