//! ALTER SEQUENCE: increment and bounds, RESTART, OWNED BY.

use rukh_catalog::{Catalog, CatalogError, ColumnId, PUBLIC, Sequence, Table, TableId};
use rukh_engine::{AlteredSequence, SequenceState};
use rukh_syntax::{AlterSequenceStatement, OwnedBy, Restart};

use crate::pg::sequence_values::{given_last, is_fresh};
use crate::sql::ddl::names::skipped;
use crate::sql::ddl::sequence::bounds_of;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs ALTER SEQUENCE with options; `table` returns a table that changes at the same time.
pub(in crate::sql::ddl) fn alter_sequence(
    session: &mut Session,
    statement: &AlterSequenceStatement,
    table: impl FnOnce(&Catalog) -> Result<Option<Table>, SqlError>,
) -> Result<(), SqlError> {
    let name = &statement.name;
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    let engine = session.engine().clone();
    let catalog = engine.catalog();
    let Some(sequence) = catalog.sequence_named(schema, &name.name) else {
        return match catalog.check_name_free(schema, &name.name) {
            Err(_) => {
                let message = format!("\"{}\" is not a sequence", name.name);
                Err(SqlError::statement("42809", message).at(name.position))
            }
            Ok(()) if statement.if_exists => skipped(session, name),
            Ok(()) => Err(name.undefined().into()),
        };
    };
    let id = sequence.id;
    engine.alter_sequence(id, |catalog, sequence, state| {
        let changed = changed(catalog, sequence, state, statement);
        let (sequence, state) = changed.map_err(|error| error.at(name.position))?;
        Ok::<_, SqlError>(AlteredSequence {
            sequence,
            state,
            table: table(catalog)?,
        })
    })?;
    session.sequences.forget_block(id);
    Ok(())
}

/// Returns the definition after the statement, and where the sequence stands then.
fn changed(
    catalog: &Catalog,
    before: &Sequence,
    state: SequenceState,
    statement: &AlterSequenceStatement,
) -> Result<(Sequence, SequenceState), SqlError> {
    let options = &statement.options;
    let mut sequence = before.clone();
    sequence.ty = options.ty.unwrap_or(before.ty);
    sequence.increment = options.increment.unwrap_or(before.increment);
    sequence.cache = options.cache.unwrap_or(before.cache);
    sequence.cycle = (before.cycle || options.cycle) && !statement.no_cycle;
    sequence.start = options.start.unwrap_or(before.start);
    let (lowest, highest) = bounds_of(sequence.ty)?;
    let (old_lowest, old_highest) = bounds_of(before.ty)?;
    let is_down = sequence.increment < 0;
    let (default_min, default_max) = if is_down { (lowest, -1) } else { (1, highest) };
    // A bound that was that of the type becomes that of the new type.
    let kept = |bound: i64, of_old: i64, default: i64| match options.ty {
        Some(_) if bound == of_old => default,
        _ => bound,
    };
    sequence.min = match (options.min, statement.no_min) {
        (Some(min), _) => min,
        (None, true) => default_min,
        (None, false) => kept(before.min, old_lowest, lowest),
    };
    sequence.max = match (options.max, statement.no_max) {
        (Some(max), _) => max,
        (None, true) => default_max,
        (None, false) => kept(before.max, old_highest, highest),
    };
    for (what, value) in [("MINVALUE", sequence.min), ("MAXVALUE", sequence.max)] {
        if !(lowest..=highest).contains(&value) {
            let ty = sequence.ty.postgres_name();
            let message = format!("{what} ({value}) is out of range for sequence data type {ty}");
            return Err(SqlError::statement("22023", message));
        }
    }
    if let Some(owned) = &statement.owned_by {
        sequence.owner = owner(catalog, before, owned)?;
    }
    let sequence = sequence
        .checked()
        .map_err(|error: CatalogError| SqlError::from(error))?;
    let (last, _) = given_last(before, state);
    let state = match statement.restart {
        Some(Restart::With(value)) => SequenceState::set(value),
        Some(Restart::Start) => SequenceState::set(sequence.start),
        None if is_fresh(before, state) => SequenceState {
            is_set: true,
            ..state
        },
        // The number after the last one that was given; where nothing was left there may be one now, by
        // CYCLE or another bound.
        None => SequenceState::follows(sequence.after(last)),
    };
    let value = match statement.restart {
        Some(_) => state.next.unwrap_or(last),
        None => last,
    };
    let wrong = match () {
        () if value < sequence.min => Some(("less than MINVALUE", sequence.min)),
        () if value > sequence.max => Some(("greater than MAXVALUE", sequence.max)),
        () => None,
    };
    match wrong {
        Some((what, bound)) => {
            let message = format!("RESTART value ({value}) cannot be {what} ({bound})");
            Err(SqlError::statement("22023", message))
        }
        None => Ok((sequence, state)),
    }
}

/// Returns the column that OWNED BY names.
pub(in crate::sql::ddl) fn owner(
    catalog: &Catalog,
    sequence: &Sequence,
    owned: &OwnedBy,
) -> Result<Option<(TableId, ColumnId)>, SqlError> {
    if let Some((table, column)) = sequence.owner
        && let Some(table) = catalog.table(table)
        && table
            .column(column)
            .is_some_and(|column| column.values.identity.is_some())
    {
        let detail = format!(
            "Sequence \"{}\" is linked to table \"{}\".",
            sequence.name, table.name
        );
        let message = "cannot change ownership of identity sequence";
        return Err(SqlError::unsupported(message).with_detail(detail));
    }
    let OwnedBy::Column { table, column } = owned else {
        return Ok(None);
    };
    let schema = table.schema.as_deref().unwrap_or(PUBLIC);
    let found = catalog
        .table_named(schema, &table.name)
        .map_err(|_| table.undefined())?;
    if found.schema != sequence.schema {
        let message = "sequence must be in same schema as table it is linked to";
        return Err(SqlError::statement("55000", message));
    }
    match found.column_named(&column.text) {
        Some(known) => Ok(Some((found.id, known.id))),
        None => {
            let message = format!(
                "column \"{}\" of relation \"{}\" does not exist",
                column.text, table.name
            );
            Err(SqlError::statement("42703", message).at(column.position))
        }
    }
}
