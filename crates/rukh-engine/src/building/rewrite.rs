//! Rewriting all rows of a table in the batch that stores a changed definition: for columns that are added with a value for each
//! row, generated ones and those that take numbers, and for columns that get another type: such a column is computed from the one that
//! it replaces, in a table *through* which the rows go, and which has both.
//!
//! Rows keep their keys, and columns that were there their values, so that entries of indexes that were there stay. The
//! batch is held in memory, as that of any statement is.
//!
//! Deliberately not here: rows that carry times or have a history. Rewriting them would record a change of each.

use crate::forms::entry::KeyedRow;
use crate::forms::maintain::{Maintainer, RowChange};
use crate::reading::rows::RowReader;
use crate::reading::snapshot::Snapshot;
use crate::state::shared::Inner;
use crate::writing::stage::stage;
use crate::{EngineError, SequenceState};
use rukh_catalog::{CatalogError, IndexId, Sequence, Table};
use rukh_keys::Datum;
use rukh_kv::WriteBatch;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// Puts the rows that `snapshot` shows into a batch, with numbers for the columns that own `sequences`, generated columns computed,
/// and entries of the indexes `added`. Returns the sequences with what they give next, and how many rows there are.
///
/// Fails on a row that breaks a rule of the table, on two rows with one key of a UNIQUE index, and on more bytes than a statement may hold.
pub(crate) fn rewrite(
    inner: &Inner,
    snapshot: &Snapshot,
    (maintainer, through): (&Maintainer, Option<&Maintainer>),
    added: &[IndexId],
    sequences: Vec<Sequence>,
    batch: &mut WriteBatch,
) -> Result<(Vec<(Sequence, SequenceState)>, u64), EngineError> {
    let codec = &maintainer.codec;
    let table = &codec.table;
    let limit_bytes = inner.statement_bytes_max.load(Ordering::Relaxed);
    let start = |sequence: Sequence| {
        let state = SequenceState::set(sequence.start);
        (sequence, state)
    };
    let mut sequences: Vec<(Sequence, SequenceState)> = sequences.into_iter().map(start).collect();
    let indexes = maintainer.indexes.iter();
    let indexes: Vec<_> = indexes
        .filter(|index| added.contains(&index.codec.index.id))
        .collect();
    let mut taken: Vec<HashSet<Vec<u8>>> = indexes.iter().map(|_| HashSet::new()).collect();
    let mut count = 0;
    let mut reader = RowReader::new(snapshot, through.unwrap_or(maintainer).codec.clone())?;
    while let Some(mut before) = reader.next()? {
        if table.options.timed || table.options.versions.is_some() {
            let message = format!(
                "a column with a value for each row cannot be added to table \"{}\", which has rows with TTL or VERSIONS",
                table.name
            );
            return Err(CatalogError::Unsupported { message }.into());
        }
        count += before.len() as u64;
        let mut after = before.rows.clone();
        if let Some(through) = through {
            through.rules.apply_to_stored(&through.codec, &mut after)?;
            before.rows = of_table(table, &through.codec.table, before.rows);
            after = of_table(table, &through.codec.table, after);
        }
        for row in &mut after {
            take_numbers(maintainer, &mut sequences, row)?;
        }
        maintainer.rules.apply_to_stored(codec, &mut after)?;
        let images = before.rows.iter().zip(&after);
        let changes = before.keys.iter().zip(images).map(|(key, (old, new))| RowChange {
            key,
            old: Some(old),
            new: Some(new),
            times: None,
            blind: false,
            is_there: false,
        });
        // No entry of an index that was there depends on columns that are new.
        stage(maintainer, &changes.collect::<Vec<_>>(), &[], batch)?;
        let keyed = before.keys.iter().zip(&after);
        let keyed: Vec<KeyedRow<'_>> = keyed.map(|(key, row)| KeyedRow::for_keys(key, row)).collect();
        for (index, taken) in indexes.iter().zip(&mut taken) {
            index.put_entries(table, &keyed, taken, batch)?;
        }
        if batch.bytes() as u64 > limit_bytes {
            return Err(EngineError::StatementTooLarge { limit_bytes });
        }
    }
    Ok((sequences, count))
}

/// Returns rows of another table with the columns of this one.
pub(crate) fn of_table(table: &Table, other: &Table, rows: Vec<Vec<Datum>>) -> Vec<Vec<Datum>> {
    let positions = table.columns.iter().map(|column| other.position(column.id));
    let positions: Vec<Option<usize>> = positions.collect();
    let row = |mut row: Vec<Datum>| {
        let taken = positions.iter().map(|at| match at {
            Some(at) => std::mem::replace(&mut row[*at], Datum::Null),
            None => Datum::Null,
        });
        taken.collect()
    };
    rows.into_iter().map(row).collect()
}

/// Puts the next numbers into the columns of a row that own the sequences.
fn take_numbers(
    maintainer: &Maintainer,
    sequences: &mut [(Sequence, SequenceState)],
    row: &mut [Datum],
) -> Result<(), EngineError> {
    let table = &maintainer.codec.table;
    for (sequence, state) in sequences {
        let owned = sequence.owner.and_then(|(_, column)| table.position(column));
        let at = owned.expect("a sequence that comes with a table belongs to a column of it");
        let number = state.next.ok_or_else(|| sequence_exhausted(sequence))?;
        row[at] = table.columns[at].ty.check(Datum::Int(number))?;
        *state = SequenceState::follows(sequence.after(number));
    }
    Ok(())
}

fn sequence_exhausted(sequence: &Sequence) -> EngineError {
    let increasing = sequence.increment > 0;
    EngineError::SequenceExhausted {
        sequence: sequence.name.clone(),
        increasing,
        limit: if increasing { sequence.max } else { sequence.min },
    }
}
