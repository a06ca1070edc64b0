//! What each token of a text means, given those before it.

use super::parts::{Day, Failure, Moment, Parts};
use super::tokens::{Kind, Token, tokens};
use super::words::{Unit, Word, word};
use crate::times::calendar::{DAY_MICROS, JULIAN_1970, days_from_civil, days_in_month};
use crate::times::zones::Zone;

/// No zone of a text is more hours from UTC.
const OFFSET_HOURS_MAX: i64 = 15;

/// The fields found in a text.
#[derive(Debug, Default)]
pub(super) struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    /// Of a Julian day; its time is `time`.
    julian: Option<i64>,
    from_today: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    micros: i64,
    zone: Option<Zone>,
    is_summer: bool,
    is_afternoon: Option<bool>,
    is_before_christ: Option<bool>,
    /// A day of the week was named.
    weekday: Option<()>,
    /// A moment that one word names.
    moment: Option<Moment>,
    has_month_name: bool,
    /// The year was written with one or two digits.
    has_short_year: bool,
    /// What the last word says that the next number is.
    unit: Option<Unit>,
    /// The text is one of a time of day: no date is looked for.
    is_time: bool,
}

/// Sets a field that was not set before.
fn set<T>(field: &mut Option<T>, value: T) -> Result<(), Failure> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(Failure::Syntax),
    }
}

/// Splits a text behind the number at its start.
fn leading(text: &str) -> Result<(i64, &str), Failure> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Ok((0, rest));
    }
    match digits.parse::<i32>() {
        Ok(number) => Ok((i64::from(number), rest)),
        Err(_) => Err(Failure::Field),
    }
}

/// Reads a number and nothing else.
fn number(text: &str) -> Result<i64, Failure> {
    match leading(text)? {
        (number, "") if !text.is_empty() => Ok(number),
        _ => Err(Failure::Syntax),
    }
}

/// Reads `.5` as microseconds, rounded.
fn fraction(text: &str) -> Result<i64, Failure> {
    let digits = text.strip_prefix('.').ok_or(Failure::Syntax)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::Syntax);
    }
    let digit = |place: usize| {
        digits
            .as_bytes()
            .get(place)
            .map_or(0, |byte| i64::from(byte - b'0'))
    };
    let micros = (0..6).fold(0, |micros, place| micros * 10 + digit(place));
    Ok(micros + i64::from(digit(6) >= 5))
}

/// Reads `02`, `0230`, `02:30` or `02:30:15` as a zone east of UTC by its sign.
fn offset(sign: i64, text: &str) -> Result<Zone, Failure> {
    let too_far = |failure| match failure {
        Failure::Field => Failure::Offset,
        other => other,
    };
    let (mut hours, mut rest) = leading(text).map_err(too_far)?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (minutes, rest) = leading(after).map_err(too_far)?;
        if let Some(after) = rest.strip_prefix(':') {
            (seconds, rest) = leading(after).map_err(too_far)?;
        }
    } else if rest.is_empty() && text.len() > 2 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    if hours > OFFSET_HOURS_MAX || minutes > 59 || seconds > 59 {
        return Err(Failure::Offset);
    }
    match rest {
        "" => Ok(Zone::of_seconds(sign * ((hours * 60 + minutes) * 60 + seconds))),
        _ => Err(Failure::Syntax),
    }
}

impl Fields {
    /// Reads a date, or a date and a time, in lower case.
    pub(super) fn of_moment(text: &str) -> Result<Fields, Failure> {
        let mut fields = Fields::default();
        let tokens = split(text)?;
        for (place, token) in tokens.iter().enumerate() {
            match token.kind {
                Kind::Date => fields.date_token(token.text)?,
                Kind::Number => fields.number_token(token.text)?,
                _ => fields.other_token(token, tokens.get(place + 1))?,
            }
        }
        Ok(fields)
    }

    /// Reads a time of day in lower case; a date may stand before it.
    pub(super) fn of_time(text: &str) -> Result<Fields, Failure> {
        let mut fields = Fields {
            is_time: true,
            ..Fields::default()
        };
        let tokens = split(text)?;
        let has_kind = |token: Option<&Token<'_>>, kind| token.is_some_and(|token| token.kind == kind);
        let ends_in_date = has_kind(tokens.last(), Kind::Date) && tokens.len() > 1;
        for (place, token) in tokens.iter().enumerate() {
            let may_be_date = place == 0 && ends_in_date;
            match token.kind {
                Kind::Date if may_be_date || place == 0 && has_kind(tokens.get(1), Kind::Time) => {
                    fields.date(token.text)?;
                }
                Kind::Date => fields.zoned_digits_or_zone(token.text)?,
                Kind::Number if fields.unit.is_some() => fields.labelled(token.text)?,
                Kind::Number if token.text.contains('.') && may_be_date => fields.date(token.text)?,
                Kind::Number => fields.digits(token.text)?,
                _ => fields.other_token(token, tokens.get(place + 1))?,
            }
        }
        Ok(fields)
    }

