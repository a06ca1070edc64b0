//! Dates, times, timestamps and intervals in PostgreSQL's spelling.
//!
//! | type                     | text                              | ISO 8601 (JSON)                 |
//! |--------------------------|-----------------------------------|---------------------------------|
//! | DATE                     | `2012-01-31`, `0044-03-15 BC`     | the same                        |
//! | TIME                     | `12:30:00.25`                     | the same                        |
//! | TIMESTAMP                | `2012-01-31 12:30:00`             | `2012-01-31T12:30:00`           |
//! | TIMESTAMP WITH TIME ZONE | `2012-01-31 12:30:00+00`          | `2012-01-31T12:30:00+00:00`     |
//! | INTERVAL                 | `1 year 2 mons 3 days 04:05:06.7` | the same                        |
//!
//! Timestamps with a zone are instants and shown in UTC. Fractions of a second lose trailing zeros.
//! The calendar is the proleptic Gregorian one; days are turned into dates with the arithmetic of
//! Howard Hinnant's "chrono-compatible low-level date algorithms".

use std::fmt::Write;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// The two spellings of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// A blank between date and time, `+00` for UTC.
    Text,
    /// A `T` between date and time, `+00:00` for UTC.
    Iso,
}

/// Whether a timestamp names an instant or a reading of some clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// TIMESTAMP WITH TIME ZONE.
    Utc,
    /// TIMESTAMP.
    None,
}

/// Appends the date that is `days` after 1970-01-01.
pub fn write_date(days: i64, out: &mut String) {
    let era = write_calendar_day(days, out);
    out.push_str(era);
}

/// Appends a time of day given in nanoseconds since midnight.
pub fn write_time(nanos: i128, out: &mut String) {
    write_clock(nanos, out);
}

/// Appends a timestamp given in nanoseconds since 1970-01-01 00:00:00.
pub fn write_timestamp(nanos: i128, zone: Zone, spelling: Spelling, out: &mut String) {
    let day_nanos = i128::from(SECONDS_PER_DAY) * NANOS_PER_SECOND;
    let days = i64::try_from(nanos.div_euclid(day_nanos)).expect("64-bit seconds span fewer than 2^63 days");
    let era = write_calendar_day(days, out);
    out.push(if spelling == Spelling::Iso { 'T' } else { ' ' });
    write_clock(nanos.rem_euclid(day_nanos), out);
    match (zone, spelling) {
        (Zone::None, _) => {}
        (Zone::Utc, Spelling::Text) => out.push_str("+00"),
        (Zone::Utc, Spelling::Iso) => out.push_str("+00:00"),
    }
    out.push_str(era);
}

/// Appends an interval whose three parts keep their own signs, as PostgreSQL does: `1 year -3 days +04:00:00`.
pub fn write_interval(months: i64, days: i64, nanos: i128, out: &mut String) {
    let start = out.len();
    let mut negative_before = false;
    for (amount, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if amount != 0 {
            write_amount(amount, unit, negative_before, out, start);
            negative_before = amount < 0;
        }
    }
    if nanos != 0 || out.len() == start {
        if out.len() > start {
            out.push(' ');
        }
        match nanos {
            nanos if nanos < 0 => out.push('-'),
            _ if negative_before => out.push('+'),
            _ => {}
        }
        write_clock(nanos.abs(), out);
    }
}

fn write_amount(amount: i64, unit: &str, negative_before: bool, out: &mut String, start: usize) {
    let blank = if out.len() > start { " " } else { "" };
    let sign = if negative_before && amount > 0 { "+" } else { "" };
    let plural = if amount == 1 { "" } else { "s" };
    push(out, format_args!("{blank}{sign}{amount} {unit}{plural}"));
}

/// Appends year, month and day; returns ` BC` for years before 1.
fn write_calendar_day(days: i64, out: &mut String) -> &'static str {
    let (year, month, day) = civil_from_days(days);
    let (shown, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    push(out, format_args!("{shown:04}-{month:02}-{day:02}"));
    era
}

