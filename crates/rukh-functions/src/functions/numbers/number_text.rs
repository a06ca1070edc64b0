//! `to_char(number, pattern)`: numbers as reports show them.
//!
//! | in a pattern            | is                                                                   |
//! |-------------------------|----------------------------------------------------------------------|
//! | `9`, `0`                | a digit; `0` shows zeros before the number, and behind it after `FM` |
//! | `.`, `D`; `,`, `G`      | the point; a comma between digits                                    |
//! | `S`; `MI`, `PL`, `SG`   | a sign at the number; one where it is written                        |
//! | `PR`                    | angle brackets around a number below 0                               |
//! | `V`                     | times ten for each digit behind it                                   |
//! | `EEEE`                  | a power of ten                                                       |
//! | `RN`, `rn`; `TH`, `th`  | Roman; the ending of an ordinal                                      |
//! | `L`; `B`, `C`, `SP`; `FM` | a currency, of which there is none: a blank; nothing; no padding   |
//! | others, `"text"`        | themselves                                                           |
//!
//! The digits of a pattern before the point are places that a number is put in from the right; one that has more is shown as `#`.
//! Source: PostgreSQL's manual, 9.8, and what PostgreSQL 15 answers in the locale C.

#![warn(clippy::arithmetic_side_effects)]

use rukh_error::SqlError;

use crate::numbers::Number;

/// A number as `to_char` takes it.
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A NUMERIC.
    Exact(Number),
    /// A float, and the digits that its type holds: 6 or 15.
    Float(f64, usize),
}

/// One piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Digit { is_zero: bool },
    Point,
    Comma,
    Minus,
    Plus,
    Sign,
    Currency,
    Roman { is_lower: bool },
    Ordinal { is_lower: bool },
    Text(char),
}

/// Where the sign of `S` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Before,
    After,
}

/// A pattern, read.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    pub(super) items: Vec<Item>,
    /// Digits before the point, those behind it, and those behind `V`.
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) scaled: usize,
    /// The first place before the point that shows a zero.
    zeros_from: Option<usize>,
    /// How many digits there are up to the last `0`.
    zeros_until: usize,
    pub(super) has_point: bool,
    pub(super) is_filled: bool,
    pub(super) anchor: Option<Anchor>,
    /// Digits that stand before the `S`.
    before_sign: usize,
    pub(super) has_plus: bool,
    pub(super) has_minus: bool,
    pub(super) has_brackets: bool,
    pub(super) is_roman: bool,
    pub(super) is_scientific: bool,
    is_scaled: bool,
}

/// Bytes of a pattern.
const LENGTH_MAX: usize = 4_096;

/// Words of patterns; of two that begin alike the longer comes first.
const WORDS: [&str; 16] = [
    "EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "B", "C", "D", "G", "L", "S", "V",
];

