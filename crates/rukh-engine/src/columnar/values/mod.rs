//! Values of a column in memory, and conditions on them while they are encoded.
//!
//! Deliberately not here: blocks (`stored`).

pub(crate) mod batch;
pub(crate) mod dictionary;
pub(crate) mod mask;
pub(crate) mod packed;
pub(crate) mod sketch;
pub(crate) mod test;
pub(crate) mod vector;
