//! What functions of all kinds are made of, and functions of any value.
//!
//! Deliberately not here: numbers, times, texts and arrays, which have folders of their own.

pub mod alike;
pub mod bounded;
pub mod cast_apart;
pub(crate) mod count_nulls;
pub mod declared;
pub mod exact;
pub mod exact_form;
pub mod hash;
pub(crate) mod of_array;
pub mod outer_aggregate;
pub mod pg_typeof;
pub mod renamed;
pub(crate) mod row_values;
pub mod undefined;
pub mod waits;
