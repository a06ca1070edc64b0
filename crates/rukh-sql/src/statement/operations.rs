//! Statements of people who run a database.
//!
//! ```text
//! BACKUP DATABASE TO 'directory' [KEEP n]
//! CHECKPOINT [TO 'directory']
//! COMPACT [TABLE table]
//! ```

use super::Statement;
use super::reader::Reader;
use crate::SqlError;

/// Reads BACKUP DATABASE.
pub(super) fn backup(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    reader.expect(&["backup", "database", "to"])?;
    let directory = directory(reader)?;
    let keep = match reader.accept(&["keep"]) {
        true => Some(keep(reader)?),
        false => None,
    };
    Ok(Statement::Backup { directory, keep })
}

fn keep(reader: &mut Reader<'_>) -> Result<usize, SqlError> {
    let position = reader.position();
    match u32::try_from(reader.integer()?) {
        Ok(number) if number > 0 => Ok(number as usize),
        _ => Err(SqlError::statement("22023", "KEEP takes a number from 1 to 4294967295").at(position)),
    }
}

/// Reads CHECKPOINT.
pub(super) fn checkpoint(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    reader.expect(&["checkpoint"])?;
    let directory = match reader.accept(&["to"]) {
        true => Some(directory(reader)?),
        false => None,
    };
    Ok(Statement::Checkpoint { directory })
}

/// Reads COMPACT.
pub(super) fn compact(reader: &mut Reader<'_>) -> Result<Statement, SqlError> {
    reader.expect(&["compact"])?;
    let table = match reader.accept(&["table"]) {
        true => Some(reader.object_name()?),
        false => None,
    };
    Ok(Statement::Compact { table })
}

/// Reads the path of a directory.
pub(super) fn directory(reader: &mut Reader<'_>) -> Result<String, SqlError> {
    let position = reader.position();
    match reader.string()? {
        empty if empty.is_empty() => {
            Err(SqlError::statement("22023", "a directory needs a name").at(position))
        }
        path => Ok(path),
    }
}