    fn has_date(&self) -> bool {
        self.is_time
            || self.julian.is_some()
            || self.from_today.is_some()
            || self.day_of_year.is_some()
            || (self.year.is_some() && self.month.is_some() && self.day.is_some())
    }

    /// Whether any part of a date was said.
    fn has_part_of_date(&self) -> bool {
        self.has_date() || self.year.is_some() || self.month.is_some() || self.day.is_some()
    }

    fn has_part_of_time(&self) -> bool {
        self.hour.is_some() || self.minute.is_some() || self.second.is_some()
    }

    fn has_time(&self) -> bool {
        self.hour.is_some() && self.minute.is_some() && self.second.is_some()
    }

    fn date_token(&mut self, text: &str) -> Result<(), Failure> {
        match self.unit.take() {
            Some(Unit::Julian) => {
                let (days, rest) = leading(text)?;
                let (sign, digits) = match rest.split_at_checked(1) {
                    Some(("+", digits)) => (1, digits),
                    Some(("-", digits)) => (-1, digits),
                    _ => return Err(Failure::Syntax),
                };
                set(&mut self.zone, offset(sign, digits)?)?;
                self.julian_day(days)?;
                self.time(0, 0, 0, 0)
            }
            Some(Unit::Time) => self.zoned_digits(text),
            Some(_) => Err(Failure::Syntax),
            None if self.has_date() || (self.month.is_some() && self.day.is_some()) => {
                self.zoned_digits_or_zone(text)
            }
            None => self.date(text),
        }
    }

