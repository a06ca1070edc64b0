//! Scripts: `-c`, `-f`, standard input, and the files of `\i`.
//!
//! The first failure ends the run, unless the session keeps going. Failures in files are reported with file
//! and line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::base::error::CliError;
use crate::sessions::session::Session;
use crate::statements::commands;
use crate::statements::input::{self, Input, Item, ItemKind};

/// A part of the command line that holds statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// The text of `-c`.
    Text(String),
    /// The file of `-f`.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// Where statements come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The prompt or the command line: the text is before the reader's eyes.
    Typed,
    /// Standard input.
    Stdin,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// How many files include each other down to this one.
        depth: usize,
    },
}

/// Whether the source of statements is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It is.
    Continue,
    /// `\q` was met.
    Quit,
}

impl Origin {
    /// Returns what comes before the line number in an error; none where the text is before the reader's eyes.
    fn name(&self) -> Option<String> {
        match self {
            Origin::Typed => None,
            Origin::Stdin => Some("<stdin>".to_owned()),
            Origin::File { path, .. } => Some(path.display().to_string()),
        }
    }

    /// Returns the path that `path`, as written in this source, names: files speak relative to themselves.
    pub fn resolve(&self, path: &str) -> PathBuf {
        match self {
            Origin::File { path: file, .. } => file.parent().unwrap_or(Path::new("")).join(path),
            Origin::Typed | Origin::Stdin => PathBuf::from(path),
        }
    }

    /// Returns how many files include each other down to this source.
    pub fn depth(&self) -> usize {
        match self {
            Origin::File { depth, .. } => *depth,
            Origin::Typed | Origin::Stdin => 0,
        }
    }
}

/// Runs every part in order.
pub fn run_all(session: &mut Session, works: &[Work]) -> Result<(), CliError> {
    works
        .iter()
        .try_for_each(|work| run(session, work).or_else(|error| session.pass_over(error)))
}

fn run(session: &mut Session, work: &Work) -> Result<(), CliError> {
    match work {
        Work::Text(text) => {
            run_items(session, input::items(text), &Origin::Typed)?;
            Ok(())
        }
        Work::File(path) => run_file(session, path, 1),
        Work::Stdin => run_input(session, io::stdin().lock(), &Origin::Stdin),
    }
}

/// Runs the file at `path`, which is included `depth` files deep.
pub fn run_file(session: &mut Session, path: &Path, depth: usize) -> Result<(), CliError> {
    let file = File::open(path).map_err(|source| CliError::read(path, source))?;
    run_input(
        session,
        BufReader::new(file),
        &Origin::File {
            path: path.to_owned(),
            depth,
        },
    )
}

fn run_input(session: &mut Session, reader: impl BufRead, origin: &Origin) -> Result<(), CliError> {
    let mut input = Input::new(reader);
    loop {
        let line = input.line();
        let more = input
            .read_line()
            .map_err(|source| placed(unreadable(origin, source), origin, line))?;
        let ready: Vec<Item> = std::iter::from_fn(|| input.next_ready()).collect();
        if run_items(session, ready, origin)? == Flow::Quit || !more {
            return Ok(());
        }
    }
}

fn unreadable(origin: &Origin, source: io::Error) -> CliError {
    match origin {
        Origin::File { path, .. } => CliError::read(path, source),
        Origin::Typed | Origin::Stdin => CliError::Read {
            name: "standard input".to_owned(),
            source,
        },
    }
}

fn run_items(session: &mut Session, items: Vec<Item>, origin: &Origin) -> Result<Flow, CliError> {
    for item in items {
        match run_item(session, &item, origin) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => return Ok(Flow::Quit),
            Err(error) => session.pass_over(placed(error, origin, item.line))?,
        }
    }
    Ok(Flow::Continue)
}

/// Runs one statement or command.
pub fn run_item(session: &mut Session, item: &Item, origin: &Origin) -> Result<Flow, CliError> {
    match item.kind {
        ItemKind::Statement => session.run_statement(&item.text).map(|()| Flow::Continue),
        ItemKind::Command => commands::run(session, &item.text, origin),
    }
}

/// Adds file and line, unless an included file has done so.
fn placed(error: CliError, origin: &Origin, line: usize) -> CliError {
    match (origin.name(), error) {
        (_, error @ (CliError::Placed { .. } | CliError::ClosedPipe)) | (None, error) => error,
        (Some(origin), error) => CliError::Placed {
            origin,
            line,
            source: Box::new(error),
        },
    }
}
