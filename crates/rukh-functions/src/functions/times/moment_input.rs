//! `to_date(text, pattern)` and `to_timestamp(text, pattern)` by PostgreSQL's patterns, those of `to_char`.
//!
//! A text is read part by part: blanks before a part are passed over, a number ends where its part does, or, where a separator, a word or the
//! end follows in the pattern or `FM` stands before, at the first character that is no digit. A separator of the pattern takes one of the text
//! if there is one, any other character takes one of any kind. What follows the last part is not looked at, and a text may end before its pattern. Without a year it is 1 BC;
//! years by `YYY`, `YY` and `Y` are those nearest to 2020. Source: PostgreSQL's manual, 9.8, and what PostgreSQL 15 answers.

#![warn(clippy::arithmetic_side_effects)]

use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, JULIAN_1970, days_from_civil};

/// Parts of a pattern; of those that begin alike the longest comes first.
const PARTS: [&str; 58] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "D", "FF1", "FF2", "FF3",
    "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J", "MI",
    "MM", "MONTH", "MON", "MS", "OF", "P.M.", "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ",
    "US", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y", "FM", "TM", "TH", "SP",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const DAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

const ROMAN: [&str; 12] = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii",
];

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// A part, and whether `FM` stands before it.
    Part(&'static str, bool),
    /// A blank or a sign.
    Separator(char),
    /// A character in quotes, or one that the ending of an ordinal has.
    Character(char),
    /// Any other character.
    Letter(char),
}

/// What a text says of a moment.
#[derive(Debug, Default)]
struct Said {
    year: Option<i64>,
    century: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    week: Option<i64>,
    week_of_month: Option<i64>,
    weekday: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    iso_day_of_year: Option<i64>,
    julian: Option<i64>,
    hour: Option<i64>,
    half_hour: Option<i64>,
    is_afternoon: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    of_day: Option<i64>,
    millis: Option<i64>,
    micros: Option<i64>,
    is_before_christ: Option<i64>,
    zone_hours: Option<i64>,
    zone_minutes: Option<i64>,
    zone_is_west: bool,
    /// To how many digits `FF1` to `FF6` say that seconds are rounded.
    digits: Option<u32>,
}

/// Reads a text by a pattern: microseconds since 1970 and, of a day, the days.
///
/// # Errors
/// 22007 where the text is not as the pattern says, 22008 where there is no such day or time.
pub fn read(text: &str, pattern: &str) -> Result<(i64, i64), SqlError> {
    let mut said = Said::default();
    let pieces = pieces(pattern)?;
    let mut rest = text;
    for (at, piece) in pieces.iter().enumerate() {
        if rest.is_empty() {
            break;
        }
        let next = pieces.get(at.saturating_add(1));
        match piece {
            Piece::Separator(_) => {
                let mut chars = rest.chars();
                if chars.next().is_some_and(is_separator) {
                    rest = chars.as_str();
                }
            }
            Piece::Character(_) | Piece::Letter(_) => {
                let mut chars = rest.chars();
                chars.next();
                rest = chars.as_str();
            }
            Piece::Part(name, is_filled) => {
                rest = said.part(name, rest.trim_start(), *is_filled || is_end(next))?;
            }
        }
    }
    said.moment(text)
}

/// Whether digits end where the next piece of a pattern begins: no digits are read there.
fn is_end(next: Option<&Piece>) -> bool {
    const WORDS: [&str; 15] = [
        "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "DAY", "DY", "MONTH", "MON", "P.M.", "PM", "RM", "TZH",
        "FX",
    ];
    match next {
        Some(Piece::Part(name, _)) => WORDS.contains(name),
        _ => true,
    }
}

/// What a text says to the last character: days since 1970, and microseconds of the day as the clocks of the zone show them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub days: i64,
    pub micros: i64,
    pub is_dated: bool,
    pub is_timed: bool,
    /// Seconds east of UTC.
    pub zone: Option<i64>,
}

