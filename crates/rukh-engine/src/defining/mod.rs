//! Definitions and what is known of tables: how they change, and how a database is opened.

pub(crate) mod alter;
pub(crate) mod analyze;
pub(crate) mod change;
pub(crate) mod changes;
pub(crate) mod engine;
pub(crate) mod indexes;
pub(crate) mod recover;
pub(crate) mod roles;
pub(crate) mod sequences;
pub(crate) mod stale;
pub(crate) mod truncate;
