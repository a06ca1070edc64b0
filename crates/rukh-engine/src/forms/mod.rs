//! Stored forms, and what follows from a row alone: rows, entries, definitions, statistics.

pub(crate) mod codec;
pub(crate) mod compiled;
pub(crate) mod counter;
pub(crate) mod entry;
pub(crate) mod imports;
pub(crate) mod maintain;
pub(crate) mod names;
pub(crate) mod patch;
pub(crate) mod recovery;
pub(crate) mod row;
pub(crate) mod row_ids;
pub(crate) mod rules;
pub(crate) mod sample;
pub(crate) mod sequence_state;
pub(crate) mod stamping;
pub(crate) mod statistics;
pub(crate) mod stored;
pub(crate) mod times;
