//! Carries out backslash commands.

use crate::base::error::CliError;
use crate::base::output::Output;
use crate::format::Format;
use crate::sessions::meta::{self, Command, Setting};
use crate::sessions::session::Session;
use crate::sessions::settings::{Switch, Verbosity};
use crate::statements::script::{self, Flow, Origin};
use crate::{statements::copy, statements::describe};

/// How many files may include each other: a file that includes itself is an error, not a crash.
const INCLUDE_DEPTH_MAX: usize = 32;

/// Runs the command on `line`, which stands in `origin`.
pub fn run(session: &mut Session, line: &str, origin: &Origin) -> Result<Flow, CliError> {
    match meta::parse(line)? {
        Command::Quit => return Ok(Flow::Quit),
        Command::Help => session.write_text(meta::HELP)?,
        Command::List {
            what,
            pattern,
            detail,
        } => describe::list(session, what, pattern.as_deref(), detail)?,
        Command::Describe { name, detail } => describe::object(session, &name, detail)?,
        Command::ViewText { name } => describe::view_text(session, &name)?,
        Command::Include { path } => include(session, &path, origin)?,
        Command::Output { path } => redirect(session, path.as_deref(), origin)?,
        Command::Set(setting) => set(session, setting)?,
        Command::ShowSettings { name } => show_settings(session, name.as_deref())?,
        Command::Copy { arguments } => copy::run(session, &arguments)?,
        Command::LastError => show_last_error(session)?,
        Command::Echo { text } => session.write_text(&format!("{text}\n"))?,
    }
    Ok(Flow::Continue)
}

fn include(session: &mut Session, path: &str, origin: &Origin) -> Result<(), CliError> {
    let depth = origin.depth() + 1;
    if depth > INCLUDE_DEPTH_MAX {
        return Err(CliError::command(format!(
            "files include each other more than {INCLUDE_DEPTH_MAX} deep"
        )));
    }
    script::run_file(session, &origin.resolve(path), depth)
}

fn redirect(session: &mut Session, path: Option<&str>, origin: &Origin) -> Result<(), CliError> {
    session.output.flush()?;
    session.output = match path {
        None => Output::stdout(),
        Some(path) => Output::file(&origin.resolve(path))?,
    };
    Ok(())
}

/// Changes a setting; the REPL confirms it, a script does not.
fn set(session: &mut Session, setting: Setting) -> Result<(), CliError> {
    let settings = &mut session.settings;
    let now = match setting {
        Setting::Format(format) => {
            settings.format = format;
            format!("Output format is {}.", format.name())
        }
        Setting::Null(text) => {
            settings.style.null = text;
            format!("Null display is \"{}\".", settings.style.null)
        }
        Setting::TuplesOnly(value) => {
            let value = value.unwrap_or(settings.tuples_only().toggled());
            settings.set_tuples_only(value);
            format!("Tuples only is {}.", value.name())
        }
        Setting::Timing(value) => {
            settings.timing = value.unwrap_or(settings.timing.toggled());
            format!("Timing is {}.", settings.timing.name())
        }
        Setting::Expanded(value) => {
            let value = value.unwrap_or(if settings.format == Format::Expanded {
                Switch::Off
            } else {
                Switch::On
            });
            settings.format = if value == Switch::On {
                Format::Expanded
            } else {
                Format::Table
            };
            format!("Expanded display is {}.", value.name())
        }
        Setting::Verbose(value) => {
            settings.verbosity = if value == Switch::On {
                Verbosity::Verbose
            } else {
                Verbosity::Default
            };
            format!(
                "Verbosity is {}.",
                if value == Switch::On { "verbose" } else { "default" }
            )
        }
    };
    session.tell(&now)
}

fn show_settings(session: &mut Session, only: Option<&str>) -> Result<(), CliError> {
    let listed = session.settings.listed();
    let shown = listed
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name));
    let lines: String = shown
        .map(|(name, value)| format!("{name:<12} {value}\n"))
        .collect();
    session.write_text(&lines)
}

fn show_last_error(session: &mut Session) -> Result<(), CliError> {
    let text = session
        .last_error()
        .unwrap_or("There is no previous error.\n")
        .to_owned();
    session.write_text(&text)
}
