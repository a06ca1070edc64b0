//! Conditions on one column, evaluated on its encoded values: the masked compares of columnar indexes.

use crate::columnar::stored::filter;
use crate::columnar::values::mask::retain;
use crate::columnar::values::vector;
use crate::columnar::values::vector::{Class, ColumnVector, Values, class_of};
use rukh_catalog::ColumnId;
use rukh_keys::{DataType, Datum, DatumRef, ValueError};
use std::ops::{Bound, Range};

/// A condition on one column: that its value lies in one of some ranges, or is NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTest {
    /// The column.
    pub column: ColumnId,
    /// The ranges, ascending and disjoint, over datums of the column's type and in their order.
    pub ranges: Vec<(Bound<Datum>, Bound<Datum>)>,
    /// Whether NULL fulfils the condition.
    pub null: bool,
}

/// A range of byte strings.
type BytesRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A condition, ready to be evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    integers: Vec<(i128, i128)>,
    bytes: Vec<BytesRange>,
    null: bool,
    /// The hashes of the values that pass, if these are few and nothing else does but NULL.
    hashes: Option<Vec<u64>>,
}

/// Most values that are looked for in filters.
const HASHES_MAX: usize = 256;

impl Test {
    /// Makes a condition on a column of this type ready; fails on datums of another.
    pub(crate) fn new(ty: DataType, test: &ColumnTest) -> Result<Test, ValueError> {
        let mut ready = Test {
            integers: Vec::new(),
            bytes: Vec::new(),
            null: test.null,
            hashes: None,
        };
        for (low, high) in &test.ranges {
            match class_of(&ty) {
                Class::Bytes => ready.bytes.push((bytes(&ty, low)?, bytes(&ty, high)?)),
                Class::Int | Class::Wide => {
                    let range = (least(&ty, low)?, greatest(&ty, high)?);
                    ready.integers.extend((range.0 <= range.1).then_some(range));
                }
            }
        }
        ready.hashes = ready.values_hashed();
        Ok(ready)
    }

    fn values_hashed(&self) -> Option<Vec<u64>> {
        if self.integers.len() + self.bytes.len() > HASHES_MAX {
            return None;
        }
        let integers = self.integers.iter();
        let integers = integers.map(|(low, high)| (low == high).then(|| filter::hash_of_integer(*low)));
        let bytes = self.bytes.iter().map(|range| match range {
            (Bound::Included(low), Bound::Included(high)) if low == high => Some(filter::hash_of_bytes(low)),
            _ => None,
        });
        integers.chain(bytes).collect()
    }

    /// Returns the hashes of the values that pass, if these are few and nothing else does but NULL.
    pub(crate) fn hashes(&self) -> Option<&[u64]> {
        self.hashes.as_deref()
    }

    pub(crate) fn integers(&self) -> &[(i128, i128)] {
        &self.integers
    }

    pub(crate) fn bytes(&self) -> &[BytesRange] {
        &self.bytes
    }

    pub(crate) fn takes_null(&self) -> bool {
        self.null
    }

    pub(crate) fn takes_integer(&self, value: i128) -> bool {
        let behind = self.integers.partition_point(|(low, _)| *low <= value);
        self.integers[..behind]
            .last()
            .is_some_and(|(_, high)| value <= *high)
    }

    pub(crate) fn takes_bytes(&self, value: &[u8]) -> bool {
        let behind = self.bytes.partition_point(|range| is_from(&range.0, value));
        let last = self.bytes[..behind].last();
        last.is_some_and(|range| is_until(&range.1, value))
    }

    /// Whether a datum of the column's type passes.
    pub(crate) fn takes(&self, ty: DataType, datum: &DatumRef<'_>) -> bool {
        if datum.is_null() {
            return self.null;
        }
        match vector::bytes_of(&ty, datum) {
            Some(bytes) => self.takes_bytes(bytes),
            None => vector::wide_of(&ty, datum).is_some_and(|value| self.takes_integer(value)),
        }
    }

