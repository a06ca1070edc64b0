//! CREATE INDEX, and the elements that it shares with PRIMARY KEY.

use rukh_keys::SortOrder;
use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::definitions::data_type::accept_collation;
use crate::read::definitions::storage;
use crate::read::reader::Reader;
use crate::tree::{CreateIndexStatement, Expression, KeyElementDefinition, KeyExprDefinition, Statement};

/// Reads CREATE [UNIQUE] INDEX.
pub(crate) fn create_index(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create"])?;
    let unique = reader.accept(&["unique"]);
    reader.expect(&["index"])?;
    let concurrently = reader.accept(&["concurrently"]);
    let if_not_exists = reader.if_not_exists();
    let name = if reader.peeks(&["on"]) {
        None
    } else {
        Some(reader.name()?)
    };
    if if_not_exists && name.is_none() {
        return Err(reader.unexpected());
    }
    reader.expect(&["on"])?;
    reader.accept(&["only"]);
    let table = reader.object_name()?;
    let mut notices = Vec::new();
    let columnar = reader.accept(&["using"]) && is_columnar_index(reader, unique, &mut notices)?;
    // The order of a columnar index is that of the primary key by default.
    let elements = match columnar && *reader.peek_at(0) != Token::LParen {
        true => Vec::new(),
        false => reader.parenthesised(|reader| index_element(reader, &mut notices))?,
    };
    let include = if reader.accept(&["include"]) {
        reader.names()?
    } else {
        Vec::new()
    };
    let nulls_distinct = nulls_distinct(reader);
    options(reader, &mut notices)?;
    let predicate = predicate(reader)?;
    Ok(Statement::CreateIndex(Box::new(CreateIndexStatement {
        name,
        table,
        unique,
        concurrently,
        if_not_exists,
        elements,
        include,
        predicate,
        columnar,
        notices,
        nulls_distinct,
    })))
}

/// Reads an element of a primary key: a column or `HASH(column, n)`, ASC or DESC.
pub(crate) fn primary_key_element(reader: &mut Reader<'_>) -> Result<KeyElementDefinition, StatementError> {
    let position = reader.position();
    let expr = match is_hash(reader) {
        true => hash(reader)?,
        false => KeyExprDefinition::Column(reader.name()?),
    };
    if reader.peeks(&["row_timestamp"]) {
        return Err(reader.unsupported("ROW_TIMESTAMP is not supported"));
    }
    Ok(KeyElementDefinition {
        expr,
        order: sort_order(reader),
        position,
    })
}

fn index_element(
    reader: &mut Reader<'_>,
    notices: &mut Vec<String>,
) -> Result<KeyElementDefinition, StatementError> {
    let position = reader.position();
    let expr = if is_hash(reader) {
        hash(reader)?
    } else if reader.accept_token(&Token::LParen) {
        if reader.peeks(&["select"]) {
            return Err(StatementError::unsupported("cannot use subquery in index expression").at(position));
        }
        let expr = reader.expression()?;
        reader.expect_token(&Token::RParen)?;
        KeyExprDefinition::Expression(Box::new(expr))
    } else if *reader.peek_at(1) == Token::LParen {
        KeyExprDefinition::Expression(Box::new(reader.call()?))
    } else {
        KeyExprDefinition::Column(reader.name()?)
    };
    accept_collation(reader)?;
    operator_class(reader)?;
    let order = sort_order(reader);
    nulls(reader, order, notices)?;
    Ok(KeyElementDefinition {
        expr,
        order,
        position,
    })
}

/// Types that have an operator class of their name for keys.
const CLASSES: &[&str] = &[
    "bool",
    "bpchar",
    "bytea",
    "date",
    "float4",
    "float8",
    "int2",
    "int4",
    "int8",
    "numeric",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "uuid",
    "varchar",
];

/// Passes over an operator class. Each type has one order here, and text, ordered by its bytes, has that of `text_pattern_ops`.
fn operator_class(reader: &mut Reader<'_>) -> Result<(), StatementError> {
    let Token::Word(word) = reader.peek_at(0) else {
        return Ok(());
    };
    let name = word.value.to_ascii_lowercase();
    let Some(ty) = name.strip_suffix("_ops") else {
        return Ok(());
    };
    let is_known = match ty.strip_suffix("_pattern") {
        Some(ty) => ["bpchar", "text", "varchar"].contains(&ty),
        None => CLASSES.contains(&ty),
    };
    let position = reader.position();
    reader.take();
    match is_known {
        true => Ok(()),
        false => {
            let message = format!("operator class \"{name}\" does not exist for access method \"btree\"");
            Err(StatementError::statement("42704", message).at(position))
        }
    }
}

