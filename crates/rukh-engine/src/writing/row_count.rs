//! Counting the rows of a table so that their number is kept from then on, see `row_counts`.

use crate::EngineError;
use crate::reading::snapshot::Snapshot;
use crate::state::lock::WriterGuard;
use crate::state::shared::{Engine, Inner};
use crate::storage::row_counts::may_keep_rows;
use rukh_catalog::{Table, TableId};
use std::sync::Arc;
use std::time::Duration;

/// How long a count that has ended waits for a writer: it is not kept then.
const PATIENCE: Duration = Duration::from_millis(200);

/// A count of the rows that a snapshot has of a table, beside writers.
pub struct RowCount {
    inner: Arc<Inner>,
    table: TableId,
    ticket: u64,
}

impl Engine {
    /// Whether [`Engine::begin_row_count`] may begin a count of what a snapshot has of this table.
    pub fn can_count_rows(&self, snapshot: &Snapshot, table: &Table) -> bool {
        !self.is_read_only()
            && may_keep_rows(table, self.inner.store.as_ref())
            && snapshot.states.writes.is_some()
    }

    /// Begins to count the rows that a snapshot has of a table; `None` where their number is kept, or cannot be kept: of a snapshot with
    /// changes on top of it, or since which something was written, while a long statement writes, and where
    /// [`Snapshot::kept_rows`] is never there.
    pub fn begin_row_count(
        &self,
        snapshot: &Snapshot,
        table: &Table,
    ) -> Result<Option<RowCount>, EngineError> {
        let inner = &self.inner;
        if !self.can_count_rows(snapshot, table) {
            return Ok(None);
        }
        // After a wait for a writer the snapshot is too old.
        let Some(_guard) = inner.try_lock_writer(Duration::ZERO) else {
            return Ok(None);
        };
        if inner.watched.writes() != snapshot.states.writes {
            return Ok(None);
        }
        let ticket = inner.watched.begin_count(table.id)?;
        Ok(ticket.map(|ticket| RowCount {
            inner: inner.clone(),
            table: table.id,
            ticket,
        }))
    }
}

impl RowCount {
    /// Keeps the number of rows, with those that have come and gone meanwhile, unless it is not certain.
    pub fn finish(self, rows: u64) {
        if let Some(_guard) = self.inner.try_lock_writer(PATIENCE) {
            self.inner.watched.end_count(self.table, self.ticket, rows);
        }
    }
}

impl Inner {
    /// Waits no longer than this for the writer lock; `None` also where nothing may be written.
    fn try_lock_writer(&self, patience: Duration) -> Option<WriterGuard> {
        let guard = self.writer.lock_within(patience)?;
        (self.check_writable().is_ok() && self.is_settled()).then_some(guard)
    }
}
