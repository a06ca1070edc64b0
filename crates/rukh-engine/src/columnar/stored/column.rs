//! One column of one block, as it is stored: values of one class, NULLs apart, encoded, checksummed.
//!
//! ```text
//! format     1 byte    0x01
//! rows       4 bytes   number of rows, at most 65,536
//! kind       1 byte    0 all NULL, 1 integers, 2 wide integers, 3 dictionary, 4 bytes
//! has nulls  1 byte    1 if some rows are NULL and others are not, else 0
//! nulls      ⌈rows/8⌉  if so: bit i (least significant first) is set iff row i is NULL
//! values               by kind
//! checksum   8 bytes   XXH3 of all before, seeded with the XXH3 of the key
//!
//! all NULL       nothing
//! integers       packed (`packed`)
//! wide integers  rows × 16 bytes
//! dictionary     count u32, count × end u32, the values in ascending order; then packed: which of them
//! bytes          rows × end u32, the values
//! ```
//!
//! Numbers are little-endian. The checksum covers the key, so that a value under the key of another is
//! noticed too. `docs/columnar-format.md` is the specification.

use crate::columnar::BlockError;
use crate::columnar::values::dictionary;
use crate::columnar::values::mask;
use crate::columnar::values::packed::{Packed, Trust, pack, split};
use crate::columnar::values::test::{Test, Within};
use crate::columnar::values::vector;
use crate::columnar::values::vector::{Class, ColumnVector, SHORT, Values, class_of};
use rukh_keys::{DataType, Datum, DatumRef, ValueError};
use std::cmp::Ordering;
use std::ops::Range;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first byte of every column.
pub(crate) const FORMAT: u8 = 1;

/// Most rows of a block.
pub(crate) const ROWS_MAX: usize = 1 << 16;

/// Bytes of the checksum at the end.
const CHECKSUM_LEN: usize = 8;

const ALL_NULL: u8 = 0;
const INTEGERS: u8 = 1;
const WIDE: u8 = 2;
const DICTIONARY: u8 = 3;
const BYTES: u8 = 4;

/// Appends the checksum of a value that goes under `key`.
pub(crate) fn seal(key: &[u8], value: &mut Vec<u8>) {
    let checksum = xxh3_64_with_seed(value, xxh3_64(key));
    value.extend_from_slice(&checksum.to_le_bytes());
}

/// Returns a value without its checksum, which must be right: its format, and what is behind that.
pub(crate) fn unseal<'a>(key: &[u8], value: &'a [u8]) -> Result<(u8, &'a [u8]), BlockError> {
    let (body, checksum) = split_checksum(value)?;
    if xxh3_64_with_seed(body, xxh3_64(key)).to_le_bytes() != checksum {
        return Err(BlockError::Checksum);
    }
    let (format, rest) = body.split_first().ok_or(BlockError::Truncated)?;
    Ok((*format, rest))
}

/// As [`unseal`], of a value whose checksum was right before.
pub(crate) fn unsealed(value: &[u8]) -> Result<(u8, &[u8]), BlockError> {
    let (body, _) = split_checksum(value)?;
    let (format, rest) = body.split_first().ok_or(BlockError::Truncated)?;
    Ok((*format, rest))
}

fn split_checksum(value: &[u8]) -> Result<(&[u8], [u8; CHECKSUM_LEN]), BlockError> {
    let (body, checksum) = value.split_last_chunk().ok_or(BlockError::Truncated)?;
    Ok((body, *checksum))
}

/// Returns what identifies the contents of a block among those under the same key: the XXH3 of the checksums of its columns.
pub(crate) fn identity<'a>(columns: impl Iterator<Item = &'a [u8]>) -> Result<u64, BlockError> {
    let mut checksums = Vec::new();
    for value in columns {
        checksums.extend_from_slice(&split_checksum(value)?.1);
    }
    Ok(xxh3_64(&checksums))
}

