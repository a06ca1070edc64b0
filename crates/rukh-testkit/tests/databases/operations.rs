//! Backups taken beside writers: what comes back is one state, with every commit acknowledged before.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use rukh::{Backups, Connection, Database, ErrorKind};
use tempfile::TempDir;

const ACCOUNTS: i64 = 50;

fn run(connection: &mut Connection, sql: &str) {
    let ran = connection.execute(sql);
    ran.map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn number(connection: &mut Connection, sql: &str) -> i64 {
    let mut rows = connection.query(sql).unwrap();
    rows.next_row().unwrap().unwrap().get::<i64>(0).unwrap()
}

/// Every fault that CHECK TABLE counts in a table.
fn faults(connection: &mut Connection, table: &str) -> i64 {
    let mut rows = connection.query(&format!("CHECK TABLE {table}")).unwrap();
    let mut faults = 0;
    while let Some(row) = rows.next_row().unwrap() {
        let finding = row.get::<String>(0).unwrap();
        if !["rows", "entries"].contains(&finding.as_str()) {
            faults += row.get::<String>(1).unwrap().parse::<i64>().unwrap_or(1);
        }
    }
    faults
}

/// A database whose accounts hold nothing in sum, with a log of what was moved, and an index on both.
fn bank(path: &Path) -> Database {
    let database = Database::open(path).unwrap();
    let mut connection = database.connect();
    run(
        &mut connection,
        "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)",
    );
    run(&mut connection, "CREATE INDEX by_balance ON accounts (balance)");
    run(
        &mut connection,
        "CREATE TABLE moves (id BIGINT PRIMARY KEY, amount BIGINT)",
    );
    run(&mut connection, "CREATE INDEX by_amount ON moves (amount)");
    for id in 0..ACCOUNTS {
        run(&mut connection, &format!("INSERT INTO accounts VALUES ({id}, 0)"));
    }
    database
}

/// Moves money about until stopped; `done` is the last move that was acknowledged.
fn move_money(database: &Database, done: &AtomicI64, stop: &AtomicBool) {
    let mut connection = database.connect();
    run(&mut connection, "SET synchronous_commit = off");
    let mut id = 0;
    while !stop.load(Ordering::Relaxed) {
        id += 1;
        let (from, to) = (id * 7 % ACCOUNTS, (id * 11 + 1) % ACCOUNTS);
        for sql in [
            "BEGIN".to_string(),
            format!("UPDATE accounts SET balance = balance - {id} WHERE id = {from}"),
            format!("UPDATE accounts SET balance = balance + {id} WHERE id = {to}"),
            format!("INSERT INTO moves VALUES ({id}, {id})"),
            "COMMIT".to_string(),
        ] {
            run(&mut connection, &sql);
        }
        done.store(id, Ordering::Release);
    }
}

#[test]
fn backups_beside_writers_are_single_states() {
    let place = TempDir::new().unwrap();
    let kept = place.path().join("kept");
    let database = bank(&place.path().join("db"));
    let (done, stop) = (AtomicI64::new(0), AtomicBool::new(false));
    let mut acknowledged = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| move_money(&database, &done, &stop));
        let mut connection = database.connect();
        for _ in 0..4 {
            while done.load(Ordering::Acquire) < 20 * (acknowledged.len() as i64 + 1) {
                thread::yield_now();
            }
            let before = done.load(Ordering::Acquire);
            run(
                &mut connection,
                &format!("BACKUP DATABASE TO '{}'", kept.display()),
            );
            acknowledged.push((before, done.load(Ordering::Acquire)));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let backups = Backups::open(&kept).unwrap();
    assert_eq!(backups.list().len(), acknowledged.len());
    for (backup, (before, after)) in backups.list().into_iter().zip(acknowledged) {
        let again = place.path().join(format!("again-{}", backup.id));
        backups.restore(Some(backup.id), &again).unwrap();
        let mut connection = Database::open(&again).unwrap().connect();
        let last = number(&mut connection, "SELECT max(id) FROM moves");
        assert!((before..=after + 1).contains(&last), "{before} {last} {after}");
        assert_eq!(number(&mut connection, "SELECT count(*) FROM moves"), last);
        let sum = "SELECT CAST(sum(balance) AS BIGINT) FROM accounts";
        assert_eq!(number(&mut connection, sum), 0);
        for table in ["accounts", "moves"] {
            assert_eq!(
                faults(&mut connection, table),
                0,
                "{table} of backup {}",
                backup.id
            );
        }
    }
}

#[test]
fn a_checkpoint_and_a_backup_hold_a_bulk_load_whole_or_not_at_all() {
    let place = TempDir::new().unwrap();
    let database = Database::open(place.path().join("db")).unwrap();
    let mut connection = database.connect();
    run(
        &mut connection,
        "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b TEXT)",
    );
    run(&mut connection, "CREATE INDEX by_a ON t (a, b)");
    let file = place.path().join("rows.csv");
    const ROWS: i64 = 12_000;
    let line = |id: i64| format!("{id},{},row {id}\n", id * 7919 % ROWS);
    std::fs::write(&file, (0..ROWS).map(line).collect::<String>()).unwrap();
    let stop = AtomicBool::new(false);
    let mut copies = Vec::new();
    thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let mut connection = database.connect();
            run(&mut connection, &format!("COPY t FROM '{}'", file.display()));
            stop.store(true, Ordering::Release);
        });
        while !stop.load(Ordering::Acquire) && !loading.is_finished() {
            let copy = place.path().join(format!("copy-{}", copies.len()));
            run(&mut connection, &format!("CHECKPOINT TO '{}'", copy.display()));
            copies.push(copy);
        }
    });
    let last = place.path().join("last");
    run(&mut connection, &format!("CHECKPOINT TO '{}'", last.display()));
    copies.push(last);
    let mut seen = Vec::new();
    for copy in &copies {
        let mut connection = Database::open(copy).unwrap().connect();
        seen.push(number(&mut connection, "SELECT count(*) FROM t"));
        assert_eq!(faults(&mut connection, "t"), 0);
    }
    assert!(seen.iter().all(|rows| [0, ROWS].contains(rows)), "{seen:?}");
    assert_eq!(seen.last(), Some(&ROWS));
}

