//! From text to tokens, and from the places that sqlparser names to places in the text.
//!
//! [`Source::tokens`] hands out sqlparser's tokens with a few spellings settled, so that nothing
//! behind it needs to know them:
//!
//! | written                            | becomes              | or fails                        |
//! |------------------------------------|----------------------|---------------------------------|
//! | `E'..'`, `U&'..'`, `N'..'`, `$$..$$` | a plain string       |                                 |
//! | `0xff`, `1_000`, `1e3`             | a plain number       |                                 |
//! | `x'00ff'`                          | bytes                | odd or wrong digits             |
//! | `1a`, `1.5.2`                      |                      | `trailing junk after numeric …` |
//! | `B'01'`                            |                      | not supported                   |
//! | `?`, `$x`                          |                      | syntax error                    |
//!
//! Places are characters from 1, as PostgreSQL counts them. Tokens, and so every name in a tree, carry
//! them as column of a single line: a place is found without the text.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{
    Location, Span, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace, Word,
};

use super::dialect::RukhDialect;
use super::number;
use crate::StatementError;

/// The text of a statement.
pub(crate) struct Source<'a> {
    sql: &'a str,
}

/// Returns the place that a span of a tree starts at, in characters from 1, or `None` if it has none.
pub fn place_of(span: Span) -> Option<usize> {
    usize::try_from(span.start.column).ok().filter(|place| *place > 0)
}

/// Makes an operator of JSONB of `?`, which is no parameter: `?`, `?|` or `?&`.
fn settle_question(tokens: &mut [TokenWithSpan], at: usize) {
    let operator = match tokens.get(at + 1).map(|next| &next.token) {
        Some(Token::Pipe) => Token::QuestionPipe,
        Some(Token::Ampersand) => Token::QuestionAnd,
        _ => Token::Question,
    };
    if operator != Token::Question {
        tokens[at + 1].token = Token::Whitespace(Whitespace::Space);
    }
    tokens[at].token = operator;
}

/// Makes one operator of `<<` and `>>` with `=` right behind them: `<<=` and `>>=`.
fn settle_shift(tokens: &mut [TokenWithSpan], at: usize) {
    let joined = match (&tokens[at].token, tokens.get(at + 1).map(|next| &next.token)) {
        (Token::ShiftLeft, Some(Token::Eq)) => "<<=",
        (Token::ShiftRight, Some(Token::Eq)) => ">>=",
        _ => return,
    };
    tokens[at].token = Token::CustomBinaryOperator(joined.to_string());
    tokens[at + 1].token = Token::Whitespace(Whitespace::Space);
}

impl<'a> Source<'a> {
    pub(crate) fn new(sql: &'a str) -> Self {
        Source { sql }
    }

