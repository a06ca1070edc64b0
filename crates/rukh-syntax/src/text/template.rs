//! Cutting a text into template and literals.
//!
//! Deliberately not here: a whole lexer of SQL. What the walk does not know for certain (a second
//! SELECT, `E''` and `$$` strings, parameters) gives no template; numbers with an exponent, intervals,
//! arguments of functions and what stands beside an arithmetic operator stay part of it.

/// Longest text that is cut, in bytes; longer ones are mostly lists, each of a length of its own.
const TEXT_MAX: usize = 4096;

/// Most literals of a text.
const LITERALS_MAX: usize = 64;

/// A literal of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A string in single quotes, without them.
    Text(String),
    /// Digits, perhaps with a sign.
    Integer(i64),
    /// Digits with a fraction, perhaps with a sign: the number times ten to the power of `scale`.
    Decimal {
        /// The digits as one number.
        unscaled: i128,
        /// How many of them stand behind the point.
        scale: u8,
    },
    /// A string behind the name of its type.
    Typed(LiteralType, String),
}

/// A type whose name may stand before a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralType {
    /// `DATE '2024-01-01'`
    Date,
    /// `TIMESTAMP '2024-01-01 10:00'`
    Timestamp,
}

/// Most digits of a number with a fraction.
const DECIMAL_DIGITS_MAX: usize = 30;

/// A text cut into template and literals; kept from text to text for its memory.
#[derive(Debug, Default)]
pub struct Cut {
    /// The text with parameters in place of literals.
    pub template: String,
    /// The literals, in the order of the parameters.
    pub literals: Vec<Literal>,
}

impl Cut {
    /// Cuts a text; returns false for texts that have no template.
    pub fn cut(&mut self, sql: &str) -> bool {
        self.template.clear();
        self.literals.clear();
        sql.len() <= TEXT_MAX && Cutter::new(sql, self).run().is_some() && !self.literals.is_empty()
    }
}

/// The token before the one that is looked at, as far as a literal's meaning depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An operator, a comma, a parenthesis that opens, or a word that an operand may follow.
    Operand,
    /// A minus where an operand is expected.
    Sign,
    /// Anything else.
    Other,
}

struct Cutter<'a> {
    sql: &'a str,
    at: usize,
    cut: &'a mut Cut,
    in_where: bool,
    selects: usize,
    before: Before,
    /// Whether the word before the next token may be the name of a function.
    names_function: bool,
    /// Parentheses open within those of a function, its own included: literals there are its business.
    depth_in_call: usize,
}

impl<'a> Cutter<'a> {
    fn new(sql: &'a str, cut: &'a mut Cut) -> Self {
        Cutter {
            sql,
            at: 0,
            cut,
            in_where: false,
            selects: 0,
            before: Before::Other,
            names_function: false,
            depth_in_call: 0,
        }
    }

