//! Statements that define: tables, indexes, schemas, sequences, roles, and names of types.
//!
//! Deliberately not here: queries and writes.

pub(crate) mod alter;
pub(crate) mod create_index;
pub(crate) mod create_table;
pub(crate) mod data_type;
pub(crate) mod domain;
pub(crate) mod extension;
pub(crate) mod foreign;
pub(crate) mod function;
pub(crate) mod lifetime;
pub(crate) mod role;
pub(crate) mod schema;
pub(crate) mod sequence;
pub(crate) mod storage;
pub(crate) mod types;
