//! Sizes of key ranges, and keys that cut a range into pieces of equal size.

use super::{PinnedIterator, TableHandle};
use crate::KvError;
use crate::rocks::failure::table_failure;
use rocksdb::{Range, properties};
use rukh_keys::KeyRange;
use std::sync::Arc;

/// Halvings of the key space per split point at most.
const HALVINGS_MAX: u32 = 64;
/// A split point is good when the piece before it is off by one part in this many.
const TOLERANCE: u64 = 32;
/// Bytes of a key, after what the first and last key share, that halving looks at.
const DIGITS: usize = 16;
/// Keys that begin with so many `ff` are not reckoned with in the size of a table.
const AFTER_ALL_BYTES: usize = 64;

/// Estimates the stored bytes of a range, in files and in write buffers.
pub(super) fn size(table: &TableHandle, range: &KeyRange) -> u64 {
    size_of(table, &bounded(table, range), buffered(table))
}

/// Returns a range as the column family has it, with a limit.
pub(super) fn bounded(table: &TableHandle, range: &KeyRange) -> KeyRange {
    let KeyRange { start, limit } = table.native_range(range);
    KeyRange {
        start,
        limit: Some(limit.unwrap_or_else(|| vec![0xff; AFTER_ALL_BYTES])),
    }
}

/// Returns keys that cut the range into `parts` pieces of about equal size; see
/// [`KvStore::split_points`](crate::KvStore::split_points).
///
/// The key space between the first and the last key is halved, as a number of 16 digits of base
/// 256, until the size before the middle is the one wanted. Keys are those of the column family on the way.
pub(super) fn points(
    table: &Arc<TableHandle>,
    range: &KeyRange,
    parts: usize,
) -> Result<Vec<Vec<u8>>, KvError> {
    let (Some(first), Some(last)) = (first_key(table, range)?, last_key(table, range)?) else {
        return Ok(Vec::new());
    };
    let buffered = buffered(table);
    let size_before = |key: &[u8]| {
        size_of(
            table,
            &KeyRange {
                start: first.clone(),
                limit: Some(key.to_vec()),
            },
            buffered,
        )
    };
    let total = size_before(&after(&last));
    let space = KeySpace::between(&first, &last);
    let mut points: Vec<Vec<u8>> = Vec::new();
    for part in 1..parts as u64 {
        let wanted = total / parts as u64 * part;
        let point = space.halve(size_before, wanted, total / parts as u64 / TOLERANCE);
        let ascends = points.last().map_or(first < point, |before| *before < point);
        if total > 0 && ascends && point <= last {
            points.push(point);
        }
    }
    let number = table.number_bytes();
    // What the first and the last key share, every point has: the number of the table, too.
    points
        .iter_mut()
        .for_each(|point| drop(point.drain(..number.min(point.len()))));
    Ok(points)
}

/// The keys between two keys, as numbers.
struct KeySpace {
    shared: Vec<u8>,
    low: u128,
    high: u128,
}

impl KeySpace {
    fn between(first: &[u8], last: &[u8]) -> KeySpace {
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        KeySpace {
            shared: first[..shared].to_vec(),
            low: number(&first[shared..]),
            high: number(&last[shared..]),
        }
    }

    /// Returns the key before which `size` is `wanted`, or off by no more than `tolerance`.
    fn halve(&self, size: impl Fn(&[u8]) -> u64, wanted: u64, tolerance: u64) -> Vec<u8> {
        let (mut low, mut high) = (self.low, self.high);
        for _ in 0..HALVINGS_MAX {
            let middle = low + (high - low) / 2;
            let found = size(&self.key(middle));
            if found.abs_diff(wanted) <= tolerance || middle == low {
                return self.key(middle);
            }
            if found < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.key(low)
    }

    fn key(&self, number: u128) -> Vec<u8> {
        let digits = number.to_be_bytes();
        let used = DIGITS - digits.iter().rev().take_while(|digit| **digit == 0).count();
        [&self.shared, &digits[..used]].concat()
    }
}

/// Returns the first digits of a key as a number; missing ones count as zero.
fn number(key: &[u8]) -> u128 {
    let mut digits = [0; DIGITS];
    let used = key.len().min(DIGITS);
    digits[..used].copy_from_slice(&key[..used]);
    u128::from_be_bytes(digits)
}

/// Returns the smallest key greater than `key`.
fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Returns the bytes of a table in write buffers. A buffer without an entry has a size, too.
pub(super) fn buffered(table: &TableHandle) -> u64 {
    let property = |name| {
        table
            .db
            .property_int_value_cf(&table.family, name)
            .ok()
            .flatten()
            .unwrap_or(0)
    };
    let entries =
        property(properties::NUM_ENTRIES_ACTIVE_MEM_TABLE) + property(properties::NUM_ENTRIES_IMM_MEM_TABLES);
    if entries == 0 {
        0
    } else {
        property(properties::CUR_SIZE_ALL_MEM_TABLES)
    }
}

/// Estimates the bytes of a range that has a limit, of which `buffered` lie in write buffers.
fn size_of(table: &TableHandle, range: &KeyRange, buffered: u64) -> u64 {
    size_in_files(table, range) + in_buffers(table, range, buffered)
}

/// Estimates the bytes of a range, as the column family has it and with a limit, in sorted files.
pub(super) fn size_in_files(table: &TableHandle, range: &KeyRange) -> u64 {
    let limit = range.limit.as_deref().unwrap_or_default();
    if range.start.as_slice() >= limit {
        return 0;
    }
    let sizes = table
        .db
        .get_approximate_sizes_cf(&table.family, &[Range::new(&range.start, limit)]);
    sizes.iter().sum()
}

/// Estimates how much of what the column family has in write buffers is of a range of it.
pub(super) fn in_buffers(table: &TableHandle, range: &KeyRange, buffered: u64) -> u64 {
    if buffered == 0 {
        return 0;
    }
    (buffered as f64 * table.sample.share(range).unwrap_or(0.0)) as u64
}

fn first_key(table: &Arc<TableHandle>, range: &KeyRange) -> Result<Option<Vec<u8>>, KvError> {
    end_key(table, range, |iterator| iterator.iterator.seek_to_first())
}

/// Returns the last key of a range, as the table is now.
pub(super) fn last_key(table: &Arc<TableHandle>, range: &KeyRange) -> Result<Option<Vec<u8>>, KvError> {
    end_key(table, range, |iterator| iterator.iterator.seek_to_last())
}

fn end_key(
    table: &Arc<TableHandle>,
    range: &KeyRange,
    seek: impl FnOnce(&mut PinnedIterator),
) -> Result<Option<Vec<u8>>, KvError> {
    let mut iterator = PinnedIterator::new(table, None, table.bounds(range));
    seek(&mut iterator);
    let key = iterator.iterator.key().map(<[u8]>::to_vec);
    iterator
        .iterator
        .status()
        .map_err(|error| table_failure("read", &table.name, error))?;
    Ok(key)
}
