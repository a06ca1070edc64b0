//! CREATE SEQUENCE, and the sequences of identity and SERIAL columns.

use rukh_catalog::{Sequence, SequenceId};
use rukh_keys::DataType;
use rukh_syntax::{ObjectName, OwnedBy, SequenceOptions};

use super::alter::sequence::owner;
use super::names::{is_taken, schema_of};
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs CREATE SEQUENCE.
pub(super) fn create_sequence(
    session: &mut Session,
    name: &ObjectName,
    if_not_exists: bool,
    options: &SequenceOptions,
    owned_by: Option<&OwnedBy>,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    if is_taken(session, &catalog, name, if_not_exists)? {
        return Ok(());
    }
    let ty = options.ty.unwrap_or(DataType::BigInt);
    let mut sequence = sequence(schema_of(&catalog, name)?, &name.name, ty, options)?;
    if let Some(owned) = owned_by {
        sequence.owner = owner(&catalog, &sequence, owned)?;
    }
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
    let (lowest, highest) = bounds_of(ty)?;
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
        comment: None,
    };
    Ok(sequence.checked()?)
}

/// Returns the least and the greatest number of a sequence's type.
pub(super) fn bounds_of(ty: DataType) -> Result<(i64, i64), SqlError> {
    match ty {
        DataType::SmallInt => Ok((i64::from(i16::MIN), i64::from(i16::MAX))),
        DataType::Integer => Ok((i64::from(i32::MIN), i64::from(i32::MAX))),
        DataType::BigInt => Ok((i64::MIN, i64::MAX)),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            Err(SqlError::statement("22023", message))
        }
    }
}
