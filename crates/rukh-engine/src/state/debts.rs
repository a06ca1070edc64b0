//! When changes are repacked: bit by bit, by the writers.
//!
//! Each commit that changes a table with a columnar index adds to the debt of the index. Past
//! a limit, a twentieth of its rows or [`REPACK_ROWS`] if that is more, each commit folds about two
//! changes for each of its own, once it is durable and others can go on. So the debt
//! stays near the limit, no commit waits for long, and there is no thread that could outlive the
//! database. What a commit has done is not undone by a repack that fails: the next one tries again.

use parking_lot::Mutex;
use rukh_catalog::IndexId;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Changes that are left beside blocks in any case.
const REPACK_ROWS: u64 = 65_536;

/// How much the columnar indexes of a database have to be repacked, and how their blocks are made.
pub(crate) struct Debts {
    pub(crate) known: Mutex<HashMap<IndexId, Debt>>,
    /// Each held during a repack of the index: a repack of one does not stop the folding of others.
    pub(crate) repacks: Mutex<HashMap<IndexId, Arc<Mutex<()>>>>,
    pub(crate) rows_min: AtomicU64,
    pub(crate) block_rows: AtomicUsize,
}

impl Default for Debts {
    fn default() -> Self {
        Debts {
            known: Mutex::default(),
            repacks: Mutex::default(),
            rows_min: AtomicU64::new(REPACK_ROWS),
            block_rows: AtomicUsize::new(crate::columnar::stored::block::BLOCK_ROWS),
        }
    }
}

impl Debts {
    /// Returns the lock that a repack of an index holds.
    pub(crate) fn repack_of(&self, id: IndexId) -> Arc<Mutex<()>> {
        self.repacks.lock().entry(id).or_default().clone()
    }
}

/// What is known of one index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Debt {
    /// Changes beside blocks, about.
    pub(crate) changes: u64,
    /// Rows in blocks, about.
    pub(crate) rows: u64,
    /// Changes to be folded before a commit returns.
    pub(crate) credit: i64,
    /// Where the next step begins.
    pub(crate) next: Vec<u8>,
    /// Where to look next for blocks with rows that have died; once all changes had their turn, all blocks have theirs.
    pub(crate) dead: Option<Vec<u8>>,
}
