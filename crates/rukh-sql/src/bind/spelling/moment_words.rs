//! Words for moments: `'today'::date`, `ts >= 'yesterday'`, `'tomorrow 10:00'`, `'now'`.
//!
//! | word                              | moment                                                      |
//! |-----------------------------------|-------------------------------------------------------------|
//! | `now`                             | when the transaction began                                  |
//! | `today`, `tomorrow`, `yesterday`  | midnight of that day, or the time of day that follows        |
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
use rukh_keys::{DataType, RelativeMoment, Zone};
use rukh_syntax::sqlparser::ast;

use rukh_functions::functions::times::clock::now;
use rukh_functions::types::arrow_type;

/// Whether a text may be read as a moment that depends on when it is read.
pub(crate) fn depends_on_now(text: &str) -> bool {
    RelativeMoment::of_text(text).is_some()
}

/// Returns what a literal means that is read as a type, if it is one of the words.
pub(crate) fn moment_of(text: &str, ty: &DataType) -> Option<Expr> {
    let is_moment = matches!(
        ty,
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
    );
    let expr = match RelativeMoment::of_text(text)? {
        RelativeMoment::Now if is_moment || matches!(ty, DataType::Time { .. }) => now(),
        RelativeMoment::Day {
            from_today,
            time,
            zone,
        } if is_moment => {
            let offset = match (zone, ty) {
                (Some(Zone::Fixed(offset)), DataType::TimestampTz { .. }) => offset,
                // Its offset depends on the day.
                (Some(Zone::Named(_)), DataType::TimestampTz { .. }) => return None,
                _ => 0,
            };
            day(i32::try_from(from_today).ok()?, time.saturating_sub(offset))
        }
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
