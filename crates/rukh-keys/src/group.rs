//! Groups of keys: all keys of a layout whose leading columns are those of one key.
//!
//! A scan that wants one key of each group is sent from a key to the end of its group, so what
//! matters is where a group begins and what comes after it:
//!
//! | layout             | key                  | columns | begins with | after it   |
//! |--------------------|----------------------|---------|-------------|------------|
//! | (INTEGER, INTEGER) | `80000001 80000005`  | 1       | `80000001`  | `80000002` |
//! | (VARCHAR, INTEGER) | `61 0000 80000005`   | 1       | `61 0000`   | `61 0001`  |
//! | (BOOLEAN, BOOLEAN) | `11......`           | 1       | `1.......`  | none       |
//! | any, salted        | `07 …`               | 0       | `07`        | `08`       |
//!
//! Deliberately not here: which columns are worth to be grouped by; that is the planner's matter.

use crate::error::KeyDecodeError;
use crate::layout::KeyLayout;
use crate::successor::make_prefix_successor;

/// The keys that have the same leading columns as some key. Empty at first: no key is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyGroup {
    /// The bytes that all its keys begin with; bits of later columns are 0.
    prefix: Vec<u8>,
    /// The bits of the last byte that belong to later columns.
    unused_bits: u8,
    /// Whether it is the group of some key.
    known: bool,
}

impl KeyGroup {
    /// Makes this the group of a key by its first `columns` columns and, with `null_tag`, by
    /// whether the column behind them is NULL; that column must be nullable.
    ///
    /// # Errors
    /// If the bytes are no key of this layout, as far as they are looked at.
    pub fn become_group_of(
        &mut self,
        layout: &KeyLayout,
        key: &[u8],
        columns: usize,
        null_tag: bool,
    ) -> Result<(), KeyDecodeError> {
        let (end, unused_bits) = layout.prefix_end(key, columns)?;
        let (end, unused_bits) = match null_tag {
            true => (end + 1, 0),
            false => (end, unused_bits),
        };
        let prefix = key.get(..end).ok_or(KeyDecodeError::Truncated {
            offset: key.len(),
            column: columns,
        })?;
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix);
        if let Some(last) = self.prefix.last_mut() {
            *last &= u8::MAX << unused_bits;
        }
        self.unused_bits = unused_bits;
        self.known = true;
        Ok(())
    }

    /// Whether a key of the layout is in the group.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        if !self.known {
            return false;
        }
        if self.unused_bits == 0 {
            return key.starts_with(&self.prefix);
        }
        let Some((last, before)) = self.prefix.split_last() else {
            return true;
        };
        let here = key.get(before.len());
        key.starts_with(before) && here.is_some_and(|byte| (byte ^ last) >> self.unused_bits == 0)
    }

    /// The smallest bytes that may be a key of the group: none of its keys is less.
    pub fn start(&self) -> &[u8] {
        &self.prefix
    }

    /// Sets `out` to the smallest key greater than all of the group; `false` if there is none.
    pub fn end(&self, out: &mut Vec<u8>) -> bool {
        out.clear();
        out.extend_from_slice(&self.prefix);
        make_prefix_successor(out, self.unused_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Datum, KeyColumn, Salt, SortOrder};
    use proptest::prelude::*;

    fn column(ty: DataType, descending: bool, nullable: bool) -> KeyColumn {
        let order = if descending {
            SortOrder::Desc
        } else {
            SortOrder::Asc
        };
        KeyColumn { ty, order, nullable }
    }

    fn value(ty: DataType, nullable: bool) -> BoxedStrategy<Datum> {
        let value = match ty {
            DataType::Boolean => any::<bool>().prop_map(Datum::Boolean).boxed(),
            DataType::Varchar(_) => "[a\\x00]{0,2}".prop_map(Datum::Text).boxed(),
            _ => prop_oneof![
                Just(-1_i64),
                Just(0),
                Just(255),
                Just(256),
                Just(i64::from(i32::MAX))
            ]
            .prop_map(Datum::Int)
            .boxed(),
        };
        match nullable {
            true => prop_oneof![3 => value, 1 => Just(Datum::Null)].boxed(),
            false => value,
        }
    }

    fn layout() -> impl Strategy<Value = KeyLayout> {
        let ty = prop_oneof![
            Just(DataType::Boolean),
            Just(DataType::Boolean),
            Just(DataType::Integer),
            Just(DataType::Varchar(None)),
        ];
        let columns = prop::collection::vec((ty, any::<bool>(), any::<bool>()), 2..5);
        (columns, any::<bool>()).prop_map(|(columns, salted)| {
            let columns = columns.into_iter().map(|(ty, desc, null)| column(ty, desc, null));
            let salt = salted.then(|| Salt {
                buckets: 3,
                columns: vec![0],
            });
            KeyLayout::new(columns.collect(), salt)
        })
    }

    fn rows(layout: &KeyLayout) -> impl Strategy<Value = Vec<Vec<Datum>>> + use<> {
        let columns: Vec<_> = layout.columns().iter().map(|c| value(c.ty, c.nullable)).collect();
        prop::collection::vec(columns, 1..24)
    }

    proptest! {
        /// A group holds the keys with the same leading values, which lie between its start and its
        /// end, and no other key does.
        #[test]
        fn groups_are_runs_of_equal_leading_values(
            (layout, rows, columns, tag) in layout().prop_flat_map(|layout| {
                let count = layout.columns().len();
                let rows = rows(&layout);
                (Just(layout), rows, 0..count, any::<bool>())
            })
        ) {
            let tag = tag && layout.columns()[columns].nullable;
            let named = |row: &[Datum]| {
                let tag = tag.then(|| row[columns].is_null());
                (layout.bucket(row), row[..columns].to_vec(), tag)
            };
            let keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row).unwrap()).collect();
            let mut group = KeyGroup::default();
            prop_assert!(!group.contains(&keys[0]));
            for (row, key) in rows.iter().zip(&keys) {
                group.become_group_of(&layout, key, columns, tag).unwrap();
                let mut end = Vec::new();
                let ends = group.end(&mut end);
                for (other, other_key) in rows.iter().zip(&keys) {
                    let inside = named(row) == named(other);
                    prop_assert_eq!(group.contains(other_key), inside);
                    let between = other_key.as_slice() >= group.start() && (!ends || *other_key < end);
                    prop_assert_eq!(between, inside);
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_key_are_an_error() {
        let layout = KeyLayout::new(
            vec![
                column(DataType::Integer, false, false),
                column(DataType::Integer, false, true),
            ],
            None,
        );
        let mut group = KeyGroup::default();
        assert!(group.become_group_of(&layout, &[1, 2], 1, false).is_err());
        assert!(group.become_group_of(&layout, &[1, 2, 3, 4], 1, true).is_err());
    }
}