    /// Cuts the text; `None` when it has no template.
    fn run(&mut self) -> Option<()> {
        let bytes = self.sql.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\'' => self.string()?,
                b'"' => {
                    let end = closing_quote(bytes, self.at, b'"')?;
                    self.copy_to(end, Before::Other);
                }
                b'-' if bytes.get(self.at + 1) == Some(&b'-') => {
                    let rest = &bytes[self.at..];
                    let len = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                    self.copy_to(self.at + len, self.before);
                }
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => {
                    let len = self.sql[self.at + 2..].find("*/")? + 4;
                    let comment = &self.sql[self.at + 2..self.at + len - 2];
                    if comment.contains("/*") {
                        return None;
                    }
                    self.copy_to(self.at + len, self.before);
                }
                b'-' if self.before == Before::Operand => self.copy_to(self.at + 1, Before::Sign),
                b'(' => {
                    self.depth_in_call += usize::from(self.names_function || self.depth_in_call > 0);
                    self.copy_to(self.at + 1, Before::Operand);
                }
                b')' => {
                    self.depth_in_call = self.depth_in_call.saturating_sub(1);
                    self.copy_to(self.at + 1, Before::Other);
                }
                b'=' | b'<' | b'>' | b',' => self.copy_to(self.at + 1, Before::Operand),
                b'$' | b'?' | b';' | b'\\' => return None,
                b'.' if bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) => return None,
                _ if byte.is_ascii_digit() => self.number()?,
                _ if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => self.word()?,
                _ if byte.is_ascii_whitespace() => self.copy_to(self.at + 1, self.before),
                _ => self.copy_to(self.at + 1, Before::Other),
            }
        }
        Some(())
    }

    fn copy_to(&mut self, end: usize, before: Before) {
        let token = &self.sql[self.at..end];
        self.names_function &= token.as_bytes().iter().all(u8::is_ascii_whitespace);
        self.cut.template.push_str(token);
        self.at = end;
        self.before = before;
    }

    fn is_parameter(&self) -> bool {
        self.in_where && self.before != Before::Other && self.depth_in_call == 0
    }

    fn parameter(&mut self, literal: Literal, end: usize) -> Option<()> {
        use std::fmt::Write;
        if self.cut.literals.len() == LITERALS_MAX {
            return None;
        }
        self.cut.literals.push(literal);
        let number = self.cut.literals.len();
        write!(self.cut.template, "${number}").ok()?;
        self.at = end;
        self.before = Before::Other;
        self.names_function = false;
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let end = closing_quote(self.sql.as_bytes(), self.at, b'\'')?;
        if !self.is_parameter() {
            self.copy_to(end, Before::Other);
            return Some(());
        }
        if self.before == Before::Sign {
            return None;
        }
        let inner = &self.sql[self.at + 1..end - 1];
        let text = match inner.contains('\'') {
            true => inner.replace("''", "'"),
            false => inner.to_string(),
        };
        self.parameter(Literal::Text(text), end)
    }

    fn number(&mut self) -> Option<()> {
        let bytes = self.sql.as_bytes();
        let digits = bytes[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let end = self.at + digits;
        let goes_on =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || *byte >= 0x80;
        if let Some((literal, end)) = self.decimal(end).filter(|_| self.is_parameter()) {
            return self.signed(literal, end);
        }
        if bytes.get(end).is_some_and(goes_on) {
            // An exponent, hexadecimal digits: the number stays part of the template.
            let len = bytes[end..].iter().take_while(|byte| goes_on(byte)).count();
            self.copy_to(end + len, Before::Other);
            return Some(());
        }
        let Some(value) = self.sql[self.at..end]
            .parse::<i64>()
            .ok()
            .filter(|_| self.is_parameter())
        else {
            self.copy_to(end, Before::Other);
            return Some(());
        };
        self.signed(Literal::Integer(value), end)
    }

    /// A number as a parameter, with the sign before it if there is one.
    fn signed(&mut self, literal: Literal, end: usize) -> Option<()> {
        if self.before != Before::Sign {
            return self.parameter(literal, end);
        }
        let sign = self.cut.template.rfind('-')?;
        if !self.cut.template[sign + 1..].trim().is_empty() {
            return None;
        }
        self.cut.template.truncate(sign);
        let negative = match literal {
            Literal::Integer(value) => Literal::Integer(-value),
            Literal::Decimal { unscaled, scale } => Literal::Decimal {
                unscaled: -unscaled,
                scale,
            },
            Literal::Text(_) | Literal::Typed(..) => return None,
        };
        self.parameter(negative, end)
    }

    /// The number from here on, if its whole part ends at `point` and a fraction follows; and its end.
    fn decimal(&self, point: usize) -> Option<(Literal, usize)> {
        let bytes = self.sql.as_bytes();
        let fraction = bytes
            .get(point + 1..)
            .filter(|_| bytes.get(point) == Some(&b'.'))?;
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = point + 1 + digits;
        let goes_on =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || *byte >= 0x80;
        let is_plain = digits > 0 && end - self.at <= DECIMAL_DIGITS_MAX;
        if !is_plain || bytes.get(end).is_some_and(goes_on) {
            return None;
        }
        let whole = &self.sql[self.at..point];
        let unscaled = format!("{whole}{}", &self.sql[point + 1..end]).parse().ok()?;
        let scale = u8::try_from(digits).ok()?;
        Some((Literal::Decimal { unscaled, scale }, end))
    }

    /// A literal behind the name of its type, which ends at `name`.
    fn typed(&mut self, ty: LiteralType, name: usize) -> Option<Option<()>> {
        let rest = &self.sql.as_bytes()[name..];
        let gap = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let start = name + gap;
        if gap == 0 || rest.get(gap) != Some(&b'\'') || !self.is_parameter() || self.before == Before::Sign {
            return None;
        }
        let end = closing_quote(self.sql.as_bytes(), start, b'\'')?;
        let inner = &self.sql[start + 1..end - 1];
        let is_plain = !inner.contains('\'');
        is_plain.then(|| self.parameter(Literal::Typed(ty, inner.to_string()), end))
    }

    fn word(&mut self) -> Option<()> {
        let bytes = self.sql.as_bytes();
        let part =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'$') || **byte >= 0x80;
        let end = self.at + bytes[self.at..].iter().take_while(part).count();
        if bytes.get(end) == Some(&b'\'') {
            // E'', B'', X'', N'' and the like.
            return None;
        }
        let word = &self.sql[self.at..end];
        let is = |keywords: &[&str]| keywords.iter().any(|keyword| word.eq_ignore_ascii_case(keyword));
        if is(&["SELECT"]) {
            self.selects += 1;
        } else if self.selects == 0 {
            return None;
        } else if is(&["WHERE"]) {
            self.in_where = true;
        } else if is(WHERE_ENDS) {
            self.in_where = false;
        }
        if self.selects > 1 {
            return None;
        }
        let ty = match () {
            () if is(&["DATE"]) => Some(LiteralType::Date),
            () if is(&["TIMESTAMP"]) => Some(LiteralType::Timestamp),
            () => None,
        };
        if let Some(done) = ty.and_then(|ty| self.typed(ty, end)) {
            return done;
        }
        let before = match is(OPERAND_FOLLOWS) {
            true => Before::Operand,
            false => Before::Other,
        };
        // The prefix of `starts_with` is a condition's constant as a pattern of LIKE is.
        let names_function = before == Before::Other && !is(&["IN", "starts_with"]);
        self.copy_to(end, before);
        self.names_function = names_function;
        Some(())
    }
}

