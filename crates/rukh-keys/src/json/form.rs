//! The form of JSONB: bytes in which a member is found without reading the others.
//!
//! | value            | bytes                                                                             |
//! |------------------|-----------------------------------------------------------------------------------|
//! | `null`           | `00`                                                                              |
//! | `false`, `true`  | `01`, `02`                                                                        |
//! | number           | `03`, its spelling                                                                |
//! | string           | `04`, its UTF-8                                                                   |
//! | array of n       | `05`, n, the ends of its elements, the elements                                   |
//! | object of n      | `06`, n, the ends of a name and of a value n times, the names, the values         |
//!
//! Counts and ends are integers of 32 bits, little-endian; ends count from where the elements, names or values begin. Names are
//! sorted by their length and then by their bytes, as in PostgreSQL, and none comes twice.

use std::cmp::Ordering;

use super::error::JsonError;
use super::number::JsonNumber;
use super::tree::{DEPTH_MAX, FORM_MAX, Json};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonbKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl JsonbKind {
    /// Returns the name that `jsonb_typeof` gives.
    pub fn name(self) -> &'static str {
        match self {
            JsonbKind::Null => "null",
            JsonbKind::Bool(_) => "boolean",
            JsonbKind::Number => "number",
            JsonbKind::Text => "string",
            JsonbKind::Array => "array",
            JsonbKind::Object => "object",
        }
    }
}

/// A value in the form of JSONB.
///
/// Reading is total: bytes that are no form give some value, never a panic. [`Jsonb::is_form`] says whether they are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jsonb<'a>(&'a [u8]);

impl Json {
    /// Returns the form.
    ///
    /// # Errors
    /// It would be longer than 256 MiB.
    pub fn to_jsonb(&self) -> Result<Vec<u8>, JsonError> {
        let mut out = Vec::new();
        self.put(&mut out)?;
        Ok(out)
    }

    fn put(&self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        match self {
            Json::Null => out.push(NULL),
            Json::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
            Json::Number(number) => {
                out.push(NUMBER);
                out.extend_from_slice(number.spelling().as_bytes());
            }
            Json::Text(text) => {
                out.push(TEXT);
                out.extend_from_slice(text.as_bytes());
            }
            Json::Array(elements) => {
                let ends = begin(ARRAY, elements.len(), 1, out)?;
                let data = out.len();
                for (at, element) in elements.iter().enumerate() {
                    element.put(out)?;
                    put_end(out, ends + 4 * at, data)?;
                }
            }
            Json::Object(members) => {
                let members = sorted(members);
                let ends = begin(OBJECT, members.len(), 2, out)?;
                let names = out.len();
                for (at, (name, _)) in members.iter().enumerate() {
                    out.extend_from_slice(name.as_bytes());
                    put_end(out, ends + 8 * at, names)?;
                }
                let values = out.len();
                for (at, (_, value)) in members.iter().enumerate() {
                    value.put(out)?;
                    put_end(out, ends + 8 * at + 4, values)?;
                }
            }
        }
        match out.len() > FORM_MAX {
            true => Err(JsonError::TooLong),
            false => Ok(()),
        }
    }
}

/// Appends a tag, a count and places for ends; returns where the ends are.
fn begin(tag: u8, count: usize, ends_each: usize, out: &mut Vec<u8>) -> Result<usize, JsonError> {
    let short = u32::try_from(count).map_err(|_| JsonError::TooLong)?;
    out.push(tag);
    out.extend_from_slice(&short.to_le_bytes());
    let ends = out.len();
    out.resize(ends + 4 * ends_each * count, 0);
    Ok(ends)
}

/// Writes how far the bytes reach beyond a place.
fn put_end(out: &mut [u8], at: usize, from: usize) -> Result<(), JsonError> {
    let end = u32::try_from(out.len() - from).map_err(|_| JsonError::TooLong)?;
    out[at..at + 4].copy_from_slice(&end.to_le_bytes());
    Ok(())
}