/// Encodes some rows of a column to be stored under `key`.
pub(crate) fn encode(key: &[u8], vector: &ColumnVector, rows: Range<usize>) -> Vec<u8> {
    let mut out = vec![FORMAT];
    out.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    let nulls = rows.clone().filter(|row| vector.is_null(*row)).count();
    if nulls == rows.len() {
        out.extend_from_slice(&[ALL_NULL, 0]);
        seal(key, &mut out);
        return out;
    }
    let kind = out.len();
    out.extend_from_slice(&[INTEGERS, u8::from(nulls > 0)]);
    if nulls > 0 {
        let start = out.len();
        out.resize(start + rows.len().div_ceil(8), 0);
        for (at, row) in rows.clone().enumerate() {
            out[start + at / 8] |= u8::from(vector.is_null(row)) << (at % 8);
        }
    }
    // A row that is NULL takes the value before it, which costs least.
    let mut last = rows
        .clone()
        .find(|row| !vector.is_null(*row))
        .unwrap_or(rows.start);
    let filled = rows.map(|row| {
        if !vector.is_null(row) {
            last = row;
        }
        last
    });
    let filled: Vec<usize> = filled.collect();
    out[kind] = match vector.values() {
        Values::Int(values) => {
            let values: Vec<i64> = filled.iter().map(|row| values[*row]).collect();
            pack(&values, &mut out);
            INTEGERS
        }
        Values::Wide(values) => encode_wide(values, &filled, &mut out),
        Values::Bytes(strings) => encode_bytes(strings, &filled, &mut out),
        Values::Coded(coded) => {
            let strings = coded.strings().expect("the text of a block is bounded");
            encode_bytes(&strings, &filled, &mut out)
        }
    };
    seal(key, &mut out);
    out
}

/// Encodes a column that has one value in all of so many rows.
pub(crate) fn encode_constant(
    key: &[u8],
    ty: DataType,
    datum: &Datum,
    rows: usize,
) -> Result<Vec<u8>, ValueError> {
    let mut vector = ColumnVector::new(ty);
    for _ in 0..rows {
        vector.push(&datum.as_ref())?;
    }
    Ok(encode(key, &vector, 0..rows))
}

fn encode_wide(values: &[i128], rows: &[usize], out: &mut Vec<u8>) -> u8 {
    let narrow: Result<Vec<i64>, _> = rows.iter().map(|row| i64::try_from(values[*row])).collect();
    match narrow {
        Ok(narrow) => {
            pack(&narrow, out);
            INTEGERS
        }
        Err(_) => {
            rows.iter()
                .for_each(|row| out.extend_from_slice(&values[*row].to_le_bytes()));
            WIDE
        }
    }
}

fn encode_bytes(strings: &vector::Strings, rows: &[usize], out: &mut Vec<u8>) -> u8 {
    match dictionary::encode(strings, rows, out) {
        true => DICTIONARY,
        false => BYTES,
    }
}

/// A value that is looked for in a column, as columns store it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sought<'a> {
    Null,
    Integer(i128),
    Bytes(&'a [u8]),
}

/// Returns a datum of a type as what [`Column::compare`] takes; `None` if it is of another type.
pub(crate) fn sought<'d>(ty: DataType, datum: &'d DatumRef<'_>) -> Option<Sought<'d>> {
    if datum.is_null() {
        return Some(Sought::Null);
    }
    match class_of(&ty) {
        Class::Bytes => vector::bytes_of(&ty, datum).map(Sought::Bytes),
        Class::Int | Class::Wide => vector::wide_of(&ty, datum).map(Sought::Integer),
    }
}

