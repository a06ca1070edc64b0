//! CREATE, ALTER, DROP and TRUNCATE: from what a statement says to definitions, with PostgreSQL's messages.
//!
//! Names become ids here, and every error that a name causes points to it. The rules of a definition
//! itself are the catalog's. A UNIQUE constraint of CREATE TABLE is a unique index of its own.

mod alter;
mod columns;
mod comment;
mod create_as;
mod create_index;
mod create_table;
mod extension;
mod foreign;
mod function;
mod lifetime;
mod like;
mod names;
mod remove;
mod run;
mod schema;
mod sequence;
mod stored;
#[cfg(test)]
mod tests;
mod types;
mod versions;
mod view;

pub(crate) use extension::extension;
pub(crate) use run::run;
pub(crate) use schema::create_elements;
