//! The command line and its subcommands.
//!
//! Deliberately not here: the prompt (`prompt`).

pub(crate) mod arguments;
pub(crate) mod check;
pub(crate) mod dump;
pub(crate) mod import;
pub(crate) mod operations;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod top;
pub(crate) mod user;
