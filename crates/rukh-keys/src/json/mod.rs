//! JSON: its text, and the binary form of JSONB.
//!
//! A [`Json`] is a document as a tree, read from text by [`Json::parse`]. A [`Jsonb`] is the stored form of a JSONB: a view of
//! bytes that finds a member by binary search and an element by its number, and reads nothing else. `form` has the layout.
//!
//! The errors of texts that are no JSON are PostgreSQL's, down to the sentences of DETAIL.

mod contains;
mod error;
mod form;
mod number;
mod order;
mod parse;
mod tree;
mod write;

pub use error::JsonError;
pub use form::{Jsonb, JsonbKind};
pub use number::JsonNumber;
pub use parse::{JsonMember, json_elements, json_members};
pub use tree::Json;
pub use write::quote_json;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
