//! `to_char(time, pattern)` with PostgreSQL's patterns; DataFusion's takes those of another library, and gives `YYYY` back as it is.
//!
//! | pattern                                | gives                                                     |
//! |----------------------------------------|-----------------------------------------------------------|
//! | `YYYY`, `YYY`, `YY`, `Y`, `Y,YYY`      | the year, or its last digits                              |
//! | `IYYY`, `IYY`, `IY`, `I`, `IW`, `ID`, `IDDD` | year, week and day of ISO 8601                       |
//! | `Q`, `MM`, `MONTH`, `Month`, `mon` …   | quarter, month                                            |
//! | `WW`, `W`, `DDD`, `DD`, `D`, `J`       | week and day of year and month, day of the week, Julian day |
//! | `DAY`, `Day`, `dy` …                   | the name of the day                                       |
//! | `HH24`, `HH12`, `HH`, `MI`, `SS`, `SSSS` | the time                                                |
//! | `MS`, `US`, `FF1` … `FF6`              | parts of a second                                         |
//! | `AM`, `p.m.` …                         | which half of the day                                     |
//! | `TZ`, `OF`, `TZH`, `TZM`               | the zone, which is UTC, of a TIMESTAMPTZ                   |
//! | `CC`, `BC`, `A.D.`                     | century, era                                              |
//! | `FM`, `TM` before, `TH`, `th` behind   | without padding; with the ending of an ordinal            |
//! | `"text"`                               | the text                                                  |
//!
//! Names of months and days are padded to nine characters but after FM. Of an interval years, months, days and time are those of
//! its parts, whose hours do not become days. Numbers have patterns of their own (`number_text`).

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, Interval, JULIAN_1970, civil_from_days, days_from_civil, is_infinite_timestamp};

use crate::forms::intervals::{INTERVAL, interval_of};
use crate::forms::numerics::NAN;
use crate::functions::common::undefined::undefined_function;
use crate::functions::numbers::number_text::{self, Value};
use crate::numbers::Number;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Returns the function.
pub fn to_char() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(ToChar { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToChar {
    signature: Signature,
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        "to_char"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let [value, pattern] = types else {
            return Err(undefined_function("to_char", types));
        };
        if !pattern.is_string() && !pattern.is_null() {
            return Err(undefined_function("to_char", types));
        }
        let time = match value {
            ArrowType::Timestamp(_, zone) => ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone()),
            ArrowType::Date32 | ArrowType::Null => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            ArrowType::Interval(_) => INTERVAL,
            ArrowType::Int8 | ArrowType::Int16 => ArrowType::Int32,
            number if number.is_numeric() => number.clone(),
            _ => return Err(undefined_function("to_char", types)),
        };
        Ok(vec![time, ArrowType::Utf8])
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [times, patterns] = arrays.as_slice() else {
            return Err(undefined_function("to_char", &[]));
        };
        let patterns = cast(patterns, &ArrowType::Utf8)?;
        let patterns = patterns.as_string::<i32>();
        if times.data_type().is_numeric() {
            let texts = numbers(times, patterns)?;
            return Ok(match one && texts.len() == 1 {
                true => ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?),
                false => ColumnarValue::Array(Arc::new(texts)),
            });
        }
        let texts = moments(times)?
            .into_iter()
            .zip(patterns.iter())
            .map(|(moment, pattern)| match (moment, pattern) {
                // An empty pattern gives NULL in PostgreSQL, too.
                (Some(moment), Some(pattern)) if !pattern.is_empty() => moment.written(pattern).map(Some),
                _ => Ok(None),
            });
        let texts: StringArray = texts.collect::<DataFusionResult<_>>()?;
        let texts: ArrayRef = Arc::new(texts);
        Ok(match one && texts.len() == 1 {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?),
            false => ColumnarValue::Array(texts),
        })
    }
}

/// Writes numbers by patterns.
fn numbers(values: &ArrayRef, patterns: &StringArray) -> DataFusionResult<StringArray> {
    let text = |row: usize| -> DataFusionResult<Option<String>> {
        if values.is_null(row) || patterns.is_null(row) {
            return Ok(None);
        }
        let value = match ScalarValue::try_from_array(values, row)? {
            ScalarValue::Decimal128(Some(value), _, scale) => Value::Exact(Number::of_i128(value, scale)),
            ScalarValue::Decimal256(Some(NAN), ..) => Value::Float(f64::NAN, 15),
            ScalarValue::Decimal256(Some(value), _, scale) => Value::Exact(Number::of_i256(value, scale)),
            ScalarValue::Float32(Some(value)) => Value::Float(f64::from(value), 6),
            ScalarValue::Float64(Some(value)) => Value::Float(value, 15),
            other => match other.cast_to(&ArrowType::Int64)? {
                ScalarValue::Int64(Some(value)) => Value::Integer(value),
                _ => return Ok(None),
            },
        };
        let text = number_text::written(&value, patterns.value(row));
        text.map(Some)
            .map_err(|error| DataFusionError::External(Box::new(error)))
    };
    (0..values.len()).map(text).collect()
}