/// A stored column of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    ty: DataType,
    rows: usize,
    nulls: Option<&'a [u8]>,
    values: Encoded<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Encoded<'a> {
    AllNull,
    Integers(Packed<'a>),
    Wide(&'a [[u8; 16]]),
    Dictionary { values: Strings<'a>, codes: Packed<'a> },
    Bytes(Strings<'a>),
}

/// Stored byte strings.
///
/// Invariant: the ends ascend, and the last is the length of `data`.
#[derive(Clone, Copy, Debug)]
struct Strings<'a> {
    ends: &'a [[u8; 4]],
    data: &'a [u8],
}

impl<'a> Strings<'a> {
    fn parse(bytes: &'a [u8], count: usize, trust: Trust) -> Result<(Self, &'a [u8]), BlockError> {
        let (ends, rest) = split(bytes, count.saturating_mul(4))?;
        let (ends, _) = ends.as_chunks();
        let mut before = match (trust, ends.last()) {
            (Trust::Parsed, Some(last)) => u32::from_le_bytes(*last),
            _ => 0,
        };
        let ends_to_check = if trust == Trust::Parsed { &[][..] } else { ends };
        for end in ends_to_check {
            let end = u32::from_le_bytes(*end);
            if end < before {
                return Err(BlockError::Invalid("ends that do not ascend"));
            }
            before = end;
        }
        let (data, rest) = split(rest, before as usize)?;
        Ok((Strings { ends, data }, rest))
    }

    /// Returns them with their lengths, if none is long.
    fn short(&self) -> Option<Vec<([u8; SHORT], u8)>> {
        let one = |at: usize| {
            let value = self.get(at);
            let mut bytes = [0; SHORT];
            bytes.get_mut(..value.len())?.copy_from_slice(value);
            Some((bytes, value.len() as u8))
        };
        (0..self.ends.len()).map(one).collect()
    }

    #[inline]
    fn get(&self, at: usize) -> &'a [u8] {
        let start = at
            .checked_sub(1)
            .map_or(0, |before| u32::from_le_bytes(self.ends[before]));
        &self.data[start as usize..u32::from_le_bytes(self.ends[at]) as usize]
    }
}

impl<'a> Column<'a> {
    /// Reads what is stored under `key` for a column of this type.
    pub(crate) fn parse(ty: DataType, key: &[u8], value: &'a [u8]) -> Result<Self, BlockError> {
        match unseal(key, value)? {
            (FORMAT, body) => Column::parse_body(ty, body, Trust::None),
            (format, _) => Err(BlockError::UnknownFormat { format }),
        }
    }

    /// Reads again what was read by [`Column::parse`], without going through it all.
    pub(crate) fn parse_again(ty: DataType, value: &'a [u8]) -> Result<Self, BlockError> {
        let (_, body) = unsealed(value)?;
        Column::parse_body(ty, body, Trust::Parsed)
    }

