//! Blocks as they are stored: their columns, heads, filters and pieces, and how they are made.
//!
//! Deliberately not here: which blocks a scan reads (`scans`).

pub(crate) mod block;
pub(crate) mod build;
pub(crate) mod column;
pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod head;
pub(crate) mod pieces;
pub(crate) mod row_keys;
