//! Arrays and rows: their text, and the form that is stored.
//!
//! Columns hold arrays of one dimension. `form` has the bytes; `text` reads and writes any number of dimensions.

mod form;
mod records;
mod text;

pub use form::{array_form, array_values, is_array_form, record_form, record_values};
pub use records::{MalformedRecord, record_fields, record_text};
pub use text::{array_of_dimensions, array_text, dimensions, elements};
