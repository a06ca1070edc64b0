//! How a batch reaches storage, with the requested durability.

use crate::EngineError;
use crate::state::commits::Commits;
use crate::state::group::Failure;
use crate::state::lock::WriterGuard;
use crate::state::shared::Inner;
use rukh_kv::{Durability, Traffic, WriteBatch};

impl Inner {
    /// Writes the changes of a commit at once, notes them, and gives up the writer lock; returns when
    /// they are as durable as requested, with what that took of servers elsewhere.
    pub(crate) fn commit(
        &self,
        mut batch: WriteBatch,
        durability: Durability,
        guard: WriterGuard,
        note: impl FnOnce(&Commits),
    ) -> Result<Traffic, EngineError> {
        self.builds.note(&mut batch);
        self.commit_noted(batch, durability, guard, note)
    }

    /// The same for a batch that leaves no word for builds of indexes: they know of it, or it changes no row.
    pub(crate) fn commit_noted(
        &self,
        batch: WriteBatch,
        durability: Durability,
        guard: WriterGuard,
        note: impl FnOnce(&Commits),
    ) -> Result<Traffic, EngineError> {
        if batch.is_empty() {
            note(&self.commits);
            return Ok(Traffic::default());
        }
        let together = durability == Durability::Synced && (guard.is_contended() || self.group.is_busy());
        let durability = match together {
            true => Durability::Buffered,
            false => durability,
        };
        let written = self.store.commit(batch, durability);
        note(&self.commits);
        let traffic = written?;
        if !together {
            return Ok(traffic);
        }
        let commit = self.group.written();
        drop(guard);
        match self.group.wait(commit, || self.store.sync()) {
            Ok(()) => Ok(traffic),
            Err(Failure::Others) => Err(self.halt()),
            Err(Failure::Own(error)) => {
                self.halt();
                Err(error.into())
            }
        }
    }
}
