//! Sums of moments: a timestamp and an interval, a date and days. Months are added first, to the last day of a shorter month, then days, then
//! time. Infinities stay what they are, and what leaves the calendar is 22008.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, Int32Array, TimestampMicrosecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Int32Type, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::logical_expr::Operator;
use rukh_error::SqlError;
use rukh_keys::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DAY_MICROS, DataType, Interval, TIMESTAMP_MAX,
    TIMESTAMP_MIN, ValueError, civil_from_days, days_from_civil, days_in_month, is_infinite_timestamp,
};

use crate::forms::intervals::interval_of;

/// Whether an operator moves a timestamp by an interval.
pub fn is_moment_sum(op: Operator, left: &ArrowType, right: &ArrowType) -> bool {
    let is_interval = |ty: &ArrowType| matches!(ty, ArrowType::Interval(_));
    match op {
        Operator::Plus => is_moment(left) && is_interval(right) || is_interval(left) && is_moment(right),
        Operator::Minus => is_moment(left) && is_interval(right),
        _ => false,
    }
}

/// Whether days are added to a date, taken from one, or counted between two.
pub fn is_day_sum(op: Operator, left: &ArrowType, right: &ArrowType) -> bool {
    match op {
        Operator::Plus => is_date(left) && right.is_integer() || left.is_integer() && is_date(right),
        Operator::Minus => is_date(left) && (right.is_integer() || is_date(right)),
        _ => false,
    }
}

pub(crate) fn is_date(ty: &ArrowType) -> bool {
    *ty == ArrowType::Date32
}

/// Whether a type is TIMESTAMP or TIMESTAMPTZ.
pub(crate) fn is_moment(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Timestamp(TimeUnit::Microsecond, _))
}

/// Moves timestamps by intervals.
///
/// # Errors
/// 22008 where a moment is out of the calendar.
pub(crate) fn moved(op: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let (moments, intervals) = match is_moment(left.get().0.data_type()) {
        true => (left.get(), right.get()),
        false => (right.get(), left.get()),
    };
    let rows = rows_of(moments, intervals);
    let (micros, spans) = (
        moments.0.as_primitive::<TimestampMicrosecondType>(),
        intervals.0.as_primitive::<IntervalMonthDayNanoType>(),
    );
    let sum = |row: usize| -> Result<Option<i64>, ArrowError> {
        let (at, span_at) = (place(row, moments.1), place(row, intervals.1));
        if micros.is_null(at) || spans.is_null(span_at) {
            return Ok(None);
        }
        let by = interval_of(spans.value(span_at));
        let by = if op == Operator::Minus {
            negated(by)
        } else {
            Some(by)
        };
        match by.and_then(|by| moment_after(micros.value(at), by)) {
            Some(moment) => Ok(Some(moment)),
            None => Err(out_of_range(DataType::TIMESTAMP)),
        }
    };
    let sums = (0..rows)
        .map(sum)
        .collect::<Result<TimestampMicrosecondArray, _>>()?;
    Ok(Arc::new(sums.with_data_type(moments.0.data_type().clone())))
}

