//! Direct plans: queries that are one key access, run without DataFusion.

pub(crate) mod direct;
pub(crate) mod point_read;
pub(crate) mod prefix_read;
pub(crate) mod shape;
pub(crate) mod totals;
