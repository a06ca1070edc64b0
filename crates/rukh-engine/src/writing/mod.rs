//! Writing: statements, transactions, and what becomes of them in storage.

pub(crate) mod commit;
pub(crate) mod conflict;
pub(crate) mod constraint;
pub(crate) mod existing;
pub(crate) mod foreign;
pub(crate) mod history;
pub(crate) mod ingest;
pub(crate) mod pending;
pub(crate) mod private;
pub(crate) mod purge;
pub(crate) mod row_count;
pub(crate) mod settle;
pub(crate) mod stage;
pub(crate) mod transaction;
pub(crate) mod unique;
pub(crate) mod within;
pub(crate) mod write;
