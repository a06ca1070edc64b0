//! `age` and `justify_days`, `justify_hours`, `justify_interval`, as PostgreSQL has them; DataFusion has none of them.
//!
//! | call                                             | gives                        |
//! |--------------------------------------------------|------------------------------|
//! | `age('2001-04-10', '1957-06-13')`                | `43 years 9 mons 27 days`    |
//! | `age(x)`                                         | `age(current_date, x)`       |
//! | `justify_days('35 days')`                        | `1 mon 5 days`               |
//! | `justify_hours('27 hours')`                      | `1 day 03:00:00`             |
//! | `justify_interval('1 mon -1 hour')`              | `29 days 23:00:00`           |
//!
//! An age has fields of the calendar: what is negative borrows of the field before, a day of the month of the earlier time
//! (`timestamp_age` of PostgreSQL).

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, IntervalMonthDayNano, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::{DAY_MICROS, civil_from_days, days_in_month, is_infinite_timestamp};

use crate::forms::intervals::{INTERVAL, arrow_of, interval_of, out_of_range};
use crate::functions::times::time_difference::no_difference;
use rukh_keys::Interval;

/// Name of the function of two times.
pub const AGE: &str = "age";

const TIMESTAMP: ArrowType = ArrowType::Timestamp(TimeUnit::Microsecond, None);
const MONTH_DAYS: i32 = 30;

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    [Kind::Age, Kind::Days, Kind::Hours, Kind::Interval]
        .into_iter()
        .map(|kind| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::from(Function { kind, signature }))
        })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Age,
    Days,
    Hours,
    Interval,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Age => AGE,
            Kind::Days => "justify_days",
            Kind::Hours => "justify_hours",
            Kind::Interval => "justify_interval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let is_time = |ty: &ArrowType| {
            use ArrowType::{Date32, Null, Timestamp, Utf8};
            matches!(ty, Date32 | Null | Timestamp(..) | Utf8)
        };
        let is_interval = |ty: &ArrowType| {
            use ArrowType::{Duration, Interval, Null, Utf8};
            matches!(ty, Interval(_) | Duration(_) | Null | Utf8)
        };
        match (self.kind, types) {
            (Kind::Age, [one, other]) if is_time(one) && is_time(other) => Ok(vec![TIMESTAMP, TIMESTAMP]),
            (Kind::Days | Kind::Hours | Kind::Interval, [one]) if is_interval(one) => Ok(vec![INTERVAL]),
            _ => plan_err!("no function matches the given name and argument types"),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let made: IntervalMonthDayNanoArray = match arrays.as_slice() {
            [later, earlier] => {
                let (later, earlier) = (cast(later, &TIMESTAMP)?, cast(earlier, &TIMESTAMP)?);
                let earlier = earlier.as_primitive::<TimestampMicrosecondType>().iter();
                let pairs = later
                    .as_primitive::<TimestampMicrosecondType>()
                    .iter()
                    .zip(earlier);
                let ages = pairs.map(|(later, earlier)| match (later, earlier) {
                    (Some(later), Some(earlier))
                        if is_infinite_timestamp(later) || is_infinite_timestamp(earlier) =>
                    {
                        Err(DataFusionError::External(Box::new(no_difference())))
                    }
                    (Some(later), Some(earlier)) => arrow(age(later, earlier)).map(Some),
                    _ => Ok(None),
                });
                ages.collect::<DataFusionResult<_>>()?
            }
            [intervals] => {
                let intervals = cast(intervals, &INTERVAL)?;
                let all = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
                let justified = all.map(|interval| match interval {
                    Some(interval) => arrow(self.justified(interval)).map(Some),
                    None => Ok(None),
                });
                justified.collect::<DataFusionResult<_>>()?
            }
            _ => return plan_err!("{} takes one interval, or two times", self.name()),
        };
        let made: ArrayRef = Arc::new(made);
        Ok(match one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

impl Function {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "years are those of timestamps, and a sign says which way days and months are carried"
    )]
    fn justified(&self, interval: IntervalMonthDayNano) -> Option<Interval> {
        let mut interval = interval_of(interval);
        match self.kind {
            Kind::Hours => {
                carry_days(&mut interval)?;
                level_time(&mut interval);
            }
            Kind::Days => {
                carry_months(&mut interval)?;
                if interval.months > 0 && interval.days < 0 {
                    (interval.days, interval.months) = (interval.days + MONTH_DAYS, interval.months - 1);
                } else if interval.months < 0 && interval.days > 0 {
                    (interval.days, interval.months) = (interval.days - MONTH_DAYS, interval.months + 1);
                }
            }
            Kind::Interval => {
                if interval.days.signum() == interval.micros.signum() as i32 {
                    carry_months(&mut interval)?;
                }
                carry_days(&mut interval)?;
                carry_months(&mut interval)?;
                // The sign of what comes after the months: of the days, or of the time if there are none.
                let rest = match interval.days {
                    0 => interval.micros.signum(),
                    days => i64::from(days.signum()),
                };
                if interval.months > 0 && rest < 0 {
                    (interval.days, interval.months) = (interval.days + MONTH_DAYS, interval.months - 1);
                } else if interval.months < 0 && rest > 0 {
                    (interval.days, interval.months) = (interval.days - MONTH_DAYS, interval.months + 1);
                }
                level_time(&mut interval);
            }
            Kind::Age => {}
        }
        Some(interval)
    }
}

