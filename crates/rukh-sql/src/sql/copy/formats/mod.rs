//! The formats of COPY, each in both directions.
//!
//! Deliberately not here: files and connections, batches, rejects.

pub(super) mod binary;
pub(super) mod csv;
pub(super) mod ipc;
pub(super) mod json;
pub(super) mod parquet;
pub(super) mod text;
