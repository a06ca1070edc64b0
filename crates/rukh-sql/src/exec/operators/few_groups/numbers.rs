//! Numbers for what rows are grouped by: of values, in the order in which they are seen, and of their combinations.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::DataFusionError;
use datafusion::error::Result as DataFusionResult;

use super::rows::Keys;

/// Whether values of a type are equal exactly if their bits are.
pub(super) fn is_numbered(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Time64(TimeUnit::Microsecond)
            | DataType::Timestamp(TimeUnit::Microsecond, _)
            | DataType::Utf8
    )
}

/// The numbers of values, and of groups.
pub(super) struct Numbers {
    columns: Vec<ColumnNumbers>,
    /// Numbers of what two columns have, then of that and what a third has, and so on; the last identifies groups.
    pairs: Vec<Pairs>,
}

impl Numbers {
    /// Makes numbers for so many columns, none given.
    pub(super) fn new(columns: usize) -> Self {
        Numbers {
            columns: (0..columns).map(|_| ColumnNumbers::default()).collect(),
            pairs: (1..columns.max(2)).map(|_| Pairs::default()).collect(),
        }
    }

    /// Returns how many groups there are.
    pub(super) fn count(&self) -> usize {
        self.pairs
            .last()
            .map_or(0, |groups| groups.numbers.count as usize)
    }

    /// Returns the bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(ColumnNumbers::bytes);
        columns.chain(self.pairs.iter().map(Pairs::bytes)).sum()
    }

    /// Returns the group of each row, and the first row of each group that is new.
    pub(super) fn groups(&mut self, by: &[Keys<'_>], rows: usize) -> DataFusionResult<(Vec<u32>, Vec<u32>)> {
        let (mut left, mut right) = (vec![0; rows], Vec::with_capacity(rows));
        // One more than the greatest number on the left.
        let mut most = 1;
        let before = self.count() as u32;
        let mut columns = self.columns.iter_mut().zip(by);
        if by.len() > 1
            && let Some((numbers, values)) = columns.next()
        {
            left.clear();
            numbers.of(values, &mut left)?;
            most = numbers.limit();
        }
        for ((numbers, values), pairs) in columns.zip(&mut self.pairs) {
            right.clear();
            numbers.of(values, &mut right)?;
            pairs.of(&mut left, &right, (most, numbers.limit()));
            most = pairs.numbers.count;
        }
        let mut firsts = Vec::new();
        if self.count() as u32 > before {
            let mut next = before;
            for (row, group) in left.iter().enumerate() {
                if *group == next {
                    next += 1;
                    firsts.push(row as u32);
                }
            }
        }
        Ok((left, firsts))
    }
}

/// Numbers of pairs of numbers.
#[derive(Default)]
struct Pairs {
    numbers: Numbered,
    /// One more than the number of a pair at `left << shift | right`, 0 of one that was not seen; empty where that would be too many.
    near: Vec<u32>,
    shift: u32,
}

/// Numbers that are found without a search, at most.
const NEAR_MAX: usize = 1 << 14;

impl Pairs {
    fn bytes(&self) -> usize {
        self.numbers.bytes() + self.near.len() * size_of::<u32>()
    }

    /// Replaces each number on the left by that of the pair. All numbers are below these limits.
    fn of(&mut self, left: &mut [u32], right: &[u32], limits: (u32, u32)) {
        let shift = limits.1.next_power_of_two().trailing_zeros();
        if shift != self.shift {
            self.shift = shift;
            self.near.clear();
        }
        let wanted = usize::try_from(u64::from(limits.0) << shift).unwrap_or(usize::MAX);
        self.near.resize(if wanted <= NEAR_MAX { wanted } else { 0 }, 0);
        for (left, right) in left.iter_mut().zip(right) {
            let pair = u64::from(*left) << 32 | u64::from(*right);
            let at = (*left as usize) << shift | *right as usize;
            *left = match self.near.get(at) {
                Some(number) if *number > 0 => *number - 1,
                _ => {
                    let number = self.numbers.number(pair);
                    if let Some(near) = self.near.get_mut(at) {
                        *near = number + 1;
                    }
                    number
                }
            };
        }
    }
}

/// The numbers of the values of one column; that of NULL is 0.
#[derive(Default)]
struct ColumnNumbers {
    values: Numbered,
    near: Near,
    /// Texts that are too long to be integers.
    texts: HashMap<Box<[u8]>, u64>,
    texts_bytes: usize,
}

/// Bytes of a text that is an integer together with its length.
const SHORT_MAX: usize = 7;

