//! Days, times and intervals: their parts, their order, the clock and time zones.
//!
//! Deliberately not here: their texts (`forms`).

pub mod ages;
pub mod clock;
pub mod date_bin;
pub mod date_trunc;
pub mod extract;
pub mod interval_order;
pub mod interval_scale;
pub(crate) mod moment_input;
pub mod moment_parts;
pub mod moment_sum;
pub mod moments;
pub(crate) mod overlaps;
pub mod round_moment;
pub mod time_difference;
pub mod time_zones;
pub mod to_char;
