//! Tests of one column inside an encoded key: which byte values its field may have.

use crate::datum::Datum;
use crate::decode::section_start;
use crate::encode::{Placed, TAG_NULL, TAG_VALUE, place_slot};
use crate::layout::{Form, KeyLayout, Slot};
use crate::range::{Edge, KeyRange, pass_column};
use std::fmt;
use std::sync::Arc;

/// One end of an interval of values: the value and whether it belongs to it; `None` is unbounded.
pub type Bound<'a> = Option<(&'a Datum, Edge)>;

/// The test of one column, made by [`KeyLayout::field_test`], run by
/// [`MaskedCompare`](crate::MaskedCompare).
///
/// Displays as the place, as [`Field`](crate::Field) counts it, and the byte values allowed: `bytes 4..8 in 80000005 - ffffffff`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldTest {
    /// The columns of variable width behind which the section begins that `offset` is counted in.
    pub(crate) passed: Arc<[Slot]>,
    pub(crate) offset: usize,
    pub(crate) allowed: Allowed,
    /// For each byte of the section before its variable column, the bits that can differ.
    pub(crate) live_bits: Arc<[u8]>,
}

/// The values a field may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Allowed {
    /// A bit of one byte.
    Bit {
        /// The bit; 0 is the highest.
        bit: u8,
        /// Whether it may be 0.
        zero: bool,
        /// Whether it may be 1.
        one: bool,
    },
    /// A field of `width` bytes. Invariant: the intervals are inclusive, of `width` bytes,
    /// sorted, disjoint, and do not touch.
    Fixed {
        /// The bytes of the field.
        width: usize,
        /// The smallest and the greatest value of each interval.
        intervals: Vec<(Vec<u8>, Vec<u8>)>,
    },
    /// The rest of the key from the offset on, of any length. Invariant: sorted and disjoint.
    Rest {
        /// The ranges in which the rest may lie.
        ranges: Vec<KeyRange>,
    },
}

impl FieldTest {
    /// The bytes of the field, or `None` if it goes on to a terminator or to the end of the key.
    pub fn width(&self) -> Option<usize> {
        match &self.allowed {
            Allowed::Bit { .. } => Some(1),
            Allowed::Fixed { width, .. } => Some(*width),
            Allowed::Rest { .. } => None,
        }
    }

    /// The bit of the byte if the field is one, 0 being the highest.
    pub fn bit(&self) -> Option<u8> {
        match self.allowed {
            Allowed::Bit { bit, .. } => Some(bit),
            _ => None,
        }
    }

    /// Whether no key passes the test.
    pub fn is_never(&self) -> bool {
        match &self.allowed {
            Allowed::Bit { zero, one, .. } => !zero && !one,
            Allowed::Fixed { intervals, .. } => intervals.is_empty(),
            Allowed::Rest { ranges } => ranges.is_empty(),
        }
    }

    /// Whether every key passes the test.
    pub fn is_always(&self) -> bool {
        match &self.allowed {
            Allowed::Bit { zero, one, .. } => *zero && *one,
            Allowed::Fixed { intervals, .. } => intervals.first().is_some_and(|(low, high)| {
                low.iter().all(|byte| *byte == 0) && high.iter().all(|byte| *byte == 0xff)
            }),
            Allowed::Rest { ranges } => ranges.first() == Some(&KeyRange::all()),
        }
    }

    /// Whether a key passes the test. A key that ends before the field does passes: it is no key
    /// of the layout, and decoding it fails.
    pub fn matches(&self, key: &[u8]) -> bool {
        section_start(key, &self.passed).is_none_or(|start| self.holds(&key[start..]))
    }