/// What stands where a short text has its length.
const LONG: u64 = 0xff << 56;

impl ColumnNumbers {
    fn bytes(&self) -> usize {
        self.values.bytes() + self.near.numbers.len() * size_of::<u32>() + self.texts_bytes
    }

    /// Returns one more than the greatest number given; booleans have up to 2.
    fn limit(&self) -> u32 {
        self.values.count.saturating_add(1).max(3)
    }

    /// Appends the number of each value.
    fn of(&mut self, values: &Keys<'_>, out: &mut Vec<u32>) -> DataFusionResult<()> {
        match values {
            Keys::Array(values) => return self.of_array(values, out),
            Keys::Integers(values, None) => out.extend(values.iter().map(|value| self.of_integer(*value))),
            Keys::Integers(values, Some(nulls)) => {
                let rows = values.iter().zip(*nulls);
                out.extend(rows.map(|(value, is_null)| match is_null {
                    true => 0,
                    false => self.of_integer(*value),
                }));
            }
            Keys::Coded(coded, nulls) => {
                // By code its number, 0 if no row was seen that has it.
                let mut known = vec![0; coded.values_len()];
                let codes = coded.codes.iter().map(|code| *code as usize);
                match nulls {
                    None => out.extend(codes.map(|code| match known[code] {
                        0 => self.of_text(coded.values.get(code), &mut known[code]),
                        number => number,
                    })),
                    Some(nulls) => out.extend(codes.zip(*nulls).map(|(code, is_null)| match known[code] {
                        _ if *is_null => 0,
                        0 => self.of_text(coded.values.get(code), &mut known[code]),
                        number => number,
                    })),
                }
            }
            Keys::Others => {
                let message = "values that are neither integers nor have numbers".to_string();
                return Err(DataFusionError::Internal(message));
            }
        }
        Ok(())
    }

    fn of_array(&mut self, values: &ArrayRef, out: &mut Vec<u32>) -> DataFusionResult<()> {
        match values.data_type() {
            DataType::Boolean => {
                let values = values.as_boolean();
                out.extend((0..values.len()).map(|row| match values.is_null(row) {
                    true => 0,
                    false => 1 + u32::from(values.value(row)),
                }));
            }
            DataType::Int8 => self.of_integers::<Int8Type>(values, out),
            DataType::Int16 => self.of_integers::<Int16Type>(values, out),
            DataType::Int32 => self.of_integers::<Int32Type>(values, out),
            DataType::Int64 => self.of_integers::<Int64Type>(values, out),
            DataType::Date32 => self.of_integers::<Date32Type>(values, out),
            DataType::Time64(TimeUnit::Microsecond) => self.of_integers::<Time64MicrosecondType>(values, out),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.of_integers::<TimestampMicrosecondType>(values, out);
            }
            DataType::Utf8 => {
                let values = values.as_string::<i32>();
                let mut last: Option<(&str, u32)> = None;
                for row in 0..values.len() {
                    let number = match (values.is_null(row), last) {
                        (true, _) => 0,
                        (false, Some((text, number))) if text == values.value(row) => number,
                        (false, _) => {
                            let text = values.value(row);
                            let key = self.key_of(text.as_bytes());
                            let number = 1 + self.values.number(key);
                            last = Some((text, number));
                            number
                        }
                    };
                    out.push(number);
                }
            }
            other => {
                let message = format!("values of type {other} have no numbers");
                return Err(DataFusionError::Internal(message));
            }
        }
        Ok(())
    }

    fn of_integers<T: ArrowPrimitiveType<Native: Into<i64>>>(
        &mut self,
        values: &ArrayRef,
        out: &mut Vec<u32>,
    ) {
        let values = values.as_primitive::<T>();
        match values.nulls() {
            None => out.extend(
                values
                    .values()
                    .iter()
                    .map(|value| self.of_integer((*value).into())),
            ),
            Some(nulls) => {
                let rows = values.values().iter().zip(nulls.iter());
                out.extend(rows.map(|(value, is_there)| match is_there {
                    true => self.of_integer((*value).into()),
                    false => 0,
                }));
            }
        }
    }

    /// Returns the number of a text, and notes it.
    #[cold]
    fn of_text(&mut self, text: &[u8], known: &mut u32) -> u32 {
        let key = self.key_of(text);
        *known = 1 + self.values.number(key);
        *known
    }

    #[inline]
    fn of_integer(&mut self, value: i64) -> u32 {
        match self.near.number(value) {
            0 => {
                let number = 1 + self.values.number(value as u64);
                self.near.note(value, number);
                number
            }
            number => number,
        }
    }

    /// Returns an integer that no other text has.
    fn key_of(&mut self, text: &[u8]) -> u64 {
        if text.len() <= SHORT_MAX {
            let mut bytes = [0; 8];
            bytes[..text.len()].copy_from_slice(text);
            return u64::from_le_bytes(bytes) | (text.len() as u64) << 56;
        }
        if let Some(key) = self.texts.get(text) {
            return *key;
        }
        let key = LONG | self.texts.len() as u64;
        self.texts.insert(text.into(), key);
        self.texts_bytes += text.len() + 64;
        key
    }
}

