//! Intervals as PostgreSQL writes and reads them: months, days and time, none of which becomes another.
//!
//! | interval                            | written, `IntervalStyle` postgres  |
//! |-------------------------------------|------------------------------------|
//! | 14 months, 3 days, 14 706.7 seconds | `1 year 2 mons 3 days 04:05:06.7`  |
//! | -1 months, 2 days                   | `-1 mons +2 days`                  |
//! | nothing                             | `00:00:00`                         |
//!
//! What is read may be in this form, in words (`2 weeks ago`), or as in ISO 8601 (`P1Y2M3DT4H5M6S`).

#![warn(clippy::arithmetic_side_effects)]

use crate::times::calendar::DAY_MICROS;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

const MONTH_DAYS: f64 = 30.0;

/// An interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interval {
    /// Months, twelve of them a year.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// The rest, in microseconds.
    pub micros: i64,
}

/// The order of length, a month being 30 days of 24 hours; of those of one length, by months and days.
impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |interval: &Interval| (interval.length(), interval.months, interval.days);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Interval {
    /// Returns how long it is in microseconds, a month being 30 days of 24 hours: the number by which SQL compares intervals.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold 2^31 months, 2^31 days and 2^63 microseconds in microseconds"
    )]
    pub fn length(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(DAY_MICROS) + i128::from(self.micros)
    }

    /// Returns bytes that sort by length, then by months and days.
    pub(crate) fn to_key(self) -> [u8; 24] {
        let mut key = [0; 24];
        key[..16].copy_from_slice(&(self.length() ^ i128::MIN).to_be_bytes());
        key[16..20].copy_from_slice(&(self.months ^ i32::MIN).to_be_bytes());
        key[20..].copy_from_slice(&(self.days ^ i32::MIN).to_be_bytes());
        key
    }

    /// Takes an interval out of [`Interval::to_key`]; `None` if the bytes are none.
    pub(crate) fn of_key(key: &[u8]) -> Option<Interval> {
        let (length, rest) = key.split_first_chunk::<16>()?;
        let (months, days) = rest.split_first_chunk::<4>()?;
        let months = i32::from_be_bytes(*months) ^ i32::MIN;
        let days = i32::from_be_bytes(days.try_into().ok()?) ^ i32::MIN;
        let whole = Interval {
            months,
            days,
            micros: 0,
        }
        .length();
        let micros = (i128::from_be_bytes(*length) ^ i128::MIN).checked_sub(whole)?;
        let micros = i64::try_from(micros).ok()?;
        Some(Interval { months, days, micros })
    }

    /// Packs it into 128 bits: months, days and microseconds from the highest bit on.
    pub fn to_bits(self) -> i128 {
        i128::from(self.months) << 96 | i128::from(self.days as u32) << 64 | i128::from(self.micros as u64)
    }

    /// Takes an interval out of [`Interval::to_bits`].
    pub fn of_bits(bits: i128) -> Interval {
        Interval {
            months: (bits >> 96) as i32,
            days: (bits >> 64) as i32,
            micros: bits as i64,
        }
    }

    /// Reads an interval; `None` if the text is none, or one that is out of range.
    pub fn read(text: &str) -> Option<Interval> {
        let text = text.trim();
        match text.strip_prefix(['P', 'p']) {
            Some(rest) => read_iso(rest),
            None => read_words(text),
        }
    }

    /// Whether a text is no interval only because its numbers are too large.
    pub fn is_too_large(text: &str) -> bool {
        const LONG: usize = 10;
        let mut smaller = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let end = digits.max(rest.chars().next().map_or(1, char::len_utf8));
            smaller.push_str(if digits >= LONG { "1" } else { &rest[..end] });
            rest = &rest[end..];
        }
        Interval::read(text).is_none() && Interval::read(&smaller).is_some()
    }

    /// Writes the interval as PostgreSQL does, `IntervalStyle` being postgres.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut negative = false;
        let parts = [
            (self.months / 12, "year"),
            (self.months % 12, "mon"),
            (self.days, "day"),
        ];
        for (count, unit) in parts.into_iter().filter(|(count, _)| *count != 0) {
            let blank = if text.is_empty() { "" } else { " " };
            let plus = if negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            text.push_str(&format!("{blank}{plus}{count} {unit}{plural}"));
            negative = count < 0;
        }
        if text.is_empty() || self.micros != 0 {
            let blank = if text.is_empty() { "" } else { " " };
            let sign = match (self.micros < 0, negative) {
                (true, _) => "-",
                (false, true) => "+",
                (false, false) => "",
            };
            let micros = self.micros.unsigned_abs();
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            text.push_str(&format!("{blank}{sign}{hours:02}:{minutes:02}:{seconds:02}"));
            if rest != 0 {
                text.push_str(format!(".{rest:06}").trim_end_matches('0'));
            }
        }
        text
    }

    /// Writes the interval in words that DataFusion reads as well: `14 months 3 days 14706.7 seconds`.
    pub fn words(&self) -> String {
        let whole = [(self.months, "months"), (self.days, "days")];
        let whole = whole.into_iter().filter(|(count, _)| *count != 0);
        let mut parts: Vec<String> = whole.map(|(count, unit)| format!("{count} {unit}")).collect();
        if self.micros != 0 || parts.is_empty() {
            let sign = if self.micros < 0 { "-" } else { "" };
            let micros = self.micros.unsigned_abs();
            let seconds = format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
            parts.push(format!("{seconds} seconds"));
        }
        parts.join(" ")
    }

    fn add(&mut self, months: f64, days: f64, micros: f64) -> Option<()> {
        let fits =
            |value: f64| (value.is_finite() && value.abs() <= f64::from(i32::MAX)).then_some(value as i32);
        if !micros.is_finite() || micros.abs() >= i64::MAX as f64 {
            return None;
        }
        self.months = self.months.checked_add(fits(months)?)?;
        self.days = self.days.checked_add(fits(days)?)?;
        self.micros = self.micros.checked_add(micros as i64)?;
        Some(())
    }

    /// Adds a count of a unit, whose parts become smaller units.
    fn add_unit(&mut self, count: f64, unit: &str) -> Option<()> {
        let small = |unit_micros: f64| whole_micros(count * unit_micros);
        match unit {
            "us" | "usec" | "usecs" | "microsecond" | "microseconds" => self.add(0.0, 0.0, small(1.0)),
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => self.add(0.0, 0.0, small(1e3)),
            "s" | "sec" | "secs" | "second" | "seconds" => self.add(0.0, 0.0, small(1e6)),
            "m" | "min" | "mins" | "minute" | "minutes" => self.add(0.0, 0.0, small(6e7)),
            "h" | "hr" | "hrs" | "hour" | "hours" => self.add(0.0, 0.0, small(3.6e9)),
            "d" | "day" | "days" => self.add_days(count),
            "w" | "week" | "weeks" => self.add_days(count * 7.0),
            "mon" | "mons" | "month" | "months" => self.add_months(count),
            "y" | "yr" | "yrs" | "year" | "years" => self.add_months((count * 12.0).round_ties_even()),
            "dec" | "decs" | "decade" | "decades" => self.add_months((count * 120.0).round_ties_even()),
            "c" | "cent" | "century" | "centuries" => self.add_months((count * 1_200.0).round_ties_even()),
            "mil" | "mils" | "millennium" | "millennia" => {
                self.add_months((count * 12_000.0).round_ties_even())
            }
            _ => None,
        }
    }

    fn add_days(&mut self, days: f64) -> Option<()> {
        self.add(0.0, days.trunc(), whole_micros(days.fract() * DAY_MICROS as f64))
    }

    fn add_months(&mut self, months: f64) -> Option<()> {
        self.add(months.trunc(), 0.0, 0.0)?;
        self.add_days((months.fract() * MONTH_DAYS * 1e6).round_ties_even() / 1e6)
    }

    fn negated(self) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }
}

