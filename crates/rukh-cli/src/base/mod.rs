//! What all of the program uses: errors, output, the terminal, cancelling, progress.
//!
//! Deliberately not here: SQL and sessions.

pub(crate) mod cancel;
pub(crate) mod error;
pub(crate) mod fetched;
pub(crate) mod memory;
pub(crate) mod output;
pub(crate) mod pattern;
pub(crate) mod progress;
pub(crate) mod terminal;
pub(crate) mod validate;
