//! What a text says of a moment.

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
