//! Arrays: their text, and the form that is stored.
//!
//! Columns hold arrays of one dimension. `form` has the bytes; `text` reads and writes any number of dimensions.

mod form;
mod text;

pub use form::{array_form, array_values, is_array_form};
pub use text::{array_of_dimensions, array_text, dimensions, elements};
