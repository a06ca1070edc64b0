//! Intervals in Arrow, and their order.
//!
//! PostgreSQL compares intervals by one number: a month counts as 30 days and a day as 24 hours (`interval_cmp_value`).
//! `1 mon`, `30 days` and `720:00:00` are equal. Arrow compares months first, then days, then time.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, DurationNanosecondType, IntervalMonthDayNano, IntervalUnit, TimeUnit,
};
use datafusion::error::DataFusionError;
use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, Interval};

/// The type of intervals: months, days, nanoseconds.
pub const INTERVAL: ArrowType = ArrowType::Interval(IntervalUnit::MonthDayNano);

const MONTH_DAYS: i128 = 30;

/// Nanoseconds of a day of 24 hours.
const DAY_NANOS: i128 = DAY_MICROS as i128 * 1_000;

/// Returns the number by which intervals compare: nanoseconds, a month being 30 days of 24 hours.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "128 bits hold 2^31 months, 2^31 days and 2^63 nanoseconds in nanoseconds"
)]
pub fn order_of(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * MONTH_DAYS + i128::from(interval.days);
    days * DAY_NANOS + i128::from(interval.nanoseconds)
}

/// Returns an interval as Arrow has it. Fails with 22008 if its time exceeds 64 bits of nanoseconds, 292 years.
pub fn arrow_of(interval: Interval) -> Result<IntervalMonthDayNano, DataFusionError> {
    let Interval { months, days, micros } = interval;
    match micros.checked_mul(1_000) {
        Some(nanoseconds) => Ok(IntervalMonthDayNano {
            months,
            days,
            nanoseconds,
        }),
        None => Err(out_of_range()),
    }
}

/// Returns an interval of Arrow; less than a microsecond is cut off.
pub fn interval_of(interval: IntervalMonthDayNano) -> Interval {
    Interval {
        months: interval.months,
        days: interval.days,
        micros: interval.nanoseconds / 1_000,
    }
}

/// Returns spans between two moments as intervals of days and time.
pub fn of_durations(spans: &ArrayRef) -> Result<ArrayRef, DataFusionError> {
    let spans = cast(spans, &ArrowType::Duration(TimeUnit::Nanosecond)).map_err(|_| out_of_range())?;
    const DAY: i64 = DAY_MICROS * 1_000;
    let interval = |nanos: i64| IntervalMonthDayNano {
        months: 0,
        days: i32::try_from(nanos / DAY).unwrap_or(i32::MAX),
        nanoseconds: nanos % DAY,
    };
    let spans = spans.as_primitive::<DurationNanosecondType>();
    let intervals = spans.iter().map(|span| span.map(interval));
    Ok(Arc::new(intervals.collect::<IntervalMonthDayNanoArray>()))
}

/// The error of an interval that PostgreSQL or Arrow cannot hold.
pub fn out_of_range() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::statement("22008", "interval out of range")))
}