/// Whether `HASH(` is next; a column may be called `hash` too.
fn is_hash(reader: &Reader<'_>) -> bool {
    reader.peeks(&["hash"]) && *reader.peek_at(1) == Token::LParen
}

fn hash(reader: &mut Reader<'_>) -> Result<KeyExprDefinition, StatementError> {
    reader.take();
    reader.expect_token(&Token::LParen)?;
    let column = reader.name()?;
    reader.expect_token(&Token::Comma)?;
    let position = reader.position();
    let bytes = reader.integer()?;
    reader.expect_token(&Token::RParen)?;
    match bytes {
        4 | 8 | 16 => Ok(KeyExprDefinition::Hash {
            column,
            bytes: bytes as u8,
        }),
        _ => {
            let message = format!("HASH takes 4, 8 or 16 bytes, not {bytes}");
            Err(StatementError::statement("22023", message).at(position))
        }
    }
}

/// Reads `[ASC | DESC]`.
pub(crate) fn sort_order(reader: &mut Reader<'_>) -> SortOrder {
    if reader.accept(&["desc"]) {
        return SortOrder::Desc;
    }
    reader.accept(&["asc"]);
    SortOrder::Asc
}

/// Reads `[NULLS FIRST | NULLS LAST]`. NULLs have one place in a key: last in ASC, first in DESC.
fn nulls(reader: &mut Reader<'_>, order: SortOrder, notices: &mut Vec<String>) -> Result<(), StatementError> {
    let (natural, other) = match order {
        SortOrder::Asc => ("last", "first"),
        SortOrder::Desc => ("first", "last"),
    };
    if reader.accept(&["nulls", other]) {
        notices.push("NULLs come last in ASC and first in DESC in an index here".to_string());
    } else if !reader.accept(&["nulls", natural]) && reader.peeks(&["nulls"]) {
        return Err(reader.unexpected());
    }
    Ok(())
}

/// Reads the access method of an index: whether it is `columnar`. An ordered index does what those of PostgreSQL's methods `hash` and
/// `brin` do.
fn is_columnar_index(
    reader: &mut Reader<'_>,
    unique: bool,
    notices: &mut Vec<String>,
) -> Result<bool, StatementError> {
    for method in ["hash", "brin"] {
        let position = reader.position();
        if reader.accept(&[method]) {
            if unique {
                let message = format!("access method \"{method}\" does not support unique indexes");
                return Err(StatementError::unsupported(message).at(position));
            }
            notices.push(format!("access method \"{method}\" makes an ordered index here"));
            return Ok(false);
        }
    }
    is_columnar(reader, "btree")
}

/// Reads an access method: whether it is `columnar`, not that of rows.
pub(crate) fn is_columnar(reader: &mut Reader<'_>, rows: &str) -> Result<bool, StatementError> {
    if reader.accept(&[rows]) {
        return Ok(false);
    }
    if reader.accept(&["columnar"]) {
        return Ok(true);
    }
    let error = reader.position();
    let method = reader.any_word()?.text;
    Err(StatementError::unsupported(format!("access method \"{method}\" is not supported")).at(error))
}

/// Reads `[NULLS [NOT] DISTINCT]`: whether NULLs are distinct, as they are by default.
pub(crate) fn nulls_distinct(reader: &mut Reader<'_>) -> bool {
    !reader.accept(&["nulls", "not", "distinct"]) && {
        reader.accept(&["nulls", "distinct"]);
        true
    }
}

/// Passes over what is said of PostgreSQL's storage, and refuses other options.
fn options(reader: &mut Reader<'_>, notices: &mut Vec<String>) -> Result<(), StatementError> {
    if reader.accept(&["with"]) {
        match storage::parameters(reader)? {
            Some(read) => notices.extend(read),
            None => {
                reader.expect_token(&Token::LParen)?;
                return Err(storage::unknown_option(&reader.any_word()?));
            }
        }
    }
    if reader.peeks(&["tablespace"]) {
        storage::tablespace(reader)?;
    }
    if reader.peeks_any(&["async", "salt_buckets", "split"]) {
        let word = reader.any_word()?;
        let message = format!("{} of an index is not supported", word.text.to_ascii_uppercase());
        return Err(StatementError::unsupported(message).at(word.position));
    }
    Ok(())
}

fn predicate(reader: &mut Reader<'_>) -> Result<Option<Expression>, StatementError> {
    if !reader.accept(&["where"]) {
        return Ok(None);
    }
    let position = reader.position();
    Ok(Some(Expression {
        expr: reader.expression()?,
        position,
    }))
}
