//! The rows of one table in memory: every key with the versions of its value.
//!
//! The memory store keeps its tables so, and the overlay of a transaction its changes.

use parking_lot::RwLock;
use rukh_keys::KeyRange;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// A key or value, shared between the table and its readers.
pub(crate) type Bytes = Arc<[u8]>;

/// The write number whose reader sees every version.
pub(crate) const NEWEST: u64 = u64::MAX;

/// One table; it outlives its dropping as long as a snapshot knows it.
#[derive(Default)]
pub(crate) struct Table {
    rows: RwLock<Rows>,
}

#[derive(Default)]
struct Rows {
    /// Invariant: no list is empty, and each ascends by write.
    map: BTreeMap<Bytes, Vec<Version>>,
    /// Keys that have more than their present value.
    stale: BTreeSet<Bytes>,
}

/// A value from a write on, or its absence.
struct Version {
    sequence: u64,
    value: Option<Bytes>,
}

impl Table {
    /// Returns the value that a reader at `sequence` sees.
    pub(crate) fn value(&self, key: &[u8], sequence: u64) -> Option<Bytes> {
        visible(self.rows.read().map.get(key)?, sequence).cloned()
    }

    /// Returns the values of many keys at one moment.
    pub(crate) fn values(&self, keys: &[Vec<u8>], sequence: u64) -> Vec<Option<Vec<u8>>> {
        let rows = self.rows.read();
        let value =
            |key: &Vec<u8>| visible(rows.map.get(key.as_slice())?, sequence).map(|value| value.to_vec());
        keys.iter().map(value).collect()
    }

    /// Adds a version of `key`; returns it, or nothing where there is nothing to delete.
    pub(crate) fn set(&self, key: &[u8], sequence: u64, value: Option<Bytes>) -> Vec<Bytes> {
        let mut rows = self.rows.write();
        let key = match rows.map.get_key_value(key) {
            Some((stored, _)) => Arc::clone(stored),
            None if value.is_none() => return Vec::new(),
            None => Bytes::from(key),
        };
        rows.map
            .entry(Arc::clone(&key))
            .or_default()
            .push(Version { sequence, value });
        vec![key]
    }

    /// Deletes all keys of a range and returns them.
    pub(crate) fn delete_range(&self, range: &KeyRange, sequence: u64) -> Vec<Bytes> {
        let keys = self.keys(range);
        keys.iter().for_each(|key| drop(self.set(key, sequence, None)));
        keys
    }

    /// Returns the present keys of a range.
    pub(crate) fn keys(&self, range: &KeyRange) -> Vec<Bytes> {
        self.rows
            .read()
            .live(bounds(range), NEWEST)
            .map(|(key, _)| Arc::clone(key))
            .collect()
    }

    /// Returns the bytes of all present keys and values of a range.
    pub(crate) fn size(&self, range: &KeyRange) -> u64 {
        let rows = self.rows.read();
        rows.live(bounds(range), NEWEST)
            .map(|(key, value)| (key.len() + value.len()) as u64)
            .sum()
    }

    /// Copies up to `count` entries that a reader at `sequence` sees, from one end of the bounds
    /// inwards: from the start, or from the end when `reverse`.
    pub(crate) fn fetch(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        sequence: u64,
        count: usize,
        entries: &mut Vec<(Bytes, Bytes)>,
    ) {
        let rows = self.rows.read();
        let live = rows
            .live(bounds, sequence)
            .map(|(key, value)| (Arc::clone(key), Arc::clone(value)));
        if reverse {
            entries.extend(live.rev().take(count));
        } else {
            entries.extend(live.take(count));
        }
    }

    /// Removes the versions of `keys` that no active snapshot sees; returns the memory they took.
    pub(crate) fn tidy(&self, keys: &[Bytes], active: &BTreeMap<u64, usize>) -> u64 {
        let mut rows = self.rows.write();
        keys.iter().map(|key| rows.tidy(key, active)).sum()
    }

    /// Removes all versions but the present ones; for when no snapshot is left. Returns the memory
    /// that they took.
    pub(crate) fn tidy_all(&self) -> u64 {
        let mut rows = self.rows.write();
        let stale = std::mem::take(&mut rows.stale);
        stale.iter().map(|key| rows.tidy(key, &BTreeMap::new())).sum()
    }

    /// Returns whether no key has a version.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.read().map.is_empty()
    }

    /// Removes the versions that write `sequence` added to `keys`.
    pub(crate) fn take_back(&self, keys: &[Bytes], sequence: u64) {
        let mut rows = self.rows.write();
        for key in keys {
            if let Some(versions) = rows.map.get_mut(key) {
                versions.retain(|version| version.sequence != sequence);
                if versions.is_empty() {
                    rows.map.remove(key);
                }
            }
        }
    }
}

impl Rows {
    fn live<'a>(
        &'a self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        sequence: u64,
    ) -> impl DoubleEndedIterator<Item = (&'a Bytes, &'a Bytes)> + use<'a> {
        let rows = (!is_empty(&bounds)).then(|| self.map.range::<[u8], _>(bounds));
        let rows = rows.into_iter().flatten();
        rows.filter_map(move |(key, versions)| visible(versions, sequence).map(|value| (key, value)))
    }

    fn tidy(&mut self, key: &Bytes, active: &BTreeMap<u64, usize>) -> u64 {
        let Some(versions) = self.map.get_mut(key) else {
            return 0;
        };
        let mut freed = 0;
        for n in (1..versions.len()).rev() {
            let seen_by = versions[n - 1].sequence..versions[n].sequence;
            if active.range(seen_by).next().is_none() {
                freed += version_bytes(key, versions.remove(n - 1).value.as_deref());
            }
        }
        match versions.as_slice() {
            [Version { value: None, .. }] => {
                freed += version_bytes(key, None);
                self.map.remove(key);
                self.stale.remove(key);
            }
            [_] => {
                self.stale.remove(key);
            }
            _ => {
                self.stale.insert(Arc::clone(key));
            }
        }
        freed
    }
}

/// Returns roughly the memory that a version takes.
pub(crate) fn version_bytes(key: &[u8], value: Option<&[u8]>) -> u64 {
    /// The version itself, its place in the map, and what allocators add.
    const OVERHEAD: usize = 112;
    (OVERHEAD + key.len() + value.map_or(0, <[u8]>::len)) as u64
}

fn visible(versions: &[Version], sequence: u64) -> Option<&Bytes> {
    versions
        .iter()
        .rev()
        .find(|version| version.sequence <= sequence)?
        .value
        .as_ref()
}

fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let limit = range.limit.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(&range.start), limit)
}

/// Returns whether no key lies between the bounds; a map does not take such bounds.
fn is_empty(bounds: &(Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match *bounds {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
            start >= end
        }
    }
}
