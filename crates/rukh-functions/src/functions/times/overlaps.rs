//! `(start, end) OVERLAPS (start, end)`: whether two spans of time have a moment in common. The second of a pair may be an interval from the
//! first on.
//!
//! A span is from the earlier of its ends up to, and without, the later one; one whose ends are equal is that moment. With NULL for an end it
//! is known from the other end on, so that the answer may be true, and otherwise NULL.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::DAY_MICROS;

use crate::forms::intervals::interval_of;
use crate::functions::common::row_values::Compute;
use crate::functions::times::moment_sum::moment_after;

pub(crate) const FUNCTION: (&str, Compute) = ("overlaps", |values| {
    let [from, to, other_from, other_to] = values else {
        return Err(SqlError::internal("overlaps takes four values"));
    };
    let (one, other) = (span(from, to)?, span(other_from, other_to)?);
    let overlap = one.zip(other).and_then(|(one, other)| overlap(one, other));
    Ok(ScalarValue::Boolean(overlap))
});

/// The earlier end of a span, and the later one if it is known.
type Span = (i64, Option<i64>);

/// Returns a span of two moments, or of a moment and an interval; `None` where no end is known.
fn span(from: &ScalarValue, to: &ScalarValue) -> Result<Option<Span>, SqlError> {
    let start = micros(from)?;
    let end = match (to, start) {
        (ScalarValue::IntervalMonthDayNano(Some(by)), Some(start)) => {
            Some(moved(from, start, interval_of(*by))?)
        }
        (ScalarValue::IntervalMonthDayNano(_), _) => None,
        _ => micros(to)?,
    };
    Ok(match (start, end) {
        (Some(start), Some(end)) => Some((start.min(end), Some(start.max(end)))),
        (start, end) => start.or(end).map(|known| (known, None)),
    })
}

fn micros(value: &ScalarValue) -> Result<Option<i64>, SqlError> {
    match value {
        ScalarValue::TimestampMicrosecond(micros, _) | ScalarValue::Time64Microsecond(micros) => Ok(*micros),
        other => Err(SqlError::internal(format!("{other:?} is no moment"))),
    }
}

/// Returns a moment, or a time of day, that lies an interval behind another one.
fn moved(of: &ScalarValue, micros: i64, by: rukh_keys::Interval) -> Result<i64, SqlError> {
    match of {
        ScalarValue::Time64Microsecond(_) => Ok(micros
            .wrapping_add(by.micros.rem_euclid(DAY_MICROS))
            .rem_euclid(DAY_MICROS)),
        _ => moment_after(micros, by).ok_or_else(|| SqlError::statement("22008", "timestamp out of range")),
    }
}

fn overlap(one: Span, other: Span) -> Option<bool> {
    let (first, second) = if one.0 <= other.0 {
        (one, other)
    } else {
        (other, one)
    };
    if first.0 == second.0 {
        return (first.1.is_some() && second.1.is_some()).then_some(true);
    }
    match first.1? {
        end if second.0 < end => Some(true),
        _ => second.1.map(|_| false),
    }
}
