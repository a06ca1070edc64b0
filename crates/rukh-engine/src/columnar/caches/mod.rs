//! Caches: of blocks, of the heads of an index, of decoded changes.
//!
//! Deliberately not here: the cache of storage.

pub(crate) mod chunk;
pub(crate) mod chunks;
pub(crate) mod heads;
pub(crate) mod kept;
