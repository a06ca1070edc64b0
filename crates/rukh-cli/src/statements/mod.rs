//! Statements and backslash commands, run one after another.
//!
//! Deliberately not here: editing (`prompt`) and the command line (`programs`).

pub(crate) mod commands;
pub(crate) mod copy;
pub(crate) mod describe;
pub(crate) mod input;
pub(crate) mod script;