    /// As [`FieldTest::matches`], of a key from its section on.
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        let rest = key.get(self.offset..).unwrap_or_default();
        match &self.allowed {
            Allowed::Bit { bit, zero, one } => match rest.first() {
                Some(byte) => {
                    if byte & (0x80 >> bit) == 0 {
                        *zero
                    } else {
                        *one
                    }
                }
                None => true,
            },
            Allowed::Fixed { width, intervals } => match rest.get(..*width) {
                Some(value) => contains(intervals, value),
                None => true,
            },
            Allowed::Rest { ranges } => key.len() < self.offset || rest_matches(ranges, rest),
        }
    }

    /// How many columns of variable width come before it.
    pub(crate) fn section(&self) -> usize {
        self.passed.len()
    }

    /// The first bit of the field, counted from the start of its section.
    pub(crate) fn start_bit(&self) -> usize {
        self.offset * 8 + usize::from(self.bit().unwrap_or(0))
    }

    /// The first bit behind the field; of a field without end, its start.
    pub(crate) fn end_bit(&self) -> usize {
        match &self.allowed {
            Allowed::Bit { bit, .. } => self.offset * 8 + usize::from(*bit) + 1,
            Allowed::Fixed { width, .. } => (self.offset + width) * 8,
            Allowed::Rest { .. } => self.offset * 8,
        }
    }

    /// Returns the test that both tests of one field make together, or `None` if they are of
    /// different fields.
    pub(crate) fn and(&self, other: &FieldTest) -> Option<FieldTest> {
        if self.section() != other.section() || self.offset != other.offset {
            return None;
        }
        let allowed = match (&self.allowed, &other.allowed) {
            (
                Allowed::Bit { bit, zero, one },
                Allowed::Bit {
                    bit: b,
                    zero: z,
                    one: o,
                },
            ) => (bit == b).then_some(Allowed::Bit {
                bit: *bit,
                zero: *zero && *z,
                one: *one && *o,
            })?,
            (
                Allowed::Fixed { width, intervals },
                Allowed::Fixed {
                    width: other_width,
                    intervals: others,
                },
            ) if width == other_width => Allowed::Fixed {
                width: *width,
                intervals: intersect(intervals, others),
            },
            (Allowed::Rest { ranges }, Allowed::Rest { ranges: others }) => {
                let pairs = ranges
                    .iter()
                    .flat_map(|one| others.iter().map(|two| one.intersect(two)));
                Allowed::Rest {
                    ranges: KeyRange::merge(pairs.collect()),
                }
            }
            _ => return None,
        };
        Some(FieldTest {
            allowed,
            ..self.clone()
        })
    }
}

/// Whether a value lies in one of the sorted inclusive intervals.
fn contains(intervals: &[(Vec<u8>, Vec<u8>)], value: &[u8]) -> bool {
    let after = intervals.partition_point(|(low, _)| low.as_slice() <= value);
    after > 0 && intervals[after - 1].1.as_slice() >= value
}

/// Whether the rest of a key lies in one of the sorted ranges.
fn rest_matches(ranges: &[KeyRange], rest: &[u8]) -> bool {
    let after = ranges.partition_point(|range| range.start.as_slice() <= rest);
    after > 0 && ranges[after - 1].contains(rest)
}

/// Intersects two sorted lists of inclusive intervals, stepping along both.
fn intersect(left: &[(Vec<u8>, Vec<u8>)], right: &[(Vec<u8>, Vec<u8>)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut both = Vec::new();
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let (low, high) = ((&a.0).max(&b.0), (&a.1).min(&b.1));
        if low <= high {
            both.push((low.clone(), high.clone()));
        }
        if a.1 <= b.1 {
            left.next()
        } else {
            right.next()
        };
    }
    both
}

impl fmt::Display for FieldTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match &self.allowed {
            Allowed::Bit { bit, zero, one } => {
                let values = match (zero, one) {
                    (false, false) => "nothing",
                    (true, false) => "0",
                    (false, true) => "1",
                    (true, true) => "0, 1",
                };
                write!(f, "byte {offset} bit {bit} in {values}")
            }
            Allowed::Fixed { width, intervals } => {
                write!(f, "bytes {offset}..{} in ", offset + width)?;
                write_list(intervals, f, |(low, high), f| {
                    crate::output::write_hex(low, f)?;
                    if low == high {
                        return Ok(());
                    }
                    f.write_str(" - ")?;
                    crate::output::write_hex(high, f)
                })
            }
            Allowed::Rest { ranges } => {
                write!(f, "bytes {offset}.. in ")?;
                write_list(ranges, f, |range, f| write!(f, "{range}"))
            }
        }
    }
}

fn write_list<T>(
    items: &[T],
    f: &mut fmt::Formatter<'_>,
    write_item: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if items.is_empty() {
        return f.write_str("nothing");
    }
    for (position, item) in items.iter().enumerate() {
        f.write_str(if position == 0 { "" } else { ", " })?;
        write_item(item, f)?;
    }
    Ok(())
}

impl KeyLayout {
    /// Makes the test that a column's value lies in one of some intervals, or is NULL if `nulls`.
    ///
    /// The intervals are in the order of values (low end, high end) also for a descending column,
    /// and may overlap. Two unbounded ends mean every value but NULL. `None` if a bound is NULL or no value
    /// of the column: the caller must then keep the predicate.
    ///
    /// | column, at byte 4    | intervals               | test                                  |
    /// |----------------------|-------------------------|---------------------------------------|
    /// | INTEGER              | `>= 5`                  | `bytes 4..8 in 80000005 - ffffffff`   |
    /// | INTEGER DESC         | `>= 5`                  | `bytes 4..8 in 00000000 - 7ffffffa`   |
    /// | SMALLINT, nullable   | `= 1`, or NULL          | `bytes 4..7 in 018001, 020000`        |
    /// | VARCHAR, not last    | `= 'a'`                 | `bytes 4.. in [610001 - 610002)`      |
    /// | BOOLEAN              | `= true`                | `byte 4 bit 0 in 1`                   |
    pub fn field_test(
        &self,
        column: usize,
        intervals: &[(Bound<'_>, Bound<'_>)],
        nulls: bool,
    ) -> Option<FieldTest> {
        let slot = self.slots().get(column)?;
        let allowed = match slot.form {
            Form::Bit(bit) => allowed_bit(slot, bit, intervals)?,
            Form::Fixed => allowed_values(slot, column_ranges(slot, intervals, nulls)?),
            Form::Terminated | Form::Raw => {
                let ranges = column_ranges(slot, intervals, nulls)?;
                Allowed::Rest {
                    ranges: KeyRange::merge(ranges),
                }
            }
        };
        let section = self.section(slot);
        Some(FieldTest {
            passed: Arc::clone(&section.passed),
            offset: slot.offset,
            allowed,
            live_bits: Arc::clone(&section.live_bits),
        })
    }
}