    /// Leaves those of some rows of a vector that are left already and pass; the mask has a byte for each.
    pub(crate) fn leave(&self, column: &ColumnVector, rows: Range<usize>, mask: &mut [u8]) {
        let nulls = column.nulls().map(|nulls| &nulls[rows.clone()]);
        let null_rows: Vec<usize> = match nulls {
            None => Vec::new(),
            Some(nulls) => (0..mask.len())
                .filter(|row| nulls[*row] && mask[*row] != 0)
                .collect(),
        };
        match (column.values(), self.integers.as_slice()) {
            (Values::Int(values), [range]) => {
                let [low, high] = [range.0, range.1].map(clamped);
                let is_within = |value: i64| u8::from(low <= value) & u8::from(value <= high);
                // A range that has no integer of 64 bits is clamped to one that has one.
                let has_any = u8::from(range.0 <= i128::from(i64::MAX) && range.1 >= i128::from(i64::MIN));
                for (left, value) in mask.iter_mut().zip(&values[rows]) {
                    *left &= is_within(*value) & has_any;
                }
            }
            (Values::Int(values), _) => {
                let values = &values[rows];
                retain(mask, |row| self.takes_integer(i128::from(values[row])));
            }
            (Values::Wide(values), _) => {
                let values = &values[rows];
                retain(mask, |row| self.takes_integer(values[row]));
            }
            (Values::Bytes(strings), _) => {
                retain(mask, |row| self.takes_bytes(strings.get(rows.start + row)));
            }
            (Values::Coded(coded), _) => {
                retain(mask, |row| self.takes_bytes(coded.get(rows.start + row)));
            }
        }
        null_rows
            .into_iter()
            .for_each(|row| mask[row] = u8::from(self.null));
    }

    /// Whether a value can pass that is no integer below `low` and none above `high`.
    pub(crate) fn meets_integers(&self, low: i128, high: i128) -> bool {
        self.integers
            .iter()
            .any(|range| range.0 <= high && low <= range.1)
    }

    /// Whether all integers from `low` to `high` pass.
    pub(crate) fn holds_integers(&self, low: i128, high: i128) -> bool {
        self.integers
            .iter()
            .any(|range| range.0 <= low && high <= range.1)
    }

    /// Whether a value can pass that is at least `low`, and at most `high` or something that begins
    /// with it.
    pub(crate) fn meets_bytes(&self, low: &[u8], high: &[u8]) -> bool {
        self.bytes.iter().any(|range| {
            let ends_before = match &range.1 {
                Bound::Unbounded => false,
                Bound::Included(end) => end.as_slice() < low,
                Bound::Excluded(end) => end.as_slice() <= low,
            };
            let starts_behind = match &range.0 {
                Bound::Unbounded => false,
                Bound::Included(start) | Bound::Excluded(start) => {
                    start.as_slice() > high && !start.starts_with(high)
                }
            };
            !ends_before && !starts_behind
        })
    }

    /// Whether all values pass that are at least `low`, and at most `high` or begin with it.
    pub(crate) fn holds_bytes(&self, low: &[u8], high: &[u8]) -> bool {
        self.bytes.iter().any(|range| {
            let from_start = match &range.0 {
                Bound::Unbounded => true,
                Bound::Included(start) => start.as_slice() <= low,
                Bound::Excluded(start) => start.as_slice() < low,
            };
            let to_end = match &range.1 {
                Bound::Unbounded => true,
                Bound::Included(end) | Bound::Excluded(end) => {
                    end.as_slice() > high && !end.starts_with(high)
                }
            };
            from_start && to_end
        })
    }
}

/// Returns the integer of 64 bits that comes nearest.
fn clamped(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Whether a value lies behind the start of a range, or at it.
fn is_from(low: &Bound<Vec<u8>>, value: &[u8]) -> bool {
    match low {
        Bound::Unbounded => true,
        Bound::Included(low) => low.as_slice() <= value,
        Bound::Excluded(low) => low.as_slice() < value,
    }
}

/// Whether a value lies before the end of a range, or at it.
fn is_until(high: &Bound<Vec<u8>>, value: &[u8]) -> bool {
    match high {
        Bound::Unbounded => true,
        Bound::Included(high) => value <= high.as_slice(),
        Bound::Excluded(high) => value < high.as_slice(),
    }
}

/// A range of byte strings, of which the first eight bytes nearly always decide whether a value lies in it.
///
/// | range          | value  | first bytes, zeros behind the end   |
/// |----------------|--------|-------------------------------------|
/// | `'b'` to `'d'` | `'a…'` | less than those of the start: no    |
/// |                | `'c…'` | between: yes                        |
/// |                | `'b…'` | the same: all bytes are compared    |
pub(crate) struct Within<'t> {
    range: &'t BytesRange,
    low: u64,
    high: u64,
}

