//! The backslash commands: what they are called, what they take, and what `\?` says.
//!
//! A command is one line. Its arguments are separated by blanks; `'…'` keeps blanks and stands for the
//! text inside, with quotes doubled; `"…"` keeps blanks and its quotes, as names need them. A semicolon at
//! the end is passed over. `\copy` and `\echo` take the rest of the line as it is.

use crate::base::error::CliError;
use crate::format::Format;
use crate::sessions::settings::Switch;

/// What `\?` prints.
pub const HELP: &str = r"General
  \q                     quit; in a file, end that file
  \?                     this list
  \errverbose            the last error with its SQLSTATE
  \echo TEXT             write TEXT

Input and output
  \i FILE                run the statements of FILE; files name others relative to themselves
  \o [FILE]              write results to FILE, or back to standard output
  \copy TABLE [(COLUMNS)] FROM 'FILE' [WITH (...)]
  \copy TABLE [(COLUMNS)] | (QUERY) TO 'FILE' | STDOUT [WITH (...)]
                         load a file, or write one; .csv, .json, .jsonl and .md tell the format

What there is
  \d                     all tables
  \d[+] NAME             a table, index, view or sequence; + tells comments, checks and sizes, too
  \dt[+] [PATTERN]       tables; * and ? stand for any characters
  \di[+] [PATTERN]       indexes
  \dv[+] [PATTERN]       views
  \ds[+] [PATTERN]       sequences
  \dn[+] [PATTERN]       schemas
  \du [PATTERN]          users and groups
  \df [PATTERN]          functions
  \l                     the database
  \sv NAME               the query of a view

Display
  \x [on|off]            one line a column
  \t [on|off]            rows only, without header and count
  \timing [on|off]       the time of every statement
  \pset [NAME [VALUE]]   settings: format (table, expanded, csv, json, jsonl, markdown), null,
                         tuples_only, timing, verbosity (default, verbose)
";

/// A backslash command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `\?`
    Help,
    /// `\q`
    Quit,
    /// `\d`, `\dt` and its kin
    List {
        /// What is listed.
        what: Listed,
        /// Which ones; all without it.
        pattern: Option<String>,
        /// How much is printed.
        detail: Detail,
    },
    /// `\d NAME`
    Describe {
        /// The table, index, view or sequence, as written in SQL.
        name: String,
        /// How much is printed.
        detail: Detail,
    },
    /// `\sv NAME`
    ViewText {
        /// The view, as written in SQL.
        name: String,
    },
    /// `\i FILE`
    Include {
        /// The file as written.
        path: String,
    },
    /// `\o [FILE]`
    Output {
        /// The file as written; standard output without it.
        path: Option<String>,
    },
    /// `\pset`, `\t`, `\timing`, `\x`
    Set(Setting),
    /// `\pset` alone, or with a name
    ShowSettings {
        /// The setting; all without it.
        name: Option<String>,
    },
    /// `\copy`
    Copy {
        /// All after `\copy`.
        arguments: String,
    },
    /// `\errverbose`
    LastError,
    /// `\echo`
    Echo {
        /// The text.
        text: String,
    },
}

/// What a command lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// `\dt`
    Tables,
    /// `\di`
    Indexes,
    /// `\dv`
    Views,
    /// `\ds`
    Sequences,
    /// `\dn`
    Schemas,
    /// `\du`
    Roles,
    /// `\df`
    Functions,
    /// `\l`
    Databases,
}

/// How much a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What is mostly wanted.
    Short,
    /// The same and more, by a `+` behind the command.
    Full,
}

/// A setting of `\pset` with its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// `format`
    Format(Format),
    /// `null`
    Null(String),
    /// `tuples_only`; turned over without a value
    TuplesOnly(Option<Switch>),
    /// `timing`; turned over without a value
    Timing(Option<Switch>),
    /// `\x`; turned over without a value
    Expanded(Option<Switch>),
    /// `verbosity`
    Verbose(Switch),
}

/// Lists the names of all commands, for completion.
pub const NAMES: [&str; 21] = [
    "\\?",
    "\\copy",
    "\\d",
    "\\df",
    "\\di",
    "\\dn",
    "\\ds",
    "\\dt",
    "\\du",
    "\\dv",
    "\\echo",
    "\\errverbose",
    "\\i",
    "\\l",
    "\\o",
    "\\pset",
    "\\q",
    "\\sv",
    "\\t",
    "\\timing",
    "\\x",
];

/// Lists the names of all settings of `\pset`, for completion.
pub const SETTINGS: [&str; 5] = ["format", "null", "tuples_only", "timing", "verbosity"];

/// Understands one line that begins with a backslash.
pub fn parse(line: &str) -> Result<Command, CliError> {
    let line = line.trim();
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (name, rest) = (line[..end].trim_end_matches(';'), line[end..].trim());
    match name {
        "\\copy" => {
            return Ok(Command::Copy {
                arguments: rest.trim_end_matches(';').trim_end().to_owned(),
            });
        }
        "\\echo" => {
            return Ok(Command::Echo {
                text: rest.to_owned(),
            });
        }
        _ => {}
    }
    let mut arguments = Arguments {
        name,
        words: split(rest)?.into_iter(),
    };
    let command = arguments.command()?;
    match arguments.words.next() {
        None => Ok(command),
        Some(word) => Err(CliError::command(format!("{name}: extra argument \"{word}\""))),
    }
}

