//! Intervals: [`Span`]s over datums, [`KeyRange`]s over bytes, and the way from one to the other.

use crate::datum::{Datum, DatumRef};
use crate::encode::{Placed, place_slot};
use crate::error::ValueError;
use crate::layout::{Form, KeyLayout, Slot};
use crate::successor::{make_prefix_successor, prefix_successor};
use std::cmp::Ordering;
use std::fmt;

/// Whether a boundary belongs to its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edge {
    /// It does.
    Included,
    /// It does not.
    Excluded,
}

/// An interval over the datums of a key layout, in key order: where a column is descending, the
/// start holds the greater datum.
///
/// A boundary may name fewer columns than the layout; it then stands for all tuples that begin
/// with it. An empty boundary is open, whatever its edge.
///
/// | span, on (a, b)  | tuples                              |
/// |------------------|-------------------------------------|
/// | `[/1 - /1]`      | a = 1                               |
/// | `[/1/5 - /1]`    | a = 1 and b >= 5                    |
/// | `(/1 - /3/2)`    | a = 2, or a = 3 and b < 2           |
/// | `(/2 - ]`        | a > 2, NULL counted as the greatest |
/// | `[ - /NULL)`     | a is not NULL                       |
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first tuple, or a prefix of it; empty for an open start.
    pub start: Vec<Datum>,
    /// Whether tuples that begin with `start` belong to the span.
    pub start_edge: Edge,
    /// The last tuple, or a prefix of it; empty for an open end.
    pub end: Vec<Datum>,
    /// Whether tuples that begin with `end` belong to the span.
    pub end_edge: Edge,
}

impl Span {
    /// The span of all tuples, `[ - ]`.
    pub fn all() -> Span {
        Span::prefix(Vec::new())
    }

    /// The span of all tuples that begin with `prefix`; of one tuple if it names all columns.
    pub fn prefix(prefix: Vec<Datum>) -> Span {
        Span {
            start: prefix.clone(),
            start_edge: Edge::Included,
            end: prefix,
            end_edge: Edge::Included,
        }
    }

    /// Whether a tuple lies in the span, by comparing datums.
    pub fn contains(&self, layout: &KeyLayout, row: &[Datum]) -> bool {
        let after_start = match layout.compare(row, &self.start) {
            Ordering::Less => false,
            Ordering::Equal => self.start.is_empty() || self.start_edge == Edge::Included,
            Ordering::Greater => true,
        };
        let before_end = match layout.compare(row, &self.end) {
            Ordering::Less => true,
            Ordering::Equal => self.end.is_empty() || self.end_edge == Edge::Included,
            Ordering::Greater => false,
        };
        after_start && before_end
    }
}

/// A half-open interval over encoded keys: `start <= key < limit`.
///
/// Displays in hexadecimal: `[800000 - 800001)`, `[80 - ]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The first key, not necessarily one that exists.
    pub start: Vec<u8>,
    /// The first key behind the range; `None` if the range goes to the end.
    pub limit: Option<Vec<u8>>,
}

impl KeyRange {
    /// The range of all keys.
    pub fn all() -> KeyRange {
        KeyRange {
            start: Vec::new(),
            limit: None,
        }
    }

    /// A range without keys.
    pub fn empty() -> KeyRange {
        KeyRange {
            start: Vec::new(),
            limit: Some(Vec::new()),
        }
    }

    /// The range of all keys that start with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> KeyRange {
        KeyRange {
            limit: prefix_successor(&prefix),
            start: prefix,
        }
    }

    /// The range of one key.
    pub fn point(key: Vec<u8>) -> KeyRange {
        let mut limit = key.clone();
        limit.push(0);
        KeyRange {
            start: key,
            limit: Some(limit),
        }
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| *limit <= self.start)
    }

    /// Whether a key lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && self.limit.as_deref().is_none_or(|limit| key < limit)
    }

    /// Returns the keys that lie in both ranges; the range is empty if there are none.
    pub fn intersect(&self, other: &KeyRange) -> KeyRange {
        let limit = match (&self.limit, &other.limit) {
            (Some(left), Some(right)) => Some(left.min(right)),
            (left, right) => left.as_ref().or(right.as_ref()),
        };
        KeyRange {
            start: self.start.as_slice().max(&other.start).to_vec(),
            limit: limit.cloned(),
        }
    }

    /// Sorts ranges, drops empty ones, and joins those that overlap or touch: the result is
    /// sorted and disjoint and holds the same keys.
    pub fn merge(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by(|left, right| left.start.cmp(&right.start));
        let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if last.reaches(&range.start) => last.extend_to(range.limit),
                _ => merged.push(range),
            }
        }
        merged
    }

    /// Whether the range ends at or behind `start`.
    fn reaches(&self, start: &[u8]) -> bool {
        self.limit.as_deref().is_none_or(|limit| limit >= start)
    }

    /// Moves the limit to `limit` if that is farther.
    fn extend_to(&mut self, limit: Option<Vec<u8>>) {
        self.limit = match (self.limit.take(), limit) {
            (Some(left), Some(right)) => Some(left.max(right)),
            _ => None,
        };
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        crate::output::write_hex(&self.start, f)?;
        f.write_str(" - ")?;
        match &self.limit {
            None => f.write_str("]"),
            Some(limit) => {
                crate::output::write_hex(limit, f)?;
                f.write_str(")")
            }
        }
    }
}

