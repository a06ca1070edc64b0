//! Reads a regular expression from its text.

use std::rc::Rc;

use rukh_error::SqlError;

use super::options::{Options, invalid};
use super::tree::{Constraint, Node, Part, Preference, Set};

/// The greatest number of repeats.
const REPEATS_MAX: u32 = 255;

/// How deep groups may be nested.
const DEPTH_MAX: usize = 100;

/// What has been read.
pub(super) struct Read {
    pub root: Part,
    /// How many groups there are.
    pub groups: usize,
    pub options: Options,
    /// Whether the crate `regex` reads the text alike.
    pub is_plain: bool,
}

/// Reads a pattern.
///
/// # Errors
/// 2201B where it is none.
pub(super) fn read(text: &str, mut options: Options) -> Result<Read, SqlError> {
    let mut rest = text;
    let mut is_plain = !options.is_literal && !options.is_expanded;
    if !options.is_literal {
        if let Some(literal) = rest.strip_prefix("***=") {
            (options.is_literal, rest) = (true, literal);
        } else if let Some(advanced) = rest.strip_prefix("***:") {
            rest = advanced;
        }
        is_plain &= rest.len() == text.len();
    }
    if !options.is_literal
        && let Some(letters) = rest.strip_prefix("(?")
        && letters.starts_with(|first: char| first.is_ascii_alphabetic())
    {
        let (letters, behind) = letters
            .split_once(')')
            .ok_or_else(|| invalid("invalid embedded option"))?;
        for letter in letters.chars() {
            if !options.set(letter) {
                return Err(invalid("invalid embedded option"));
            }
        }
        rest = behind;
        is_plain = false;
    }
    let mut reader = Reader {
        rest,
        options,
        parts: 0,
        groups: 0,
        closed: Vec::new(),
        depth: 0,
        arounds: 0,
        is_plain,
    };
    let root = match options.is_literal {
        true => reader.literal()?,
        false => reader.alternatives()?,
    };
    if !reader.rest.is_empty() {
        return Err(invalid("parentheses () not balanced"));
    }
    Ok(Read {
        root,
        groups: reader.groups,
        options,
        is_plain: reader.is_plain,
    })
}

pub(super) struct Reader<'t> {
    pub rest: &'t str,
    pub options: Options,
    parts: usize,
    groups: usize,
    /// Groups that have ended, to which `\1` may refer.
    pub closed: Vec<usize>,
    depth: usize,
    /// In how many look-arounds this is.
    pub arounds: usize,
    pub is_plain: bool,
}

/// Returns the part of a text that has been read.
fn shown<'t>(from: &'t str, rest: &str) -> &'t str {
    from.strip_suffix(rest).unwrap_or(from)
}

/// What stands for itself, or more.
pub(super) enum Atom {
    Set(Set),
    Constraint(Constraint),
    Back(usize),
}

