//! Changes of a range of keys, decoded: their keys in order, and the columns of a request.
//!
//! What a scan asks of changes is what it asks of blocks: which of them pass its tests, and then their values. So they are
//! decoded into vectors once, and may serve many scans (`chunks`). What is found on the way is kept with them, too: where they belong among
//! the rows of a block.
//!
//! Invariant: of its range a chunk has all changes of one state of the table.
//!
//! Deliberately not here: reading changes from storage (`beside`).

use crate::EngineError;
use crate::columnar::values::test::Test;
use crate::columnar::values::vector::ColumnVector;
use crate::forms::entry::{DELETED, IndexCodec};
use parking_lot::Mutex;
use rukh_keys::{KeyRange, ValueError};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a chunk takes without its changes, about.
const CHUNK_BYTES: usize = 256;

/// Blocks of which a chunk knows where its changes belong, at most.
const PLACED_MAX: usize = 8;

/// Changes of a range of keys.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) range: KeyRange,
    /// The keys, one behind the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<u32>,
    /// A byte for each, 1 if it is an entry and 0 if it says that there is none.
    entries: Vec<u8>,
    /// By slot, the values of the requested columns; of an entry that is gone, any.
    columns: Vec<Option<ColumnVector>>,
    placed: Mutex<Vec<Placed>>,
}

/// Where changes belong in a block.
#[derive(Debug)]
struct Placed {
    identity: u64,
    changes: Range<usize>,
    places: Arc<[Place]>,
}

/// The first row of a block that does not come before a change, and whether it has the change's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) row: u32,
    pub(crate) replaced: bool,
}

impl Place {
    /// The place of a change that comes before a row and is not it.
    pub(crate) fn before(row: usize) -> Self {
        Place {
            row: row as u32,
            replaced: false,
        }
    }
}

/// A chunk that is being made.
pub(crate) struct ChunkBuilder<'i> {
    index: &'i IndexCodec,
    /// The slots of its columns.
    slots: Vec<usize>,
    /// Of these in turn.
    columns: Vec<ColumnVector>,
    keys: Vec<u8>,
    ends: Vec<u32>,
    entries: Vec<u8>,
}

