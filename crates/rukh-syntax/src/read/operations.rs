//! Statements of operators: BACKUP, CHECK, COMPACT and the like.
//!
//! ```text
//! BACKUP DATABASE TO 'directory' [KEEP n]
//! CHECKPOINT [TO 'directory']
//! COMPACT [TABLE table]
//! VACUUM [FULL] [FREEZE] [VERBOSE] [ANALYZE] [table [(column, …)], …]
//! VACUUM [(option [value], …)] [table [(column, …)], …]
//! ```

use sqlparser::tokenizer::Token;

use super::reader::Reader;
use crate::StatementError;
use crate::tree::{Statement, VacuumStatement};

/// Reads BACKUP DATABASE.
pub(crate) fn backup(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["backup", "database", "to"])?;
    let directory = directory(reader)?;
    let keep = match reader.accept(&["keep"]) {
        true => Some(keep(reader)?),
        false => None,
    };
    Ok(Statement::Backup { directory, keep })
}

fn keep(reader: &mut Reader<'_>) -> Result<usize, StatementError> {
    let position = reader.position();
    match u32::try_from(reader.integer()?) {
        Ok(number) if number > 0 => Ok(number as usize),
        _ => Err(StatementError::statement("22023", "KEEP takes a number from 1 to 4294967295").at(position)),
    }
}

/// Reads CHECKPOINT.
pub(crate) fn checkpoint(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["checkpoint"])?;
    let directory = match reader.accept(&["to"]) {
        true => Some(directory(reader)?),
        false => None,
    };
    Ok(Statement::Checkpoint { directory })
}

/// Reads COMPACT.
pub(crate) fn compact(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["compact"])?;
    let table = match reader.accept(&["table"]) {
        true => Some(reader.object_name()?),
        false => None,
    };
    Ok(Statement::Compact { table })
}

/// Reads VACUUM.
pub(crate) fn vacuum(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["vacuum"])?;
    let mut vacuum = VacuumStatement {
        tables: Vec::new(),
        full: false,
        analyze: false,
    };
    if *reader.peek_at(0) == Token::LParen {
        reader.parenthesised(|reader| vacuum_option(reader, &mut vacuum))?;
    } else {
        vacuum.full = reader.accept(&["full"]);
        reader.accept(&["freeze"]);
        reader.accept(&["verbose"]);
        vacuum.analyze = reader.accept(&["analyze"]) || reader.accept(&["analyse"]);
    }
    if !matches!(reader.peek_at(0), Token::EOF | Token::SemiColon) {
        vacuum.tables = reader.list(|reader| {
            reader.accept(&["only"]);
            let name = reader.object_name()?;
            if *reader.peek_at(0) == Token::LParen {
                // Statistics are gathered of all columns at once.
                reader.names()?;
            }
            Ok(name)
        })?;
    }
    Ok(Statement::Vacuum(vacuum))
}

/// Reads an option of VACUUM; those that say how PostgreSQL's storage is tidied up say nothing here.
fn vacuum_option(reader: &mut Reader<'_>, vacuum: &mut VacuumStatement) -> Result<(), StatementError> {
    const OTHERS: &[&str] = &[
        "freeze",
        "verbose",
        "disable_page_skipping",
        "skip_locked",
        "index_cleanup",
        "process_main",
        "process_toast",
        "truncate",
        "parallel",
        "skip_database_stats",
        "only_database_stats",
        "buffer_usage_limit",
    ];
    let position = reader.position();
    let Token::Word(word) = reader.take().token else {
        return Err(StatementError::syntax("an option of VACUUM is a word").at(position));
    };
    let name = word.value.to_ascii_lowercase();
    let mut is_on = true;
    if !matches!(reader.peek_at(0), Token::Comma | Token::RParen) {
        is_on = !["off", "false", "0"].contains(&reader.take().token.to_string().to_lowercase().as_str());
    }
    match name.as_str() {
        "full" => vacuum.full = is_on,
        "analyze" | "analyse" => vacuum.analyze = is_on,
        other if OTHERS.contains(&other) => {}
        other => {
            return Err(
                StatementError::syntax(format!("unrecognized VACUUM option \"{other}\"")).at(position),
            );
        }
    }
    Ok(())
}

/// Reads the path of a directory.
pub(crate) fn directory(reader: &mut Reader<'_>) -> Result<String, StatementError> {
    let position = reader.position();
    match reader.string()? {
        empty if empty.is_empty() => {
            Err(StatementError::statement("22023", "a directory needs a name").at(position))
        }
        path => Ok(path),
    }
}
