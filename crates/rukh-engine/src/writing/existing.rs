//! What is stored, or pending, under the keys that a statement touches; and what may not be there.

use crate::EngineError;
use crate::forms::codec::TableCodec;
use crate::forms::names;
use crate::reading::lookup::fetch_values;
use crate::reading::snapshot::Snapshot;
use crate::writing::pending::{CHUNK_ROWS, Image, PendingRow, PendingTable, Stored};
use rukh_keys::{Datum, KeyRange};
use rukh_kv::ScanSpec;

/// Reads the stored values of family 0 under keys.
pub(crate) fn read_base(
    snapshot: &Snapshot,
    pending: &PendingTable,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<Vec<u8>>>, EngineError> {
    fetch_values(
        snapshot.kv.as_ref(),
        &pending.maintainer.codec.families[0].storage,
        keys,
    )
}

/// Looks which of some keys, at least one, have rows; values are not decoded.
pub(crate) fn are_there(
    snapshot: &Snapshot,
    codec: &TableCodec,
    keys: &[&[u8]],
) -> Result<Vec<bool>, EngineError> {
    let (kv, storage) = (snapshot.kv.as_ref(), &codec.families[0].storage);
    if let [_, _, ..] = keys {
        // Rows that come in the order of their key: between the first and the last is none.
        let first = keys.iter().min().map_or_else(Vec::new, |key| key.to_vec());
        let last = keys.iter().max().map(|key| [key, [0].as_slice()].concat());
        let between = KeyRange {
            start: first,
            limit: last,
        };
        let spec = ScanSpec::ranges(vec![between]).keys_only().limited(1);
        if kv.count(storage, spec)?.0 == 0 {
            return Ok(vec![false; keys.len()]);
        }
    }
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
    let values = fetch_values(kv, storage, &keys)?;
    Ok(values.iter().map(Option::is_some).collect())
}

/// Reads the stored rows under keys; those that the statement has touched come out as unread.
pub(crate) fn read_rows(
    snapshot: &Snapshot,
    pending: &PendingTable,
    keys: &[Vec<u8>],
) -> Result<Vec<Stored>, EngineError> {
    let codec = &pending.maintainer.codec;
    let wanted: Vec<usize> = (0..keys.len())
        .filter(|at| !pending.rows.contains_key(&keys[*at]))
        .collect();
    let mut stored: Vec<Stored> = keys.iter().map(|_| Stored::Unread).collect();
    let wanted_keys: Vec<Vec<u8>> = wanted.iter().map(|at| keys[*at].clone()).collect();
    let mut families = Vec::with_capacity(codec.families.len());
    for family in &codec.families {
        families.push(fetch_values(snapshot.kv.as_ref(), &family.storage, &wanted_keys)?);
    }
    for (nth, at) in wanted.into_iter().enumerate() {
        let values: Vec<Option<&[u8]>> = families.iter().map(|values| values[nth].as_deref()).collect();
        stored[at] = match values[0] {
            None => Stored::Absent,
            Some(_) => Stored::Present(codec.decode_row(&keys[at], &values)?),
        };
    }
    Ok(stored)
}

/// Whether there is a row under a key: of this statement, or stored.
pub(crate) fn is_taken(pending: &PendingTable, key: &[u8], stored: bool) -> bool {
    match pending.rows.get(key).map(|row| &row.image) {
        Some(Image::Gone) => false,
        Some(Image::Row(_)) => true,
        Some(Image::Untouched) | None => stored,
    }
}

/// Fails if the row under a key that is taken differs from `row` in a hashed column.
pub(crate) fn check_existing(
    snapshot: &Snapshot,
    pending: &PendingTable,
    key: &[u8],
    row: &[Datum],
) -> Result<(), EngineError> {
    let codec = &pending.maintainer.codec;
    if codec.hashed_positions().next().is_none() {
        return Ok(());
    }
    if let Some(other) = pending.rows.get(key).and_then(PendingRow::row) {
        return check_collision(codec, key, other, row);
    }
    match snapshot.get_encoded(codec, key)? {
        Some(other) => check_collision(codec, key, &other, row),
        None => Ok(()),
    }
}

/// Fails if two rows under one key differ in a column that the key holds as a hash only.
pub(crate) fn check_collision(
    codec: &TableCodec,
    key: &[u8],
    one: &[Datum],
    other: &[Datum],
) -> Result<(), EngineError> {
    match codec.hashed_positions().find(|at| one[*at] != other[*at]) {
        None => Ok(()),
        Some(at) => Err(EngineError::HashCollision {
            table: codec.table.name.clone(),
            column: codec.table.columns[at].name.clone(),
            key: names::key(&codec.key, key),
        }),
    }
}

/// Lets the rows that moved take their places; fails if one is taken.
pub(crate) fn settle_arrivals(snapshot: &Snapshot, pending: &mut PendingTable) -> Result<(), EngineError> {
    let codec = pending.maintainer.codec.clone();
    let unread = pending.rows.iter().filter(|(_, row)| {
        row.arrival.is_some() && matches!((&row.stored, &row.image), (Stored::Unread, Image::Untouched))
    });
    let keys: Vec<Vec<u8>> = unread.map(|(key, _)| key.clone()).collect();
    for chunk in keys.chunks(CHUNK_ROWS) {
        let nothing = PendingTable::new(pending.maintainer.clone());
        for (key, stored) in chunk.iter().zip(read_rows(snapshot, &nothing, chunk)?) {
            if let Some(row) = pending.rows.get_mut(key) {
                row.stored = stored;
            }
        }
    }
    for (key, row) in &mut pending.rows {
        let Some(arrival) = row.arrival.take() else {
            continue;
        };
        if let Some(other) = row.row() {
            check_collision(&codec, key, other, &arrival)?;
            return Err(codec.duplicate_key(&arrival));
        }
        row.image = Image::Row(arrival);
    }
    Ok(())
}
