//! Access paths: the ways to read a table or an index, what they cost, and the choice of the cheapest.
//!
//! Deliberately not here: their text (`texts`).

pub(crate) mod access;
pub(crate) mod alternatives;
pub(crate) mod columnar;
pub(crate) mod cost;
pub(crate) mod intersect;
pub(crate) mod loose;
pub(crate) mod merge;
pub(crate) mod order;
pub(crate) mod paths;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod point;
pub(crate) mod union;
