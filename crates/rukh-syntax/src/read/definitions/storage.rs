//! What definitions say of PostgreSQL's storage: the fill of its pages, vacuum, TOAST, tablespaces, statistics of columns. It has no
//! effect here. Dumps and migrations are full of it, so it is passed over, with a notice.

use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::reader::Reader;
use crate::tree::{AlterAction, Name};

/// Storage parameters of tables, indexes and columns, beside those that begin with `autovacuum_`.
const PARAMETERS: [&str; 14] = [
    "autosummarize",
    "buffering",
    "deduplicate_items",
    "fastupdate",
    "fillfactor",
    "log_autovacuum_min_duration",
    "n_distinct",
    "n_distinct_inherited",
    "pages_per_range",
    "parallel_workers",
    "toast_tuple_target",
    "user_catalog_table",
    "vacuum_index_cleanup",
    "vacuum_truncate",
];

/// The tablespace that everything is in.
const TABLESPACE: &str = "pg_default";

/// Returns the storage parameter that stands at a token, and how many tokens its name has: `toast.` may be before it.
fn named(reader: &Reader<'_>, at: usize) -> Option<(String, usize)> {
    let of_toast = reader.peeks_at(at, "toast") && *reader.peek_at(at + 1) == Token::Period;
    let Token::Word(word) = reader.peek_at(if of_toast { at + 2 } else { at }) else {
        return None;
    };
    let name = word.value.to_ascii_lowercase();
    let is_known = PARAMETERS.contains(&name.as_str()) || name.starts_with("autovacuum_");
    is_known.then(|| match of_toast {
        true => (format!("toast.{name}"), 3),
        false => (name, 1),
    })
}

/// Reads a storage parameter and its value, if one has been given; returns the notice.
pub(crate) fn parameter(reader: &mut Reader<'_>) -> Result<Option<String>, StatementError> {
    let Some((name, tokens)) = named(reader, 0) else {
        return Ok(None);
    };
    (0..tokens).for_each(|_| drop(reader.take()));
    if reader.accept_token(&Token::Eq) {
        if !reader.accept_token(&Token::Minus) {
            reader.accept_token(&Token::Plus);
        }
        match reader.peek_at(0) {
            Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_) => drop(reader.take()),
            _ => return Err(reader.unexpected()),
        }
    }
    Ok(Some(without_effect(&format!("storage parameter \"{name}\""))))
}

/// Reads `(parameter [= value], …)`, if that is next and begins with a storage parameter.
pub(crate) fn parameters(reader: &mut Reader<'_>) -> Result<Option<Vec<String>>, StatementError> {
    if *reader.peek_at(0) != Token::LParen || named(reader, 1).is_none() {
        return Ok(None);
    }
    let one = |reader: &mut Reader<'_>| match parameter(reader)? {
        Some(notice) => Ok(notice),
        None => Err(unknown_option(&reader.any_word()?)),
    };
    reader.parenthesised(one).map(Some)
}

/// Reads `TABLESPACE name`, which is that of everything.
pub(crate) fn tablespace(reader: &mut Reader<'_>) -> Result<(), StatementError> {
    reader.expect(&["tablespace"])?;
    let name = reader.name()?;
    match name.text == TABLESPACE {
        true => Ok(()),
        false => {
            let message = format!("tablespace \"{}\" does not exist", name.text);
            Err(StatementError::statement("42704", message).at(name.position))
        }
    }
}

/// Reads what ALTER TABLE says of storage, if that is next.
pub(crate) fn table_action(reader: &mut Reader<'_>) -> Result<Option<AlterAction>, StatementError> {
    let mut index = None;
    let notices = match () {
        () if reader.accept(&["cluster", "on"]) => {
            index = Some(reader.name()?);
            vec![without_effect("CLUSTER ON")]
        }
        () if reader.accept(&["replica", "identity", "using", "index"]) => {
            index = Some(reader.name()?);
            vec![without_effect("REPLICA IDENTITY")]
        }
        () if reader.accept(&["replica", "identity"]) => {
            if !["default", "full", "nothing"]
                .iter()
                .any(|kind| reader.accept(&[kind]))
            {
                return Err(reader.unexpected());
            }
            vec![without_effect("REPLICA IDENTITY")]
        }
        () if reader.accept(&["set", "without", "cluster"]) => vec![without_effect("SET WITHOUT CLUSTER")],
        () if reader.accept(&["set", "without", "oids"]) => Vec::new(),
        () if reader.accept(&["set", "logged"]) => vec![without_effect("SET LOGGED")],
        () if reader.accept(&["set", "unlogged"]) => vec![without_effect("SET UNLOGGED")],
        () if reader.peeks(&["set", "tablespace"]) => {
            reader.expect(&["set"])?;
            tablespace(reader)?;
            Vec::new()
        }
        () => return Ok(None),
    };
    Ok(Some(AlterAction::Storage {
        column: None,
        index,
        notices,
    }))
}

/// Reads what ALTER COLUMN says of storage, if that is next.
pub(crate) fn column_action(
    reader: &mut Reader<'_>,
    column: &Name,
) -> Result<Option<AlterAction>, StatementError> {
    let is_of_parameters = *reader.peek_at(1) == Token::LParen;
    let notices = match () {
        () if reader.accept(&["set", "statistics"]) => {
            reader.accept_token(&Token::Minus);
            reader.integer()?;
            vec![without_effect("SET STATISTICS")]
        }
        () if reader.accept(&["set", "storage"]) => {
            reader.any_word()?;
            vec![without_effect("SET STORAGE")]
        }
        () if reader.accept(&["set", "compression"]) => {
            reader.any_word()?;
            vec![without_effect("SET COMPRESSION")]
        }
        () if is_of_parameters && (reader.accept(&["set"]) || reader.accept(&["reset"])) => {
            parameters(reader)?.ok_or_else(|| reader.unexpected())?
        }
        () => return Ok(None),
    };
    Ok(Some(AlterAction::Storage {
        column: Some(column.clone()),
        index: None,
        notices,
    }))
}

/// Reads STORAGE and COMPRESSION of a column of CREATE TABLE, if one is next; returns the notice.
pub(crate) fn column_option(reader: &mut Reader<'_>) -> Result<Option<String>, StatementError> {
    for word in ["storage", "compression"] {
        if reader.accept(&[word]) {
            reader.any_word()?;
            return Ok(Some(without_effect(&format!(
                "{} of a column",
                word.to_ascii_uppercase()
            ))));
        }
    }
    Ok(None)
}

/// Makes the error for a parameter that nothing has.
pub(crate) fn unknown_option(name: &Name) -> StatementError {
    let message = format!("unrecognized parameter \"{}\"", name.text);
    StatementError::statement("22023", message).at(name.position)
}

fn without_effect(what: &str) -> String {
    format!("{what} has no effect")
}
