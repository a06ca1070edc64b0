//! PostgreSQL's regular expressions: what they match, and which of several matches counts.
//!
//! The crate `regex` looks for the first alternative that matches, PostgreSQL for the longest match: `foo|foobar` matches all of
//! `foobar`. Some of what they write alike means something else: `\b` is a word's edge there, a backspace here. So patterns are read
//! here; `regex` finds out whether and from where on they match, an automaton where to, and of which parts.
//!
//! | file        | has                                                                         |
//! |-------------|------------------------------------------------------------------------------|
//! | `options`   | how a pattern is read                                                       |
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
mod options;
mod read;
mod spell;
mod tree;

#[cfg(test)]
mod tests;

pub use matcher::{Captures, Pattern};
pub use options::Options;
