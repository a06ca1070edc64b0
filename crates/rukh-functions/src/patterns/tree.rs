//! A regular expression as a tree.

use std::rc::Rc;

use regex_syntax::hir::{Class, HirKind};

/// A part of a regular expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Matches where it is, without a character.
    Empty,
    /// One character of a set.
    One(Rc<Set>),
    /// Something about the place, without a character.
    Constraint(Constraint),
    /// `(?=x)`, `(?!x)`, `(?<=x)`, `(?<!x)`.
    Around {
        inner: Box<Part>,
        is_ahead: bool,
        is_negated: bool,
    },
    /// A group whose match is kept, by its number from 1.
    Group(usize, Box<Part>),
    /// One part behind the other.
    Concat(Vec<Part>),
    /// One of several parts.
    Alternatives(Vec<Part>),
    /// A part so many times; for ever without a greatest number.
    Repeat {
        inner: Box<Part>,
        min: u32,
        max: Option<u32>,
        /// `None` of a number alone, which leaves no choice.
        is_greedy: Option<bool>,
    },
    /// `\1`: what a group has matched.
    Back(usize),
}

/// A node, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub node: Node,
    /// Its number among all parts.
    pub id: usize,
    /// Whether it prefers the longest or the shortest match; `None` if it has no choice.
    pub preference: Option<Preference>,
    /// Whether there are groups or back references in it.
    pub has_groups: bool,
    pub has_back: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    Longest,
    Shortest,
}

/// A condition on a place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Constraint {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordEdge,
    NoWordEdge,
}

/// A set of characters.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// How the crate `regex` spells it.
    pub spelling: String,
    ranges: Vec<(char, char)>,
}

impl Set {
    /// Reads a set as the crate `regex` spells it; `None` if that is no set.
    pub fn of_spelling(spelling: &str, ignores_case: bool) -> Option<Set> {
        let mut parser = regex_syntax::ParserBuilder::new()
            .case_insensitive(ignores_case)
            .dot_matches_new_line(true)
            .build();
        let hir = parser.parse(spelling).ok()?;
        let class = match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => class,
            HirKind::Class(Class::Bytes(class)) => class.to_unicode_class()?,
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                let mut characters = text.chars();
                let (only, None) = (characters.next()?, characters.next()) else {
                    return None;
                };
                return Some(Set {
                    spelling: spelling.to_string(),
                    ranges: vec![(only, only)],
                });
            }
            // `[^\s\S]`.
            HirKind::Alternation(_) | HirKind::Empty => return None,
            _ => return None,
        };
        let spelling = match ignores_case {
            true => format!("(?i:{spelling})"),
            false => spelling.to_string(),
        };
        Some(Set {
            spelling,
            ranges: class
                .ranges()
                .iter()
                .map(|range| (range.start(), range.end()))
                .collect(),
        })
    }

    pub fn has(&self, character: char) -> bool {
        let at = self.ranges.partition_point(|(_, last)| *last < character);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= character)
    }
}

/// Whether a character is part of a word.
pub(super) fn is_of_word(character: char) -> bool {
    character == '_' || regex_syntax::is_word_character(character)
}

impl Constraint {
    pub fn spelling(self) -> &'static str {
        match self {
            Constraint::TextStart => "\\A",
            Constraint::TextEnd => "\\z",
            Constraint::LineStart => "(?m:^)",
            Constraint::LineEnd => "(?m:$)",
            Constraint::WordStart => "\\b{start}",
            Constraint::WordEnd => "\\b{end}",
            Constraint::WordEdge => "\\b",
            Constraint::NoWordEdge => "\\B",
        }
    }

    /// Whether it holds at a byte of a text.
    pub fn holds(self, text: &str, at: usize) -> bool {
        let before = text[..at].chars().next_back();
        let behind = text[at..].chars().next();
        let is_word = |character: Option<char>| character.is_some_and(is_of_word);
        match self {
            Constraint::TextStart => before.is_none(),
            Constraint::TextEnd => behind.is_none(),
            Constraint::LineStart => before.is_none_or(|before| before == '\n'),
            Constraint::LineEnd => behind.is_none_or(|behind| behind == '\n'),
            Constraint::WordStart => !is_word(before) && is_word(behind),
            Constraint::WordEnd => is_word(before) && !is_word(behind),
            Constraint::WordEdge => is_word(before) != is_word(behind),
            Constraint::NoWordEdge => is_word(before) == is_word(behind),
        }
    }
}
