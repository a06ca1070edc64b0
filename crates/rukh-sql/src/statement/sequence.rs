//! CREATE SEQUENCE, and the options that identity columns share with it.
//!
//! ```text
//! CREATE SEQUENCE [IF NOT EXISTS] [schema.]s option …
//!
//! option:  AS type | INCREMENT [BY] n | MINVALUE n | NO MINVALUE | MAXVALUE n | NO MAXVALUE
//!          | START [WITH] n | CACHE n | [NO] CYCLE
//! ```

use datafusion::sql::sqlparser::tokenizer::Token;

use super::data_type::data_type;
use super::reader::Reader;
use super::{SequenceOptions, Statement};
use crate::SqlError;

/// Reads CREATE SEQUENCE.
pub(super) fn create_sequence(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    reader.expect(&["create", "sequence"])?;
    let if_not_exists = reader.if_not_exists();
    let name = reader.object_name()?;
    let mut options = SequenceOptions::default();
    while option(reader, &mut options)? {}
    Ok(Statement::CreateSequence {
        name,
        if_not_exists,
        options,
    })
}

/// Reads the options of an identity column, if there are some: in parentheses, without commas.
pub(super) fn identity_options(reader: &mut Reader<'_>) -> Result<SequenceOptions, SqlError> {
    let mut options = SequenceOptions::default();
    if reader.accept_token(&Token::LParen) {
        while option(reader, &mut options)? {}
        reader.expect_token(&Token::RParen)?;
    }
    Ok(options)
}

/// Reads one option; false if there is no more.
fn option(reader: &mut Reader<'_>, options: &mut SequenceOptions) -> Result<bool, SqlError> {
    if reader.accept(&["as"]) {
        let position = reader.position();
        let ty = reader.data_type()?;
        options.ty = Some(data_type(&ty).map_err(|error| error.at(position))?);
    } else if reader.accept(&["increment"]) {
        reader.accept(&["by"]);
        options.increment = Some(number(reader)?);
    } else if reader.accept(&["minvalue"]) {
        options.min = Some(number(reader)?);
    } else if reader.accept(&["maxvalue"]) {
        options.max = Some(number(reader)?);
    } else if reader.accept(&["start"]) {
        reader.accept(&["with"]);
        options.start = Some(number(reader)?);
    } else if reader.accept(&["cache"]) {
        let position = reader.position();
        let value = number(reader)?;
        let Ok(cache) = u32::try_from(value) else {
            let message = format!("CACHE ({value}) must be greater than zero and less than 2^32");
            return Err(SqlError::statement("22023", message).at(position));
        };
        options.cache = Some(cache);
    } else if reader.accept(&["cycle"]) {
        options.cycle = true;
    } else if reader.peeks(&["owned"]) {
        return Err(reader.unsupported("OWNED BY is not supported"));
    } else {
        let no = [&["no", "minvalue"][..], &["no", "maxvalue"], &["no", "cycle"]];
        return Ok(no.iter().any(|words| reader.accept(words)));
    }
    Ok(true)
}

/// Reads an integer with its sign.
fn number(reader: &mut Reader<'_>) -> Result<i64, SqlError> {
    let negative = reader.accept_token(&Token::Minus);
    if !negative {
        reader.accept_token(&Token::Plus);
    }
    let position = reader.position();
    let value = i128::from(reader.integer()?);
    let value = if negative { -value } else { value };
    i64::try_from(value).map_err(|_| {
        SqlError::statement(
            "22003",
            format!("value \"{value}\" is out of range for type bigint"),
        )
        .at(position)
    })
}
