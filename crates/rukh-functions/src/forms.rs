//! Values as PostgreSQL and Arrow have them: intervals, numbers, the binary form.

pub mod binary;
pub mod intervals;
pub mod numerics;
