//! Enums: types whose values are labels in an order of their own.
//!
//! A value is stored as the code of its label, an integer that grows in the order of the labels, so keys sort as the labels do. Codes lie
//! apart from one another: a label that is added between two others gets a code between theirs, and no row changes.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// How far the codes of two labels lie apart that were defined together, if there is room.
const STEP: i32 = 1 << 19;
/// The share of a gap that is left between a new label and the one that it was not said to stand beside: labels that are added again and
/// again before the same one find room longer than if each took the middle.
const NEAR: i32 = 4;

/// Offsets of 23 hours, with 0 to 99 minutes each.
const OFFSETS: usize = 23 * 100;

/// A label of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnumLabel {
    /// What is stored, not negative.
    pub code: i32,
    /// What is shown.
    pub text: String,
}

/// Where a label is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelPlace<'a> {
    /// Behind all others.
    Last,
    /// Directly before this one.
    Before(&'a str),
    /// Directly behind this one.
    After(&'a str),
}

/// Why a label is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelError {
    /// The label beside which it is to stand is not there.
    Unknown,
    /// No code is left between its neighbours.
    NoRoom,
}

/// The definition of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnumDefinition {
    /// Identity within the database.
    pub id: u32,
    /// Schema name.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// The labels in their order, which is that of their codes.
    pub labels: Vec<EnumLabel>,
}

impl EnumDefinition {
    /// Makes a definition of labels in their order.
    pub fn new(id: u32, schema: &str, name: &str, labels: &[String]) -> Self {
        let count = i32::try_from(labels.len()).unwrap_or(i32::MAX);
        let step = (i32::MAX / count.saturating_add(1)).clamp(1, STEP);
        let codes = (1..=count).map(|at| at.saturating_mul(step));
        let labels = codes.zip(labels).map(|(code, text)| EnumLabel {
            code,
            text: text.clone(),
        });
        EnumDefinition {
            id,
            schema: schema.to_owned(),
            name: name.to_owned(),
            labels: labels.collect(),
        }
    }

    /// Returns the code of a label.
    pub fn code(&self, text: &str) -> Option<i32> {
        self.labels
            .iter()
            .find(|label| label.text == text)
            .map(|label| label.code)
    }

    /// Returns which label a code is of, from 0.
    pub fn position(&self, code: i64) -> Option<usize> {
        let code = i32::try_from(code).ok()?;
        self.labels.binary_search_by_key(&code, |label| label.code).ok()
    }

    /// Returns the label of a code.
    pub fn label(&self, code: i64) -> Option<&str> {
        self.position(code).map(|at| self.labels[at].text.as_str())
    }

    /// Returns the definition with one label more.
    pub fn with_label(&self, text: &str, place: LabelPlace<'_>) -> Result<Self, LabelError> {
        let at = |text: &str| {
            let mut labels = self.labels.iter();
            labels
                .position(|label| label.text == text)
                .ok_or(LabelError::Unknown)
        };
        let at = match place {
            LabelPlace::Last => self.labels.len(),
            LabelPlace::Before(other) => at(other)?,
            LabelPlace::After(other) => at(other)? + 1,
        };
        let low = at.checked_sub(1).map_or(0, |before| self.labels[before].code);
        let code = match (self.labels.get(at), place) {
            (None, _) => {
                let gap = i32::MAX - low;
                low + STEP.min(gap / 2)
            }
            (Some(next), LabelPlace::After(_)) => next.code - ((next.code - low) / NEAR).max(1),
            (Some(next), _) => low + ((next.code - low) / NEAR).max(1),
        };
        let is_free = code > low && self.labels.get(at).is_none_or(|next| code < next.code);
        if !is_free {
            return Err(LabelError::NoRoom);
        }
        let mut next = self.clone();
        let text = text.to_owned();
        next.labels.insert(at, EnumLabel { code, text });
        Ok(next)
    }

    /// Whether the codes are not negative and grow, as all that is stored has it.
    pub fn is_ordered(&self) -> bool {
        let ordered = self.labels.windows(2).all(|pair| pair[0].code < pair[1].code);
        ordered && self.labels.first().is_none_or(|first| first.code >= 0)
    }
}

/// The type of an enum's values: its definition at one moment.
///
/// Two are equal if their definitions are. Definitions are kept for the life of the process: there are as many as changes of enums.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Known);

struct Known {
    number: usize,
    definition: EnumDefinition,
}

/// All definitions of this process.
#[derive(Default)]
struct All {
    by_number: Vec<&'static Known>,
    by_definition: HashMap<EnumDefinition, &'static Known>,
}

static ALL: Mutex<Option<All>> = Mutex::new(None);