fn allowed_bit(slot: &Slot, bit: u8, intervals: &[(Bound<'_>, Bound<'_>)]) -> Option<Allowed> {
    let bounds = intervals.iter().flat_map(|(low, high)| [low, high]).flatten();
    if bounds
        .clone()
        .any(|(datum, _)| !matches!(datum, Datum::Boolean(_)))
    {
        return None;
    }
    let holds = |value: bool| {
        let value = Datum::Boolean(value);
        intervals.iter().any(|(low, high)| {
            low.is_none_or(|(low, edge)| *low < value || (*low == value && edge == Edge::Included))
                && high.is_none_or(|(high, edge)| value < *high || (*high == value && edge == Edge::Included))
        })
    };
    Some(Allowed::Bit {
        bit,
        zero: holds(slot.descending),
        one: holds(!slot.descending),
    })
}

/// The ranges of a column's bytes that the intervals, and NULL if it is wanted, stand for.
fn column_ranges(slot: &Slot, intervals: &[(Bound<'_>, Bound<'_>)], nulls: bool) -> Option<Vec<KeyRange>> {
    let mut ranges = Vec::with_capacity(intervals.len() + 1);
    for (low, high) in intervals {
        let (start, end) = if slot.descending { (high, low) } else { (low, high) };
        ranges.push(column_range(slot, *start, *end)?);
    }
    if nulls && slot.nullable {
        ranges.push(KeyRange::prefix(vec![TAG_NULL ^ slot.flip()]));
    }
    Some(ranges)
}

/// The range of a column's bytes between two values given in key order.
fn column_range(slot: &Slot, start: Bound<'_>, end: Bound<'_>) -> Option<KeyRange> {
    let tag = TAG_VALUE ^ slot.flip();
    let mut range = if slot.nullable {
        KeyRange::prefix(vec![tag])
    } else {
        KeyRange::all()
    };
    if let Some((datum, edge)) = start {
        let (bytes, placed) = encode_bound(slot, datum)?;
        range.start = bytes;
        let passes = match placed {
            Placed::At => edge == Edge::Excluded,
            placed => placed == Placed::Before,
        };
        if passes && !pass_column(slot, &mut range.start) {
            return Some(KeyRange::empty());
        }
    }
    if let Some((datum, edge)) = end {
        let (mut limit, placed) = encode_bound(slot, datum)?;
        let stops = match placed {
            Placed::At => edge == Edge::Excluded,
            placed => placed == Placed::Behind,
        };
        let bounded = stops || pass_column(slot, &mut limit);
        range.limit = bounded.then_some(limit);
    }
    Some(range)
}

fn encode_bound(slot: &Slot, datum: &Datum) -> Option<(Vec<u8>, Placed)> {
    let mut bytes = Vec::with_capacity(slot.width + 16);
    let datum = Some(datum.as_ref()).filter(|datum| !datum.is_null())?;
    let placed = place_slot(slot, &datum, &mut bytes)?;
    Some((bytes, placed))
}

/// Turns half-open ranges into inclusive intervals of exactly the column's bytes.
fn allowed_values(slot: &Slot, mut ranges: Vec<KeyRange>) -> Allowed {
    let width = slot.width;
    for range in &mut ranges {
        range.start.resize(width, 0);
        if let Some(limit) = &mut range.limit {
            limit.resize(width, 0);
        }
    }
    let intervals = KeyRange::merge(ranges).into_iter().map(|range| {
        let last = range.limit.map_or_else(|| vec![0xff; width], decremented);
        (range.start, last)
    });
    Allowed::Fixed {
        width,
        intervals: intervals.collect(),
    }
}

/// Subtracts one from a big-endian number that is not zero.
fn decremented(mut bytes: Vec<u8>) -> Vec<u8> {
    for byte in bytes.iter_mut().rev() {
        *byte = byte.wrapping_sub(1);
        if *byte != 0xff {
            break;
        }
    }
    bytes
}