#[test]
fn statements_tell_what_there_is() {
    let place = TempDir::new().unwrap();
    let kept = place.path().join("kept").display().to_string();
    let database = bank(&place.path().join("db"));
    let mut connection = database.connect();
    for backup in 1..=3 {
        let sql = format!("BACKUP DATABASE TO '{kept}' KEEP 2");
        assert_eq!(number(&mut connection, &sql), backup);
    }
    assert_eq!(number(&mut connection, &format!("SHOW BACKUPS IN '{kept}'")), 2);
    run(&mut connection, "CHECKPOINT");
    run(&mut connection, "COMPACT TABLE accounts");
    run(&mut connection, "COMPACT");
    let mut rows = connection.query("SHOW STATS FROM accounts").unwrap();
    let mut shown = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        let text = |column| row.get::<String>(column).unwrap();
        let number = |column| row.get::<i64>(column).unwrap();
        assert!(number(5) > 0, "sorted files after COMPACT");
        shown.push(format!("{} {} {} {}", text(1), text(2), number(4), text(9)));
    }
    assert_eq!(shown, ["accounts table 50 6:1", "by_balance index 50 6:1"]);
    for (sql, sqlstate) in [
        (
            format!("BACKUP DATABASE TO '{}'", place.path().display()),
            "58P01",
        ),
        (
            format!("BACKUP DATABASE TO '{}'", place.path().join("db/x").display()),
            "22023",
        ),
        (format!("CHECKPOINT TO '{kept}'"), "58P02"),
        (format!("SHOW BACKUPS IN '{kept}x'"), "58P01"),
    ] {
        let error = connection.execute(&sql).err().expect("the statement is refused");
        assert_eq!(
            (error.sqlstate, error.kind),
            (sqlstate, ErrorKind::Statement),
            "{sql}"
        );
    }
}

#[test]
fn compact_leaves_nothing_for_the_statement_before() {
    const ROWS: i64 = 20_000;
    let place = TempDir::new().unwrap();
    let database = Database::open(place.path()).unwrap();
    let mut connection = database.connect();
    run(
        &mut connection,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v BIGINT)",
    );
    run(
        &mut connection,
        &format!("INSERT INTO t SELECT value, value FROM generate_series(1, {ROWS}) AS g(value)"),
    );
    for compact in ["COMPACT", "COMPACT TABLE t", "VACUUM FULL t"] {
        run(&mut connection, "UPDATE t SET v = v + 1");
        run(&mut connection, compact);
        let mut stats = connection.query("SHOW STATS FROM t").unwrap();
        let entries = stats.next_row().unwrap().unwrap().get::<i64>(4).unwrap();
        assert!((ROWS..ROWS * 3 / 2).contains(&entries), "{compact}: {entries}");
    }
}

#[test]
fn show_tables_counts_large_values_of_columnar_tables() {
    let place = TempDir::new().unwrap();
    let database = Database::open(place.path()).unwrap();
    let mut connection = database.connect();
    run(
        &mut connection,
        "CREATE TABLE c (id INTEGER PRIMARY KEY, s TEXT) USING columnar",
    );
    let layout = |connection: &mut Connection| {
        let mut tables = connection.query("SHOW TABLES").unwrap();
        tables.next_row().unwrap().unwrap().get::<String>(5).unwrap()
    };
    // 256 rows, which stay together, have more than 64 KiB of the second kind of texts.
    for (hashes, is_large) in [(2, false), (10, true)] {
        let hash = |nth| format!("md5(value::text || '{nth}')");
        let text = (0..hashes).map(hash).collect::<Vec<_>>().join(" || ");
        run(&mut connection, "TRUNCATE TABLE c");
        run(
            &mut connection,
            &format!("INSERT INTO c SELECT value, {text} FROM generate_series(1, 8192) AS g(value)"),
        );
        run(&mut connection, "ALTER TABLE c REPACK");
        run(&mut connection, "COMPACT");
        let layout = layout(&mut connection);
        let shown = layout.split(", ").find_map(|part| part.split_once(" bytes"));
        let shown = shown.unwrap().0.parse::<i64>().unwrap();
        let (mut files, mut large) = (0, 0);
        let mut stats = connection.query("SHOW STATS FROM c").unwrap();
        while let Some(row) = stats.next_row().unwrap() {
            files += row.get::<i64>(5).unwrap();
            large += row.get::<i64>(6).unwrap();
        }
        assert_eq!(large > 1_000_000, is_large, "{large}");
        let all = files + large;
        assert!(
            (all - all / 10..all + all / 10).contains(&shown),
            "{layout}, files of {all} bytes"
        );
        assert_eq!(layout.contains("compressed"), !is_large, "{layout}");
    }
}
