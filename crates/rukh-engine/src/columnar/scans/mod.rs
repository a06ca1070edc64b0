//! Scans: blocks and the changes beside them, read as one.
//!
//! Deliberately not here: the formats (`stored`).

pub(crate) mod beside;
pub(crate) mod changes;
pub(crate) mod first;
pub(crate) mod merge;
pub(crate) mod open;
pub(crate) mod prime;
pub(crate) mod scan;
pub(crate) mod streams;
pub(crate) mod totals;
pub(crate) mod view;