/// Reads a text by a pattern as SQL/JSON does: separators are those of the pattern, neither has anything that the other has not.
///
/// # Errors
/// Those of [`read`], and 22007 where text and pattern differ.
pub(crate) fn read_exactly(text: &str, pattern: &str) -> Result<Exact, SqlError> {
    let mut said = Said::default();
    let mut rest = text;
    let short = || wrong("input string is too short for datetime format".to_string());
    let pieces = pieces(pattern)?;
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces.get(at.saturating_add(1));
        match piece {
            Piece::Part(name, is_filled) => {
                rest = rest.trim_start();
                if rest.is_empty() {
                    return Err(short());
                }
                rest = said.part(name, rest, *is_filled || is_end(next))?;
            }
            Piece::Separator(' ') => rest = rest.trim_start(),
            Piece::Separator(expected) | Piece::Character(expected) => {
                let what = match piece {
                    Piece::Separator(_) => "separator",
                    _ => "character",
                };
                rest = match rest.strip_prefix(*expected) {
                    Some(rest) => rest,
                    None if rest.is_empty() => return Err(short()),
                    None => {
                        let message = format!("unmatched format {what} \"{expected}\"");
                        return Err(wrong(message));
                    }
                };
            }
            Piece::Letter(letter) => {
                let message = format!("invalid datetime format separator: \"{letter}\"");
                return Err(wrong(message));
            }
        }
    }
    if !rest.trim_start().is_empty() {
        let message = "trailing characters remain in input string after datetime format";
        return Err(wrong(message.to_string()));
    }
    let (days, micros) = said.clock(text)?;
    let is_of_time = |name: &str| {
        let parts = ["HH", "MI", "SS", "MS", "US", "FF", "AM", "PM", "A.M", "P.M"];
        parts.iter().any(|part| name.starts_with(part))
    };
    let is_of_zone = |name: &str| name.starts_with("TZ");
    let has = |test: &dyn Fn(&str) -> bool| {
        pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Part(name, _) if test(name)))
    };
    Ok(Exact {
        days,
        micros,
        is_dated: has(&|name| !is_of_time(name) && !is_of_zone(name)),
        is_timed: has(&is_of_time),
        zone: said.zone().map(|minutes| minutes.saturating_mul(60)),
    })
}

fn is_separator(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_alphanumeric() || c.is_whitespace()
}

fn pieces(pattern: &str) -> Result<Vec<Piece>, SqlError> {
    let (mut found, mut rest, mut is_filled) = (Vec::new(), pattern, false);
    while let Some(first) = rest.chars().next() {
        let part = PARTS.iter().find(|part| {
            let head = rest.get(..part.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(part))
        });
        if let Some(part) = part {
            rest = &rest[part.len()..];
            match *part {
                "FM" => is_filled = true,
                // Languages and exactness say nothing here.
                "TM" | "FX" | "SP" => {}
                // The ending of an ordinal.
                "TH" => found.extend([Piece::Letter('t'), Piece::Letter('h')]),
                "TZ" | "OF" => {
                    let message = format!("formatting field \"{part}\" is only supported in to_char");
                    return Err(SqlError::statement("0A000", message));
                }
                part => {
                    found.push(Piece::Part(part, is_filled));
                    is_filled = false;
                }
            }
            continue;
        }
        rest = &rest[first.len_utf8()..];
        match first {
            '"' => {
                let end = rest.find('"').unwrap_or(rest.len());
                found.extend(rest[..end].chars().map(Piece::Character));
                rest = rest.get(end.saturating_add(1)..).unwrap_or_default();
            }
            c if is_separator(c) => found.push(Piece::Separator(c)),
            c => found.push(Piece::Letter(c)),
        }
    }
    Ok(found)
}

fn outside(text: &str) -> SqlError {
    SqlError::statement("22008", format!("date/time field value out of range: \"{text}\""))
}

fn wrong(message: String) -> SqlError {
    SqlError::statement("22007", message)
}

/// Sets what a text says once; fails if it has said something else.
fn set(place: &mut Option<i64>, value: i64, name: &str) -> Result<(), SqlError> {
    match place.replace(value) {
        Some(before) if before != value => Err(wrong(format!(
            "conflicting values for \"{name}\" field in formatting string"
        ))
        .with_detail("This value contradicts a previous setting for the same field type.")),
        _ => Ok(()),
    }
}

