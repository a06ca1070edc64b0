//! Days, times of day and intervals as numbers, and as texts.
//!
//! Deliberately not here: clocks and time zones.

pub(crate) mod calendar;
pub(crate) mod datetime;
pub(crate) mod interval;
