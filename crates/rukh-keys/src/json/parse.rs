//! Reads JSON from text.

use super::error::JsonError;
use super::number::JsonNumber;
use super::tree::{DEPTH_MAX, Json};

/// A member of an object in a text: its name, and the text of its value as it is written.
pub type JsonMember<'a> = (String, &'a str);

impl Json {
    /// Reads a document.
    ///
    /// # Errors
    /// [`JsonError::Invalid`] where it is none, with PostgreSQL's DETAIL; nesting of more than 1,000 levels; a number with too
    /// many digits; `\u0000`.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        let mut reader = Reader::new(text, true);
        let json = reader.value()?;
        reader.end()?;
        Ok(json)
    }

    /// Fails if a text is no JSON. The type `json` takes `\u0000` and numbers of any length, which [`Json::parse`] does not.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn check(text: &str) -> Result<(), JsonError> {
        let mut reader = Reader::new(text, false);
        reader.value()?;
        reader.end()
    }
}

/// Returns the members of an object as they are written, those of a name that comes again too; `None` of all that is no object.
///
/// # Errors
/// The text is no JSON.
pub fn json_members(text: &str) -> Result<Option<Vec<JsonMember<'_>>>, JsonError> {
    let mut reader = Reader::new(text, false);
    reader.blanks();
    if reader.peek() != Some(b'{') {
        reader.value()?;
        return Ok(None);
    }
    let mut members = Vec::new();
    reader.object(|reader, name| {
        reader.blanks();
        let start = reader.at;
        reader.value()?;
        members.push((name, &text[start..reader.at]));
        Ok(())
    })?;
    Ok(Some(members))
}

/// Returns the elements of an array as they are written; `None` of all that is no array.
///
/// # Errors
/// The text is no JSON.
pub fn json_elements(text: &str) -> Result<Option<Vec<&str>>, JsonError> {
    let mut reader = Reader::new(text, false);
    reader.blanks();
    if reader.peek() != Some(b'[') {
        reader.value()?;
        return Ok(None);
    }
    let mut elements = Vec::new();
    reader.array(|reader| {
        reader.blanks();
        let start = reader.at;
        reader.value()?;
        elements.push(&text[start..reader.at]);
        Ok(())
    })?;
    Ok(Some(elements))
}

/// Returns a text if it is a number of JSON's syntax.
pub(super) fn number_syntax(text: &str) -> Option<&str> {
    (number_length(text.as_bytes()) == Some(text.len())).then_some(text)
}

/// Returns how many bytes at the beginning are a number of JSON's syntax.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |at: usize| {
        let count = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        (count > 0).then_some(count)
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    at += match bytes.get(at)? {
        b'0' => 1,
        _ => digits(at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at += 1 + digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at += digits(at)?;
    }
    Some(at)
}

