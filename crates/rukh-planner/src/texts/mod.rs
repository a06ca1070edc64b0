//! EXPLAIN: access paths as text and JSON.
//!
//! Deliberately not here: what a path is (`plans`).

pub(crate) mod explain;
pub(crate) mod explain_alternatives;
pub(crate) mod explain_json;
pub(crate) mod print;
