//! How what failed statements have left is done.

use crate::EngineError;
use crate::state::shared::Inner;
use crate::state::unsettled::Owed;
use crate::writing::ingest;

impl Inner {
    /// Notes that something is left to do; the caller has the writer lock, as for all here.
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
