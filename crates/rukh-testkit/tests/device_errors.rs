//! A device that fails: what was acknowledged is there when the database is opened again, what failed was reported as an error, and after a
//! failed sync nothing more is acknowledged, though the next sync would succeed: it is unknown what the first one left behind.
//!
//! The test runs itself as a child under `strace`, which has the n-th call of a kind fail with EIO, or all from the n-th on.

#![allow(clippy::unwrap_used)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rukh::{Database, ErrorKind};
use rukh_testkit::client::Client;
use rukh_testkit::need;

/// The directory that the child works in.
const DIRECTORY: &str = "RUKH_DEVICE_ERRORS";
const TEST: &str = "what_was_acknowledged_survives_a_device_that_fails";
/// Statements that a child runs.
const STATEMENTS: u64 = 24;
/// Rows that are there before.
const BEFORE: u64 = 200;

/// Says whether calls can be made to fail here.
fn tracer() -> Result<(), String> {
    let tried = Command::new("strace")
        .args([
            "-f",
            "-o",
            "/dev/null",
            "-e",
            "inject=fdatasync:error=EIO:when=9",
            "true",
        ])
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("strace: {error}")),
    }
}

#[test]
fn what_was_acknowledged_survives_a_device_that_fails() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return live(Path::new(&directory));
    }
    if need::or_skip(TEST, tracer()).is_none() {
        return;
    }
    let (mut children, mut failed, mut midway) = (0, 0, 0);
    let cases = [
        ("fdatasync", &[1, 3, 6, 9, 14, 20][..]),
        ("fsync", &[1, 2, 4, 8]),
        ("write", &[2, 5, 9, 14, 20, 27, 40]),
        ("pread64", &[1, 3, 6, 10, 20]),
    ];
    for (call, places) in cases {
        for nth in places {
            for (when, once) in [(nth.to_string(), true), (format!("{nth}+"), false)] {
                children += 1;
                match run(call, &when, once) {
                    Seen::Nothing => {}
                    Seen::AtOpen => failed += 1,
                    Seen::Midway => {
                        failed += 1;
                        midway += 1;
                    }
                }
            }
        }
    }
    println!(
        "device errors: {failed} of {children} children had one, {midway} after something was acknowledged"
    );
    assert!(midway > 8, "{midway}");
}

/// The order to a child about the device.
enum Seen {
    Nothing,
    /// Before anything was acknowledged.
    AtOpen,
    /// After that.
    Midway,
}

/// Runs a child whose calls fail, and looks at what it leaves.
fn run(call: &str, when: &str, once: bool) -> Seen {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    prepare(&directory.join("db"));
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:error=EIO:when={when}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(DIRECTORY, directory)
        .output()
        .unwrap();
    let case = format!("{call} {when}");
    let ledger_text = std::fs::read(ledger(directory)).unwrap_or_default();
    let ledger_text = String::from_utf8_lossy(&ledger_text).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!ledger_text.contains("wrong"), "{case}: {ledger_text}");
    assert!(
        !said.contains("panicked at crates") || call == "write",
        "{case}: {said}"
    );
    let lines: Vec<&str> = ledger_text.lines().collect();
    let acknowledged: Vec<u64> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("done ")?.parse().ok())
        .collect();
    let error = lines.iter().position(|line| line.starts_with("failed"));
    if let (true, Some(error)) = (call == "fdatasync" && once, error) {
        let later = lines[error..].iter().find(|line| line.starts_with("done"));
        assert_eq!(
            later, None,
            "{case}: nothing is acknowledged after a failed sync\n{ledger_text}"
        );
    }
    let database =
        Database::open(directory.join("db")).unwrap_or_else(|error| panic!("{case}: {error}\n{ledger_text}"));
    let mut client = Client::new(&database);
    client.check("t").unwrap();
    let table = client.query("SELECT id FROM t ORDER BY id").unwrap();
    let stored: Vec<u64> = table
        .rows
        .iter()
        .map(|row| row[0].as_deref().unwrap().parse().unwrap())
        .collect();
    let before: Vec<u64> = stored.iter().copied().filter(|id| *id < BEFORE).collect();
    assert_eq!(before.len() as u64, BEFORE, "{case}");
    let lost = acknowledged.iter().find(|id| !stored.contains(id));
    assert_eq!(lost, None, "{case}: an acknowledged row is gone\n{ledger_text}");
    assert!(stored.iter().all(|id| *id < BEFORE + STATEMENTS), "{case}");
    match error {
        None => Seen::Nothing,
        Some(_) if acknowledged.is_empty() => Seen::AtOpen,
        Some(_) => Seen::Midway,
    }
}

fn ledger(directory: &Path) -> PathBuf {
    directory.join("ledger")
}

/// Makes a table with rows in files.
fn prepare(path: &Path) {
    let database = Database::open(path).unwrap();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, p VARCHAR)",
        "CREATE INDEX t_p ON t (p)",
        "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(0, 199) AS s(n)",
        "CHECKPOINT",
    ] {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// What the child writes down, by calls that do not fail.
struct Ledger {
    file: File,
    end: u64,
}

impl Ledger {
    fn note(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.file.write_all_at(line.as_bytes(), self.end).unwrap();
        self.end += line.len() as u64;
    }
}

/// What the child does.
fn live(directory: &Path) {
    let file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(ledger(directory))
        .unwrap();
    let mut ledger = Ledger { file, end: 0 };
    let database = match Database::open(directory.join("db")) {
        Ok(database) => database,
        Err(error) => return ledger.note(&format!("failed to open: {error}")),
    };
    let mut client = Client::new(&database);
    for id in BEFORE..BEFORE + STATEMENTS {
        let sql = format!("INSERT INTO t VALUES ({id}, md5('{id}'))");
        match client.run(&sql) {
            Ok(_) => ledger.note(&format!("done {id}")),
            Err(error) if is_of_device(error.kind) => {
                ledger.note(&format!("failed {id} {} {error}", error.sqlstate));
            }
            Err(error) => ledger.note(&format!("wrong error: {error}")),
        }
        let sql = "SELECT count(*), max(p) FROM t WHERE id < 200";
        match client.query(sql) {
            Ok(table) if table.rows[0][0].as_deref() != Some("200") => ledger.note("wrong rows"),
            Err(error) if !is_of_device(error.kind) => ledger.note(&format!("wrong error: {error}")),
            Err(error) => ledger.note(&format!("failed to read: {error}")),
            Ok(_) => {}
        }
    }
}

fn is_of_device(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Io | ErrorKind::Corruption)
}
