//! Casts as PostgreSQL has them, where DataFusion's differ.

pub mod numbers;
pub mod read;
pub mod texts;
