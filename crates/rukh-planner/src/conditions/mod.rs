//! Conditions: predicates, what they mean, and the boxes of intervals that they become.
//!
//! Deliberately not here: keys and tables (`inputs`), ranges of keys (`bounds`).

pub(crate) mod boxes;
pub(crate) mod computable;
pub(crate) mod domain;
pub(crate) mod evaluate;
pub(crate) mod failure;
pub(crate) mod functions;
pub(crate) mod interval;
pub(crate) mod like;
pub(crate) mod lower;
pub(crate) mod mix;
pub(crate) mod points;
pub(crate) mod predicate;
pub(crate) mod term;
pub(crate) mod value;
