//! Statements that begin, end and divide transactions, and say how they run.

use sqlparser::tokenizer::Token;

use super::reader::Reader;
use crate::StatementError;
use crate::tree::{Isolation, TransactionModes, TransactionStatement};

/// Reads BEGIN, START TRANSACTION, COMMIT, END, ROLLBACK, ABORT, SAVEPOINT or RELEASE.
pub(crate) fn transaction(reader: &mut Reader<'_>) -> Result<TransactionStatement, StatementError> {
    let verb = reader.any_word()?.text.to_ascii_lowercase();
    match verb.as_str() {
        "begin" => {
            skip_noise(reader);
            let modes = optional_modes(reader)?;
            Ok(TransactionStatement::Begin { start: false, modes })
        }
        "start" => {
            reader.expect(&["transaction"])?;
            let modes = optional_modes(reader)?;
            Ok(TransactionStatement::Begin { start: true, modes })
        }
        "savepoint" => reader.name().map(TransactionStatement::Savepoint),
        "release" => {
            reader.accept(&["savepoint"]);
            reader.name().map(TransactionStatement::Release)
        }
        "commit" | "end" => {
            refuse_prepared(reader)?;
            skip_noise(reader);
            let chain = chain(reader)?;
            Ok(TransactionStatement::Commit { chain })
        }
        _ => {
            refuse_prepared(reader)?;
            skip_noise(reader);
            if verb == "rollback" && reader.accept(&["to"]) {
                reader.accept(&["savepoint"]);
                return reader.name().map(TransactionStatement::RollbackTo);
            }
            let chain = chain(reader)?;
            Ok(TransactionStatement::Rollback { chain })
        }
    }
}

/// Reads what follows SET TRANSACTION.
pub(crate) fn set_transaction(reader: &mut Reader<'_>) -> Result<TransactionStatement, StatementError> {
    reader.expect(&["transaction"])?;
    if reader.peeks(&["snapshot"]) {
        return Err(reader.unsupported("SET TRANSACTION SNAPSHOT is not supported"));
    }
    modes(reader).map(TransactionStatement::SetTransaction)
}

/// Reads what follows SET CONSTRAINTS.
pub(crate) fn set_constraints(reader: &mut Reader<'_>) -> Result<TransactionStatement, StatementError> {
    let names = match reader.accept(&["all"]) {
        true => Vec::new(),
        false => reader.list(Reader::object_name)?,
    };
    let deferred = reader.accept(&["deferred"]);
    if !deferred {
        reader.expect(&["immediate"])?;
    }
    Ok(TransactionStatement::SetConstraints { names, deferred })
}

/// Reads what follows SET SESSION CHARACTERISTICS.
pub(crate) fn set_characteristics(reader: &mut Reader<'_>) -> Result<TransactionStatement, StatementError> {
    reader.expect(&["characteristics", "as", "transaction"])?;
    modes(reader).map(TransactionStatement::SetCharacteristics)
}

/// Makes the error for SERIALIZABLE.
pub fn serializable() -> StatementError {
    StatementError::unsupported("isolation level SERIALIZABLE is not supported")
        .with_hint("Transactions run as REPEATABLE READ: snapshots, which allow write skew and nothing else.")
}

fn skip_noise(reader: &mut Reader<'_>) {
    let _ = reader.accept(&["work"]) || reader.accept(&["transaction"]);
}

fn refuse_prepared(reader: &Reader<'_>) -> Result<(), StatementError> {
    match reader.peeks(&["prepared"]) {
        true => Err(reader.unsupported("prepared transactions are not supported")),
        false => Ok(()),
    }
}

/// Reads `[AND [NO] CHAIN]`.
fn chain(reader: &mut Reader<'_>) -> Result<bool, StatementError> {
    if !reader.accept(&["and"]) {
        return Ok(false);
    }
    let chain = !reader.accept(&["no"]);
    reader.expect(&["chain"])?;
    Ok(chain)
}

fn optional_modes(reader: &mut Reader<'_>) -> Result<TransactionModes, StatementError> {
    match ends(reader) {
        true => Ok(TransactionModes::default()),
        false => modes(reader),
    }
}

/// Reads modes with commas or blanks between them; of modes that exclude each other the last holds.
fn modes(reader: &mut Reader<'_>) -> Result<TransactionModes, StatementError> {
    let mut modes = TransactionModes::default();
    loop {
        mode(reader, &mut modes)?;
        if !reader.accept_token(&Token::Comma) && ends(reader) {
            return Ok(modes);
        }
    }
}

fn mode(reader: &mut Reader<'_>, modes: &mut TransactionModes) -> Result<(), StatementError> {
    if reader.accept(&["isolation", "level"]) {
        let levels = [
            (&["repeatable", "read"][..], Isolation::RepeatableRead),
            (&["read", "committed"], Isolation::ReadCommitted),
            (&["read", "uncommitted"], Isolation::ReadCommitted),
        ];
        if reader.peeks(&["serializable"]) {
            return Err(serializable().at(reader.position()));
        }
        let named = levels.iter().find(|(words, _)| reader.accept(words));
        modes.isolation = named.map(|(_, level)| *level);
        return match modes.isolation {
            Some(_) => Ok(()),
            None => Err(reader.unexpected()),
        };
    }
    if reader.accept(&["read", "only"]) {
        modes.read_only = Some(true);
    } else if reader.accept(&["read", "write"]) {
        modes.read_only = Some(false);
    } else if !reader.accept(&["deferrable"]) && !reader.accept(&["not", "deferrable"]) {
        // DEFERRABLE is about waiting for a snapshot that SERIALIZABLE can keep.
        return Err(reader.unexpected());
    }
    Ok(())
}

/// Whether nothing more of the statement follows.
fn ends(reader: &Reader<'_>) -> bool {
    matches!(reader.peek_at(0), Token::EOF | Token::SemiColon)
}
