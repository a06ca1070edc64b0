//! The engines: Rukh in this process, a PostgreSQL of its own whose commits wait for the disk, and `sqlite3` with a write-ahead log.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rukh::{Connection, Database};
use rukh_testkit::postgres::PostgresServer;

pub type Failure = Box<dyn Error + Send + Sync>;

/// What runs statements one after the other.
pub trait Runs: Send {
    /// Runs a statement to its end.
    fn run(&mut self, sql: &str) -> Result<(), Failure>;
}

impl Runs for Connection {
    fn run(&mut self, sql: &str) -> Result<(), Failure> {
        if let Some(mut rows) = self.execute(sql)?.rows {
            while rows.next_batch()?.is_some() {}
        }
        Ok(())
    }
}

impl Runs for postgres::Client {
    fn run(&mut self, sql: &str) -> Result<(), Failure> {
        Ok(self.batch_execute(sql)?)
    }
}

/// An engine that many may connect to.
pub trait Engine: Sync {
    fn connect(&self) -> Result<Box<dyn Runs>, Failure>;
}

/// A database of Rukh in a directory.
pub struct Rukh(pub Database);

impl Engine for Rukh {
    fn connect(&self) -> Result<Box<dyn Runs>, Failure> {
        Ok(Box::new(self.0.connect()))
    }
}

impl Engine for PostgresServer {
    fn connect(&self) -> Result<Box<dyn Runs>, Failure> {
        Ok(Box::new(PostgresServer::connect(self, "postgres")?))
    }
}

/// Opens a database of Rukh in a new directory below another.
pub fn rukh(directory: &Path, name: &str) -> Result<Rukh, Failure> {
    Ok(Rukh(Database::open(directory.join(name))?))
}

/// Runs statements on each of several connections at once; returns how long all of them took.
pub fn at_once(
    engine: &dyn Engine,
    connections: usize,
    statements: &(dyn Fn(usize) -> Vec<String> + Sync),
) -> Result<Duration, Failure> {
    let mut all = Vec::new();
    for number in 0..connections {
        all.push((engine.connect()?, statements(number)));
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        let run = |(mut connection, statements): (Box<dyn Runs>, Vec<String>)| {
            scope.spawn(move || statements.iter().try_for_each(|sql| connection.run(sql)))
        };
        let threads: Vec<_> = all.into_iter().map(run).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a connection panicked")?)
    })?;
    Ok(started.elapsed())
}

/// Has `sqlite3` run statements on a database of its own, each a transaction that waits for the disk; `before` is not counted.
/// `None` where it is not installed.
pub fn sqlite(
    directory: &Path,
    before: &[String],
    statements: &[String],
) -> Result<Option<Duration>, Failure> {
    let file = directory.join("sqlite");
    let _ = std::fs::remove_file(&file);
    if feed(&file, before)?.is_none() {
        return Ok(None);
    }
    feed(&file, statements)
}

/// Has `sqlite3` run statements, and commands of its own, which begin with a dot; returns how long that took.
pub fn feed(file: &PathBuf, statements: &[String]) -> Result<Option<Duration>, Failure> {
    let started = Instant::now();
    let spawned = Command::new("sqlite3")
        .arg("-bail")
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut child = match spawned {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        spawned => spawned?,
    };
    let mut input = std::io::BufWriter::new(child.stdin.take().ok_or("sqlite3 has no input")?);
    writeln!(input, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    for sql in statements {
        let end = if sql.starts_with('.') { "" } else { ";" };
        writeln!(input, "{sql}{end}")?;
    }
    drop(input);
    match child.wait()?.success() {
        true => Ok(Some(started.elapsed())),
        false => Err("sqlite3 failed".into()),
    }
}

/// Makes the system forget how much memory this process has had, where it can.
pub fn forget_peak() {
    // Without it the figure is that of all works so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the most memory that this process has had, in bytes, where the system reports it.
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// Bytes of all files below a directory.
pub fn bytes_below(directory: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => bytes_below(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}
