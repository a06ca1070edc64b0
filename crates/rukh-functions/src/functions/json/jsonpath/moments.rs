//! `datetime()`: strings as moments, and how moments compare.

use std::cmp::Ordering;
use std::fmt;

use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, DataType, Datum, TIMESTAMP_MAX, TIMESTAMP_MIN};

use super::failure::{Failure, soft};
use crate::functions::times::moment_input::{self, Exact};

/// What is read where no template says how; the first one that fits counts.
const DATE: &str = "yyyy-mm-dd";
const BETWEEN: [&str; 2] = [" ", "\"T\""];
const TIMES: [&str; 6] = [
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
];

/// A moment: days since 1970, microseconds of a day or since 1970 as the clocks of the zone show them, seconds east of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Date(i64),
    Time(i64),
    TimeTz(i64, i64),
    Timestamp(i64),
    TimestampTz(i64, i64),
}

/// How two moments compare.
pub(super) enum Order {
    Is(Ordering),
    /// They do not: a date and a time.
    None,
}

impl Moment {
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::TimeTz(..) => "time with time zone",
            Moment::Timestamp(_) => "timestamp without time zone",
            Moment::TimestampTz(..) => "timestamp with time zone",
        }
    }

    fn short_name(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time",
            Moment::TimeTz(..) => "timetz",
            Moment::Timestamp(_) => "timestamp",
            Moment::TimestampTz(..) => "timestamptz",
        }
    }

    fn of(exact: &Exact) -> Result<Moment, Failure> {
        let whole = exact
            .days
            .checked_mul(DAY_MICROS)
            .and_then(|micros| micros.checked_add(exact.micros))
            .filter(|micros| (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(micros))
            .ok_or_else(|| soft("22008", "timestamp out of range"));
        Ok(match (exact.is_dated, exact.is_timed, exact.zone) {
            (true, false, _) => Moment::Date(exact.days),
            (true, true, None) => Moment::Timestamp(whole?),
            (true, true, Some(zone)) => Moment::TimestampTz(whole?, zone),
            (false, true, None) => Moment::Time(exact.micros),
            (false, true, Some(zone)) => Moment::TimeTz(exact.micros, zone),
            (false, false, _) => {
                let message = "datetime format is not dated and not timed";
                return Err(soft("22007", message));
            }
        })
    }

    /// Returns the microseconds since 1970, or those of a time, in UTC if there is a zone.
    fn instant(self) -> i128 {
        const SECOND: i128 = 1_000_000;
        let in_utc = |micros: i64, zone: i64| {
            i128::from(micros).saturating_sub(i128::from(zone).saturating_mul(SECOND))
        };
        match self {
            Moment::Date(days) => i128::from(days).saturating_mul(i128::from(DAY_MICROS)),
            Moment::Time(micros) | Moment::Timestamp(micros) => i128::from(micros),
            Moment::TimeTz(micros, zone) | Moment::TimestampTz(micros, zone) => in_utc(micros, zone),
        }
    }
}

/// Writes a moment as a string of JSON has it: `2024-03-10T12:34:56+05:20`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = |days: i64| {
            let days = i32::try_from(days).unwrap_or(i32::MAX);
            DataType::Date.format_text(&Datum::Date(days))
        };
        let time = |micros: i64| DataType::Time { precision: 6 }.format_text(&Datum::Time(micros));
        let timestamp = |micros: i64| {
            DataType::TIMESTAMP
                .format_text(&Datum::Timestamp(micros))
                .replacen(' ', "T", 1)
        };
        let zone = |seconds: i64| {
            let minutes = seconds.unsigned_abs() / 60;
            let sign = if seconds < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        };
        match *self {
            Moment::Date(days) => f.write_str(&date(days)),
            Moment::Time(micros) => f.write_str(&time(micros)),
            Moment::TimeTz(micros, east) => write!(f, "{}{}", time(micros), zone(east)),
            Moment::Timestamp(micros) => f.write_str(&timestamp(micros)),
            Moment::TimestampTz(micros, east) => write!(f, "{}{}", timestamp(micros), zone(east)),
        }
    }
}

/// Reads a string as a moment, by a template or by what it looks like; `None` is no string.
pub(super) fn read(text: Option<&str>, template: Option<&str>) -> Result<Moment, Failure> {
    let Some(text) = text else {
        return Err(soft(
            "22031",
            "jsonpath item method .datetime() can only be applied to a string",
        ));
    };
    if let Some(template) = template {
        let exact = moment_input::read_exactly(text, template).map_err(Failure::Soft)?;
        return Moment::of(&exact);
    }
    let timestamps = BETWEEN
        .iter()
        .flat_map(|between| TIMES.iter().map(move |time| format!("{DATE}{between}{time}")));
    let mut templates = std::iter::once(DATE.to_string())
        .chain(TIMES.iter().map(|time| time.to_string()))
        .chain(timestamps);
    match templates.find_map(|template| moment_input::read_exactly(text, &template).ok()) {
        Some(exact) => Moment::of(&exact),
        None => {
            let hint = "Use a datetime template argument to specify the input data format.";
            let error =
                SqlError::statement("22031", format!("datetime format is not recognized: \"{text}\""));
            Err(Failure::Soft(error.with_hint(hint)))
        }
    }
}

/// Compares moments. Those with a zone and those without compare in UTC, if that is allowed.
pub(super) fn order(left: &Moment, right: &Moment, has_zone: bool) -> Result<Order, Failure> {
    use Moment::{Date, Time, TimeTz, Timestamp, TimestampTz};
    let is_dated = |moment: &Moment| matches!(moment, Date(_) | Timestamp(_) | TimestampTz(..));
    let is_zoned = |moment: &Moment| matches!(moment, TimeTz(..) | TimestampTz(..));
    if is_dated(left) != is_dated(right) {
        return Ok(Order::None);
    }
    if is_zoned(left) != is_zoned(right) && !has_zone {
        let (from, to) = match is_zoned(left) {
            true => (right, left),
            false => (left, right),
        };
        let message = format!(
            "cannot convert value from {} to {} without time zone usage",
            from.short_name(),
            to.short_name()
        );
        let hint = "Use *_tz() function for time zone support.";
        return Err(Failure::Hard(
            SqlError::statement("0A000", message).with_hint(hint),
        ));
    }
    let order = left.instant().cmp(&right.instant());
    Ok(Order::Is(match (left, right) {
        // Of two times at one instant the one further to the west is greater.
        (TimeTz(_, left), TimeTz(_, right)) => order.then(right.cmp(left)),
        (Time(_), TimeTz(_, right)) => order.then(right.cmp(&0)),
        (TimeTz(_, left), Time(_)) => order.then(0.cmp(left)),
        _ => order,
    }))
}
