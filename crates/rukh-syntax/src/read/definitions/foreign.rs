//! FOREIGN KEY constraints.
//!
//! ```text
//! FOREIGN KEY (column, …) REFERENCES [schema.]t [(column, …)] [MATCH {SIMPLE | FULL}]
//!     [ON DELETE action] [ON UPDATE action] [[NOT] DEFERRABLE] [INITIALLY {DEFERRED | IMMEDIATE}] [NOT VALID]
//!
//! action: NO ACTION | RESTRICT | CASCADE | SET NULL | SET DEFAULT
//! ```

use rukh_catalog::{ForeignAction, ForeignTiming};
use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::reader::Reader;
use crate::tree::{ForeignKeyDefinition, Name};

/// Reads the constraint of a table.
pub(crate) fn foreign_key(
    reader: &mut Reader<'_>,
    name: Option<Name>,
) -> Result<ForeignKeyDefinition, StatementError> {
    let position = reader.position();
    reader.expect(&["foreign", "key"])?;
    let columns = reader.names()?;
    let key = references(reader, name, columns)?;
    Ok(ForeignKeyDefinition { position, ..key })
}

/// Reads the constraint of these columns from REFERENCES on.
pub(crate) fn references(
    reader: &mut Reader<'_>,
    name: Option<Name>,
    columns: Vec<Name>,
) -> Result<ForeignKeyDefinition, StatementError> {
    let position = reader.position();
    reader.expect(&["references"])?;
    let referenced = reader.object_name()?;
    let referenced_columns = match *reader.peek_at(0) == Token::LParen {
        true => reader.names()?,
        false => Vec::new(),
    };
    let mut key = ForeignKeyDefinition {
        name,
        columns,
        referenced,
        referenced_columns,
        on_delete: ForeignAction::NoAction,
        on_update: ForeignAction::NoAction,
        match_full: false,
        timing: ForeignTiming::NotDeferrable,
        not_valid: false,
        position,
    };
    loop {
        if reader.accept(&["match"]) {
            if reader.peeks(&["partial"]) {
                return Err(reader.unsupported("MATCH PARTIAL not yet implemented"));
            }
            key.match_full = reader.accept(&["full"]);
            if !key.match_full {
                reader.expect(&["simple"])?;
            }
        } else if reader.accept(&["on", "delete"]) {
            key.on_delete = action(reader)?;
        } else if reader.accept(&["on", "update"]) {
            key.on_update = action(reader)?;
        } else if reader.accept(&["not", "valid"]) {
            key.not_valid = true;
        } else if let Some(timing) = timing(reader)? {
            key.timing = timing;
        } else {
            return Ok(key);
        }
    }
}

/// Reads when a constraint is checked; `None` where nothing says it.
pub(crate) fn timing(reader: &mut Reader<'_>) -> Result<Option<ForeignTiming>, StatementError> {
    let position = reader.position();
    let (mut deferrable, mut deferred) = (None, None);
    loop {
        if reader.accept(&["not", "deferrable"]) {
            deferrable = Some(false);
        } else if reader.accept(&["deferrable"]) {
            deferrable = Some(true);
        } else if reader.accept(&["initially", "deferred"]) {
            deferred = Some(true);
        } else if reader.accept(&["initially", "immediate"]) {
            deferred = Some(false);
        } else {
            break;
        }
    }
    match (deferrable, deferred) {
        (None, None) => Ok(None),
        (Some(false), Some(true)) => {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            Err(StatementError::syntax(message).at(position))
        }
        (_, Some(true)) => Ok(Some(ForeignTiming::Deferred)),
        (Some(true), _) => Ok(Some(ForeignTiming::Deferrable)),
        _ => Ok(Some(ForeignTiming::NotDeferrable)),
    }
}

fn action(reader: &mut Reader<'_>) -> Result<ForeignAction, StatementError> {
    let actions: [(&[&str], ForeignAction); 5] = [
        (&["no", "action"], ForeignAction::NoAction),
        (&["restrict"], ForeignAction::Restrict),
        (&["cascade"], ForeignAction::Cascade),
        (&["set", "null"], ForeignAction::SetNull),
        (&["set", "default"], ForeignAction::SetDefault),
    ];
    let found = actions.into_iter().find(|(words, _)| reader.accept(words));
    let Some((_, action)) = found else {
        return Err(reader.unexpected());
    };
    match *reader.peek_at(0) == Token::LParen {
        true => Err(reader.unsupported("ON DELETE SET of some columns only is not supported")),
        false => Ok(action),
    }
}
