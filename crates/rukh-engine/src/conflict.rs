//! ON CONFLICT DO NOTHING for UNIQUE indexes: which inserted rows would have a value that is taken.
//!
//! A value is taken by a stored row that this statement leaves alone, or by a row that the
//! statement writes.

use crate::EngineError;
use crate::Row;
use crate::maintain::{Entry, IndexMaintainer, KeyedRow, Maintainer};
use crate::pending::{Image, PendingTable};
use crate::snapshot::Snapshot;
use crate::write::OnConflict;
use std::collections::HashSet;

/// By index, keys of UNIQUE entries that pending rows will have.
pub(crate) type Claims = Vec<HashSet<Vec<u8>>>;

/// For a chunk of rows, the UNIQUE keys that each wants.
pub(crate) struct Taken {
    /// For each row, positions of indexes with the keys of its entries; `None` where one is taken.
    wanted: Vec<Option<Vec<(usize, Vec<u8>)>>>,
}

impl Taken {
    /// Says that nothing is to be checked.
    pub(crate) fn none() -> Self {
        Taken { wanted: Vec::new() }
    }

    /// Takes the keys that the `at`-th row wants; `false` if one of them is taken.
    pub(crate) fn claim(&self, at: usize, pending: &mut PendingTable) -> bool {
        let Some(wanted) = self.wanted.get(at) else {
            return true;
        };
        let (Some(wanted), Some(claims)) = (wanted, &mut pending.claims) else {
            return false;
        };
        if wanted.iter().any(|(index, key)| claims[*index].contains(key)) {
            return false;
        }
        for (index, key) in wanted {
            claims[*index].insert(key.clone());
        }
        true
    }
}

/// Finds what rows, given with their keys, want of UNIQUE indexes, and what stored rows have of it.
pub(crate) fn taken_values(
    snapshot: &Snapshot,
    pending: &mut PendingTable,
    keys: &[Vec<u8>],
    rows: &[Row],
    conflict: OnConflict,
) -> Result<Taken, EngineError> {
    if pending.claims.is_none() {
        pending.claims = Some(claims(pending)?);
    }
    let keyed: Vec<KeyedRow<'_>> = keys
        .iter()
        .zip(rows)
        .map(|(key, row)| KeyedRow { key, row })
        .collect();
    let mut wanted = vec![Some(Vec::new()); rows.len()];
    let ignored =
        unique_indexes(&pending.maintainer).filter(|(_, index)| conflict.ignores_index(index.codec.index.id));
    for (nth, index) in ignored {
        let entries = index.entries(&keyed)?;
        let exclusive = |entry: &Entry| index.is_exclusive(&entry.key);
        let entries = entries
            .into_iter()
            .enumerate()
            .filter_map(|(at, entry)| Some((at, entry?)));
        let (positions, keys): (Vec<usize>, Vec<Vec<u8>>) = entries
            .filter(|(_, entry)| exclusive(entry))
            .map(|(at, entry)| (at, entry.key))
            .unzip();
        let stored = snapshot.kv.multi_get(&index.codec.storage, &keys)?;
        for ((at, key), value) in positions.into_iter().zip(keys).zip(stored) {
            let taken = match value {
                Some(value) => is_kept(
                    pending,
                    &index.codec.owner(&pending.maintainer.codec, &key, &value)?,
                ),
                None => false,
            };
            match &mut wanted[at] {
                Some(keys) if !taken => keys.push((nth, key)),
                wanted => *wanted = None,
            }
        }
    }
    Ok(Taken { wanted })
}

/// Whether the statement leaves the stored row under this key alone.
fn is_kept(pending: &PendingTable, row_key: &[u8]) -> bool {
    match pending.rows.get(row_key) {
        Some(row) => matches!(row.image, Image::Untouched),
        None => true,
    }
}

fn claims(pending: &PendingTable) -> Result<Claims, EngineError> {
    let mut claims = vec![HashSet::new(); pending.maintainer.indexes.len()];
    let rows = pending.rows.iter().filter_map(|(key, row)| match &row.image {
        Image::Row(row) => Some(KeyedRow { key, row }),
        _ => None,
    });
    let rows: Vec<KeyedRow<'_>> = rows.collect();
    for (nth, index) in unique_indexes(&pending.maintainer) {
        let entries = index.entries(&rows)?.into_iter().flatten();
        claims[nth].extend(
            entries
                .map(|entry| entry.key)
                .filter(|key| index.is_exclusive(key)),
        );
    }
    Ok(claims)
}

fn unique_indexes(maintainer: &Maintainer) -> impl Iterator<Item = (usize, &IndexMaintainer)> {
    maintainer
        .indexes
        .iter()
        .enumerate()
        .filter(|(_, index)| index.codec.index.unique)
}