    /// Splits the text into tokens, blanks and comments included.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenWithSpan>, StatementError> {
        let mut tokens = Vec::new();
        Tokenizer::new(RukhDialect::of(false), self.sql)
            .tokenize_with_location_into_buf(&mut tokens)
            .map_err(|error| self.token_error(&tokens, error))?;
        self.place(&mut tokens);
        for at in 0..tokens.len() {
            if let Token::Placeholder(name) = &tokens[at].token
                && name == "?"
            {
                settle_question(&mut tokens, at);
            }
            settle_shift(&mut tokens, at);
            let junk = matches!(
                tokens.get(at + 1).map(|next| &next.token),
                Some(Token::Word(_) | Token::Number(..))
            );
            if let Some(settled) = self.settle(&tokens[at], junk)? {
                tokens[at].token = settled;
            }
        }
        Ok(tokens)
    }

    /// Splits the text into tokens as they are written, without blanks and comments.
    pub(crate) fn written_tokens(&self) -> Result<Vec<TokenWithSpan>, StatementError> {
        let mut tokens = Vec::new();
        Tokenizer::new(RukhDialect::of(false), self.sql)
            .tokenize_with_location_into_buf(&mut tokens)
            .map_err(|error| self.token_error(&tokens, error))?;
        self.place(&mut tokens);
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        Ok(tokens)
    }

    /// Returns the place of a token in characters from 1; that of the end is after the last.
    pub(crate) fn position(&self, token: &TokenWithSpan) -> usize {
        place_of(token.span).unwrap_or_else(|| self.sql.trim_end().chars().count() + 1)
    }

    /// Returns the text of a token as it was written.
    pub(crate) fn text(&self, token: &TokenWithSpan) -> &'a str {
        let (start, end) = (self.byte_of(token.span.start), self.byte_of(token.span.end));
        self.sql.get(start..end).unwrap_or_default()
    }

    /// Returns the text from a token to the end of another.
    pub(crate) fn text_between(&self, first: &TokenWithSpan, last: &TokenWithSpan) -> &'a str {
        let (start, end) = (self.byte_of(first.span.start), self.byte_of(last.span.end));
        self.sql.get(start..end).unwrap_or_default()
    }

    /// Returns the text from a token on.
    pub(crate) fn text_from(&self, token: &TokenWithSpan) -> &'a str {
        self.sql.get(self.byte_of(token.span.start)..).unwrap_or_default()
    }

    /// Makes the error for a token that cannot stand where it stands.
    pub(crate) fn unexpected(&self, token: &TokenWithSpan) -> StatementError {
        let message = match token.token {
            Token::EOF => "syntax error at end of input".to_string(),
            _ => format!("syntax error at or near \"{}\"", self.text(token)),
        };
        StatementError::syntax(message).at(self.position(token))
    }

    /// Makes a user's error of sqlparser's, which names the place at the end of its message.
    pub(crate) fn parser_error(&self, error: ParserError, tokens: &[TokenWithSpan]) -> StatementError {
        let message = match error {
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
            ParserError::RecursionLimitExceeded => {
                return StatementError::statement("54001", "the statement is nested too deeply");
            }
        };
        let (message, location) = split_location(&message);
        let (expected, found) = match message.strip_prefix("Expected: ") {
            Some(rest) => rest.rsplit_once(", found: ").unwrap_or((rest, "")),
            None => (message, ""),
        };
        let token = location.and_then(|at| tokens.iter().find(|token| token.span.start == at));
        let error = match token {
            Some(token) => self.unexpected(token),
            None if found == "EOF" => self.unexpected(&end_token()),
            None => StatementError::syntax("syntax error"),
        };
        match message.starts_with("Expected: ") {
            true => error.with_detail(format!("Expected {expected}.")),
            false => error.with_detail(format!("{}.", message.trim_end_matches('.'))),
        }
    }

    /// Turns lines and columns into places: columns of one line.
    fn place(&self, tokens: &mut [TokenWithSpan]) {
        let mut starts = vec![0];
        let newlines = self.sql.chars().enumerate().filter(|(_, c)| *c == '\n');
        starts.extend(newlines.map(|(at, _)| at as u64 + 1));
        let placed = |location: Location| {
            let line = usize::try_from(location.line).unwrap_or(0).saturating_sub(1);
            Location::new(1, starts.get(line).copied().unwrap_or(0) + location.column)
        };
        for token in tokens {
            token.span = Span::new(placed(token.span.start), placed(token.span.end));
        }
    }

    /// Returns the byte at a placed location.
    fn byte_of(&self, location: Location) -> usize {
        let characters = usize::try_from(location.column)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        self.sql
            .char_indices()
            .nth(characters)
            .map_or(self.sql.len(), |(at, _)| at)
    }

    /// Returns what a token becomes, or `None` if it stays; `junk` means that a word or number
    /// follows without a blank.
    fn settle(&self, token: &TokenWithSpan, junk: bool) -> Result<Option<Token>, StatementError> {
        let placed = |error: StatementError| error.at(self.position(token));
        Ok(match &token.token {
            Token::Number(digits, long) => {
                if *long || junk {
                    return Err(self.trailing_junk(token));
                }
                number::settled(digits).map(|settled| Token::Number(settled, false))
            }
            Token::HexStringLiteral(digits) if self.text(token).starts_with('0') => {
                Some(Token::Number(hex_number(digits).map_err(placed)?, false))
            }
            Token::HexStringLiteral(digits) => {
                check_hex(digits).map_err(placed)?;
                None
            }
            Token::UnicodeStringLiteral(text) if text.contains('\0') => {
                return Err(placed(StatementError::syntax("invalid Unicode escape value")));
            }
            Token::NationalStringLiteral(text)
            | Token::EscapedStringLiteral(text)
            | Token::UnicodeStringLiteral(text) => Some(Token::SingleQuotedString(text.clone())),
            Token::DollarQuotedString(text) => Some(Token::SingleQuotedString(text.value.clone())),
            Token::SingleQuotedByteStringLiteral(_) | Token::DoubleQuotedByteStringLiteral(_) => {
                return Err(placed(StatementError::unsupported(
                    "bit strings are not supported",
                )));
            }
            Token::Placeholder(name) if !is_parameter(name) => return Err(self.unexpected(token)),
            Token::Word(Word {
                value,
                quote_style: Some(_),
                ..
            }) if value.is_empty() => {
                let message = "zero-length delimited identifier at or near \"\"\"\"";
                return Err(placed(StatementError::syntax(message)));
            }
            _ => None,
        })
    }

    fn trailing_junk(&self, token: &TokenWithSpan) -> StatementError {
        let start = self.byte_of(token.span.start);
        let rest = &self.sql[start..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let junk = &rest[..end.unwrap_or(rest.len())];
        StatementError::syntax(format!(
            "trailing junk after numeric literal at or near \"{junk}\""
        ))
        .at(self.position(token))
    }

    /// Makes a user's error of what stopped the tokenizer after `tokens`.
    fn token_error(&self, tokens: &[TokenWithSpan], error: TokenizerError) -> StatementError {
        let mut last = tokens.last().cloned().into_iter().collect::<Vec<_>>();
        self.place(&mut last);
        let start = last.first().map_or(Location::new(1, 1), |token| token.span.end);
        let rest = &self.sql[self.byte_of(start)..];
        let what = if rest.starts_with("/*") {
            "unterminated /* comment"
        } else if rest.starts_with('"') {
            "unterminated quoted identifier"
        } else if rest.starts_with('$') {
            "unterminated dollar-quoted string"
        } else if error.message.starts_with("Unterminated") && !is_closed_escape_string(rest) {
            "unterminated quoted string"
        } else if rest.contains('\'') {
            "invalid escape sequence in string"
        } else {
            "syntax error"
        };
        let line = rest.lines().next().unwrap_or_default();
        StatementError::syntax(format!("{what} at or near \"{line}\"")).at(start.column as usize)
    }
}

