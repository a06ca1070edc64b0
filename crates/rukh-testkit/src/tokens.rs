//! SQL text as tokens, for changing statements without understanding them.
//!
//! Joining the tokens' texts gives the statement back, byte for byte. Deliberately not here: what a
//! statement means; [`crate::translate`] looks for the few words that differ between dialects.

/// What kind of text a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword without quotes.
    Word,
    /// A name in double quotes.
    QuotedName,
    /// A string in single quotes, with its prefix (`E`, `x`, `b`), or between dollar tags.
    Text,
    /// A number.
    Number,
    /// White space and comments; hints are comments.
    Blank,
    /// One character of anything else.
    Symbol,
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its text, as written.
    pub text: String,
}

impl Token {
    /// Whether this is the given keyword, in any case.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether this is the given character.
    pub fn is_symbol(&self, symbol: char) -> bool {
        self.kind == TokenKind::Symbol && self.text.starts_with(symbol)
    }

    /// Makes a token of blank space, for texts put together from pieces.
    pub fn verbatim(text: impl Into<String>) -> Token {
        Token {
            kind: TokenKind::Blank,
            text: text.into(),
        }
    }
}

/// Splits a statement into tokens.
pub fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while !rest.is_empty() {
        let (kind, length) = next_token(rest);
        tokens.push(Token {
            kind,
            text: rest[..length].to_owned(),
        });
        rest = &rest[length..];
    }
    tokens
}

/// Puts tokens together again.
pub fn text_of(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect()
}

/// Splits tokens at the commas that stand in no parentheses.
pub fn split_at_commas(tokens: &[Token]) -> Vec<Vec<Token>> {
    let mut parts = vec![Vec::new()];
    let mut depth = 0_i32;
    for token in tokens {
        if token.is_symbol(',') && depth == 0 {
            parts.push(Vec::new());
            continue;
        }
        depth += i32::from(token.is_symbol('(')) - i32::from(token.is_symbol(')'));
        parts
            .last_mut()
            .expect("there is always a last part")
            .push(token.clone());
    }
    parts
}

/// Returns the place of the parenthesis that closes the one at `open`, or the length.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_i32;
    for (place, token) in tokens.iter().enumerate().skip(open) {
        depth += i32::from(token.is_symbol('(')) - i32::from(token.is_symbol(')'));
        if depth == 0 {
            return place;
        }
    }
    tokens.len()
}

/// Whether a query says in which order its rows come: ORDER BY outside of all parentheses.
pub fn is_ordered(sql: &str) -> bool {
    let mut depth = 0_i32;
    let mut after_order = false;
    for token in tokens(sql).iter().filter(|token| token.kind != TokenKind::Blank) {
        depth += i32::from(token.is_symbol('(')) - i32::from(token.is_symbol(')'));
        if depth == 0 && after_order && token.is_word("by") {
            return true;
        }
        after_order = token.is_word("order");
    }
    false
}

/// Returns the first word of a statement, in lower case.
pub fn first_word(sql: &str) -> String {
    let tokens = tokens(sql);
    let word = tokens.iter().find(|token| token.kind == TokenKind::Word);
    word.map(|token| token.text.to_lowercase()).unwrap_or_default()
}

fn next_token(rest: &str) -> (TokenKind, usize) {
    let first = rest.chars().next().expect("the rest is not empty");
    match first {
        '\'' => (TokenKind::Text, quoted(rest, '\'', false)),
        '"' => (TokenKind::QuotedName, quoted(rest, '"', false)),
        '-' if rest.starts_with("--") => (TokenKind::Blank, rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => (TokenKind::Blank, block_comment(rest)),
        '$' if rest.starts_with("$$") => (TokenKind::Text, dollar_quoted(rest)),
        'e' | 'E' if rest[1..].starts_with('\'') => (TokenKind::Text, 1 + quoted(&rest[1..], '\'', true)),
        'x' | 'X' | 'b' | 'B' if rest[1..].starts_with('\'') => {
            (TokenKind::Text, 1 + quoted(&rest[1..], '\'', false))
        }
        c if c.is_whitespace() => (TokenKind::Blank, run(rest, char::is_whitespace)),
        c if c.is_ascii_digit() => (TokenKind::Number, number(rest)),
        c if c.is_alphabetic() || c == '_' => {
            (TokenKind::Word, run(rest, |c| c.is_alphanumeric() || c == '_'))
        }
        c => (TokenKind::Symbol, c.len_utf8()),
    }
}

fn run(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !belongs(c)).unwrap_or(rest.len())
}

/// The length of a number, with fraction and exponent.
fn number(rest: &str) -> usize {
    let mut length = run(rest, |c| c.is_ascii_digit() || c == '.');
    if rest[length..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let digits = run(&rest[length + 1 + sign..], |c| c.is_ascii_digit());
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    length
}

/// The length of a quoted text, which starts with the quote; doubled quotes belong to it.
fn quoted(rest: &str, quote: char, escapes: bool) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((place, c)) = characters.next() {
        if escapes && c == '\\' {
            characters.next();
        } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return place + 1;
        }
    }
    rest.len()
}

fn block_comment(rest: &str) -> usize {
    rest.find("*/").map_or(rest.len(), |end| end + 2)
}

fn dollar_quoted(rest: &str) -> usize {
    rest[2..].find("$$").map_or(rest.len(), |end| end + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_join_to_the_statement() {
        for sql in [
            "SELECT /*+ FULL_SCAN */ a, 'it''s', E'a\\'b', x'00ff' FROM \"T\"\"\" WHERE a >= 1.5e-3 -- end",
            "INSERT INTO t VALUES ($1, '中', $$a;b$$)",
            "'open",
            "a.b::TEXT",
        ] {
            assert_eq!(text_of(&tokens(sql)), sql);
        }
    }

    #[test]
    fn kinds_of_tokens() {
        let kinds = |sql| {
            tokens(sql)
                .into_iter()
                .map(|token| token.kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds("'a''b'"), [TokenKind::Text]);
        assert_eq!(kinds("1e5"), [TokenKind::Number]);
        assert_eq!(kinds("/* a */--b"), [TokenKind::Blank, TokenKind::Blank]);
        assert_eq!(kinds("x'00'"), [TokenKind::Text]);
        assert_eq!(kinds("xa"), [TokenKind::Word]);
    }

    #[test]
    fn only_an_outer_order_by_orders() {
        assert!(is_ordered("SELECT a FROM t ORDER BY a"));
        assert!(!is_ordered("SELECT row_number() OVER (ORDER BY a) FROM t"));
        assert!(!is_ordered(
            "SELECT * FROM (SELECT a FROM t ORDER BY a LIMIT 1) AS s"
        ));
    }
}
