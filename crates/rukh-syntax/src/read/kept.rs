//! What a session keeps by name: prepared statements and cursors.
//!
//! ```text
//! PREPARE name [(type, …)] AS statement
//! EXECUTE name [(expression, …)]
//! DEALLOCATE [PREPARE] {name | ALL}
//! DECLARE name [ASENSITIVE | INSENSITIVE] [NO SCROLL] CURSOR [{WITH | WITHOUT} HOLD] FOR query
//! {FETCH | MOVE} [NEXT | n | ALL | FORWARD [n | ALL] | ABSOLUTE n | RELATIVE n] [FROM | IN] name
//! CLOSE {name | ALL}
//! DISCARD {ALL | TEMP | TEMPORARY | PLANS | SEQUENCES}
//! ```

use sqlparser::ast;
use sqlparser::tokenizer::Token;

use super::definitions::data_type::type_name;
use super::reader::Reader;
use super::utility;
use crate::StatementError;
use crate::tree::{Discarded, Expression, FetchedRows, KeptStatement, Name, Statement, TypeName};

/// Whether the next statement is one of these.
pub(crate) fn is_next(reader: &Reader<'_>) -> bool {
    let verbs = [
        "prepare",
        "execute",
        "deallocate",
        "declare",
        "fetch",
        "move",
        "close",
        "discard",
    ];
    reader.peeks_any(&verbs)
}

/// Reads any of them.
pub(crate) fn kept(reader: &mut Reader<'_>) -> Result<KeptStatement, StatementError> {
    match reader.any_word()?.text.as_str() {
        "prepare" => prepare(reader),
        "execute" => execute(reader),
        "deallocate" => {
            reader.accept(&["prepare"]);
            one_or_all(reader).map(KeptStatement::Deallocate)
        }
        "declare" => declare(reader),
        "close" => one_or_all(reader).map(KeptStatement::Close),
        "discard" => match () {
            () if reader.accept(&["all"]) => Ok(KeptStatement::Discard(Discarded::All)),
            () if reader.accept(&["temp"]) || reader.accept(&["temporary"]) => {
                Ok(KeptStatement::Discard(Discarded::Temporary))
            }
            () if reader.accept(&["plans"]) => Ok(KeptStatement::Discard(Discarded::Plans)),
            () if reader.accept(&["sequences"]) => Ok(KeptStatement::Discard(Discarded::Sequences)),
            () => Err(reader.unexpected()),
        },
        verb => fetch(reader, verb == "move"),
    }
}

fn one_or_all(reader: &mut Reader<'_>) -> Result<Option<Name>, StatementError> {
    match reader.accept(&["all"]) {
        true => Ok(None),
        false => reader.name().map(Some),
    }
}

fn prepare(reader: &mut Reader<'_>) -> Result<KeptStatement, StatementError> {
    if reader.peeks(&["transaction"]) && matches!(reader.peek_at(1), Token::SingleQuotedString(_)) {
        return Err(reader.unsupported("PREPARE TRANSACTION is not supported"));
    }
    let name = reader.name()?;
    let mut written = Vec::new();
    if *reader.peek_at(0) == Token::LParen {
        written = reader.parenthesised(|reader| Ok((reader.position(), reader.data_type()?)))?;
    }
    let (mut types, mut casts) = (Vec::new(), Vec::new());
    for (number, (position, ty)) in (1..).zip(&written) {
        types.push(match ty {
            ast::DataType::Interval { .. } => {
                casts.push((number, "INTERVAL".to_string()));
                None
            }
            ast::DataType::Array(_) => {
                casts.push((number, ty.to_string()));
                None
            }
            other if other.to_string().eq_ignore_ascii_case("unknown") => None,
            other => match type_name(other, *position)? {
                TypeName::Known(ty) | TypeName::Declared(ty) => Some(ty),
                TypeName::Named { .. } => {
                    casts.push((number, other.to_string()));
                    None
                }
            },
        });
    }
    reader.expect(&["as"])?;
    let position = reader.position();
    let sql = reader.rest();
    match utility::statement(reader)? {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Writes(_) => Ok(KeptStatement::Prepare {
            name,
            types,
            casts,
            sql,
        }),
        _ => {
            let message = "PREPARE takes a query, INSERT, UPSERT, UPDATE, DELETE or MERGE";
            Err(StatementError::syntax(message).at(position))
        }
    }
}

