//! Repair: files of a database are damaged, and what `repair` makes of it has rows that there were, indexes that agree with them, and a
//! report of what is gone.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rukh::{Database, Error, Options, Repair};
use rukh_testkit::client::Client;

/// Rows of each table.
const ROWS: u64 = 3000;
/// Flips in each kind of file.
const FLIPS: usize = 12;

const TABLES: [&str; 3] = ["t", "blocks", "versions"];

fn run(client: &mut Client, sql: &str) {
    client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// A database with tables of each kind: rows in files, and others in the log, or in several logs.
fn prepare(path: &Path) {
    let database = Database::open(path).unwrap();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, a INTEGER, p VARCHAR)",
        "CREATE INDEX t_a ON t (a)",
        "CREATE UNIQUE INDEX t_p ON t (p)",
        "CREATE TABLE blocks (id BIGINT PRIMARY KEY, a INTEGER, p VARCHAR) USING columnar",
        "CREATE INDEX blocks_a ON blocks (a)",
        "CREATE TABLE versions (id BIGINT PRIMARY KEY, a INTEGER, p VARCHAR) VERSIONS 3",
        "CREATE SEQUENCE s START 7",
        "CREATE VIEW v AS SELECT id FROM t",
    ] {
        run(&mut client, sql);
    }
    for table in TABLES {
        for part in 0..6 {
            let (first, last) = (part * ROWS / 6, (part + 1) * ROWS / 6 - 1);
            run(
                &mut client,
                &format!(
                    "INSERT INTO {table} SELECT n, n % 100, md5(CAST(n AS VARCHAR)) FROM generate_series({first}, {last}) AS s(n)"
                ),
            );
            if part == 3 {
                run(&mut client, "CHECKPOINT");
            }
        }
    }
}

fn files(path: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|file| file.extension().is_some_and(|found| found == ending))
        .filter(|file| file.metadata().unwrap().len() > 0)
        .collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() {
            std::fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
    }
}

/// Compares a repaired database with what there was; returns how many rows each table has.
fn compare(path: &Path, repair: &Repair, what: &str) -> Vec<u64> {
    let database = Database::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(database.losses(), Vec::<String>::new(), "{what}");
    let mut client = Client::new(&database);
    let known: BTreeSet<&str> = repair.tables.iter().map(|table| table.table.as_str()).collect();
    let mut counts = Vec::new();
    for table in TABLES {
        if !known.contains(table) {
            assert!(!repair.is_whole(), "{what}: {table} is gone, and nothing tells");
            counts.push(0);
            continue;
        }
        client
            .check(table)
            .unwrap_or_else(|error| panic!("{what}: {table}: {error}"));
        let other = client
            .query(&format!(
                "SELECT count(*) FROM {table} WHERE a IS DISTINCT FROM id % 100 OR p IS DISTINCT FROM md5(CAST(id AS VARCHAR))"
            ))
            .unwrap_or_else(|error| panic!("{what}: {table}: {error}"));
        assert_eq!(
            other.rows[0][0].as_deref(),
            Some("0"),
            "{what}: rows of {table} are others"
        );
        let count = client.query(&format!("SELECT count(*) FROM {table}")).unwrap();
        let count: u64 = count.rows[0][0].as_deref().unwrap().parse().unwrap();
        let report = repair.tables.iter().find(|report| report.table == table).unwrap();
        if table != "blocks" {
            assert_eq!(report.rows, count, "{what}: {report}");
        }
        assert!(count <= ROWS, "{what}");
        // What is there can be changed.
        run(
            &mut client,
            &format!("INSERT INTO {table} VALUES (1000000, 0, 'new')"),
        );
        counts.push(count);
    }
    counts
}

#[test]
fn a_sound_database_is_copied_whole() {
    let place = tempfile::tempdir().unwrap();
    let (whole, saved) = (place.path().join("whole"), place.path().join("saved"));
    prepare(&whole);
    let repair = rukh::repair(&whole, &saved).unwrap();
    assert!(repair.is_whole(), "{repair}");
    assert_eq!(compare(&saved, &repair, "whole"), [ROWS; 3]);
    let mut client = Client::new(&Database::open(&saved).unwrap());
    let next = client.query("SELECT nextval('s')").unwrap();
    assert_eq!(next.rows[0][0].as_deref(), Some("7"));
    assert_eq!(client.query("SELECT * FROM v LIMIT 3").unwrap().rows.len(), 3);
    drop(client);
    // Nothing is written over.
    let error = rukh::repair(&whole, &saved).unwrap_err();
    assert_eq!(error.sqlstate, "58P02", "{error}");
    assert_eq!(
        rukh::repair(place.path().join("none"), place.path().join("x"))
            .unwrap_err()
            .sqlstate,
        "3D000"
    );
}

/// Flips bits of files and repairs each; returns how many were refused when they were opened, and how many lost something.
fn sweep(ending: &str) -> (Vec<Error>, usize) {
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("whole");
    prepare(&whole);
    let (mut refused, mut lossy) = (Vec::new(), 0);
    for file in files(&whole, ending) {
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        for flip in 0..FLIPS {
            let at = flip * length / FLIPS + flip;
            let (path, saved) = (place.path().join("damaged"), place.path().join("saved"));
            copy(&whole, &path);
            let damaged = path.join(file.file_name().unwrap());
            let mut bytes = std::fs::read(&damaged).unwrap();
            bytes[at] ^= 1 << (flip % 8);
            std::fs::write(&damaged, bytes).unwrap();
            let what = format!("byte {at} of {}", damaged.file_name().unwrap().display());
            let repair = rukh::repair(&path, &saved).unwrap_or_else(|error| panic!("{what}: {error}"));
            let counts = compare(&saved, &repair, &what);
            if counts.iter().sum::<u64>() < 3 * ROWS {
                lossy += 1;
            }
            refused.extend(Database::open(&path).err());
            for directory in [&path, &saved] {
                std::fs::remove_dir_all(directory).unwrap();
            }
        }
    }
    (refused, lossy)
}

