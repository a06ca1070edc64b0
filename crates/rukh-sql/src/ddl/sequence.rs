//! CREATE SEQUENCE and DROP SEQUENCE, and the sequences of identity and SERIAL columns.

use rukh_catalog::{Catalog, Sequence, SequenceId};
use rukh_keys::DataType;

use super::run::{is_taken, schema_of};
use crate::SqlError;
use crate::context::Notice;
use crate::sequences::sequence_of_default;
use crate::session::Session;
use crate::statement::{ObjectName, SequenceOptions, parse_object_name};

/// Runs CREATE SEQUENCE.
pub(super) fn create_sequence(
    session: &mut Session,
    name: &ObjectName,
    if_not_exists: bool,
    options: &SequenceOptions,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    if is_taken(session, &catalog, name, if_not_exists)? {
        return Ok(());
    }
    let ty = options.ty.unwrap_or(DataType::BigInt);
    let sequence = sequence(schema_of(name)?, &name.name, ty, options)?;
    let created = session.engine().create_sequence(sequence);
    created.map_err(|error| SqlError::from(error).at(name.position))
}

/// Makes the definition of a sequence that has no id yet.
pub(super) fn sequence(
    schema: &str,
    name: &str,
    ty: DataType,
    options: &SequenceOptions,
) -> Result<Sequence, SqlError> {
    let (lowest, highest) = match ty {
        DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DataType::BigInt => (i64::MIN, i64::MAX),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            return Err(SqlError::statement("22023", message));
        }
    };
    let increment = options.increment.unwrap_or(1);
    let (min, max) = match increment < 0 {
        true => (lowest, -1),
        false => (1, highest),
    };
    let (min, max) = (options.min.unwrap_or(min), options.max.unwrap_or(max));
    for (what, value) in [("MINVALUE", min), ("MAXVALUE", max)] {
        if !(lowest..=highest).contains(&value) {
            let message = format!(
                "{what} ({value}) is out of range for sequence data type {}",
                ty.postgres_name()
            );
            return Err(SqlError::statement("22023", message));
        }
    }
    let sequence = Sequence {
        id: SequenceId(0),
        schema: schema.to_string(),
        name: name.to_string(),
        ty,
        start: options.start.unwrap_or(if increment < 0 { max } else { min }),
        increment,
        min,
        max,
        cache: options.cache.unwrap_or(1),
        cycle: options.cycle,
        owner: None,
    };
    Ok(sequence.checked()?)
}

/// Runs DROP SEQUENCE.
pub(super) fn drop_sequences(
    session: &mut Session,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let mut sequences: Vec<&Sequence> = Vec::new();
    for name in names {
        let schema = name.schema.as_deref().unwrap_or("public");
        match catalog.sequence_named(schema, &name.name) {
            Some(sequence) => {
                check_unused(&catalog, sequence).map_err(|error| error.at(name.position))?;
                if !sequences.iter().any(|known| known.id == sequence.id) {
                    sequences.push(sequence);
                }
            }
            None if catalog.check_name_free(schema, &name.name).is_err() => {
                let message = format!("\"{}\" is not a sequence", name.name);
                return Err(SqlError::statement("42809", message).at(name.position));
            }
            None if if_exists => {
                let message = format!("sequence \"{}\" does not exist, skipping", name.name);
                session.notice(Notice::new(message));
            }
            None => {
                let message = format!("sequence \"{}\" does not exist", name.name);
                return Err(SqlError::statement("42P01", message).at(name.position));
            }
        }
    }
    for sequence in sequences {
        session.engine().drop_sequence(sequence.id)?;
    }
    Ok(())
}

/// Fails if a default takes its values from a sequence.
fn check_unused(catalog: &Catalog, sequence: &Sequence) -> Result<(), SqlError> {
    let is_this = |sql: &String| {
        let name = sequence_of_default(sql).and_then(|name| parse_object_name(&name).ok());
        name.is_some_and(|name| {
            name.name == sequence.name && name.schema.as_deref().unwrap_or("public") == sequence.schema
        })
    };
    for table in catalog.tables() {
        let user = table
            .columns
            .iter()
            .find(|column| column.default.as_ref().is_some_and(is_this));
        let Some(column) = user else { continue };
        let message = match column.values.identity {
            Some(_) => format!(
                "cannot drop sequence {} because column {} of table {} requires it",
                sequence.name, column.name, table.name
            ),
            None => format!(
                "cannot drop sequence {} because other objects depend on it",
                sequence.name
            ),
        };
        let detail = format!(
            "default value for column {} of table {} depends on sequence {}",
            column.name, table.name, sequence.name
        );
        return Err(SqlError::statement("2BP01", message).with_detail(detail));
    }
    Ok(())
}
