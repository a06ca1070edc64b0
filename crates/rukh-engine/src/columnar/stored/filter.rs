//! Filters: which values a column of a block may have, so that `WHERE id = x` reads no column of blocks without x.
//!
//! ```text
//! format     1 byte       0x01
//! rows       4 bytes      number of rows of the block
//! words      32 bytes × n, n at least 1: eight words of 32 bits each
//! checksum   8 bytes      as that of a column
//! ```
//!
//! A value belongs to one of the n groups of eight words, and has one bit in each word of it; it may be in the block if all
//! eight are set. Their places come from its hash, the XXH3 of its bytes, or of its 16 bytes as an integer:
//!
//! | what           | where                                                                             |
//! |----------------|-----------------------------------------------------------------------------------|
//! | group          | the upper 32 bits of the hash, times n, divided by 2^32                            |
//! | bit of word i  | bits 24 + 5i to 28 + 5i of the lower 32 bits times 9E3779B97F4A7C15 (mod 2^64)     |
//!
//! With ten bits for a value, one block of about eighty is read for nothing. A filter is made where it pays: of columns with
//! many values that their smallest and greatest do not narrow, and where it is much smaller than the column
//! ([`of_column`]). NULLs are in no filter.
//!
//! This is a Bloom filter split into blocks, after Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom
//! filters" (2007), with one bit in each word.

use crate::columnar::BlockError;
use crate::columnar::stored::column::{Bounds, bounds, seal, unseal, unsealed};
use crate::columnar::values::vector::{ColumnVector, Values};
use crate::forms::times;
use rukh_keys::DataType;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The first byte of every filter.
const FORMAT: u8 = 1;

/// Bytes of a group.
const GROUP: usize = 32;

/// Bits for each value.
const BITS: usize = 10;

/// A column has at least so many times the bytes of its filter.
const COLUMN_SHARE: usize = 3;

/// A column of integers has a range at least so many times the rows.
const RANGE_SHARE: i128 = 4;

/// One in so many rows has a value of its own.
const DISTINCT_SHARE: usize = 8;

/// Fewer values are read as soon.
const VALUES_MIN: usize = 32;

/// Rows of which at least half have values of their own, where all are to be looked at.
const SAMPLE: usize = 256;

/// Returns the hash of an integer.
pub(crate) fn hash_of_integer(value: i128) -> u64 {
    xxh3_64(&value.to_le_bytes())
}

/// Returns the hash of a byte string.
pub(crate) fn hash_of_bytes(value: &[u8]) -> u64 {
    xxh3_64(value)
}

/// Returns the hash of the value of a row that is not NULL.
pub(crate) fn hash_of_row(vector: &ColumnVector, row: usize) -> u64 {
    match vector.values() {
        Values::Int(values) => hash_of_integer(values[row].into()),
        Values::Wide(values) => hash_of_integer(values[row]),
        Values::Bytes(strings) => hash_of_bytes(strings.get(row)),
        Values::Coded(coded) => hash_of_bytes(coded.get(row)),
    }
}

/// Whether queries look for one value of this type, of which there are many.
fn is_looked_for(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Integer
            | DataType::BigInt
            | DataType::Decimal { .. }
            | DataType::Numeric { .. }
            | DataType::Uuid
            | DataType::Inet
            | DataType::Cidr
            | DataType::Char(_)
            | DataType::Varchar(_)
            | DataType::Binary(_)
            | DataType::Varbinary(_)
    )
}