/// Returns members in the order of their names, the last one of each name.
fn sorted(members: &[(String, Json)]) -> Vec<&(String, Json)> {
    let mut sorted: Vec<&(String, Json)> = members.iter().rev().collect();
    sorted.sort_by(|one, other| order_of_names(one.0.as_bytes(), other.0.as_bytes()));
    sorted.dedup_by(|later, first| later.0 == first.0);
    sorted
}

fn order_of_names(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

impl<'a> Jsonb<'a> {
    /// Takes bytes as a form.
    pub fn new(bytes: &'a [u8]) -> Jsonb<'a> {
        Jsonb(bytes)
    }

    /// Returns the bytes, which are a form by themselves: those of a member, too.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns what the value is.
    pub fn kind(self) -> JsonbKind {
        match self.0.first() {
            Some(&FALSE) => JsonbKind::Bool(false),
            Some(&TRUE) => JsonbKind::Bool(true),
            Some(&NUMBER) => JsonbKind::Number,
            Some(&TEXT) => JsonbKind::Text,
            Some(&ARRAY) => JsonbKind::Array,
            Some(&OBJECT) => JsonbKind::Object,
            _ => JsonbKind::Null,
        }
    }

    /// Whether this is neither an array nor an object.
    pub fn is_scalar(self) -> bool {
        !matches!(self.kind(), JsonbKind::Array | JsonbKind::Object)
    }

    /// Returns the text of a string, the spelling of a number; empty of all else.
    pub fn text(self) -> &'a str {
        match self.kind() {
            JsonbKind::Text | JsonbKind::Number => std::str::from_utf8(&self.0[1..]).unwrap_or_default(),
            _ => "",
        }
    }

    /// Returns how many elements or members there are; 0 of a scalar.
    pub fn len(self) -> usize {
        match self.kind() {
            JsonbKind::Array | JsonbKind::Object => self.word(0),
            _ => 0,
        }
    }

    /// Whether there are no elements or members.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns an integer of those behind the tag.
    fn word(self, at: usize) -> usize {
        let bytes = self.0.get(1 + 4 * at..5 + 4 * at);
        bytes.map_or(0, |bytes| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | usize::from(*byte))
        })
    }

    fn end(self, at: Option<usize>) -> usize {
        at.map_or(0, |at| self.word(1 + at))
    }

    /// Returns an element of an array by its number from 0, from the end if it is negative.
    pub fn element(self, number: i64) -> Option<Jsonb<'a>> {
        let count = self.len();
        let at = match number < 0 {
            true => count.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
            false => usize::try_from(number).ok()?,
        };
        if self.kind() != JsonbKind::Array || at >= count {
            return None;
        }
        let data = 5 + 4 * count;
        let (start, end) = (self.end(at.checked_sub(1)), self.end(Some(at)));
        self.0.get(data + start..data + end).map(Jsonb)
    }

    /// Returns a member of an object by its place among all.
    pub fn member_at(self, at: usize) -> Option<(&'a str, Jsonb<'a>)> {
        let count = self.len();
        if self.kind() != JsonbKind::Object || at >= count {
            return None;
        }
        let end_of_value = |at: usize| self.end(Some(2 * at + 1));
        let values = 5 + 8 * count + self.end(Some(2 * (count - 1)));
        let start = at.checked_sub(1).map_or(0, end_of_value);
        let value = self.0.get(values + start..values + end_of_value(at))?;
        Some((std::str::from_utf8(self.name(at)?).ok()?, Jsonb(value)))
    }

    fn name(self, at: usize) -> Option<&'a [u8]> {
        let names = 5 + 8 * self.len();
        let start = at.checked_sub(1).map_or(0, |before| self.end(Some(2 * before)));
        self.0.get(names + start..names + self.end(Some(2 * at)))
    }

    /// Returns a member of an object by its name.
    pub fn member(self, name: &str) -> Option<Jsonb<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match order_of_names(self.name(middle)?, name.as_bytes()) {
                Ordering::Equal => return self.member_at(middle).map(|(_, value)| value),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns what a path leads to: names of members and numbers of elements.
    pub fn at_path<'p>(self, path: impl IntoIterator<Item = &'p str>) -> Option<Jsonb<'a>> {
        let mut found = self;
        for step in path {
            found = match found.kind() {
                JsonbKind::Object => found.member(step)?,
                JsonbKind::Array => found.element(i64::from(step.trim().parse::<i32>().ok()?))?,
                _ => return None,
            };
        }
        Some(found)
    }

    /// Returns the elements of an array.
    pub fn elements(self) -> impl Iterator<Item = Jsonb<'a>> {
        let count = match self.kind() {
            JsonbKind::Array => self.len(),
            _ => 0,
        };
        (0..count).map_while(move |at| self.element(i64::try_from(at).ok()?))
    }

    /// Returns the members of an object, in the order of their names.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Jsonb<'a>)> {
        (0..self.len()).map_while(move |at| self.member_at(at))
    }

    /// Returns the value as a tree.
    pub fn to_json(self) -> Json {
        match self.kind() {
            JsonbKind::Null => Json::Null,
            JsonbKind::Bool(value) => Json::Bool(value),
            JsonbKind::Number => JsonNumber::of_spelling(&self.0[1..]).map_or(Json::Null, Json::Number),
            JsonbKind::Text => Json::Text(self.text().to_owned()),
            JsonbKind::Array => Json::Array(self.elements().map(Jsonb::to_json).collect()),
            JsonbKind::Object => {
                let members = self.members();
                Json::Object(
                    members
                        .map(|(name, value)| (name.to_owned(), value.to_json()))
                        .collect(),
                )
            }
        }
    }

    /// Whether bytes are a form, to the last byte.
    pub fn is_form(bytes: &[u8]) -> bool {
        is_form(bytes, 0)
    }
}

