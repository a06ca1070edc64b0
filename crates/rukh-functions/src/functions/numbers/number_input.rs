//! `to_number(text, pattern)`: numbers out of reports, by the patterns of `to_char`.
//!
//! Text and pattern are read side by side. A digit or a point of the pattern takes one of the text, and a sign beside it; what the pattern
//! has as text, a currency or an ending of an ordinal takes as many characters of the text, whatever they are. What is left of the longer
//! of both is not read.
//!
//! Source: PostgreSQL's manual, 9.8, and what PostgreSQL 15 answers in the locale C.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::datatypes::DECIMAL256_MAX_PRECISION;
use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::NUMERIC_HALF;

use crate::functions::common::row_values::Compute;
use crate::functions::numbers::number_text::{Item, Pattern};
use crate::numbers::Number;

pub(crate) const FUNCTION: (&str, Compute) = ("to_number", |values| {
    let text = |at: usize| values.get(at).and_then(ScalarValue::try_as_str).flatten();
    let (Some(text), Some(pattern)) = (text(0), text(1)) else {
        return Err(SqlError::internal("to_number takes two texts"));
    };
    let scale = NUMERIC_HALF as i8;
    let number = read(text, pattern)?
        .map(|number| number.to_i256(scale))
        .transpose()?;
    Ok(ScalarValue::Decimal256(number, DECIMAL256_MAX_PRECISION, scale))
});

/// Reads a number by a pattern; NULL by an empty one.
///
/// # Errors
/// 42601 on parts of a pattern that do not go together, 0A000 on those that are for writing only, 22P02 where there is no digit, 22003 on more
/// digits before the point than the pattern has.
fn read(text: &str, pattern: &str) -> Result<Option<Number>, SqlError> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let pattern = Pattern::read(pattern)?;
    let is_unread = [(pattern.is_roman, "RN"), (pattern.is_scientific, "EEEE")];
    if let Some((_, word)) = is_unread.iter().find(|(is_there, _)| *is_there) {
        let message = format!("\"{word}\" not supported for input");
        return Err(SqlError::unsupported(message));
    }
    let mut reader = Reader {
        pattern: &pattern,
        rest: text,
        sign: None,
        digits: String::new(),
        after: None,
    };
    for item in &pattern.items {
        if reader.rest.is_empty() {
            break;
        }
        reader.item(item);
    }
    reader.number().map(Some)
}

/// A text that is read, and what has been found in it.
struct Reader<'t> {
    pattern: &'t Pattern,
    rest: &'t str,
    sign: Option<char>,
    digits: String,
    /// How many digits stand behind the point, once there was one.
    after: Option<usize>,
}

impl Reader<'_> {
    fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        let mut rest = self.rest.chars();
        rest.next();
        self.rest = rest.as_str();
    }

    /// Skips characters that no number has.
    fn skip_others(&mut self, most: usize) {
        for _ in 0..most {
            match self.next() {
                Some(c) if !"0123456789.,+-".contains(c) => self.skip(),
                _ => break,
            }
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Digit { .. } => self.place(true),
            Item::Point => self.place(false),
            Item::Comma if self.pattern.is_filled => {}
            Item::Comma => {
                if self.next() == Some(',') {
                    self.skip();
                }
            }
            Item::Currency => self.skip_others(1),
            Item::Ordinal { .. } => self.skip_others(2),
            Item::Minus => self.written_sign("-"),
            Item::Plus => self.written_sign("+"),
            Item::Sign => self.written_sign("-+"),
            Item::Roman { .. } => {}
            Item::Text(_) => self.skip(),
        }
    }

    /// Reads a sign where the pattern writes one.
    fn written_sign(&mut self, signs: &str) {
        match self.next() {
            Some(c) if signs.contains(c) => {
                self.sign = Some(c);
                self.skip();
            }
            _ => self.skip_others(1),
        }
    }

    /// Reads what a digit, or the point, of the pattern takes: a sign, and a digit or the point.
    fn place(&mut self, is_digit: bool) {
        if self.next() == Some(' ') {
            self.skip();
        }
        if self.sign.is_none() && is_digit && !self.has_digits() {
            self.sign_before();
        }
        let Some(c) = self.next() else { return };
        let mut is_read = false;
        if c.is_ascii_digit() {
            match &mut self.after {
                Some(after) if *after == self.pattern.after => return self.skip(),
                Some(after) => *after = after.saturating_add(1),
                None => {}
            }
            self.digits.push(c);
            is_read = true;
        } else if c == '.' && self.pattern.has_point && self.after.is_none() {
            self.digits.push('.');
            self.after = Some(0);
            is_read = true;
        }
        if self.sign.is_none() && self.has_digits() {
            self.sign_behind(is_read);
        }
        self.skip();
    }

    fn has_digits(&self) -> bool {
        self.digits.contains(|c: char| c.is_ascii_digit())
    }

    fn sign_before(&mut self) {
        self.sign = match self.next() {
            Some(c @ ('-' | '+')) => Some(c),
            Some('<') if self.pattern.has_brackets => Some('-'),
            _ => return,
        };
        self.skip();
    }

    /// Reads the sign behind the last digit: that of `S`, or one whose place the pattern does not say exactly.
    fn sign_behind(&mut self, is_read: bool) {
        let mut ahead = self.rest.chars();
        match (self.pattern.anchor, is_read) {
            (Some(_), true) => {
                ahead.next();
                if let Some(c @ ('-' | '+')) = ahead.clone().next() {
                    self.sign = Some(c);
                    self.skip();
                }
            }
            (None, false) if self.pattern.has_plus || self.pattern.has_minus => {
                if let Some(c @ ('-' | '+')) = ahead.next() {
                    self.sign = Some(c);
                }
            }
            _ => {}
        }
    }

    fn number(&self) -> Result<Number, SqlError> {
        let sign = self.sign.map_or(" ".to_string(), |sign| sign.to_string());
        let digits = self.digits.trim_end_matches('.');
        let wrong = || {
            let message = format!("invalid input syntax for type numeric: \"{sign}{digits}\"");
            SqlError::statement("22P02", message)
        };
        let whole = digits
            .split('.')
            .next()
            .unwrap_or_default()
            .trim_start_matches('0');
        if whole.len() > self.pattern.before.saturating_add(self.pattern.scaled) {
            return Err(SqlError::statement("22003", "numeric field overflow"));
        }
        let unscaled = digits.replace('.', "").parse().map_err(|_| wrong())?;
        let after = self.after.unwrap_or(0);
        let after = after.saturating_add(self.pattern.scaled);
        let number = Number::new(unscaled, i64::try_from(after).unwrap_or(i64::MAX));
        Ok(match self.sign {
            Some('-') => number.negated(),
            _ => number,
        })
    }
}
