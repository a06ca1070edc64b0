//! Times of rows in blocks: two columns that no table names, of tables whose rows carry times.
//!
//! | number | column    | holds                                                                   |
//! |--------|-----------|-------------------------------------------------------------------------|
//! | 65,532 | `life`    | since when the row's life counts; NULL of a row that carries no times    |
//! | 65,533 | `written` | when the row was written, if that is not when its life began; else NULL |
//!
//! Both are microseconds since 1970-01-01 00:00 UTC. Whether a row is alive is one test on the first, which heads rule out
//! whole blocks by; without a column that lifetimes count from, the second is all NULL and takes no room. Blocks that are
//! older than the times of their table have neither, which reads as NULL.

use crate::forms::row::Times;
use rukh_keys::{DataType, Datum, DatumRef};

/// The number of the first of the two; no other column has one as great.
pub(crate) const FIRST: usize = 65_532;

/// How many there are.
pub(crate) const COUNT: usize = 2;

/// Their types.
pub(crate) const TYPES: [DataType; COUNT] = [DataType::BigInt, DataType::BigInt];

/// Their names, in dumps and errors.
pub(crate) const NAMES: [&str; COUNT] = ["life", "written"];

/// Which numbers the columns of a block have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// One more than the highest number of a column that a table or index names.
    pub(crate) named: usize,
    /// Whether there are columns of times.
    pub(crate) timed: bool,
}

impl Numbers {
    /// Returns those of a block whose columns have these numbers, in any order.
    pub(crate) fn of(numbers: &[usize]) -> Numbers {
        let named = numbers.iter().filter(|number| **number < FIRST).max();
        Numbers {
            named: named.map_or(0, |greatest| greatest + 1),
            timed: numbers.iter().any(|number| *number >= FIRST),
        }
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.named + if self.timed { COUNT } else { 0 }
    }

    /// Returns the place of a number among them, if it is one.
    pub(crate) fn place(self, number: usize) -> Option<usize> {
        match number.checked_sub(FIRST) {
            None => (number < self.named).then_some(number),
            Some(nth) => (self.timed && nth < COUNT).then_some(self.named + nth),
        }
    }

    /// Whether a number is one of them.
    pub(crate) fn contains(self, number: usize) -> bool {
        self.place(number).is_some()
    }

    /// Returns them in ascending order.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let times = if self.timed { COUNT } else { 0 };
        (0..self.named).chain(FIRST..FIRST + times)
    }
}

/// Returns what the columns have for a row with these times.
pub(crate) fn datums(times: Option<Times>) -> [DatumRef<'static>; COUNT] {
    match times {
        None => [DatumRef::Null, DatumRef::Null],
        Some(Times {
            written,
            counted: None,
        }) => [DatumRef::Int(written), DatumRef::Null],
        Some(Times {
            written,
            counted: Some(counted),
        }) => [DatumRef::Int(counted), DatumRef::Int(written)],
    }
}

/// Returns the times in the columns.
pub(crate) fn times(datums: &[Datum]) -> Option<Times> {
    match datums {
        [Datum::Int(life), Datum::Int(written)] => Some(Times {
            written: *written,
            counted: Some(*life),
        }),
        [Datum::Int(life), _] => Some(Times {
            written: *life,
            counted: None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        let all = [
            None,
            Some(Times {
                written: 5,
                counted: None,
            }),
            Some(Times {
                written: -5,
                counted: Some(i64::MAX),
            }),
            Some(Times {
                written: 7,
                counted: Some(7),
            }),
        ];
        for one in all {
            let stored = datums(one).map(DatumRef::into_owned);
            assert_eq!(times(&stored), one);
        }
    }

    #[test]
    fn numbers_have_places_without_gaps() {
        for timed in [false, true] {
            let numbers = Numbers { named: 3, timed };
            let places: Vec<_> = numbers.iter().map(|number| numbers.place(number)).collect();
            assert_eq!(places, (0..numbers.len()).map(Some).collect::<Vec<_>>());
            assert_eq!(numbers.contains(FIRST), timed);
            assert!(!numbers.contains(3) && !numbers.contains(FIRST + COUNT));
        }
    }
}
