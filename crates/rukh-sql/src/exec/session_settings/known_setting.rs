//! What a setting of PostgreSQL's clients takes, and how it is kept.

use rukh_error::SqlError;

use super::sizes::{bytes, bytes_text};

/// What a setting takes.
pub(super) enum Takes {
    /// Any text.
    Text,
    /// One of these, in any case; the first is the default.
    OneOf(&'static [&'static str]),
    /// `on` or `off`.
    Switch,
    /// Milliseconds.
    Time,
    /// An integer of a range.
    Integer(i64, i64),
    /// A number of a range.
    Number(f64, f64),
    /// Memory: kilobytes, or a number with a unit.
    Memory,
    /// Nothing: it can only be shown.
    Fixed,
}

/// A setting: its name, default, what it takes, and what it is for.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
    pub(super) takes: Takes,
    pub(super) about: &'static str,
}

/// Makes a setting.
pub(super) const fn known(
    name: &'static str,
    default: &'static str,
    takes: Takes,
    about: &'static str,
) -> Known {
    Known {
        name,
        default,
        takes,
        about,
    }
}

impl Known {
    /// Returns the value as it is kept, `None` for the default.
    pub(super) fn read(&self, value: &str) -> Result<Option<String>, SqlError> {
        let value = value.trim();
        match &self.takes {
            Takes::Fixed => {
                let message = format!("parameter \"{}\" cannot be changed", self.name);
                Err(SqlError::statement("55P02", message))
            }
            _ if value.eq_ignore_ascii_case("default") => Ok(None),
            Takes::Text => Ok(Some(value.to_string())),
            Takes::OneOf(values) => self.one_of(values, value).map(Some),
            Takes::Switch => match switch(&value.to_ascii_lowercase()) {
                Some(true) => Ok(Some("on".to_string())),
                Some(false) => Ok(Some("off".to_string())),
                None => Err(self.invalid(value)),
            },
            Takes::Integer(min, max) => match value.parse::<i64>() {
                Ok(number) if (*min..=*max).contains(&number) => Ok(Some(number.to_string())),
                Ok(number) => Err(self.out_of_range(number, min, max)),
                Err(_) => Err(self.invalid(value)),
            },
            Takes::Number(min, max) => match value.parse::<f64>() {
                Ok(number) if (*min..=*max).contains(&number) => Ok(Some(number.to_string())),
                Ok(number) => Err(self.out_of_range(number, min, max)),
                Err(_) => Err(self.invalid(value)),
            },
            Takes::Memory => bytes(value)
                .map(|bytes| Some(bytes_text(bytes)))
                .ok_or_else(|| self.invalid(value)),
            Takes::Time => milliseconds(value)
                .map(|time| Some(time.to_string()))
                .ok_or_else(|| self.invalid(value)),
        }
    }

    /// Spellings of what is the default are kept as the default.
    fn one_of(&self, values: &[&str], value: &str) -> Result<String, SqlError> {
        let found = values.iter().find(|known| known.eq_ignore_ascii_case(value));
        match found {
            Some(_) if self.is_spelling() => Ok(self.default.to_string()),
            Some(known) => Ok(known.to_string()),
            None => {
                let allowed = match self.default {
                    "" => "''".to_string(),
                    default if self.is_spelling() => default.to_string(),
                    _ => values.join(", "),
                };
                let message = format!("parameter \"{}\" can only be {allowed}", self.name);
                let error = SqlError::unsupported(message);
                Err(error.with_detail(format!("The requested value is \"{value}\".")))
            }
        }
    }

    /// Whether all values mean the same.
    fn is_spelling(&self) -> bool {
        matches!(
            self.name,
            "client_encoding"
                | "datestyle"
                | "timezone"
                | "jit"
                | "standard_conforming_strings"
                | "search_path"
        )
    }

    fn out_of_range<T: std::fmt::Display>(&self, number: T, min: &T, max: &T) -> SqlError {
        let name = self.name;
        let message =
            format!("{number} is outside the valid range for parameter \"{name}\" ({min} .. {max})");
        SqlError::statement("22023", message)
    }

    fn invalid(&self, value: &str) -> SqlError {
        let message = format!("invalid value for parameter \"{}\": \"{value}\"", self.name);
        SqlError::statement("22023", message)
    }
}

/// Reads a switch in lower case: `on`, `false`, `1`.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Reads a time: `250`, `250ms`, `5s`, `2min`, `1h`, `1d`; at most 24.8 days, as in PostgreSQL.
fn milliseconds(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: i64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number
        .checked_mul(unit)
        .filter(|time| *time <= i64::from(i32::MAX))
}