/// Reads a number of so many characters, or of all the digits that there are; returns it, how many digits it has, and what follows.
fn number<'t>(
    text: &'t str,
    width: usize,
    is_open: bool,
    name: &str,
) -> Result<(i64, usize, &'t str), SqlError> {
    let field = match is_open {
        true => text,
        false => text.get(..width).unwrap_or(text),
    };
    let left = text.chars().count();
    if !is_open && left < width {
        let message = format!("source string too short for \"{name}\" formatting field");
        let detail = format!("Field requires {width} characters, but only {left} remain.");
        return Err(wrong(message)
            .with_detail(detail)
            .with_hint("If your source string is not fixed-width, try using the \"FM\" modifier."));
    }
    let sign = usize::from(field.starts_with(['-', '+']));
    let digits = field[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let length = digits.saturating_add(sign);
    let invalid = |detail: &str| {
        let shown: String = text.chars().take(width).collect();
        wrong(format!("invalid value \"{shown}\" for \"{name}\"")).with_detail(detail)
    };
    if digits == 0 {
        return Err(invalid("Value must be an integer."));
    }
    if !is_open && length < width {
        let detail = format!("Field requires {width} characters, but only {length} could be parsed.");
        return Err(invalid(&detail)
            .with_hint("If your source string is not fixed-width, try using the \"FM\" modifier."));
    }
    let value = field[..length].parse::<i64>().ok();
    match value.filter(|value| i32::try_from(*value).is_ok()) {
        Some(value) => Ok((value, digits, &text[length..])),
        None => {
            let message = format!("value for \"{name}\" in source string is out of range");
            Err(SqlError::statement("22008", message)
                .with_detail("Value must be in the range -2147483648 to 2147483647."))
        }
    }
}

/// Reads one of some words, or its first three letters; returns its place and what follows.
fn word<'t>(text: &'t str, words: &[&str], is_short: bool, name: &str) -> Result<(i64, &'t str), SqlError> {
    for (at, word) in words.iter().enumerate() {
        let word = if is_short { &word[..3] } else { word };
        if text
            .get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
        {
            return Ok((at as i64, &text[word.len()..]));
        }
    }
    let shown: String = text.chars().take_while(|c| !c.is_whitespace()).collect();
    Err(wrong(format!("invalid value \"{shown}\" for \"{name}\""))
        .with_detail("The given value did not match any of the allowed values for this field."))
}

