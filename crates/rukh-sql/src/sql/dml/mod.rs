//! INSERT, UPSERT, UPDATE, DELETE and MERGE, planned by us: read through an access path, then write.
//!
//! UPDATE and DELETE run a query for the rows concerned on the statement's own snapshot and hand old
//! and new rows to the engine, which keeps every index in the same atomic batch. DataFusion's hooks for
//! DELETE and UPDATE are not used: they lose filters.

mod add;
mod assign;
mod change;
mod conflict;
mod elements;
mod insert;
mod merge;
mod remove;
mod resolve;
mod returning;
mod shape;
mod target;
mod values;
mod view;
mod writes;

pub(crate) use change::{delete, delete_query, update, update_query};
pub(crate) use insert::insert;
pub(crate) use merge::{merge, merge_query};
pub(crate) use returning::Written;
pub(crate) use shape::{WriteShape, delete_shape, insert_shape, merge_shape, update_shape};
pub(crate) use target::unchangeable;
pub(crate) use writes::writes;
