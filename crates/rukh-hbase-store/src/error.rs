//! What can go wrong.

use rukh_commit::Time;

use crate::Row;

/// An error of transactions on HBase. What became of a commit that failed with one is decided by others.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the client.
    #[error(transparent)]
    Client(#[from] rukh_hbase::Error),
    /// A snapshot so old that what it shows may be forgotten.
    #[error("the snapshot of {snapshot} is too old: what was there {kept_ms} ms ago may be forgotten")]
    SnapshotTooOld {
        /// The time of the snapshot.
        snapshot: Time,
        /// How long records and old values are kept, milliseconds.
        kept_ms: u64,
    },
    /// A cell that is not of this crate's form.
    #[error("{what} of row {row:?} is damaged")]
    Damaged {
        /// What the cell should be.
        what: &'static str,
        /// The row that has it.
        row: Row,
    },
}
