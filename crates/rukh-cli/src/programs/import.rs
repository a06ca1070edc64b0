//! `rukh import` and `rukh export`: files into a table, and rows into a file.
//!
//! Both are a COPY, made of what the command line says. All files of an import become visible at once,
//! by one COPY, unless there is a journal: then each file is a COPY of its own, noted when it is done, and
//! the same command, run again after an interruption, goes on with the first file that is not.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::error::{CliError, Exit};
use crate::base::output;
use crate::base::pattern;
use crate::programs::arguments::{ExportArguments, FileFormat, FileOptions, ImportArguments};
use crate::programs::run::{self, Access};
use crate::sessions::session::Session;
use crate::words::names;

/// The word for standard input and output, and where they are.
const STANDARD: &str = "-";
const STANDARD_INPUT: &str = "/dev/stdin";
const STANDARD_OUTPUT: &str = "/dev/stdout";

/// Imports files.
pub fn import(arguments: &ImportArguments) -> Exit {
    let files = match files(&arguments.files) {
        Ok(files) => files,
        Err(error) => return run::give_up(&error),
    };
    run::with_session(&arguments.directory, Access::Write, |session| {
        if arguments.create {
            create(session, arguments, &files)?;
        }
        match &arguments.journal {
            None => copy_from(session, arguments, &files).map(|rows| tell_rows(rows, files.len())),
            Some(journal) => with_journal(session, arguments, &files, journal),
        }
    })
}

/// Exports a table or the rows of a query.
pub fn export(arguments: &ExportArguments) -> Exit {
    let source = match (&arguments.table, &arguments.query) {
        (_, Some(query)) => format!("({query})"),
        (Some(table), None) => table.clone(),
        (None, None) => {
            return run::give_up(&CliError::command("name a table, or give a query with --query"));
        }
    };
    let (path, format) = match arguments.to.as_str() {
        STANDARD => (
            STANDARD_OUTPUT,
            Some(arguments.options.format.unwrap_or(FileFormat::Csv)),
        ),
        path => (path, arguments.options.format),
    };
    let options = options_sql(&arguments.options, format, Path::new(path), &[]);
    let sql = format!("COPY {source} TO {}{options}", quoted(path));
    run::with_session(&arguments.directory, Access::Read, |session| {
        let rows = session.run_for_count(&sql)?;
        if path != STANDARD_OUTPUT {
            output::complain(&format!("{rows} rows written to \"{path}\"\n"));
        }
        Ok(())
    })
}

/// Returns the files that the words of the command line stand for.
fn files(words: &[String]) -> Result<Vec<String>, CliError> {
    let mut files = Vec::new();
    for word in words {
        if word == STANDARD {
            files.push(STANDARD_INPUT.to_owned());
        } else if Path::new(word).exists() || !pattern::is_pattern(word) {
            files.push(word.clone());
        } else {
            let found = pattern::expand(word).map_err(|error| CliError::read(Path::new(word), error))?;
            if found.is_empty() {
                return Err(CliError::command(format!("no file matches \"{word}\"")));
            }
            files.extend(found.iter().map(|path| path.to_string_lossy().into_owned()));
        }
    }
    Ok(files)
}

/// Makes the table from the columns that the first file seems to have, unless it is there.
fn create(session: &mut Session, arguments: &ImportArguments, files: &[String]) -> Result<(), CliError> {
    if files.iter().any(|file| file == STANDARD_INPUT) {
        return Err(CliError::Command {
            message: "--create cannot look at standard input, which is read once".to_owned(),
            hint: Some("Create the table first, or import from a file.".to_owned()),
        });
    }
    let file = files.first().map_or("", String::as_str);
    let options = options_sql(&arguments.options, arguments.options.format, Path::new(file), &[]);
    let described = session.fetch(&format!("DESCRIBE FILE {}{options}", quoted(file)))?;
    let mut columns = Vec::new();
    for row in 0..described.len() {
        let text = |column| described.text(column, row).unwrap_or_default();
        let name = text("column");
        // What rows of one file have says nothing of those to come.
        let not_null = match arguments.key.contains(&name) {
            true => " NOT NULL",
            false => "",
        };
        columns.push(format!("{} {}{not_null}", names::quoted(&name), text("type")));
    }
    if arguments.key.is_empty() {
        return Err(CliError::Command {
            message: "--create needs the columns of the primary key".to_owned(),
            hint: Some(format!(
                "The file has these: {}. Name some by --key a,b.",
                columns.join(", ")
            )),
        });
    }
    let key: Vec<String> = arguments.key.iter().map(|name| names::quoted(name)).collect();
    let sql = format!(
        "CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({}))",
        arguments.into,
        columns.join(", "),
        key.join(", ")
    );
    session.run_statement(&sql)
}

/// Copies files into the table, all or none; returns the number of rows.
fn copy_from(session: &mut Session, arguments: &ImportArguments, files: &[String]) -> Result<u64, CliError> {
    session.run_for_count(&copy_sql(arguments, files))
}

/// Returns the COPY of files into the table.
fn copy_sql(arguments: &ImportArguments, files: &[String]) -> String {
    let mut more = Vec::new();
    if arguments.rejects.is_some() || arguments.max_errors.is_some() {
        more.push("ON_ERROR ignore".to_owned());
    }
    match arguments.max_errors {
        Some(0) => more.clear(),
        Some(limit) => more.push(format!("REJECT_LIMIT {limit}")),
        None => {}
    }
    if let Some(rejects) = arguments.rejects.as_ref().filter(|_| !more.is_empty()) {
        more.push(format!("REJECTS {}", quoted(rejects)));
    }
    let first = files.first().map_or("", String::as_str);
    let options = options_sql(
        &arguments.options,
        arguments.options.format,
        Path::new(first),
        &more,
    );
    let list: Vec<String> = files.iter().map(|file| quoted(file)).collect();
    let columns = match arguments.columns.as_slice() {
        [] => String::new(),
        names => format!(" ({})", names.join(", ")),
    };
    format!(
        "COPY {}{columns} FROM ({}){options}",
        arguments.into,
        list.join(", ")
    )
}

