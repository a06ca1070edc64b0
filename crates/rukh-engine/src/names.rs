//! The printed form of stored keys: `t/1/5`, `t@by_host/'a'/1/5`.
//!
//! Every key the engine shows, in errors, dumps, scrub reports and golden tests, is printed here.

use crate::entry::IndexCodec;
use rukh_keys::{Datum, KeyLayout};

/// Prints a whole key: `/1/5`, or `/x'00ff'` if it does not decode.
pub(crate) fn key(layout: &KeyLayout, key: &[u8]) -> String {
    match layout.decode(key) {
        Ok(datums) => layout.display(&datums).to_string(),
        Err(_) => hex(key),
    }
}

/// Prints the key of an index entry, which in a UNIQUE index may hold the declared elements only.
pub(crate) fn entry_key(index: &IndexCodec, key: &[u8]) -> String {
    match index.decode_key(key) {
        Ok(datums) => index.layout.display(&datums).to_string(),
        Err(_) => hex(key),
    }
}

/// Prints bytes that are no key.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("/{}", Datum::Bytes(bytes.to_vec()))
}
