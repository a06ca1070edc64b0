//! The head of a block: how many rows it has, its last key, and what is known of each column.
//!
//! ```text
//! format     1 byte   0x03 with times, 0x02 without; 2 more if columns are in pieces, 4 more if some have filters; 0x01 is a head
//!                     without identity
//! rows       4 bytes  number of rows
//! last key   4 bytes  its length, then the key of the last row
//! columns    2 bytes  one more than the highest number of a column, then for each of them
//!   nulls    4 bytes  rows that are NULL
//!   bounds   1 byte   0 none, 1 integers, 2 bytes; then
//!            32 bytes smallest and greatest value, 16 bytes each; or
//!            1 + n    length and bytes of the smallest, then of the greatest value, of each the first 32
//! times              of a head with times: nulls and bounds of the two columns of times (`times`)
//! parts               of a head with pieces: how columns are cut (`pieces`)
//! filters            of a head with filters: 1 byte by place of the column, 1 if it has one, else 0
//! identity   8 bytes  XXH3 of the checksums of all columns of the block, in ascending order of their numbers, piece by piece
//! checksum   8 bytes  as that of a column
//! ```

use crate::columnar::BlockError;
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::column::{Bounds, ROWS_MAX, bounds, seal, unseal};
use crate::columnar::stored::pieces::Parts;
use crate::columnar::values::test::Test;
use crate::columnar::values::vector::ColumnVector;
use crate::forms::times::{self, Numbers};
use std::ops::Range;
use std::sync::Arc;

/// The first byte of a head without times.
const FORMAT: u8 = 2;

/// The first byte of a head of a block with times.
const FORMAT_TIMED: u8 = 3;

/// What is added to the first byte where columns are in pieces.
const IN_PIECES: u8 = 2;

/// What is added where columns have filters.
const FILTERED: u8 = 4;

/// The greatest first byte there is.
const FORMAT_MAX: u8 = FORMAT_TIMED + IN_PIECES + FILTERED;

/// The first byte of heads of databases of format 4 and before, which have no identity.
const FORMAT_WITHOUT_IDENTITY: u8 = 1;

/// Bytes that are kept of the smallest and the greatest byte string.
const PREFIX_MAX: usize = 32;

const NO_BOUNDS: u8 = 0;
const INTEGERS: u8 = 1;
const BYTES: u8 = 2;

/// What is known of the values of a block's column before they are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known<'a> {
    nulls: usize,
    rows: usize,
    bounds: Bounds<'a>,
}

/// The head of a stored block.
#[derive(Clone, Debug)]
pub(crate) struct Head<'a> {
    /// Number of rows.
    pub(crate) rows: usize,
    /// Key of the last row.
    pub(crate) last_key: &'a [u8],
    /// Identifies the contents of the block among those under the same key; not known of old blocks.
    pub(crate) identity: Option<u64>,
    /// All that is before the checksum, but the format.
    body: &'a [u8],
    /// By place, where in the body is what is known of a column.
    columns: Vec<u32>,
    /// Whether the last of the columns are those of times.
    timed: bool,
    /// How columns are cut, if any is.
    pub(crate) parts: Option<Arc<Parts>>,
    /// By place whether a column has a filter; empty if none has.
    filters: &'a [u8],
}

/// Metadata of a block that is not per column.
#[derive(Clone, Copy)]
pub(crate) struct Extras<'a> {
    /// How columns are cut, if any is.
    pub(crate) parts: Option<&'a Parts>,
    /// By place whether a column has a filter.
    pub(crate) filters: &'a [bool],
    /// The identity of the block.
    pub(crate) identity: u64,
}

/// Encodes the head of a block of some rows of these columns, which have these numbers in any order, to be
/// stored under `key`. A number that no column has stands for a column of NULLs.
pub(crate) fn encode(
    key: &[u8],
    numbers: &[usize],
    columns: &[ColumnVector],
    rows: Range<usize>,
    last_key: &[u8],
    extras: Extras<'_>,
) -> Vec<u8> {
    let all = Numbers::of(numbers);
    let filtered = extras.filters.contains(&true);
    let mut format = if all.timed { FORMAT_TIMED } else { FORMAT };
    format += if extras.parts.is_some() { IN_PIECES } else { 0 };
    format += if filtered { FILTERED } else { 0 };
    let mut out = vec![format];
    out.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    out.extend_from_slice(&(last_key.len() as u32).to_le_bytes());
    out.extend_from_slice(last_key);
    out.extend_from_slice(&(all.named as u16).to_le_bytes());
    for number in all.iter() {
        let Some(slot) = numbers.iter().position(|known| *known == number) else {
            out.extend_from_slice(&(rows.len() as u32).to_le_bytes());
            out.push(NO_BOUNDS);
            continue;
        };
        let column = &columns[slot];
        let nulls = rows.clone().filter(|row| column.is_null(*row)).count();
        out.extend_from_slice(&(nulls as u32).to_le_bytes());
        match bounds(column, rows.clone()) {
            Bounds::None => out.push(NO_BOUNDS),
            Bounds::Integers { low, high } => {
                out.push(INTEGERS);
                out.extend_from_slice(&low.to_le_bytes());
                out.extend_from_slice(&high.to_le_bytes());
            }
            Bounds::Bytes { low, high } => {
                out.push(BYTES);
                for end in [low, high] {
                    let kept = &end[..end.len().min(PREFIX_MAX)];
                    out.push(kept.len() as u8);
                    out.extend_from_slice(kept);
                }
            }
        }
    }
    if let Some(parts) = extras.parts {
        parts.encode(&mut out);
    }
    if filtered {
        out.extend(extras.filters.iter().map(|has| u8::from(*has)));
    }
    out.extend_from_slice(&extras.identity.to_le_bytes());
    seal(key, &mut out);
    out
}

