//! The database as clients browse it: schemas, tables, types, capabilities.
//!
//! Deliberately not here: statements and their rows.

pub(crate) mod info;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod schema;
pub(crate) mod types;
