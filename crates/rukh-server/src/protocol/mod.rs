//! Messages of the protocol: reading and writing them, and values in text and binary form.
//!
//! Deliberately not here: what messages do (`sessions`).

pub(crate) mod arrays;
pub(crate) mod input;
pub(crate) mod messages;
pub(crate) mod output;
pub(crate) mod shape;
pub(crate) mod types;
pub(crate) mod wire;
