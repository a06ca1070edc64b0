//! What is left to do of statements that failed for want of space or of descriptors.
//!
//! Such a statement is undone, or completed, by writes; where these fail for the same reason, they are owed. Until they are paid
//! nothing else is written: whoever wants to write tries them first, and fails as they do. Readers go on, and see what there was before
//! the statement. After a crash the next open does the same by what is stored (`recover`).

use crate::engine::Inner;
use crate::ingest::{self, Loads, Ranges};
use crate::{EngineError, ImportNote};
use parking_lot::Mutex;
use rukh_catalog::IndexId;

/// One thing that is owed.
pub(crate) enum Owed {
    /// A load of which nothing was ingested may be noted: its files are marked, the note is to be forgotten.
    Forget(Loads),
    /// A load is ingested in part: the rest is to be, and readers see what there was before.
    Complete {
        /// All of its files.
        loads: Loads,
        /// What is to be removed with it.
        ranges: Ranges,
        /// What it says of itself.
        imported: Option<ImportNote>,
    },
    /// An index that could not be filled is to be removed.
    RemoveIndex(IndexId),
}

/// All that is owed, in the order in which it came up.
#[derive(Default)]
pub(crate) struct Unsettled(Mutex<Vec<Owed>>);

impl Inner {
    /// Notes that something is left to do; whoever calls has the writer lock, as for all here.
    pub(crate) fn owe(&self, owed: Owed) {
        self.unsettled.0.lock().push(owed);
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.0.lock().is_empty()
    }

    /// Does what is left to do.
    pub(crate) fn settle(&self) -> Result<(), EngineError> {
        if self.is_settled() {
            return Ok(());
        }
        let mut owed = std::mem::take(&mut *self.unsettled.0.lock());
        while let Some(first) = owed.first() {
            if let Err(error) = self.settle_one(first) {
                *self.unsettled.0.lock() = owed;
                return Err(error);
            }
            owed.remove(0);
        }
        self.drop_unnamed();
        Ok(())
    }

    fn settle_one(&self, owed: &Owed) -> Result<(), EngineError> {
        match owed {
            Owed::Forget(loads) => ingest::forget_abandoned(self, loads),
            Owed::Complete {
                loads,
                ranges,
                imported,
            } => ingest::complete(self, loads, ranges, imported.as_ref()),
            Owed::RemoveIndex(id) => self.remove_index(*id),
        }
    }
}
