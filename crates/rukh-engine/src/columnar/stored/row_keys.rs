//! Keys of rows that are decoded column by column: made where they are wanted, compared without being made.

use crate::EngineError;
use crate::columnar::BlockError;
use crate::columnar::stored::column::{self, Sought};
use crate::columnar::stored::error::corruption;
use crate::columnar::values::vector::{ColumnVector, Values};
use crate::forms::codec::DatumRefs;
use crate::forms::entry::IndexCodec;
use rukh_keys::{DatumRef, SortOrder};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;

/// The keys of rows in key order.
#[derive(Clone, Copy)]
pub(crate) struct RowKeys<'a> {
    index: &'a IndexCodec,
    /// By slot; those of the key at least.
    columns: &'a [ColumnVector],
}

impl<'a> RowKeys<'a> {
    pub(crate) fn new(index: &'a IndexCodec, columns: &'a [ColumnVector]) -> Self {
        RowKeys { index, columns }
    }

    fn elements(&self) -> usize {
        self.index.layout.columns().len()
    }

    /// Returns the key of a row.
    pub(crate) fn key(&self, row: usize) -> Result<Vec<u8>, EngineError> {
        let elements = self.columns[..self.elements()].iter();
        let datums: Result<DatumRefs<'_>, BlockError> = elements.map(|column| column.datum(row)).collect();
        let datums = datums.map_err(|e| corruption(self.index, &[], None, e))?;
        let mut key = Vec::with_capacity(32);
        self.index.layout.encode_into(&datums, &mut key)?;
        Ok(key)
    }

    /// Looks for the row with a key among some of which the first are likely to be it: where it is, or would be.
    pub(crate) fn search(&self, rows: Range<usize>, key: &[u8]) -> Result<Result<usize, usize>, EngineError> {
        let mut datums = Vec::with_capacity(self.elements());
        let decoded = self.index.layout.decode_refs(key, &mut datums);
        decoded.map_err(|e| self.index.corruption(key, e))?;
        let sought = self.sought(&datums);
        let compare = |row: usize| match &sought {
            Some(sought) => Ok(self.compare(row, sought)),
            None => self.key(row).map(|found| found.as_slice().cmp(key)),
        };
        let (mut low, mut high, mut step) = (rows.start, rows.end, 0_usize);
        while low < high {
            // Steps grow until the key is passed; then half of what is left goes with each.
            let middle = (low + step).min(low + (high - low) / 2);
            match compare(middle)? {
                Ordering::Less => (low, step) = (middle + 1, step * 2 + 1),
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Ok(middle)),
            }
        }
        Ok(Err(low))
    }

    /// Returns the elements of a key as columns have them; `None` if they alone do not say where it is.
    fn sought<'d>(&self, datums: &'d [DatumRef<'_>]) -> Option<SmallVec<[Sought<'d>; 12]>> {
        if self.index.layout.salt().is_some() {
            return None;
        }
        let columns = self.columns[..self.elements()].iter().zip(datums);
        let each = columns.map(|(column, datum)| column::sought(*column.data_type(), datum));
        each.collect()
    }

    /// Compares the key of a row with one of these elements.
    fn compare(&self, row: usize, sought: &[Sought<'_>]) -> Ordering {
        let layout = self.index.layout.columns();
        for ((column, sought), element) in self.columns.iter().zip(sought).zip(layout) {
            let order = compare(column, row, sought);
            if order.is_ne() {
                return match element.order {
                    SortOrder::Asc => order,
                    SortOrder::Desc => order.reverse(),
                };
            }
        }
        Ordering::Equal
    }
}

/// Compares the value of a row with one sought, NULLs last.
fn compare(column: &ColumnVector, row: usize, sought: &Sought<'_>) -> Ordering {
    match (column.is_null(row), sought) {
        (true, Sought::Null) => return Ordering::Equal,
        (true, _) => return Ordering::Greater,
        (false, Sought::Null) => return Ordering::Less,
        (false, _) => {}
    }
    match (column.values(), sought) {
        (Values::Int(values), Sought::Integer(sought)) => i128::from(values[row]).cmp(sought),
        (Values::Wide(values), Sought::Integer(sought)) => values[row].cmp(sought),
        (Values::Bytes(strings), Sought::Bytes(sought)) => strings.get(row).cmp(sought),
        // `Sought` is of the column's class.
        _ => Ordering::Less,
    }
}
