//! Types that a database defines.
//!
//! ```text
//! CREATE TYPE [schema.]name AS ENUM ('label', …)
//! CREATE TYPE [schema.]name AS ([field type, …])
//! ALTER TYPE [schema.]name {ADD ATTRIBUTE field type | DROP ATTRIBUTE [IF EXISTS] field |
//!     ALTER ATTRIBUTE field [SET DATA] TYPE type}, …
//! ALTER TYPE [schema.]name RENAME ATTRIBUTE field TO field
//! ALTER TYPE [schema.]name ADD VALUE [IF NOT EXISTS] 'label' [{BEFORE | AFTER} 'label']
//! ALTER TYPE [schema.]name RENAME VALUE 'label' TO 'label'
//! ALTER TYPE [schema.]name {RENAME TO name | SET SCHEMA schema | OWNER TO role}
//! DROP {TYPE | DOMAIN} [IF EXISTS] [schema.]name, … [CASCADE | RESTRICT]
//! ```

use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::definitions::data_type::type_name;
use crate::read::reader::Reader;
use crate::tree::{
    AddedPlace, AttributeAction, Name, ObjectName, Ownable, Statement, TypeName, TypeStatement,
};

/// Reads CREATE TYPE.
pub(crate) fn create_type(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create", "type"])?;
    let name = reader.object_name()?;
    if !reader.accept(&["as", "enum"]) {
        if !reader.accept(&["as"]) || *reader.peek_at(0) != Token::LParen {
            return Err(reader.unsupported(
                "CREATE TYPE makes enums and composite types: AS ENUM ('label', …), AS (field type, …)",
            ));
        }
        let fields = match reader.peek_at(1) {
            Token::RParen => {
                reader.take();
                reader.take();
                Vec::new()
            }
            _ => reader.parenthesised(field)?,
        };
        return Ok(statement(TypeStatement::CreateRecord { name, fields }));
    }
    let labels = match (reader.peek_at(0), reader.peek_at(1)) {
        (Token::LParen, Token::RParen) => {
            reader.take();
            reader.take();
            Vec::new()
        }
        _ => reader.parenthesised(label)?,
    };
    Ok(statement(TypeStatement::CreateEnum { name, labels }))
}

/// Reads ALTER TYPE.
pub(crate) fn alter_type(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["alter", "type"])?;
    let name = reader.object_name()?;
    if reader.accept(&["add", "value"]) {
        let if_not_exists = reader.if_not_exists();
        let added = label(reader)?;
        let place = match () {
            () if reader.accept(&["before"]) => AddedPlace::Before(label(reader)?),
            () if reader.accept(&["after"]) => AddedPlace::After(label(reader)?),
            () => AddedPlace::Last,
        };
        return Ok(statement(TypeStatement::AddValue {
            name,
            if_not_exists,
            label: added,
            place,
        }));
    }
    if reader.accept(&["rename", "value"]) {
        let old = label(reader)?;
        reader.expect(&["to"])?;
        let new = label(reader)?;
        return Ok(statement(TypeStatement::RenameValue { name, old, new }));
    }
    if reader.accept(&["rename", "attribute"]) {
        let old = reader.name()?;
        reader.expect(&["to"])?;
        let new = reader.name()?;
        reader.cascade();
        let actions = vec![AttributeAction::Rename { name: old, new }];
        return Ok(statement(TypeStatement::AlterRecord { name, actions }));
    }
    if ["add", "drop", "alter"]
        .iter()
        .any(|word| reader.peeks(&[word, "attribute"]))
    {
        let actions = reader.list(attribute_action)?;
        return Ok(statement(TypeStatement::AlterRecord { name, actions }));
    }
    renamed_or_moved(reader, name)
}

fn attribute_action(reader: &mut Reader<'_>) -> Result<AttributeAction, StatementError> {
    let action = match () {
        () if reader.accept(&["add", "attribute"]) => {
            let (name, ty) = field(reader)?;
            AttributeAction::Add { name, ty }
        }
        () if reader.accept(&["drop", "attribute"]) => {
            let if_exists = reader.if_exists();
            let name = reader.name()?;
            AttributeAction::Drop { name, if_exists }
        }
        () => {
            reader.expect(&["alter", "attribute"])?;
            let name = reader.name()?;
            reader.accept(&["set", "data"]);
            reader.expect(&["type"])?;
            let ty = field_type(reader)?;
            AttributeAction::Type { name, ty }
        }
    };
    reader.cascade();
    Ok(action)
}

fn field(reader: &mut Reader<'_>) -> Result<(Name, TypeName), StatementError> {
    Ok((reader.name()?, field_type(reader)?))
}

fn field_type(reader: &mut Reader<'_>) -> Result<TypeName, StatementError> {
    let position = reader.position();
    let ty = reader.data_type()?;
    type_name(&ty, position)
}

/// Reads RENAME TO and SET SCHEMA.
pub(super) fn renamed_or_moved(
    reader: &mut Reader<'_>,
    name: ObjectName,
) -> Result<Statement, StatementError> {
    let (kind, if_exists) = (Ownable::Type, false);
    if reader.accept(&["rename", "to"]) {
        let new = reader.name()?;
        return Ok(Statement::Rename {
            kind,
            name,
            if_exists,
            new,
        });
    }
    reader.expect(&["set", "schema"])?;
    let schema = reader.name()?;
    Ok(Statement::SetSchema {
        kind,
        name,
        if_exists,
        schema,
    })
}

/// Reads DROP TYPE and DROP DOMAIN.
pub(crate) fn drop_type(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["drop"])?;
    let domains = reader.accept(&["domain"]);
    if !domains {
        reader.expect(&["type"])?;
    }
    let if_exists = reader.if_exists();
    let names = reader.list(Reader::object_name)?;
    let cascade = reader.cascade();
    Ok(statement(TypeStatement::Drop {
        domains,
        names,
        if_exists,
        cascade,
    }))
}

fn label(reader: &mut Reader<'_>) -> Result<Name, StatementError> {
    let position = reader.position();
    let text = reader.string()?;
    Ok(Name { text, position })
}

pub(super) fn statement(statement: TypeStatement) -> Statement {
    Statement::Type(Box::new(statement))
}