/// The numbers of integers that lie near each other, found without a search.
#[derive(Default)]
struct Near {
    first: i64,
    /// From `first` on, the number of each; 0 of one that was not seen.
    numbers: Vec<u32>,
}

impl Near {
    /// Returns the number of an integer, 0 if it is not here.
    #[inline]
    fn number(&self, value: i64) -> u32 {
        // Behind the greatest integer comes the least: what lies before the first is far behind the last.
        let at = value.wrapping_sub(self.first) as u64 as usize;
        self.numbers.get(at).copied().unwrap_or_default()
    }

    /// Takes note of the number of an integer, if it lies near those that are here.
    fn note(&mut self, value: i64, number: u32) {
        let many = self.numbers.len() as i128;
        let (low, high) = match many {
            0 => (i128::from(value), i128::from(value)),
            _ => {
                let first = i128::from(self.first);
                let last = first + many - 1;
                (first.min(value.into()), last.max(value.into()))
            }
        };
        let Some(span) = usize::try_from(high - low + 1)
            .ok()
            .filter(|span| *span <= NEAR_MAX)
        else {
            return;
        };
        if span > self.numbers.len() {
            self.widen(low, high, span.next_power_of_two().max(SLOTS_MIN));
        }
        let at = value.wrapping_sub(self.first) as u64 as usize;
        if let Some(place) = self.numbers.get_mut(at) {
            *place = number;
        }
    }

    /// Makes room for what lies between two integers, and for others on the side where it grew.
    fn widen(&mut self, low: i128, high: i128, room: usize) {
        let grew_down = !self.numbers.is_empty() && low < i128::from(self.first);
        let first = match grew_down {
            true => (high + 1 - room as i128).max(i128::from(i64::MIN)),
            false => low,
        };
        let mut numbers = vec![0; room];
        if let Ok(start) = usize::try_from(i128::from(self.first) - first) {
            for (to, from) in numbers.iter_mut().skip(start).zip(&self.numbers) {
                *to = *from;
            }
        }
        // Between the two, or the least integer there is.
        self.first = first as i64;
        self.numbers = numbers;
    }
}

/// Integers, numbered from 0 in the order in which they are seen: a table of open addresses.
#[derive(Default)]
struct Numbered {
    /// Integers and one more than their number; 0 where there is none. None, or a power of two, half of them free.
    slots: Vec<(u64, u32)>,
    count: u32,
}

/// Slots of a table at first.
const SLOTS_MIN: usize = 64;