/// Rounds microseconds of a unit, halves towards zero (`AdjustFractMicroseconds` of PostgreSQL). Those of a time of day go to the even
/// neighbour.
fn whole_micros(micros: f64) -> f64 {
    let whole = micros.trunc();
    match (micros - whole).abs() > 0.5 {
        true => whole + micros.signum(),
        false => whole,
    }
}

/// What has not been read of a text.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn take(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !is(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn eat(&mut self, character: char) -> bool {
        let rest = self.0.strip_prefix(character);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn blanks(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Reads the sign before a number.
    fn sign(&mut self) -> f64 {
        match self.eat('-') {
            true => -1.0,
            false => {
                self.eat('+');
                1.0
            }
        }
    }

    /// Whether a time follows: `2:03`, with a sign or without.
    fn is_at_time(&self) -> bool {
        let rest = self.0.trim_start_matches(['-', '+']);
        let hours = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        hours.len() < rest.len() && hours.starts_with(':')
    }

    fn number(&mut self) -> Option<f64> {
        self.take(|c| c.is_ascii_digit() || c == '.').parse().ok()
    }
}

fn read_words(text: &str) -> Option<Interval> {
    let mut reader = Reader(text.strip_prefix('@').unwrap_or(text));
    let mut interval = Interval::default();
    let (mut any, mut ago) = (false, false);
    loop {
        reader.blanks();
        if reader.0.is_empty() {
            break;
        }
        if reader.0.eq_ignore_ascii_case("ago") && any {
            ago = true;
            break;
        }
        let sign = reader.sign();
        reader.blanks();
        let whole = reader.number()?;
        any = true;
        if reader.eat(':') {
            interval.add(0.0, 0.0, sign * read_time(whole, &mut reader)?)?;
        } else if reader.0.starts_with('-') && whole.fract() == 0.0 {
            // Years and months of the SQL standard.
            reader.eat('-');
            let months = reader.number().filter(|months| *months < 12.0)?;
            if reader.0.starts_with('-') {
                return None;
            }
            interval.add(sign * (whole * 12.0 + months), 0.0, 0.0)?;
        } else {
            reader.blanks();
            let unit = reader.take(|c| c.is_ascii_alphabetic()).to_ascii_lowercase();
            match unit.as_str() {
                // A number alone is seconds, if nothing follows.
                "" if reader.0.is_empty() => interval.add_unit(sign * whole, "s")?,
                // One before a time is days.
                "" if reader.is_at_time() => interval.add_days(sign * whole)?,
                unit => interval.add_unit(sign * whole, unit)?,
            }
        }
    }
    let interval = any.then_some(interval)?;
    match ago {
        true => interval.negated(),
        false => Some(interval),
    }
}

