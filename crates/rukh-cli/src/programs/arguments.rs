//! The command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::base::memory;
use crate::format::Format;
use crate::statements::script::Work;

const EXIT_CODES: &str = "\
Exit codes: 0 everything ran; 1 a statement failed, or check found something;
2 wrong usage; 3 the database could not be opened; 130 Ctrl-C ended a script.";

/// SQL over ordered keys: opens a database directory and runs SQL on it.
///
/// Without -c, -f and with a terminal, statements are read at a prompt; without a terminal they are
/// read from standard input. A database that does not exist is created, unless --read-only is given.
#[derive(Debug, Parser)]
#[command(name = "rukh", version, args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub struct Arguments {
    /// Another thing to do than to run SQL.
    #[command(subcommand)]
    pub action: Option<Action>,
    /// What to run SQL on, and how.
    #[command(flatten)]
    pub run: RunArguments,
}

/// Things to do besides running SQL.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print every stored key and value, decoded
    Dump {
        /// Directory of the database
        directory: PathBuf,
    },
    /// Compare every table with its indexes, both ways
    Check {
        /// Directory of the database
        directory: PathBuf,
        /// Tables to check, as written in SQL; all when none is named
        tables: Vec<String>,
    },
    /// Add a backup of the present state to a directory of backups
    ///
    /// Files that an earlier backup there has are not copied again. Where a process has the database
    /// open, let that run BACKUP DATABASE TO 'TARGET'.
    Backup {
        /// Directory of the database
        directory: PathBuf,
        /// Directory of backups, made when it is not there
        target: PathBuf,
        /// Remove all backups but the newest N
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        keep: Option<u32>,
    },
    /// List the backups in a directory
    Backups {
        /// Directory of backups
        target: PathBuf,
        /// Remove all backups but the newest N first
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        keep: Option<u32>,
        /// Compare every file of every backup with its checksum
        #[arg(long)]
        verify: bool,
    },
    /// Write the database of a backup, compare checksums, and check every table
    Restore {
        /// Directory of backups
        target: PathBuf,
        /// Directory of the database to make: empty, or not there
        directory: PathBuf,
        /// Number of the backup; the newest unless given
        #[arg(long, value_name = "ID")]
        backup: Option<u32>,
        /// Compare checksums only
        #[arg(long)]
        no_check: bool,
    },
    /// Write what can be read of a damaged database into another one, and say what is lost
    ///
    /// The damaged database is only read. One line reports on each table: rows kept, rows known to be lost, indexes rebuilt. The exit code is 1
    /// if something is known to be lost.
    Repair {
        /// Directory of the damaged database
        directory: PathBuf,
        /// Directory of the database to make: empty, or not there
        target: PathBuf,
    },
    /// Rewrite tables and their indexes in their most compact form
    Compact {
        /// Directory of the database
        directory: PathBuf,
        /// Tables to compact, as written in SQL; all when none is named
        tables: Vec<String>,
    },
    /// Import files into a table: CSV, JSON lines, Parquet, Arrow IPC
    ///
    /// All files become visible at once, or none does; on HBase, ten thousand rows at a time. With --journal each file is all or nothing by
    /// itself, and the same command goes on where it was interrupted.
    Import(ImportArguments),
    /// Export a table or a query: CSV, JSON lines, Parquet, Arrow IPC
    Export(ExportArguments),
    /// Show what tables and indexes take up: entries, sizes, levels, what waits for compaction
    Stats {
        /// Directory of the database
        directory: PathBuf,
        /// Tables to show, as written in SQL; all when none is named
        tables: Vec<String>,
    },
    /// Let clients of PostgreSQL in: psql, drivers, dashboards
    Serve(ServeArguments),
    /// Show what a running server does: sessions, statements, rates
    ///
    /// On a terminal the view is renewed until Ctrl-C; elsewhere one is printed as plain text. The password is
    /// read from RUKH_PASSWORD or PGPASSWORD.
    Top(TopArguments),
    /// Add users, the first of them among these, and change passwords
    ///
    /// The password is read from RUKH_PASSWORD, the terminal, or standard input. Where a process has the
    /// database open, connect to that and run CREATE USER or ALTER USER.
    #[command(subcommand)]
    User(UserAction),
    /// Print the script by which a shell completes this command line
    ///
    /// Packages install it. By hand: rukh completions bash > ~/.local/share/bash-completion/completions/rukh
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command
    Man {
        /// Directory for the pages, made when it is not there
        directory: PathBuf,
    },
}