/// Copies files one by one, and notes in the journal which are done.
///
/// The database keeps the note of a file together with its rows until it is in the journal: whenever the
/// process ends, the next run knows which files are there.
fn with_journal(
    session: &mut Session,
    arguments: &ImportArguments,
    files: &[String],
    journal: &Path,
) -> Result<(), CliError> {
    let mut journal = Journal::open(journal)?;
    let name = journal.name.clone();
    let noted = session.connection().imported_last(&name);
    if let Some(note) = noted.map_err(|error| CliError::statement("", error))? {
        if !journal.has(&note) {
            journal.add(&note)?;
        }
        forget(session, &name)?;
    }
    let (mut rows, mut imported) = (0, 0);
    for file in files {
        let note = note_of(&arguments.into, file)?;
        if journal.has(&note) {
            output::complain(&format!("{file}: imported before\n"));
            continue;
        }
        let sql = copy_sql(arguments, std::slice::from_ref(file));
        rows += session.run_noted(&sql, &name, &note)?;
        journal.add(&note)?;
        forget(session, &name)?;
        imported += 1;
    }
    tell_rows(rows, imported);
    Ok(())
}

fn forget(session: &mut Session, journal: &str) -> Result<(), CliError> {
    let forgotten = session.connection().forget_import(journal);
    forgotten.map_err(|error| CliError::statement("", error))
}

/// What the line that names a journal begins with.
const JOURNAL_NAME: &str = "journal\t";

/// The file that says which files are imported: a line with its name, and one for each of them.
struct Journal<'p> {
    path: &'p Path,
    text: String,
    /// No other journal has this name, nor one that is begun again in the same place.
    name: String,
}

impl<'p> Journal<'p> {
    /// Reads a journal, or begins it.
    fn open(path: &'p Path) -> Result<Self, CliError> {
        let mut text = String::new();
        match File::open(path) {
            Ok(mut file) => {
                let read = file.read_to_string(&mut text);
                read.map_err(|error| CliError::read(path, error))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(CliError::read(path, error)),
        }
        // A line that was cut short names nothing.
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let mut names = whole.filter_map(|line| line.strip_prefix(JOURNAL_NAME));
        let name = names.next().map(|name| name.trim_end().to_owned());
        let mut journal = Journal {
            path,
            text,
            name: String::new(),
        };
        journal.name = match name {
            Some(name) => name,
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let name = format!("{:x}-{:x}", now.as_nanos(), std::process::id());
                journal.add(&format!("{JOURNAL_NAME}{name}"))?;
                name
            }
        };
        Ok(journal)
    }

    fn has(&self, note: &str) -> bool {
        self.text.lines().any(|line| line == note)
    }

    /// Adds a line, durably.
    fn add(&mut self, note: &str) -> Result<(), CliError> {
        let begins = self.text.is_empty() || self.text.ends_with('\n');
        let line = format!("{}{note}\n", if begins { "" } else { "\n" });
        let write = || {
            let mut file = OpenOptions::new().append(true).create(true).open(self.path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()?;
            // A file that is new is durable with its directory.
            match self.path.parent().filter(|_| self.text.is_empty()) {
                Some(parent) if parent == Path::new("") => File::open(".")?.sync_all(),
                Some(parent) => File::open(parent)?.sync_all(),
                None => Ok(()),
            }
        };
        let written: std::io::Result<()> = write();
        written.map_err(|error| CliError::write(&format!("file \"{}\"", self.path.display()), error))?;
        self.text.push_str(&line);
        Ok(())
    }
}

/// Returns the line that says that a file, as it is now, was imported into a table.
fn note_of(table: &str, file: &str) -> Result<String, CliError> {
    let path = Path::new(file);
    let known = || {
        let metadata = fs::metadata(path)?;
        let changed = metadata
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let path: PathBuf = path.canonicalize()?;
        Ok((path, metadata.len(), changed.as_millis()))
    };
    let (path, bytes, changed) = known().map_err(|error| CliError::read(path, error))?;
    Ok(format!("{table}\t{bytes}\t{changed}\t{}", path.display()))
}

fn tell_rows(rows: u64, files: usize) {
    let files = match files {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    output::complain(&format!("{rows} rows imported from {files}\n"));
}

/// Returns the options of a COPY; a CSV file has a header unless it is said to have none.
fn options_sql(options: &FileOptions, format: Option<FileFormat>, path: &Path, more: &[String]) -> String {
    let mut words = more.to_vec();
    if let Some(format) = format {
        words.push(format!("FORMAT {}", format.sql()));
    }
    if format.map_or_else(|| has_csv_name(path), |format| format == FileFormat::Csv) {
        let header = if options.no_header { "false" } else { "true" };
        words.push(format!("HEADER {header}"));
    }
    if let Some(delimiter) = &options.delimiter {
        words.push(format!("DELIMITER {}", quoted(delimiter)));
    }
    if let Some(null) = &options.null {
        words.push(format!("NULL {}", quoted(null)));
    }
    match words.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", words.join(", ")),
    }
}

/// Whether the name of a file leaves it to be CSV.
fn has_csv_name(path: &Path) -> bool {
    const OTHERS: [&str; 8] = [
        "parquet", "json", "jsonl", "ndjson", "arrow", "ipc", "feather", "arrows",
    ];
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_none_or(|ending| !OTHERS.contains(&ending.as_str()))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