/// The token that sqlparser gives after the last.
fn end_token() -> TokenWithSpan {
    TokenWithSpan {
        token: Token::EOF,
        span: Span::empty(),
    }
}

/// Splits `Expected: … at Line: 1, Column: 8` before ` at Line`.
fn split_location(message: &str) -> (&str, Option<Location>) {
    let parsed = message.rsplit_once(" at Line: ").and_then(|(before, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((before, Location::new(line.parse().ok()?, column.parse().ok()?)))
    });
    match parsed {
        Some((before, location)) => (before, Some(location)),
        None => (message, None),
    }
}

/// Whether this is `$1`, `$2` and so on.
fn is_parameter(name: &str) -> bool {
    name.strip_prefix('$')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether an `E'…'` is closed, so that an escape in it must be at fault.
fn is_closed_escape_string(rest: &str) -> bool {
    let split = super::split::split_statements(&format!("{rest}\n;"));
    rest.starts_with(['e', 'E']) && !split.statements.is_empty()
}

/// Writes the number `0x…` in decimal.
fn hex_number(digits: &str) -> Result<String, StatementError> {
    let digits = digits.replace('_', "");
    match u128::from_str_radix(&digits, 16) {
        Ok(value) => Ok(value.to_string()),
        Err(_) if digits.is_empty() => Err(StatementError::syntax(
            "invalid hexadecimal integer at or near \"0x\"",
        )),
        Err(_) => Err(StatementError::statement(
            "22003",
            format!("value \"0x{digits}\" is out of range"),
        )),
    }
}

fn check_hex(digits: &str) -> Result<(), StatementError> {
    if let Some(bad) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
        let message = format!("\"{bad}\" is not a valid hexadecimal digit");
        return Err(StatementError::statement("22P02", message));
    }
    match digits.len() % 2 {
        0 => Ok(()),
        _ => Err(StatementError::statement(
            "22023",
            "invalid hexadecimal data: odd number of digits",
        )),
    }
}
