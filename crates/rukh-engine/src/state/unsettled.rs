//! Writes that are left of statements that failed because space or descriptors were used up.
//!
//! Such a statement is undone, or completed, by writes; where these fail for the same reason, they are owed. Until they are paid
//! nothing else is written: every writer tries them first, and fails as they do. Readers go on, and see the state before
//! the statement. After a crash the next open does the same by what is stored (`recover`).

use crate::ImportNote;
use parking_lot::Mutex;
use rukh_catalog::IndexId;
use rukh_keys::KeyRange;
use rukh_kv::LoadFile;

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
pub(crate) struct Unsettled(pub(crate) Mutex<Vec<Owed>>);

/// Column families with the files to ingest into each, in this order.
pub(crate) type Loads = Vec<(String, Vec<LoadFile>)>;

/// Column families with ranges to remove from each.
pub(crate) type Ranges = Vec<(String, KeyRange)>;
