//! Totals of blocks whose rows are all wanted, as heads have them: no column of these blocks is read.
//!
//! | wanted of a column | what the head has                                                               |
//! |--------------------|---------------------------------------------------------------------------------|
//! | rows not NULL      | always; of a column that is newer than the block, by the value of older rows    |
//! | the smallest value | of numbers; of byte strings where the head has all of it, not a beginning       |
//! | the greatest value | the same                                                                        |
//!
//! A block is answered by its head as a whole or read as a whole. It is read if
//!
//! 1. a test is left open by its head: some rows may fail it;
//! 2. it lies across an end of the range: `id > 5` and a block with the keys 1 to 9;
//! 3. a change lies among its rows: which row it replaces is known by the key columns only;
//! 4. the scan wants a value that the head does not have.
//!
//! What changes beside blocks have is given out as rows, and so are the rows of blocks that are read.

use crate::EngineError;
use crate::columnar::BlockError;
use crate::columnar::scans::first::Value;
use crate::columnar::stored::column::{Bounds, Sought, sought};
use crate::columnar::stored::head::{BlockHead, Known};
use crate::columnar::values::batch::ColumnBatch;
use crate::columnar::values::vector::{Class, ColumnVector, bytes_datum, class_of, int_datum, wide_datum};
use crate::forms::entry::IndexCodec;
use rukh_keys::{DataType, Datum, DatumRef};

/// What is wanted of one column of all rows; the number of values that are not NULL comes in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalWanted {
    /// Its place among the columns that the scan gives out.
    pub column: usize,
    /// Whether the smallest value is.
    pub least: bool,
    /// Whether the greatest value is.
    pub greatest: bool,
}

/// The totals of blocks that were answered by their heads.
pub struct BlockTotals {
    /// Their rows.
    pub rows: u64,
    /// By requested column, rows that are not NULL.
    pub filled: Vec<u64>,
    /// By requested column, two rows: the smallest and the greatest value, NULL if there is none or it is not wanted.
    pub ends: ColumnBatch,
}

/// The totals of one block, or of all.
#[derive(Debug)]
pub(crate) struct Summary {
    rows: u64,
    columns: Vec<ColumnSummary>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnSummary {
    filled: u64,
    pub(crate) least: Option<Value>,
    pub(crate) greatest: Option<Value>,
}

/// Totals being collected.
pub(crate) struct Totals {
    wanted: Vec<TotalWanted>,
    /// By requested column, its slot.
    slots: Vec<usize>,
    sum: Summary,
}

impl Totals {
    /// Makes totals of columns of which `slots` are given out.
    pub(crate) fn new(wanted: Vec<TotalWanted>, slots: &[usize]) -> Self {
        Totals {
            slots: wanted.iter().map(|one| slots[one.column]).collect(),
            sum: Summary {
                rows: 0,
                columns: vec![ColumnSummary::default(); wanted.len()],
            },
            wanted,
        }
    }

    /// Returns the totals of a block by its head; `None` if the head lacks one of them.
    pub(crate) fn summary(
        &self,
        index: &IndexCodec,
        head: &BlockHead,
    ) -> Result<Option<Summary>, BlockError> {
        let blocks = index.blocks().expect("the index is columnar");
        let mut columns = Vec::with_capacity(self.wanted.len());
        for (wanted, slot) in self.wanted.iter().zip(&self.slots) {
            let summary = match head.column(blocks.numbers[*slot]) {
                Some(known) => known_column(wanted, blocks.types[*slot], &known, head.rows)?,
                None => Some(missing_column(
                    blocks.types[*slot],
                    &blocks.missing[*slot],
                    head.rows,
                )?),
            };
            let Some(summary) = summary else {
                return Ok(None);
            };
            columns.push(summary);
        }
        let rows = head.rows as u64;
        Ok(Some(Summary { rows, columns }))
    }

    /// Adds the totals of a block.
    pub(crate) fn add(&mut self, summary: Summary) {
        self.sum.rows += summary.rows;
        for (sum, summary) in self.sum.columns.iter_mut().zip(summary.columns) {
            sum.filled += summary.filled;
            if summary.least.is_some()
                && sum
                    .least
                    .as_ref()
                    .is_none_or(|least| summary.least.as_ref() < Some(least))
            {
                sum.least = summary.least;
            }
            // NULL, which stands for no value, is less than any value.
            if summary.greatest > sum.greatest {
                sum.greatest = summary.greatest;
            }
        }
    }

