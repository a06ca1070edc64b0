//! What can be wrong with stored blocks.

use crate::error::EngineError;
use crate::forms::entry::IndexCodec;
use thiserror::Error;

/// Says why stored bytes are no part of a block.
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

/// Makes the error for a block that does not decode: `corrupt data at t@c/1/5: …`.
pub(crate) fn corruption(
    index: &IndexCodec,
    first_key: &[u8],
    slot: Option<usize>,
    error: BlockError,
) -> EngineError {
    match slot {
        None => index.corruption(first_key, format!("{error} (head)")),
        Some(slot) => index.corruption(first_key, format!("{error} (column {})", slot + 1)),
    }
}
