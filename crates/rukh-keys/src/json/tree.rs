//! A document as a tree, and how large documents are.

use super::number::JsonNumber;

/// The deepest nesting of arrays and objects.
pub(super) const DEPTH_MAX: usize = 1_000;

/// The most bytes of the form of one document.
pub(super) const FORM_MAX: usize = 256 << 20;

/// A document as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as `number` spells it.
    Number(JsonNumber),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: its members in the order in which they were written. Of several with one name the last one counts.
    Object(Vec<(String, Json)>),
}