impl<'a> Head<'a> {
    /// Reads the head that is stored under `key`.
    pub(crate) fn parse(key: &[u8], value: &'a [u8]) -> Result<Self, BlockError> {
        let (format, body) = unseal(key, value)?;
        let added = match format {
            FORMAT_WITHOUT_IDENTITY => 0,
            FORMAT..=FORMAT_MAX => format - FORMAT,
            _ => return Err(BlockError::UnknownFormat { format }),
        };
        let has = |what: u8| added & what != 0;
        let (timed, in_pieces) = (has(FORMAT_TIMED - FORMAT), has(IN_PIECES));
        let mut reader = Reader(body);
        let rows = reader.u32()? as usize;
        if rows > ROWS_MAX || rows == 0 {
            return Err(BlockError::TooLarge);
        }
        let length = reader.u32()? as usize;
        let last_key = reader.take(length)?;
        let [low, high] = reader.array()?;
        let count = u16::from_le_bytes([low, high]);
        let times = if timed { times::COUNT } else { 0 };
        let mut columns = Vec::with_capacity(usize::from(count) + times);
        for _ in 0..usize::from(count) + times {
            columns.push((body.len() - reader.0.len()) as u32);
            known(&mut reader, rows)?;
        }
        let parts = in_pieces.then(|| Parts::parse(&mut reader, rows, columns.len()));
        let parts = parts.transpose()?.map(Arc::new);
        let filters = match has(FILTERED) {
            true => reader.take(columns.len())?,
            false => &[],
        };
        if filters.iter().any(|has| *has > 1) {
            return Err(BlockError::Invalid("an unknown mark of a filter"));
        }
        let identity = match format {
            FORMAT_WITHOUT_IDENTITY => None,
            _ => Some(u64::from_le_bytes(reader.array()?)),
        };
        match reader.0.is_empty() {
            true => Ok(Head {
                rows,
                last_key,
                identity,
                body,
                columns,
                timed,
                parts,
                filters,
            }),
            false => Err(BlockError::Invalid("bytes behind its end")),
        }
    }

    /// Returns what is known of the column with a number; `None` if the block is older than the column.
    pub(crate) fn column(&self, number: usize) -> Option<Known<'a>> {
        let at = self.columns.get(self.numbers().place(number)?)?;
        Some(known_again(self.body, *at, self.rows))
    }

    /// Whether the column with a number has a filter.
    pub(crate) fn has_filter(&self, number: usize) -> bool {
        let place = self.numbers().place(number);
        place.is_some_and(|place| self.filters.get(place) == Some(&1))
    }

    /// Returns the numbers of its columns.
    pub(crate) fn numbers(&self) -> Numbers {
        let times = if self.timed { times::COUNT } else { 0 };
        Numbers {
            named: self.columns.len() - times,
            timed: self.timed,
        }
    }
}

fn known<'a>(reader: &mut Reader<'a>, rows: usize) -> Result<Known<'a>, BlockError> {
    let nulls = reader.u32()? as usize;
    let [kind] = reader.array()?;
    let bounds = match kind {
        NO_BOUNDS => Bounds::None,
        INTEGERS => Bounds::Integers {
            low: i128::from_le_bytes(reader.array()?),
            high: i128::from_le_bytes(reader.array()?),
        },
        BYTES => Bounds::Bytes {
            low: reader.short()?,
            high: reader.short()?,
        },
        _ => return Err(BlockError::Invalid("unknown bounds")),
    };
    Ok(Known { nulls, rows, bounds })
}

/// Reads again what is known of a column, where it was read before.
fn known_again(body: &[u8], at: u32, rows: usize) -> Known<'_> {
    let read = body.get(at as usize..).ok_or(BlockError::Truncated);
    let read = read.and_then(|body| known(&mut Reader(body), rows));
    read.expect("the head was read to its end")
}

