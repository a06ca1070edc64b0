//! What stands between storage and rows: states that are seen, moments, numbers of rows, runs of sorted entries, cuts through ranges.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod row_counts;
pub(crate) mod sorter;
pub(crate) mod split;
pub(crate) mod watch;
