//! Casts as PostgreSQL has them, where DataFusion's differ.

pub mod documents;
pub mod numbers;
pub mod read;
pub mod table;
pub mod texts;
pub mod times;
