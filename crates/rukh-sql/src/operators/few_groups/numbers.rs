//! Numbers for what rows are grouped by: of values, in the order in which they are seen, and of their combinations.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::DataFusionError;
use datafusion::error::Result as DataFusionResult;

/// Whether values of a type are told apart by their bits.
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
    /// Numbers of what two columns have, then of that and what a third has, and so on; the last tells groups.
    pairs: Vec<Numbered>,
}

impl Numbers {
    /// Makes numbers for so many columns, none given.
    pub(super) fn new(columns: usize) -> Self {
        Numbers {
            columns: (0..columns).map(|_| ColumnNumbers::default()).collect(),
            pairs: (1..columns.max(2)).map(|_| Numbered::default()).collect(),
        }
    }

    /// Returns how many groups there are.
    pub(super) fn count(&self) -> usize {
        self.pairs.last().map_or(0, |groups| groups.count as usize)
    }

    /// Returns the bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(ColumnNumbers::bytes);
        columns.chain(self.pairs.iter().map(Numbered::bytes)).sum()
    }

    /// Returns the group of each row, and the first row of each group that is new.
    pub(super) fn groups(
        &mut self,
        by: &[ArrayRef],
        rows: usize,
    ) -> DataFusionResult<(Vec<usize>, Vec<u32>)> {
        let (mut left, mut right) = (vec![0; rows], Vec::with_capacity(rows));
        let mut before = self.count();
        let (mut groups, mut firsts) = (Vec::with_capacity(rows), Vec::new());
        let last = self.pairs.len() - 1;
        let mut columns = self.columns.iter_mut().zip(by);
        if by.len() > 1
            && let Some((numbers, values)) = columns.next()
        {
            left.clear();
            numbers.of(values, &mut left)?;
        }
        for ((numbers, values), (nth, pairs)) in columns.zip(self.pairs.iter_mut().enumerate()) {
            right.clear();
            numbers.of(values, &mut right)?;
            for (left, right) in left.iter_mut().zip(&right) {
                *left = pairs.number(u64::from(*left) << 32 | u64::from(*right));
            }
            if nth < last {
                continue;
            }
            for (row, group) in left.iter().enumerate() {
                let group = *group as usize;
                if group == before {
                    before += 1;
                    firsts.push(row as u32);
                }
                groups.push(group);
            }
        }
        Ok((groups, firsts))
    }
}

/// The numbers of the values of one column; that of NULL is 0.
#[derive(Default)]
struct ColumnNumbers {
    values: Numbered,
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
        self.values.bytes() + self.texts_bytes
    }

    /// Appends the number of each value.
    fn of(&mut self, values: &ArrayRef, out: &mut Vec<u32>) -> DataFusionResult<()> {
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
        let mut number = |value: T::Native| {
            let value: i64 = value.into();
            1 + self.values.number(value as u64)
        };
        match values.nulls() {
            None => out.extend(values.values().iter().map(|value| number(*value))),
            Some(nulls) => {
                let rows = values.values().iter().zip(nulls.iter());
                out.extend(rows.map(|(value, is_there)| match is_there {
                    true => number(*value),
                    false => 0,
                }));
            }
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

    use datafusion::arrow::array::{BooleanArray, Int16Array, StringArray};

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
                let (groups, firsts) = numbers.groups(&part, rows).unwrap();
                known.extend(firsts.iter().map(|row| shown(start + *row as usize)));
                assert_eq!(known.len(), numbers.count());
                for (row, group) in groups.iter().enumerate() {
                    assert_eq!(known[*group], shown(start + row));
                }
            }
        }
    }
}