/// Returns times or intervals, taken apart.
fn moments(values: &ArrayRef) -> DataFusionResult<Vec<Option<Moment>>> {
    if let Some(intervals) = values.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let intervals = intervals.iter();
        let parts = |interval| Moment::of_interval(interval_of(interval));
        return Ok(intervals.map(|interval| interval.map(parts)).collect());
    }
    let zoned = matches!(values.data_type(), ArrowType::Timestamp(_, Some(_)));
    let times = values.as_primitive::<TimestampMicrosecondType>().iter();
    // Infinities have no parts.
    let finite = times.map(|time| time.filter(|time| !is_infinite_timestamp(*time)));
    Ok(finite
        .map(|time| time.map(|time| Moment::of(time, zoned)))
        .collect())
}

/// A time or an interval, taken apart.
struct Moment {
    days: i64,
    /// From 1; all months of an interval count 30 days.
    year_day: i64,
    year: i64,
    month: i64,
    day: i64,
    micros: i64,
    zoned: bool,
    is_interval: bool,
}

/// Months in Roman numerals.
const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];

/// What the names of parts begin with that intervals have not.
const OF_CALENDARS: [&str; 9] = ["MON", "DAY", "DY", "AD", "BC", "A.D.", "B.C.", "TZ", "OF"];

/// What one part of a pattern gives.
enum Part {
    Number {
        value: i64,
        width: usize,
    },
    Text(String),
    /// The name of a month or day, padded to so many characters.
    Name(String, usize),
}

