//! A disk that is full: what does not fit is refused and changes nothing, what is there can be read, and
//! once there is space again the same process writes on. A disk may be full of bytes or of files.
//!
//! Each test runs itself as a child process with a file system of its own, in memory and small, which takes a mount
//! namespace: root, or a user that may make one. Storage looks for space every five seconds and wants as much as one write
//! buffer has, so the test waits that long; what it waits for is the first write that succeeds.

#![allow(clippy::unwrap_used)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rukh::{Database, Error, ErrorKind};
use rukh_testkit::client::Client;
use rukh_testkit::need;

/// The directory that the child mounts its file system on.
const DIRECTORY: &str = "RUKH_FULL_DISK";
/// The file system, in the words of mount: what storage asks for before it goes on, and some more.
const SIZE: &str = "size=320m";
/// The same with room for so many files.
const FEW_FILES: &str = "size=320m,nr_inodes=400";
/// How long storage may take to see that there is space.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Returns how a process gets a namespace in which it may mount, or why there is none.
fn namespace() -> Result<&'static [&'static str], String> {
    const WAYS: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let works = |way: &&[&str]| {
        let place = tempfile::tempdir().unwrap();
        let tried = Command::new("unshare")
            .args(*way)
            .args(["mount", "-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(place.path())
            .output();
        tried.is_ok_and(|output| output.status.success())
    };
    let way = WAYS.into_iter().find(|way| works(way));
    way.ok_or_else(|| "this user cannot mount a small file system (unshare --mount)".to_owned())
}

/// Runs a part of a test in a process with a file system of its own.
fn in_small_file_system(test: &str, options: &str, live: fn(&Path)) {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return live(Path::new(&directory));
    }
    let Some(way) = need::or_skip(test, namespace()) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o {options} none \"${DIRECTORY}\" && exec \"$@\"");
    let output = Command::new("unshare")
        .args(way)
        .args(["sh", "-c", &script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DIRECTORY, place.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let line = text.lines().find(|line| line.starts_with("full disk:"));
    println!("{}", line.expect("the child has run the test"));
}

#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_space() {
    in_small_file_system("a_full_disk_refuses_and_goes_on_when_there_is_space", SIZE, live);
}

#[test]
fn a_disk_with_no_room_for_a_file_refuses_and_goes_on_when_there_is_some() {
    in_small_file_system(
        "a_disk_with_no_room_for_a_file_refuses_and_goes_on_when_there_is_some",
        FEW_FILES,
        live_with_few_files,
    );
}

/// What the child does where there is no room for one file more. Storage takes that for its end once it wants a new log, so that the
/// database is opened again in place.
fn live_with_few_files(directory: &Path) {
    let path = directory.join("db");
    let database = Database::open(&path).unwrap();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, p VARCHAR)",
        "CREATE INDEX t_p ON t (p)",
        "CREATE INDEX t_late ON t (p DESC, id)",
        "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(1, 1000) AS s(n)",
    ] {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let ballast = directory.join("files");
    std::fs::create_dir(&ballast).unwrap();
    let files = (0..).take_while(|n| File::create(ballast.join(n.to_string())).is_ok());
    assert!(files.count() > 10);
    client.run("INSERT INTO t VALUES (2000, 'in the log')").unwrap();
    let before = rows(&mut client);
    let statements = [
        "CHECKPOINT",
        "INSERT INTO t VALUES (3000, 'refused')",
        "DROP INDEX t_late",
        "CREATE INDEX t_later ON t (p DESC)",
        "DELETE FROM t",
    ];
    for sql in statements {
        refused(&client.run(sql).unwrap_err(), sql);
        assert_eq!(rows(&mut client), before, "{sql}");
    }
    std::fs::remove_dir_all(&ballast).unwrap();
    let started = Instant::now();
    wait_for_writes(&mut client, directory);
    let waited = started.elapsed();
    for sql in [
        "DROP INDEX t_late",
        "CREATE INDEX t_later ON t (p DESC)",
        "CHECKPOINT",
    ] {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(rows(&mut client), before);
    drop((client, database));
    let mut client = Client::new(&Database::open(&path).unwrap());
    assert_eq!(rows(&mut client), before);
    println!(
        "full disk: {} statements refused, {before} rows kept, written again {:.1} s after there was room for files",
        statements.len(),
        waited.as_secs_f64()
    );
}

/// Takes all space that there is, until dropped.
struct Ballast(PathBuf);

impl Ballast {
    /// Takes all space but so many bytes.
    fn but(directory: &Path, left: u64) -> Ballast {
        let ballast = Ballast::fill(directory);
        let file = OpenOptions::new().write(true).open(&ballast.0).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(left)).unwrap();
        ballast
    }

    fn fill(directory: &Path) -> Ballast {
        let path = directory.join("ballast");
        let mut file = File::create(&path).unwrap();
        let mut piece = vec![7; 1 << 20];
        while !piece.is_empty() {
            if file.write_all(&piece).is_err() {
                piece.truncate(piece.len() / 2);
            }
        }
        Ballast(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// Counts the rows, which nothing is missing of.
fn rows(client: &mut Client) -> u64 {
    client.check("t").unwrap();
    let table = client.query("SELECT count(*) FROM t").unwrap();
    let by_index = client
        .query("SELECT /*+ INDEX(t t_p) */ count(p) FROM t")
        .unwrap();
    assert_eq!(table.rows, by_index.rows);
    table.rows[0][0].as_deref().unwrap().parse().unwrap()
}

fn refused(error: &Error, sql: &str) {
    assert_eq!(
        (error.sqlstate, error.kind),
        ("53100", ErrorKind::Io),
        "{sql}: {error}"
    );
}

/// What the child does in its small file system.
fn live(directory: &Path) {
    let path = directory.join("db");
    let database = Database::open(&path).unwrap();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, p VARCHAR)",
        "CREATE INDEX t_p ON t (p)",
        "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(1, 1000) AS s(n)",
    ] {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let source = directory.join("rows.csv");
    let lines = (100_000..130_000).map(|n| format!("{n},{n:032}\n"));
    std::fs::write(&source, lines.collect::<String>()).unwrap();
    let load = format!("COPY t FROM '{}'", source.display());

    let partly = some_space(&mut client, directory, &load);
    together(&mut client, directory);

    let ballast = Ballast::fill(directory);
    // Sorted files find no space, and storage itself has not failed yet.
    for sql in [load.as_str(), "CREATE INDEX t_late ON t (p DESC, id)"] {
        refused(&client.run(sql).unwrap_err(), sql);
    }
    assert_eq!(rows(&mut client), 1000);
    // The log has some space that it took before.
    let mut before = 1000;
    let error = loop {
        assert!(before < 1_000_000, "the disk is full");
        let sql = format!(
            "INSERT INTO t SELECT n, repeat(md5(CAST(n AS VARCHAR)), 40) FROM generate_series({}, {}) AS s(n)",
            1_000_000 + before,
            1_000_000 + before + 999
        );
        match client.run(&sql) {
            Ok(_) => before += 1000,
            Err(error) => break error,
        }
    };
    refused(&error, "INSERT of many rows");
    assert_eq!(rows(&mut client), before);
    let statements = [
        load.as_str(),
        "CREATE INDEX t_late ON t (p DESC, id)",
        "UPDATE t SET p = 'other' || p WHERE id < 100",
        "UPDATE t SET p = 'other' WHERE id = 7",
        "DELETE FROM t WHERE id % 2 = 0",
        "CREATE TABLE u (a INTEGER PRIMARY KEY)",
        "ALTER TABLE t ADD COLUMN x INTEGER",
        "TRUNCATE t",
        "CHECKPOINT",
        "INSERT INTO t VALUES (5000, 'one row')",
    ];
    for sql in statements {
        refused(&client.run(sql).unwrap_err(), sql);
        assert_eq!(rows(&mut client), before, "{sql}");
    }
    assert_eq!(
        client
            .query("SELECT p FROM t WHERE p LIKE 'other%'")
            .unwrap()
            .rows
            .len(),
        0
    );
    let refusals = statements.len();

    drop(ballast);
    let started = Instant::now();
    while let Err(error) = client.run("INSERT INTO t VALUES (6000, 'again')") {
        refused(&error, "INSERT");
        assert!(started.elapsed() < WAIT_MAX, "no write succeeds: {error}");
        still_read(&mut client);
    }
    let waited = started.elapsed();
    for sql in [
        load.as_str(),
        "UPDATE t SET p = 'other' || p WHERE id <= 10",
        "CHECKPOINT",
    ] {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(rows(&mut client), before + 1 + 30_000);
    drop((client, database));
    let mut client = Client::new(&Database::open(&path).unwrap());
    assert_eq!(rows(&mut client), before + 1 + 30_000);
    let refusals = refusals + partly;
    println!(
        "full disk: {refusals} statements refused, {before} rows kept, written again {:.1} s after there was space",
        waited.as_secs_f64()
    );
}

/// Reads, which goes on while writes are refused.
fn still_read(client: &mut Client) {
    let table = client.query("SELECT count(*) FROM t").unwrap();
    assert_eq!(table.rows.len(), 1);
}

/// Says what space there is and what takes it.
fn space(directory: &Path) -> String {
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .arg(directory)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    format!("{}{}", run("df", &["-k"]), run("ls", &["-lR"]))
}

/// Waits until the database takes writes.
fn wait_for_writes(client: &mut Client, directory: &Path) {
    let started = Instant::now();
    while let Err(error) = client.run("INSERT INTO t VALUES (7000, 'again')") {
        refused(&error, "INSERT");
        assert!(
            started.elapsed() < WAIT_MAX,
            "no write succeeds: {error}; {}",
            space(directory)
        );
        still_read(client);
    }
    client.run("DELETE FROM t WHERE id = 7000").unwrap();
}

/// There is some space, and then none: what does not fit is refused alone and leaves no files, whatever it had begun; returns how many statements
/// were refused.
fn some_space(client: &mut Client, directory: &Path, load: &str) -> usize {
    let index = "CREATE INDEX t_late ON t (p DESC, id)";
    let long: Vec<String> = (3..40)
        .map(|n| format!("md5(CAST(n * {n} AS VARCHAR))"))
        .collect();
    // Among the rows of the load, so that these are flushed before it; none of them is there twice.
    let between = format!(
        "INSERT INTO t SELECT 90000 + n, {} FROM generate_series(1, 300) AS s(n)",
        long.join(" || ")
    );
    let mut refusals = 0;
    for left_kib in [0, 100, 400, 800, 1200, 1600, 2400, 3200] {
        for (sql, undo) in [
            (load, "DELETE FROM t WHERE id >= 100000"),
            (index, "DROP INDEX t_late"),
            ("DELETE FROM t WHERE id > 10 AND id < 80000", ""),
            ("COMPACT TABLE t", ""),
            ("CHECKPOINT", ""),
        ] {
            client
                .run(&between)
                .unwrap_or_else(|error| panic!("{left_kib} KiB, before {sql}: {error}"));
            let before = rows(client);
            let ballast = Ballast::but(directory, left_kib << 10);
            let outcome = client.run(sql);
            let later = matches!(&outcome, Err(error) if error.detail.is_some());
            if let Err(error) = &outcome {
                refused(error, sql);
                refusals += 1;
                assert_eq!(rows(client), before, "{sql} with {left_kib} KiB");
                let left = std::fs::read_dir(directory.join("db/load")).map(|files| files.count());
                assert!(
                    later || left.unwrap_or_default() == 0,
                    "{sql} with {left_kib} KiB leaves files"
                );
            }
            drop(ballast);
            wait_for_writes(client, directory);
            if (outcome.is_ok() || later) && !undo.is_empty() {
                client.run(undo).unwrap_or_else(|error| panic!("{undo}: {error}"));
            }
            client.run("DELETE FROM t").unwrap();
            client
                .run("INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(1, 1000) AS s(n)")
                .unwrap_or_else(|error| panic!("after {sql} with {left_kib} KiB: {error}"));
            assert_eq!(rows(client), 1000);
        }
    }
    assert!(refusals > 3, "{refusals}");
    refusals
}

/// Many write at once when the space ends: what was acknowledged is there, each of the others is refused, and readers go on.
fn together(client: &mut Client, directory: &Path) {
    const WRITERS: u64 = 4;
    let ballast = Ballast::fill(directory);
    let acknowledged: Vec<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let mut client = client.another();
                scope.spawn(move || {
                    let mut done = Vec::new();
                    for n in 0..100_000 {
                        let id = 1_000_000 + n * WRITERS + writer;
                        let sql = format!("INSERT INTO t VALUES ({id}, repeat(md5('{id}'), 200))");
                        match client.run(&sql) {
                            Ok(_) => done.push(id),
                            Err(error) => {
                                refused(&error, "INSERT of many at once");
                                return done;
                            }
                        }
                    }
                    panic!("the disk is full");
                })
            })
            .collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });
    let stored = client.query("SELECT id FROM t WHERE id >= 1000000").unwrap();
    let stored: std::collections::BTreeSet<u64> = stored
        .rows
        .iter()
        .map(|row| row[0].as_deref().unwrap().parse().unwrap())
        .collect();
    let expected: std::collections::BTreeSet<u64> = acknowledged.into_iter().collect();
    assert_eq!(stored, expected);
    drop(ballast);
    wait_for_writes(client, directory);
    client.run("DELETE FROM t WHERE id >= 1000000").unwrap();
    client.run("COMPACT").unwrap();
    assert_eq!(rows(client), 1000);
}
