//! How changes beside columnar blocks become blocks.

pub(crate) mod block_load;
pub(crate) mod paying;
pub(crate) mod repack;
