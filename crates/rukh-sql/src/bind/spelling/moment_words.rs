//! Words for moments: `'today'::date`, `ts >= 'yesterday'`, `'tomorrow 10:00'`, `'now'`, `'epoch'`.
//!
//! | word                              | moment                                                      |
//! |-----------------------------------|-------------------------------------------------------------|
//! | `now`                             | when the transaction began                                  |
//! | `today`, `tomorrow`, `yesterday`  | midnight of that day, or the time of day that follows        |
//! | `epoch`                           | 1970-01-01                                                   |
//!
//! They are words in a literal that is read as DATE, TIMESTAMP or TIMESTAMP WITH TIME ZONE, and `now` as TIME. What
//! they become is an expression of the clock that the optimiser computes, as it does for `now()`.
//!
//! Deliberately not here: texts that are no literals, in columns or files, which have no moment of their own.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::datatypes::{IntervalMonthDayNano, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::functions::datetime::current_date;
use datafusion::logical_expr::{Expr, cast};
use rukh_keys::{DataType, Datum};
use rukh_syntax::sqlparser::ast;

use rukh_functions::functions::times::clock::now;
use rukh_functions::types::arrow_type;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Now,
    /// So many days from today on, and microseconds of that day.
    Day {
        from_today: i32,
        micros: i64,
    },
    Epoch,
}

fn word_of(text: &str) -> Option<Word> {
    let text = text.trim().to_ascii_lowercase();
    let (word, rest) = match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text.as_str(), ""),
    };
    let day = |from_today| {
        let micros = match rest {
            "" => 0,
            time => match (DataType::Time { precision: 6 }).parse_text(time) {
                Ok(Datum::Time(micros)) => micros,
                _ => return None,
            },
        };
        Some(Word::Day { from_today, micros })
    };
    match word {
        "today" => day(0),
        "tomorrow" => day(1),
        "yesterday" => day(-1),
        "now" if rest.is_empty() => Some(Word::Now),
        "epoch" if rest.is_empty() => Some(Word::Epoch),
        _ => None,
    }
}

/// Whether a text may be read as a moment that depends on when it is read.
pub(crate) fn depends_on_now(text: &str) -> bool {
    matches!(word_of(text), Some(Word::Now | Word::Day { .. }))
}

/// Returns what a literal means that is read as a type, if it is one of the words.
pub(crate) fn moment_of(text: &str, ty: &DataType) -> Option<Expr> {
    let is_moment = matches!(
        ty,
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
    );
    let expr = match word_of(text)? {
        Word::Now if is_moment || matches!(ty, DataType::Time { .. }) => now(),
        Word::Day { from_today, micros } if is_moment => day(from_today, micros),
        Word::Epoch if is_moment => Expr::Literal(ScalarValue::TimestampMicrosecond(Some(0), None), None),
        _ => return None,
    };
    Some(cast(expr, arrow_type(ty)))
}

/// Returns a literal of one of the words, cast to the type of the column that takes it; `None` of others.
pub(crate) fn moment_cast(expr: &ast::Expr, ty: &DataType) -> Option<ast::Expr> {
    let text = match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text,
            _ => return None,
        },
        _ => return None,
    };
    let to = match ty {
        DataType::Date => ast::DataType::Date,
        DataType::Timestamp { .. } => ast::DataType::Timestamp(None, ast::TimezoneInfo::None),
        DataType::TimestampTz { .. } => ast::DataType::Timestamp(None, ast::TimezoneInfo::WithTimeZone),
        DataType::Time { .. } => ast::DataType::Time(None, ast::TimezoneInfo::None),
        _ => return None,
    };
    moment_of(text, ty)?;
    Some(ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(expr.clone()),
        data_type: to,
        array: false,
        format: None,
    })
}

/// A time of a day around today.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "an expression, which is computed later"
)]
fn day(from_today: i32, micros: i64) -> Expr {
    let midnight = cast(
        current_date().call(Vec::new()),
        datafusion::arrow::datatypes::DataType::Timestamp(TimeUnit::Microsecond, None),
    );
    let after = IntervalMonthDayNano::new(0, from_today, micros.saturating_mul(1_000));
    midnight + Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(after)), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_alone_or_before_a_time() {
        let day = |from_today, micros| Some(Word::Day { from_today, micros });
        assert_eq!(word_of(" Today "), day(0, 0));
        assert_eq!(word_of("tomorrow 10:00"), day(1, 36_000_000_000));
        assert_eq!(word_of("YESTERDAY"), day(-1, 0));
        assert_eq!(word_of("epoch"), Some(Word::Epoch));
        assert_eq!(word_of("now"), Some(Word::Now));
        for text in ["", "nowadays", "now 10:00", "today at ten", "2020-01-01"] {
            assert_eq!(word_of(text), None, "{text}");
        }
    }
}
