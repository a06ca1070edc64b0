//! SIMILAR TO: SQL's regular expressions, by way of the usual ones.
//!
//! `a SIMILAR TO p ESCAPE e` is `a ~ similar_to_escape(p, e)`, as in PostgreSQL: the function makes a regular
//! expression of the pattern, which DataFusion computes once where it is a constant.
//!
//! | pattern     | regular expression      | because                                    |
//! |-------------|-------------------------|--------------------------------------------|
//! | `ab%`       | `(?s-x)^(?:ab.*)$`        | the whole text must match                  |
//! | `a_.c`      | `(?s-x)^(?:a.\.c)$`       | a point is a point                         |
//! | `(a\|b)+`   | `(?s-x)^(?:(?:a\|b)+)$`   | groups, alternatives and repeats stay      |
//! | `[a-c^]\%`  | `(?s-x)^(?:[a-c\^]\%)$`   | so do classes; the escape takes a meaning  |
//!
//! `a LIKE p ESCAPE e` is `a LIKE like_escape(p, e)`, as in PostgreSQL: the function makes a pattern whose escape is the
//! backslash. `'__e__r' ESCAPE '_'` is `'\_e\_r'`.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::scalar::ScalarValue;

use rukh_error::SqlError;

/// What every regular expression made of a pattern begins with.
pub const OPENING: &str = "(?s-x)^(?:";

/// What every regular expression made of a pattern ends with.
pub const CLOSING: &str = ")$";

/// Name of the function.
pub const SIMILAR_TO_ESCAPE: &str = "similar_to_escape";

/// Name of the function that spells a pattern of LIKE.
pub const LIKE_ESCAPE: &str = "like_escape";

/// Returns `similar_to_escape(pattern [, escape])` and `like_escape(pattern, escape)`.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    [Pattern::SimilarTo, Pattern::Like].map(|pattern| Arc::new(spelling(pattern)))
}

/// Which pattern is respelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    SimilarTo,
    Like,
}

impl Pattern {
    fn spell(self, pattern: &str, escape: &str) -> Result<String, SqlError> {
        match self {
            Pattern::SimilarTo => regular_expression(pattern, escape),
            Pattern::Like => like_escape(pattern, escape),
        }
    }
}