impl<'i> ChunkBuilder<'i> {
    /// Makes a chunk of no changes that is to have the columns of the slots that are wanted.
    pub(crate) fn new(index: &'i IndexCodec, wanted: &[bool]) -> Self {
        let types = &index.blocks().expect("the index is columnar").types;
        let slots: Vec<usize> = (0..types.len()).filter(|slot| wanted[*slot]).collect();
        ChunkBuilder {
            columns: slots.iter().map(|slot| ColumnVector::new(types[*slot])).collect(),
            slots,
            index,
            keys: Vec::new(),
            ends: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Returns the number of changes.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a change; keys ascend.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let is_entry = value != DELETED;
        if is_entry {
            let columns = &mut self.columns;
            self.index
                .visit_slots(key, value, &self.slots, |nth, datum| columns[nth].push(datum))?;
        } else {
            self.columns.iter_mut().for_each(ColumnVector::push_any);
        }
        self.keys.extend_from_slice(key);
        let end = u32::try_from(self.keys.len());
        let ty = rukh_keys::DataType::Varbinary(None);
        self.ends.push(end.map_err(|_| ValueError::TooLong { ty })?);
        self.entries.push(u8::from(is_entry));
        Ok(())
    }

    /// Returns the chunk: all changes of a range.
    pub(crate) fn finish(self, range: KeyRange) -> Chunk {
        let types = &self.index.blocks().expect("the index is columnar").types;
        let mut columns: Vec<Option<ColumnVector>> = types.iter().map(|_| None).collect();
        for (slot, column) in self.slots.into_iter().zip(self.columns) {
            columns[slot] = Some(column);
        }
        Chunk {
            range,
            keys: self.keys,
            ends: self.ends,
            entries: self.entries,
            columns,
            placed: Mutex::default(),
        }
    }
}

impl Chunk {
    /// Returns the number of changes.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn key(&self, change: usize) -> &[u8] {
        let start = change.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[change] as usize]
    }

    /// Whether it has the columns of all slots that are wanted.
    pub(crate) fn has(&self, wanted: &[bool]) -> bool {
        let mut each = wanted.iter().zip(&self.columns);
        each.all(|(wanted, column)| !wanted || column.is_some())
    }

    /// Has the slots wanted whose columns it has.
    pub(crate) fn want(&self, wanted: &mut [bool]) {
        let each = wanted.iter_mut().zip(&self.columns);
        each.for_each(|(wanted, column)| *wanted |= column.is_some());
    }

    /// Returns the column of a slot that was wanted.
    pub(crate) fn column(&self, slot: usize) -> &ColumnVector {
        self.columns[slot].as_ref().expect("the column is wanted")
    }

    /// Returns the first of some changes whose key is `key` or behind it; the one behind them if there is none.
    pub(crate) fn first_from(&self, among: Range<usize>, key: &[u8]) -> usize {
        self.first_where(among, |own| own < key)
    }

    /// Returns the first of some changes whose key is behind `key`.
    pub(crate) fn first_behind(&self, among: Range<usize>, key: &[u8]) -> usize {
        self.first_where(among, |own| own <= key)
    }

    fn first_where(&self, among: Range<usize>, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (among.start, among.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match is_before(self.key(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Returns which changes lie in a range.
    pub(crate) fn within(&self, range: &KeyRange) -> Range<usize> {
        let start = self.first_from(0..self.len(), &range.start);
        let limit = range.limit.as_ref();
        start..limit.map_or(self.len(), |limit| self.first_from(start..self.len(), limit))
    }

    /// Returns a byte for each of some changes, 1 if it is an entry that passes all tests; and how many entries do not.
    pub(crate) fn passing(&self, tests: &[(usize, Test)], changes: Range<usize>) -> (Vec<u8>, usize) {
        let mut mask = self.entries[changes.clone()].to_vec();
        if tests.is_empty() {
            return (mask, 0);
        }
        let entries = crate::columnar::values::mask::ones(&mask);
        for (slot, test) in tests {
            test.leave(self.column(*slot), changes.clone(), &mut mask);
        }
        let passing = crate::columnar::values::mask::ones(&mask);
        (mask, entries - passing)
    }

    /// Returns where the changes belong that lie among the rows of a block with this identity, and which these are, as far as that is
    /// known.
    pub(crate) fn places(&self, identity: u64) -> Option<(Range<usize>, Arc<[Place]>)> {
        let placed = self.placed.lock();
        let placed = placed.iter().find(|placed| placed.identity == identity)?;
        Some((placed.changes.clone(), placed.places.clone()))
    }

    /// Notes where they belong.
    pub(crate) fn place(&self, identity: u64, changes: Range<usize>, places: &Arc<[Place]>) {
        let mut placed = self.placed.lock();
        if placed.len() >= PLACED_MAX {
            placed.clear();
        }
        placed.push(Placed {
            identity,
            changes,
            places: places.clone(),
        });
    }

    /// Returns the bytes that it takes, about, with places in one block for each change.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.columns.iter().flatten();
        CHUNK_BYTES
            + self.range.start.len() * 2
            + self.range.limit.as_ref().map_or(0, Vec::len)
            + self.columns.len() * size_of::<Option<ColumnVector>>()
            + self.keys.len()
            + self.len() * (size_of::<u32>() + 1 + size_of::<Place>())
            + columns.map(ColumnVector::bytes).sum::<usize>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columnar::values::test::ColumnTest;
    use proptest::prelude::*;
    use rukh_catalog::ColumnId;
    use rukh_keys::{DataType, Datum};
    use std::ops::Bound;

    fn datums(ty: DataType) -> BoxedStrategy<Datum> {
        match ty {
            DataType::BigInt => prop_oneof![-3..3_i64, any::<i64>()].prop_map(Datum::Int).boxed(),
            DataType::Double => prop_oneof![-3..3_i64, any::<i64>()]
                .prop_map(|value| Datum::Float(value as f64 / 2.0))
                .boxed(),
            DataType::Decimal { .. } => prop_oneof![-3..3_i128, -(10_i128.pow(29))..10_i128.pow(29)]
                .prop_map(Datum::Decimal)
                .boxed(),
            _ => "[ab]{0,3}".prop_map(Datum::Text).boxed(),
        }
    }

    fn bounds(ty: DataType) -> impl Strategy<Value = Bound<Datum>> {
        (0..3, datums(ty)).prop_map(|(kind, datum)| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(datum),
            _ => Bound::Excluded(datum),
        })
    }

    /// Values of a type, some of them NULL, and one or two ranges of it.
    #[allow(clippy::type_complexity)] // named where it is taken
    fn cases() -> impl Strategy<
        Value = (
            DataType,
            Vec<Option<Datum>>,
            Vec<(Bound<Datum>, Bound<Datum>)>,
            bool,
        ),
    > {
        let decimal = DataType::Decimal {
            precision: 30,
            scale: 0,
        };
        let types = prop::sample::select(vec![
            DataType::BigInt,
            DataType::Double,
            decimal,
            DataType::Varchar(None),
        ]);
        types.prop_flat_map(|ty| {
            let values = prop::collection::vec(prop::option::weighted(0.8, datums(ty)), 0..30);
            let low_half = (bounds(ty), bounds(ty)).prop_map(|range| vec![range]);
            (Just(ty), values, low_half, any::<bool>())
        })
    }

    proptest! {
        #[test]
        fn a_vector_is_tested_as_its_values_are((ty, values, mut ranges, null) in cases(), split in any::<bool>(), skipped in 0..5_usize) {
            if split {
                // Two ranges: what is left of the first below a value, and that value.
                let datum = values.iter().flatten().max().cloned();
                ranges = datum.map_or(ranges, |datum| {
                    vec![
                        (Bound::Unbounded, Bound::Excluded(values.iter().flatten().min().cloned().unwrap())),
                        (Bound::Included(datum.clone()), Bound::Included(datum)),
                    ]
                });
            }
            let mut column = ColumnVector::new(ty);
            for value in &values {
                column.push(&value.as_ref().map_or(rukh_keys::DatumRef::Null, Datum::as_ref)).unwrap();
            }
            let test = Test::new(ty, &ColumnTest { column: ColumnId(0), ranges, null }).unwrap();
            let rows = skipped.min(values.len())..values.len();
            let mut mask: Vec<u8> = rows.clone().map(|row| u8::from(row % 4 > 0)).collect();
            test.leave(&column, rows.clone(), &mut mask);
            let expected = rows.map(|row| {
                let value = values[row].as_ref().map_or(rukh_keys::DatumRef::Null, Datum::as_ref);
                u8::from(row % 4 > 0 && test.takes(ty, &value))
            });
            prop_assert_eq!(mask, expected.collect::<Vec<u8>>());
        }
    }
}