impl KeyLayout {
    /// Returns exactly the keys of the tuples in a span: of one bucket if the layout is salted.
    ///
    /// The bucket is ignored by a layout without salt; a salted layout without a bucket gives the
    /// range of all keys. A datum that is no value of its column widens the range to the prefix
    /// before it: a range may be too wide, never too narrow.
    ///
    /// | layout             | span            | range                            |
    /// |--------------------|-----------------|----------------------------------|
    /// | (INTEGER)          | `(/1 - ]`       | `[80000002 - ]`                  |
    /// | (VARCHAR)          | `(/'a' - /'b']` | `[6100 - 6200)`                  |
    /// | (INTEGER, VARCHAR) | `[/1/'a' - /1]` | `[8000000161 - 80000002)`        |
    /// | (INTEGER DESC)     | `[/5 - /1]`     | `[7ffffffa - 7fffffff)`          |
    pub fn range(&self, span: &Span, bucket: Option<u8>) -> KeyRange {
        let bucket = match (self.salt(), bucket) {
            (Some(_), None) => return KeyRange::all(),
            (Some(_), bucket) => bucket,
            (None, _) => None,
        };
        let (mut start, start_columns, placed) = self.encode_prefix(&span.start, bucket);
        let passes_start = match placed {
            Some(Placed::At) => start_columns > 0 && span.start_edge == Edge::Excluded,
            Some(Placed::Before) => true,
            Some(Placed::Behind) | None => false,
        };
        if passes_start && !self.pass_prefix(&mut start, start_columns) {
            return KeyRange::empty();
        }
        let is_same = placed == Some(Placed::At) && !passes_start && span.start == span.end;
        let (mut limit, end_columns, placed) = match is_same {
            true => (start.clone(), start_columns, placed),
            false => self.encode_prefix(&span.end, bucket),
        };
        let stops_at_end = match placed {
            Some(Placed::At) => end_columns > 0 && span.end_edge == Edge::Excluded,
            Some(Placed::Behind) => true,
            Some(Placed::Before) | None => false,
        };
        let bounded = stops_at_end || self.pass_prefix(&mut limit, end_columns);
        KeyRange {
            start,
            limit: bounded.then_some(limit),
        }
    }

    /// Returns the ranges of a span in every bucket, in key order: one without salt.
    pub fn ranges(&self, span: &Span) -> Vec<KeyRange> {
        match self.salt() {
            None => vec![self.range(span, None)],
            Some(_) => self
                .buckets()
                .map(|bucket| self.range(span, Some(bucket)))
                .collect(),
        }
    }

    /// Returns the range of all keys whose leading elements have these datums, exactly; of a layout without
    /// salt, and of fewer datums than elements.
    ///
    /// | layout             | datums | range           |
    /// |--------------------|--------|-----------------|
    /// | (VARCHAR, INTEGER) | `'a'`  | `[6100 - 6101)` |
    /// | (BOOLEAN, BOOLEAN) | `true` | `[80 - ]`       |
    ///
    /// # Errors
    /// As [`KeyLayout::encode_prefix_into`]. The range of CHARs that are too wide for keys is empty.
    pub fn prefix_range(&self, datums: &[DatumRef<'_>]) -> Result<KeyRange, ValueError> {
        let mut start = Vec::with_capacity(32);
        match self.encode_prefix_into(datums, &mut start) {
            Err(ValueError::WideForKey { .. }) => return Ok(KeyRange::empty()),
            encoded => encoded?,
        }
        let mut limit = start.clone();
        let bounded = self.pass_prefix(&mut limit, datums.len());
        Ok(KeyRange {
            start,
            limit: bounded.then_some(limit),
        })
    }

    /// Encodes as many leading datums as can be, after the bucket; returns how many, and where all of them lie to the bytes, unless
    /// one is no value of its column.
    fn encode_prefix(&self, datums: &[Datum], bucket: Option<u8>) -> (Vec<u8>, usize, Option<Placed>) {
        let mut key = Vec::with_capacity(32);
        key.extend(bucket);
        for (column, (slot, datum)) in self.slots().iter().zip(datums).enumerate() {
            match place_slot(slot, &datum.as_ref(), &mut key) {
                Some(Placed::At) => {}
                Some(placed) => return (key, column + 1, Some(placed)),
                None => return (key, column, None),
            }
        }
        let columns = datums.len().min(self.slots().len());
        (key, columns, (columns == datums.len()).then_some(Placed::At))
    }

    /// Turns the key of `columns` leading columns into the smallest key behind all that begin with
    /// them; `false` if there is none.
    fn pass_prefix(&self, key: &mut Vec<u8>, columns: usize) -> bool {
        match columns.checked_sub(1) {
            None => make_prefix_successor(key, 0),
            Some(last) => pass_column(&self.slots()[last], key),
        }
    }
}

/// Turns a key that ends with the column of `slot` into the smallest key behind all that begin
/// with it; `false` if there is none.
pub(crate) fn pass_column(slot: &Slot, key: &mut Vec<u8>) -> bool {
    match slot.form {
        // The rest of the key is the value: a longer key is another, greater value.
        Form::Raw => {
            key.push(0);
            true
        }
        Form::Bit(bit) => make_prefix_successor(key, 7 - bit),
        Form::Fixed | Form::Terminated => make_prefix_successor(key, 0),
    }
}
