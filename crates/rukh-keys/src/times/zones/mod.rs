//! Time zones: their names, and what their clocks show.

mod abbreviations;
mod zone;

pub use zone::{ZONE_OFFSET_MAX, Zone};
