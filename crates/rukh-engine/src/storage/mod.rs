//! What stands between storage and rows: states that are seen, moments, runs of sorted entries, cuts through ranges.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod sorter;
pub(crate) mod split;
pub(crate) mod watch;
