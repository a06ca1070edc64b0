//! Prepared statements and cursors that SQL names.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use parking_lot::Mutex;
use rukh_error::SqlError;
use rukh_keys::DataType;
use rukh_syntax::Name;

use super::prepared::Prepared;
use super::scroll::Made;
use crate::exec::rows::{NextBatch, Rows};
use crate::exec::session_settings::cursors::Shown;

/// Most prepared statements, and most cursors, of one session.
const KEPT_MAX: usize = 10_000;

/// What a session keeps by name.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) statements: HashMap<String, KeptPrepared>,
    pub(crate) cursors: HashMap<String, KeptCursor>,
}

/// A prepared statement, with the types of its parameters that its session was given.
#[derive(Clone)]
pub(crate) struct KeptPrepared {
    pub(crate) prepared: Prepared,
    pub(crate) types: Vec<Option<DataType>>,
}

/// A cursor as its session knows it.
pub(crate) struct KeptCursor {
    pub(crate) cursor: Arc<Mutex<Cursor>>,
    /// How many savepoints there were when it was declared; none once its transaction is over.
    pub(crate) savepoints: usize,
    /// How long it stays.
    pub(crate) hold: Hold,
    /// Its place among those that are shown, until it is closed.
    #[expect(dead_code, reason = "it is dropped with the cursor")]
    pub(crate) shown: Shown,
}

/// How long a cursor stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// As long as its transaction.
    Transaction,
    /// For good if its transaction is committed.
    IfCommitted,
    /// Until it is closed.
    Session,
}

/// The rows of a query that has begun.
pub(crate) struct Cursor {
    pub(crate) rows: Rows,
    /// Rows that were made and not fetched.
    pub(crate) rest: Option<RecordBatch>,
    /// How many rows were fetched or passed over; of one that goes backward the present row, from 1, 0 before the first, and one more than there
    /// are behind the last.
    pub(crate) position: u64,
    pub(crate) is_over: bool,
    /// The rows that were made, if it goes backward.
    pub(crate) made: Option<Made>,
}

/// The rows that one FETCH asks for, made as they are read.
pub(crate) struct Fetch {
    pub(crate) cursor: Arc<Mutex<Cursor>>,
    pub(crate) left: u64,
}

impl NextBatch for Fetch {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        if self.left == 0 {
            return Ok(None);
        }
        let batch = self.cursor.lock().next(self.left)?;
        self.left -= batch.as_ref().map_or(self.left, |batch| batch.num_rows() as u64);
        Ok(batch)
    }
}

impl Kept {
    /// Closes the cursors of a transaction that is over, but for those that outlive its commit.
    pub(crate) fn end_transaction(&mut self, committed: bool) {
        self.cursors.retain(|_, cursor| match cursor.hold {
            Hold::Transaction => false,
            Hold::IfCommitted => committed,
            Hold::Session => true,
        });
        for cursor in self.cursors.values_mut() {
            (cursor.hold, cursor.savepoints) = (Hold::Session, 0);
        }
    }

    /// Closes cursors that were declared after a savepoint which is rolled back to.
    pub(crate) fn close_cursors_after(&mut self, savepoint: usize) {
        self.cursors.retain(|_, cursor| cursor.savepoints <= savepoint);
    }

    /// Takes note that a savepoint, and those after it, are released.
    pub(crate) fn release(&mut self, savepoint: usize) {
        for cursor in self.cursors.values_mut() {
            cursor.savepoints = cursor.savepoints.min(savepoint);
        }
    }

    pub(crate) fn statement(&self, name: &Name) -> Result<KeptPrepared, SqlError> {
        let known = self.statements.get(&name.text).cloned();
        known.ok_or_else(|| {
            let message = format!("prepared statement \"{}\" does not exist", name.text);
            SqlError::statement("26000", message)
        })
    }

    pub(crate) fn cursor(&self, name: &Name) -> Result<Arc<Mutex<Cursor>>, SqlError> {
        let kept = self.cursors.get(&name.text);
        kept.map(|kept| kept.cursor.clone())
            .ok_or_else(|| no_cursor(name))
    }
}

/// Returns the error of a cursor that is not there.
pub(crate) fn no_cursor(name: &Name) -> SqlError {
    SqlError::statement("34000", format!("cursor \"{}\" does not exist", name.text))
}

/// Fails with 54000 if there are so many already.
pub(crate) fn check_room(count: usize, what: &str) -> Result<(), SqlError> {
    match count < KEPT_MAX {
        true => Ok(()),
        false => Err(SqlError::statement(
            "54000",
            format!("a session has {KEPT_MAX} {what} at most"),
        )),
    }
}

impl Cursor {
    /// Returns the next rows, at most so many; `None` at the end.
    fn next(&mut self, rows_max: u64) -> Result<Option<RecordBatch>, SqlError> {
        let mut batch = match self.rest.take() {
            Some(batch) => batch,
            None if self.is_over => return Ok(None),
            None => match self.rows.next_batch()? {
                Some(batch) => batch,
                None => {
                    self.is_over = true;
                    return Ok(None);
                }
            },
        };
        let rows = batch
            .num_rows()
            .min(usize::try_from(rows_max).unwrap_or(usize::MAX));
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
            batch = batch.slice(0, rows);
        }
        self.position += rows as u64;
        Ok(Some(batch))
    }

    /// Passes over rows; returns how many there were, at most so many.
    pub(crate) fn pass(&mut self, rows_max: u64) -> Result<u64, SqlError> {
        let mut passed = 0;
        while passed < rows_max {
            match self.next(rows_max - passed)? {
                Some(batch) => passed += batch.num_rows() as u64,
                None => break,
            }
        }
        Ok(passed)
    }
}
