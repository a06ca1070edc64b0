//! The prompt: editing, history, colours, completion.
//!
//! Deliberately not here: what a statement does.

pub(crate) mod completion;
pub(crate) mod highlight;
pub(crate) mod history;
pub(crate) mod repl;
