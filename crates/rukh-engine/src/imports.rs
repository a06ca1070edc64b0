//! Notes of imports: which file of many was loaded last, stored with its rows.
//!
//! Who imports files one by one keeps a journal of those that are done, and is told here about the one that
//! was loaded when it could not be noted there any more. There is one note for each journal, until it is removed.

use crate::engine::Engine;
use crate::{EngineError, stored};
use rukh_kv::{Durability, WriteBatch};
use serde::{Deserialize, Serialize};

/// What is stored with the rows of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportNote {
    /// Name of the journal.
    pub journal: String,
    /// The file, as the journal writes it.
    pub file: String,
}

impl Engine {
    /// Returns the file that was loaded last with a journal, if its note was not removed.
    pub fn imported_last(&self, journal: &str) -> Result<Option<String>, EngineError> {
        stored::import_note(self.inner.store.as_ref(), journal)
    }

    /// Removes the note that goes with a journal, durably.
    pub fn forget_import(&self, journal: &str) -> Result<(), EngineError> {
        let _guard = self.inner.lock_writer()?;
        let mut batch = WriteBatch::new();
        stored::delete_import(&mut batch, journal);
        Ok(self.inner.store.write(batch, Durability::Synced)?)
    }
}
