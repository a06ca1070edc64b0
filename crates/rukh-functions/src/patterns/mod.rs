//! PostgreSQL's regular expressions: what they match, and which of several matches counts.
//!
//! The crate `regex` looks for the first alternative that matches, PostgreSQL for the longest match: `foo|foobar` matches all of
//! `foobar`. Some of what they write alike means something else: `\b` is a word's edge there, a backspace here. So patterns are read
//! here; `regex` finds out whether and from where on they match, an automaton where to, and of which parts.
//!
//! | file        | has                                                                         |
//! |-------------|------------------------------------------------------------------------------|
//! | `tree`      | a regular expression as a tree                                              |
//! | `read`      | its text as a tree                                                          |
//! | `escapes`   | what backslashes and brackets say in it                                     |
//! | `spell`     | a tree as the crate `regex` spells it                                       |
//! | `automaton` | where a part of it may end, or begin                                        |
//! | `matcher`   | its matches in a text, and those of its groups                              |
//!
//! Sources: PostgreSQL's manual, 9.7.3, and what PostgreSQL 15 answers. `'b'`, the flag for basic regular expressions, is refused.

#![warn(clippy::arithmetic_side_effects)]

mod automaton;
mod escapes;
mod matcher;
mod read;
mod spell;
mod tree;

#[cfg(test)]
mod tests;

pub use matcher::{Captures, Pattern};

use rukh_error::SqlError;

/// How a pattern is read, and what it takes for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `i`: letters match in any case.
    pub ignores_case: bool,
    /// `p`, `n`: a point and `[^…]` match no newline.
    pub stops_at_newline: bool,
    /// `w`, `n`: `^` and `$` match at newlines, too.
    pub anchors_at_newline: bool,
    /// `x`: blanks and comments say nothing.
    pub is_expanded: bool,
    /// `q`: the pattern is a text.
    pub is_literal: bool,
}

impl Options {
    /// Sets what letters say, as in `(?i)` and in the arguments of functions; returns whether all are known.
    pub fn set(&mut self, letter: char) -> bool {
        let mut newlines =
            |stops, anchors| (self.stops_at_newline, self.anchors_at_newline) = (stops, anchors);
        match letter {
            'i' => self.ignores_case = true,
            'c' => self.ignores_case = false,
            'm' | 'n' => newlines(true, true),
            'p' => newlines(true, false),
            'w' => newlines(false, true),
            's' => newlines(false, false),
            'x' => self.is_expanded = true,
            't' => self.is_expanded = false,
            'q' => self.is_literal = true,
            'e' => {}
            _ => return false,
        }
        true
    }
}

/// Makes the error of a wrong pattern.
fn invalid(why: &str) -> SqlError {
    SqlError::statement("2201B", format!("invalid regular expression: {why}"))
}
