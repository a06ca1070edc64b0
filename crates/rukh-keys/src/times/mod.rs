//! Days, times of day, intervals and time zones as numbers, and as texts.
//!
//! Deliberately not here: clocks.

pub(crate) mod calendar;
pub(crate) mod datetime;
pub(crate) mod interval;
pub(crate) mod interval_style;
pub(crate) mod zones;
