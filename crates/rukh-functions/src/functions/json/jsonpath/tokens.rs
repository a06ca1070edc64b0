//! The text of a path as tokens.

use rukh_error::SqlError;

/// A token, and what an error about it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub kind: Kind<'t>,
    /// The rest of the text from where PostgreSQL says that the token is: for a word, behind it.
    near: &'t str,
    /// How many bytes of it.
    length: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// A name or a word of the language.
    Word(String),
    /// A string in quotes.
    Text(String),
    /// `$name`.
    Variable(String),
    /// A whole number.
    Whole(&'t str),
    /// A number with a point or an exponent.
    Real(&'t str),
    /// A sign: one of `SIGNS` or a single character.
    Sign(&'t str),
    End,
}

/// Signs of more than one character.
const SIGNS: [&str; 8] = ["&&", "||", "**", "==", "<>", "!=", "<=", ">="];

/// Returns the tokens; the last one is [`Kind::End`].
///
/// # Errors
/// 42601 where a string, a comment or a number has no end, 22P02 and 22P05 for wrong Unicode escapes.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SqlError> {
    let mut reader = Reader { rest: text };
    let mut found = Vec::new();
    loop {
        let token = reader.next()?;
        let is_end = token.kind == Kind::End;
        found.push(token);
        if is_end {
            return Ok(found);
        }
    }
}

/// Makes the error of what is wrong at a place.
fn wrong(message: &str, near: &str) -> SqlError {
    let place = match near {
        "" => " at end of jsonpath input".to_string(),
        near => format!(" at or near \"{near}\" of jsonpath input"),
    };
    SqlError::statement("42601", format!("{message}{place}"))
}

impl Token<'_> {
    /// Makes the error of a token that nothing in the language has there.
    pub fn unexpected(&self) -> SqlError {
        wrong("syntax error", self.near.get(..self.length).unwrap_or(self.near))
    }
}

struct Reader<'t> {
    rest: &'t str,
}