    /// Reads `103015-08`, a time and a zone, or `america/new_york`, a zone.
    fn zoned_digits_or_zone(&mut self, text: &str) -> Result<(), Failure> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.zoned_digits(text);
        }
        let zone = Zone::named(text).ok_or_else(|| Failure::Zone(text.to_owned()))?;
        set(&mut self.zone, zone)
    }

    fn zoned_digits(&mut self, text: &str) -> Result<(), Failure> {
        let (digits, zone) = text.split_once('-').ok_or(Failure::Syntax)?;
        if self.has_time() {
            return Err(Failure::Syntax);
        }
        set(&mut self.zone, offset(-1, zone)?)?;
        self.digits(digits)
    }

    fn number_token(&mut self, text: &str) -> Result<(), Failure> {
        if self.unit.is_some() {
            return self.labelled(text);
        }
        match text.find('.') {
            Some(_) if !self.has_part_of_date() => self.date(text),
            Some(point) if point > 2 => self.digits(text),
            None if text.len() >= 6 && !(self.has_part_of_date() && self.has_part_of_time()) => {
                self.digits(text)
            }
            _ => self.part_of_date(text),
        }
    }

    /// Reads a number of which the word before it says what it is.
    fn labelled(&mut self, text: &str) -> Result<(), Failure> {
        let (value, rest) = leading(text)?;
        if !(rest.is_empty() || rest.starts_with('.')) {
            return Err(Failure::Syntax);
        }
        match self.unit.take().ok_or(Failure::Syntax)? {
            Unit::Year => set(&mut self.year, value),
            Unit::Month if self.month.is_some() && self.hour.is_some() => set(&mut self.minute, value),
            Unit::Month => set(&mut self.month, value),
            Unit::Day => set(&mut self.day, value),
            Unit::Hour => set(&mut self.hour, value),
            Unit::Minute => set(&mut self.minute, value),
            Unit::Second => {
                if !rest.is_empty() {
                    self.micros = fraction(rest)?;
                }
                set(&mut self.second, value)
            }
            Unit::Julian => {
                self.julian_day(value)?;
                if rest.is_empty() {
                    return Ok(());
                }
                // A part of the day, as a float has it.
                let part: f64 = format!("0{rest}").parse().map_err(|_| Failure::Syntax)?;
                let micros = (part * DAY_MICROS as f64) as i64;
                let seconds = micros / 1_000_000;
                self.time(
                    seconds / 3600,
                    seconds / 60 % 60,
                    seconds % 60,
                    micros % 1_000_000,
                )
            }
            Unit::Other => Err(Failure::Syntax),
            Unit::Time => {
                let had_date = std::mem::replace(&mut self.is_time, true);
                let read = self.digits(text);
                self.is_time = had_date;
                read
            }
        }
    }

    fn julian_day(&mut self, days: i64) -> Result<(), Failure> {
        if self.year.is_some() || self.month.is_some() || self.day.is_some() {
            return Err(Failure::Syntax);
        }
        set(&mut self.julian, days)
    }

    fn time(&mut self, hour: i64, minute: i64, second: i64, micros: i64) -> Result<(), Failure> {
        set(&mut self.hour, hour)?;
        set(&mut self.minute, minute)?;
        set(&mut self.second, second)?;
        self.micros = micros;
        Ok(())
    }

    /// Reads parts of a date with signs between them.
    fn date(&mut self, text: &str) -> Result<(), Failure> {
        let has_more = self.has_part_of_time()
            || self.weekday.is_some()
            || self.is_afternoon.is_some()
            || self.is_before_christ.is_some();
        if has_more {
            return Err(Failure::Syntax);
        }
        let was_time = std::mem::replace(&mut self.is_time, false);
        let parts = date_parts(text)?;
        // A month that is a word says what the numbers are.
        for part in &parts {
            if let Some(Word::Month(month)) = word_or_number(part)? {
                set(&mut self.month, month)?;
                self.has_month_name = true;
            }
        }
        for part in &parts {
            if part.starts_with(|c: char| c.is_ascii_digit()) {
                self.part_of_date(part)?;
            }
        }
        let is_date = self.has_date() && !self.has_time();
        self.is_time = was_time;
        match is_date {
            true => Ok(()),
            false => Err(Failure::Syntax),
        }
    }

    /// Reads a number of which nothing is said.
    fn part_of_date(&mut self, text: &str) -> Result<(), Failure> {
        if self.has_date() {
            return self.digits(text);
        }
        let (value, rest) = leading(text)?;
        match rest {
            "" => {}
            _ if rest.starts_with('.') && text.len() - rest.len() > 2 => return self.digits(text),
            // It is one of a second, whatever stands before it.
            _ => self.micros = fraction(rest)?,
        }
        let length = text.len();
        let has = (self.year.is_some(), self.month.is_some(), self.day.is_some());
        if length == 3 && has == (true, false, false) && (1..=366).contains(&value) {
            return set(&mut self.day_of_year, value);
        }
        let is_year = match has {
            (false, false, false) => length >= 3,
            (false, true, false) => self.has_month_name && length >= 3,
            (false, true, true) => true,
            _ => false,
        };
        if is_year {
            self.has_short_year = length <= 2;
            return set(&mut self.year, value);
        }
        match has {
            (false, false, false) | (true, false, false) | (false, false, true) => {
                set(&mut self.month, value)
            }
            (_, true, false) => set(&mut self.day, value),
            _ => Err(Failure::Syntax),
        }
    }

    /// Reads digits that run together: `20120131`, `123015`, `1230`, `123015.5`.
    fn digits(&mut self, text: &str) -> Result<(), Failure> {
        let (digits, micros) = match text.find('.') {
            Some(point) => (&text[..point], Some(fraction(&text[point..])?)),
            None => (text, None),
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Failure::Syntax);
        }
        if micros.is_none() && !self.has_date() && digits.len() >= 6 {
            let (year, rest) = digits.split_at(digits.len() - 4);
            self.has_short_year = year.len() == 2;
            set(&mut self.year, number(year)?)?;
            set(&mut self.month, number(&rest[..2])?)?;
            return set(&mut self.day, number(&rest[2..])?);
        }
        let second = match digits.len() {
            _ if self.has_time() => return Err(Failure::Syntax),
            6 => number(&digits[4..])?,
            4 => 0,
            _ => return Err(Failure::Syntax),
        };
        self.time(
            number(&digits[..2])?,
            number(&digits[2..4])?,
            second,
            micros.unwrap_or(self.micros),
        )
    }

    /// Reads what is no number and no date.
    fn other_token(&mut self, token: &Token<'_>, next: Option<&Token<'_>>) -> Result<(), Failure> {
        match token.kind {
            Kind::Time => {
                if !self.is_time && !matches!(self.unit.take(), None | Some(Unit::Time)) {
                    return Err(Failure::Syntax);
                }
                self.clock(token.text)
            }
            Kind::Offset => set(&mut self.zone, offset(token.sign, token.text)?),
            Kind::SignedWord if token.text == "infinity" && token.sign < 0 => {
                set(&mut self.moment, Moment::MinusInfinity)
            }
            Kind::Word => match Zone::abbreviated(token.text) {
                Some(zone) => set(&mut self.zone, zone),
                None => self.word(token.text, next),
            },
            _ => Err(Failure::Syntax),
        }
    }

    fn word(&mut self, text: &str, next: Option<&Token<'_>>) -> Result<(), Failure> {
        let Some(word) = word(text) else {
            let zone = Zone::named(text).ok_or(Failure::Syntax)?;
            return set(&mut self.zone, zone);
        };
        match word {
            Word::Ignored => Ok(()),
            Word::Month(_) | Word::Weekday if self.is_time => Err(Failure::Syntax),
            Word::Weekday => set(&mut self.weekday, ()),
            Word::Month(month) => {
                if !self.has_month_name
                    && self.day.is_none()
                    && self.month.is_some_and(|day| (1..=31).contains(&day))
                {
                    // What was taken for the month is the day.
                    self.day = self.month.take();
                }
                self.has_month_name = true;
                set(&mut self.month, month)
            }
            Word::Half(is_afternoon) => set(&mut self.is_afternoon, is_afternoon),
            Word::Era(is_before_christ) => set(&mut self.is_before_christ, is_before_christ),
            Word::Unit(Unit::Time) => {
                let is_time =
                    next.is_some_and(|next| matches!(next.kind, Kind::Number | Kind::Time | Kind::Date));
                if !is_time || !self.has_date() {
                    return Err(Failure::Syntax);
                }
                self.unit = Some(Unit::Time);
                Ok(())
            }
            Word::Unit(unit) => {
                self.unit = Some(unit);
                Ok(())
            }
            Word::Day(from_today) if !self.is_time => {
                if self.has_date() || self.year.is_some() || self.month.is_some() || self.day.is_some() {
                    return Err(Failure::Syntax);
                }
                set(&mut self.from_today, from_today)
            }
            Word::Midnight => {
                set(&mut self.zone, Zone::UTC)?;
                self.time(0, 0, 0, 0)
            }
            Word::Summer => {
                self.is_summer = true;
                Ok(())
            }
            Word::Moment(Moment::Now) => set(&mut self.moment, Moment::Now),
            Word::Moment(moment) if !self.is_time => set(&mut self.moment, moment),
            Word::Day(_) | Word::Moment(_) => Err(Failure::Syntax),
        }
    }

    /// Reads `12:30`, `12:30:15.5`, or `30:15.5`.
    fn clock(&mut self, text: &str) -> Result<(), Failure> {
        let (mut hour, rest) = leading(text)?;
        let rest = rest.strip_prefix(':').ok_or(Failure::Syntax)?;
        let (mut minute, rest) = leading(rest)?;
        let (mut second, mut micros) = (0, 0);
        if rest.starts_with('.') {
            (second, minute, hour, micros) = (minute, hour, 0, fraction(rest)?);
        } else if let Some(rest) = rest.strip_prefix(':') {
            let (seconds, rest) = leading(rest)?;
            second = seconds;
            if !rest.is_empty() {
                micros = fraction(rest)?;
            }
        } else if !rest.is_empty() {
            return Err(Failure::Syntax);
        }
        if minute > 59
            || second > 60
            || ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros > DAY_MICROS
        {
            return Err(Failure::Field);
        }
        self.time(hour, minute, second, micros)
    }

    /// Returns the moment that the fields of a date say.
    pub(super) fn moment(self) -> Result<Moment, Failure> {
        let date = self.day_of_calendar()?;
        let time = self.half_day()?;
        let parts = [self.year, self.month, self.day];
        let is_dated = parts.iter().any(Option::is_some) || date.is_some() || self.is_before_christ.is_some();
        let day = match (self.moment, date, self.from_today) {
            (Some(moment), None, None) => {
                // Nothing more is said of such a moment.
                let is_alone = !is_dated && self.hour.is_none() && self.zone.is_none();
                return match is_alone && self.is_afternoon.is_none() {
                    true => Ok(moment),
                    false => Err(Failure::Syntax),
                };
            }
            (None, Some(date), None) => Day::Date(date),
            (None, None, Some(days)) if !is_dated => Day::FromToday(days),
            _ => return Err(Failure::Syntax),
        };
        let zone = match (self.is_summer, self.zone) {
            (false, zone) => zone,
            (true, Some(Zone::Fixed(offset))) => Some(Zone::Fixed(offset.saturating_add(3_600_000_000))),
            (true, _) => return Err(Failure::Syntax),
        };
        Ok(Moment::Parts(Parts { day, time, zone }))
    }

    /// Returns the time of day that the fields say.
    pub(super) fn time_of_day(self) -> Result<i64, Failure> {
        let date = self.day_of_calendar()?;
        let time = self.half_day()?;
        if time > DAY_MICROS || self.minute.unwrap_or(0) > 59 || self.second.unwrap_or(0) > 60 {
            return Err(Failure::Field);
        }
        // What the clocks of a place show says nothing without a date; a time without a zone is one of the session's.
        let needs_date = match self.zone {
            Some(zone) => matches!(zone, Zone::Named(_)),
            None => self.year.is_some() || self.month.is_some() || self.day.is_some(),
        };
        let has_zone = self.zone.is_some() || !self.is_summer;
        let is_complete = self.has_time() && has_zone && (date.is_some() || !needs_date);
        match is_complete && self.moment.is_none() {
            true => Ok(time),
            false => Err(Failure::Syntax),
        }
    }

    /// Returns the days from 1970-01-01 to the date, if there is one.
    fn day_of_calendar(&self) -> Result<Option<i64>, Failure> {
        if let Some(days) = self.julian {
            let is_alone = self.year.is_none() && self.month.is_none() && self.day.is_none();
            return match is_alone && self.day_of_year.is_none() {
                true => Ok(Some(days - JULIAN_1970)),
                false => Err(Failure::Syntax),
            };
        }
        let year = match (self.year, self.is_before_christ) {
            (Some(year), Some(true)) if year > 0 => Some(1 - year),
            (Some(_), Some(true)) => return Err(Failure::Field),
            (Some(year), _) if self.has_short_year => Some(match year {
                ..70 => year + 2000,
                70..100 => year + 1900,
                _ => year,
            }),
            (Some(year), _) if year > 0 => Some(year),
            (Some(_), _) => return Err(Failure::Field),
            (None, _) => None,
        };
        if let (Some(year), Some(day)) = (year, self.day_of_year) {
            return match (self.month, self.day) {
                (None, None) => Ok(Some(days_from_civil(year, 1, 1) + day - 1)),
                _ => Err(Failure::Syntax),
            };
        }
        let is_of = |part: Option<i64>, most| part.is_none_or(|part| (1..=most).contains(&part));
        if !is_of(self.month, 12) || !is_of(self.day, 31) {
            return Err(Failure::Order);
        }
        let (Some(year), Some(month), Some(day)) = (year, self.month, self.day) else {
            return Ok(None);
        };
        let (month, day) = (month as u32, day as u32);
        match day <= days_in_month(year, month) {
            true => Ok(Some(days_from_civil(year, month, day))),
            false => Err(Failure::Field),
        }
    }

    /// Returns the time of day in microseconds, after `AM` or `PM`.
    fn half_day(&self) -> Result<i64, Failure> {
        let hour = self.hour.unwrap_or(0);
        let hour = match self.is_afternoon {
            Some(_) if hour > 12 => return Err(Failure::Field),
            Some(is_afternoon) => hour % 12 + if is_afternoon { 12 } else { 0 },
            None => hour,
        };
        let (minute, second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        Ok(((hour * 60 + minute) * 60 + second) * 1_000_000 + self.micros)
    }
}

