//! Pruning of blocks that have none of the first rows of an order.
//!
//! `ORDER BY a DESC LIMIT 10` and `max(a)` need few rows, and the operator above finds these among any rows that
//! have them. So the best values that a scan has given out are kept, as many as are wanted. A block whose best value, as its
//! head has it, comes behind all of these has no such row, and is not read. Changes are given out in any case.
//!
//! Where the heads of all blocks are in memory, they show before any read which blocks surely have enough rows (`sure`): a block that comes behind
//! that place is not read either, so that the last rows of a log are found where a scan that begins with the first ones meets them last.
//!
//! | wanted             | the best value of a block | it is passed over where                         |
//! |--------------------|---------------------------|-------------------------------------------------|
//! | ascending          | the smallest              | it is greater than the last of those kept       |
//! | descending         | the greatest              | it is smaller; of a long text the head has the first bytes, and all that begins so may be in the block |
//! | NULLs first        | NULL, where it has some   | never, until enough of them were given out      |
//! | NULLs never        | as without                |                                                 |

use crate::columnar::stored::column::Bounds;
use crate::columnar::stored::head::Known;
use crate::columnar::values::vector::{ColumnVector, Values};
use rukh_catalog::ColumnId;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Rows wanted: the first so many in the order of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRows {
    /// The column, which the scan gives out.
    pub column: ColumnId,
    /// Whether the greatest come first.
    pub descending: bool,
    /// Where NULLs are.
    pub nulls: NullsWanted,
    /// How many rows are wanted, 1 at least.
    pub count: usize,
    /// Whether rows are wanted, too, that equal the last of these.
    pub ties: bool,
}

/// Where NULLs are among rows wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullsWanted {
    /// Before all values.
    First,
    /// Behind all values.
    Last,
    /// Not wanted at all.
    Never,
}

/// A value in the order of its column; text and byte strings by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Int(i128),
    Bytes(Vec<u8>),
}

/// A place in the order wanted: what is less comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    NullFirst,
    Ascending(Value),
    Descending(Reverse<Value>),
    NullLast,
}

/// The best that a block may have of a column.
#[derive(Clone, Debug)]
pub(crate) enum Best {
    /// Nothing is known.
    Unknown,
    /// Nothing that is wanted.
    Nothing,
    At(Place),
    /// Anything that begins with these bytes, the greatest of which come first.
    BeginsWith(Vec<u8>),
}

impl Best {
    /// Whether this is known to come before another.
    pub(crate) fn is_better(&self, other: &Best) -> bool {
        match (self, other) {
            (Best::At(own), Best::At(other)) => own < other,
            (Best::BeginsWith(own), Best::BeginsWith(other)) => own > other,
            (_, Best::Nothing) => !matches!(self, Best::Nothing),
            _ => false,
        }
    }

    /// Whether there may be a value before a place, or at it if that counts.
    fn reaches(&self, place: &Place, at: bool) -> bool {
        match (self, place) {
            (Best::Nothing, _) => false,
            (Best::Unknown, _) => true,
            (Best::At(best), place) => match best.cmp(place) {
                Ordering::Less => true,
                Ordering::Equal => at,
                Ordering::Greater => false,
            },
            (Best::BeginsWith(start), Place::Descending(Reverse(Value::Bytes(place)))) => {
                start > place || place.starts_with(start)
            }
            (Best::BeginsWith(_), Place::NullFirst) => false,
            (Best::BeginsWith(_), _) => true,
        }
    }
}

/// The best rows given out so far.
pub(crate) struct Firsts {
    wanted: FirstRows,
    pub(crate) slot: usize,
    /// Which of the columns given out it is.
    pub(crate) nth: usize,
    /// The best places, the last of them on top.
    kept: BinaryHeap<Place>,
    /// A place before which, or at which, there are enough rows, given out or not.
    sure: Option<Place>,
}

impl Firsts {
    pub(crate) fn new(wanted: FirstRows, slot: usize, nth: usize) -> Self {
        Firsts {
            wanted,
            slot,
            nth,
            kept: BinaryHeap::new(),
            sure: None,
        }
    }

    /// How many rows are wanted.
    pub(crate) fn count(&self) -> usize {
        self.wanted.count
    }

    /// Takes note that enough rows are at a place or before it, which are not given out yet.
    pub(crate) fn be_sure(&mut self, place: Place) {
        if self.sure.as_ref().is_none_or(|sure| place < *sure) {
            self.sure = Some(place);
        }
    }

