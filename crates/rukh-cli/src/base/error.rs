//! What can go wrong in the command line tool, and the exit code each gives.
//!
//! | code | when                                                            |
//! |------|-----------------------------------------------------------------|
//! | 0    | everything ran; a reader that closed the pipe early is no error |
//! | 1    | a statement or command failed, or `check` found something       |
//! | 2    | the command line was not understood                             |
//! | 3    | the database could not be opened                                |
//! | 130  | Ctrl-C ended a script                                           |

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything ran.
    Success,
    /// A statement or command failed, or a check found something.
    Failed,
    /// The database could not be opened.
    NotOpened,
    /// Ctrl-C ended a script.
    Interrupted,
}

impl Exit {
    /// Returns the number the shell sees. 2 is missing: the argument parser ends the process itself.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::NotOpened => 3,
            Exit::Interrupted => 130,
        }
    }
}

impl Exit {
    /// Ends the process at once. A query that was left, or does not hear that it is cancelled, may still read in a thread of its own, and
    /// RocksDB must not be taken apart under it, which an ordinary exit does.
    pub fn leave(self) -> ! {
        // Nothing reads output that cannot be written.
        let _ = io::stdout().flush();
        self.leave_at_once()
    }

    /// The same, without what is still to be written: another thread may be writing.
    pub fn leave_at_once(self) -> ! {
        signal_hook::low_level::exit(i32::from(self.code()))
    }
}

/// A failure of a statement, a command or the tool itself.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The database directory could not be opened.
    #[error("could not open database \"{}\": {source}", path.display())]
    Open {
        /// The directory as given.
        path: PathBuf,
        /// What the database said.
        source: Box<rukh::Error>,
    },
    /// A statement failed.
    #[error("{source}")]
    Statement {
        /// The text that was run; positions count in it.
        sql: String,
        /// What the database said.
        source: Box<rukh::Error>,
    },
    /// A backslash command was not understood or cannot be done.
    #[error("{message}")]
    Command {
        /// What is wrong, in the style of statement errors.
        message: String,
        /// What to do instead: a sentence.
        hint: Option<String>,
    },
    /// A file could not be read.
    #[error("could not read {name}: {}", reason(source))]
    Read {
        /// `file "name"` or `standard input`.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Output could not be written.
    #[error("could not write {name}: {}", reason(source))]
    Write {
        /// `file "name"` or `standard output`.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The terminal failed.
    #[error("terminal failed: {}", reason(source))]
    Terminal {
        /// What the system said.
        source: io::Error,
    },
    /// Ctrl-C came while rows were written.
    #[error("canceling statement due to user request")]
    Cancelled,
    /// The reader of the output has closed it: the process ends without a message.
    #[error("output was closed")]
    ClosedPipe,
    /// A failure at a known place of a script.
    #[error("{origin}:{line}: {source}")]
    Placed {
        /// The name of the file, or `<stdin>`.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// What happened there.
        source: Box<CliError>,
    },
}

impl CliError {
    /// Returns a failed backslash command.
    pub fn command(message: impl Into<String>) -> CliError {
        CliError::Command {
            message: message.into(),
            hint: None,
        }
    }

    /// Returns a failed statement.
    pub fn statement(sql: &str, source: rukh::Error) -> CliError {
        CliError::Statement {
            sql: sql.to_owned(),
            source: Box::new(source),
        }
    }

    /// Returns a failure to read `path`.
    pub fn read(path: &Path, source: io::Error) -> CliError {
        CliError::Read {
            name: format!("file \"{}\"", path.display()),
            source,
        }
    }

    /// Returns a failure to write to `name`; a closed pipe is a variant of its own.
    pub fn write(name: &str, source: io::Error) -> CliError {
        match source.kind() {
            io::ErrorKind::BrokenPipe => CliError::ClosedPipe,
            _ => CliError::Write {
                name: name.to_owned(),
                source,
            },
        }
    }

    /// Returns the exit code of this failure.
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Open { .. } => Exit::NotOpened,
            CliError::ClosedPipe => Exit::Success,
            CliError::Cancelled => Exit::Interrupted,
            CliError::Placed { source, .. } => source.exit(),
            CliError::Statement { source, .. } if source.kind == rukh::ErrorKind::Cancelled => {
                Exit::Interrupted
            }
            _ => Exit::Failed,
        }
    }

    /// Returns whether a script must end even when it is set to keep going.
    pub fn is_final(&self) -> bool {
        self.exit() != Exit::Failed
    }
}

/// Returns what the system said, without the number of the error.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