/// What becomes of a user.
#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Add a user with a password
    Add {
        /// Directory of the database; made when it is not there
        directory: PathBuf,
        /// The user's name
        name: String,
        /// The user may do everything
        #[arg(long)]
        superuser: bool,
    },
    /// Give a user another password
    Password {
        /// Directory of the database
        directory: PathBuf,
        /// The user's name
        name: String,
    },
}

/// How a file is written.
#[derive(Debug, Args)]
pub struct FileOptions {
    /// Format; unless given, the end of the first file's name gives it, and CSV is the rest
    #[arg(long, value_enum)]
    pub format: Option<FileFormat>,
    /// CSV has no line with the names of the columns
    #[arg(long)]
    pub no_header: bool,
    /// What separates the fields of CSV; a comma unless given
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    /// The field of CSV that is NULL; the empty one unless given
    #[arg(long, value_name = "TEXT")]
    pub null: Option<String>,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FileFormat {
    /// Comma-separated values
    Csv,
    /// JSON objects, one a line
    Json,
    /// Parquet
    Parquet,
    /// Arrow's IPC format, as a file; read as a stream, too
    Arrow,
    /// Arrow's IPC format, as a stream
    ArrowStream,
}

impl FileFormat {
    /// Returns the word for COPY.
    pub fn sql(self) -> &'static str {
        match self {
            FileFormat::Csv => "csv",
            FileFormat::Json => "json",
            FileFormat::Parquet => "parquet",
            FileFormat::Arrow => "arrow",
            FileFormat::ArrowStream => "arrow_stream",
        }
    }
}

/// What to import, and how.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Directory of the database; made when it is not there
    pub directory: PathBuf,
    /// Files, or patterns of them; - is standard input
    #[arg(required = true)]
    pub files: Vec<String>,
    /// The table, as written in SQL
    #[arg(long, value_name = "TABLE")]
    pub into: String,
    /// Columns in the order of the fields, as written in SQL; all of the table unless given
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// How the files are written.
    #[command(flatten)]
    pub options: FileOptions,
    /// Make the table, if it is not there, with the columns that the first file seems to have
    #[arg(long)]
    pub create: bool,
    /// The columns of the primary key of a table to make
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "create")]
    pub key: Vec<String>,
    /// Pass over records that are no rows of the table, and write them to a file with the reasons
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<String>,
    /// Pass over at most so many records; 0 is none
    #[arg(long, value_name = "N")]
    pub max_errors: Option<u64>,
    /// Import file by file, and note those that are done here
    #[arg(long, value_name = "FILE", conflicts_with = "rejects")]
    pub journal: Option<PathBuf>,
}

/// What to export, and how.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Directory of the database
    pub directory: PathBuf,
    /// The table, as written in SQL, with a list of columns for some of them
    #[arg(required_unless_present = "query", conflicts_with = "query")]
    pub table: Option<String>,
    /// A query whose rows to export
    #[arg(long, value_name = "SQL")]
    pub query: Option<String>,
    /// The file; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub to: String,
    /// How the file is written.
    #[command(flatten)]
    pub options: FileOptions,
}

/// Options of serving.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Directory of the database, which is made when there is none; :memory: for one that is gone at the end
    pub directory: PathBuf,
    /// Address and port for clients; port 0 takes a free one [default: 127.0.0.1:5432]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Address and port for /health, /ready and /metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Option<String>,
    /// Address and port for clients of Arrow Flight SQL, or a port on the address of --listen
    #[cfg(feature = "flight")]
    #[arg(long, visible_alias = "flight-port", value_name = "[ADDRESS:]PORT")]
    pub flight: Option<String>,
    /// Configuration, TOML; variables RUKH_… come before it, and options before them
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Options of `top`.
#[derive(Debug, Args)]
pub struct TopArguments {
    /// The server, as libpq names it; the user is rukh unless said otherwise
    #[arg(default_value = "host=127.0.0.1 port=5432")]
    pub target: String,
    /// Seconds between two looks
    #[arg(long, short = 'n', value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub interval: f64,
    /// Looks until it ends; on a terminal for ever unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Option<u32>,
}

/// Reads seconds between two looks.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    match (0.05..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err("from 0.05 to 3600 seconds".to_string()),
    }
}

