//! Reads dates, times of day and timestamps in ISO 8601 form, as PostgreSQL does.
//!
//! | part | forms                                                                              |
//! |------|------------------------------------------------------------------------------------|
//! | date | `2012-01-31`, `2012/1/31`, `20120131`, `epoch`                                      |
//! | time | `12:30`, `12:30:15`, `12:30:15.123456`, `1230`, `123015`, `T` or blanks before it, `AM`/`PM` |
//! | zone | `Z`, `UTC`, `+02`, `+02:00`, `+0200`, `-03:30:15`                                   |
//!
//! Deliberately not here: named time zones, years before 1, `infinity`, `now`, and dates whose
//! order of day and month depends on a setting.

use crate::times::calendar::{DAY_MICROS, days_from_civil, days_in_month};

/// The parts found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts {
    /// Days since 1970-01-01.
    pub date: Option<i64>,
    /// Microseconds of the day, up to and including 24:00.
    pub time: Option<i64>,
    /// Seconds east of UTC.
    pub zone: Option<i64>,
}

/// Why a text is no date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The text has no such form.
    Syntax,
    /// A field, such as the month, is out of range.
    Field,
    /// A zone is further from UTC than any is.
    Zone,
}

/// Reads a text that holds a date, a time, or both.
pub(crate) fn parse(text: &str) -> Result<Parts, Failure> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("epoch") {
        return Ok(Parts {
            date: Some(0),
            ..Parts::default()
        });
    }
    let mut scanner = Scanner {
        rest: text.as_bytes(),
    };
    let mut parts = Parts::default();
    if scanner.at_date() {
        parts.date = Some(scanner.date()?);
        if !scanner.skip_date_separator()? {
            return Ok(parts);
        }
    } else if matches!(scanner.peek(), Some(b'T' | b't')) {
        scanner.advance(1);
    }
    parts.time = Some(scanner.time()?);
    scanner.skip_blanks();
    parts.zone = scanner.zone()?;
    scanner.skip_blanks();
    if scanner.rest.is_empty() {
        Ok(parts)
    } else {
        Err(Failure::Syntax)
    }
}

