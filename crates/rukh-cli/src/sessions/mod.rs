//! A session of the program: its settings, backslash commands as they are read, and how errors and results are shown.
//!
//! Deliberately not here: what backslash commands do (`statements`).

pub(crate) mod meta;
pub(crate) mod render_error;
pub(crate) mod session;
pub(crate) mod settings;