/// Options of running SQL.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Directory of the database; :memory: for one that is gone at the end
    #[arg(default_value = "rukh-data")]
    pub directory: PathBuf,
    /// Run SQL or one backslash command, then exit; may be repeated and mixed with -f
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    command: Vec<String>,
    /// Run a file, then exit; - is standard input; may be repeated and mixed with -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Layout of results
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Text for NULL in all formats but json and jsonl
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub null: String,
    /// Write rows only, without header and row count
    #[arg(short = 't', long)]
    pub tuples_only: bool,
    /// Print the time of every statement
    #[arg(long)]
    pub timing: bool,
    /// Memory for cache, buffers, queries and loads together, such as 512MB or 4GB; RUKH_MEMORY unless given
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    pub memory: Option<u64>,
    /// Log statements that take at least so long, with their plans, unless a session says otherwise
    #[arg(long, value_name = "MILLISECONDS")]
    pub log_min_duration: Option<u64>,
    /// Append the log to a file; standard error unless given
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Open without any right to write
    #[arg(long)]
    pub read_only: bool,
    /// Go on after a failed statement; the exit code is 1 all the same
    #[arg(long)]
    pub keep_going: bool,
    /// Show the SQLSTATE of errors
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// What -c and -f ask for, in the order they were given.
    #[arg(skip)]
    pub works: Vec<Work>,
}

/// Reads the command line of this process; ends the process when it is not understood.
pub fn parse() -> Arguments {
    understand(std::env::args_os()).unwrap_or_else(|error| error.exit())
}

fn understand(
    words: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone>,
) -> Result<Arguments, clap::Error> {
    let matches = Arguments::command().try_get_matches_from(words)?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    arguments.run.works = works(&arguments.run, &matches);
    Ok(arguments)
}

/// Puts the values of -c and -f in the order in which they stand on the command line.
fn works(run: &RunArguments, matches: &clap::ArgMatches) -> Vec<Work> {
    let indices = |id| matches.indices_of(id).into_iter().flatten();
    let texts = indices("command").zip(run.command.iter().cloned().map(Work::Text));
    let files = indices("file").zip(run.file.iter().cloned().map(file));
    let mut works: Vec<(usize, Work)> = texts.chain(files).collect();
    works.sort_by_key(|(index, _)| *index);
    works.into_iter().map(|(_, work)| work).collect()
}

fn file(path: PathBuf) -> Work {
    if path.as_os_str() == "-" {
        Work::Stdin
    } else {
        Work::File(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_keep_their_order() {
        let words = [
            "rukh",
            "-f",
            "a.sql",
            "dir",
            "-c",
            "SELECT 1",
            "-f",
            "-",
            "--command=\\q",
        ];
        let arguments = understand(words).expect("the line is well-formed");
        let text = |sql: &str| Work::Text(sql.to_owned());
        let expected = [
            Work::File("a.sql".into()),
            text("SELECT 1"),
            Work::Stdin,
            text("\\q"),
        ];
        assert_eq!(arguments.run.works, expected);
        assert_eq!(arguments.run.directory, PathBuf::from("dir"));
    }

    #[test]
    fn forms() {
        let cases = [
            (vec!["rukh"], true),
            (vec!["rukh", "check", "dir", "t"], true),
            (vec!["rukh", "dump", "dir"], true),
            (vec!["rukh", "dump"], false),
            (vec!["rukh", "backup", "dir", "kept", "--keep", "3"], true),
            (vec!["rukh", "backup", "dir", "kept", "--keep", "0"], false),
            (vec!["rukh", "import", "dir", "a.csv", "--into", "t"], true),
            (vec!["rukh", "import", "dir", "--into", "t"], false),
            (
                vec!["rukh", "import", "dir", "a.csv", "--into", "t", "--key", "a"],
                false,
            ),
            (vec!["rukh", "export", "dir"], false),
            (vec!["rukh", "export", "dir", "t", "--query", "SELECT 1"], false),
            (vec!["rukh", "repair", "dir", "saved"], true),
            (vec!["rukh", "repair", "dir"], false),
            (vec!["rukh", "restore", "kept", "dir", "--backup", "2"], true),
            (vec!["rukh", "serve", "dir", "--listen", "127.0.0.1:0"], true),
            (vec!["rukh", "serve"], false),
            (vec!["rukh", "top", "port=7", "-n", "0.5", "--count", "3"], true),
            (vec!["rukh", "top", "-n", "0"], false),
            (vec!["rukh", "--format", "xml"], false),
            (vec!["rukh", "-c"], false),
            (vec!["rukh", "--memory", "1.5GB"], false),
            (
                vec!["rukh", "--memory", "512MB", "--log-min-duration", "250"],
                true,
            ),
            (vec!["rukh", "completions", "zsh"], true),
            (vec!["rukh", "completions", "csh"], false),
            (vec!["rukh", "man"], false),
            (vec!["rukh", "a", "b"], false),
            (vec!["rukh", "--format", "md", ":memory:", "-tv"], true),
        ];
        for (words, good) in cases {
            assert_eq!(understand(words.clone()).is_ok(), good, "{words:?}");
        }
        Arguments::command().debug_assert();
    }
}
