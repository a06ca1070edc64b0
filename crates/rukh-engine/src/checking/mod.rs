//! Checks, dumps, figures and repair.

pub(crate) mod dump;
pub(crate) mod operations;
pub(crate) mod repair;
pub(crate) mod salvage;
pub(crate) mod scrub;
