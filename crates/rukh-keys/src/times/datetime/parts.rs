//! What a text says of a moment.

use super::canonical;
use super::fields::Fields;
use crate::times::zones::Zone;

/// A moment as a text names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Parts(Parts),
    Now,
    /// 1970-01-01 00:00 in UTC.
    Epoch,
    Infinity,
    MinusInfinity,
}

/// Parts of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) day: Day,
    /// Microseconds of the day, 0 where the text does not say; more than a day where run-together digits say so.
    pub(crate) time: i64,
    pub(crate) zone: Option<Zone>,
}

/// A day as a text names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Day {
    /// So many days after 1970-01-01.
    Date(i64),
    /// So many days after today.
    FromToday(i64),
}

/// Why a text is no date or time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The text has no such form.
    Syntax,
    /// A field, such as the minute, is out of range.
    Field,
    /// A month or a day is out of range: they may stand in another order.
    Order,
    /// A zone is further from UTC than any is.
    Offset,
    /// A zone has a name that is unknown.
    Zone(String),
}

/// Reads a date, or a date and a time.
pub(crate) fn read_moment(text: &str) -> Result<Moment, Failure> {
    if let Some(parts) = canonical::read(text.as_bytes()) {
        return Ok(Moment::Parts(parts));
    }
    Fields::of_moment(&text.to_ascii_lowercase())?.moment()
}

/// A moment that depends on when its text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeMoment {
    /// `now`.
    Now,
    /// `today`, `tomorrow 10:00`, `yesterday PST`.
    Day {
        /// Days after today.
        from_today: i64,
        /// Microseconds of that day.
        time: i64,
        /// The zone whose clocks show the time; UTC if `None`.
        zone: Option<Zone>,
    },
}

impl RelativeMoment {
    /// Reads a text; `None` of every other text.
    pub fn of_text(text: &str) -> Option<RelativeMoment> {
        match read_moment(text).ok()? {
            Moment::Now => Some(RelativeMoment::Now),
            Moment::Parts(Parts {
                day: Day::FromToday(from_today),
                time,
                zone,
            }) => Some(RelativeMoment::Day {
                from_today,
                time,
                zone,
            }),
            _ => None,
        }
    }
}

/// Reads a time of day, in microseconds; a date and a zone are passed over.
pub(crate) fn read_time(text: &str) -> Result<i64, Failure> {
    Fields::of_time(&text.to_ascii_lowercase())?.time_of_day()
}
