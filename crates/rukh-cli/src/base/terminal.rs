//! What the three standard streams are connected to, and what may be drawn on them.

use std::io::IsTerminal;

/// Which decorations are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Standard input and output are a terminal: someone is typing.
    pub interactive: bool,
    /// The terminal can move its cursor (`TERM` is set and not `dumb`).
    pub capable: bool,
    /// Errors may be coloured.
    pub colours: bool,
    /// Progress may be drawn on standard error.
    pub progress: bool,
}

impl Terminal {
    /// Looks at the standard streams, at `TERM`, and at `NO_COLOR`.
    pub fn detect() -> Terminal {
        let capable = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let errors = std::io::stderr().is_terminal();
        Terminal {
            interactive: std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
            capable,
            colours: capable && errors && !plain,
            progress: capable && errors,
        }
    }
}