    /// Returns the totals of a block for the column that is given out at a place.
    pub(crate) fn of_column<'t>(
        &'t self,
        summary: &'t Summary,
        nth: usize,
    ) -> impl Iterator<Item = &'t ColumnSummary> {
        let pairs = self.wanted.iter().zip(&summary.columns);
        pairs.filter_map(move |(wanted, column)| (wanted.column == nth).then_some(column))
    }

    /// Returns the totals of all blocks.
    pub(crate) fn finish(&self, index: &IndexCodec) -> Result<BlockTotals, EngineError> {
        let types = &index.blocks().expect("the index is columnar").types;
        let column = |(summary, slot): (&ColumnSummary, &usize)| {
            let mut ends = ColumnVector::new(types[*slot]);
            for end in [&summary.least, &summary.greatest] {
                push(&mut ends, end.as_ref()).map_err(|error| index.corruption(&[], error))?;
            }
            Ok(ends)
        };
        let columns = self.sum.columns.iter().zip(&self.slots).map(column);
        Ok(BlockTotals {
            rows: self.sum.rows,
            filled: self.sum.columns.iter().map(|column| column.filled).collect(),
            ends: ColumnBatch {
                columns: columns.collect::<Result<_, EngineError>>()?,
                rows: 2,
            },
        })
    }
}

/// What a head has of a column that the block has.
fn known_column(
    wanted: &TotalWanted,
    ty: DataType,
    known: &Known<'_>,
    rows: usize,
) -> Result<Option<ColumnSummary>, BlockError> {
    let filled = rows.checked_sub(known.nulls());
    let filled = filled.ok_or(BlockError::Invalid("more rows that are NULL than rows"))? as u64;
    let whole = |bytes: &[u8]| (!Known::is_cut(bytes)).then(|| Value::Bytes(bytes.to_vec()));
    let (least, greatest) = match known.bounds() {
        Bounds::None => (None, None),
        Bounds::Integers { low, high } => (Some(Value::Int(low)), Some(Value::Int(high))),
        Bounds::Bytes { low, high } => (whole(low), whole(high)),
    };
    for end in [&least, &greatest].into_iter().flatten() {
        datum_of(&ty, end)?;
    }
    let tells = |wanted: bool, end: &Option<Value>| !wanted || filled == 0 || end.is_some();
    let tells_all = tells(wanted.least, &least) && tells(wanted.greatest, &greatest);
    Ok(tells_all.then(|| ColumnSummary {
        filled,
        least: least.filter(|_| wanted.least && filled > 0),
        greatest: greatest.filter(|_| wanted.greatest && filled > 0),
    }))
}

/// What all rows of a block have that is older than a column.
fn missing_column(ty: DataType, value: &Datum, rows: usize) -> Result<ColumnSummary, BlockError> {
    let value = value.as_ref();
    let value = match sought(ty, &value).ok_or(OTHER_TYPE)? {
        Sought::Null => None,
        Sought::Integer(value) => Some(Value::Int(value)),
        Sought::Bytes(value) => Some(Value::Bytes(value.to_vec())),
    };
    Ok(ColumnSummary {
        filled: if value.is_some() { rows as u64 } else { 0 },
        least: value.clone(),
        greatest: value,
    })
}

/// Appends a value, or NULL, to a vector of its type.
fn push(vector: &mut ColumnVector, value: Option<&Value>) -> Result<(), BlockError> {
    let ty = *vector.data_type();
    let datum = value.map_or(Ok(DatumRef::Null), |value| datum_of(&ty, value))?;
    vector.push(&datum).map_err(|_| OTHER_TYPE)
}

/// Returns a value as a datum of its type.
fn datum_of<'v>(ty: &DataType, value: &'v Value) -> Result<DatumRef<'v>, BlockError> {
    match (value, class_of(ty)) {
        (Value::Int(value), Class::Wide) => Ok(wide_datum(ty, *value)),
        (Value::Int(value), Class::Int) => int_datum(ty, i64::try_from(*value).map_err(|_| OTHER_TYPE)?),
        (Value::Bytes(bytes), Class::Bytes) => bytes_datum(ty, bytes),
        _ => Err(OTHER_TYPE),
    }
}

const OTHER_TYPE: BlockError = BlockError::Invalid("a value of another type");
