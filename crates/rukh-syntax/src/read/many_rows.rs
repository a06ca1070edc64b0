//! INSERT and UPSERT of many rows of literals, without a token for each.
//!
//! `INSERT INTO t (…) VALUES (1, 'a'), (2, 'b'), …` is read as the statement of its first row, as any other
//! is; the rows behind it are read here and put into its tree, as sqlparser would have put them. This is
//! for rows of plain numbers, texts in quotes, TRUE, FALSE, NULL and DEFAULT, with nothing behind the last
//! row. Of any other text nothing is said here: it goes the usual way, where all errors are found.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Expr, Ident, Parens, SetExpr, UnaryOperator, Value, ValueWithSpan};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

use super::parse::parse_whole;
use crate::nodes::Respell;
use crate::tree::Statement;

/// Bytes of a text that is looked at.
const BYTES_MIN: usize = 256;

/// Most digits of a number that stays as it is written.
const DIGITS_MAX: usize = 36;

/// Reads a statement of this kind; `None` for any other text.
pub(crate) fn many_rows(sql: &str, words: &dyn Respell) -> Option<Statement> {
    if sql.len() < BYTES_MIN {
        return None;
    }
    let mut scanner = Scanner::at(sql, values_of(sql)?);
    scanner.row()?;
    let first_end = scanner.byte;
    let mut rest = Vec::new();
    while scanner.takes(b',') {
        rest.push(scanner.row()?);
    }
    scanner.takes(b';');
    scanner.blanks();
    if scanner.byte < sql.len() || rest.is_empty() {
        return None;
    }
    let mut statement = parse_whole(&sql[..first_end], words).ok()?;
    let Statement::Insert(insert) = &mut statement else {
        return None;
    };
    let SetExpr::Values(values) = insert.ast.source.as_mut()?.body.as_mut() else {
        return None;
    };
    let [first] = values.rows.as_slice() else {
        return None;
    };
    let signs = (
        first.opening_token.0.token.clone(),
        first.closing_token.0.token.clone(),
    );
    let sign = |token: &Token, place: u64| {
        let span = Span::new(Location::new(1, place), Location::new(1, place + 1));
        AttachedToken(TokenWithSpan::new(token.clone(), span))
    };
    values.rows.extend(rest.into_iter().map(|row| Parens {
        opening_token: sign(&signs.0, row.opened),
        content: row.values,
        closing_token: sign(&signs.1, row.closed),
    }));
    Some(statement)
}

/// Returns the byte behind the word VALUES of an INSERT or UPSERT whose head is names and lists of them.
fn values_of(sql: &str) -> Option<usize> {
    let bytes = sql.as_bytes();
    let mut at = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let verb = bytes.get(at..at + 6)?;
    if !verb.eq_ignore_ascii_case(b"insert") && !verb.eq_ignore_ascii_case(b"upsert") {
        return None;
    }
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at += 1 + bytes[at + 1..].iter().position(|byte| *byte == b'"')?,
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            b',' | b'.' => {}
            byte if byte.is_ascii_whitespace() => {}
            byte if is_of_word(*byte) => {
                let length = bytes[at..].iter().position(|byte| !is_of_word(*byte))?;
                let word = &bytes[at..at + length];
                at += length;
                if depth == 0 && word.eq_ignore_ascii_case(b"values") {
                    return Some(at);
                }
                continue;
            }
            _ => return None,
        }
        at += 1;
    }
    None
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// A row with the places of its parentheses.
struct Row {
    opened: u64,
    values: Vec<Expr>,
    closed: u64,
}

/// A place in the text.
struct Scanner<'a> {
    sql: &'a str,
    byte: usize,
    /// The place in characters from 1.
    character: u64,
}

impl<'a> Scanner<'a> {
    fn at(sql: &'a str, byte: usize) -> Self {
        Scanner {
            sql,
            byte,
            character: sql[..byte].chars().count() as u64 + 1,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.sql.as_bytes().get(self.byte).copied()
    }

    /// Passes over characters of the ASCII.
    fn pass(&mut self, count: usize) {
        self.byte += count;
        self.character += count as u64;
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.pass(1);
        }
    }

    /// Passes over blanks, and then over a sign if it is there.
    fn takes(&mut self, sign: u8) -> bool {
        self.blanks();
        let is_there = self.peek() == Some(sign);
        if is_there {
            self.pass(1);
        }
        is_there
    }