fn is_form(bytes: &[u8], depth: usize) -> bool {
    let Some((tag, rest)) = bytes.split_first() else {
        return false;
    };
    let value = Jsonb(bytes);
    match *tag {
        NULL | FALSE | TRUE => rest.is_empty(),
        NUMBER => JsonNumber::of_spelling(rest).is_some(),
        TEXT => std::str::from_utf8(rest).is_ok_and(|text| !text.contains('\0')),
        ARRAY | OBJECT if depth >= DEPTH_MAX || rest.len() < 4 => false,
        ARRAY => {
            let count = value.len();
            let data = count
                .checked_mul(4)
                .and_then(|ends| rest[4..].len().checked_sub(ends));
            let ends = (0..count).map(|at| value.end(Some(at)));
            data.is_some_and(|data| reach(ends, data))
                && value.elements().all(|element| is_form(element.0, depth + 1))
        }
        OBJECT => {
            let count = value.len();
            let data = count
                .checked_mul(8)
                .and_then(|ends| rest[4..].len().checked_sub(ends));
            let Some(data) = data else {
                return false;
            };
            let names = count.checked_sub(1).map_or(0, |last| value.end(Some(2 * last)));
            let ends = |second: usize| (0..count).map(move |at| value.end(Some(2 * at + second)));
            let ascend = || {
                (1..count).all(|at| match (value.name(at - 1), value.name(at)) {
                    (Some(one), Some(next)) => order_of_names(one, next) == Ordering::Less,
                    _ => false,
                })
            };
            let holds = |at: usize| {
                let member = value.member_at(at);
                member.is_some_and(|(name, value)| !name.contains('\0') && is_form(value.0, depth + 1))
            };
            names <= data
                && reach(ends(0), names)
                && reach(ends(1), data - names)
                && ascend()
                && (0..count).all(holds)
        }
        _ => false,
    }
}

/// Whether ends ascend, the last one to the end of the data.
fn reach(ends: impl Iterator<Item = usize>, data: usize) -> bool {
    let mut last = 0;
    for end in ends {
        if end < last {
            return false;
        }
        last = end;
    }
    last == data
}
