//! How a store that one process writes orders commits: by the turn of the caller, with recent commits in memory and syncs that
//! several share.
//!
//! The caller lets one thread commit at a time ([`Turn`](crate::Turn)). [`recent`] remembers what was committed while a watch is open, [`group`]
//! has commits that wait for one another share a sync of the log.

mod group;
mod recent;

use crate::{Commit, CommitOrder, Committed, Durability, KvError, KvStore, Traffic, Version, Watch};
use group::{Failure, Group};
use recent::{Recent, Registration};
use std::sync::Arc;

/// The order of the commits of a store that one process writes, one thread at a time.
#[derive(Default)]
pub struct SingleWriter {
    recent: Arc<Recent>,
    group: Group,
}

impl SingleWriter {
    /// Commits by [`KvStore::apply`] and [`KvStore::sync`] of a store: how it implements [`KvStore::commit`].
    pub fn commit(&self, store: &dyn KvStore, commit: Commit<'_>) -> Result<Committed, KvError> {
        let Commit {
            batch,
            durability,
            touched,
            turn,
        } = commit;
        if let Some(touch) = self.recent.changed(touched) {
            return Ok(Committed::Conflict { touch });
        }
        let together = durability == Durability::Synced
            && !batch.is_empty()
            && (turn.is_awaited() || self.group.is_busy());
        let applied = match (batch.is_empty(), together) {
            (true, _) => Ok(Traffic::default()),
            (false, true) => store.apply(batch, Durability::Buffered),
            (false, false) => store.apply(batch, durability),
        };
        // Of a failure it is not certain that nothing was stored.
        let version = self.recent.note(touched);
        let traffic = applied?;
        if together {
            let number = self.group.written();
            turn.end();
            let synced = self.group.wait(number, || store.sync());
            synced.map_err(|failure| KvError::NotSynced {
                source: match failure {
                    Failure::Own(error) => Some(Box::new(error)),
                    Failure::Others => None,
                },
            })?;
        }
        Ok(Committed::At { version, traffic })
    }
}

impl CommitOrder for SingleWriter {
    fn version(&self) -> Version {
        self.recent.version()
    }

    fn is_watched(&self) -> bool {
        self.recent.is_watched()
    }

    fn watch(&self) -> Box<dyn Watch> {
        Box::new(self.recent.register())
    }
}

impl Watch for Registration {
    fn began(&self) -> Version {
        Registration::began(self)
    }

    fn changed(&self, touched: &[crate::Touch]) -> Result<Option<usize>, KvError> {
        Ok(self.recent().changed(touched))
    }
}