    /// Reads a row in parentheses.
    fn row(&mut self) -> Option<Row> {
        if !self.takes(b'(') {
            return None;
        }
        let opened = self.character - 1;
        let mut values = Vec::new();
        loop {
            self.blanks();
            values.push(self.value()?);
            if self.takes(b')') {
                let closed = self.character - 1;
                return Some(Row {
                    opened,
                    values,
                    closed,
                });
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn value(&mut self) -> Option<Expr> {
        let start = self.character;
        match self.peek()? {
            b'-' => {
                self.pass(1);
                let expr = Box::new(self.number()?);
                let op = UnaryOperator::Minus;
                Some(Expr::UnaryOp { op, expr })
            }
            b'\'' => {
                let text = self.text()?;
                Some(self.literal(start, Value::SingleQuotedString(text)))
            }
            byte if byte.is_ascii_digit() => self.number(),
            byte if byte.is_ascii_alphabetic() => self.word(),
            _ => None,
        }
    }

    fn literal(&self, start: u64, value: Value) -> Expr {
        let span = self.span(start);
        Expr::Value(ValueWithSpan { value, span })
    }

    fn span(&self, start: u64) -> Span {
        Span::new(Location::new(1, start), Location::new(1, self.character))
    }

    /// Reads digits, with a point and more digits for choice.
    fn number(&mut self) -> Option<Expr> {
        let start = self.character;
        let rest = &self.sql.as_bytes()[self.byte..];
        let digits = |from: usize| {
            let of = rest.get(from..).unwrap_or_default();
            of.iter().position(|b| !b.is_ascii_digit()).unwrap_or(of.len())
        };
        let mut length = digits(0);
        if length > 0 && rest.get(length) == Some(&b'.') {
            match digits(length + 1) {
                0 => return None,
                fraction => length += 1 + fraction,
            }
        }
        let is_more = |byte: &u8| is_of_word(*byte) || *byte == b'.';
        if length == 0 || length > DIGITS_MAX || rest.get(length).is_some_and(is_more) {
            return None;
        }
        let text = self.sql[self.byte..self.byte + length].to_string();
        self.pass(length);
        Some(self.literal(start, Value::Number(text, false)))
    }

    /// Reads a text in single quotes, in which a quote is written twice.
    fn text(&mut self) -> Option<String> {
        let body = &self.sql[self.byte + 1..];
        let mut text = String::new();
        let mut read = 0;
        loop {
            let end = read + body.as_bytes()[read..].iter().position(|byte| *byte == b'\'')?;
            text.push_str(&body[read..end]);
            read = end + 1;
            if body.as_bytes().get(read) != Some(&b'\'') {
                break;
            }
            text.push('\'');
            read += 1;
        }
        self.character += body[..read].chars().count() as u64 + 1;
        self.byte += read + 1;
        Some(text)
    }

    /// Reads TRUE, FALSE, NULL or DEFAULT.
    fn word(&mut self) -> Option<Expr> {
        let start = self.character;
        let rest = &self.sql.as_bytes()[self.byte..];
        let length = rest.iter().position(|byte| !is_of_word(*byte))?;
        let word = &self.sql[self.byte..self.byte + length];
        let value = match word {
            word if word.eq_ignore_ascii_case("null") => Some(Value::Null),
            word if word.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            word if word.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            word if word.eq_ignore_ascii_case("default") => None,
            _ => return None,
        };
        let name = word.to_string();
        self.pass(length);
        Some(match value {
            Some(value) => self.literal(start, value),
            None => Expr::Identifier(Ident::with_span(self.span(start), name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse::AsItIs;

    /// The texts that are read here, and as sqlparser reads them.
    #[test]
    fn rows_are_those_of_the_usual_way() {
        let texts = [
            "INSERT INTO t VALUES (1, 'a'), (-2.50, 'it''s'), (NULL, '') , (true, 'é\n\\x'), (DEFAULT, FALSE)",
            "  upsert into s.\"T \" (a, \"b\"\n)\nvalues (1, 2),(3, 4),\n(00, 4.0);\n",
            "INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES ('é'), ('ü'), (-1), (null), (default)",
        ];
        for text in texts {
            let padded = text.replacen(' ', &" ".repeat(BYTES_MIN), 1);
            let quick = many_rows(&padded, &AsItIs).expect("a text of many rows");
            let usual = parse_whole(&padded, &AsItIs).expect("a statement");
            assert_eq!(format!("{quick:?}"), format!("{usual:?}"), "{text}");
        }
    }

    #[test]
    fn other_texts_go_the_usual_way() {
        let texts = [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t VALUES (1), (2) RETURNING a",
            "INSERT INTO t VALUES (1), (2) ON CONFLICT DO NOTHING",
            "INSERT INTO t VALUES (1), (2",
            "INSERT INTO t VALUES (1), (2),",
            "INSERT INTO t VALUES (1), ()",
            "INSERT INTO t VALUES (1), (1 + 1)",
            "INSERT INTO t VALUES (1), (1e3)",
            "INSERT INTO t VALUES (1), (1.)",
            "INSERT INTO t VALUES (1), (.5)",
            "INSERT INTO t VALUES (1), (1a)",
            "INSERT INTO t VALUES (1), (1_000)",
            "INSERT INTO t VALUES (1), (0xff)",
            "INSERT INTO t VALUES (1), (- 1)",
            "INSERT INTO t VALUES (1), ($1)",
            "INSERT INTO t VALUES (1), (x'00')",
            "INSERT INTO t VALUES (1), (E'a')",
            "INSERT INTO t VALUES (1), (DATE '2024-01-01')",
            "INSERT INTO t VALUES (1), ('a' 'b')",
            "INSERT INTO t VALUES (1), ('a'::text)",
            "INSERT INTO t VALUES (1), ('a",
            "INSERT INTO t VALUES (1), /* two */ (2)",
            "INSERT INTO t VALUES (1), (2) -- two",
            "INSERT INTO t VALUES (1), (2); SELECT 1",
            "INSERT INTO t SELECT 1, (2), (3)",
            "INSERT /*+ h */ INTO t VALUES (1), (2)",
            "WITH w AS (SELECT 1) INSERT INTO t VALUES (1), (2)",
            "SELECT 1, (2), (3)",
            "VALUES (1), (2)",
        ];
        for text in texts {
            let padded = text.replacen(' ', &" ".repeat(BYTES_MIN), 1);
            assert!(many_rows(&padded, &AsItIs).is_none(), "{text}");
        }
    }
}
