//! Numbers: operators, rounding, floats, and numbers as `to_char` writes and `to_number` reads them.
//!
//! Deliberately not here: casts (`casts`) and NaN of NUMERIC (`forms::numerics`).

pub mod arithmetic;
pub(crate) mod degrees;
pub mod float_functions;
pub mod frame_order;
pub(crate) mod number_input;
pub(crate) mod number_text;
pub mod rounding;
pub mod wide_number;
