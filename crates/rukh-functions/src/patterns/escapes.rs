//! What backslashes and brackets say.

use rukh_error::SqlError;

use super::options::invalid;
use super::read::{Atom, Reader};
use super::tree::Constraint;

/// Names of characters in `[[.space.]]`, some of those that POSIX has.
const NAMES: [(&str, char); 16] = [
    ("NUL", '\0'),
    ("tab", '\t'),
    ("newline", '\n'),
    ("carriage-return", '\r'),
    ("space", ' '),
    ("exclamation-mark", '!'),
    ("quotation-mark", '"'),
    ("number-sign", '#'),
    ("dollar-sign", '$'),
    ("percent-sign", '%'),
    ("ampersand", '&'),
    ("apostrophe", '\''),
    ("hyphen", '-'),
    ("period", '.'),
    ("slash", '/'),
    ("underscore", '_'),
];

const CLASSES: [(&str, &str); 14] = [
    ("alnum", "\\p{Alphabetic}\\p{Nd}"),
    ("alpha", "\\p{Alphabetic}"),
    ("ascii", "\\x00-\\x7f"),
    ("blank", " \\t"),
    ("cntrl", "\\p{Cc}"),
    ("digit", "0-9"),
    ("graph", "[^\\s\\p{Cc}]"),
    ("lower", "\\p{Lowercase}"),
    ("print", "[^\\p{Cc}]"),
    ("punct", "!-/:-@\\[-`{-~"),
    ("space", "\\s"),
    ("upper", "\\p{Uppercase}"),
    ("xdigit", "0-9A-Fa-f"),
    ("word", "\\w"),
];

fn escape_error() -> SqlError {
    invalid("invalid escape \\ sequence")
}

/// Returns how a character is spelled in brackets.
fn spelled(character: char) -> String {
    format!("\\x{{{:x}}}", u32::from(character))
}

