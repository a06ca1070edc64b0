//! Settings that PostgreSQL's clients make, as far as they say what Rukh does anyway, and those that have no effect.
//!
//! | setting                       | values                                                       |
//! |-------------------------------|--------------------------------------------------------------|
//! | what output looks like        | PostgreSQL's defaults; anything else is refused, not ignored |
//! | timeouts                      | milliseconds, or a number with a unit; 0 is none             |
//! | what the server is            | can be shown, and not be changed                             |
//! | names with a dot              | any text: they are the application's own                     |
//!
//! Servers enforce timeouts; nothing here does.

use std::collections::BTreeMap;

use rukh_error::SqlError;
use rukh_keys::IntervalStyle;

use super::known_setting::{Known, Takes, known};
use super::without_effect;

const KNOWN: &[Known] = &[
    known(
        "application_name",
        "",
        Takes::Text,
        "the name of the client's program",
    ),
    known(
        "bytea_output",
        "hex",
        Takes::OneOf(&["hex"]),
        "how binary strings are shown",
    ),
    known(
        "check_function_bodies",
        "on",
        Takes::Switch,
        "whether functions are checked when they are made; there are none",
    ),
    known(
        "client_encoding",
        "UTF8",
        Takes::OneOf(&["UTF8", "UTF-8", "UNICODE"]),
        "the encoding of the client",
    ),
    known(
        "client_min_messages",
        "notice",
        Takes::OneOf(&[
            "notice", "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "warning",
            "error",
        ]),
        "the least severity of messages that are sent to the client",
    ),
    known(
        "datestyle",
        "ISO, MDY",
        Takes::OneOf(&["ISO, MDY", "ISO,MDY", "ISO", "MDY", "US"]),
        "how dates are shown, and in which order 1/2/2024 is read",
    ),
    known(
        "default_tablespace",
        "",
        Takes::OneOf(&[""]),
        "where tables are made; there is one place",
    ),
    known(
        "extra_float_digits",
        "1",
        Takes::Integer(1, 3),
        "floats are shown in full",
    ),
    known(
        "idle_in_transaction_session_timeout",
        "0",
        Takes::Time,
        "the longest pause within a transaction",
    ),
    known(
        "idle_session_timeout",
        "0",
        Takes::Time,
        "the longest pause between transactions",
    ),
    known("integer_datetimes", "on", Takes::Fixed, "times are integers"),
    known(
        "intervalstyle",
        "postgres",
        Takes::OneOf(&IntervalStyle::NAMES),
        "how a server writes intervals in texts",
    ),
    known(
        "jit",
        "off",
        Takes::OneOf(&["off", "false", "no", "0"]),
        "there is no just-in-time compiler",
    ),
    known(
        "lc_messages",
        "C",
        Takes::OneOf(&["C", "POSIX"]),
        "the language of messages",
    ),
    known(
        "lc_monetary",
        "C",
        Takes::OneOf(&["C", "POSIX"]),
        "how amounts of money are shown",
    ),
    known(
        "lc_numeric",
        "C",
        Takes::OneOf(&["C", "POSIX"]),
        "how numbers are shown by to_char",
    ),
    known(
        "lc_time",
        "C",
        Takes::OneOf(&["C", "POSIX"]),
        "the language of names of days and months",
    ),
    known(
        "lock_timeout",
        "0",
        Takes::Time,
        "the longest wait for a lock of a row",
    ),
    known(
        "max_index_keys",
        "32",
        Takes::Fixed,
        "the most columns of an index that clients should use",
    ),
    known(
        "max_identifier_length",
        "63",
        Takes::Fixed,
        "the longest name that clients should use",
    ),
    known(
        "row_security",
        "on",
        Takes::Switch,
        "whether policies hide rows; there are none",
    ),
    known(
        "server_encoding",
        "UTF8",
        Takes::Fixed,
        "the encoding of the database",
    ),
    known(
        "server_version",
        SERVER_VERSION,
        Takes::Fixed,
        "the version of PostgreSQL that clients may expect",
    ),
    known(
        "server_version_num",
        "150000",
        Takes::Fixed,
        "the same as a number",
    ),
    known(
        "standard_conforming_strings",
        "on",
        Takes::OneOf(&["on", "true", "yes", "1"]),
        "backslashes in strings mean themselves",
    ),
    known(
        "statement_timeout",
        "0",
        Takes::Time,
        "the longest that a statement may run",
    ),
    known(
        "timezone",
        "UTC",
        Takes::OneOf(&[
            "UTC",
            "Etc/UTC",
            "GMT",
            "Etc/GMT",
            "Z",
            "Zulu",
            "+00",
            "+00:00",
            "0",
            "Etc/Universal",
            "Universal",
        ]),
        "the time zone of timestamps with time zone",
    ),
    known(
        "transaction_timeout",
        "0",
        Takes::Time,
        "the longest that a transaction may take",
    ),
    known(
        "xmloption",
        "content",
        Takes::OneOf(&["content", "document"]),
        "what a text of type xml is; there is no such type",
    ),
];

