//! Row ids: the keys of tables that were declared without one, in the order in which rows are inserted.

use crate::Row;
use crate::storage::clock::Clock;
use parking_lot::Mutex;
use rukh_keys::Datum;
use std::sync::Arc;

/// Gives the row ids of one table: the time, or one more than the greatest before.
pub(crate) struct RowIds {
    clock: Arc<Clock>,
    last: Mutex<i64>,
}

impl RowIds {
    /// Goes on behind the greatest id that is stored; 0 stands for none.
    pub(crate) fn after(last: i64, clock: Arc<Clock>) -> Self {
        RowIds {
            clock,
            last: Mutex::new(last),
        }
    }

    /// Gives an id to each row that has none at its position.
    pub(crate) fn give(&self, position: usize, rows: &mut [Row]) {
        let without = rows.iter_mut().filter_map(|row| row.get_mut(position));
        let mut without = without.filter(|datum| datum.is_null()).peekable();
        if without.peek().is_none() {
            return;
        }
        let mut last = self.last.lock();
        // No two rows of a table get one id, not even in transactions that roll back.
        *last = (*last).max(self.clock.now() - 1);
        for datum in without {
            *last += 1;
            *datum = Datum::Int(*last);
        }
    }
}
