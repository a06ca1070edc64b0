//! Cursors that go backward: they keep the rows that they have made.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, UInt64Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::error::DataFusionError;
use parking_lot::Mutex;
use rukh_error::SqlError;
use rukh_syntax::FetchedRows;

use super::kept::Cursor;
use crate::exec::rows::NextBatch;

/// Rows that a cursor keeps, so that it can go back to them.
#[derive(Default)]
pub(crate) struct Made {
    batches: Vec<RecordBatch>,
    /// How many rows there are up to the end of each.
    ends: Vec<u64>,
    bytes: usize,
}

/// Most bytes of rows that a cursor keeps.
const MADE_MAX: usize = 256 << 20;

impl Made {
    fn count(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn push(&mut self, batch: RecordBatch) -> Result<(), SqlError> {
        self.bytes = self.bytes.saturating_add(batch.get_array_memory_size());
        if self.bytes > MADE_MAX {
            let message = format!("a SCROLL cursor keeps {} MiB of rows at most", MADE_MAX >> 20);
            return Err(SqlError::statement("54000", message));
        }
        self.ends.push(self.count() + batch.num_rows() as u64);
        self.batches.push(batch);
        Ok(())
    }

    /// Returns rows from one on, at most so many; backward in their reverse order.
    fn rows(&self, first: u64, left: u64, is_backward: bool) -> Result<Option<RecordBatch>, SqlError> {
        let at = self.ends.partition_point(|end| *end < first);
        let Some(batch) = self.batches.get(at).filter(|_| left > 0) else {
            return Ok(None);
        };
        let before = at.checked_sub(1).map_or(0, |at| self.ends[at]);
        let offset = usize::try_from(first - before - 1).unwrap_or(usize::MAX);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        if !is_backward {
            let count = left.min(batch.num_rows() - offset);
            return Ok(Some(batch.slice(offset, count)));
        }
        let count = left.min(offset + 1);
        let places = (0..count).map(|back| (offset - back) as u64);
        let places = UInt64Array::from_iter_values(places);
        let batch = take_record_batch(batch, &places).map_err(DataFusionError::from)?;
        Ok(Some(batch))
    }
}

/// The rows that one FETCH of a cursor that goes backward asks for.
pub(crate) struct ScrolledFetch {
    pub(crate) cursor: Arc<Mutex<Cursor>>,
    pub(crate) rows: Scrolled,
}

/// Rows of a cursor that goes backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scrolled {
    /// The first of them, from 1.
    first: u64,
    /// How many there are.
    pub(crate) count: u64,
    is_backward: bool,
}

impl Scrolled {
    const NONE: Scrolled = Scrolled {
        first: 1,
        count: 0,
        is_backward: false,
    };

    fn one(row: u64) -> Scrolled {
        Scrolled {
            first: row,
            count: 1,
            is_backward: false,
        }
    }
}

impl NextBatch for ScrolledFetch {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let Scrolled {
            first,
            count,
            is_backward,
        } = self.rows;
        let cursor = self.cursor.lock();
        let Some(made) = &cursor.made else {
            return Ok(None);
        };
        let batch = made.rows(first, count, is_backward)?;
        let given = batch.as_ref().map_or(count, |batch| batch.num_rows() as u64);
        self.rows.count -= given;
        self.rows.first = match is_backward {
            true => first.saturating_sub(given),
            false => first + given,
        };
        Ok(batch)
    }
}

impl Cursor {
    /// Makes rows up to one of a cursor that goes backward; says whether it is there.
    fn reach(&mut self, row: u64) -> Result<bool, SqlError> {
        let Some(made) = &mut self.made else {
            return Ok(false);
        };
        while made.count() < row && !self.is_over {
            match self.rows.next_batch()? {
                Some(batch) if batch.num_rows() > 0 => made.push(batch)?,
                Some(_) => {}
                None => self.is_over = true,
            }
        }
        Ok(made.count() >= row)
    }

    /// Goes to the rows that a FETCH asks for, of a cursor that goes backward.
    pub(crate) fn scroll(&mut self, rows: FetchedRows) -> Result<Scrolled, SqlError> {
        let place = self.position;
        let to = |cursor: &mut Self, row: Option<u64>| -> Result<Scrolled, SqlError> {
            match row {
                Some(row) if row > 0 && cursor.reach(row)? => {
                    cursor.position = row;
                    Ok(Scrolled::one(row))
                }
                Some(row) if row > 0 => {
                    cursor.position = cursor.count() + 1;
                    Ok(Scrolled::NONE)
                }
                _ => {
                    cursor.position = 0;
                    Ok(Scrolled::NONE)
                }
            }
        };
        match rows {
            FetchedRows::Next(0) | FetchedRows::Backward(0) | FetchedRows::Relative(0) => {
                let is_on_row = place > 0 && self.reach(place)?;
                Ok(if is_on_row {
                    Scrolled::one(place)
                } else {
                    Scrolled::NONE
                })
            }
            FetchedRows::Next(_) | FetchedRows::All => {
                let wanted = match rows {
                    FetchedRows::Next(rows) => rows,
                    _ => u64::MAX,
                };
                let last = place.saturating_add(wanted);
                self.position = match self.reach(last)? {
                    true => last,
                    false => self.count() + 1,
                };
                let first = place + 1;
                let count = last.min(self.count()).saturating_sub(place);
                Ok(Scrolled {
                    first,
                    count,
                    is_backward: false,
                })
            }
            FetchedRows::Backward(_) | FetchedRows::BackwardAll => {
                let wanted = match rows {
                    FetchedRows::Backward(rows) => rows,
                    _ => u64::MAX,
                };
                let before = place.saturating_sub(1);
                let count = wanted.min(before);
                self.position = if count == wanted { place - count } else { 0 };
                Ok(Scrolled {
                    first: before,
                    count,
                    is_backward: true,
                })
            }
            FetchedRows::Relative(by) => to(self, place.checked_add_signed(by)),
            FetchedRows::Absolute(row) if row < 0 => {
                self.reach(u64::MAX)?;
                let row = (self.count() + 1).checked_sub(row.unsigned_abs());
                to(self, row)
            }
            FetchedRows::Absolute(row) => to(self, Some(row.unsigned_abs())),
        }
    }

    fn count(&self) -> u64 {
        self.made.as_ref().map_or(0, Made::count)
    }
}
