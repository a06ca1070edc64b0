//! Intervals in the styles that PostgreSQL's clients ask for.
//!
//! | `IntervalStyle`    | 14 months, 3 days, 14 706.7 seconds          |
//! |--------------------|----------------------------------------------|
//! | `postgres`         | `1 year 2 mons 3 days 04:05:06.7`            |
//! | `postgres_verbose` | `@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs` |
//! | `iso_8601`         | `P1Y2M3DT4H5M6.7S`                           |
//!
//! The forms are those of `EncodeInterval` in PostgreSQL's `datetime.c`. What is read is the same in all of them. Deliberately not here:
//! `sql_standard`, with which PostgreSQL reads the sign of a first field as that of all.

#![warn(clippy::arithmetic_side_effects)]

use crate::times::interval::Interval;

/// How intervals are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 day 02:00:00`.
    #[default]
    Postgres,
    /// `@ 1 day 2 hours`.
    PostgresVerbose,
    /// `P1DT2H`.
    Iso8601,
}

impl IntervalStyle {
    /// Names of all styles; the first is the default.
    pub const NAMES: [&'static str; 3] = ["postgres", "postgres_verbose", "iso_8601"];

    /// Returns the style of a name; `None` if there is none.
    pub fn of_name(name: &str) -> Option<IntervalStyle> {
        match name {
            "postgres" => Some(IntervalStyle::Postgres),
            "postgres_verbose" => Some(IntervalStyle::PostgresVerbose),
            "iso_8601" => Some(IntervalStyle::Iso8601),
            _ => None,
        }
    }
}

/// The fields of an interval, each with its own sign.
struct Fields {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    micros: i64,
}

impl Fields {
    fn of(interval: &Interval) -> Fields {
        let seconds = interval.micros / 1_000_000;
        Fields {
            years: i64::from(interval.months / 12),
            months: i64::from(interval.months % 12),
            days: i64::from(interval.days),
            hours: seconds / 3600,
            minutes: seconds / 60 % 60,
            seconds: seconds % 60,
            micros: interval.micros % 1_000_000,
        }
    }

    fn all(&self) -> [i64; 7] {
        [
            self.years,
            self.months,
            self.days,
            self.hours,
            self.minutes,
            self.seconds,
            self.micros,
        ]
    }

    /// Whether the part below the minutes is less than nothing.
    fn is_second_negative(&self) -> bool {
        self.seconds < 0 || self.micros < 0
    }

    /// Returns seconds without their sign, of at least so many digits before the point.
    fn second_text(&self, digits: usize) -> String {
        let seconds = format!("{:0digits$}", self.seconds.unsigned_abs());
        match self.micros {
            0 => seconds,
            micros => {
                let fraction = format!("{:06}", micros.unsigned_abs());
                format!("{seconds}.{}", fraction.trim_end_matches('0'))
            }
        }
    }

    fn iso_8601(&self) -> String {
        if self.all().iter().all(|field| *field == 0) {
            return "PT0S".to_string();
        }
        let part = |count: i64, letter: char| match count {
            0 => String::new(),
            count => format!("{count}{letter}"),
        };
        let days = [
            part(self.years, 'Y'),
            part(self.months, 'M'),
            part(self.days, 'D'),
        ]
        .concat();
        let mut time = [part(self.hours, 'H'), part(self.minutes, 'M')].concat();
        if self.seconds != 0 || self.micros != 0 {
            let sign = if self.is_second_negative() { "-" } else { "" };
            time += &format!("{sign}{}S", self.second_text(1));
        }
        match time.is_empty() {
            true => format!("P{days}"),
            false => format!("P{days}T{time}"),
        }
    }