impl Reader<'_> {
    /// Reads what stands behind a backslash.
    pub(super) fn escape(&mut self) -> Result<Atom, SqlError> {
        let rest = self.rest;
        let kind = self.take().ok_or_else(escape_error)?;
        let constraint = match kind {
            'A' => Some(Constraint::TextStart),
            'Z' => Some(Constraint::TextEnd),
            'm' => Some(Constraint::WordStart),
            'M' => Some(Constraint::WordEnd),
            'y' => Some(Constraint::WordEdge),
            'Y' => Some(Constraint::NoWordEdge),
            _ => None,
        };
        if let Some(constraint) = constraint {
            self.is_plain &= kind == 'A';
            return Ok(Atom::Constraint(constraint));
        }
        match kind {
            'd' | 'w' | 's' | 'D' | 'W' | 'S' => Ok(Atom::Set(self.set(&format!("\\{kind}"))?)),
            '1'..='9' => {
                // Of several digits it is a group if there are as many, else a character by its number.
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let group = rest[..digits].parse::<usize>().ok();
                match group.filter(|group| self.closed.contains(group) && self.arounds == 0) {
                    Some(group) => {
                        self.rest = &rest[digits..];
                        self.is_plain = false;
                        Ok(Atom::Back(group))
                    }
                    None if digits == 1 => Err(invalid("invalid backreference number")),
                    None => {
                        self.rest = rest;
                        let character = self.octal()?;
                        Ok(Atom::Set(self.character(character)?))
                    }
                }
            }
            _ => {
                self.rest = rest;
                let character = self.escaped_character()?;
                Ok(Atom::Set(self.character(character)?))
            }
        }
    }

    /// Reads a character behind a backslash.
    fn escaped_character(&mut self) -> Result<char, SqlError> {
        let kind = self.take().ok_or_else(escape_error)?;
        self.is_plain &= !matches!(kind, 'a' | 'b' | 'B' | 'c' | 'e' | 'u' | 'U' | 'x' | '0');
        Ok(match kind {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => {
                let control = self.take().ok_or_else(escape_error)?;
                char::from_u32(u32::from(control) & 0o37).ok_or_else(escape_error)?
            }
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => self.number(4..=4, 16)?,
            'U' => self.number(8..=8, 16)?,
            'x' => self.number(1..=255, 16)?,
            '0' => {
                // The zero is the first digit.
                self.number(0..=2, 8)?
            }
            other if other.is_ascii_alphanumeric() => return Err(escape_error()),
            other => other,
        })
    }

    fn octal(&mut self) -> Result<char, SqlError> {
        self.is_plain = false;
        self.number(2..=3, 8)
    }

    /// Reads a character by its number, of so many digits.
    fn number(&mut self, count: std::ops::RangeInclusive<usize>, base: u32) -> Result<char, SqlError> {
        let is_digit = |c: &char| c.is_digit(base);
        let digits = self.rest.chars().take(*count.end()).take_while(is_digit).count();
        if digits < *count.start() {
            return Err(escape_error());
        }
        let (digits, rest) = self.rest.split_at(digits);
        self.rest = rest;
        let value = match digits {
            "" => Some(0),
            digits => u32::from_str_radix(digits, base).ok(),
        };
        value.and_then(char::from_u32).ok_or_else(escape_error)
    }

    /// Reads what stands behind `[`.
    pub(super) fn bracket(&mut self) -> Result<Atom, SqlError> {
        for (edge, constraint) in [("[:<:]]", Constraint::WordStart), ("[:>:]]", Constraint::WordEnd)] {
            if self.accept(edge) {
                self.is_plain = false;
                return Ok(Atom::Constraint(constraint));
            }
        }
        let is_negated = self.accept("^");
        let mut items = String::new();
        let mut is_first = true;
        loop {
            match self.peek() {
                None => return Err(invalid("brackets [] not balanced")),
                Some(']') if !is_first => break,
                Some(_) => self.item(&mut items)?,
            }
            is_first = false;
        }
        self.take();
        if is_negated && self.options.stops_at_newline {
            items.push('\n');
        }
        let negation = if is_negated { "^" } else { "" };
        Ok(Atom::Set(self.set(&format!("[{negation}{items}]"))?))
    }

    /// Reads a character, a range or a class in brackets.
    fn item(&mut self, items: &mut String) -> Result<(), SqlError> {
        if let Some(class) = self.rest.strip_prefix("[:") {
            let (name, rest) = class
                .split_once(":]")
                .ok_or_else(|| invalid("brackets [] not balanced"))?;
            let known = CLASSES.iter().find(|(known, _)| *known == name);
            let (_, spelling) = known.ok_or_else(|| invalid("invalid character class"))?;
            // What `regex` has under these names is of ASCII only.
            self.is_plain = false;
            self.rest = rest;
            items.push_str(spelling);
            return Ok(());
        }
        if let Some(escape) = self.rest.strip_prefix('\\')
            && let Some(class @ ('d' | 's' | 'w' | 'D' | 'S' | 'W')) = escape.chars().next()
        {
            self.rest = &escape[1..];
            items.push('\\');
            items.push(class);
            return self.no_range();
        }
        let first = self.bracketed()?;
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
        if !is_range {
            items.push_str(&spelled(first));
            return Ok(());
        }
        self.take();
        if self.rest.starts_with("\\d") || self.rest.starts_with("\\s") || self.rest.starts_with("\\w") {
            return Err(invalid("invalid character range"));
        }
        let last = self.bracketed()?;
        if last < first {
            return Err(invalid("invalid character range"));
        }
        items.push_str(&format!("{}-{}", spelled(first), spelled(last)));
        self.no_range()
    }

    /// Fails where a range begins: a class or a range is the beginning of none.
    fn no_range(&self) -> Result<(), SqlError> {
        match self.rest.starts_with('-') && !self.rest.starts_with("-]") {
            true => Err(invalid("invalid character range")),
            false => Ok(()),
        }
    }

    /// Reads a character in brackets.
    fn bracketed(&mut self) -> Result<char, SqlError> {
        for (open, close) in [("[.", ".]"), ("[=", "=]")] {
            if let Some(element) = self.rest.strip_prefix(open) {
                let (name, rest) = element
                    .split_once(close)
                    .ok_or_else(|| invalid("brackets [] not balanced"))?;
                self.is_plain = false;
                self.rest = rest;
                let mut characters = name.chars();
                let named = || NAMES.iter().find(|(known, _)| *known == name).map(|(_, of)| *of);
                return match (characters.next(), characters.next()) {
                    (Some(only), None) => Ok(only),
                    _ => named().ok_or_else(|| invalid("invalid collating element")),
                };
            }
        }
        match self.take() {
            None => Err(invalid("brackets [] not balanced")),
            Some('\\') => self.escaped_character(),
            Some(character) => {
                self.is_plain &= !matches!(character, '[' | '&' | '~' | ']');
                Ok(character)
            }
        }
    }
}
