//! Writers that turn record batches into text.
//!
//! | format     | shape                                              | streams                            |
//! |------------|----------------------------------------------------|------------------------------------|
//! | `table`    | aligned columns, header, `(n rows)`                | after a sample that decides widths |
//! | `expanded` | one block a row, one line a column                 | after the same sample              |
//! | `csv`      | header, RFC 4180 quoting, NULL and `''` kept apart | yes                                |
//! | `json`     | one array, one object a line                       | yes                                |
//! | `jsonl`    | one object a line                                  | yes                                |
//! | `markdown` | a pipe table                                       | yes                                |
//!
//! Values are spelled as PostgreSQL spells them (see [`value`]). No writer holds more than a bounded
//! part of a result. Nothing here knows of terminals or of statements.

mod csv;
mod expanded;
mod float;
mod json;
mod kind;
mod markdown;
mod sample;
mod screen;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod value;
mod writer;

pub use kind::Format;
pub use screen::{Alignment, escape_line, width};
pub use writer::{Frame, RowWriter, Style, row_writer};