/// Whether a character may stand in a name without an escape.
fn is_of_name(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

impl<'t> Reader<'t> {
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn next(&mut self) -> Result<Token<'t>, SqlError> {
        loop {
            self.rest = self.rest.trim_start_matches(is_blank);
            let Some(comment) = self.rest.strip_prefix("/*") else {
                break;
            };
            let (_, rest) = comment
                .split_once("*/")
                .ok_or_else(|| wrong("unexpected end of comment", ""))?;
            self.rest = rest;
        }
        let near = self.rest;
        let token = |kind, length| Token { kind, near, length };
        let Some(first) = near.chars().next() else {
            return Ok(token(Kind::End, 0));
        };
        if let Some(length) = number_length(near) {
            let number = self.number(length)?;
            let kind = match number.bytes().all(|byte| byte.is_ascii_digit()) {
                true => Kind::Whole(number),
                false => Kind::Real(number),
            };
            return Ok(token(kind, length));
        }
        if first == '"' {
            let text = self.text()?;
            return Ok(token(Kind::Text(text), 1));
        }
        if let Some(rest) = near.strip_prefix('$') {
            let begins = |c: char| is_of_name(c) || c == '\\';
            if rest.starts_with('"') {
                self.take(1);
                let name = self.text()?;
                return Ok(token(Kind::Variable(name), 1));
            }
            if rest.starts_with(begins) {
                self.take(1);
                let name = self.name()?;
                return Ok(self.behind(Kind::Variable(name)));
            }
        }
        if is_of_name(first) || first == '\\' {
            let name = self.name()?;
            return Ok(self.behind(Kind::Word(name)));
        }
        let sign = SIGNS.iter().find(|sign| near.starts_with(**sign));
        let length = sign.map_or(first.len_utf8(), |sign| sign.len());
        Ok(token(Kind::Sign(self.take(length)), length))
    }

    /// A token of which an error shows the character behind it.
    fn behind(&self, kind: Kind<'t>) -> Token<'t> {
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        Token {
            kind,
            near: self.rest,
            length,
        }
    }

    /// Takes a number, which no letter may follow.
    fn number(&mut self, length: usize) -> Result<&'t str, SqlError> {
        let behind = self.rest[length..].chars().next();
        match behind.filter(|c| is_of_name(*c)) {
            Some(junk) => {
                let near = &self.rest[..length.saturating_add(junk.len_utf8())];
                Err(wrong("trailing junk after numeric literal", near))
            }
            None => Ok(self.take(length)),
        }
    }

    fn name(&mut self) -> Result<String, SqlError> {
        let mut name = String::new();
        loop {
            let length = self
                .rest
                .find(|c: char| !is_of_name(c))
                .unwrap_or(self.rest.len());
            name.push_str(self.take(length));
            match self.rest.starts_with('\\') {
                true => self.escape(&mut name)?,
                false => return Ok(name),
            }
        }
    }

    /// Takes a string in quotes.
    fn text(&mut self) -> Result<String, SqlError> {
        let mut text = String::new();
        self.take(1);
        loop {
            let end = self
                .rest
                .find(['"', '\\'])
                .ok_or_else(|| wrong("unexpected end of quoted string", ""))?;
            text.push_str(self.take(end));
            match self.rest.starts_with('"') {
                true => {
                    self.take(1);
                    return Ok(text);
                }
                false => self.escape(&mut text)?,
            }
        }
    }

    /// Takes `\n`, `\x41`, `\u0041`, `\u{1F600}` and their kin; before any other character the backslash says nothing.
    fn escape(&mut self, text: &mut String) -> Result<(), SqlError> {
        let near = self.rest;
        self.take(1);
        let Some(kind) = self.rest.chars().next() else {
            return Err(wrong("unexpected end after backslash", ""));
        };
        self.take(kind.len_utf8());
        text.push(match kind {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => match self.hex(2).and_then(char::from_u32) {
                Some(character) => character,
                None => return Err(wrong("invalid hex character sequence", shown(near, self.rest))),
            },
            'u' => self.unicode(near)?,
            other => other,
        });
        match text.ends_with('\0') {
            true => Err(
                SqlError::statement("22P05", "unsupported Unicode escape sequence")
                    .with_detail("\\u0000 cannot be converted to text."),
            ),
            false => Ok(()),
        }
    }

    /// Takes so many hexadecimal digits.
    fn hex(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest.get(..count)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        self.take(count);
        Some(value)
    }

    /// Takes the number of a character of UTF-16, or one in braces.
    fn unit(&mut self) -> Option<u32> {
        let Some(braced) = self.rest.strip_prefix('{') else {
            return self.hex(4);
        };
        let length = braced.find('}').filter(|length| (1..=6).contains(length))?;
        self.take(1);
        let value = self.hex(length)?;
        self.take(1);
        Some(value)
    }

    fn unicode(&mut self, near: &str) -> Result<char, SqlError> {
        let unit = self.unit();
        let unit = unit.ok_or_else(|| wrong("invalid unicode sequence", shown(near, self.rest)))?;
        let wrong_pair = |detail: &str| {
            SqlError::statement("22P02", "invalid input syntax for type jsonpath").with_detail(detail)
        };
        match unit {
            0xd800..=0xdbff => {
                let low = match self.rest.starts_with("\\u") {
                    true => {
                        self.take(2);
                        self.unit()
                    }
                    false => None,
                };
                let units = [Some(unit), low].map(|unit| unit.and_then(|unit| u16::try_from(unit).ok()));
                let [Some(high), Some(low)] = units else {
                    return Err(wrong_pair("Unicode low surrogate must follow a high surrogate."));
                };
                match char::decode_utf16([high, low]).next() {
                    Some(Ok(character)) => Ok(character),
                    _ => Err(wrong_pair("Unicode low surrogate must follow a high surrogate.")),
                }
            }
            0xdc00..=0xdfff => Err(wrong_pair("Unicode low surrogate must follow a high surrogate.")),
            unit => {
                char::from_u32(unit).ok_or_else(|| wrong("invalid unicode sequence", shown(near, self.rest)))
            }
        }
    }
}

/// Returns the part of a text that has been read.
fn shown<'t>(from: &'t str, rest: &str) -> &'t str {
    let length = from.len().saturating_sub(rest.len());
    from.get(..length).unwrap_or(from)
}

/// Returns how many bytes at the beginning are a number: `1`, `1.`, `.5`, `1e3`.
#[expect(clippy::arithmetic_side_effects, reason = "places in a text")]
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = match bytes.first()? {
        b'0' => 1,
        _ => digits(0),
    };
    let mut length = whole;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = digits(whole + 1);
        if whole == 0 && fraction == 0 {
            return None;
        }
        length = whole + 1 + fraction;
    }
    if length == 0 {
        return None;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    Some(length)
}
