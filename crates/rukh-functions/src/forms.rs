//! Values as texts and bytes, as PostgreSQL writes and reads them: arrays, intervals, the binary form.

pub mod array_text;
pub mod binary;
pub mod intervals;
pub mod numerics;