impl Numbered {
    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u64, u32)>()
    }

    /// Returns the number of an integer.
    #[inline]
    fn number(&mut self, key: u64) -> u32 {
        if self.slots.len() < 2 * (self.count as usize + 1) {
            self.grow();
        }
        let at = self.place(key);
        match self.slots[at].1 {
            0 => {
                self.count += 1;
                self.slots[at] = (key, self.count);
                self.count - 1
            }
            number => number - 1,
        }
    }

    /// Returns where an integer is, or belongs.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed ^ (mixed >> 32)) as usize & mask;
        while self.slots[at].1 != 0 && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); slots]);
        for (key, number) in old.into_iter().filter(|(_, number)| *number != 0) {
            let at = self.place(key);
            self.slots[at] = (key, number);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use datafusion::arrow::array::{BooleanArray, Int16Array, Int64Array, StringArray};
    use rukh_engine::Coded;

    #[test]
    fn integers_are_numbered_as_they_are_seen() {
        let mut numbered = Numbered::default();
        let keys: Vec<u64> = (0..5000)
            .map(|nth: u64| nth.wrapping_mul(0x1234_5678_9abc_def1))
            .collect();
        for round in 0..2 {
            for (nth, key) in keys.iter().enumerate() {
                assert_eq!(numbered.number(*key), nth as u32, "round {round}");
            }
        }
        assert_eq!(numbered.count, 5000);
    }

    #[test]
    fn integers_near_each_other_are_found_as_they_were_noted() {
        for values in [
            vec![5, 6, 4, -3, 100, 90, 16_380, -20, i64::MAX, i64::MIN, 7],
            vec![i64::MAX, i64::MAX - 5, i64::MIN, i64::MAX - 200, 0],
            vec![i64::MIN, i64::MIN + 9, i64::MIN + 300, i64::MIN + 1, i64::MAX],
            vec![i64::MIN + 70, i64::MIN + 3, -1, i64::MIN],
            (0..40_000).map(|nth| nth * 7919 % 40_009 - 20_000).collect(),
        ] {
            let mut numbers = ColumnNumbers::default();
            for round in 0..2 {
                for (nth, value) in values.iter().enumerate() {
                    assert_eq!(numbers.of_integer(*value), nth as u32 + 1, "{value} {round}");
                }
            }
            assert!(numbers.near.numbers.len() <= NEAR_MAX);
        }
    }

    #[test]
    fn vectors_have_the_groups_of_arrays() {
        let nulls: Vec<bool> = (0..3000).map(|row| row % 13 == 5).collect();
        let integers: Vec<i64> = (0..3000).map(|row| row * 37 % 501 * (row % 3 - 1)).collect();
        let mut coded = Coded::default();
        for value in ["b", "", "a long one", "b", "c"] {
            coded.values.data.extend_from_slice(value.as_bytes());
            coded.values.offsets.push(coded.values.data.len() as u32);
        }
        coded.codes = (0..3000).map(|row| row * 31 % 5).collect();
        for nulls in [None, Some(nulls.as_slice())] {
            let is_there = |row: usize| nulls.is_none_or(|nulls| !nulls[row]);
            let numbers = (0..3000).map(|row| is_there(row).then(|| integers[row]));
            let text = |row: usize| std::str::from_utf8(coded.get(row)).unwrap();
            let arrays: [ArrayRef; 2] = [
                Arc::new(numbers.collect::<Int64Array>()),
                Arc::new(
                    (0..3000)
                        .map(|row| is_there(row).then(|| text(row)))
                        .collect::<StringArray>(),
                ),
            ];
            let vectors = || vec![Keys::Integers(&integers, nulls), Keys::Coded(&coded, nulls)];
            for count in 1..=2 {
                let arrays: Vec<Keys<'_>> = arrays.iter().map(Keys::Array).skip(2 - count).collect();
                let vectors: Vec<Keys<'_>> = vectors().into_iter().skip(2 - count).collect();
                let (mut of_arrays, mut of_vectors) = (Numbers::new(count), Numbers::new(count));
                for _ in 0..2 {
                    assert_eq!(
                        of_arrays.groups(&arrays, 3000).unwrap(),
                        of_vectors.groups(&vectors, 3000).unwrap()
                    );
                }
            }
        }
    }

    #[test]
    fn groups_are_those_of_their_values() {
        let texts = ["a", "", "a\0", "abcdefg", "abcdefgh", "abcdefghi", "\u{ff}ß"];
        let text = |row: usize| (row % 11 != 3).then(|| texts[row * 7 % 5 + row % 3]);
        let number = |row: usize| (row % 7 != 2).then_some((row % 4) as i16 - 2);
        let columns: [ArrayRef; 3] = [
            Arc::new((0..1000).map(text).collect::<StringArray>()),
            Arc::new((0..1000).map(number).collect::<Int16Array>()),
            Arc::new(
                (0..1000)
                    .map(|row| (row % 5 != 0).then_some(row % 2 == 0))
                    .collect::<BooleanArray>(),
            ),
        ];
        for count in 1..=3 {
            let by = &columns[3 - count..];
            let mut numbers = Numbers::new(count);
            let mut known: Vec<Vec<String>> = Vec::new();
            let shown = |row: usize| -> Vec<String> {
                let cell = |column: &ArrayRef| format!("{:?}", column.slice(row, 1));
                by.iter().map(cell).collect()
            };
            for start in [0, 400, 800] {
                let rows = 200.min(1000 - start);
                let part: Vec<ArrayRef> = by.iter().map(|column| column.slice(start, rows)).collect();
                let part: Vec<Keys<'_>> = part.iter().map(Keys::Array).collect();
                let (groups, firsts) = numbers.groups(&part, rows).unwrap();
                known.extend(firsts.iter().map(|row| shown(start + *row as usize)));
                assert_eq!(known.len(), numbers.count());
                for (row, group) in groups.iter().enumerate() {
                    assert_eq!(known[*group as usize], shown(start + row));
                }
            }
        }
    }
}