impl Moment {
    fn of(micros: i64, zoned: bool) -> Self {
        let days = micros.div_euclid(DAY_MICROS);
        let (year, month, day) = civil_from_days(days);
        Moment {
            days,
            year_day: days.saturating_sub(days_from_civil(year, 1, 1)).saturating_add(1),
            year,
            month: i64::from(month),
            day: i64::from(day),
            micros: micros.rem_euclid(DAY_MICROS),
            zoned,
            is_interval: false,
        }
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "months and days of 32 bits, multiplied by constants in 64"
    )]
    fn of_interval(interval: Interval) -> Self {
        let (months, day) = (i64::from(interval.months), i64::from(interval.days));
        let (year, month) = (months / 12, months % 12);
        // The month 0 is that before January.
        let (of, first) = match u32::try_from(month) {
            Ok(month @ 1..) => (year, month),
            _ => (year - 1, 12),
        };
        Moment {
            days: days_from_civil(of, first, 1) - 1 + day,
            year_day: months * 30 + day,
            year,
            month,
            day,
            micros: interval.micros,
            zoned: false,
            is_interval: true,
        }
    }

    fn written(&self, pattern: &str) -> DataFusionResult<String> {
        let mut out = String::new();
        let mut rest = pattern;
        while let Some(character) = rest.chars().next() {
            if let Some(quoted) = rest.strip_prefix('"') {
                rest = unquoted(quoted, &mut out);
                continue;
            }
            if let Some(after) = rest.strip_prefix("\\\"") {
                out.push('"');
                rest = after;
                continue;
            }
            let (plain, after) = match prefix(rest, "FM") {
                Some(after) => (true, after),
                None => (false, rest),
            };
            // Names in the language of the client, which is English.
            let (translated, after) = match prefix(after, "TM") {
                Some(after) => (true, after),
                None => (false, after),
            };
            if self.is_interval && OF_CALENDARS.iter().any(|name| prefix(after, name).is_some()) {
                let message = "invalid format specification for an interval value";
                let error = SqlError::statement("22007", message)
                    .with_hint("Intervals are not tied to specific calendar dates.");
                return Err(DataFusionError::External(Box::new(error)));
            }
            let Some((part, after)) = self.part(after) else {
                // FM and TM alone say nothing; all else stands for itself.
                match plain || translated {
                    true => rest = after,
                    false => {
                        out.push(character);
                        rest = &rest[character.len_utf8()..];
                    }
                }
                continue;
            };
            rest = after;
            match part {
                Part::Number { value, width } => {
                    let digits = match plain {
                        true => value.to_string(),
                        // The sign of a part of an interval takes a place of its own.
                        false => format!(
                            "{value:0width$}",
                            width = width.saturating_add(usize::from(value < 0))
                        ),
                    };
                    out.push_str(&digits);
                    for ending in ["TH", "th"] {
                        if let Some(after) = rest.strip_prefix(ending) {
                            let ordinal = ordinal(value);
                            out.push_str(&if ending == "TH" {
                                ordinal.to_uppercase()
                            } else {
                                ordinal.to_string()
                            });
                            rest = after;
                        }
                    }
                }
                Part::Text(text) => out.push_str(&text),
                Part::Name(name, _) if plain || translated => out.push_str(&name),
                Part::Name(name, width) => out.push_str(&format!("{name:<width$}")),
            }
        }
        Ok(out)
    }

    /// Reads the longest part at the start of a pattern; returns what it gives, and what follows.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "days are those of dates: a few million years at most"
    )]
    fn part<'p>(&self, pattern: &'p str) -> Option<(Part, &'p str)> {
        let number = |value: i64, width: usize| Some(Part::Number { value, width });
        let (iso_year, iso_week) = self.iso();
        let weekday = self.weekday();
        let hour = self.micros / 3_600_000_000;
        let half = if hour % 12 == 0 { 12 } else { hour % 12 };
        let fraction = self.micros % 1_000_000;
        let year_day = self.year_day;
        // Years before 1 are counted back from 1 BC; those of an interval have a sign.
        let said = |year: i64| {
            if year > 0 || self.is_interval {
                year
            } else {
                1 - year
            }
        };
        let (year, iso_year) = (said(self.year), said(iso_year));
        let century = match self.year {
            year if self.is_interval => year / 100,
            year if year > 0 => (year - 1) / 100 + 1,
            year => year / 100 - 1,
        };
        let last = |year: i64, digits: u32| year.rem_euclid(10_i64.pow(digits));
        let zone = |text: &str| {
            Some(Part::Text(if self.zoned {
                text.to_string()
            } else {
                String::new()
            }))
        };
        // Longer ones come before those that they begin with.
        let numbers: [(&str, Option<Part>); 38] = [
            (
                "Y,YYY",
                Some(Part::Text(format!("{},{:03}", year / 1000, year % 1000))),
            ),
            ("IYYY", number(iso_year, 4)),
            ("IYY", number(last(iso_year, 3), 3)),
            ("IY", number(last(iso_year, 2), 2)),
            ("IDDD", number((iso_week - 1) * 7 + (weekday + 6) % 7 + 1, 3)),
            ("ID", number((weekday + 6) % 7 + 1, 1)),
            ("IW", number(iso_week, 2)),
            ("I", number(last(iso_year, 1), 1)),
            ("YYYY", number(year, 4)),
            ("YYY", number(last(year, 3), 3)),
            ("YY", number(last(year, 2), 2)),
            ("Y", number(last(year, 1), 1)),
            (
                "Q",
                match self.month {
                    0 => Some(Part::Text(String::new())),
                    month => number((month - 1) / 3 + 1, 1),
                },
            ),
            ("MS", number(fraction / 1_000, 3)),
            ("US", number(fraction, 6)),
            ("FF1", number(fraction / 100_000, 1)),
            ("FF2", number(fraction / 10_000, 2)),
            ("FF3", number(fraction / 1_000, 3)),
            ("FF4", number(fraction / 100, 4)),
            ("FF5", number(fraction / 10, 5)),
            ("FF6", number(fraction, 6)),
            ("MI", number(self.micros / 60_000_000 % 60, 2)),
            ("MM", number(self.month, 2)),
            ("WW", number((year_day - 1) / 7 + 1, 2)),
            ("W", number((self.day - 1) / 7 + 1, 1)),
            ("HH24", number(hour, 2)),
            ("HH12", number(half, 2)),
            ("HH", number(half, 2)),
            ("SSSSS", number(self.micros / 1_000_000, 1)),
            ("SSSS", number(self.micros / 1_000_000, 1)),
            ("SS", number(self.micros / 1_000_000 % 60, 2)),
            ("CC", number(century, 2)),
            ("J", number(self.days + JULIAN_1970, 1)),
            ("TZH", zone("+00")),
            ("TZM", zone("00")),
            ("OF", Some(Part::Text("+00".to_string()))),
            ("DDD", number(year_day, 3)),
            // PostgreSQL leaves no place for the sign of days.
            ("DD", number(self.day, if self.day < 0 { 1 } else { 2 })),
        ];
        self.named(pattern).or_else(|| {
            let found = numbers
                .into_iter()
                .find_map(|(name, part)| Some((part?, prefix(pattern, name)?)));
            found.or_else(|| Some((number(weekday + 1, 1)?, prefix(pattern, "D")?)))
        })
    }

    /// Reads a part whose letters give its case.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "days are those of dates: a few million years at most"
    )]
    fn named<'p>(&self, pattern: &'p str) -> Option<(Part, &'p str)> {
        // An interval of no months has no name of one.
        let month = usize::try_from(self.month - 1).ok().and_then(|at| MONTHS.get(at));
        let month = month.copied().unwrap_or_default();
        let day = DAYS[self.weekday() as usize];
        let half = if self.micros % DAY_MICROS < DAY_MICROS / 2 {
            "AM"
        } else {
            "PM"
        };
        let era = if self.year > 0 || self.is_interval {
            "AD"
        } else {
            "BC"
        };
        let dotted = |word: &str| format!("{}.{}.", &word[..1], &word[1..]);
        let zone = if self.zoned { "UTC" } else { "" };
        let names: [(&str, &str, Option<usize>); 6] = [
            ("MONTH", month, Some(9)),
            ("MON", month.get(..3).unwrap_or_default(), None),
            ("RM", self.roman(), (!self.roman().is_empty()).then_some(4)),
            ("DAY", day, Some(9)),
            ("DY", &day[..3], None),
            ("TZ", zone, None),
        ];
        for (name, value, width) in names {
            // TZH and TZM are numbers.
            if name == "TZ" && (prefix(pattern, "TZH").is_some() || prefix(pattern, "TZM").is_some()) {
                continue;
            }
            if let Some(after) = prefix(pattern, name) {
                let written = &pattern[..name.len()];
                let value = match (
                    written.starts_with(char::is_uppercase),
                    written.ends_with(char::is_uppercase),
                ) {
                    (true, true) => value.to_uppercase(),
                    (true, false) => value.to_string(),
                    (false, _) => value.to_lowercase(),
                };
                let part = match width {
                    Some(width) => Part::Name(value, width),
                    None => Part::Text(value),
                };
                return Some((part, after));
            }
        }
        let words = [("AM", half), ("PM", half), ("AD", era), ("BC", era)];
        words.iter().find_map(|(name, value)| {
            let (value, after) = match prefix(pattern, name) {
                Some(after) => (value.to_string(), after),
                None => (dotted(value), prefix(pattern, &dotted(name))?),
            };
            let lower = pattern.starts_with(char::is_lowercase);
            Some((
                Part::Text(if lower { value.to_lowercase() } else { value }),
                after,
            ))
        })
    }

    /// The month in Roman numerals; those of an interval below 0 are counted from its end.
    fn roman(&self) -> &'static str {
        let month = match (self.month, self.year) {
            (0, 0) => return "",
            (0, 1..) => 12,
            (0, _) => 1,
            (month @ 1.., _) => month,
            (month, _) => month.saturating_add(13),
        };
        let at = usize::try_from(month.saturating_sub(1)).ok();
        at.and_then(|at| ROMAN.get(at)).copied().unwrap_or_default()
    }

    /// The day of the week, 0 for Sunday.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "days are those of dates: a few million years at most"
    )]
    fn weekday(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    /// Year and week of ISO 8601: that of the week's Thursday.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "days are those of dates: a few million years at most"
    )]
    fn iso(&self) -> (i64, i64) {
        let thursday = self.days - (self.weekday() + 6) % 7 + 3;
        let (year, _, _) = civil_from_days(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }
}

/// Appends what stands before the next quote, a backslash quoting what follows it; returns what is behind the quote.
fn unquoted<'p>(quoted: &'p str, out: &mut String) -> &'p str {
    let mut chars = quoted.chars();
    while let Some(next) = chars.next() {
        match next {
            '"' => break,
            '\\' => out.extend(chars.next()),
            other => out.push(other),
        }
    }
    chars.as_str()
}

/// Returns what follows a name at the start of a pattern, in whichever letters.
fn prefix<'p>(pattern: &'p str, name: &str) -> Option<&'p str> {
    let head = pattern.get(..name.len())?;
    head.eq_ignore_ascii_case(name).then(|| &pattern[name.len()..])
}

fn ordinal(value: i64) -> &'static str {
    let value = value.unsigned_abs();
    match (value % 100, value % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}
