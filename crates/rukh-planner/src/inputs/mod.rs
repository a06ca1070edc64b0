//! The inputs of a plan: a query, one table or index as its target, statistics, and what all conditions say together.
//!
//! Deliberately not here: one condition by itself (`conditions`), ranges of keys (`bounds`).

pub(crate) mod distribution;
pub(crate) mod implication;
pub(crate) mod knowledge;
pub(crate) mod query;
pub(crate) mod statistics;
pub(crate) mod target;
