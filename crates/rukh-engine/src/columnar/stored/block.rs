//! Blocks: rows that follow one another in key order, each column stored apart.
//!
//! | key                              | value                              |
//! |----------------------------------|------------------------------------|
//! | 0 (u16), key of the first row    | head of the block (`head`)         |
//! | s + 1 (u16), key of the first row | column s of the block (`column`)  |
//! | s + 1 (u16), key of another row   | a further piece of it (`pieces`)  |
//! | 65,535, s (u16 each), key of the first row | filter of column s (`filter`) |
//!
//! The numbers are big-endian. So all heads lie together, and so do the values of one column, in key
//! order: a scan reads the heads and the columns that it names, and nothing in between. Columns are
//! numbered as in the index: the elements of its key, then the columns included.

use crate::columnar::BlockError;
use crate::columnar::stored::column;
use crate::columnar::stored::filter;
use crate::columnar::stored::head;
use crate::columnar::stored::pieces::{Cutting, Parts};
use crate::columnar::values::vector::ColumnVector;
use crate::forms::times::Numbers;
use rukh_keys::KeyRange;
use std::ops::Range;

/// Rows of a new block.
pub(crate) const BLOCK_ROWS: usize = 8192;

/// The number under which filters are.
const FILTERS: u16 = u16::MAX;

/// What a key of blocks belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Head,
    Column(usize),
    /// The filter of a column.
    Filter(usize),
}

impl Piece {
    /// Returns what stands before the key of the first row.
    fn prefix(self) -> Vec<u8> {
        let number = |number: usize| u16::try_from(number).expect("a table has less than 65,535 columns");
        match self {
            Piece::Head => 0_u16.to_be_bytes().to_vec(),
            Piece::Column(slot) => number(slot + 1).to_be_bytes().to_vec(),
            Piece::Filter(slot) => [FILTERS, number(slot)]
                .iter()
                .flat_map(|part| part.to_be_bytes())
                .collect(),
        }
    }

    /// Returns the key of this piece of the block whose first row has this key.
    pub(crate) fn key(self, first: &[u8]) -> Vec<u8> {
        let mut key = self.prefix();
        key.extend_from_slice(first);
        key
    }

    /// Returns the range of this piece of the blocks whose first key lies in `range`.
    pub(crate) fn range(self, range: &KeyRange) -> KeyRange {
        let limit = match &range.limit {
            Some(limit) => Some(self.key(limit)),
            None => KeyRange::prefix(self.prefix()).limit,
        };
        KeyRange {
            start: self.key(&range.start),
            limit,
        }
    }

    /// Takes a key apart: what it belongs to, and the key of the first row.
    pub(crate) fn of(key: &[u8]) -> Result<(Piece, &[u8]), BlockError> {
        let (number, first) = key.split_first_chunk().ok_or(BlockError::Truncated)?;
        let piece = match u16::from_be_bytes(*number) {
            0 => Piece::Head,
            FILTERS => {
                let (number, first) = first.split_first_chunk().ok_or(BlockError::Truncated)?;
                return Ok((Piece::Filter(usize::from(u16::from_be_bytes(*number))), first));
            }
            number => Piece::Column(usize::from(number) - 1),
        };
        Ok((piece, first))
    }
}

/// Cuts a number of rows into blocks of even size.
pub(crate) fn cut(rows: usize, block_rows: usize) -> impl Iterator<Item = Range<usize>> {
    // A block half as large again is better than two small ones.
    let blocks = (rows * 2).div_ceil(block_rows.max(1) * 3).max(rows.min(1));
    (0..blocks).map(move |nth| rows * nth / blocks..rows * (nth + 1) / blocks)
}

/// Encodes some rows of these columns, which have these numbers, as a block: its pieces with
/// their keys, in key order. `key_of` gives the key of each row.
///
/// Numbers do not ascend where a column got another type: it has the number of a later column, and its place.
pub(crate) fn encode<'k>(
    numbers: &[usize],
    columns: &[ColumnVector],
    rows: Range<usize>,
    cutting: Cutting,
    key_of: &dyn Fn(usize) -> &'k [u8],
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (first_key, last_key) = (key_of(rows.start), key_of(rows.end - 1));
    let mut stored = Vec::with_capacity(columns.len());
    let all = Numbers::of(numbers);
    let mut shifts = vec![None; all.len()];
    let mut filters = vec![false; shifts.len()];
    let mut hashes = Vec::new();
    let mut ascending: Vec<(&usize, &ColumnVector)> = numbers.iter().zip(columns).collect();
    ascending.sort_by_key(|(number, _)| **number);
    for (number, vector) in ascending {
        let (shift, pieces) = encode_column(*number, vector, rows.clone(), cutting, key_of);
        let place = all.place(*number).expect("the number is one of them");
        shifts[place] = shift;
        let bytes = pieces.iter().map(|(_, value)| value.len()).sum();
        if let Some(of_column) = filter::of_column(*number, vector, rows.clone(), bytes) {
            hashes.push((place, *number, of_column));
        }
        stored.extend(pieces);
    }
    let identity = column::identity(stored.iter().map(|(_, value)| value.as_slice()));
    let identity = identity.expect("what was encoded has a checksum");
    let parts = Parts::new(cutting, shifts.into_iter(), rows.clone(), key_of);
    // Filters take what is left of their share, the first columns first.
    let mut left = stored.iter().map(|(_, value)| value.len()).sum::<usize>() / FILTERS_SHARE;
    for (place, number, hashes) in hashes {
        let bytes = filter::bytes(hashes.len());
        if bytes <= left {
            left -= bytes;
            filters[place] = true;
            let key = Piece::Filter(number).key(first_key);
            let filter = filter::encode(&key, &hashes, rows.len());
            stored.push((key, filter));
        }
    }
    let key = Piece::Head.key(first_key);
    let extras = head::Extras {
        parts: parts.as_ref(),
        filters: &filters,
        identity,
    };
    let head = head::encode(&key, numbers, columns, rows, last_key, extras);
    std::iter::once((key, head)).chain(stored).collect()
}

/// Filters of a block take one in so many bytes of its columns, at most.
const FILTERS_SHARE: usize = 4;

/// A column may take so much more in pieces: one more byte for so many.
const PIECES_COST: usize = 4;

/// Bytes that each piece takes beside its values, about.
const PIECE_BYTES: usize = 32;

/// Encodes some rows of a column, whole or in pieces; returns how many parts these have, as a power of two.
#[allow(clippy::type_complexity)] // keys and values
fn encode_column<'k>(
    number: usize,
    vector: &ColumnVector,
    rows: Range<usize>,
    cutting: Cutting,
    key_of: &dyn Fn(usize) -> &'k [u8],
) -> (Option<u8>, Vec<(Vec<u8>, Vec<u8>)>) {
    let encode = |rows: Range<usize>| {
        let key = Piece::Column(number).key(key_of(rows.start));
        let value = column::encode(&key, vector, rows);
        (key, value)
    };
    let whole = encode(rows.clone());
    let bytes = whole.1.len();
    for shift in cutting.choices(rows.len(), bytes) {
        let pieces: Vec<_> = cutting.pieces(shift, rows.clone()).map(encode).collect();
        let in_pieces: usize = pieces.iter().map(|(_, value)| value.len()).sum();
        // A dictionary of many values may be worth more than short reads.
        if in_pieces <= bytes + bytes / PIECES_COST + PIECE_BYTES * pieces.len() {
            return (Some(shift), pieces);
        }
    }
    (None, vec![whole])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
