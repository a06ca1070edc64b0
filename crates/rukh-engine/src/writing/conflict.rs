//! ON CONFLICT: which rows to be inserted would have a key, or a value of a UNIQUE index, that is taken.
//!
//! A value is taken by a stored row that this statement leaves alone, or by a row that the statement
//! writes. DO NOTHING only asks whether ([`taken_values`]), DO UPDATE also by which row ([`obstacles`]).

use crate::forms::entry::KeyedRow;
use crate::forms::maintain::{Entry, IndexMaintainer, Maintainer};
use crate::reading::snapshot::Snapshot;
use crate::writing::existing::{check_collision, read_rows};
use crate::writing::pending::{Claims, Image, OnConflict, PendingTable, Stored};
use crate::{EngineError, Row};
use std::collections::HashSet;

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
        .map(|(key, row)| KeyedRow::for_keys(key, row))
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

/// What stands in the way of a row that is to be inserted.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// Nothing.
    Free,
    /// A row that is stored, and that the statement has not written.
    Stored(Row),
    /// A row that the statement has written, as it is now; only for primary keys.
    Written(Row),
    /// A row that the statement has written, or an earlier one of those given that is free itself.
    Earlier,
}

/// Finds what stands in the way of rows, given with their keys, by the key or index that `conflict` names.
pub(crate) fn obstacles(
    snapshot: &Snapshot,
    pending: &mut PendingTable,
    keys: &[Vec<u8>],
    rows: &[Row],
    conflict: OnConflict,
) -> Result<Vec<Obstacle>, EngineError> {
    match conflict {
        OnConflict::IgnoreIndex(_) => index_obstacles(snapshot, pending, keys, rows, conflict),
        _ => key_obstacles(snapshot, pending, keys, rows),
    }
}

fn key_obstacles(
    snapshot: &Snapshot,
    pending: &PendingTable,
    keys: &[Vec<u8>],
    rows: &[Row],
) -> Result<Vec<Obstacle>, EngineError> {
    let codec = &pending.maintainer.codec;
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let mut found = Vec::with_capacity(rows.len());
    for ((key, row), stored) in keys.iter().zip(rows).zip(read_rows(snapshot, pending, keys)?) {
        let known = pending.rows.get(key);
        let arrival = known.and_then(|known| known.arrival.clone());
        let image = known.map(|known| (&known.image, &known.stored));
        let obstacle = match (arrival, image, stored) {
            (Some(row), _, _) => Obstacle::Written(row),
            (_, Some((Image::Row(row), _)), _) => Obstacle::Written(row.clone()),
            (_, Some((Image::Gone, _)), _) => Obstacle::Free,
            (_, Some((Image::Untouched, Stored::Present(row))), _) => Obstacle::Stored(row.clone()),
            (_, Some((Image::Untouched, Stored::Absent)), _) => Obstacle::Free,
            (_, Some(_), _) => match snapshot.get_encoded(codec, key)? {
                Some(row) => Obstacle::Stored(row),
                None => Obstacle::Free,
            },
            (_, None, Stored::Present(row)) => Obstacle::Stored(row),
            (_, None, _) => Obstacle::Free,
        };
        if let Obstacle::Stored(other) | Obstacle::Written(other) = &obstacle {
            check_collision(codec, key, other, row)?;
        }
        found.push(match obstacle {
            Obstacle::Free if !seen.insert(key) => Obstacle::Earlier,
            obstacle => obstacle,
        });
    }
    Ok(found)
}

fn index_obstacles(
    snapshot: &Snapshot,
    pending: &mut PendingTable,
    keys: &[Vec<u8>],
    rows: &[Row],
    conflict: OnConflict,
) -> Result<Vec<Obstacle>, EngineError> {
    let claims = match pending.claims.take() {
        Some(claims) => claims,
        None => claims(pending)?,
    };
    let maintainer = pending.maintainer.clone();
    let mut found = vec![Obstacle::Free; rows.len()];
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let named = unique_indexes(&maintainer).filter(|(_, index)| conflict.ignores_index(index.codec.index.id));
    for (nth, index) in named {
        for ((key, row), found) in keys.iter().zip(rows).zip(&mut found) {
            let entry = index.entries(&[KeyedRow::for_keys(key, row)])?.pop().flatten();
            let Some(entry) = entry.filter(|entry| index.is_exclusive(&entry.key)) else {
                continue;
            };
            let stored = snapshot
                .kv
                .multi_get(&index.codec.storage, std::slice::from_ref(&entry.key))?;
            let owner = match stored.into_iter().next().flatten() {
                Some(value) => Some(index.codec.owner(&maintainer.codec, &entry.key, &value)?),
                None => None,
            };
            *found = match owner.filter(|owner| is_kept(pending, owner)) {
                _ if claims[nth].contains(&entry.key) => Obstacle::Earlier,
                Some(owner) => match snapshot.get_encoded(&maintainer.codec, &owner)? {
                    Some(row) => Obstacle::Stored(row),
                    None => Obstacle::Free,
                },
                None if seen.insert(entry.key) => Obstacle::Free,
                None => Obstacle::Earlier,
            };
        }
    }
    pending.claims = Some(claims);
    Ok(found)
}

/// Adds what rows that a statement now writes will have of UNIQUE indexes.
pub(crate) fn claim_rows(
    maintainer: &Maintainer,
    claims: &mut Claims,
    rows: &[KeyedRow<'_>],
) -> Result<(), EngineError> {
    for (nth, index) in unique_indexes(maintainer) {
        let entries = index.entries(rows)?.into_iter().flatten();
        let keys = entries.map(|entry| entry.key);
        claims[nth].extend(keys.filter(|key| index.is_exclusive(key)));
    }
    Ok(())
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
        Image::Row(row) => Some(KeyedRow::for_keys(key, row)),
        _ => None,
    });
    let rows: Vec<KeyedRow<'_>> = rows.collect();
    claim_rows(&pending.maintainer, &mut claims, &rows)?;
    Ok(claims)
}

fn unique_indexes(maintainer: &Maintainer) -> impl Iterator<Item = (usize, &IndexMaintainer)> {
    maintainer
        .indexes
        .iter()
        .enumerate()
        .filter(|(_, index)| index.codec.index.unique)
}
