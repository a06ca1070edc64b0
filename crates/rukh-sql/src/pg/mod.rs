//! Definitions as PostgreSQL's clients look them up: `pg_catalog`, `information_schema`, SHOW, what runs now.
//!
//! Deliberately not here: how queries on these tables are spelled (`bind::system`).

pub(crate) mod activity;
pub(crate) mod advisory;
pub(crate) mod asking;
pub(crate) mod catalog_provider;
pub(crate) mod current;
pub(crate) mod information_schema;
pub(crate) mod pg_catalog;
pub(crate) mod sequence_values;
pub(crate) mod sequences;
pub(crate) mod show;
