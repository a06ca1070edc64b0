//! What `\x`, `\pset`, `\timing` and the options of the command line change.

use crate::format::{Format, Frame, Style};

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It is done.
    On,
    /// It is not.
    Off,
}

impl Switch {
    /// Returns the switch of `on`, `off`, `true`, `false`, `1` or `0`.
    pub fn from_name(name: &str) -> Option<Switch> {
        match name.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" => Some(Switch::On),
            "off" | "false" | "0" => Some(Switch::Off),
            _ => None,
        }
    }

    /// Returns the other position.
    pub fn toggled(self) -> Switch {
        match self {
            Switch::On => Switch::Off,
            Switch::Off => Switch::On,
        }
    }

    /// Returns `on` or `off`.
    pub fn name(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
        }
    }
}

/// How much an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Message, place, detail and hint.
    Default,
    /// The same with SQLSTATE.
    Verbose,
}

/// What a script does after a failed statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// It ends.
    Stop,
    /// It goes on; the exit code still shows it.
    KeepGoing,
}

/// The settings of one session.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The layout of results.
    pub format: Format,
    /// The text for NULL, and whether headers and footers are written.
    pub style: Style,
    /// Whether the time of a statement is printed.
    pub timing: Switch,
    /// Whether `INSERT 0 1` and the like are printed.
    pub tags: Switch,
    /// How much errors say.
    pub verbosity: Verbosity,
    /// What a script does after a failed statement.
    pub on_error: OnError,
    /// Whether errors may be coloured.
    pub colours: bool,
}

impl Settings {
    /// Returns the settings of a script: results only.
    pub fn script() -> Settings {
        Settings {
            format: Format::Table,
            style: Style::default(),
            timing: Switch::Off,
            tags: Switch::Off,
            verbosity: Verbosity::Default,
            on_error: OnError::Stop,
            colours: false,
        }
    }

    /// Lists every setting of `\pset` with its present value.
    pub fn listed(&self) -> [(&'static str, String); 5] {
        [
            ("format", self.format.name().to_owned()),
            ("null", format!("'{}'", self.style.null.replace('\'', "''"))),
            ("tuples_only", self.tuples_only().name().to_owned()),
            ("timing", self.timing.name().to_owned()),
            (
                "verbosity",
                if self.verbosity == Verbosity::Verbose {
                    "verbose"
                } else {
                    "default"
                }
                .to_owned(),
            ),
        ]
    }

    /// Returns whether headers and footers are left out.
    pub fn tuples_only(&self) -> Switch {
        match self.style.frame {
            Frame::RowsOnly => Switch::On,
            Frame::Full => Switch::Off,
        }
    }

    /// Leaves headers and footers out, or not.
    pub fn set_tuples_only(&mut self, switch: Switch) {
        self.style.frame = match switch {
            Switch::On => Frame::RowsOnly,
            Switch::Off => Frame::Full,
        };
    }
}