fn write_clock(nanos: i128, out: &mut String) {
    let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    push(
        out,
        format_args!(
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    );
    if fraction != 0 {
        let digits = format!("{fraction:09}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

/// Returns year (0 is 1 BC), month and day of the date `days` after 1970-01-01.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years are counted from 1 March, so that a leap day ends its year; an era is 400 years.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn dates() {
        let cases = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (15_340, "2012-01-01"),
            (15_399, "2012-02-29"),
            (15_400, "2012-03-01"),
            (-719_162, "0001-01-01"),
            (-719_163, "0001-12-31 BC"),
            (2_932_897, "10000-01-01"),
            (i64::from(i32::MAX), "5881580-07-11"),
            (i64::from(i32::MIN), "5877642-06-23 BC"),
        ];
        for (days, expected) in cases {
            assert_eq!(text(|out| write_date(days, out)), expected);
        }
    }

    #[test]
    fn timestamps() {
        let second = NANOS_PER_SECOND;
        let cases = [
            (0, Zone::None, Spelling::Text, "1970-01-01 00:00:00"),
            (
                1_325_376_000 * second,
                Zone::None,
                Spelling::Text,
                "2012-01-01 00:00:00",
            ),
            (
                1_325_376_000 * second,
                Zone::None,
                Spelling::Iso,
                "2012-01-01T00:00:00",
            ),
            (
                1_325_379_661 * second + 500_000_000,
                Zone::Utc,
                Spelling::Text,
                "2012-01-01 01:01:01.5+00",
            ),
            (
                1_325_379_661 * second + 1_000,
                Zone::Utc,
                Spelling::Iso,
                "2012-01-01T01:01:01.000001+00:00",
            ),
            (-1_000, Zone::None, Spelling::Text, "1969-12-31 23:59:59.999999"),
            (
                -62_135_596_801 * second,
                Zone::Utc,
                Spelling::Text,
                "0001-12-31 23:59:59+00 BC",
            ),
            (
                i128::from(i64::MAX) * 1_000,
                Zone::None,
                Spelling::Text,
                "294247-01-10 04:00:54.775807",
            ),
            (
                i128::from(i64::MAX) * second,
                Zone::None,
                Spelling::Text,
                "292277026596-12-04 15:30:07",
            ),
            (
                i128::from(i64::MIN) * second,
                Zone::None,
                Spelling::Text,
                "292277022658-01-27 08:29:52 BC",
            ),
        ];
        for (nanos, zone, spelling, expected) in cases {
            assert_eq!(text(|out| write_timestamp(nanos, zone, spelling, out)), expected);
        }
    }

    #[test]
    fn times() {
        let second = NANOS_PER_SECOND;
        let cases = [
            (0, "00:00:00"),
            (45_000 * second, "12:30:00"),
            (45_000 * second + 250_000_000, "12:30:00.25"),
            (86_400 * second, "24:00:00"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(text(|out| write_time(nanos, out)), expected);
        }
    }

    #[test]
    fn intervals() {
        let second = NANOS_PER_SECOND;
        let cases = [
            (0, 0, 0, "00:00:00"),
            (
                14,
                3,
                14_706 * second + 700_000_000,
                "1 year 2 mons 3 days 04:05:06.7",
            ),
            (12, 0, 0, "1 year"),
            (1, 1, 0, "1 mon 1 day"),
            (-14, 3, 60 * second, "-1 years -2 mons +3 days 00:01:00"),
            (0, -1, 3600 * second, "-1 days +01:00:00"),
            (0, 0, -90 * second, "-00:01:30"),
            (0, 2, -second, "2 days -00:00:01"),
        ];
        for (months, days, nanos, expected) in cases {
            assert_eq!(text(|out| write_interval(months, days, nanos, out)), expected);
        }
    }
}