/// The words after a command, taken one by one.
struct Arguments<'a> {
    name: &'a str,
    words: std::vec::IntoIter<String>,
}

impl Arguments<'_> {
    fn command(&mut self) -> Result<Command, CliError> {
        Ok(match self.name {
            "\\?" | "\\h" | "\\help" => Command::Help,
            "\\q" | "\\quit" => Command::Quit,
            "\\d" | "\\d+" => {
                let detail = detail(self.name);
                match self.words.next() {
                    Some(name) => Command::Describe { name, detail },
                    None => Command::List {
                        what: Listed::Tables,
                        pattern: None,
                        detail,
                    },
                }
            }
            "\\sv" => Command::ViewText {
                name: self.required()?,
            },
            name if let Some(what) = listed(name) => Command::List {
                what,
                pattern: self.words.next(),
                detail: detail(name),
            },
            "\\i" | "\\ir" | "\\include" => Command::Include {
                path: self.required()?,
            },
            "\\o" | "\\out" => Command::Output {
                path: self.words.next(),
            },
            "\\timing" => Command::Set(Setting::Timing(self.switch()?)),
            "\\x" => Command::Set(Setting::Expanded(self.switch()?)),
            "\\t" => Command::Set(Setting::TuplesOnly(self.switch()?)),
            "\\pset" => self.pset()?,
            "\\errverbose" => Command::LastError,
            name => {
                let message = format!("invalid command {name}");
                return Err(CliError::Command {
                    message,
                    hint: Some("Try \\? for help.".to_owned()),
                });
            }
        })
    }

    fn pset(&mut self) -> Result<Command, CliError> {
        let Some(name) = self.words.next() else {
            return Ok(Command::ShowSettings { name: None });
        };
        let value = self.words.next();
        let setting = match (name.as_str(), value) {
            ("format", Some(value)) => Setting::Format(format(&value)?),
            ("null", Some(value)) => Setting::Null(value),
            ("tuples_only" | "t", value) => {
                Setting::TuplesOnly(value.map(|value| switch(&name, &value)).transpose()?)
            }
            ("timing", Some(value)) => Setting::Timing(Some(switch(&name, &value)?)),
            ("verbosity", Some(value)) => Setting::Verbose(verbosity(&value)?),
            (name, None) if SETTINGS.contains(&name) => {
                return Ok(Command::ShowSettings {
                    name: Some(name.to_owned()),
                });
            }
            (name, _) => return Err(unknown("setting", name, SETTINGS.into_iter())),
        };
        Ok(Command::Set(setting))
    }

    fn required(&mut self) -> Result<String, CliError> {
        self.words
            .next()
            .ok_or_else(|| CliError::command(format!("{}: missing required argument", self.name)))
    }

    fn switch(&mut self) -> Result<Option<Switch>, CliError> {
        self.words.next().map(|word| switch(self.name, &word)).transpose()
    }
}

/// Returns what a command lists, if it lists anything.
fn listed(name: &str) -> Option<Listed> {
    Some(match name.trim_end_matches('+') {
        "\\dt" => Listed::Tables,
        "\\di" => Listed::Indexes,
        "\\dv" => Listed::Views,
        "\\ds" => Listed::Sequences,
        "\\dn" => Listed::Schemas,
        "\\du" | "\\dg" => Listed::Roles,
        "\\df" => Listed::Functions,
        "\\l" | "\\list" => Listed::Databases,
        _ => return None,
    })
}

fn detail(name: &str) -> Detail {
    match name.ends_with('+') {
        true => Detail::Full,
        false => Detail::Short,
    }
}

fn switch(name: &str, value: &str) -> Result<Switch, CliError> {
    Switch::from_name(value).ok_or_else(|| {
        CliError::command(format!(
            "unrecognized value \"{value}\" for \"{name}\": on or off expected"
        ))
    })
}

fn format(value: &str) -> Result<Format, CliError> {
    Format::from_name(value).ok_or_else(|| unknown("format", value, Format::names()))
}

