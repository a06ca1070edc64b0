//! From boxes to ranges of keys, to tests on key bytes, and to what both prove.
//!
//! Deliberately not here: costs, and the choice between tables and indexes (`plans`).

#[cfg(test)]
pub(crate) mod bitmaps;
pub(crate) mod constrain;
pub(crate) mod decided;
pub(crate) mod masked;
pub(crate) mod overlap;
pub(crate) mod ranges;
pub(crate) mod spans;
