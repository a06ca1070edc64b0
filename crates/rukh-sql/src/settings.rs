//! Settings of a session: SET, SHOW.

use crate::SqlError;
use crate::context::PathSetting;

/// The settings of a session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Whether a load of many rows is followed by ANALYZE.
    pub(crate) auto_analyze: bool,
    /// Whether a commit waits until it is on disk.
    pub(crate) synchronous_commit: bool,
    /// Which way queries run.
    pub(crate) path: PathSetting,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            auto_analyze: true,
            synchronous_commit: true,
            path: PathSetting::Auto,
        }
    }
}

/// Names of all settings, with what they are for.
const KNOWN: [(&str, &str); 3] = [
    ("auto_analyze", "whether COPY of many rows is followed by ANALYZE"),
    (
        "execution_path",
        "auto, or general to run every query by DataFusion",
    ),
    ("synchronous_commit", "whether a commit waits until it is on disk"),
];

impl Settings {
    /// Sets a setting; fails with 42704 on an unknown name and 22023 on a value it does not take.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        match name {
            "auto_analyze" => self.auto_analyze = boolean(name, value)?,
            "synchronous_commit" => self.synchronous_commit = boolean(name, value)?,
            "execution_path" => {
                self.path = match value {
                    "auto" | "default" => PathSetting::Auto,
                    "general" => PathSetting::General,
                    _ => return Err(invalid(name, value)),
                }
            }
            _ => return Err(unknown(name)),
        }
        Ok(())
    }

    /// Returns the value of a setting; fails with 42704 on an unknown name.
    pub(crate) fn value(&self, name: &str) -> Result<String, SqlError> {
        let switch = |on: bool| if on { "on" } else { "off" }.to_string();
        match name {
            "auto_analyze" => Ok(switch(self.auto_analyze)),
            "synchronous_commit" => Ok(switch(self.synchronous_commit)),
            "execution_path" => Ok(match self.path {
                PathSetting::Auto => "auto",
                PathSetting::General => "general",
            }
            .to_string()),
            _ => Err(unknown(name)),
        }
    }

    /// Returns all settings as name, value, description.
    pub(crate) fn all(&self) -> Vec<[String; 3]> {
        let row = |(name, about): &(&str, &str)| {
            [
                name.to_string(),
                self.value(name).unwrap_or_default(),
                about.to_string(),
            ]
        };
        KNOWN.iter().map(row).collect()
    }
}

fn boolean(name: &str, value: &str) -> Result<bool, SqlError> {
    match value {
        "on" | "true" | "yes" | "1" | "default" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(invalid(name, value)),
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::statement(
        "42704",
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

fn invalid(name: &str, value: &str) -> SqlError {
    SqlError::statement(
        "22023",
        format!("invalid value for parameter \"{name}\": \"{value}\""),
    )
}