fn verbosity(value: &str) -> Result<Switch, CliError> {
    match value {
        "verbose" => Ok(Switch::On),
        "default" => Ok(Switch::Off),
        _ => Err(unknown("verbosity", value, ["default", "verbose"].into_iter())),
    }
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> CliError {
    let known = known.collect::<Vec<_>>().join(", ");
    CliError::Command {
        message: format!("unknown {what} \"{name}\""),
        hint: Some(format!("There are {known}.")),
    }
}

/// Splits arguments at blanks outside quotes and takes single quotes off.
fn split(text: &str) -> Result<Vec<String>, CliError> {
    let mut words = Vec::new();
    let mut rest = text.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    if text[rest.len()..].contains(';') && rest.is_empty() {
        return Ok(words);
    }
    while !rest.is_empty() {
        let (word, len) = word(rest)?;
        words.push(word);
        rest = rest[len..].trim_start();
    }
    Ok(words)
}

/// Returns the word at the start of `text` and its length in bytes.
fn word(text: &str) -> Result<(String, usize), CliError> {
    let mut word = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            c if c.is_whitespace() => return Ok((word, at)),
            '\'' | '"' => {
                let keep = c == '"';
                word.extend(keep.then_some(c));
                loop {
                    match characters.next() {
                        None => return Err(CliError::command("unterminated quoted string")),
                        Some((_, inner)) if inner != c => word.push(inner),
                        Some(_) if characters.next_if(|(_, next)| *next == c).is_some() => {
                            word.push(c);
                            word.extend(keep.then_some(c));
                        }
                        Some(_) => break,
                    }
                }
                word.extend(keep.then_some(c));
            }
            c => word.push(c),
        }
    }
    Ok((word, text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        let name = |name: &str| Some(name.to_owned());
        let list = |what, pattern: Option<&str>, detail| Command::List {
            what,
            pattern: pattern.map(str::to_owned),
            detail,
        };
        let describe = |name: &str, detail| Command::Describe {
            name: name.to_owned(),
            detail,
        };
        let cases = [
            ("\\?", Command::Help),
            ("\\q;", Command::Quit),
            ("\\d", list(Listed::Tables, None, Detail::Short)),
            ("\\d users", describe("users", Detail::Short)),
            ("\\d users;", describe("users", Detail::Short)),
            ("\\d+ users", describe("users", Detail::Full)),
            ("\\d \"My Table\"", describe("\"My Table\"", Detail::Short)),
            ("\\dt  a*", list(Listed::Tables, Some("a*"), Detail::Short)),
            ("\\di", list(Listed::Indexes, None, Detail::Short)),
            ("\\dv+ v?", list(Listed::Views, Some("v?"), Detail::Full)),
            ("\\l", list(Listed::Databases, None, Detail::Short)),
            (
                "\\sv rich",
                Command::ViewText {
                    name: "rich".to_owned(),
                },
            ),
            (
                "\\i 'my file.sql'",
                Command::Include {
                    path: "my file.sql".to_owned(),
                },
            ),
            ("\\o", Command::Output { path: None }),
            (
                "\\o out.csv",
                Command::Output {
                    path: name("out.csv"),
                },
            ),
            ("\\timing", Command::Set(Setting::Timing(None))),
            ("\\timing ON", Command::Set(Setting::Timing(Some(Switch::On)))),
            ("\\x off", Command::Set(Setting::Expanded(Some(Switch::Off)))),
            ("\\pset", Command::ShowSettings { name: None }),
            ("\\pset null", Command::ShowSettings { name: name("null") }),
            ("\\pset null ''", Command::Set(Setting::Null(String::new()))),
            (
                "\\pset null 'it''s null'",
                Command::Set(Setting::Null("it's null".to_owned())),
            ),
            ("\\pset format CSV", Command::Set(Setting::Format(Format::Csv))),
            ("\\pset t on", Command::Set(Setting::TuplesOnly(Some(Switch::On)))),
            (
                "\\pset verbosity verbose",
                Command::Set(Setting::Verbose(Switch::On)),
            ),
            (
                "\\copy (SELECT ';') TO 'a b.csv';",
                Command::Copy {
                    arguments: "(SELECT ';') TO 'a b.csv'".to_owned(),
                },
            ),
            (
                "\\echo a  'b';",
                Command::Echo {
                    text: "a  'b';".to_owned(),
                },
            ),
            ("\\errverbose", Command::LastError),
        ];
        for (line, expected) in cases {
            assert_eq!(
                parse(line).map_err(|error| error.to_string()),
                Ok(expected),
                "{line}"
            );
        }
    }

    #[test]
    fn mistakes() {
        let cases = [
            ("\\foo", "invalid command \\foo"),
            ("\\", "invalid command \\"),
            ("\\i", "\\i: missing required argument"),
            ("\\sv", "\\sv: missing required argument"),
            ("\\dq", "invalid command \\dq"),
            ("\\q+", "invalid command \\q+"),
            (
                "\\x maybe",
                "unrecognized value \"maybe\" for \"\\x\": on or off expected",
            ),
            ("\\q now", "\\q: extra argument \"now\""),
            ("\\pset format xml", "unknown format \"xml\""),
            ("\\pset border 2", "unknown setting \"border\""),
            ("\\i 'open", "unterminated quoted string"),
        ];
        for (line, expected) in cases {
            assert_eq!(
                parse(line).map_err(|error| error.to_string()),
                Err(expected.to_owned()),
                "{line}"
            );
        }
    }

    #[test]
    fn help_tells_of_every_command() {
        for name in NAMES {
            assert!(HELP.contains(&format!("  {name}")), "{name}");
        }
        assert!(SETTINGS.iter().all(|name| HELP.contains(name)));
    }
}
