//! Arrays: their order, elements and dimensions.
//!
//! Deliberately not here: their texts (crate `rukh-keys`).

pub mod array_order;
pub mod arrays;
pub mod dimensions;
pub(crate) mod enums;
pub mod quantified;
pub mod record_order;