    /// Returns where rows of a block are: a number of rows at a place or before it, for its best place and for its last known one.
    pub(crate) fn places(&self, known: &Known<'_>) -> Vec<(Place, usize)> {
        let (descending, values) = (self.wanted.descending, known.rows() - known.nulls());
        let mut places = Vec::new();
        let before = match self.wanted.nulls {
            NullsWanted::First => known.nulls(),
            NullsWanted::Last | NullsWanted::Never => 0,
        };
        if before > 0 {
            places.push((Place::NullFirst, before));
        }
        // What the head has of a long string is not greater than it: there is a row at it or before it if the greatest come first only.
        let is_whole = |bytes: &[u8]| descending || !Known::is_cut(bytes);
        let ends = match known.bounds() {
            Bounds::None => [None, None],
            Bounds::Integers { low, high } => [Some(Value::Int(low)), Some(Value::Int(high))],
            Bounds::Bytes { low, high } => {
                [low, high].map(|bytes| is_whole(bytes).then(|| Value::Bytes(bytes.to_vec())))
            }
        };
        let [best, last] = match (ends, descending) {
            (ends, false) => ends,
            ([low, high], true) => [high, low],
        };
        places.extend(best.map(|best| (self.place(best), before + 1)));
        places.extend(last.map(|last| (self.place(last), before + values)));
        places
    }

    fn place(&self, value: Value) -> Place {
        match self.wanted.descending {
            false => Place::Ascending(value),
            true => Place::Descending(Reverse(value)),
        }
    }

    /// Says what the best of a block may be.
    pub(crate) fn best(&self, known: &Known<'_>) -> Best {
        if known.has_nulls() && self.wanted.nulls == NullsWanted::First {
            return Best::At(Place::NullFirst);
        }
        let value = match (known.bounds(), self.wanted.descending) {
            (Bounds::None, _) if known.has_nulls() && self.wanted.nulls == NullsWanted::Last => {
                return Best::At(Place::NullLast);
            }
            (Bounds::None, _) => return Best::Nothing,
            (Bounds::Integers { low, .. }, false) => Value::Int(low),
            (Bounds::Integers { high, .. }, true) => Value::Int(high),
            // What the head has of it is its beginning: not greater than it.
            (Bounds::Bytes { low, .. }, false) => Value::Bytes(low.to_vec()),
            (Bounds::Bytes { high, .. }, true) if Known::is_cut(high) => {
                return Best::BeginsWith(high.to_vec());
            }
            (Bounds::Bytes { high, .. }, true) => Value::Bytes(high.to_vec()),
        };
        Best::At(self.place(value))
    }

    /// Whether a block with this best may have a row that is wanted.
    pub(crate) fn wants(&self, best: &Best) -> bool {
        if let Best::Nothing = best {
            return false;
        }
        let last = self.kept.peek().filter(|_| self.kept.len() >= self.wanted.count);
        // Rows that surely are there may be those of this very block.
        last.is_none_or(|last| best.reaches(last, self.wanted.ties))
            && self.sure.as_ref().is_none_or(|sure| best.reaches(sure, true))
    }

    /// Takes note of rows that are given out.
    pub(crate) fn see(&mut self, column: &ColumnVector, rows: std::ops::Range<usize>) {
        for row in rows {
            let place = match (column.is_null(row), self.wanted.nulls, column.values()) {
                (true, NullsWanted::First, _) => Place::NullFirst,
                (true, NullsWanted::Last, _) => Place::NullLast,
                (true, NullsWanted::Never, _) => continue,
                (false, _, Values::Int(values)) => self.place(Value::Int(values[row].into())),
                (false, _, Values::Wide(values)) => self.place(Value::Int(values[row])),
                (false, _, Values::Bytes(strings)) if self.is_behind(strings.get(row)) => continue,
                (false, _, Values::Bytes(strings)) => self.place(Value::Bytes(strings.get(row).to_vec())),
                (false, _, Values::Coded(coded)) => self.place(Value::Bytes(coded.get(row).to_vec())),
            };
            self.keep(place);
        }
    }

    /// Takes note of a value that some row of a block has by its head, without giving out the row.
    pub(crate) fn see_value(&mut self, value: &Value) {
        self.keep(self.place(value.clone()));
    }

    fn keep(&mut self, place: Place) {
        if self.kept.len() < self.wanted.count {
            self.kept.push(place);
        } else if let Some(mut last) = self.kept.peek_mut()
            && place < *last
        {
            *last = place;
        }
    }

    /// Whether a byte string comes behind all that are kept, of which there are enough.
    fn is_behind(&self, value: &[u8]) -> bool {
        let last = self.kept.peek().filter(|_| self.kept.len() >= self.wanted.count);
        match last {
            Some(Place::Ascending(Value::Bytes(last))) => value >= last.as_slice(),
            Some(Place::Descending(Reverse(Value::Bytes(last)))) => value <= last.as_slice(),
            Some(Place::NullFirst) => true,
            _ => false,
        }
    }
}