/// A head with its bytes, which were checked when it was read from storage.
///
/// Invariant: made by [`BlockHead::parse`], so all places are within the value.
#[derive(Debug)]
pub(crate) struct BlockHead {
    /// Its key as it is stored, and the bytes of that before the block's first key.
    key: Vec<u8>,
    prefix: usize,
    value: Vec<u8>,
    pub(crate) rows: usize,
    pub(crate) identity: Option<u64>,
    pub(crate) numbers: Numbers,
    pub(crate) parts: Option<Arc<Parts>>,
    last_key: Range<usize>,
    /// By place of the column; empty if none has a filter.
    filters: Range<usize>,
    /// By place, where behind the format is what is known of a column.
    columns: Box<[u32]>,
}

impl BlockHead {
    /// Reads the head that is stored under `key`, and checks it.
    pub(crate) fn parse(key: &[u8], value: &[u8]) -> Result<Self, BlockError> {
        let (_, first_key) = Piece::of(key)?;
        let head = Head::parse(key, value)?;
        let within = |part: &[u8]| {
            let start = (part.as_ptr() as usize).wrapping_sub(value.as_ptr() as usize);
            match part.is_empty() {
                true => 0..0,
                false => start..start + part.len(),
            }
        };
        Ok(BlockHead {
            prefix: key.len() - first_key.len(),
            key: key.to_vec(),
            rows: head.rows,
            identity: head.identity,
            numbers: head.numbers(),
            last_key: within(head.last_key),
            filters: within(head.filters),
            columns: head.columns.into(),
            parts: head.parts,
            value: value.to_vec(),
        })
    }

    /// Returns its key and its value, as they are stored.
    pub(crate) fn stored(&self) -> (&[u8], &[u8]) {
        (&self.key, &self.value)
    }

    /// Returns the key of the block's first row.
    pub(crate) fn first_key(&self) -> &[u8] {
        &self.key[self.prefix..]
    }

    /// Returns the key of the block's last row.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.value[self.last_key.clone()]
    }

    /// Returns what is known of the column with a number; `None` if the block is older than the column.
    pub(crate) fn column(&self, number: usize) -> Option<Known<'_>> {
        let at = self.columns.get(self.numbers.place(number)?)?;
        Some(known_again(&self.value[1..], *at, self.rows))
    }

    /// Whether the column with a number has a filter.
    pub(crate) fn has_filter(&self, number: usize) -> bool {
        let place = self.numbers.place(number);
        place.is_some_and(|place| self.value[self.filters.clone()].get(place) == Some(&1))
    }

    /// Returns the bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.parts.as_ref().map_or(0, |parts| parts.bytes());
        size_of::<BlockHead>() + self.key.len() + self.value.len() + parts + 4 * self.columns.len()
    }
}

impl<'a> Known<'a> {
    /// Whether some rows are NULL.
    pub(crate) fn has_nulls(&self) -> bool {
        self.nulls > 0
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many rows are NULL.
    pub(crate) fn nulls(&self) -> usize {
        self.nulls
    }

    /// Returns what the values lie between; of long byte strings the first bytes.
    pub(crate) fn bounds(&self) -> Bounds<'a> {
        self.bounds
    }

    /// Whether a byte string may be the beginning of a longer one.
    pub(crate) fn is_cut(bytes: &[u8]) -> bool {
        bytes.len() >= PREFIX_MAX
    }

    /// Whether a row can pass the test.
    pub(crate) fn meets(&self, test: &Test) -> bool {
        let values = match self.bounds {
            Bounds::None => false,
            Bounds::Integers { low, high } => test.meets_integers(low, high),
            Bounds::Bytes { low, high } => test.meets_bytes(low, high),
        };
        values || (self.nulls > 0 && test.takes_null())
    }

    /// Whether all rows pass the test.
    pub(crate) fn holds(&self, test: &Test) -> bool {
        let values = match self.bounds {
            Bounds::None => true,
            Bounds::Integers { low, high } => test.holds_integers(low, high),
            Bounds::Bytes { low, high } => test.holds_bytes(low, high),
        };
        // Without bounds there are NULLs only.
        (values || self.nulls == self.rows) && (self.nulls == 0 || test.takes_null())
    }
}

/// Bytes being read from their start.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], BlockError> {
        let (taken, rest) = crate::columnar::values::packed::split(self.0, count)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BlockError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(BlockError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, BlockError> {
        self.array().map(u32::from_le_bytes)
    }

    /// A byte string of up to 255 bytes behind its length.
    fn short(&mut self) -> Result<&'a [u8], BlockError> {
        let [length] = self.array()?;
        self.take(usize::from(length))
    }
}
