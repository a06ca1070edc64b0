//! CREATE SEQUENCE, ALTER SEQUENCE, and the options that identity columns share with it.
//!
//! ```text
//! CREATE [TEMP | TEMPORARY] SEQUENCE [IF NOT EXISTS] [schema.]s {option | OWNED BY {t.column | NONE}} …
//! ALTER SEQUENCE [IF EXISTS] [schema.]s {option | RESTART [[WITH] n] | OWNED BY {t.column | NONE}} …
//!
//! option:  AS type | INCREMENT [BY] n | MINVALUE n | NO MINVALUE | MAXVALUE n | NO MAXVALUE
//!          | START [WITH] n | CACHE n | [NO] CYCLE
//! ```

use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::definitions::create_table::{new_name, temporary};
use crate::read::definitions::data_type::data_type;
use crate::read::reader::Reader;
use crate::tree::{AlterSequenceStatement, ObjectName, OwnedBy, Restart, SequenceOptions, Statement};

/// Reads ALTER SEQUENCE, after the name.
pub(crate) fn alter_sequence(
    reader: &mut Reader<'_>,
    name: ObjectName,
    if_exists: bool,
) -> Result<Statement, StatementError> {
    let mut statement = AlterSequenceStatement::of(name, if_exists);
    let mut seen = Vec::new();
    while alter_option(reader, &mut statement, &mut seen)? {}
    match seen.is_empty() {
        true => Err(reader.unexpected()),
        false => Ok(Statement::AlterSequence(Box::new(statement))),
    }
}

/// What ALTER SEQUENCE changes, each once.
const OPTIONS: &[&str] = &[
    "as",
    "increment",
    "minvalue",
    "maxvalue",
    "start",
    "cache",
    "cycle",
    "restart",
    "owned",
];

/// Reads one option of ALTER SEQUENCE; false if there is no more. `seen` has those that were read.
pub(crate) fn alter_option(
    reader: &mut Reader<'_>,
    statement: &mut AlterSequenceStatement,
    seen: &mut Vec<&'static str>,
) -> Result<bool, StatementError> {
    let is_next = |option: &&&str| reader.peeks(&[option]) || reader.peeks(&["no", option]);
    if let Some(option) = OPTIONS.iter().find(is_next) {
        if seen.contains(option) {
            return Err(conflicting_options(reader.position()));
        }
        seen.push(option);
    }
    match () {
        () if reader.accept(&["no", "minvalue"]) => statement.no_min = true,
        () if reader.accept(&["no", "maxvalue"]) => statement.no_max = true,
        () if reader.accept(&["no", "cycle"]) => statement.no_cycle = true,
        () if reader.accept(&["restart"]) => {
            let with = reader.accept(&["with"]);
            let is_number = matches!(reader.peek_at(0), Token::Number(..) | Token::Minus | Token::Plus);
            statement.restart = Some(match with || is_number {
                true => Restart::With(number(reader)?),
                false => Restart::Start,
            });
        }
        () if reader.accept(&["owned", "by"]) => statement.owned_by = Some(owned_by(reader)?),
        () => return option(reader, &mut statement.options),
    }
    Ok(true)
}

/// Makes the error for an option that is given twice.
pub(crate) fn conflicting_options(position: usize) -> StatementError {
    StatementError::syntax("conflicting or redundant options").at(position)
}

fn owned_by(reader: &mut Reader<'_>) -> Result<OwnedBy, StatementError> {
    if reader.accept(&["none"]) {
        return Ok(OwnedBy::None);
    }
    let (table, column) = reader.column_of_table()?;
    Ok(OwnedBy::Column { table, column })
}

/// Reads CREATE SEQUENCE.
pub(crate) fn create_sequence(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create"])?;
    let is_temporary = temporary(reader);
    reader.expect(&["sequence"])?;
    let if_not_exists = reader.if_not_exists();
    let name = new_name(reader, is_temporary)?;
    let mut options = SequenceOptions::default();
    let mut owner = None;
    loop {
        match () {
            () if reader.accept(&["owned", "by"]) => owner = Some(owned_by(reader)?),
            () if option(reader, &mut options)? => {}
            () => break,
        }
    }
    Ok(Statement::CreateSequence {
        name,
        if_not_exists,
        options,
        owned_by: owner,
    })
}

/// Reads the options of an identity column, if there are some, and the name of its sequence: in parentheses, without commas.
pub(crate) fn identity_options(
    reader: &mut Reader<'_>,
) -> Result<(SequenceOptions, Option<ObjectName>), StatementError> {
    let (mut options, mut name) = (SequenceOptions::default(), None);
    if reader.accept_token(&Token::LParen) {
        loop {
            let position = reader.position();
            if reader.accept(&["sequence", "name"]) {
                if name.replace(reader.object_name()?).is_some() {
                    return Err(conflicting_options(position));
                }
            } else if !option(reader, &mut options)? {
                break;
            }
        }
        reader.expect_token(&Token::RParen)?;
    }
    Ok((options, name))
}

/// Reads one option; false if there is no more.
fn option(reader: &mut Reader<'_>, options: &mut SequenceOptions) -> Result<bool, StatementError> {
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
            return Err(StatementError::statement("22023", message).at(position));
        };
        options.cache = Some(cache);
    } else if reader.accept(&["cycle"]) {
        options.cycle = true;
    } else {
        let no = [&["no", "minvalue"][..], &["no", "maxvalue"], &["no", "cycle"]];
        return Ok(no.iter().any(|words| reader.accept(words)));
    }
    Ok(true)
}

/// Reads an integer with its sign.
fn number(reader: &mut Reader<'_>) -> Result<i64, StatementError> {
    let negative = reader.accept_token(&Token::Minus);
    if !negative {
        reader.accept_token(&Token::Plus);
    }
    let position = reader.position();
    let value = i128::from(reader.integer()?);
    let value = if negative { -value } else { value };
    i64::try_from(value).map_err(|_| {
        StatementError::statement(
            "22003",
            format!("value \"{value}\" is out of range for type bigint"),
        )
        .at(position)
    })
}
