//! The text that statements share which differ only in their literals.
//!
//! | statement                              | shared                                  |
//! |----------------------------------------|-----------------------------------------|
//! | `select 1 , 'a' -- x`                  | `select $1 , $2`                        |
//! | `SELECT t1.a FROM t1 WHERE b = $1+2.5` | `SELECT t1.a FROM t1 WHERE b = $1+$2`   |
//! | `… IN (1, 2, 3)`                       | `… IN ($1 /*, ... */)`                  |
//!
//! Blanks and comments become one blank. Lists of literals are one, however long, as in PostgreSQL 18.

/// Longest shared text, in bytes; what follows is left out.
const TEXT_BYTES_MAX: usize = 4096;

/// A part of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Blank,
    Literal,
    Comma,
    Other(&'a str),
}

/// Returns the text that a statement shares with others.
pub(super) fn shared(sql: &str) -> String {
    let sql = sql.trim().trim_end_matches(';');
    let tokens = squashed(tokens(sql));
    let parameters = tokens.iter().filter_map(|token| match token {
        Part::Token(Token::Other(text)) => text.strip_prefix('$')?.parse::<u32>().ok(),
        _ => None,
    });
    let mut number = parameters.max().unwrap_or(0);
    let mut text = String::with_capacity(sql.len().min(TEXT_BYTES_MAX));
    for token in tokens {
        if text.len() >= TEXT_BYTES_MAX {
            break;
        }
        match token {
            Part::Token(Token::Blank) => text.push(' '),
            Part::Token(Token::Comma) => text.push(','),
            Part::Token(Token::Other(other)) => text.push_str(other),
            Part::Token(Token::Literal) | Part::List => {
                number = number.saturating_add(1);
                text += &format!("${number}");
                if token == Part::List {
                    text += " /*, ... */";
                }
            }
        }
    }
    text.truncate(text.trim_end().len());
    if text.len() > TEXT_BYTES_MAX {
        let end = (0..=TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text
}

/// A part of the shared text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Token(Token<'a>),
    /// Several literals with commas between them.
    List,
}

/// Makes one of each list of literals, and one of several blanks.
fn squashed(tokens: Vec<Token<'_>>) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Blank if parts.last() == Some(&Part::Token(Token::Blank)) => {}
            Token::Literal => {
                let mut is_list = false;
                while let Some(next) = list_goes_on(&tokens, at) {
                    (at, is_list) = (next, true);
                }
                parts.push(if is_list {
                    Part::List
                } else {
                    Part::Token(Token::Literal)
                });
            }
            other => parts.push(Part::Token(*other)),
        }
    }
    parts
}

/// Returns where the next literal of a list ends, if a comma and a literal follow.
fn list_goes_on(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let skip = |at: usize| {
        at + tokens[at..]
            .iter()
            .take_while(|token| **token == Token::Blank)
            .count()
    };
    let comma = skip(at);
    let literal = skip(comma + usize::from(tokens.get(comma) == Some(&Token::Comma)));
    (literal > comma
        && tokens.get(comma) == Some(&Token::Comma)
        && tokens.get(literal) == Some(&Token::Literal))
    .then_some(literal + 1)
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let bytes = sql.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (token, end) = token(sql, at);
        tokens.push(token);
        at = end;
    }
    tokens
}

/// Reads the token at a place; returns where it ends, which is behind the place.
fn token(sql: &str, at: usize) -> (Token<'_>, usize) {
    let bytes = sql.as_bytes();
    let rest = &bytes[at..];
    let run = |of: &dyn Fn(u8) -> bool| at + rest.iter().take_while(|byte| of(**byte)).count();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
    match rest[0] {
        b'-' if rest.get(1) == Some(&b'-') => (Token::Blank, run(&|byte| byte != b'\n')),
        b'/' if rest.get(1) == Some(&b'*') => (Token::Blank, after_comment(bytes, at)),
        byte if byte.is_ascii_whitespace() => (Token::Blank, run(&|byte| byte.is_ascii_whitespace())),
        b'\'' => (Token::Literal, after_quote(bytes, at, b'\'', false)),
        b'"' => {
            let end = after_quote(bytes, at, b'"', false);
            (Token::Other(&sql[at..end]), end)
        }
        b'e' | b'E' if rest.get(1) == Some(&b'\'') => {
            (Token::Literal, after_quote(bytes, at + 1, b'\'', true))
        }
        b'x' | b'X' | b'b' | b'B' if rest.get(1) == Some(&b'\'') => {
            (Token::Literal, after_quote(bytes, at + 1, b'\'', false))
        }
        b'$' if rest.get(1).is_some_and(u8::is_ascii_digit) => {
            let end = at + 1 + rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            (Token::Other(&sql[at..end]), end)
        }
        b'$' => match after_dollars(sql, at) {
            Some(end) => (Token::Literal, end),
            None => (Token::Other("$"), at + 1),
        },
        b',' => (Token::Comma, at + 1),
        b'0'..=b'9' => (Token::Literal, after_number(bytes, at)),
        b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => (Token::Literal, after_number(bytes, at)),
        byte if is_word(byte) => {
            let end = run(&is_word);
            (Token::Other(&sql[at..end]), end)
        }
        _ => (Token::Other(&sql[at..at + 1]), at + 1),
    }
}

fn after_comment(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (0, at);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn after_quote(bytes: &[u8], at: usize, quote: u8, escapes: bool) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns where `$$ … $$` or `$tag$ … $tag$` ends.
fn after_dollars(sql: &str, at: usize) -> Option<usize> {
    let rest = &sql[at + 1..];
    let tag = &rest[..rest.find('$')?];
    if !tag
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return None;
    }
    let mark = &sql[at..at + tag.len() + 2];
    let inner = at + mark.len();
    Some(
        sql[inner..]
            .find(mark)
            .map_or(sql.len(), |end| inner + end + mark.len()),
    )
}

fn after_number(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        let is_sign = matches!(byte, b'+' | b'-') && end > at && matches!(bytes[end - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_' || is_sign) {
            break;
        }
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_left_out() {
        for (sql, expected) in [
            ("select 1 , 'a' -- x", "select $1 /*, ... */"),
            ("SELECT  1\n;", "SELECT $1"),
            (
                "SELECT t1.a FROM t1 WHERE b = $1+2.5e-3",
                "SELECT t1.a FROM t1 WHERE b = $1+$2",
            ),
            ("x IN (1, 2,3)", "x IN ($1 /*, ... */)"),
            ("x IN (1) AND y = '''' ", "x IN ($1) AND y = $2"),
            (
                "VALUES (1, $2, 3), (4, 5, 6)",
                "VALUES ($3, $2, $4), ($5 /*, ... */)",
            ),
            ("a /* 1 /* 2 */ */ = E'\\'' || $x$ 'it' $x$", "a = $1 || $2"),
            ("\"1\" = X'00'", "\"1\" = $1"),
            ("SELECT 'open", "SELECT $1"),
            ("ü = .5", "ü = $1"),
            ("", ""),
        ] {
            assert_eq!(shared(sql), expected, "{sql}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let long = format!("SELECT {}", "ü + ".repeat(5_000));
        assert!(shared(&long).len() <= TEXT_BYTES_MAX);
        let list = format!("SELECT {}", "1, ".repeat(50_000) + "1");
        assert_eq!(shared(&list), "SELECT $1 /*, ... */");
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for sql in [
            "$", "$a", "$a$", "/*", "'", "E'\\", "--", "1e+", "\"", "/*/", "$1", "..5",
        ] {
            shared(sql);
        }
    }
}
