//! The changes of a columnar index that are in no block yet, read in key order, one by one.

use crate::EngineError;
use rukh_kv::KvCursor;

/// A key with its value.
pub(crate) type Change = (Vec<u8>, Vec<u8>);

/// Changes being read.
pub(crate) struct Changes {
    cursor: Box<dyn KvCursor>,
    /// The one that follows, if it was read already.
    next: Option<Change>,
    ended: bool,
}

impl Changes {
    pub(crate) fn new(cursor: Box<dyn KvCursor>) -> Self {
        Changes {
            cursor,
            next: None,
            ended: false,
        }
    }

    /// Returns the next change without taking it.
    pub(crate) fn peek(&mut self) -> Result<Option<&Change>, EngineError> {
        if self.next.is_none() && !self.ended {
            self.next = self
                .cursor
                .next()?
                .map(|entry| (entry.key.to_vec(), entry.value.to_vec()));
            self.ended = self.next.is_none();
        }
        Ok(self.next.as_ref())
    }

    /// Takes the next change.
    pub(crate) fn next(&mut self) -> Result<Option<Change>, EngineError> {
        self.peek()?;
        Ok(self.next.take())
    }
}
