//! Texts and byte strings: characters, encodings, patterns, quotes, JSON.
//!
//! Deliberately not here: casts to text (`casts::texts`).

pub mod byte_length;
pub(crate) mod bytes;
pub mod characters;
pub mod encoding;
pub(crate) mod letter_case;
pub mod overlay;
pub mod quoting;
pub mod regex;
pub mod similar;
pub mod to_uuid;
