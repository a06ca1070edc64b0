//! Work over whole tables that is written past the batch: loads, index builds, removals.

pub(crate) mod backfill;
pub(crate) mod build;
pub(crate) mod catch_up;
pub(crate) mod erase;
pub(crate) mod load;
pub(crate) mod merge_write;
pub(crate) mod rekey;
pub(crate) mod rewrite;