/// Returns the hashes, each once, of the values of some rows of a column, if a filter of them pays. The column takes so many bytes.
///
/// None pays for the first column of a key, whose values in other blocks are others.
pub(crate) fn of_column(
    number: usize,
    vector: &ColumnVector,
    rows: Range<usize>,
    column_bytes: usize,
) -> Option<Vec<u64>> {
    if number == 0 || number >= times::FIRST || !is_looked_for(vector.data_type()) {
        return None;
    }
    let not_null = rows.clone().filter(|row| !vector.is_null(*row));
    let hashed = |some: usize| {
        let hashes = not_null.clone().take(some).map(|row| hash_of_row(vector, row));
        distinct(hashes, some.min(rows.len()))
    };
    if hashed(SAMPLE).len() * 2 < not_null.clone().take(SAMPLE).count() {
        return None;
    }
    // The bounds of byte strings do not bound their number.
    if !matches!(vector.values(), Values::Bytes(_) | Values::Coded(_))
        && let Bounds::Integers { low, high } = bounds(vector, rows.clone())
        && high.saturating_sub(low) < RANGE_SHARE * rows.len() as i128
    {
        return None;
    }
    let hashes = hashed(usize::MAX);
    let pays = hashes.len() >= VALUES_MIN
        && hashes.len() * DISTINCT_SHARE >= rows.len()
        && bytes(hashes.len()) * COLUMN_SHARE <= column_bytes;
    pays.then_some(hashes)
}

/// Returns each of some hashes once; there are `most` of them at most.
fn distinct(hashes: impl Iterator<Item = u64>, most: usize) -> Vec<u64> {
    let mut found = Vec::with_capacity(most);
    // A table half full at most, in which hashes lie where their own bits say, or behind; 0 is a free place.
    let mut table = vec![0_u64; (most * 2).next_power_of_two()];
    let (mut zero, mask) = (false, table.len() - 1);
    for hash in hashes {
        let mut at = hash as usize & mask;
        while table[at] != 0 && table[at] != hash {
            at = (at + 1) & mask;
        }
        let is_new = match hash {
            0 => !std::mem::replace(&mut zero, true),
            hash => std::mem::replace(&mut table[at], hash) != hash,
        };
        if is_new {
            found.push(hash);
        }
    }
    found
}

/// Returns the bytes of a filter of so many values, about.
pub(crate) fn bytes(values: usize) -> usize {
    groups(values) * GROUP
}

fn groups(values: usize) -> usize {
    (values * BITS).div_ceil(GROUP * 8).max(1)
}

/// Encodes a filter of the values with these hashes, of a block of so many rows, to be stored under `key`.
pub(crate) fn encode(key: &[u8], hashes: &[u64], rows: usize) -> Vec<u8> {
    let mut words = vec![0_u8; bytes(hashes.len())];
    for hash in hashes {
        let group = group_of(*hash, words.len() / GROUP) * GROUP;
        for bit in bits_of(*hash) {
            words[group + bit / 8] |= 1 << (bit % 8);
        }
    }
    let mut out = vec![FORMAT];
    out.extend_from_slice(&(rows as u32).to_le_bytes());
    out.extend_from_slice(&words);
    seal(key, &mut out);
    out
}

fn group_of(hash: u64, groups: usize) -> usize {
    (((hash >> 32) * groups as u64) >> 32) as usize
}

/// Returns the bits of a value in its group, by their number from the first bit of the first byte.
fn bits_of(hash: u64) -> impl Iterator<Item = usize> {
    let mixed = (hash & 0xffff_ffff).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..8).map(move |word| word * 32 + ((mixed >> (24 + 5 * word)) & 31) as usize)
}

/// A stored filter.
///
/// Invariant: the words are one group or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) rows: usize,
    words: &'a [u8],
}

impl<'a> Filter<'a> {
    /// Reads what is stored under `key`.
    pub(crate) fn parse(key: &[u8], value: &'a [u8]) -> Result<Self, BlockError> {
        Filter::parse_body(unseal(key, value)?)
    }

    /// Reads again what was read by [`Filter::parse`].
    pub(crate) fn parse_again(value: &'a [u8]) -> Result<Self, BlockError> {
        Filter::parse_body(unsealed(value)?)
    }