/// Reads a text of digits, or of a sign and digits, as PostgreSQL reads such a date: `20240229`, `240229`, `-1600` for a zone.
///
/// | digits     | are                                      |
/// |------------|------------------------------------------|
/// | 1 or 2     | a day, if they are from 1 to 31, or a year |
/// | 6          | year, month and day, the year of two digits |
/// | 7 and more | year, month and day                      |
pub(crate) fn parse_digits(text: &str) -> Option<Result<Parts, Failure>> {
    let text = text.trim();
    let (zone, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (digits, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(digits) || !all_digits(fraction) {
        return None;
    }
    let number = |digits: &str| digits.parse::<i64>().unwrap_or(i64::MAX);
    let has_point = text.contains('.');
    Some(match digits.len() {
        length if zone => {
            let (hours, minutes) = match length {
                1 | 2 => (number(digits), 0),
                _ => (number(digits) / 100, number(digits) % 100),
            };
            Err(if hours > 15 || minutes > 59 {
                Failure::Zone
            } else {
                Failure::Syntax
            })
        }
        length if has_point => Err(if length < 10 {
            Failure::Syntax
        } else {
            Failure::Field
        }),
        1 | 2 if (1..=31).contains(&number(digits)) => Err(Failure::Syntax),
        1 | 2 => Err(Failure::Field),
        3..=5 => Err(Failure::Syntax),
        length => {
            let (year, rest) = digits.split_at(length - 4);
            let year = match (length, number(year)) {
                (6, year @ ..70) => 2000 + year,
                (6, year) => 1900 + year,
                (_, year) => year,
            };
            let (month, day) = rest.split_at(2);
            checked_date(year, number(month), number(day)).map(|date| Parts {
                date: Some(date),
                ..Parts::default()
            })
        }
    })
}

/// A text being read from the left.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.advance(1);
        }
    }

    /// Steps over `byte` if it is next.
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    /// Steps over `word`, in any case, if it is next and no letter follows.
    fn skip_word(&mut self, word: &str) -> bool {
        let Some(head) = self.rest.get(..word.len()) else {
            return false;
        };
        let ends = self
            .rest
            .get(word.len())
            .is_none_or(|byte| !byte.is_ascii_alphabetic());
        let found = ends && head.eq_ignore_ascii_case(word.as_bytes());
        if found {
            self.advance(word.len());
        }
        found
    }

    fn digit_count(&self) -> usize {
        self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Reads `count` digits, which the caller has counted.
    fn take_digits(&mut self, count: usize) -> Result<i64, Failure> {
        if count == 0 {
            return Err(Failure::Syntax);
        }
        let digits = self.rest.get(..count).ok_or(Failure::Syntax)?;
        let mut number: i64 = 0;
        for digit in digits {
            let next = number
                .checked_mul(10)
                .and_then(|n| n.checked_add(i64::from(digit - b'0')));
            number = next.ok_or(Failure::Field)?;
        }
        self.advance(count);
        Ok(number)
    }

    /// Reads a number of at most `digits_max` digits.
    fn number(&mut self, digits_max: usize) -> Result<i64, Failure> {
        match self.digit_count() {
            count if count <= digits_max => self.take_digits(count),
            _ => Err(Failure::Syntax),
        }
    }

    /// Whether a date comes next: eight digits, or digits before a date separator.
    fn at_date(&self) -> bool {
        let count = self.digit_count();
        match self.rest.get(count) {
            Some(b'-' | b'/') => count > 0,
            None | Some(b'T' | b't' | b' ') => count == 8,
            _ => false,
        }
    }

    fn date(&mut self) -> Result<i64, Failure> {
        let digits = self.digit_count();
        let (year, month, day);
        if matches!(self.rest.get(digits), Some(b'-' | b'/')) {
            if digits < 3 {
                return Err(Failure::Syntax);
            }
            year = self.take_digits(digits)?;
            let separator = self.peek().ok_or(Failure::Syntax)?;
            self.advance(1);
            month = self.number(2)?;
            if !self.skip(separator) {
                return Err(Failure::Syntax);
            }
            day = self.number(2)?;
        } else {
            year = self.take_digits(digits - 4)?;
            month = self.take_digits(2)?;
            day = self.take_digits(2)?;
        }
        checked_date(year, month, day)
    }

    /// Steps over what stands between date and time; `false` if the text ends here.
    fn skip_date_separator(&mut self) -> Result<bool, Failure> {
        if matches!(self.peek(), Some(b'T' | b't')) {
            self.advance(1);
            return Ok(true);
        }
        let before = self.rest.len();
        self.skip_blanks();
        match self.peek() {
            None => Ok(false),
            Some(_) if self.rest.len() < before => Ok(true),
            Some(_) => Err(Failure::Syntax),
        }
    }

    /// Reads a time of day in microseconds.
    fn time(&mut self) -> Result<i64, Failure> {
        let (hour, minute, second) = self.clock()?;
        let micros = if self.skip(b'.') { self.fraction()? } else { 0 };
        let blanks_from = self.rest;
        self.skip_blanks();
        let hour = if self.skip_word("am") {
            half_day_hour(hour)? % 12
        } else if self.skip_word("pm") {
            half_day_hour(hour)? % 12 + 12
        } else {
            self.rest = blanks_from;
            hour
        };
        if hour > 24 || minute > 59 || second > 60 {
            return Err(Failure::Field);
        }
        let total = ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros;
        if total > DAY_MICROS {
            Err(Failure::Field)
        } else {
            Ok(total)
        }
    }

    /// Reads hours, minutes and whole seconds.
    fn clock(&mut self) -> Result<(i64, i64, i64), Failure> {
        let digits = self.digit_count();
        if digits == 4 || digits == 6 {
            let (hour, minute) = (self.take_digits(2)?, self.take_digits(2)?);
            let second = if digits == 6 { self.take_digits(2)? } else { 0 };
            return Ok((hour, minute, second));
        }
        let hour = self.number(2)?;
        if !self.skip(b':') {
            // An hour alone is a time only with AM or PM.
            let mut ahead = Scanner { rest: self.rest };
            ahead.skip_blanks();
            let half_day = ahead.skip_word("am") || ahead.skip_word("pm");
            return if half_day {
                Ok((hour, 0, 0))
            } else {
                Err(Failure::Syntax)
            };
        }
        let minute = self.number(2)?;
        let second = if self.skip(b':') { self.number(2)? } else { 0 };
        Ok((hour, minute, second))
    }

    /// Reads the digits of a second's fraction, rounded to microseconds.
    fn fraction(&mut self) -> Result<i64, Failure> {
        let count = self.digit_count();
        let mut micros = 0;
        for position in 0..6 {
            let digit = if position < count {
                i64::from(self.rest[position] - b'0')
            } else {
                0
            };
            micros = micros * 10 + digit;
        }
        if count > 6 && self.rest[6] >= b'5' {
            micros += 1;
        }
        self.advance(count);
        Ok(micros)
    }

    /// Reads a time zone as seconds east of UTC, if there is one.
    fn zone(&mut self) -> Result<Option<i64>, Failure> {
        if ["z", "utc", "gmt"].iter().any(|name| self.skip_word(name)) {
            return Ok(Some(0));
        }
        let sign = match self.peek() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Ok(None),
        };
        self.advance(1);
        let (hour, minute, second) = self.displacement()?;
        if hour > 15 || minute > 59 || second > 59 {
            return Err(Failure::Zone);
        }
        Ok(Some(sign * ((hour * 60 + minute) * 60 + second)))
    }

    /// Reads `02`, `02:00`, `0200` or `02:00:00`.
    fn displacement(&mut self) -> Result<(i64, i64, i64), Failure> {
        if self.digit_count() == 4 {
            return Ok((self.take_digits(2)?, self.take_digits(2)?, 0));
        }
        let hour = self.number(2)?;
        let minute = if self.skip(b':') { self.number(2)? } else { 0 };
        let second = if self.skip(b':') { self.number(2)? } else { 0 };
        Ok((hour, minute, second))
    }
}

