//! Words of statements, as far as the prompt knows them: tokens, keywords, names of the catalog.
//!
//! Deliberately not here: parsing, which the database does.

pub(crate) mod keywords;
pub(crate) mod lexer;
pub(crate) mod names;
