//! The forms in which a configuration may give a value: a file has numbers and texts, a variable has text that looks like either.
//!
//! | value     | forms                                          |
//! |-----------|------------------------------------------------|
//! | text      | `"5s"`, `5000`, `1.5`, `true`                  |
//! | seconds   | `60`, `"60"`, `"60s"`, `"2min"`, `"1h"`        |
//! | bytes     | `1024`, `"1024"`, `"64MB"`, `"1GB"`            |
//! | number    | `200`, `"200"`                                 |
//! | yes or no | `true`, `"true"`, `"on"`, `"yes"`, `1`         |

use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A value, as text.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }
}

/// Reads a text.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text::deserialize(deserializer).map(|Text(text)| text)
}

/// Reads a text that may be missing.
pub(crate) fn text_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<Text>::deserialize(deserializer)?;
    Ok(text.map(|Text(text)| text))
}

/// Reads the name of a file.
pub(crate) fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    text(deserializer).map(PathBuf::from)
}

/// Reads a number.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let number = in_units(&text(deserializer)?, &[]).and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| D::Error::custom("expected a whole number"))
}

/// Reads a number of bytes.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    const UNITS: [(&str, u64); 4] = [("b", 1), ("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30)];
    let bytes = in_units(&text(deserializer)?, &UNITS).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| D::Error::custom("expected bytes, such as 1048576, \"1024kB\" or \"1MB\""))
}

/// Reads a number of seconds.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    const UNITS: [(&str, u64); 4] = [("s", 1), ("min", 60), ("h", 3_600), ("d", 86_400)];
    let seconds = in_units(&text(deserializer)?, &UNITS);
    seconds.ok_or_else(|| D::Error::custom("expected seconds, such as 90, \"90s\" or \"2min\""))
}

/// Reads yes or no.
pub(crate) fn yes_or_no<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match text(deserializer)?.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(D::Error::custom("expected true or false")),
    }
}

/// Reads a whole number, with one of these units behind it or none.
fn in_units(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start();
    let factor = match unit {
        "" => 1,
        unit => units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_or_none() {
        let units = [("s", 1), ("min", 60)];
        for (text, number) in [
            ("0", Some(0)),
            (" 90 ", Some(90)),
            ("2min", Some(120)),
            ("2 MIN", Some(120)),
            ("", None),
            ("min", None),
            ("-1", None),
            ("1.5min", None),
            ("2h", None),
            ("400000000000000000min", None),
        ] {
            assert_eq!(in_units(text, &units), number, "{text:?}");
        }
    }
}
