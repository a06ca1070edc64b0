//! Words of dates and times.

use super::parts::Moment;

/// What a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// `at` and `on` say nothing.
    Ignored,
    /// 1 to 12.
    Month(i64),
    Weekday,
    /// `am` or `pm`; whether it is `pm`.
    Half(bool),
    /// `ad` or `bc`; whether it is `bc`.
    Era(bool),
    /// What the next number is.
    Unit(Unit),
    /// So many days after today.
    Day(i64),
    /// `allballs`, 00:00 in UTC.
    Midnight,
    /// `dst`, an hour more than the zone before it.
    Summer,
    Moment(Moment),
}

/// What a word before a number says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    /// `t` before a time.
    Time,
    /// A field that a text does not say, such as `dow`.
    Other,
}

/// Returns what a word in lower case means.
pub(super) fn word(text: &str) -> Option<Word> {
    Some(match text {
        "at" | "on" => Word::Ignored,
        "jan" | "january" => Word::Month(1),
        "feb" | "february" => Word::Month(2),
        "mar" | "march" => Word::Month(3),
        "apr" | "april" => Word::Month(4),
        "may" => Word::Month(5),
        "jun" | "june" => Word::Month(6),
        "jul" | "july" => Word::Month(7),
        "aug" | "august" => Word::Month(8),
        "sep" | "sept" | "september" => Word::Month(9),
        "oct" | "october" => Word::Month(10),
        "nov" | "november" => Word::Month(11),
        "dec" | "december" => Word::Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday"
        | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Word::Weekday,
        "am" => Word::Half(false),
        "pm" => Word::Half(true),
        "ad" => Word::Era(false),
        "bc" => Word::Era(true),
        "y" => Word::Unit(Unit::Year),
        "m" => Word::Unit(Unit::Month),
        "d" => Word::Unit(Unit::Day),
        "h" => Word::Unit(Unit::Hour),
        "mm" => Word::Unit(Unit::Minute),
        "s" => Word::Unit(Unit::Second),
        "j" | "jd" | "julian" => Word::Unit(Unit::Julian),
        "t" => Word::Unit(Unit::Time),
        "today" => Word::Day(0),
        "tomorrow" => Word::Day(1),
        "yesterday" => Word::Day(-1),
        "allballs" => Word::Midnight,
        "dst" => Word::Summer,
        "now" => Word::Moment(Moment::Now),
        "epoch" => Word::Moment(Moment::Epoch),
        "infinity" => Word::Moment(Moment::Infinity),
        "dow" | "doy" | "isodow" | "isoyear" => Word::Unit(Unit::Other),
        _ => return None,
    })
}