/// Makes days of whole days of time; `None` if there are too many.
fn carry_days(interval: &mut Interval) -> Option<()> {
    let whole = i32::try_from(interval.micros / DAY_MICROS).ok()?;
    interval.micros %= DAY_MICROS;
    interval.days = interval.days.checked_add(whole)?;
    Some(())
}

/// Makes months of 30 days each; `None` if there are too many.
fn carry_months(interval: &mut Interval) -> Option<()> {
    let whole = interval.days / MONTH_DAYS;
    interval.days %= MONTH_DAYS;
    interval.months = interval.months.checked_add(whole)?;
    Some(())
}

/// Gives days and time one sign.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "years are those of timestamps, and a sign says which way days and months are carried"
)]
fn level_time(interval: &mut Interval) {
    if interval.days > 0 && interval.micros < 0 {
        (interval.micros, interval.days) = (interval.micros + DAY_MICROS, interval.days - 1);
    } else if interval.days < 0 && interval.micros > 0 {
        (interval.micros, interval.days) = (interval.micros - DAY_MICROS, interval.days + 1);
    }
}

/// Returns how much later one time is than another, in fields of the calendar; `None` if that is out of range.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "years are those of timestamps, and a sign says which way days and months are carried"
)]
fn age(later: i64, earlier: i64) -> Option<Interval> {
    let backwards = later < earlier;
    let (from, to) = if backwards {
        (later, earlier)
    } else {
        (earlier, later)
    };
    let fields = |micros: i64| {
        let (year, month, day) = civil_from_days(micros.div_euclid(DAY_MICROS));
        (
            year,
            i64::from(month),
            i64::from(day),
            micros.rem_euclid(DAY_MICROS),
        )
    };
    let ((year, month, day, time), (to_year, to_month, to_day, to_time)) = (fields(from), fields(to));
    let mut months = (to_year - year) * 12 + to_month - month;
    let mut days = to_day - day;
    let mut micros = to_time - time;
    if micros < 0 {
        (micros, days) = (micros + DAY_MICROS, days - 1);
    }
    if days < 0 {
        // A month ago, as long as the month of the earlier time.
        let length = u32::try_from(month).map_or(0, |month| days_in_month(year, month));
        (days, months) = (days + i64::from(length), months - 1);
    }
    let sign = if backwards { -1 } else { 1 };
    Some(Interval {
        months: i32::try_from(sign * months).ok()?,
        days: i32::try_from(sign * days).ok()?,
        micros: sign * micros,
    })
}

fn arrow(interval: Option<Interval>) -> DataFusionResult<IntervalMonthDayNano> {
    arrow_of(interval.ok_or_else(out_of_range)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rukh_keys::days_from_civil;

    #[expect(clippy::arithmetic_side_effects, reason = "moments of the cases below")]
    fn micros(year: i64, month: u32, day: u32, hours: i64) -> i64 {
        days_from_civil(year, month, day) * DAY_MICROS + hours * 3_600_000_000
    }

    #[test]
    fn ages_follow_the_calendar() {
        let cases = [
            (
                micros(2001, 4, 10, 0),
                micros(1957, 6, 13, 0),
                "43 years 9 mons 27 days",
            ),
            (
                micros(1957, 6, 13, 0),
                micros(2001, 4, 10, 0),
                "-43 years -9 mons -27 days",
            ),
            (micros(2024, 3, 1, 0), micros(2024, 1, 31, 0), "1 mon 1 day"),
            (micros(2024, 3, 1, 5), micros(2024, 2, 29, 6), "23:00:00"),
            (micros(2024, 2, 29, 0), micros(2024, 2, 29, 0), "00:00:00"),
        ];
        for (later, earlier, expected) in cases {
            let age = age(later, earlier).map(|age| age.text());
            assert_eq!(age.as_deref(), Some(expected));
        }
    }
}
