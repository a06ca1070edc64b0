//! Tables whose statistics are no longer true: so many rows have changed since that they may mislead.
//!
//! Every commit notes how many rows of each table it changed. As in PostgreSQL a table is stale from 50
//! rows and a tenth of those that were found on. What was noted goes with the process: a database that is
//! opened counts from zero, beside the statistics that are stored.
//!
//! A history has statistics of its own, and about as many of its images change as rows of its table do.
//!
//! Deliberately not here: which thread looks for stale tables, and when. The engine has no threads of its own for it.

use crate::progress::Progress;
use crate::state::shared::{Engine, Inner};
use crate::{EngineError, TableStatistics};
use rukh_catalog::TableId;
use rukh_kv::Durability;

/// Changed rows from which a table is stale, beside a share of its rows.
const STALE_ROWS: u64 = 50;

/// The share of a table's rows that may change: one in this many.
const STALE_SHARE: u64 = 10;

impl Inner {
    /// Notes that a commit changed so many rows of a table.
    pub(crate) fn note_changed_rows(&self, id: TableId, rows: u64) {
        let history = self.definitions().history(id).map(|history| history.table.id);
        let mut changed = self.changed_rows.lock();
        for id in std::iter::once(id).chain(history) {
            let known = changed.entry(id).or_default();
            *known = known.saturating_add(rows);
        }
    }

    /// Returns how many rows of a table have changed since its statistics were gathered.
    pub(crate) fn changed_rows(&self, id: TableId) -> u64 {
        self.changed_rows.lock().get(&id).copied().unwrap_or(0)
    }

    /// Forgets what is known of a table that is gone, or has become empty, and of its history.
    pub(crate) fn forget_statistics(&self, id: TableId) {
        self.forget_history(id);
        self.statistics.write().remove(&id);
        self.changed_rows.lock().remove(&id);
    }

    /// Forgets what is known of the history of a table.
    pub(crate) fn forget_history(&self, id: TableId) {
        self.statistics.write().remove(&id.history());
        self.changed_rows.lock().remove(&id.history());
        self.maintainers.lock().remove(&id.history());
    }

    /// Forgets changes that the statistics of a table know of.
    pub(crate) fn forget_changed_rows(&self, id: TableId, rows: u64) {
        if let Some(known) = self.changed_rows.lock().get_mut(&id) {
            *known = known.saturating_sub(rows);
        }
    }
}

/// Says that a table is being analyzed, until dropped.
pub(crate) struct Analyzing<'a> {
    inner: &'a Inner,
    id: TableId,
}

impl<'a> Analyzing<'a> {
    pub(crate) fn new(inner: &'a Inner, id: TableId) -> Self {
        inner.analyzing.lock().push(id);
        Analyzing { inner, id }
    }
}

impl Drop for Analyzing<'_> {
    fn drop(&mut self) {
        let mut analyzing = self.inner.analyzing.lock();
        if let Some(at) = analyzing.iter().position(|id| *id == self.id) {
            analyzing.swap_remove(at);
        }
    }
}

impl Engine {
    /// Returns the tables and histories whose statistics are no longer true, in order of id: those of which more rows
    /// have changed than 50 and a tenth of those that the last ANALYZE found. One that is being analyzed is
    /// left out.
    pub fn stale_tables(&self) -> Vec<TableId> {
        let definitions = self.inner.definitions();
        let known = |id: TableId| self.statistics(id).map_or(0, |known| known.rows);
        let mut changed = self.inner.changed_rows.lock();
        // A commit may be noted after its table was dropped.
        changed.retain(|id, _| definitions.codec(*id).is_ok());
        let is_stale = |(id, rows): (&TableId, &u64)| {
            (*rows >= STALE_ROWS.saturating_add(known(*id) / STALE_SHARE)).then_some(*id)
        };
        let mut stale: Vec<TableId> = changed.iter().filter_map(is_stale).collect();
        let analyzing = self.inner.analyzing.lock();
        stale.retain(|id| !analyzing.contains(id));
        stale.sort();
        stale
    }

    /// Gathers statistics of a table as [`Engine::analyze`] does, without a sync: after
    /// a crash those from before may be there again.
    pub fn refresh_statistics(
        &self,
        id: TableId,
        progress: &dyn Progress,
    ) -> Result<TableStatistics, EngineError> {
        self.analyze_as(id, progress, Durability::Buffered)
    }
}