/// Reads a text from its beginning.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether the values are to be those of JSONB.
    is_strict: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, is_strict: bool) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            depth: 0,
            is_strict,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Fails if anything follows.
    fn end(&mut self) -> Result<(), JsonError> {
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("end of input")),
        }
    }

    fn value(&mut self) -> Result<Json, JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => {
                let mut members = Vec::new();
                self.object(|reader, name| {
                    members.push((name, reader.value()?));
                    Ok(())
                })?;
                Ok(Json::Object(members))
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.array(|reader| {
                    elements.push(reader.value()?);
                    Ok(())
                })?;
                Ok(Json::Array(elements))
            }
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn nested(&mut self) -> Result<(), JsonError> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(JsonError::TooDeep),
            false => Ok(()),
        }
    }

    /// Reads an object; `member` reads the value behind a name.
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, String) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.nested()?;
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        let mut wanted = "string or \"}\"";
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(wanted));
            }
            let name = self.string()?;
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("\":\""));
            }
            self.at += 1;
            member(self, name)?;
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("\",\" or \"}\"")),
            }
            wanted = "string";
        }
    }

    /// Reads an array; `element` reads an element.
    fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.nested()?;
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            element(self)?;
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("\",\" or \"]\"")),
            }
        }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let rest = &self.text[self.at..];
        let length = number_length(rest.as_bytes());
        let is_whole = |length: usize| {
            let next = rest[length..].chars().next();
            !next.is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '.' | '-' | '+'))
        };
        let Some(length) = length.filter(|length| is_whole(*length)) else {
            return Err(self.invalid_token());
        };
        self.at += length;
        Ok(match self.is_strict {
            true => Json::Number(JsonNumber::of_text(&rest[..length])?),
            false => Json::Null,
        })
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        let token = self.token();
        let value = match token {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "null" => Json::Null,
            "" => return Err(self.unexpected_end()),
            token
                if token.starts_with(|first: char| {
                    first.is_alphanumeric() || first == '_' || !first.is_ascii()
                }) =>
            {
                return Err(self.invalid_token());
            }
            "}" | "]" | "," | ":" => return Err(self.unexpected("JSON value")),
            _ => return Err(self.invalid_token()),
        };
        self.at += token.len();
        Ok(value)
    }

    /// Returns what an error names: a word, or one character.
    fn token(&self) -> &'a str {
        let rest = &self.text[self.at..];
        let in_word = |c: char| c.is_alphanumeric() || !c.is_ascii() || matches!(c, '_');
        let in_number = |c: char| in_word(c) || matches!(c, '-' | '+' | '.');
        let end = match rest.chars().next() {
            None => 0,
            Some('-' | '0'..='9') => rest.find(|c| !in_number(c)).unwrap_or(rest.len()),
            Some(first) if in_word(first) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            Some(first) => first.len_utf8(),
        };
        &rest[..end]
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let Some(plain) = plain else {
                let token = &self.text[start..];
                return Err(self.invalid(format!("Token \"{token}\" is invalid."), self.text.len()));
            };
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match rest[plain] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => self.escape(&mut out)?,
                control => {
                    let detail = format!("Character with value 0x{control:02x} must be escaped.");
                    return Err(self.invalid(detail, self.at));
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), JsonError> {
        self.at += 1;
        let Some(letter) = self.text[self.at..].chars().next() else {
            return Err(self.unexpected_end());
        };
        self.at += letter.len_utf8();
        out.push(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.code_point(out),
            other => {
                let detail = format!("Escape sequence \"\\{other}\" is invalid.");
                return Err(self.invalid(detail, self.at));
            }
        });
        Ok(())
    }

    /// Reads what follows `\u`, and the second half of a pair.
    fn code_point(&mut self, out: &mut String) -> Result<(), JsonError> {
        const HIGH_ALONE: &str = "Unicode low surrogate must follow a high surrogate.";
        let mut unit = self.hex()?;
        match unit {
            0 if self.is_strict => return Err(JsonError::Nul),
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(self.invalid(HIGH_ALONE.to_owned(), self.at));
                }
                self.at += 2;
                unit = match self.hex()? {
                    low @ 0xdc00..=0xdfff => 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                    0xd800..=0xdbff => {
                        let detail = "Unicode high surrogate must not follow a high surrogate.";
                        return Err(self.invalid(detail.to_owned(), self.at));
                    }
                    _ => return Err(self.invalid(HIGH_ALONE.to_owned(), self.at)),
                };
            }
            0xdc00..=0xdfff => return Err(self.invalid(HIGH_ALONE.to_owned(), self.at)),
            _ => {}
        }
        out.extend(char::from_u32(unit));
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            let detail = "\"\\u\" must be followed by four hexadecimal digits.";
            return Err(self.invalid(detail.to_owned(), self.at));
        };
        self.at += 4;
        Ok(digits.iter().fold(0, |value, digit| {
            value << 4 | char::from(*digit).to_digit(16).unwrap_or_default()
        }))
    }

    /// The error of another token than the one that is wanted.
    fn unexpected(&self, wanted: &str) -> JsonError {
        let token = self.token();
        match token {
            "" => self.unexpected_end(),
            token => {
                let is_token = matches!(
                    token,
                    "{" | "}" | "[" | "]" | "," | ":" | "true" | "false" | "null"
                ) || token.starts_with(['"', '-'])
                    || token.starts_with(|first: char| first.is_ascii_digit());
                let shown = match token {
                    "\"" => self.quoted_token(),
                    other => other,
                };
                let detail = match is_token {
                    true => format!("Expected {wanted}, but found \"{shown}\"."),
                    false => format!("Token \"{token}\" is invalid."),
                };
                self.invalid(detail, self.at + shown.len())
            }
        }
    }

    /// Returns the string that begins here, with its quotes.
    fn quoted_token(&self) -> &'a str {
        let mut ahead = Reader {
            at: self.at,
            ..Reader::new(self.text, false)
        };
        match ahead.string() {
            Ok(_) => &self.text[self.at..ahead.at],
            Err(_) => &self.text[self.at..],
        }
    }

    fn invalid_token(&self) -> JsonError {
        let token = self.token();
        self.invalid(format!("Token \"{token}\" is invalid."), self.at + token.len())
    }

    fn unexpected_end(&self) -> JsonError {
        self.invalid("The input string ended unexpectedly.".to_owned(), self.text.len())
    }

    fn invalid(&self, detail: String, end: usize) -> JsonError {
        let before = &self.text[..self.text.floor_char_boundary(end)];
        let line = before.matches('\n').count() + 1;
        let shown = before.rsplit('\n').next().unwrap_or_default();
        /// Characters of the line that are shown.
        const SHOWN: usize = 60;
        let skipped = shown.chars().count().saturating_sub(SHOWN);
        let tail: String = shown.chars().skip(skipped).collect();
        let (head, rest) = (
            if skipped > 0 { "..." } else { "" },
            if before.len() < self.text.len() { "..." } else { "" },
        );
        JsonError::Invalid {
            detail: format!("{detail} JSON data, line {line}: {head}{tail}{rest}"),
        }
    }
}
