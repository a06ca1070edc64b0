//! Schemas.
//!
//! ```text
//! CREATE SCHEMA [IF NOT EXISTS] {name [AUTHORIZATION role] | AUTHORIZATION role} [CREATE …] …
//! ALTER SCHEMA name RENAME TO name
//! DROP SCHEMA [IF EXISTS] name, … [CASCADE | RESTRICT]
//! ```

use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::reader::Reader;
use crate::read::utility;
use crate::tree::{Name, ObjectName, SchemaStatement, Statement};

/// Reads CREATE SCHEMA.
pub(crate) fn create_schema(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
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
    let name = name
        .or_else(|| owner.clone())
        .ok_or_else(|| reader.unexpected())?;
    let elements = elements(reader, &name, if_not_exists)?;
    Ok(statement(SchemaStatement::Create {
        name,
        if_not_exists,
        owner,
        elements,
    }))
}

/// Reads what is created in a new schema: tables and sequences come before views, and these before indexes.
fn elements(
    reader: &mut Reader<'_>,
    schema: &Name,
    if_not_exists: bool,
) -> Result<Vec<Statement>, StatementError> {
    if if_not_exists && reader.peeks(&["create"]) {
        return Err(reader.unsupported("CREATE SCHEMA IF NOT EXISTS cannot include schema elements"));
    }
    reader.end_before("create");
    let mut elements = Vec::new();
    while reader.accept_token(&Token::SemiColon) && reader.peeks(&["create"]) {
        let position = reader.position();
        let mut element = utility::create(reader)?;
        let rank = match &mut element {
            Statement::CreateSequence { name, .. } => in_schema(name, schema).map(|()| 0)?,
            Statement::CreateTable(table) if table.source.is_none() => {
                in_schema(&mut table.name, schema).map(|()| 1)?
            }
            Statement::CreateView(view) => in_schema(&mut view.name, schema).map(|()| 2)?,
            Statement::CreateIndex(index) => in_schema(&mut index.table, schema).map(|()| 3)?,
            _ => {
                let message = "CREATE SCHEMA takes tables, views, sequences and indexes";
                return Err(StatementError::unsupported(message).at(position));
            }
        };
        elements.push((rank, element));
    }
    if reader.peeks(&["grant"]) {
        return Err(reader.unsupported("GRANT within CREATE SCHEMA is not supported"));
    }
    elements.sort_by_key(|(rank, _)| *rank);
    Ok(elements.into_iter().map(|(_, element)| element).collect())
}

/// Gives what is created in a schema the schema's name, which it may have.
fn in_schema(name: &mut ObjectName, schema: &Name) -> Result<(), StatementError> {
    match &name.schema {
        Some(other) if *other != schema.text => {
            let message = format!(
                "CREATE specifies a schema ({other}) different from the one being created ({})",
                schema.text
            );
            Err(StatementError::statement("42P15", message).at(name.position))
        }
        _ => {
            name.schema = Some(schema.text.clone());
            Ok(())
        }
    }
}

/// Reads ALTER SCHEMA.
pub(crate) fn alter_schema(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["alter", "schema"])?;
    let old = reader.name()?;
    reader.expect(&["rename", "to"])?;
    let new = reader.name()?;
    Ok(statement(SchemaStatement::Rename { old, new }))
}

/// Reads DROP SCHEMA.
pub(crate) fn drop_schema(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
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