/// Computes with days: of a date and an integer, or of two dates.
///
/// # Errors
/// 22008 where a date is out of the calendar, or one of two is infinite.
pub(crate) fn days(op: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let sides = [left.get(), right.get()];
    let are_dates = sides.map(|(array, _)| is_date(array.data_type()));
    let numbers = sides.map(|(array, _)| cast(array, &ArrowType::Int32));
    let [lefts, rights] = numbers;
    let (lefts, rights) = (lefts?, rights?);
    let (lefts, rights) = (
        lefts.as_primitive::<Int32Type>(),
        rights.as_primitive::<Int32Type>(),
    );
    let is_infinite = |days: i32| days == DATE_INFINITY || days == DATE_MINUS_INFINITY;
    let count = |row: usize| -> Result<Option<i32>, ArrowError> {
        let (at, other) = (place(row, sides[0].1), place(row, sides[1].1));
        if lefts.is_null(at) || rights.is_null(other) {
            return Ok(None);
        }
        let (left, right) = (lefts.value(at), rights.value(other));
        let counted = match are_dates {
            [true, true] if is_infinite(left) || is_infinite(right) => {
                let error = SqlError::statement("22008", "cannot subtract infinite dates");
                return Err(ArrowError::ExternalError(Box::new(error)));
            }
            [true, true] => left.checked_sub(right),
            [true, false] if is_infinite(left) => Some(left),
            [false, true] if is_infinite(right) => Some(right),
            _ => {
                let day = match op {
                    Operator::Plus => left.checked_add(right),
                    _ => left.checked_sub(right),
                };
                day.filter(|day| (DATE_MIN..=DATE_MAX).contains(day))
            }
        };
        match counted {
            Some(counted) => Ok(Some(counted)),
            None => Err(out_of_range(DataType::Date)),
        }
    };
    let counted = (0..rows_of(sides[0], sides[1])).map(count);
    let counted: ArrayRef = Arc::new(counted.collect::<Result<Int32Array, _>>()?);
    match are_dates {
        [true, true] => Ok(counted),
        _ => cast(&counted, &ArrowType::Date32),
    }
}

fn rows_of(left: (&dyn Array, bool), right: (&dyn Array, bool)) -> usize {
    match (left.1, right.1) {
        (true, true) => 1,
        (true, false) => right.0.len(),
        _ => left.0.len(),
    }
}

/// The place of a row's value in an array, or in one that has one value for all rows.
fn place(row: usize, is_one: bool) -> usize {
    if is_one { 0 } else { row }
}

fn out_of_range(ty: DataType) -> ArrowError {
    ArrowError::ExternalError(Box::new(SqlError::from(ValueError::MomentOutOfRange { ty })))
}

fn negated(by: Interval) -> Option<Interval> {
    Some(Interval {
        months: by.months.checked_neg()?,
        days: by.days.checked_neg()?,
        micros: by.micros.checked_neg()?,
    })
}

/// Returns the moment that lies an interval after another one, in microseconds; `None` if it is out of the calendar.
pub(crate) fn moment_after(micros: i64, by: Interval) -> Option<i64> {
    if is_infinite_timestamp(micros) {
        return Some(micros);
    }
    let (mut days, time) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    if by.months != 0 {
        let (year, month, day) = civil_from_days(days);
        let months = year.checked_mul(12)?.checked_add(i64::from(month))?;
        let months = months.checked_add(i64::from(by.months))?.checked_sub(1)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12).checked_add(1)?);
        let month = u32::try_from(month).ok()?;
        days = days_from_civil(year, month, day.min(days_in_month(year, month)));
    }
    let days = days.checked_add(i64::from(by.days))?;
    let moment = days
        .checked_mul(DAY_MICROS)?
        .checked_add(time)?
        .checked_add(by.micros)?;
    (TIMESTAMP_MIN..=TIMESTAMP_MAX)
        .contains(&moment)
        .then_some(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_end_with_their_last_day() {
        let after = |text: &str, by: &str| {
            let (ty, Some(by)) = (DataType::TIMESTAMP, Interval::read(by)) else {
                return None;
            };
            let Ok(rukh_keys::Datum::Timestamp(micros)) = ty.parse_text(text) else {
                return None;
            };
            moment_after(micros, by).map(|moment| ty.format_text(&rukh_keys::Datum::Timestamp(moment)))
        };
        let cases = [
            ("2024-01-31 10:00", "1 mon", "2024-02-29 10:00:00"),
            ("2024-01-31 10:00", "1 mon 1 day -11:00", "2024-02-29 23:00:00"),
            ("2024-02-29", "-1 year", "2023-02-28 00:00:00"),
            ("0001-01-01", "-1 mon", "0001-12-01 00:00:00 BC"),
            ("infinity", "-1 mon", "infinity"),
            ("-infinity", "1 day", "-infinity"),
        ];
        for (text, by, expected) in cases {
            assert_eq!(after(text, by).as_deref(), Some(expected), "{text} {by}");
        }
        assert_eq!(after("294246-12-31", "1 day"), None);
        assert_eq!(after("4714-11-24 BC", "-00:00:01"), None);
    }
}
