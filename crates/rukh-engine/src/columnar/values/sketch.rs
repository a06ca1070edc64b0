//! Sketches: two bytes for each row of a column of long values, which decide for nearly every row whether its value lies in a range.
//!
//! A value of a text takes dozens of bytes, a time eight; a scan with a condition on it has to fetch them all from memory. Its *word* keeps
//! the order: the word of a greater value is as great or greater. So a value passes whose word lies between those of both ends
//! of the range, and only one with the word of an end has to be looked at.
//!
//! | column   | word, 0 for NULL                                                                            |
//! |----------|---------------------------------------------------------------------------------------------|
//! | integers | one more than the upper 15 bits of what the value is above the least                        |
//! | bytes    | one more than the two bytes behind those that all values begin with, zeros behind the end   |
//!
//! Sketches are made of columns that are kept, and are never stored.
//!
//! Deliberately not here: conditions of several ranges, or that NULL fulfils.

use crate::columnar::values::test::Test;
use crate::columnar::values::vector::{ColumnVector, Values};
use std::ops::Bound;

/// The word of NULL.
const NULL: u16 = 0;

/// The greatest word above 0, less 1.
const MOST: u64 = u16::MAX as u64 - 1;

/// A word for each row of a column.
#[derive(Debug)]
pub(crate) struct Sketch {
    words: Box<[u16]>,
    order: Order,
}

/// What words are of.
#[derive(Debug)]
enum Order {
    Integers { low: i64, shift: u32 },
    Bytes { prefix: Box<[u8]> },
}

/// Where the end of a range lies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    BeforeAll,
    At(u16),
    BehindAll,
}

impl Sketch {
    /// Makes the sketch of a column; `None` if it has no values, or they are as short as words.
    pub(crate) fn new(vector: &ColumnVector) -> Option<Self> {
        let rows = || (0..vector.len()).filter(|row| !vector.is_null(*row));
        let mut words = vec![NULL; vector.len()];
        let order = match vector.values() {
            Values::Int(values) => {
                let low = rows().map(|row| values[row]).min()?;
                let high = rows().map(|row| values[row]).max()?;
                let bits = 64 - (high.wrapping_sub(low) as u64).leading_zeros();
                // The greatest has one word less than there are, for NULL.
                let shift = bits.checked_sub(16).filter(|shift| *shift > 0)? + 1;
                rows().for_each(|row| words[row] = word_of_integer(values[row], low, shift));
                Order::Integers { low, shift }
            }
            Values::Bytes(strings) => {
                let mut prefix = strings.get(rows().next()?);
                for row in rows() {
                    let pairs = prefix.iter().zip(strings.get(row));
                    prefix = &prefix[..pairs.take_while(|(one, other)| one == other).count()];
                }
                rows().for_each(|row| words[row] = word_of_bytes(&strings.get(row)[prefix.len()..]));
                Order::Bytes {
                    prefix: prefix.into(),
                }
            }
            Values::Wide(_) | Values::Coded(_) => return None,
        };
        Some(Sketch {
            words: words.into(),
            order,
        })
    }

    /// Returns the bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let prefix = match &self.order {
            Order::Integers { .. } => 0,
            Order::Bytes { prefix } => prefix.len(),
        };
        size_of::<Sketch>() + 2 * self.words.len() + prefix
    }

    /// Whether it can decide a test for some rows.
    pub(crate) fn knows(test: &Test) -> bool {
        test.integers().len() + test.bytes().len() == 1 && !test.takes_null()
    }

    /// Leaves those rows of `mask` that pass a test as far as words show; returns a mask of those of which they do not.
    pub(crate) fn test(&self, test: &Test, mask: &mut [u8]) -> Vec<u8> {
        let mut unsure = vec![0; mask.len()];
        let (low, high) = self.ends(test);
        if low == End::BehindAll || high == End::BeforeAll {
            mask.fill(0);
            return unsure;
        }
        let word = |end: End| match end {
            End::At(word) => Some(word),
            _ => None,
        };
        // What lies between has words of its own.
        let from = word(low).map_or(1, |word| u32::from(word) + 1);
        let until = word(high).map_or(u32::from(u16::MAX), |word| u32::from(word) - 1);
        let span = until.checked_sub(from);
        let ends = word(low).or(word(high)).zip(word(high).or(word(low)));
        let rows = self.words.iter().zip(mask).zip(&mut unsure);
        match (span, ends) {
            (None, None) => rows.for_each(|((_, mask), _)| *mask = 0),
            (None, Some((one, other))) => rows.for_each(|((word, mask), unsure)| {
                *unsure = *mask & u8::from((*word == one) | (*word == other));
                *mask = 0;
            }),
            (Some(span), ends) => {
                let (from, span) = (from as u16, span as u16);
                let is_between = |word: u16| u8::from(word.wrapping_sub(from) <= span);
                match ends {
                    None => rows.for_each(|((word, mask), _)| *mask &= is_between(*word)),
                    Some((one, other)) => rows.for_each(|((word, mask), unsure)| {
                        *unsure = *mask & u8::from((*word == one) | (*word == other));
                        *mask &= is_between(*word);
                    }),
                }
            }
        }
        unsure
    }

    /// Returns where the ends of the only range of a test lie.
    fn ends(&self, test: &Test) -> (End, End) {
        match (&self.order, test.integers(), test.bytes()) {
            (Order::Integers { low, shift }, [range], _) => {
                let end = |value: i128| match i64::try_from(value) {
                    Ok(value) if value < *low => End::BeforeAll,
                    Ok(value) => {
                        let above = value.wrapping_sub(*low) as u64 >> shift;
                        match above <= MOST {
                            true => End::At(word_of_integer(value, *low, *shift)),
                            false => End::BehindAll,
                        }
                    }
                    Err(_) if value < 0 => End::BeforeAll,
                    Err(_) => End::BehindAll,
                };
                (end(range.0), end(range.1))
            }
            (Order::Bytes { prefix }, _, [range]) => {
                let end = |bound: &Bound<Vec<u8>>, none: End| match bound {
                    Bound::Unbounded => none,
                    Bound::Included(value) | Bound::Excluded(value) => match value.strip_prefix(&**prefix) {
                        Some(rest) => End::At(word_of_bytes(rest)),
                        None if value.as_slice() < &**prefix => End::BeforeAll,
                        None => End::BehindAll,
                    },
                };
                (end(&range.0, End::BeforeAll), end(&range.1, End::BehindAll))
            }
            // A test of another type lets nothing pass.
            _ => (End::BehindAll, End::BeforeAll),
        }
    }
}