    fn parse_body(ty: DataType, body: &'a [u8], trust: Trust) -> Result<Self, BlockError> {
        let (rows, rest) = body.split_first_chunk().ok_or(BlockError::Truncated)?;
        let rows = u32::from_le_bytes(*rows) as usize;
        if rows > ROWS_MAX {
            return Err(BlockError::TooLarge);
        }
        let ([kind, has_nulls], rest) = rest.split_first_chunk().ok_or(BlockError::Truncated)?;
        let (nulls, rest) = match has_nulls {
            0 => (None, rest),
            1 => {
                let (nulls, rest) = split(rest, rows.div_ceil(8))?;
                (Some(nulls), rest)
            }
            _ => return Err(BlockError::Invalid("an unknown mark of NULLs")),
        };
        let (values, rest) = parse_values(&ty, *kind, rows, rest, trust)?;
        match rest.is_empty() {
            true => Ok(Column {
                ty,
                rows,
                nulls,
                values,
            }),
            false => Err(BlockError::Invalid("bytes behind its end")),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    fn is_null(&self, row: usize) -> bool {
        match self.nulls {
            None => matches!(self.values, Encoded::AllNull),
            Some(bits) => bits[row / 8] & (1 << (row % 8)) != 0,
        }
    }

    /// Returns the datum of a row.
    pub(crate) fn datum(&self, row: usize) -> Result<DatumRef<'a>, BlockError> {
        if self.is_null(row) {
            return Ok(DatumRef::Null);
        }
        match &self.values {
            Encoded::AllNull => Ok(DatumRef::Null),
            Encoded::Integers(packed) if class_of(&self.ty) == Class::Wide => {
                Ok(vector::wide_datum(&self.ty, i128::from(packed.get(row))))
            }
            Encoded::Integers(packed) => vector::int_datum(&self.ty, packed.get(row)),
            Encoded::Wide(values) => Ok(vector::wide_datum(&self.ty, i128::from_le_bytes(values[row]))),
            Encoded::Dictionary { values, codes } => {
                vector::bytes_datum(&self.ty, values.get(codes.get(row) as usize))
            }
            Encoded::Bytes(strings) => vector::bytes_datum(&self.ty, strings.get(row)),
        }
    }

    /// Compares the value of a row with one sought, NULLs last.
    #[inline]
    pub(crate) fn compare(&self, row: usize, sought: &Sought<'_>) -> Ordering {
        if self.is_null(row) {
            return match sought {
                Sought::Null => Ordering::Equal,
                _ => Ordering::Greater,
            };
        }
        match (&self.values, sought) {
            (_, Sought::Null) => Ordering::Less,
            (Encoded::Integers(packed), Sought::Integer(sought)) => i128::from(packed.get(row)).cmp(sought),
            (Encoded::Wide(values), Sought::Integer(sought)) => i128::from_le_bytes(values[row]).cmp(sought),
            (Encoded::Dictionary { values, codes }, Sought::Bytes(sought)) => {
                values.get(codes.get(row) as usize).cmp(sought)
            }
            (Encoded::Bytes(strings), Sought::Bytes(sought)) => strings.get(row).cmp(sought),
            // `Sought` is of the column's class, and so are its values.
            _ => Ordering::Less,
        }
    }

    /// Sets to 0 what `mask`, a byte of 0 or 1 for each row, has for rows that the test refuses.
    pub(crate) fn test(&self, test: &Test, mask: &mut [u8]) {
        let nulls = match (&self.values, self.nulls) {
            (Encoded::AllNull, _) if test.takes_null() => return,
            (Encoded::AllNull, _) => return mask.fill(0),
            (_, None) => return self.test_values(test, mask),
            (_, Some(nulls)) => nulls,
        };
        let before = test.takes_null().then(|| mask.to_vec());
        self.test_values(test, mask);
        // What stands for NULL among the values was tested as one of them.
        for (nth, bits) in nulls.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            for row in (8 * nth..mask.len().min(8 * nth + 8)).filter(|row| (bits >> (row % 8)) & 1 == 1) {
                mask[row] = before.as_ref().map_or(0, |before| before[row]);
            }
        }
    }

    fn test_values(&self, test: &Test, mask: &mut [u8]) {
        match &self.values {
            Encoded::AllNull => {}
            Encoded::Integers(packed) => packed.test(test.integers(), mask),
            Encoded::Wide(values) => {
                mask::retain(mask, |row| test.takes_integer(i128::from_le_bytes(values[row])))
            }
            Encoded::Dictionary { values, codes } => {
                let takes = |code: usize| test.takes_bytes(values.get(code));
                codes.test(&code_ranges((0..values.ends.len()).map(takes)), mask);
            }
            Encoded::Bytes(strings) => match test.bytes() {
                [range] => {
                    let within = Within::new(range);
                    mask::retain(mask, |row| within.takes(strings.get(row)));
                }
                _ => mask::retain(mask, |row| test.takes_bytes(strings.get(row))),
            },
        }
    }

