//! Tests of reading statements.

mod definitions;
mod procedural;
mod statements;
mod summary;