/// Returns the year nearest to 2020 that ends in digits.
#[expect(clippy::arithmetic_side_effects, reason = "a year of three digits")]
fn nearest(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "numbers of 32 bits, multiplied by constants in 64"
)]
impl Said {
    /// Reads a part; returns what follows.
    fn part<'t>(&mut self, name: &'static str, text: &'t str, is_open: bool) -> Result<&'t str, SqlError> {
        // Places, and how many digits each has.
        let (place, width) = match name {
            "MM" => (&mut self.month, 2),
            "DD" => (&mut self.day, 2),
            "DDD" => (&mut self.day_of_year, 3),
            "D" => (&mut self.weekday, 1),
            "WW" => (&mut self.week, 2),
            "W" => (&mut self.week_of_month, 1),
            "IW" => (&mut self.iso_week, 2),
            "ID" => (&mut self.iso_day, 1),
            "IDDD" => (&mut self.iso_day_of_year, 3),
            "J" => {
                let (value, _, rest) = number(text, text.len(), true, name)?;
                set(&mut self.julian, value, name)?;
                return Ok(rest);
            }
            "CC" => (&mut self.century, 2),
            "HH24" => (&mut self.hour, 2),
            "HH12" | "HH" => (&mut self.half_hour, 2),
            "MI" => (&mut self.minute, 2),
            "SS" => (&mut self.second, 2),
            "SSSS" | "SSSSS" => (&mut self.of_day, 5),
            "TZM" => (&mut self.zone_minutes, 2),
            "TZH" => {
                self.zone_is_west = text.starts_with('-');
                let digits = text.trim_start_matches(['+', '-']);
                let (value, _, rest) = number(digits, 2, is_open, name)?;
                set(&mut self.zone_hours, value, name)?;
                return Ok(rest);
            }
            "MS" | "FF3" | "US" | "FF6" | "FF1" | "FF2" | "FF4" | "FF5" => {
                return self.fraction(name, text, is_open);
            }
            "MON" | "MONTH" | "RM" | "DAY" | "DY" => {
                let (place, words) = match name {
                    "DAY" | "DY" => (&mut self.weekday, DAYS.as_slice()),
                    _ => (&mut self.month, MONTHS.as_slice()),
                };
                let (at, rest) = match name {
                    "RM" => {
                        let mut longest: Vec<(usize, &str)> = ROMAN.into_iter().enumerate().collect();
                        longest.sort_by_key(|(_, word)| std::cmp::Reverse(word.len()));
                        let words: Vec<&str> = longest.iter().map(|(_, word)| *word).collect();
                        let (found, rest) = word(text, &words, false, name)?;
                        let at = usize::try_from(found).ok().and_then(|at| longest.get(at));
                        (at.map_or(0, |(at, _)| *at as i64), rest)
                    }
                    _ => word(text, words, matches!(name, "MON" | "DY"), name)?,
                };
                set(place, at + 1, name)?;
                return Ok(rest);
            }
            "AM" | "PM" | "A.M." | "P.M." | "AD" | "BC" | "A.D." | "B.C." => {
                let words = match (name.len(), name.contains('M')) {
                    (2, true) => ["am", "pm"],
                    (_, true) => ["a.m.", "p.m."],
                    (2, false) => ["ad", "bc"],
                    (_, false) => ["a.d.", "b.c."],
                };
                let (at, rest) = word(text, &words, false, name)?;
                let place = match name.contains('M') {
                    true => &mut self.is_afternoon,
                    false => &mut self.is_before_christ,
                };
                set(place, at, name)?;
                return Ok(rest);
            }
            // Quarters are not used, and not looked at.
            "Q" => {
                let (_, _, rest) = number(text, 1, is_open, name)?;
                return Ok(rest);
            }
            "Y,YYY" => {
                let invalid = || wrong(format!("invalid input string for \"{name}\""));
                let (thousands, rest) = text.split_once(',').ok_or_else(invalid)?;
                let (digits, rest) = rest.split_at_checked(3).ok_or_else(invalid)?;
                let (thousands, digits): (i32, i32) = (
                    thousands.trim().parse().map_err(|_| invalid())?,
                    digits.parse().map_err(|_| invalid())?,
                );
                set(
                    &mut self.year,
                    i64::from(thousands) * 1000 + i64::from(digits),
                    name,
                )?;
                return Ok(rest);
            }
            _ => {
                let (value, digits, rest) = number(text, name.len(), is_open, name)?;
                let is_short = name.len() < 4 && digits < 4 && value >= 0;
                let value = if is_short { nearest(value) } else { value };
                let place = match name.starts_with('I') {
                    true => &mut self.iso_year,
                    false => &mut self.year,
                };
                set(place, value, name)?;
                return Ok(rest);
            }
        };
        let (value, _, rest) = number(text, width, is_open, name)?;
        set(place, value, name)?;
        Ok(rest)
    }