fn split(text: &str) -> Result<Vec<Token<'_>>, Failure> {
    tokens(text, |text| word(text).is_some()).ok_or(Failure::Syntax)
}

/// Splits a date into its numbers and words; one sign stands between two of them, and perhaps one at the end.
fn date_parts(text: &str) -> Result<Vec<&str>, Failure> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_digit = match rest.chars().next() {
            Some(first) => first.is_ascii_digit(),
            None => return Err(Failure::Syntax),
        };
        let holds = |c: char| match is_digit {
            true => c.is_ascii_digit(),
            false => c.is_ascii_alphabetic(),
        };
        let (part, after) = rest.split_at(rest.find(|c| !holds(c)).unwrap_or(rest.len()));
        parts.push(part);
        match after.chars().next() {
            None => return Ok(parts),
            Some(next) if next.is_ascii_alphanumeric() => rest = after,
            Some(next) => rest = &after[next.len_utf8()..],
        }
        if rest.is_empty() {
            return Ok(parts);
        }
    }
}

/// Returns the word that a part of a date is, which has to be a month; `None` of a number.
fn word_or_number(part: &str) -> Result<Option<Word>, Failure> {
    if part.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    match word(part) {
        Some(month @ Word::Month(_)) => Ok(Some(month)),
        _ => Err(Failure::Syntax),
    }
}
