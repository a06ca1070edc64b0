//! Output columns: their names, and the names, positions and stars that mean them.

pub(crate) mod order_names;
pub(crate) mod output_names;
pub(crate) mod positions;
pub(crate) mod stars;