/// Reads what follows the hours; microseconds. Two numbers of which the second has a fraction are minutes and seconds.
fn read_time(hours: f64, reader: &mut Reader<'_>) -> Option<f64> {
    let minutes = reader.number().filter(|minutes| *minutes < 60.0)?;
    if minutes.fract() != 0.0 && !reader.0.starts_with(':') {
        return Some(hours * 6e7 + (minutes * 1e6).round_ties_even());
    }
    let seconds = match reader.eat(':') {
        true => reader.number().filter(|seconds| *seconds <= 60.0)?,
        false => 0.0,
    };
    Some(((hours * 3600.0 + minutes * 60.0) * 1e6) + (seconds * 1e6).round_ties_even())
}

fn read_iso(text: &str) -> Option<Interval> {
    let mut reader = Reader(text);
    let mut interval = Interval::default();
    let mut in_time = false;
    while !reader.0.is_empty() {
        if reader.eat('T') || reader.eat('t') {
            in_time = true;
        }
        let sign = reader.sign();
        let count = sign * reader.number()?;
        let unit = reader.0.chars().next()?;
        reader.eat(unit);
        let unit = match (unit.to_ascii_uppercase(), in_time) {
            ('Y', false) => "year",
            ('M', false) => "month",
            ('W', false) => "week",
            ('D', false) => "day",
            ('H', true) => "hour",
            ('M', true) => "minute",
            ('S', true) => "second",
            _ => return None,
        };
        interval.add_unit(count, unit)?;
    }
    (!text.is_empty()).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_and_written() {
        // What is read, and what PostgreSQL 15 writes of it.
        let cases = [
            (
                "1 year 2 mons 3 days 04:05:06.7",
                "1 year 2 mons 3 days 04:05:06.7",
            ),
            (
                "-1 year -2 mons +3 days -04:05:06",
                "-1 years -2 mons +3 days -04:05:06",
            ),
            ("0", "00:00:00"),
            ("1.5 days", "1 day 12:00:00"),
            ("1 mon -1 day", "1 mon -1 days"),
            ("-1 mon 1 sec", "-1 mons +00:00:01"),
            ("36:00:00", "36:00:00"),
            ("1 week", "7 days"),
            ("2 weeks ago", "-14 days"),
            ("@ 1 hour", "01:00:00"),
            ("P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"),
            ("P-1D", "-1 days"),
            ("1-2", "1 year 2 mons"),
            ("90", "00:01:30"),
            ("1 day 90", "1 day 00:01:30"),
            ("1.5 months", "1 mon 15 days"),
            ("0.5 year", "6 mons"),
            ("100 ms", "00:00:00.1"),
            ("1d 2h 3m 4s", "1 day 02:03:04"),
            ("12:34.5678", "00:12:34.5678"),
            ("1 2:03", "1 day 02:03:00"),
            ("1 -2:03", "1 day -02:03:00"),
        ];
        for (read, written) in cases {
            let interval = Interval::read(read);
            assert_eq!(
                interval.map(|interval| interval.text()).as_deref(),
                Some(written),
                "{read}"
            );
            let again = interval.and_then(|interval| Interval::read(&interval.words()));
            assert_eq!(again, interval, "{read}");
            assert_eq!(Interval::read(written), interval, "{written}");
        }
        for none in [
            "",
            "day",
            "1 foot",
            "ago",
            "P",
            "P1",
            "1:99",
            "3000000000 days",
            "1 day day",
            "é",
            "Pé",
            "P1é",
        ] {
            assert_eq!(Interval::read(none), None, "{none}");
        }
    }
}
