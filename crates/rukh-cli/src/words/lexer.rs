//! A forgiving lexer for highlighting, completion and the search for blank text.
//!
//! It never fails and loses no character: the tokens, put together, are the text. Statements are cut and
//! parsed by the database alone; a wrong guess here costs a colour.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Blanks and line feeds.
    Space,
    /// `-- …` or `/* … */`; an open one reaches to the end.
    Comment(Closed),
    /// `'…'`, `E'…'`, `$tag$…$tag$`; an open one reaches to the end.
    String(Closed),
    /// `"…"`; an open one reaches to the end.
    Quoted(Closed),
    /// A bare word: a keyword or a name.
    Word,
    /// A number.
    Number,
    /// One character of punctuation.
    Symbol,
}

/// Whether a token has its closing quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It has.
    Yes,
    /// The text ended before.
    No,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

/// Cuts `text` into tokens.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let (kind, len) = token(&text[start..]);
        tokens.push(Token {
            kind,
            span: start..start + len,
        });
        start += len;
    }
    tokens
}

/// Returns whether `text` holds nothing but blanks and closed comments.
pub fn is_blank(text: &str) -> bool {
    tokens(text)
        .iter()
        .all(|token| matches!(token.kind, Kind::Space | Kind::Comment(Closed::Yes)))
}

/// Returns where the first token that is neither blank nor comment starts.
pub fn first_word(text: &str) -> Option<usize> {
    let tokens = tokens(text);
    tokens
        .iter()
        .find(|token| !matches!(token.kind, Kind::Space | Kind::Comment(_)))
        .map(|token| token.span.start)
}

/// Returns whether `c` may begin a bare name.
pub fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns whether `c` may stand inside a bare name.
pub fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Returns kind and length in bytes, at least 1, of the token at the start of `text`.
fn token(text: &str) -> (Kind, usize) {
    let first = text.chars().next().unwrap_or(' ');
    let second = text[first.len_utf8()..].chars().next();
    match (first, second) {
        (c, _) if c.is_whitespace() => (Kind::Space, run(text, char::is_whitespace)),
        ('-', Some('-')) => (Kind::Comment(Closed::Yes), text.find('\n').unwrap_or(text.len())),
        ('/', Some('*')) => block_comment(text),
        ('\'', _) => close(Kind::String, quoted(text, 0, '\'', Escapes::None), text),
        ('e' | 'E', Some('\'')) => close(Kind::String, quoted(text, 1, '\'', Escapes::Backslash), text),
        ('"', _) => close(Kind::Quoted, quoted(text, 0, '"', Escapes::None), text),
        ('$', _) if dollar_tag(text).is_some() => dollar_string(text),
        (c, _) if begins_name(c) => (Kind::Word, run(text, continues_name)),
        (c, _) if c.is_ascii_digit() => (
            Kind::Number,
            run(text, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')),
        ),
        ('.', Some(c)) if c.is_ascii_digit() => {
            (Kind::Number, 1 + run(&text[1..], |c| c.is_ascii_alphanumeric()))
        }
        (c, _) => (Kind::Symbol, c.len_utf8()),
    }
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn close(kind: impl Fn(Closed) -> Kind, end: Option<usize>, text: &str) -> (Kind, usize) {
    match end {
        Some(end) => (kind(Closed::Yes), end),
        None => (kind(Closed::No), text.len()),
    }
}

#[derive(PartialEq)]
enum Escapes {
    None,
    Backslash,
}

/// Returns the end of the quoted text whose opening quote stands at `start`; doubled quotes stay inside.
fn quoted(text: &str, start: usize, quote: char, escapes: Escapes) -> Option<usize> {
    let mut characters = text[start + 1..].char_indices().peekable();
    while let Some((offset, c)) = characters.next() {
        if c == '\\' && escapes == Escapes::Backslash {
            characters.next();
        } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(start + 1 + offset + 1);
        }
    }
    None
}

/// Block comments nest, as in PostgreSQL.
fn block_comment(text: &str) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return (Kind::Comment(Closed::Yes), at);
        }
    }
    (Kind::Comment(Closed::No), text.len())
}

/// Returns `$tag$` when the text begins with one.
fn dollar_tag(text: &str) -> Option<&str> {
    let name = run(&text[1..], |c| continues_name(c) && c != '$');
    let starts_well = text[1..]
        .chars()
        .next()
        .is_some_and(|c| c == '$' || begins_name(c));
    (starts_well && text[1 + name..].starts_with('$')).then(|| &text[..name + 2])
}

fn dollar_string(text: &str) -> (Kind, usize) {
    let tag = dollar_tag(text).unwrap_or("$$");
    let end = text[tag.len()..].find(tag).map(|offset| offset + 2 * tag.len());
    close(Kind::String, end, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let name = |kind| match kind {
            Kind::Space => "space",
            Kind::Comment(Closed::Yes) => "comment",
            Kind::Comment(Closed::No) => "open comment",
            Kind::String(Closed::Yes) => "string",
            Kind::String(Closed::No) => "open string",
            Kind::Quoted(Closed::Yes) => "quoted",
            Kind::Quoted(Closed::No) => "open quoted",
            Kind::Word => "word",
            Kind::Number => "number",
            Kind::Symbol => "symbol",
        };
        let tokens = tokens(text);
        let joined: String = tokens.iter().map(|token| &text[token.span.clone()]).collect();
        assert_eq!(joined, text, "no character is lost");
        let visible = tokens.iter().filter(|token| token.kind != Kind::Space);
        visible
            .map(|token| format!("{}:{}", name(token.kind), &text[token.span.clone()]))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn kinds() {
        let cases = [
            (
                "select a1, 1.5e3 .5",
                "word:select word:a1 symbol:, number:1.5e3 number:.5",
            ),
            (
                "t.名前 = 'it''s'",
                "word:t symbol:. word:名前 symbol:= string:'it''s'",
            ),
            (r"E'a\'b' 'a\'", r"string:E'a\'b' string:'a\'"),
            ("'open", "open string:'open"),
            ("\"a\"\"b\" \"open", "quoted:\"a\"\"b\" open quoted:\"open"),
            ("-- c\n1", "comment:-- c number:1"),
            (
                "/* a /* b */ c */ 1 /* open",
                "comment:/* a /* b */ c */ number:1 open comment:/* open",
            ),
            (
                "$$a;b$$ $x$ $$ $x$ $1",
                "string:$$a;b$$ string:$x$ $$ $x$ symbol:$ number:1",
            ),
            ("$$ open", "open string:$$ open"),
            ("é\u{301}好", "word:é symbol:\u{301} word:好"),
            ("/*", "open comment:/*"),
            ("/", "symbol:/"),
            ("E'\\", "open string:E'\\"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn blanks() {
        for (text, expected) in [
            ("", true),
            (" \n-- c\n/* d */ ", true),
            ("/* open", false),
            (" ; ", false),
            ("x", false),
        ] {
            assert_eq!(is_blank(text), expected, "{text}");
        }
        assert_eq!(first_word("\n-- c\n  SELECT 1"), Some(8));
        assert_eq!(first_word(" -- c"), None);
    }
}
