//! How a pattern is read.

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
pub(super) fn invalid(why: &str) -> SqlError {
    SqlError::statement("2201B", format!("invalid regular expression: {why}"))
}
