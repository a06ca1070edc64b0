//! Arrays: their order, elements and dimensions.
//!
//! Deliberately not here: their texts (`forms::array_text`).

pub mod array_order;
pub mod arrays;
pub(crate) mod dimensions;