impl EnumType {
    /// Returns the type of a definition.
    pub fn of(definition: EnumDefinition) -> EnumType {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if let Some(known) = all.by_definition.get(&definition) {
            return EnumType(known);
        }
        let known: &'static Known = Box::leak(Box::new(Known {
            number: all.by_number.len(),
            definition: definition.clone(),
        }));
        all.by_number.push(known);
        all.by_definition.insert(definition, known);
        EnumType(known)
    }

    /// Returns the type of a [`number`](EnumType::number).
    pub fn numbered(number: usize) -> Option<EnumType> {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_ref()?.by_number.get(number).map(|known| EnumType(known))
    }

    /// How many types have a zone of their own.
    pub const ZONES: usize = 4 * OFFSETS;

    /// Returns an offset, such as `-07:65`, that stands for the type as the time zone of Arrow's timestamps; no other type has it as long as
    /// there are no more than [`EnumType::ZONES`]. It has no meaning but to differ from others. Arrow must be able to read it, since
    /// DataFusion shows constants in their zone.
    pub fn zone(self) -> String {
        let (form, number) = (self.number() / OFFSETS, self.number() % OFFSETS);
        let sign = if form % 2 == 0 { '+' } else { '-' };
        let colon = if form < 2 { ":" } else { "" };
        format!("{sign}{:02}{colon}{:02}", number / 100, number % 100)
    }

    /// Returns the type that an offset stands for.
    pub fn of_zone(zone: &str) -> Option<EnumType> {
        let (sign, digits) = zone.split_at_checked(1)?;
        let (hours, minutes) = match digits.split_once(':') {
            Some(parts) => parts,
            None => digits.split_at_checked(2)?,
        };
        let form = usize::from(sign == "-") + if digits.contains(':') { 0 } else { 2 };
        let number = hours.parse::<usize>().ok()? * 100 + minutes.parse::<usize>().ok()?;
        EnumType::numbered(form * OFFSETS + number)
    }

    /// Returns how many types there are in this process.
    pub fn count() -> usize {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_ref().map_or(0, |all| all.by_number.len())
    }

    /// Returns a number that no other type of this process has. It means nothing outside of the process.
    pub fn number(self) -> usize {
        self.0.number
    }

    /// Returns the definition.
    pub fn definition(self) -> &'static EnumDefinition {
        &self.0.definition
    }

    /// Returns its name as SQL, with the schema unless that is `public`.
    pub fn sql_name(self) -> String {
        let EnumDefinition { schema, name, .. } = self.definition();
        type_sql_name(schema, name)
    }
}

/// Returns the name of a type that a database defines as SQL, with the schema unless that is `public`.
pub fn type_sql_name(schema: &str, name: &str) -> String {
    match schema {
        "public" => quoted_name(name),
        schema => format!("{}.{}", quoted_name(schema), quoted_name(name)),
    }
}

/// Quotes a name that is not one as it stands: `Total`, `a b`. Words that SQL reserves stay, which this crate does not know.
pub fn quoted_name(name: &str) -> String {
    let is_start = |c: char| c.is_ascii_lowercase() || c == '_' || (!c.is_ascii() && c.is_lowercase());
    let is_plain = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnumType").field(self.definition()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood() -> EnumDefinition {
        let labels = ["sad", "ok", "happy"].map(String::from);
        EnumDefinition::new(7, "public", "mood", &labels)
    }

    fn texts(definition: &EnumDefinition) -> Vec<&str> {
        definition
            .labels
            .iter()
            .map(|label| label.text.as_str())
            .collect()
    }

    #[test]
    fn labels_are_added_where_they_are_said_to_stand_and_others_keep_their_codes() {
        let before = mood();
        let next = before.with_label("glad", LabelPlace::Before("happy")).unwrap();
        let next = next.with_label("awful", LabelPlace::Before("sad")).unwrap();
        let next = next.with_label("fine", LabelPlace::After("ok")).unwrap();
        let next = next.with_label("elated", LabelPlace::Last).unwrap();
        assert_eq!(
            texts(&next),
            ["awful", "sad", "ok", "fine", "glad", "happy", "elated"]
        );
        assert!(next.is_ordered());
        for label in &before.labels {
            assert_eq!(next.code(&label.text), Some(label.code));
            assert_eq!(next.label(i64::from(label.code)), Some(label.text.as_str()));
        }
        assert_eq!(
            next.with_label("x", LabelPlace::After("none")),
            Err(LabelError::Unknown)
        );
    }

    #[test]
    fn there_is_room_for_many_labels_before_and_behind_one() {
        for place in [
            LabelPlace::Before("happy"),
            LabelPlace::After("sad"),
            LabelPlace::Last,
        ] {
            let mut definition = mood();
            for n in 0..40 {
                definition = definition.with_label(&format!("l{n}"), place).unwrap();
            }
            assert!(definition.is_ordered());
        }
    }

    #[test]
    fn codes_end_without_an_overflow() {
        let labels: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        let mut definition = EnumDefinition::new(1, "public", "many", &labels);
        assert!(definition.is_ordered());
        let mut added = 0;
        while let Ok(next) = definition.with_label(&format!("l{added}"), LabelPlace::Last) {
            definition = next;
            added += 1;
        }
        assert!(definition.is_ordered() && added > 10);
        let next = (0..).try_fold(mood(), |definition, n| {
            definition.with_label(&format!("l{n}"), LabelPlace::Before("ok"))
        });
        assert_eq!(next, Err(LabelError::NoRoom));
    }

    #[test]
    fn equal_definitions_are_one_type() {
        let (one, same) = (EnumType::of(mood()), EnumType::of(mood()));
        let other = EnumType::of(mood().with_label("x", LabelPlace::Last).unwrap());
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(EnumType::numbered(other.number()), Some(other));
        assert_eq!(EnumType::of_zone(&other.zone()), Some(other));
        assert_eq!(one.sql_name(), "mood");
    }
}
