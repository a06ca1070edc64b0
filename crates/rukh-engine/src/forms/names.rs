//! The printed form of stored keys: `t/1/5`, `t@by_host/'a'/1/5`.
//!
//! Every key the engine shows, in errors, dumps, scrub reports and golden tests, is printed here.

use rukh_catalog::Table;
use rukh_keys::{Datum, KeyLayout};

/// Prints a whole key: `/1/5`, or `/x'00ff'` if it does not decode.
pub(crate) fn key(layout: &KeyLayout, key: &[u8]) -> String {
    match layout.decode(key) {
        Ok(datums) => layout.display(&datums).to_string(),
        Err(_) => hex(key),
    }
}

/// Prints bytes that are no key.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("/{}", Datum::Bytes(bytes.to_vec()))
}

/// Longest value in a message, in bytes.
const VALUE_BYTES: usize = 64;

/// Returns a row as PostgreSQL shows it in messages: `(1, a, null)`, with long values cut.
pub(crate) fn row_text(table: &Table, row: &[Datum]) -> String {
    let value = |(column, datum): (&rukh_catalog::Column, &Datum)| match datum {
        Datum::Null => "null".to_string(),
        datum => {
            let mut text = column.ty.format_text(datum);
            if text.len() > VALUE_BYTES {
                text.truncate(text.floor_char_boundary(VALUE_BYTES));
                text.push_str("...");
            }
            text
        }
    };
    let values: Vec<String> = table.declared_columns().iter().zip(row).map(value).collect();
    format!("({})", values.join(", "))
}