fn spelling(pattern: Pattern) -> ScalarUDF {
    let text = || ArrowType::Utf8;
    let signatures = vec![
        TypeSignature::Exact(vec![text()]),
        TypeSignature::Exact(vec![text(), text()]),
    ];
    ScalarUDF::from(Spelling {
        pattern,
        signature: Signature::one_of(signatures, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Spelling {
    pattern: Pattern,
    signature: Signature,
}

impl ScalarUDFImpl for Spelling {
    fn name(&self) -> &str {
        match self.pattern {
            Pattern::SimilarTo => SIMILAR_TO_ESCAPE,
            Pattern::Like => LIKE_ESCAPE,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let all_scalar = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let patterns = arrays.first().ok_or_else(|| internal("a pattern is missing"))?;
        let escapes = arrays.get(1).map(|escapes| escapes.as_string::<i32>());
        let patterns = patterns.as_string::<i32>();
        let row = |at: usize| {
            let escape = match escapes {
                None => "\\",
                Some(escapes) if escapes.is_null(at) => return Ok(None),
                Some(escapes) => escapes.value(at),
            };
            let pattern = (!patterns.is_null(at)).then(|| patterns.value(at));
            let made = pattern.map(|pattern| self.pattern.spell(pattern, escape));
            made.transpose()
                .map_err(|error| DataFusionError::External(Box::new(error)))
        };
        let made = (0..patterns.len())
            .map(row)
            .collect::<DataFusionResult<StringArray>>()?;
        let made: ArrayRef = Arc::new(made);
        Ok(match all_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

fn internal(message: &str) -> DataFusionError {
    DataFusionError::Internal(message.to_string())
}

/// Returns the only character of an escape, or that there is none; fails with 22025 on more.
fn escape_character(escape: &str) -> Result<Option<char>, SqlError> {
    let mut characters = escape.chars();
    let first = characters.next();
    match characters.next() {
        None => Ok(first),
        Some(_) => Err(SqlError::statement("22025", "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// Returns a pattern of LIKE whose escape is the backslash, for one whose escape is another character, or none.
///
/// Source: `like_escape` of PostgreSQL, by its manual.
pub fn like_escape(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let escape = escape_character(escape)?;
    if escape == Some('\\') {
        return Ok(pattern.to_string());
    }
    let mut made = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for c in pattern.chars() {
        if Some(c) == escape && !is_escaped {
            made.push('\\');
            is_escaped = true;
            continue;
        }
        if c == '\\' && !is_escaped {
            made.push('\\');
        }
        made.push(c);
        is_escaped = false;
    }
    match is_escaped {
        true => Err(ends_with_escape()),
        false => Ok(made),
    }
}

fn ends_with_escape() -> SqlError {
    SqlError::statement("22025", "LIKE pattern must not end with escape character")
}

/// Returns the regular expression that matches what a pattern of SIMILAR TO does.
fn regular_expression(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let escape = escape_character(escape)?;
    let mut made = String::from(OPENING);
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            c if Some(c) == escape => match rest.next() {
                Some(next) => push_escaped(next, &mut made),
                None => return Err(ends_with_escape()),
            },
            '[' if in_class && rest.peek() == Some(&':') => {
                made.push('[');
                for c in rest.by_ref() {
                    made.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            ']' if in_class => {
                in_class = false;
                made.push(']');
            }
            c if in_class => push_literal(c, &mut made),
            '[' => {
                in_class = true;
                made.push('[');
                made.extend(rest.next_if_eq(&'^'));
                if rest.next_if_eq(&']').is_some() {
                    made.push_str("\\]");
                }
            }
            '%' => made.push_str(".*"),
            '_' => made.push('.'),
            '(' => made.push_str("(?:"),
            ')' | '|' | '*' | '+' | '?' | '{' | '}' => made.push(c),
            c => push_literal(c, &mut made),
        }
    }
    made.push_str(CLOSING);
    Ok(made)
}

/// A character that has no meaning of its own; `-` between two others of a class keeps its own.
fn push_literal(c: char, made: &mut String) {
    if matches!(c, '\\' | '.' | '^' | '$' | '[' | '&' | '~' | '#') {
        made.push('\\');
    }
    made.push(c);
}

/// A character behind the escape: punctuation for itself, letters for the classes that they name.
fn push_escaped(c: char, made: &mut String) {
    if c.is_ascii_punctuation() || c.is_ascii_alphanumeric() {
        made.push('\\');
    }
    made.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_like_get_the_backslash_as_escape() {
        for (pattern, escape, expected) in [
            ("__e__r", "_", "\\_e\\_r"),
            ("%%a%_", "%", "\\%a\\_"),
            ("a##b#%", "#", "a\\#b\\%"),
            ("a\\_", "#", "a\\\\_"),
            ("a#\\", "#", "a\\\\"),
            ("a\\%", "", "a\\\\%"),
            ("a\\%", "\\", "a\\%"),
            ("é日é%", "é", "\\日\\%"),
        ] {
            assert_eq!(
                like_escape(pattern, escape).ok().as_deref(),
                Some(expected),
                "{pattern}"
            );
        }
        assert_eq!(like_escape("a", "ab").unwrap_err().sqlstate, "22025");
        assert_eq!(like_escape("a#", "#").unwrap_err().sqlstate, "22025");
    }

    #[test]
    fn patterns_become_regular_expressions() {
        for (pattern, expected) in [
            ("ab%", "(?s-x)^(?:ab.*)$"),
            ("a_.c", "(?s-x)^(?:a.\\.c)$"),
            ("(a|b)+", "(?s-x)^(?:(?:a|b)+)$"),
            ("[a-c^]\\%", "(?s-x)^(?:[a-c\\^]\\%)$"),
            ("[]x]{2}", "(?s-x)^(?:[\\]x]{2})$"),
            ("[[:digit:]]", "(?s-x)^(?:[[:digit:]])$"),
        ] {
            assert_eq!(regular_expression(pattern, "\\").ok().as_deref(), Some(expected));
        }
        assert_eq!(
            regular_expression("a#%", "#").ok().as_deref(),
            Some("(?s-x)^(?:a\\%)$")
        );
        assert!(regular_expression("a", "##").is_err());
        assert!(regular_expression("a\\", "\\").is_err());
    }
}
