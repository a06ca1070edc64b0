//! `rukh [DIR]`: opens the database and lets a prompt or a script loose on it.

use std::path::Path;
use std::time::Duration;

use rukh::{Database, Options};

use crate::base::error::{CliError, Exit};
use crate::base::memory;
use crate::base::output;
use crate::base::terminal::Terminal;
use crate::programs::arguments::RunArguments;
use crate::prompt::repl;
use crate::sessions::render_error;
use crate::sessions::session::{Mode, Session};
use crate::sessions::settings::{OnError, Settings, Switch, Verbosity};
use crate::statements::script::{self, Work};

/// Whether a database may be changed, and whether it is made when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is made when there is none.
    Write,
    /// It may be changed, and must be there.
    Existing,
    /// It must be there.
    Read,
}

/// Runs what the command line asks for.
pub fn run(arguments: &RunArguments) -> Exit {
    let terminal = Terminal::detect();
    let mode = if arguments.works.is_empty() && terminal.interactive {
        Mode::Interactive
    } else {
        Mode::Script
    };
    let access = if arguments.read_only {
        Access::Read
    } else {
        Access::Write
    };
    let settings = settings(arguments, terminal, mode);
    let opened = open_with(
        &arguments.directory,
        access,
        Options {
            memory_bytes: arguments.memory,
            log_min_duration: arguments.log_min_duration.map(Duration::from_millis),
            log_file: arguments.log_file.clone(),
            ..Options::default()
        },
    );
    let opened = opened.and_then(|database| Session::new(&database, settings, mode));
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return give_up(&error),
    };
    let result = match mode {
        Mode::Interactive => repl::run(&mut session, terminal),
        Mode::Script => script::run_all(&mut session, works(arguments)),
    };
    finish(&mut session, result)
}

/// Opens the database at `directory`; `:memory:` is one of its own.
pub fn open(directory: &Path, access: Access) -> Result<Database, CliError> {
    open_with(directory, access, Options::default())
}

/// The variable that switches off the thread that analyzes tables in the background.
const AUTO_ANALYZE: &str = "RUKH_AUTO_ANALYZE";

/// Whether the environment lets tables be analyzed in the background.
fn is_auto_analyze_on() -> Result<bool, String> {
    match std::env::var(AUTO_ANALYZE).as_deref() {
        Ok("on") | Err(_) => Ok(true),
        Ok("off") => Ok(false),
        Ok(text) => Err(format!("{AUTO_ANALYZE} is \"{text}\": it can be on or off")),
    }
}

/// Opens the database at `directory` with options; where they say nothing of memory, the environment may.
fn open_with(directory: &Path, access: Access, options: Options) -> Result<Database, CliError> {
    if directory.as_os_str() == ":memory:" {
        return opened(directory, Database::open_in_memory());
    }
    let memory_bytes = match options.memory_bytes {
        None => memory::from_environment().map_err(CliError::command)?,
        given => given,
    };
    let auto_analyze = options.auto_analyze && is_auto_analyze_on().map_err(CliError::command)?;
    let options = Options {
        read_only: access == Access::Read,
        create: access == Access::Write,
        memory_bytes,
        auto_analyze,
        ..options
    };
    opened(directory, Database::open_with(directory, options))
}

fn opened(directory: &Path, opened: rukh::Result<Database>) -> Result<Database, CliError> {
    if let Ok(database) = &opened {
        for loss in database.losses() {
            output::complain(&format!("WARNING:  {loss}\n"));
        }
    }
    opened.map_err(|source| CliError::Open {
        path: directory.to_owned(),
        source: Box::new(source),
    })
}

/// Runs `work` in a session on the database in a directory, with the settings of a script.
pub fn with_session(
    directory: &Path,
    access: Access,
    work: impl FnOnce(&mut Session) -> Result<(), CliError>,
) -> Exit {
    let opened = open(directory, access);
    let session = opened.and_then(|database| Session::new(&database, Settings::script(), Mode::Script));
    match session {
        Ok(mut session) => {
            let result = work(&mut session);
            finish(&mut session, result)
        }
        Err(error) => give_up(&error),
    }
}

/// Reports a failure before there is a session.
pub fn give_up(error: &CliError) -> Exit {
    output::complain(&render_error::render(error, Verbosity::Default));
    error.exit()
}

/// Reports a failure that ended the session, and decides how the process ends.
pub fn finish(session: &mut Session, result: Result<(), CliError>) -> Exit {
    let result = result.and_then(|()| session.output.flush());
    match result {
        Ok(()) if session.has_failed() => Exit::Failed,
        Ok(()) => Exit::Success,
        Err(error) => {
            session.report(&error);
            error.exit()
        }
    }
}

fn works(arguments: &RunArguments) -> &[Work] {
    if arguments.works.is_empty() {
        &[Work::Stdin]
    } else {
        &arguments.works
    }
}

fn settings(arguments: &RunArguments, terminal: Terminal, mode: Mode) -> Settings {
    let person = if mode == Mode::Interactive {
        Switch::On
    } else {
        Switch::Off
    };
    let mut settings = Settings::script();
    settings.format = arguments.format;
    settings.style.null = arguments.null.clone();
    settings.set_tuples_only(if arguments.tuples_only {
        Switch::On
    } else {
        Switch::Off
    });
    settings.timing = if arguments.timing { Switch::On } else { person };
    settings.tags = person;
    settings.verbosity = if arguments.verbose {
        Verbosity::Verbose
    } else {
        Verbosity::Default
    };
    settings.on_error = if arguments.keep_going {
        OnError::KeepGoing
    } else {
        OnError::Stop
    };
    settings.colours = terminal.colours;
    settings
}