    fn verbose(&self) -> String {
        // The sign of the first part is that of the whole, said by the last word.
        let first = self.all().into_iter().find(|field| *field != 0);
        let is_before = first.is_some_and(|field| field < 0);
        let mut text = "@".to_string();
        let counts = [
            (self.years, "year"),
            (self.months, "mon"),
            (self.days, "day"),
            (self.hours, "hour"),
            (self.minutes, "min"),
        ];
        for (count, unit) in counts.into_iter().filter(|(count, _)| *count != 0) {
            let sign = if (count < 0) == is_before { "" } else { "-" };
            let plural = match (sign, count.unsigned_abs()) {
                ("", 1) => "",
                _ => "s",
            };
            text += &format!(" {sign}{} {unit}{plural}", count.unsigned_abs());
        }
        if self.seconds != 0 || self.micros != 0 {
            let sign = if self.is_second_negative() == is_before {
                ""
            } else {
                "-"
            };
            let is_one = self.seconds.unsigned_abs() == 1 && self.micros == 0;
            let plural = if is_one { "" } else { "s" };
            text += &format!(" {sign}{} sec{plural}", self.second_text(1));
        }
        if first.is_none() {
            text += " 0";
        }
        if is_before {
            text += " ago";
        }
        text
    }
}

impl Interval {
    /// Writes the interval in a style.
    pub fn text_in(&self, style: IntervalStyle) -> String {
        let fields = Fields::of(self);
        match style {
            IntervalStyle::Postgres => self.text(),
            IntervalStyle::PostgresVerbose => fields.verbose(),
            IntervalStyle::Iso8601 => fields.iso_8601(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts are those of PostgreSQL 15.
    #[test]
    fn intervals_are_written_as_postgresql_writes_them() {
        let cases = [
            (0, 0, 0, ["00:00:00", "@ 0", "PT0S"]),
            (
                14,
                3,
                14706700000,
                [
                    "1 year 2 mons 3 days 04:05:06.7",
                    "@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs",
                    "P1Y2M3DT4H5M6.7S",
                ],
            ),
            (
                -14,
                -3,
                -14706700000,
                [
                    "-1 years -2 mons -3 days -04:05:06.7",
                    "@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs ago",
                    "P-1Y-2M-3DT-4H-5M-6.7S",
                ],
            ),
            (1, 0, 0, ["1 mon", "@ 1 mon", "P1M"]),
            (-1, 2, 0, ["-1 mons +2 days", "@ 1 mon -2 days ago", "P-1M2D"]),
            (0, 1, 0, ["1 day", "@ 1 day", "P1D"]),
            (
                0,
                -1,
                7200000000,
                ["-1 days +02:00:00", "@ 1 day -2 hours ago", "P-1DT2H"],
            ),
            (12, 0, 0, ["1 year", "@ 1 year", "P1Y"]),
            (0, 0, 1000000, ["00:00:01", "@ 1 sec", "PT1S"]),
            (0, 0, -1000000, ["-00:00:01", "@ 1 sec ago", "PT-1S"]),
            (0, 0, -500000, ["-00:00:00.5", "@ 0.5 secs ago", "PT-0.5S"]),
            (
                0,
                0,
                61000001,
                ["00:01:01.000001", "@ 1 min 1.000001 secs", "PT1M1.000001S"],
            ),
            (
                11,
                -1,
                -1,
                [
                    "11 mons -1 days -00:00:00.000001",
                    "@ 11 mons -1 days -0.000001 secs",
                    "P11M-1DT-0.000001S",
                ],
            ),
            (0, 2, 3600000000, ["2 days 01:00:00", "@ 2 days 1 hour", "P2DT1H"]),
            (-13, 0, 0, ["-1 years -1 mons", "@ 1 year 1 mon ago", "P-1Y-1M"]),
            (0, -2, 0, ["-2 days", "@ 2 days ago", "P-2D"]),
            (0, 0, 360000000000, ["100:00:00", "@ 100 hours", "PT100H"]),
            (
                25,
                0,
                -60000000,
                ["2 years 1 mon -00:01:00", "@ 2 years 1 mon -1 mins", "P2Y1MT-1M"],
            ),
            (0, 1, -1000000, ["1 day -00:00:01", "@ 1 day -1 sec", "P1DT-1S"]),
            (
                -1,
                -1,
                1,
                [
                    "-1 mons -1 days +00:00:00.000001",
                    "@ 1 mon 1 day -0.000001 secs ago",
                    "P-1M-1DT0.000001S",
                ],
            ),
        ];
        for (months, days, micros, texts) in cases {
            let interval = Interval { months, days, micros };
            for (name, text) in IntervalStyle::NAMES.into_iter().zip(texts) {
                let style = IntervalStyle::of_name(name).expect("the style is known");
                assert_eq!(interval.text_in(style), text, "{months} {days} {micros} {name}");
                assert_eq!(Interval::read(text), Some(interval), "{text}");
            }
        }
    }
}