impl<'t> Within<'t> {
    pub(crate) fn new(range: &'t BytesRange) -> Self {
        let first_bytes_of = |bound: &Bound<Vec<u8>>, none: u64| match bound {
            Bound::Unbounded => none,
            Bound::Included(value) | Bound::Excluded(value) => first_bytes(value),
        };
        Within {
            range,
            low: first_bytes_of(&range.0, 0),
            high: first_bytes_of(&range.1, u64::MAX),
        }
    }

    /// Whether a value lies in the range.
    #[inline]
    pub(crate) fn takes(&self, value: &[u8]) -> bool {
        let first = first_bytes(value);
        if first == self.low || first == self.high {
            return is_from(&self.range.0, value) && is_until(&self.range.1, value);
        }
        (first > self.low) & (first < self.high)
    }
}

/// Returns the first eight bytes as a number, as if there were zeros behind the end.
#[inline]
fn first_bytes(value: &[u8]) -> u64 {
    match value.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..value.len()].copy_from_slice(value);
            u64::from_be_bytes(first)
        }
    }
}

fn mismatch(ty: &DataType, datum: &Datum) -> ValueError {
    ValueError::TypeMismatch {
        ty: *ty,
        found: datum.kind_name(),
    }
}

fn bytes(ty: &DataType, bound: &Bound<Datum>) -> Result<Bound<Vec<u8>>, ValueError> {
    let of = |datum: &Datum| {
        let borrowed = datum.as_ref();
        let bytes = vector::bytes_of(ty, &borrowed).map(<[u8]>::to_vec);
        bytes.ok_or_else(|| mismatch(ty, datum))
    };
    Ok(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(datum) => Bound::Included(of(datum)?),
        Bound::Excluded(datum) => Bound::Excluded(of(datum)?),
    })
}

/// The integer of a datum, and how the datum compares with what that integer stands for: a REAL is
/// compared with floats that are none.
fn placed(ty: &DataType, datum: &Datum) -> Result<(i128, std::cmp::Ordering), ValueError> {
    if let (DataType::Real, Datum::Float(value)) = (ty, datum) {
        let real = Datum::Float(f64::from(*value as f32));
        let rank = i128::from(vector::real_rank(*value as f32));
        return Ok((rank, datum.cmp(&real)));
    }
    let value = vector::wide_of(ty, &datum.as_ref());
    let value = value.ok_or_else(|| mismatch(ty, datum))?;
    Ok((value, std::cmp::Ordering::Equal))
}

/// The least integer behind a lower bound.
fn least(ty: &DataType, bound: &Bound<Datum>) -> Result<i128, ValueError> {
    Ok(match bound {
        Bound::Unbounded => i128::MIN,
        Bound::Included(datum) => match placed(ty, datum)? {
            (value, std::cmp::Ordering::Greater) => value.saturating_add(1),
            (value, _) => value,
        },
        Bound::Excluded(datum) => match placed(ty, datum)? {
            (value, std::cmp::Ordering::Less) => value,
            (value, _) => value.saturating_add(1),
        },
    })
}

/// The greatest integer before an upper bound.
fn greatest(ty: &DataType, bound: &Bound<Datum>) -> Result<i128, ValueError> {
    Ok(match bound {
        Bound::Unbounded => i128::MAX,
        Bound::Included(datum) => match placed(ty, datum)? {
            (value, std::cmp::Ordering::Less) => value.saturating_sub(1),
            (value, _) => value,
        },
        Bound::Excluded(datum) => match placed(ty, datum)? {
            (value, std::cmp::Ordering::Greater) => value,
            (value, _) => value.saturating_sub(1),
        },
    })
}

/// Returns the test that the lives of rows pass which began at `least` or later, or are unknown where `untold` says so.
pub(crate) fn life_test(least: Option<i64>, untold: bool) -> ColumnTest {
    use std::ops::Bound::{Included, Unbounded};
    let least = least.map_or(Unbounded, |least| Included(Datum::Int(least)));
    ColumnTest {
        column: ColumnId::LIFE,
        ranges: vec![(least, Unbounded)],
        null: untold,
    }
}
