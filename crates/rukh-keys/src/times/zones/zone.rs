//! A time zone and its offsets from UTC.
//!
//! | name                        | zone                                                  |
//! |-----------------------------|-------------------------------------------------------|
//! | `Z`, `UTC`, `PST`, `CEST`   | an abbreviation (`abbreviations`)                     |
//! | `America/New_York`, `EST5EDT` | of the time zone database                           |
//! | `GMT+8`, `PST+7:30`, `+02`  | as POSIX writes them: positive is west of Greenwich   |
//!
//! Where clocks are put forward, what they never show counts by the offset before; where they are put back, what they show twice counts by
//! the offset after.
//!
//! Deliberately not here: POSIX zones that say when clocks change.

#![warn(clippy::arithmetic_side_effects)]

use super::abbreviations::ABBREVIATIONS;
use crate::times::calendar::{DAY_MICROS, civil_from_days, days_from_civil, is_infinite_timestamp};
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use std::collections::HashMap;
use std::sync::LazyLock;

/// No zone is further from UTC, in microseconds.
pub const ZONE_OFFSET_MAX: i64 = 16 * 3_600 * SECOND;

const SECOND: i64 = 1_000_000;

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Always so many microseconds east of UTC.
    Fixed(i64),
    /// A zone of the time zone database.
    Named(Tz),
}

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Fixed(0);

    /// Returns the zone of a name in any case: an abbreviation, a name of the time zone database, or a POSIX offset.
    pub fn named(name: &str) -> Option<Zone> {
        let name = name.to_ascii_lowercase();
        Zone::abbreviated(&name)
            .or_else(|| of_database(&name))
            .or_else(|| of_posix(&name))
    }

    /// Returns the zone of an abbreviation in lower case.
    pub(crate) fn abbreviated(name: &str) -> Option<Zone> {
        let at = ABBREVIATIONS.binary_search_by(|(known, _)| known.cmp(&name));
        let (_, seconds) = ABBREVIATIONS.get(at.ok()?)?;
        Some(Zone::of_seconds(i64::from(*seconds)))
    }

    /// Returns the zone that is so many seconds east of UTC.
    pub(crate) fn of_seconds(seconds: i64) -> Zone {
        Zone::Fixed(seconds.saturating_mul(SECOND))
    }

    /// Whether the zone is UTC.
    pub fn is_utc(self) -> bool {
        match self {
            Zone::Fixed(offset) => offset == 0,
            Zone::Named(zone) => matches!(
                zone,
                Tz::UTC | Tz::GMT | Tz::Etc__UTC | Tz::Etc__GMT | Tz::Universal
            ),
        }
    }

    /// Returns the offset from UTC at an instant, both in microseconds.
    pub fn offset_at(self, instant: i64) -> i64 {
        let zone = match self {
            Zone::Fixed(offset) => return offset,
            Zone::Named(zone) => zone,
        };
        // What the database knows ends with the 21st century, and so does what it counts with: a later year has the rules of one of those
        // 28 years, which has the same days of the week.
        let utc = DateTime::from_timestamp_micros(in_known_years(instant));
        let utc = utc.unwrap_or(DateTime::<chrono::Utc>::MIN_UTC).naive_utc();
        let offset = zone.offset_from_utc_datetime(&utc).fix().local_minus_utc();
        i64::from(offset).saturating_mul(SECOND)
    }

    /// Returns what the clocks of the zone show at an instant, in microseconds since 1970-01-01 00:00 there; an infinity as such.
    pub fn clock(self, instant: i64) -> i64 {
        match is_infinite_timestamp(instant) {
            true => instant,
            false => instant.saturating_add(self.offset_at(instant)),
        }
    }

    /// Returns the instant at which the clocks of the zone show a time; an infinity as such.
    pub fn instant(self, clock: i64) -> i64 {
        if is_infinite_timestamp(clock) {
            return clock;
        }
        let before = self.offset_at(clock.saturating_sub(DAY_MICROS));
        let after = self.offset_at(clock.saturating_add(DAY_MICROS));
        let (earlier, later) = (clock.saturating_sub(before), clock.saturating_sub(after));
        match (self.offset_at(earlier) == before, self.offset_at(later) == after) {
            // Shown twice: by the offset after. Never shown: by that before.
            (true, false) | (false, false) => earlier,
            (_, true) => later,
        }
    }
}

