//! Benches of writes beside PostgreSQL and SQLite: `rukh-bench-writes [--rows N] [--connections N] [WORK …]`.
//!
//! | work     | measures                                                                        |
//! |----------|---------------------------------------------------------------------------------|
//! | counters | adds to 100 cells by several connections                                        |
//! | upserts  | batches of 1,000 rows into a table with two indexes, each durable               |
//! | commits  | commits of one row, by one connection and by several                            |
//! | covering | what none to four covering indexes cost                                         |
//! | online   | the rate of a writer during CREATE INDEX                                        |
//! | reads    | the slowest hundredth of point reads while rows are loaded                      |
//! | import   | CSV with primary key and index: time, CREATE INDEX alone, size on disk, memory   |
//!
//! `--rows 1000000` imports ten million. Each line ends with its bar, and whether it is reached. Without names all works run. Every engine gets the same statements as text, and acknowledges a commit when it is
//! on disk. PostgreSQL runs in a temporary directory on a socket of its own, SQLite is the program `sqlite3` with a
//! write-ahead log; one that is not installed is left out. Figures of a machine that does other work at the time mean little.

mod engines;
mod report;
mod works;

use std::io::Write;

use engines::Failure;
use report::Line;
use rukh_testkit::postgres::PostgresServer;
use works::Setting;

type Work = fn(&Setting<'_>) -> Result<Vec<Line>, Failure>;

const WORKS: &[(&str, Work)] = &[
    ("counters", works::counters),
    ("upserts", works::upserts),
    ("commits", works::commits),
    ("covering", works::covering),
    ("online", works::online),
    ("reads", works::reads),
    ("import", works::import),
];

fn main() -> Result<(), Failure> {
    let (mut rows, mut connections, mut chosen) = (100_000, 16, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<usize, Failure> {
            let text = arguments.next().ok_or("a number is missing")?;
            match text.parse()? {
                0 => Err(format!("{argument} must be more than 0").into()),
                number => Ok(number),
            }
        };
        match argument.as_str() {
            "--rows" => rows = number()?.max(1000),
            "--connections" => connections = number()?,
            name if WORKS.iter().any(|(work, _)| *work == name) => chosen.push(name.to_owned()),
            name => return Err(format!("there is no work \"{name}\"").into()),
        }
    }
    let directory = tempfile::tempdir()?;
    let mut out = std::io::stdout().lock();
    let server = match PostgresServer::durable() {
        Ok(server) => Some(server),
        Err(reason) => {
            writeln!(out, "without PostgreSQL: {reason}")?;
            None
        }
    };
    let setting = Setting {
        directory: directory.path(),
        postgres: server.as_ref(),
        rows,
        connections,
    };
    writeln!(out, "{rows} rows\n\n{}", report::HEAD)?;
    for (name, work) in WORKS {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            for line in work(&setting)? {
                writeln!(out, "{line}")?;
                out.flush()?;
            }
        }
    }
    Ok(())
}