fn checked_date(year: i64, month: i64, day: i64) -> Result<i64, Failure> {
    // Seven digits hold every year of the DATE type; the caller checks the type's limits.
    if !(1..=9_999_999).contains(&year) || !(1..=12).contains(&month) {
        return Err(Failure::Field);
    }
    let (month, day) = (month as u32, day as u32);
    if day < 1 || day > days_in_month(year, month) {
        return Err(Failure::Field);
    }
    Ok(days_from_civil(year, month, day))
}

/// An hour written with AM or PM is 1 to 12; 0 is taken too.
fn half_day_hour(hour: i64) -> Result<i64, Failure> {
    if hour <= 12 { Ok(hour) } else { Err(Failure::Field) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(date: Option<i64>, time: Option<i64>, zone: Option<i64>) -> Result<Parts, Failure> {
        Ok(Parts { date, time, zone })
    }

    #[test]
    fn reads_the_forms_of_the_table() {
        let noon = 43_200_000_000;
        let cases = [
            ("1970-01-02", parts(Some(1), None, None)),
            (" 1970/1/2 ", parts(Some(1), None, None)),
            ("19700102", parts(Some(1), None, None)),
            ("19700102T120000", parts(Some(1), Some(noon), None)),
            ("1970-01-02 12:00", parts(Some(1), Some(noon), None)),
            (
                "1970-01-02T12:00:00.0000005",
                parts(Some(1), Some(noon + 1), None),
            ),
            (
                "1970-01-02 12:00:00.5 +02:30",
                parts(Some(1), Some(noon + 500_000), Some(9000)),
            ),
            (
                "1970-01-02 12:00:00-0330",
                parts(Some(1), Some(noon), Some(-12_600)),
            ),
            ("1970-01-02 12:00:00Z", parts(Some(1), Some(noon), Some(0))),
            ("1970-01-02 12:00:00 utc", parts(Some(1), Some(noon), Some(0))),
            ("12:00", parts(None, Some(noon), None)),
            ("12 am", parts(None, Some(0), None)),
            ("12:00 PM", parts(None, Some(noon), None)),
            ("24:00:00", parts(None, Some(DAY_MICROS), None)),
            ("23:59:60", parts(None, Some(DAY_MICROS), None)),
            ("epoch", parts(Some(0), None, None)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn tells_bad_fields_from_bad_syntax() {
        let field = [
            "2012-13-01",
            "2012-02-30",
            "0000-01-01",
            "24:00:01",
            "12:60",
            "13:00 pm",
        ];
        for text in field {
            assert_eq!(parse(text), Err(Failure::Field), "{text}");
        }
        let syntax = [
            "",
            "x",
            "201",
            "2012-01",
            "infinity",
            "12",
            "2012-01-01x",
            "1:2:3:4",
        ];
        for text in syntax {
            assert_eq!(parse(text), Err(Failure::Syntax), "{text}");
        }
    }
}