fn execute(reader: &mut Reader<'_>) -> Result<KeptStatement, StatementError> {
    let name = reader.name()?;
    let mut arguments = Vec::new();
    if *reader.peek_at(0) == Token::LParen {
        arguments = reader.parenthesised(|reader| {
            let position = reader.position();
            let expr = reader.expression()?;
            Ok(Expression { expr, position })
        })?;
    }
    Ok(KeptStatement::Execute { name, arguments })
}

fn declare(reader: &mut Reader<'_>) -> Result<KeptStatement, StatementError> {
    let name = reader.name()?;
    let mut scrolls = false;
    loop {
        match () {
            () if reader.accept(&["asensitive"]) || reader.accept(&["insensitive"]) => {}
            () if reader.accept(&["no", "scroll"]) => {}
            () if reader.accept(&["scroll"]) => scrolls = true,
            () if reader.peeks(&["binary"]) => {
                return Err(reader.unsupported("cursors of binary values (BINARY) are not supported"));
            }
            () => break,
        }
    }
    reader.expect(&["cursor"])?;
    let holds = reader.accept(&["with", "hold"]);
    if !holds {
        reader.accept(&["without", "hold"]);
    }
    reader.expect(&["for"])?;
    let sql = reader.rest();
    match utility::statement(reader)? {
        Statement::Query(_) => Ok(KeptStatement::Declare {
            name,
            sql,
            statement: reader.whole(),
            scrolls,
            holds,
        }),
        _ => Err(StatementError::syntax("a cursor is declared for a query").at(name.position)),
    }
}

fn fetch(reader: &mut Reader<'_>, moves: bool) -> Result<KeptStatement, StatementError> {
    let rows = match () {
        () if reader.accept(&["next"]) => FetchedRows::Next(1),
        () if reader.accept(&["prior"]) => FetchedRows::Backward(1),
        () if reader.accept(&["first"]) => FetchedRows::Absolute(1),
        () if reader.accept(&["last"]) => FetchedRows::Absolute(-1),
        () if reader.accept(&["all"]) => FetchedRows::All,
        () if reader.accept(&["absolute"]) => FetchedRows::Absolute(number(reader)?),
        () if reader.accept(&["relative"]) => FetchedRows::Relative(number(reader)?),
        () if reader.accept(&["forward"]) => counted(reader)?,
        () if reader.accept(&["backward"]) => match counted(reader)? {
            FetchedRows::All => FetchedRows::BackwardAll,
            FetchedRows::Next(rows) => FetchedRows::Backward(rows),
            FetchedRows::Backward(rows) => FetchedRows::Next(rows),
            other => other,
        },
        () => counted(reader)?,
    };
    if !reader.accept(&["from"]) {
        reader.accept(&["in"]);
    }
    Ok(KeptStatement::Fetch {
        name: reader.name()?,
        rows,
        moves,
    })
}

/// Reads how many rows: one where nothing says so.
fn counted(reader: &mut Reader<'_>) -> Result<FetchedRows, StatementError> {
    match () {
        () if reader.accept(&["all"]) => Ok(FetchedRows::All),
        () if matches!(reader.peek_at(0), Token::Word(_)) => Ok(FetchedRows::Next(1)),
        () => Ok(match number(reader)? {
            rows if rows < 0 => FetchedRows::Backward(rows.unsigned_abs()),
            rows => FetchedRows::Next(rows.unsigned_abs()),
        }),
    }
}

/// Reads a number that may be negative.
fn number(reader: &mut Reader<'_>) -> Result<i64, StatementError> {
    let is_negative = reader.accept_token(&Token::Minus);
    if !is_negative {
        reader.accept_token(&Token::Plus);
    }
    let number = i64::try_from(reader.integer()?).unwrap_or(i64::MAX);
    Ok(if is_negative { -number } else { number })
}