    fn fraction<'t>(&mut self, name: &str, text: &'t str, is_open: bool) -> Result<&'t str, SqlError> {
        let (width, place) = match name {
            "MS" => (3, &mut self.millis),
            "FF1" => (1, &mut self.micros),
            "FF2" => (2, &mut self.micros),
            "FF3" => (3, &mut self.micros),
            "FF4" => (4, &mut self.micros),
            "FF5" => (5, &mut self.micros),
            _ => (6, &mut self.micros),
        };
        if let Some(digits) = name.strip_prefix("FF") {
            self.digits = digits.parse().ok();
        }
        let (value, digits, rest) = number(text, width, is_open, name)?;
        let all = if name == "MS" { 3 } else { 6_usize };
        let scale = 10_i64.pow(u32::try_from(all.saturating_sub(digits)).unwrap_or(0));
        set(place, value.saturating_mul(scale), name)?;
        Ok(rest)
    }

    /// Returns how many minutes east of UTC a zone is.
    fn zone(&self) -> Option<i64> {
        if self.zone_hours.is_none() && self.zone_minutes.is_none() {
            return None;
        }
        let minutes = self.zone_hours.unwrap_or(0) * 60 + self.zone_minutes.unwrap_or(0);
        Some(if self.zone_is_west { -minutes } else { minutes })
    }

    /// Returns the moment, and its day.
    fn moment(&self, text: &str) -> Result<(i64, i64), SqlError> {
        let (days, time) = self.clock(text)?;
        let zone = self.zone().unwrap_or(0);
        let whole = days
            .checked_mul(DAY_MICROS)
            .and_then(|micros| micros.checked_add(time));
        let moment = whole.and_then(|micros| micros.checked_sub(zone * 60_000_000));
        moment.map(|moment| (moment, days)).ok_or_else(|| outside(text))
    }

    /// Returns the day, and the microseconds of it that the clocks show.
    fn clock(&self, text: &str) -> Result<(i64, i64), SqlError> {
        let outside = || outside(text);
        let days = self.days().ok_or_else(outside)?;
        let mut hour = self.hour.unwrap_or(0);
        if let Some(half) = self.half_hour {
            if !(1..=12).contains(&half) {
                let message = format!("hour \"{half}\" is invalid for the 12-hour clock");
                return Err(
                    wrong(message).with_hint("Use the 24-hour clock, or give an hour between 1 and 12.")
                );
            }
            hour = match (self.is_afternoon, half) {
                (Some(1), 12) => 12,
                (Some(1), half) => half + 12,
                (_, 12) => 0,
                (_, half) => half,
            };
        }
        let (mut minute, mut second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        if let Some(of_day) = self.of_day {
            (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        }
        let mut micros = self.millis.unwrap_or(0) * 1_000 + self.micros.unwrap_or(0);
        if let Some(dropped) = self.digits.and_then(|digits| 6_u32.checked_sub(digits)) {
            let step = 10_i64.pow(dropped);
            micros = (micros + step / 2) / step * step;
        }
        let is_time = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..=1_000_000).contains(&micros);
        if !is_time {
            return Err(outside());
        }
        Ok((days, ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros))
    }

    /// Returns the day since 1970; `None` where there is no such day.
    fn days(&self) -> Option<i64> {
        if let Some(julian) = self.julian {
            return Some(julian - JULIAN_1970);
        }
        // A negative year is one before Christ, and one before Christ of those is after.
        let before_christ = |year: i64| match (self.is_before_christ == Some(1), year) {
            (true, 1..) => 1 - year,
            (true, _) => -year,
            (false, ..0) => year + 1,
            (false, _) => year,
        };
        if let Some(year) = self.iso_year {
            let year = before_christ(year);
            // The Monday of the week of January 4.
            let fourth = days_from_civil(year, 1, 4);
            let monday = fourth - (fourth + 3).rem_euclid(7);
            if let Some(day) = self.iso_day_of_year {
                return (1..=371).contains(&day).then(|| monday + day - 1);
            }
            let week = self.iso_week.unwrap_or(1);
            let day = self
                .iso_day
                .or(self.weekday.map(|day| (day + 5) % 7 + 1))
                .unwrap_or(1);
            return ((1..=53).contains(&week) && (1..=7).contains(&day))
                .then(|| monday + (week - 1) * 7 + day - 1);
        }
        let year = match (self.year, self.century) {
            (Some(year), Some(century)) if (0..=99).contains(&(year % 100)) && year < 100 => {
                (century - 1) * 100 + year
            }
            (Some(year), _) => year,
            (None, Some(century)) => (century - 1) * 100 + 1,
            (None, None) => 0,
        };
        let year = before_christ(year);
        let first = days_from_civil(year, 1, 1);
        // 0 says nothing.
        let said = |part: Option<i64>| part.filter(|part| *part != 0);
        if let (Some(day), None) = (said(self.day_of_year), said(self.month)) {
            let length = days_from_civil(year + 1, 1, 1) - first;
            return (1..=length).contains(&day).then(|| first + day - 1);
        }
        if let (Some(week), None) = (said(self.week), said(self.month)) {
            return (1..=53).contains(&week).then(|| first + (week - 1) * 7);
        }
        let month = u32::try_from(said(self.month).unwrap_or(1))
            .ok()
            .filter(|month| (1..=12).contains(month))?;
        let day = match (said(self.day), said(self.week_of_month)) {
            (Some(day), _) => day,
            (None, Some(week)) => (week - 1) * 7 + 1,
            (None, None) => 1,
        };
        let of_month = days_from_civil(year, month, 1);
        let next = match month {
            12 => days_from_civil(year + 1, 1, 1),
            month => days_from_civil(year, month + 1, 1),
        };
        (1..=next - of_month).contains(&day).then(|| of_month + day - 1)
    }
}
