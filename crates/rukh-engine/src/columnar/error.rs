//! What can be wrong with stored blocks.

use thiserror::Error;

/// Tells why stored bytes are no part of a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum BlockError {
    #[error("block ends too early")]
    Truncated,
    #[error("block has a wrong checksum")]
    Checksum,
    #[error("block has unknown format {format}")]
    UnknownFormat { format: u8 },
    #[error("block has more than a block may have")]
    TooLarge,
    #[error("block lacks a column")]
    Missing,
    #[error("block has {0}")]
    Invalid(&'static str),
}