/// Words that end a WHERE.
const WHERE_ENDS: &[&str] = &[
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "WINDOW",
    "FOR",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "QUALIFY",
];

/// Words behind which a literal is an operand of its own.
const OPERAND_FOLLOWS: &[&str] = &["AND", "OR", "NOT", "WHERE", "BETWEEN", "FROM", "LIKE", "ILIKE"];

/// Returns the end of a quoted token, past its closing quote; doubled quotes are part of it.
fn closing_quote(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += bytes[at..].iter().position(|byte| *byte == quote)? + 1;
        if bytes.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(sql: &str) -> Option<(String, Vec<Literal>)> {
        let mut cut = Cut::default();
        cut.cut(sql).then_some((cut.template, cut.literals))
    }

    fn text(text: &str) -> Literal {
        Literal::Text(text.to_string())
    }

    #[test]
    fn literals_of_a_where_become_parameters() {
        let sql =
            "SELECT a, 1 FROM t WHERE b = 'it''s' AND c IN (1, -2) OR d BETWEEN 3 AND 4 ORDER BY 1 LIMIT 5";
        let template =
            "SELECT a, 1 FROM t WHERE b = $1 AND c IN ($2, $3) OR d BETWEEN $4 AND $5 ORDER BY 1 LIMIT 5";
        let literals = [1, -2, 3, 4].map(Literal::Integer);
        let literals: Vec<_> = [text("it's")].into_iter().chain(literals).collect();
        assert_eq!(cut(sql), Some((template.to_string(), literals)));
    }

    #[test]
    fn hints_comments_and_names_stay() {
        let sql = "select /*+ NO_INDEX */ \"a'1\" from t1 -- '7\nwhere t1.\"b 2\" >= 7";
        let template = "select /*+ NO_INDEX */ \"a'1\" from t1 -- '7\nwhere t1.\"b 2\" >= $1";
        assert_eq!(cut(sql), Some((template.to_string(), vec![Literal::Integer(7)])));
    }

    #[test]
    fn typed_literals_are_cut_and_computed_ones_stay() {
        for (sql, template) in [
            (
                "SELECT a FROM t WHERE d = DATE '2024-01-01' AND b = 1",
                "SELECT a FROM t WHERE d = $1 AND b = $2",
            ),
            (
                "SELECT a FROM t WHERE b = 1.5 AND c = 2e3 AND d = 1.5e3 AND e = 4",
                "SELECT a FROM t WHERE b = $1 AND c = 2e3 AND d = 1.5e3 AND e = $2",
            ),
            (
                "SELECT a FROM t WHERE b < - 0.50 AND c LIKE 'x%' AND d > now() - INTERVAL '1 day'",
                "SELECT a FROM t WHERE b < $1 AND c LIKE $2 AND d > now() - INTERVAL '1 day'",
            ),
            (
                "SELECT a FROM t WHERE date = 1 AND b = x.date AND timestamp '2024-01-01' < c",
                "SELECT a FROM t WHERE date = $1 AND b = x.date AND $2 < c",
            ),
            (
                "SELECT a FROM t WHERE b - 1 = 2",
                "SELECT a FROM t WHERE b - 1 = $1",
            ),
            (
                "SELECT a FROM t WHERE date_trunc('day', (d)) = '2024-01-01' AND starts_with(b, 'x') AND c IN (1)",
                "SELECT a FROM t WHERE date_trunc('day', (d)) = $1 AND starts_with(b, $2) AND c IN ($3)",
            ),
            (
                "SELECT a FROM t WHERE left(b, 2) = 'xy' AND (c, d) > (1, 2)",
                "SELECT a FROM t WHERE left(b, 2) = $1 AND (c, d) > ($2, $3)",
            ),
        ] {
            assert_eq!(cut(sql).map(|(template, _)| template).as_deref(), Some(template));
        }
    }

    #[test]
    fn other_texts_have_no_template() {
        for sql in [
            "SELECT a FROM t",
            "SELECT a FROM t WHERE b = $1",
            "SELECT a FROM t WHERE b = E'x'",
            "SELECT a FROM t WHERE b = $$x$$",
            "SELECT a FROM t WHERE b = (SELECT 1)",
            "WITH s AS (SELECT 1) SELECT a FROM t WHERE b = 1",
            "UPDATE t SET a = 1 WHERE b = 1",
            "SELECT a FROM t WHERE b = 'open",
            "SELECT a FROM t WHERE b = 1; SELECT 2",
            "SELECT /* /* */ */ a FROM t WHERE b = 1",
            "SELECT a FROM t WHERE b = - 'x'",
        ] {
            assert_eq!(cut(sql), None, "{sql}");
        }
    }
}
