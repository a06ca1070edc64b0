//! Tests of reading statements.

mod definitions;
mod statements;
mod summary;