    /// Appends all rows to a vector of the same type.
    pub(crate) fn read_all(&self, out: &mut ColumnVector) -> Result<(), BlockError> {
        let mut nulls = (0..self.rows).map(|row| self.is_null(row));
        out.extend(self.some_null().then_some(&mut nulls), |out| {
            match (&self.values, out) {
                (Encoded::Integers(packed), Values::Int(out)) => {
                    packed.unpack(out);
                    Ok(())
                }
                (Encoded::Bytes(strings), Values::Bytes(out)) => out.extend_all(strings.ends, strings.data),
                (_, out) => self.read_values(0..self.rows, out),
            }
        })
    }

    /// Appends some rows to a vector of the same type.
    pub(crate) fn read_rows(&self, rows: &[u32], out: &mut ColumnVector) -> Result<(), BlockError> {
        let each = || rows.iter().map(|row| *row as usize);
        let mut nulls = each().map(|row| self.is_null(row));
        out.extend(self.some_null().then_some(&mut nulls), |out| {
            self.read_values(each(), out)
        })
    }

    fn some_null(&self) -> bool {
        self.nulls.is_some() || matches!(self.values, Encoded::AllNull)
    }

    fn read_values(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        out: &mut Values,
    ) -> Result<(), BlockError> {
        match (&self.values, out) {
            (Encoded::AllNull, Values::Int(out)) => out.extend(rows.map(|_| 0)),
            (Encoded::AllNull, Values::Wide(out)) => out.extend(rows.map(|_| 0)),
            (Encoded::AllNull, Values::Bytes(out)) => {
                for _ in rows {
                    out.push(&[])?;
                }
            }
            (Encoded::AllNull, Values::Coded(out)) => {
                for _ in rows {
                    out.push(&[])?;
                }
            }
            (Encoded::Integers(packed), Values::Int(out)) => packed.read(rows, out, |value| value),
            (Encoded::Integers(packed), Values::Wide(out)) => packed.read(rows, out, i128::from),
            (Encoded::Wide(values), Values::Wide(out)) => {
                out.extend(rows.map(|row| i128::from_le_bytes(values[row])));
            }
            (Encoded::Dictionary { values, codes }, Values::Bytes(out))
                if rows.len() * MANY_SHARE >= self.rows =>
            {
                let codes = unpacked(codes, self.rows);
                let few = values.ends.len() * MANY_SHARE <= self.rows;
                if let Some(values) = few.then(|| values.short()).flatten() {
                    return out.extend_short(&values, rows.map(|row| codes[row] as usize));
                }
                for row in rows {
                    out.push(values.get(codes[row] as usize))?;
                }
            }
            (Encoded::Dictionary { values, codes }, Values::Bytes(out)) => {
                for row in rows {
                    out.push(values.get(codes.get(row) as usize))?;
                }
            }
            (Encoded::Bytes(strings), Values::Bytes(out)) => {
                for row in rows {
                    out.push(strings.get(row))?;
                }
            }
            (Encoded::Dictionary { values, codes }, Values::Coded(out))
                if values.ends.len() <= rows.len() =>
            {
                let before = out.extend_values((0..values.ends.len()).map(|code| values.get(code)))?;
                codes.read(rows, &mut out.codes, |code| before + code as u32);
            }
            (Encoded::Dictionary { values, codes }, Values::Coded(out)) => {
                for row in rows {
                    out.push(values.get(codes.get(row) as usize))?;
                }
            }
            (Encoded::Bytes(strings), Values::Coded(out)) => {
                for row in rows {
                    out.push(strings.get(row))?;
                }
            }
            _ => return Err(BlockError::Invalid("values of another type")),
        }
        Ok(())
    }

    /// Names the encoding, for `dump`.
    pub(crate) fn encoding(&self) -> &'static str {
        match self.values {
            Encoded::AllNull => "null",
            Encoded::Integers(packed) => packed.form_name(),
            Encoded::Wide(_) => "wide",
            Encoded::Dictionary { .. } => "dictionary",
            Encoded::Bytes(_) => "bytes",
        }
    }
}

