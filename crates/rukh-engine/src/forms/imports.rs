//! Notes of imports: which file of many was loaded last, stored with its rows.
//!
//! An import of many files keeps a journal of those that are done. A note here names the one that
//! was loaded when the journal could not be written any more. There is one note for each journal, until it is removed.

use serde::{Deserialize, Serialize};

/// What is stored with the rows of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportNote {
    /// Name of the journal.
    pub journal: String,
    /// The file, as the journal writes it.
    pub file: String,
}