impl<'t> Reader<'t> {
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next();
        self.rest = characters.as_str();
        next
    }

    pub fn accept(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn part(&mut self, node: Node) -> Part {
        let preference = match &node {
            Node::Group(_, inner) => inner.preference,
            Node::Concat(parts) => parts.iter().find_map(|part| part.preference),
            Node::Alternatives(_) => Some(Preference::Longest),
            Node::Repeat { inner, is_greedy, .. } => match is_greedy {
                None => inner.preference,
                Some(true) => Some(Preference::Longest),
                Some(false) => Some(Preference::Shortest),
            },
            Node::Back(_) => Some(Preference::Longest),
            _ => None,
        };
        let has = |test: fn(&Part) -> bool| match &node {
            Node::Group(_, inner) | Node::Repeat { inner, .. } | Node::Around { inner, .. } => test(inner),
            Node::Concat(parts) | Node::Alternatives(parts) => parts.iter().any(test),
            _ => false,
        };
        let has_back = matches!(node, Node::Back(_)) || has(|part| part.has_back);
        let has_groups = has_back || matches!(node, Node::Group(..)) || has(|part| part.has_groups);
        let id = self.parts;
        self.parts = self.parts.saturating_add(1);
        Part {
            node,
            id,
            preference,
            has_groups,
            has_back,
        }
    }

    /// Takes the whole text for what it is.
    fn literal(&mut self) -> Result<Part, SqlError> {
        let mut parts = Vec::new();
        while let Some(character) = self.take() {
            let set = self.character(character)?;
            parts.push(self.part(Node::One(Rc::new(set))));
        }
        Ok(self.part(Node::Concat(parts)))
    }

    fn alternatives(&mut self) -> Result<Part, SqlError> {
        let mut branches = vec![self.branch()?];
        while self.accept("|") {
            branches.push(self.branch()?);
        }
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => self.part(Node::Alternatives(branches)),
        })
    }

    /// Passes over blanks and comments, where they say nothing.
    fn blanks(&mut self) {
        loop {
            let before = self.rest.len();
            if self.options.is_expanded {
                self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
                if self.rest.starts_with('#') {
                    self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
                }
            }
            if let Some(comment) = self.rest.strip_prefix("(?#") {
                self.rest = comment.split_once(')').map_or("", |(_, rest)| rest);
                self.is_plain = false;
            }
            if self.rest.len() == before {
                return;
            }
        }
    }

    fn branch(&mut self) -> Result<Part, SqlError> {
        let mut parts = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {
                    let part = self.quantified()?;
                    parts.push(part);
                }
            }
        }
        Ok(match parts.len() {
            0 => self.part(Node::Empty),
            1 => parts.remove(0),
            _ => self.part(Node::Concat(parts)),
        })
    }

    fn quantified(&mut self) -> Result<Part, SqlError> {
        // In parentheses a constraint may be repeated.
        let is_enclosed = ["(?=", "(?!", "(?<"]
            .iter()
            .all(|sign| !self.rest.starts_with(sign))
            && self.rest.starts_with('(');
        let mut part = self.atom()?;
        // `(?:\1)*` may match nothing where `\1*` does not.
        if is_enclosed && matches!(part.node, Node::Back(_)) {
            part = self.part(Node::Concat(vec![part]));
        }
        self.blanks();
        let is_constraint = !is_enclosed && matches!(part.node, Node::Constraint(_) | Node::Around { .. });
        let start = self.rest;
        let Some((min, max)) = self.quantifier()? else {
            return Ok(part);
        };
        let has_choice = !start.starts_with('{') || shown(start, self.rest).contains(',');
        if is_constraint {
            return Err(invalid("quantifier operand invalid"));
        }
        let is_reluctant = self.accept("?");
        // `{m}` says nothing of what it prefers, `{m,m}` does.
        let is_greedy = has_choice.then_some(!is_reluctant);
        self.blanks();
        if self.quantifier()?.is_some() {
            return Err(invalid("quantifier operand invalid"));
        }
        let inner = Box::new(part);
        Ok(self.part(Node::Repeat {
            inner,
            min,
            max,
            is_greedy,
        }))
    }

    /// Reads how often something comes.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, SqlError> {
        let simple = match self.peek() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            _ => None,
        };
        if simple.is_some() {
            self.take();
            return Ok(simple);
        }
        let is_counted = self
            .rest
            .strip_prefix('{')
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        if !is_counted {
            return Ok(None);
        }
        self.take();
        let min = self.count()?;
        let max = match self.accept(",") {
            false => Some(min),
            true if self.peek().is_some_and(|next| next.is_ascii_digit()) => Some(self.count()?),
            true => None,
        };
        if !self.accept("}") {
            return Err(invalid(match self.rest.is_empty() {
                true => "braces {} not balanced",
                false => "invalid repetition count(s)",
            }));
        }
        match max {
            Some(max) if max < min => Err(invalid("invalid repetition count(s)")),
            max => Ok(Some((min, max))),
        }
    }

    fn count(&mut self) -> Result<u32, SqlError> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let count = digits.parse().ok().filter(|count| *count <= REPEATS_MAX);
        count.ok_or_else(|| invalid("invalid repetition count(s)"))
    }

    fn atom(&mut self) -> Result<Part, SqlError> {
        let node = match self.take() {
            Some('(') => return self.parenthesis(),
            Some('*' | '+' | '?') => return Err(invalid("quantifier operand invalid")),
            Some('{') if self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                return Err(invalid("quantifier operand invalid"));
            }
            Some('.') => Node::One(Rc::new(self.set(match self.options.stops_at_newline {
                true => "[^\n]",
                false => "(?s:.)",
            })?)),
            Some('^') => Node::Constraint(match self.options.anchors_at_newline {
                true => Constraint::LineStart,
                false => Constraint::TextStart,
            }),
            Some('$') => Node::Constraint(match self.options.anchors_at_newline {
                true => Constraint::LineEnd,
                false => Constraint::TextEnd,
            }),
            Some('\\') => match self.escape()? {
                Atom::Set(set) => Node::One(Rc::new(set)),
                Atom::Constraint(constraint) => Node::Constraint(constraint),
                Atom::Back(group) => Node::Back(group),
            },
            Some('[') => match self.bracket()? {
                Atom::Constraint(constraint) => Node::Constraint(constraint),
                Atom::Set(set) => Node::One(Rc::new(set)),
                Atom::Back(group) => Node::Back(group),
            },
            Some(character) => {
                self.is_plain &= character != '{';
                Node::One(Rc::new(self.character(character)?))
            }
            None => Node::Empty,
        };
        Ok(self.part(node))
    }

    /// Reads a group, or a look-around.
    fn parenthesis(&mut self) -> Result<Part, SqlError> {
        if self.depth >= DEPTH_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        self.depth = self.depth.saturating_add(1);
        let around = [
            ("?=", true, false),
            ("?!", true, true),
            ("?<=", false, false),
            ("?<!", false, true),
        ];
        let around = around.into_iter().find(|(sign, ..)| self.accept(sign));
        let is_group = around.is_none() && !self.accept("?:");
        if is_group && self.rest.starts_with('?') {
            return Err(invalid("quantifier operand invalid"));
        }
        let mut number = 0;
        // Groups within a look-around are not kept.
        let is_kept = is_group && self.arounds == 0;
        if is_kept {
            self.groups = self.groups.saturating_add(1);
            number = self.groups;
        }
        let arounds = self.arounds;
        self.arounds = arounds.saturating_add(usize::from(around.is_some()));
        let inner = self.alternatives()?;
        self.arounds = arounds;
        if !self.accept(")") {
            return Err(invalid("parentheses () not balanced"));
        }
        self.depth = self.depth.saturating_sub(1);
        if let Some((_, is_ahead, is_negated)) = around {
            self.is_plain = false;
            let inner = Box::new(inner);
            return Ok(self.part(Node::Around {
                inner,
                is_ahead,
                is_negated,
            }));
        }
        // What a group refers to has ended before.
        if is_kept {
            self.closed.push(number);
        }
        match is_kept {
            true => Ok(self.part(Node::Group(number, Box::new(inner)))),
            false => Ok(inner),
        }
    }

    /// Returns the set of one character.
    pub fn character(&self, character: char) -> Result<Set, SqlError> {
        let mut buffer = [0; 4];
        self.set(&regex_syntax::escape(character.encode_utf8(&mut buffer)))
    }

    /// Returns a set by its spelling.
    pub fn set(&self, spelling: &str) -> Result<Set, SqlError> {
        let set = Set::of_spelling(spelling, self.options.ignores_case);
        set.ok_or_else(|| invalid("invalid character range"))
    }
}