/// Returns an instant of the years 2060 to 2087 at the same time of a year that has the same days, for an instant after those years; others as
/// they are.
fn in_known_years(instant: i64) -> i64 {
    const FIRST: i64 = 2060;
    let year = civil_from_days(instant.div_euclid(DAY_MICROS)).0;
    if year < FIRST.saturating_add(28) {
        return instant;
    }
    let first_day = |year: i64| days_from_civil(year, 1, 1);
    let kind = |year: i64| {
        let first = first_day(year);
        (
            first.rem_euclid(7),
            first_day(year.saturating_add(1)).saturating_sub(first),
        )
    };
    let known = (FIRST..FIRST.saturating_add(28)).find(|known| kind(*known) == kind(year));
    let days = first_day(year).saturating_sub(first_day(known.unwrap_or(FIRST)));
    instant.saturating_sub(days.saturating_mul(DAY_MICROS))
}

/// Returns a zone of the time zone database by its name in lower case.
fn of_database(name: &str) -> Option<Zone> {
    static NAMES: LazyLock<HashMap<String, Tz>> = LazyLock::new(|| {
        let named = |zone: &Tz| (zone.name().to_ascii_lowercase(), *zone);
        TZ_VARIANTS.iter().map(named).collect()
    });
    NAMES.get(name).copied().map(Zone::Named)
}

/// Returns a zone that POSIX writes: a name, or none, and hours, minutes and seconds west of Greenwich.
fn of_posix(name: &str) -> Option<Zone> {
    let west = name.trim_start_matches(|c: char| !c.is_ascii_digit() && !matches!(c, '+' | '-' | ','));
    if west.len() == name.len() && !west.starts_with(['+', '-']) {
        return None;
    }
    let (sign, digits) = match west.strip_prefix('-') {
        Some(digits) => (1, digits),
        None => (-1, west.strip_prefix('+').unwrap_or(west)),
    };
    let mut seconds: i64 = 0;
    let mut parts = digits.split(':');
    for (unit, end) in [(3_600, 168), (60, 60), (1, 60)] {
        let Some(part) = parts.next() else { break };
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = is_number.then(|| part.parse().ok())??;
        if number >= end {
            return None;
        }
        seconds = seconds.saturating_add(number.saturating_mul(unit));
    }
    match parts.next() {
        None => Some(Zone::of_seconds(seconds.saturating_mul(sign))),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600 * SECOND;

    #[test]
    fn clocks_that_change_are_read_as_in_postgresql() {
        let berlin = Zone::named("europe/berlin").expect("a zone");
        // 2024-03-31 in Berlin: clocks go from 2 to 3; 2024-10-27: from 3 back to 2.
        let (spring, autumn) = (1_711_843_200_000_000, 1_729_987_200_000_000);
        for (day, hour, offset) in [(spring, 1, 1), (spring, 2, 1), (spring, 3, 2), (spring, 4, 2)] {
            assert_eq!(berlin.instant(day + hour * HOUR), day + (hour - offset) * HOUR);
        }
        for (day, hour, offset) in [(autumn, 1, 2), (autumn, 2, 1), (autumn, 3, 1), (autumn, 4, 1)] {
            assert_eq!(berlin.instant(day + hour * HOUR), day + (hour - offset) * HOUR);
        }
    }

    #[test]
    fn names_are_abbreviations_zones_and_offsets() {
        let offset = |name: &str| Zone::named(name).map(|zone| zone.offset_at(0));
        let hours = |hours: i64| Some(hours * HOUR);
        assert_eq!(offset("utc"), hours(0));
        assert_eq!(offset("Z"), hours(0));
        assert_eq!(offset("PST"), hours(-8));
        assert_eq!(offset("AMERICA/NEW_YORK"), hours(-5));
        assert_eq!(offset("PST8PDT"), hours(-8));
        assert_eq!(offset("+02"), hours(-2));
        assert_eq!(offset("GMT+8"), hours(-8));
        assert_eq!(offset("foo-3:30"), Some(3 * HOUR + HOUR / 2));
        for name in [
            "",
            "x",
            "mars",
            "mars/base",
            "foo+",
            "foo+3:",
            "foo+1:2:3:4",
            "foo+200",
            "3",
            "p1y",
        ] {
            assert_eq!(offset(name), None, "{name}");
        }
    }

    #[test]
    fn abbreviations_are_sorted() {
        assert!(ABBREVIATIONS.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn instants_without_a_calendar_have_the_offset_of_its_ends() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        assert_eq!(
            berlin.offset_at(i64::MIN),
            berlin.offset_at(-210_866_803_200_000_000)
        );
        // 2106-07-10 and 205000-07-10, and half a year later.
        for year in [2106, 205_000] {
            let summer = days_from_civil(year, 7, 10) * DAY_MICROS;
            assert_eq!(berlin.offset_at(summer), 2 * HOUR, "{year}");
            assert_eq!(berlin.offset_at(summer + 184 * DAY_MICROS), HOUR, "{year}");
        }
        for infinity in [i64::MIN, i64::MAX] {
            assert_eq!(
                (berlin.clock(infinity), berlin.instant(infinity)),
                (infinity, infinity)
            );
        }
    }
}