    fn parse_body((format, body): (u8, &'a [u8])) -> Result<Self, BlockError> {
        if format != FORMAT {
            return Err(BlockError::UnknownFormat { format });
        }
        let (rows, words) = body.split_first_chunk().ok_or(BlockError::Truncated)?;
        match words.is_empty() || !words.len().is_multiple_of(GROUP) {
            true => Err(BlockError::Invalid("a filter of another length")),
            false => Ok(Filter {
                rows: u32::from_le_bytes(*rows) as usize,
                words,
            }),
        }
    }

    /// Whether a value with this hash may be in the block.
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let group = group_of(hash, self.words.len() / GROUP) * GROUP;
        bits_of(hash).all(|bit| self.words[group + bit / 8] & (1 << (bit % 8)) != 0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rukh_keys::Datum;

    fn vector(ty: DataType, values: impl Iterator<Item = Datum>) -> ColumnVector {
        let mut vector = ColumnVector::new(ty);
        values.for_each(|value| vector.push(&value.as_ref()).unwrap());
        vector
    }

    proptest! {
        #[test]
        fn hashes_are_distinguished(hashes in prop::collection::vec(prop_oneof![0..9_u64, Just(u64::MAX), any::<u64>()], 0..99)) {
            let mut found = distinct(hashes.iter().copied(), hashes.len());
            found.sort_unstable();
            let mut expected = hashes;
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_is_in_a_filter_is_found_and_little_else() {
        let hashes: Vec<u64> = (0..8192).map(|value| hash_of_integer(value * 7919)).collect();
        let stored = encode(b"key", &hashes, 8192);
        assert!(stored.len() < 8192 * 11 / 8);
        let filter = Filter::parse(b"key", &stored).unwrap();
        assert!(hashes.iter().all(|hash| filter.may_have(*hash)));
        let others = (0..10_000).map(|value| hash_of_integer(value * 7919 + 1));
        let found = others.filter(|hash| filter.may_have(*hash)).count();
        assert!(found < 250, "{found} of 10,000");
    }

    #[test]
    fn filters_are_made_where_they_pay() {
        let rows = 8192_i64;
        let many = |factor: i64| (0..rows).map(move |row| Datum::Int(row * factor % 1_000_003));
        let made = |number: usize, ty: DataType, values: Vec<Datum>| {
            let vector = vector(ty, values.into_iter());
            of_column(number, &vector, 0..rows as usize, 32 << 10).is_some()
        };
        assert!(made(1, DataType::Integer, many(7919).collect()));
        // The key's order decides, the range decides, values that come often are in every block.
        assert!(!made(0, DataType::Integer, many(7919).collect()));
        assert!(!made(1, DataType::Integer, many(1).collect()));
        assert!(!made(
            1,
            DataType::Integer,
            many(7919)
                .map(|value| match value {
                    Datum::Int(value) => Datum::Int(value % 50 * 20_000),
                    other => other,
                })
                .collect()
        ));
        assert!(!made(
            1,
            DataType::TIMESTAMP,
            many(7919)
                .map(|value| match value {
                    Datum::Int(value) => Datum::Timestamp(value),
                    other => other,
                })
                .collect()
        ));
        assert!(!made(1, DataType::BigInt, vec![Datum::Null; rows as usize]));
        let texts = |modulus: i64| (0..rows).map(move |row| Datum::Text(format!("text {}", row % modulus)));
        assert!(made(1, DataType::Varchar(None), texts(rows).collect()));
        assert!(!made(1, DataType::Varchar(None), texts(100).collect()));
        // A column that takes few bytes is read as soon.
        let vector = vector(DataType::Integer, many(7919));
        assert!(of_column(1, &vector, 0..rows as usize, 16 << 10).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..100), hash in any::<u64>()) {
            let mut stored = vec![FORMAT];
            stored.extend(bytes);
            for stored in [stored.clone(), stored[1..].to_vec()] {
                let _ = Filter::parse(b"key", &stored);
                let mut sealed = stored;
                seal(b"key", &mut sealed);
                if let Ok(filter) = Filter::parse(b"key", &sealed) {
                    filter.may_have(hash);
                }
            }
        }

        #[test]
        fn a_changed_byte_is_noticed(hashes in prop::collection::vec(any::<u64>(), 1..60), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let stored = encode(b"key", &hashes, hashes.len());
            let mut changed = stored.clone();
            let at = at.index(changed.len());
            changed[at] ^= 1 << bit;
            prop_assert!(Filter::parse(b"key", &changed).is_err());
            prop_assert!(Filter::parse(b"another key", &stored).is_err());
        }
    }
}