/// The version of PostgreSQL that clients may expect.
pub(crate) const SERVER_VERSION: &str = "15.0";

/// Settings that differ from their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientSettings(BTreeMap<String, String>);

impl ClientSettings {
    /// Sets a setting; `None` if there is none of the name. `default` resets it.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), SqlError>> {
        let Some(setting) = all().find(|known| known.name == name) else {
            return self.set_own(name, value);
        };
        Some(setting.read(value).map(|value| match value {
            Some(value) if value != setting.default => {
                self.0.insert(name.to_string(), value);
            }
            _ => {
                self.0.remove(name);
            }
        }))
    }

    /// Sets a setting of the application's own.
    fn set_own(&mut self, name: &str, value: &str) -> Option<Result<(), SqlError>> {
        if !name.contains('.') {
            return None;
        }
        match value {
            "default" => self.0.remove(name),
            value => self.0.insert(name.to_string(), value.to_string()),
        };
        Some(Ok(()))
    }

    /// Returns the value of a setting; `None` if there is none of the name.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        let default = || {
            let known = all().find(|known| known.name == name);
            known.map(|known| known.default.to_string())
        };
        self.0.get(name).cloned().or_else(default)
    }

    /// Returns names and purposes.
    pub(crate) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        all().map(|known| (known.name, known.about))
    }
}

fn all() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().chain(without_effect::KNOWN)
}

/// Whether a setting changes nothing but what it is shown as.
pub(crate) fn has_no_effect(name: &str) -> bool {
    without_effect::KNOWN.iter().any(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(name: &str, value: &str) -> Result<String, &'static str> {
        let mut settings = ClientSettings::default();
        let set = settings
            .set(name, value)
            .unwrap_or(Err(SqlError::statement("42704", "")));
        set.map_err(|error| error.sqlstate)?;
        Ok(settings.value(name).expect("the setting is known"))
    }

    #[test]
    fn values_are_kept_or_refused() {
        let cases = [
            ("statement_timeout", "250", Ok("250")),
            ("statement_timeout", "5s", Ok("5000")),
            ("statement_timeout", "2min", Ok("120000")),
            ("statement_timeout", "99999999999", Err("22023")),
            ("statement_timeout", "x", Err("22023")),
            ("application_name", "psql", Ok("psql")),
            ("client_encoding", "utf-8", Ok("UTF8")),
            ("client_encoding", "LATIN1", Err("0A000")),
            ("timezone", "etc/utc", Ok("UTC")),
            ("timezone", "Europe/Berlin", Err("0A000")),
            ("datestyle", "iso", Ok("ISO, MDY")),
            ("datestyle", "ISO, DMY", Err("0A000")),
            ("datestyle", "German", Err("0A000")),
            ("extra_float_digits", "3", Ok("3")),
            ("extra_float_digits", "-3", Err("22023")),
            ("row_security", "FALSE", Ok("off")),
            ("row_security", "maybe", Err("22023")),
            ("default_tablespace", "", Ok("")),
            ("default_tablespace", "fast", Err("0A000")),
            ("xmloption", "document", Ok("document")),
            ("server_version", "9", Err("55P02")),
            ("my.own", "thing", Ok("thing")),
            ("intervalstyle", "ISO_8601", Ok("iso_8601")),
            ("intervalstyle", "sql_standard", Err("0A000")),
            ("enable_seqscan", "off", Ok("off")),
            ("work_mem", "64", Ok("64kB")),
            ("work_mem", "1GB", Ok("1GB")),
            ("work_mem", "much", Err("22023")),
            ("jit_above_cost", "0", Ok("0")),
            ("random_page_cost", "1.1", Ok("1.1")),
            ("cursor_tuple_fraction", "2", Err("22023")),
            ("session_replication_role", "replica", Err("42704")),
        ];
        for (name, value, expected) in cases {
            assert_eq!(
                after(name, value),
                expected.map(str::to_string),
                "{name} = {value}"
            );
        }
        assert!(ClientSettings::default().set("nonsense", "1").is_none());
    }
}