#[test]
fn damaged_logs_are_repaired() {
    let (refused, lossy) = sweep("log");
    assert!(lossy > 0 && !refused.is_empty());
    for error in refused {
        let advice = error.hint.clone().unwrap_or_default();
        assert!(
            error.sqlstate == "XX001" && advice.contains("rukh repair DIR TARGET"),
            "{error}"
        );
    }
}

#[test]
fn damaged_files_are_repaired_and_lose_what_they_had() {
    let (_, lossy) = sweep("sst");
    assert!(lossy > 3, "{lossy}");
}

/// The first record of a log lost, all would be; one in the middle lost, what came before is there, and the loss is reported.
#[test]
fn a_log_damaged_at_its_beginning_is_not_forgotten() {
    let place = tempfile::tempdir().unwrap();
    let (path, middle, saved) = (
        place.path().join("db"),
        place.path().join("middle"),
        place.path().join("saved"),
    );
    let mut client = Client::new(&Database::open(&path).unwrap());
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, p VARCHAR)",
        "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(1, 2000) AS s(n)",
        "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(2001, 4000) AS s(n)",
        "INSERT INTO t VALUES (5000, 'last')",
    ] {
        run(&mut client, sql);
    }
    drop(client);
    copy(&path, &middle);
    let flip = |path: &Path, at: fn(usize) -> usize| {
        let log = files(path, "log").pop().unwrap();
        let mut bytes = std::fs::read(&log).unwrap();
        let length = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[at(length)] ^= 1;
        std::fs::write(&log, bytes).unwrap();
        log.file_name().unwrap().to_string_lossy().into_owned()
    };
    let log = flip(&path, |_| 8);
    for read_only in [false, true, false] {
        let options = Options {
            read_only,
            ..Options::default()
        };
        let error = Database::open_with(&path, options).err().unwrap();
        let expected = format!("log file \"{log}\" is damaged at byte 0, and nothing of it can be read");
        assert_eq!(
            (error.sqlstate, error.message.as_str()),
            ("XX001", expected.as_str())
        );
        assert!(error.hint.unwrap().contains("rukh repair DIR TARGET"));
    }
    let repair = rukh::repair(&path, &saved).unwrap();
    let report = repair.to_string();
    assert!(
        !repair.is_whole() && report.contains(&format!("log file \"{log}\" is damaged at byte 0")),
        "{report}"
    );

    let log = flip(&middle, |length| length * 3 / 4);
    let database = Database::open(&middle).unwrap();
    let losses = database.losses();
    assert!(losses.len() == 1 && losses[0].contains(&log), "{losses:?}");
    let count = Client::new(&database).query("SELECT count(*) FROM t").unwrap();
    assert_eq!(count.rows[0][0].as_deref(), Some("2000"));
    drop(database);
    assert_eq!(Database::open(&middle).unwrap().losses(), Vec::<String>::new());
}

/// A log that is not the newest, and a table with files from after it: no state of the past can be shown.
#[test]
fn a_damaged_log_before_files_names_file_and_table() {
    let place = tempfile::tempdir().unwrap();
    let (path, kept, saved) = (
        place.path().join("db"),
        place.path().join("kept"),
        place.path().join("saved"),
    );
    {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        for sql in [
            "CREATE TABLE t (id BIGINT PRIMARY KEY, p VARCHAR)",
            "CREATE INDEX t_p ON t (p)",
            "CREATE TABLE u (id BIGINT PRIMARY KEY, p VARCHAR)",
            "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(1, 1000) AS s(n)",
        ] {
            run(&mut client, sql);
        }
        // The log as it is now, beside files of later.
        copy(&path, &kept);
        run(
            &mut client,
            "INSERT INTO u SELECT n, 'x' FROM generate_series(1, 500) AS s(n)",
        );
        run(&mut client, "CHECKPOINT");
    }
    let log = files(&kept, "log").pop().unwrap();
    let target = path.join(log.file_name().unwrap());
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&target, bytes).unwrap();
    match Database::open(&path) {
        Ok(database) => {
            // Everything of the log is in files: it is not read.
            let mut client = Client::new(&database);
            client.check("t").unwrap();
        }
        Err(error) => {
            assert_eq!(error.sqlstate, "XX001");
            let name = log.file_name().unwrap().to_string_lossy().into_owned();
            assert!(
                error.message.contains(&name) && error.message.contains("at byte"),
                "{error}"
            );
            let detail = error.detail.clone().unwrap_or_default();
            assert!(
                detail.contains("table \"") || detail.contains("index \""),
                "{error:?}"
            );
            assert!(
                error
                    .hint
                    .is_some_and(|hint| hint.contains("rukh repair DIR TARGET"))
            );
            let repair = rukh::repair(&path, &saved).unwrap();
            let mut client = Client::new(&Database::open(&saved).unwrap());
            client.check("t").unwrap();
            client.check("u").unwrap();
            assert!(!repair.tables.is_empty());
        }
    }
}
