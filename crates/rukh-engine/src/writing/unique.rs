//! From the entry changes of single rows to those of an index, and the check that UNIQUE keys stay
//! with one row.
//!
//! The check is against the state at the end of a statement: a key that one row gives up another
//! may take, in whatever order rows were changed.

use crate::EngineError;
use crate::forms::codec::TableCodec;
use crate::forms::maintain::{Entry, EntryChange, IndexMaintainer, RowChange};
use crate::reading::snapshot::Snapshot;

/// What becomes of one entry key: a value, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NetChange {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

/// Folds the entry changes of rows into one change for each entry key, in key order.
///
/// Fails with [`EngineError::UniqueViolation`] if two rows would have one key of a UNIQUE index.
pub(crate) fn net_changes(
    table: &TableCodec,
    index: &IndexMaintainer,
    rows: &[RowChange<'_>],
    changes: Vec<EntryChange>,
    snapshot: &Snapshot,
) -> Result<Vec<NetChange>, EngineError> {
    let mut removed = Vec::new();
    let mut added = Vec::new();
    for change in changes {
        removed.extend(change.removed);
        added.extend(change.added.map(|entry| (entry, change.change)));
    }
    removed.sort_unstable();
    added.sort_unstable_by(|(a, _), (b, _)| a.key.cmp(&b.key));
    if index.codec.index.unique {
        let pair = added.windows(2).find(|pair| pair[0].0.key == pair[1].0.key);
        if let Some(pair) = pair {
            return Err(index.duplicate(&table.table, &pair[0].0.key));
        }
        let given_up = |key: &Vec<u8>| removed.binary_search(key).is_ok();
        let incoming = added
            .iter()
            .filter(|(e, _)| !given_up(&e.key) && index.is_exclusive(&e.key));
        let incoming: Vec<_> = incoming
            .map(|(entry, change)| (&entry.key, rows[*change].key))
            .collect();
        check_free(table, index, &incoming, snapshot)?;
    }
    Ok(merge(
        removed,
        added.into_iter().map(|(entry, _)| entry).collect(),
    ))
}

/// Fails if a stored entry gives one of these keys to another row than the one that is to have it.
fn check_free(
    table: &TableCodec,
    index: &IndexMaintainer,
    incoming: &[(&Vec<u8>, &[u8])],
    snapshot: &Snapshot,
) -> Result<(), EngineError> {
    let keys: Vec<Vec<u8>> = incoming.iter().map(|(key, _)| (*key).clone()).collect();
    let stored = snapshot.kv.multi_get(&index.codec.storage, &keys)?;
    for ((key, row_key), value) in incoming.iter().zip(stored) {
        let Some(value) = value else { continue };
        let owner = index.codec.owner(table, key, &value)?;
        if owner != *row_key {
            return Err(index.duplicate(&table.table, key));
        }
    }
    Ok(())
}

/// Merges sorted removals and additions; a key that is both is an addition.
fn merge(removed: Vec<Vec<u8>>, added: Vec<Entry>) -> Vec<NetChange> {
    let mut net = Vec::with_capacity(removed.len() + added.len());
    let mut removed = removed.into_iter().peekable();
    for Entry { key, value } in added {
        while let Some(gone) = removed.next_if(|gone| *gone < key) {
            net.push(NetChange {
                key: gone,
                value: None,
            });
        }
        removed.next_if(|gone| *gone == key);
        net.push(NetChange {
            key,
            value: Some(value),
        });
    }
    net.extend(removed.map(|key| NetChange { key, value: None }));
    net
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_given_up_and_taken_is_written_once() {
        let entry = |key: u8| Entry {
            key: vec![key],
            value: vec![9],
        };
        let net = merge(vec![vec![1], vec![2], vec![4]], vec![entry(2), entry(3)]);
        let shown: Vec<_> = net
            .iter()
            .map(|change| (change.key[0], change.value.is_some()))
            .collect();
        assert_eq!(shown, [(1, false), (2, true), (3, true), (4, false)]);
    }
}
