//! Parameters written into the text of a statement.

use sqlparser::tokenizer::Token;

use super::number::{is_double, settled};
use super::source::Source;
use crate::StatementError;

/// Returns a statement with a number in the place of parameter `at`, counted from 1; `None` if a DECIMAL holds the number, or it is none.
///
/// A number that no DECIMAL holds has no type of a parameter, and compares exactly as a literal.
pub fn with_wide_number(sql: &str, at: usize, number: &str) -> Result<Option<String>, StatementError> {
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    if !is_number(unsigned) || !settled(unsigned).as_deref().is_some_and(is_double) {
        return Ok(None);
    }
    let source = Source::new(sql);
    let mut text = String::with_capacity(sql.len() + number.len());
    for token in &source.tokens()? {
        let is_it = |name: &str| name.strip_prefix('$').and_then(|n| n.parse().ok()) == Some(at);
        match &token.token {
            Token::Placeholder(name) if is_it(name) => text.push_str(&format!("({number})")),
            _ => text.push_str(source.text(token)),
        }
    }
    Ok(Some(text))
}

/// Whether a text is digits, perhaps with a point and an exponent.
fn is_number(text: &str) -> bool {
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['-', '+']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() && !exponent.is_empty();
    has_digits && are_digits(whole) && are_digits(fraction) && are_digits(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str, at: usize, number: &str) -> Option<String> {
        with_wide_number(sql, at, number).expect("the statement has tokens")
    }

    #[test]
    fn wide_numbers_stand_where_the_parameter_stood() {
        let sql = "SELECT '$1', é /* $1 */ FROM t WHERE a = $1 AND b > $10 -- $1";
        let text = written(sql, 1, "-1e40").expect("no DECIMAL holds it");
        assert_eq!(
            text,
            "SELECT '$1', é /* $1 */ FROM t WHERE a = (-1e40) AND b > $10 -- $1"
        );
    }

    #[test]
    fn nothing_but_wide_numbers_is_written() {
        for number in [
            "1",
            "-2.5",
            "1e3",
            "",
            "-",
            "e50",
            "1e",
            "1e40) OR (1=1",
            "1e40.5",
            "NaN",
            "--1e40",
        ] {
            assert_eq!(written("SELECT $1", 1, number), None, "{number}");
        }
    }
}