fn wrong(message: &str) -> SqlError {
    SqlError::statement("42601", message)
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "places are counted within a pattern, which memory holds"
)]
impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// 42601 on parts that do not go together, 54000 on more bytes than [`LENGTH_MAX`].
    pub(super) fn read(text: &str) -> Result<Pattern, SqlError> {
        if text.len() > LENGTH_MAX {
            return Err(SqlError::statement(
                "54000",
                "the pattern of a number is too long",
            ));
        }
        let mut pattern = Pattern::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let word = WORDS.iter().find(|word| {
                let head = rest.get(..word.len());
                head.is_some_and(|head| head == **word || head == word.to_lowercase())
            });
            if let Some(word) = word {
                let is_lower = rest.starts_with(|c: char| c.is_ascii_lowercase());
                pattern.word(word, is_lower)?;
                rest = &rest[word.len()..];
                continue;
            }
            rest = &rest[first.len_utf8()..];
            match first {
                '9' | '0' => pattern.digit(first == '0')?,
                '.' => pattern.word("D", false)?,
                ',' => pattern.push(Item::Comma)?,
                '"' => loop {
                    let mut chars = rest.chars();
                    let (Some(c), after) = (chars.next(), chars.as_str()) else {
                        break;
                    };
                    rest = after;
                    match (c, rest.chars().next()) {
                        ('"', _) => break,
                        ('\\', Some(next)) => {
                            pattern.push(Item::Text(next))?;
                            rest = &rest[next.len_utf8()..];
                        }
                        _ => pattern.push(Item::Text(c))?,
                    }
                },
                '\\' if rest.starts_with('"') => {
                    pattern.push(Item::Text('"'))?;
                    rest = &rest[1..];
                }
                other => pattern.push(Item::Text(other))?,
            }
        }
        Ok(pattern)
    }

    fn push(&mut self, item: Item) -> Result<(), SqlError> {
        if self.is_scientific && !matches!(item, Item::Text(_)) {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        self.items.push(item);
        Ok(())
    }

    fn digit(&mut self, is_zero: bool) -> Result<(), SqlError> {
        if self.has_brackets {
            return Err(wrong(match is_zero {
                true => "\"0\" must be ahead of \"PR\"",
                false => "\"9\" must be ahead of \"PR\"",
            }));
        }
        self.push(Item::Digit { is_zero })?;
        match (self.has_point, self.is_scaled) {
            (_, true) if !is_zero => self.scaled += 1,
            (true, _) => self.after += 1,
            (false, _) => {
                if is_zero {
                    self.zeros_from.get_or_insert(self.before);
                }
                self.before += 1;
            }
        }
        if is_zero {
            self.zeros_until = self.before + self.after;
        }
        Ok(())
    }

    fn word(&mut self, word: &str, is_lower: bool) -> Result<(), SqlError> {
        if self.is_scientific && word != "EEEE" {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        let has_sign = self.has_plus || self.has_minus || self.has_brackets;
        match word {
            "D" => {
                if self.has_point {
                    return Err(wrong("multiple decimal points"));
                }
                if self.is_scaled {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.push(Item::Point)?;
                self.has_point = true;
            }
            "G" => self.push(Item::Comma)?,
            "L" => self.push(Item::Currency)?,
            "B" | "C" | "SP" => {}
            "FM" => self.is_filled = true,
            "S" => {
                if self.anchor.is_some() {
                    return Err(wrong("cannot use \"S\" twice"));
                }
                if has_sign {
                    return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                self.anchor = Some(if self.has_point {
                    Anchor::After
                } else {
                    Anchor::Before
                });
                self.before_sign = self.before;
            }
            "MI" | "PL" | "SG" => {
                if self.anchor.is_some() {
                    return Err(wrong(&format!("cannot use \"S\" and \"{word}\" together")));
                }
                let item = match word {
                    "MI" => Item::Minus,
                    "PL" => Item::Plus,
                    _ => Item::Sign,
                };
                self.push(item)?;
                self.has_minus |= word != "PL";
                self.has_plus |= word != "MI";
            }
            "PR" => {
                if self.anchor.is_some() || self.has_plus || self.has_minus {
                    return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.has_brackets = true;
            }
            "V" => {
                if self.has_point {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.is_scaled = true;
            }
            "RN" => {
                self.push(Item::Roman { is_lower })?;
                self.is_roman = true;
            }
            "TH" => self.push(Item::Ordinal { is_lower })?,
            _ => {
                if self.is_scientific {
                    return Err(wrong("cannot use \"EEEE\" twice"));
                }
                if self.is_filled || self.anchor.is_some() || has_sign || self.is_roman || self.is_scaled {
                    return Err(wrong("\"EEEE\" is incompatible with other formats"));
                }
                self.is_scientific = true;
            }
        }
        Ok(())
    }
}

/// Writes a number by a pattern.
///
/// # Errors
/// 42601 on parts of a pattern that do not go together.
pub fn written(value: &Value, pattern: &str) -> Result<String, SqlError> {
    let mut pattern = Pattern::read(pattern)?;
    if pattern.is_scientific {
        return Ok(scientific(value, &pattern));
    }
    if pattern.is_roman {
        let digits = roman(whole(value));
        return Ok(Layout::of(pattern, false, digits).write());
    }
    pattern.before = pattern.before.saturating_add(pattern.scaled);
    let digits = digits(value, &mut pattern);
    let (is_negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits.to_string()),
        None => (false, digits),
    };
    let whole = digits.split('.').next().unwrap_or_default().len();
    let digits = match whole > pattern.before {
        false => digits,
        true => format!("{}.{}", "#".repeat(pattern.before), "#".repeat(pattern.after)),
    };
    Ok(Layout::of(pattern, is_negative, digits).write())
}

/// Returns a number as text with as many digits behind the point as a pattern has; of a float no more than its type holds.
fn digits(value: &Value, pattern: &mut Pattern) -> String {
    let exact = |number: Number| {
        let after = i64::try_from(pattern.after).unwrap_or(i64::MAX);
        number.times_ten_to(pattern.scaled).rounded(after).to_string()
    };
    match value {
        Value::Integer(value) => exact(Number::of_i128(i128::from(*value), 0)),
        Value::Exact(number) => exact(number.clone()),
        Value::Float(value, held) => {
            let value = value * 10_f64.powi(i32::try_from(pattern.scaled).unwrap_or(i32::MAX));
            let text = |digits: usize| match value {
                value if value.is_nan() => "NaN".to_string(),
                value if value.is_infinite() => {
                    let sign = if value < 0.0 { "-" } else { "" };
                    format!("{sign}Infinity")
                }
                value => format!("{value:.digits$}"),
            };
            let whole = text(0).trim_start_matches('-').len();
            pattern.after = pattern.after.min(held.saturating_sub(whole));
            text(pattern.after)
        }
    }
}

/// Returns the whole number nearest to one.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value),
        Value::Exact(number) => number.rounded(0).to_i64(),
        Value::Float(value, _) => Some(value.round_ties_even() as i64),
    }
}

fn roman(value: Option<i64>) -> String {
    const SIGNS: [(&str, i64); 13] = [
        ("M", 1000),
        ("CM", 900),
        ("D", 500),
        ("CD", 400),
        ("C", 100),
        ("XC", 90),
        ("L", 50),
        ("XL", 40),
        ("X", 10),
        ("IX", 9),
        ("V", 5),
        ("IV", 4),
        ("I", 1),
    ];
    let Some(mut rest) = value.filter(|value| (1..=3999).contains(value)) else {
        return "#".repeat(15);
    };
    let mut text = String::new();
    for (sign, worth) in SIGNS {
        while rest >= worth {
            text.push_str(sign);
            rest = rest.saturating_sub(worth);
        }
    }
    text
}

/// Writes a number as digits and a power of ten, with a blank for the sign of those that are not negative.
fn scientific(value: &Value, pattern: &Pattern) -> String {
    let after = pattern.after;
    let float = |value: f64| match value.is_finite() {
        false => {
            let point = if pattern.has_point { "." } else { "#" };
            format!(
                " {}{point}{}",
                "#".repeat(pattern.before),
                "#".repeat(after.saturating_add(4))
            )
        }
        true => {
            let text = format!("{value:.after$e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            with_power(digits, power.parse().unwrap_or(0))
        }
    };
    let exact = |number: &Number| {
        let (digits, power) = number.scientific(after);
        with_power(&digits.to_string(), power)
    };
    match value {
        Value::Integer(value) if i32::try_from(*value).is_ok() => float(*value as f64),
        Value::Integer(value) => exact(&Number::of_i128(i128::from(*value), 0)),
        Value::Exact(number) => exact(number),
        Value::Float(value, _) => float(*value),
    }
}

fn with_power(digits: &str, power: i64) -> String {
    let blank = if digits.starts_with('-') { "" } else { " " };
    let sign = if power < 0 { '-' } else { '+' };
    format!("{blank}{digits}e{sign}{:02}", power.unsigned_abs())
}

/// A number that is laid out by a pattern.
struct Layout {
    pattern: Pattern,
    is_negative: bool,
    /// Digits and point, or a word.
    number: Vec<char>,
    /// Places before the number.
    blanks: usize,
    /// The last character of the number that is shown, of those behind the point.
    last: Option<usize>,
    /// Whether a sign is still to be written before the number.
    needs_sign: bool,
    has_brackets: bool,
    anchor: Option<Anchor>,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "places are counted within a pattern and a number, which memory holds"
)]
impl Layout {
    fn of(pattern: Pattern, is_negative: bool, digits: String) -> Layout {
        let number: Vec<char> = digits.chars().collect();
        let point = number.iter().position(|c| *c == '.');
        let whole = point.unwrap_or(number.len());
        let blanks = match pattern.is_roman {
            true => 0,
            false => pattern.before.saturating_sub(whole),
        };
        let has_brackets = pattern.has_brackets && (is_negative || !pattern.is_filled);
        let needs_sign = match (pattern.has_plus, pattern.has_minus) {
            (true, false) => true,
            (false, false) => is_negative || !pattern.is_filled || pattern.anchor.is_some(),
            _ => false,
        };
        let anchor = match pattern.anchor {
            Some(Anchor::Before) if pattern.before == pattern.before_sign => Some(Anchor::After),
            anchor => anchor,
        };
        let mut last = None;
        if let (true, true, Some(point)) = (pattern.is_filled, pattern.has_point, point) {
            let of_zeros = number[point..].iter().rposition(|c| *c != '0').unwrap_or(0) + point;
            let wanted = match pattern.zeros_until > blanks {
                true => (pattern.zeros_until - blanks).min(number.len() - 1),
                false => 0,
            };
            last = Some(of_zeros.max(wanted));
        }
        Layout {
            pattern,
            is_negative,
            number,
            blanks,
            last,
            needs_sign,
            has_brackets,
            anchor,
        }
    }

    fn write(mut self) -> String {
        let items = std::mem::take(&mut self.pattern.items);
        let is_place = |item: &Item| matches!(item, Item::Digit { .. } | Item::Point);
        let places = items.iter().filter(|item| is_place(item)).count();
        let mut out = String::new();
        let (mut place, mut at) = (0, 0);
        // Whether the place before shows a digit.
        let mut in_number = false;
        let blank = if self.pattern.is_filled { "" } else { " " };
        for item in items {
            match item {
                Item::Digit { .. } | Item::Point if self.pattern.is_roman => {}
                Item::Digit { .. } | Item::Point => {
                    self.sign_before(place, at, &mut out);
                    match self.place(&item, place, &mut at, &mut out) {
                        Some(shown) => in_number = shown,
                        // The number ends here, and so does the text, as in PostgreSQL.
                        None => return out,
                    }
                    place += 1;
                    if place == places {
                        self.sign_after(&mut out);
                    }
                }
                Item::Comma => out.push_str(if in_number { "," } else { blank }),
                Item::Currency => out.push(' '),
                Item::Minus => out.push_str(if self.is_negative { "-" } else { blank }),
                Item::Plus => out.push_str(if self.is_negative || self.pattern.is_roman {
                    blank
                } else {
                    "+"
                }),
                Item::Sign => out.push(if self.is_negative { '-' } else { '+' }),
                Item::Roman { is_lower } => {
                    let text: String = self.number.iter().collect();
                    let text = if is_lower { text.to_lowercase() } else { text };
                    out.push_str(&match self.pattern.is_filled {
                        true => text,
                        false => format!("{text:>15}"),
                    });
                }
                Item::Ordinal { is_lower } => {
                    let is_shown = !self.pattern.is_roman && !self.is_negative && !self.pattern.has_point;
                    if is_shown && self.number.first() != Some(&'#') {
                        let ending = ordinal(&self.number);
                        out.push_str(&if is_lower {
                            ending.to_string()
                        } else {
                            ending.to_uppercase()
                        });
                    }
                }
                Item::Text(c) => out.push(c),
            }
        }
        out
    }

    /// Whether the place is that of a zero before the point, which is not shown: `.5`.
    fn is_hidden_zero(&self, at: usize) -> bool {
        self.pattern.zeros_from.is_none()
            && at == 0
            && self.number.first() == Some(&'0')
            && self.pattern.after > 0
    }

    /// Whether no digit behind the point is shown.
    fn is_bare(&self) -> bool {
        self.last.is_some_and(|last| self.number.get(last) == Some(&'.'))
    }

    /// Writes the sign before the first place that shows something.
    fn sign_before(&mut self, place: usize, at: usize, out: &mut String) {
        let is_first = place >= self.blanks || self.pattern.zeros_from == Some(place);
        if !self.needs_sign || !is_first || self.is_hidden_zero(at) && !self.is_bare() {
            return;
        }
        match (self.anchor, self.is_negative) {
            // It comes behind the number.
            (Some(Anchor::After), _) => return,
            (Some(Anchor::Before), is_negative) => out.push(if is_negative { '-' } else { '+' }),
            (None, is_negative) if self.has_brackets => out.push(if is_negative { '<' } else { ' ' }),
            (None, true) => out.push('-'),
            (None, false) if self.pattern.is_filled => {}
            (None, false) => out.push(' '),
        }
        self.needs_sign = false;
    }

    /// Writes what stands behind the last place.
    fn sign_after(&self, out: &mut String) {
        match (self.anchor, self.has_brackets) {
            (Some(Anchor::After), _) => out.push(if self.is_negative { '-' } else { '+' }),
            (None, true) if !self.needs_sign => out.push(if self.is_negative { '>' } else { ' ' }),
            _ => {}
        }
    }

    /// Writes a place; returns whether it shows a digit, and nothing where the number has no more characters.
    fn place(&self, item: &Item, place: usize, at: &mut usize, out: &mut String) -> Option<bool> {
        let zeros_from = self.pattern.zeros_from;
        if place < self.blanks {
            let is_zero = zeros_from.is_some_and(|from| from <= place);
            match (is_zero, self.pattern.is_filled) {
                (true, _) => out.push('0'),
                (false, false) => out.push(' '),
                (false, true) => {}
            }
            return Some(is_zero);
        }
        let here = *at;
        *at += 1;
        let c = *self.number.get(here)?;
        if c == '.' {
            out.push('.');
            return Some(false);
        }
        let is_beyond = self.last.is_some_and(|last| here > last);
        if is_beyond && *item != (Item::Digit { is_zero: true }) {
            return Some(false);
        }
        if self.is_hidden_zero(here) {
            match self.pattern.is_filled {
                false => out.push(' '),
                true if self.is_bare() => out.push('0'),
                true => {}
            }
            return Some(false);
        }
        out.push(c);
        Some(true)
    }
}

/// Returns the ending of an ordinal.
fn ordinal(number: &[char]) -> &'static str {
    match number {
        [.., '1', _] => "th",
        [.., '1'] => "st",
        [.., '2'] => "nd",
        [.., '3'] => "rd",
        _ => "th",
    }
}