fn word_of_integer(value: i64, low: i64, shift: u32) -> u16 {
    1 + (value.wrapping_sub(low) as u64 >> shift) as u16
}

fn word_of_bytes(rest: &[u8]) -> u16 {
    let at = |at: usize| rest.get(at).copied().unwrap_or_default();
    u16::from_be_bytes([at(0), at(1)]).saturating_add(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columnar::values::test::ColumnTest;
    use proptest::prelude::*;
    use rukh_catalog::ColumnId;
    use rukh_keys::{DataType, Datum};

    fn texts() -> impl Strategy<Value = Vec<Option<Datum>>> {
        let text = prop_oneof!["[ab]{0,4}", "[a-z]{0,9}", "\u{10ffff}{0,2}"];
        let some = prop::collection::vec(prop::option::weighted(0.9, text), 0..60);
        (some, "[a-z]{0,5}").prop_map(|(texts, prefix)| {
            let text = |text: String| Datum::Text(format!("{prefix}{text}"));
            texts.into_iter().map(|one| one.map(text)).collect()
        })
    }

    fn integers() -> impl Strategy<Value = Vec<Option<Datum>>> {
        (0_u32..64, any::<i64>()).prop_flat_map(|(bits, base)| {
            let one =
                any::<u64>().prop_map(move |above| Datum::Int(base.wrapping_add((above >> bits) as i64)));
            prop::collection::vec(prop::option::weighted(0.9, one), 0..60)
        })
    }

    proptest! {
        #[test]
        fn what_words_tell_is_so(
            (ty, values) in prop_oneof![
                texts().prop_map(|values| (DataType::Varchar(None), values)),
                integers().prop_map(|values| (DataType::BigInt, values)),
            ],
            ends in any::<[prop::sample::Index; 2]>(),
            other in prop::option::of("[a-z]{0,7}"),
            kinds in any::<[u8; 2]>(),
            off in -2_i64..3,
        ) {
            let mut vector = ColumnVector::new(ty);
            for value in &values {
                vector.push(&value.as_ref().unwrap_or(&Datum::Null).as_ref()).unwrap();
            }
            let Some(sketch) = Sketch::new(&vector) else { return Ok(()) };
            let there: Vec<&Datum> = values.iter().flatten().collect();
            let mut ends: Vec<Datum> = ends.iter().map(|end| match there[end.index(there.len())] {
                Datum::Int(value) => Datum::Int(value.saturating_add(off)),
                text => text.clone(),
            }).collect();
            if let (Some(other), DataType::Varchar(_)) = (other, ty) {
                ends[0] = Datum::Text(other);
            }
            ends.sort();
            let bound = |end: &Datum, kind: u8| match kind % 3 {
                0 => Bound::Included(end.clone()),
                1 => Bound::Excluded(end.clone()),
                _ => Bound::Unbounded,
            };
            let range = (bound(&ends[0], kinds[0]), bound(&ends[1], kinds[1]));
            let test = ColumnTest { column: ColumnId(0), ranges: vec![range], null: false };
            let test = Test::new(ty, &test).unwrap();
            prop_assume!(Sketch::knows(&test));
            let mut mask: Vec<u8> = (0..values.len()).map(|row| u8::from(row % 5 != 1)).collect();
            let before = mask.clone();
            let unsure = sketch.test(&test, &mut mask);
            for (row, value) in values.iter().enumerate() {
                let passes = value.as_ref().is_some_and(|value| test.takes(ty, &value.as_ref()));
                prop_assert!(mask[row] & unsure[row] == 0 && (mask[row] | unsure[row]) <= before[row]);
                if unsure[row] == 0 {
                    prop_assert_eq!(mask[row] == 1, passes && before[row] == 1, "{:?} {:?}", value, test);
                }
            }
        }
    }

    #[test]
    fn few_rows_are_left_to_look_at() {
        let time = |nth: i64| Datum::Timestamp((1 << 50) + (nth << 30));
        let mut vector = ColumnVector::new(DataType::TIMESTAMP);
        for row in 0..8192_i64 {
            vector.push(&time(row * 7919 % 8192).as_ref()).unwrap();
        }
        let sketch = Sketch::new(&vector).unwrap();
        let range = (Bound::Included(time(100)), Bound::Excluded(time(200)));
        let test = ColumnTest {
            column: ColumnId(0),
            ranges: vec![range],
            null: false,
        };
        let mut mask = vec![1; 8192];
        let unsure = sketch.test(&Test::new(DataType::TIMESTAMP, &test).unwrap(), &mut mask);
        let (sure, unsure) = (
            crate::columnar::values::mask::ones(&mask),
            crate::columnar::values::mask::ones(&unsure),
        );
        assert!(sure >= 98 && unsure <= 2, "{sure} {unsure}");
    }
}