/// Where one in so many rows of a column is wanted, all are unpacked at once, which costs less than each by itself.
const MANY_SHARE: usize = 4;

fn unpacked(packed: &Packed<'_>, rows: usize) -> Vec<i64> {
    let mut values = Vec::with_capacity(rows);
    packed.unpack(&mut values);
    values
}

fn parse_values<'a>(
    ty: &DataType,
    kind: u8,
    rows: usize,
    bytes: &'a [u8],
    trust: Trust,
) -> Result<(Encoded<'a>, &'a [u8]), BlockError> {
    Ok(match (kind, class_of(ty)) {
        (ALL_NULL, _) => (Encoded::AllNull, bytes),
        (INTEGERS, Class::Int | Class::Wide) => {
            let (packed, rest) = Packed::parse(bytes, rows, trust)?;
            (Encoded::Integers(packed), rest)
        }
        (WIDE, Class::Wide) => {
            let (values, rest) = split(bytes, rows * 16)?;
            (Encoded::Wide(values.as_chunks().0), rest)
        }
        (DICTIONARY, Class::Bytes) => {
            let (count, rest) = bytes.split_first_chunk().ok_or(BlockError::Truncated)?;
            let count = u32::from_le_bytes(*count) as usize;
            let (values, rest) = Strings::parse(rest, count, trust)?;
            let (codes, rest) = Packed::parse(rest, rows, trust)?;
            if trust == Trust::None && !codes.is_within(count) {
                return Err(BlockError::Invalid("codes outside of its dictionary"));
            }
            (Encoded::Dictionary { values, codes }, rest)
        }
        (BYTES, Class::Bytes) => {
            let (strings, rest) = Strings::parse(bytes, rows, trust)?;
            (Encoded::Bytes(strings), rest)
        }
        (0..=BYTES, _) => return Err(BlockError::Invalid("values of another type")),
        _ => return Err(BlockError::Invalid("an unknown encoding")),
    })
}

/// Returns the codes that are taken, as ranges.
fn code_ranges(taken: impl Iterator<Item = bool>) -> Vec<(i128, i128)> {
    let mut ranges: Vec<(i128, i128)> = Vec::new();
    for (code, taken) in taken.enumerate() {
        let code = code as i128;
        match ranges.last_mut() {
            _ if !taken => {}
            Some(last) if last.1 == code - 1 => last.1 = code,
            _ => ranges.push((code, code)),
        }
    }
    ranges
}

/// The smallest and greatest value of some rows of a column, for its block's head.
pub(crate) fn bounds(vector: &ColumnVector, rows: Range<usize>) -> Bounds<'_> {
    let not_null = rows.filter(|row| !vector.is_null(*row));
    match vector.values() {
        Values::Int(values) => {
            let range = not_null.map(|row| values[row]);
            Bounds::integers(range.map(i128::from))
        }
        Values::Wide(values) => Bounds::integers(not_null.map(|row| values[row])),
        Values::Bytes(strings) => Bounds::bytes(not_null.map(|row| strings.get(row))),
        Values::Coded(coded) => Bounds::bytes(not_null.map(|row| coded.get(row))),
    }
}

/// What lies between two values, both of them included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds<'a> {
    None,
    Integers { low: i128, high: i128 },
    Bytes { low: &'a [u8], high: &'a [u8] },
}

impl Bounds<'static> {
    fn integers(values: impl Iterator<Item = i128>) -> Self {
        let bounds = values.fold(None, |bounds, value| match bounds {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        bounds.map_or(Bounds::None, |(low, high)| Bounds::Integers { low, high })
    }
}

impl<'a> Bounds<'a> {
    fn bytes(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut bounds = None;
        for value in values {
            let (low, high) = bounds.get_or_insert((value, value));
            *low = value.min(*low);
            *high = value.max(*high);
        }
        bounds.map_or(Bounds::None, |(low, high)| Bounds::Bytes { low, high })
    }
}
