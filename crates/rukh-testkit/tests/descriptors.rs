//! Descriptors that are used up: what needs one is refused, what is there can be read, and once there are some again the same process
//! writes on.
//!
//! The test runs itself as a child process with a small limit, in which it opens files until there is none left.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use rukh::{Database, Error, ErrorKind};
use rukh_testkit::client::Client;

#[path = "../../../tests/few_descriptors.rs"]
mod few_descriptors;

use few_descriptors::{take_all_but, with_few_descriptors};

/// The directory that the child works in.
const DIRECTORY: &str = "RUKH_DESCRIPTORS";
const TEST: &str = "used_up_descriptors_refuse_and_pass";

#[test]
fn used_up_descriptors_refuse_and_pass() {
    if let Some(text) = with_few_descriptors(TEST, DIRECTORY, live) {
        let line = text.lines().find(|line| line.starts_with("descriptors:"));
        println!("{}", line.expect("the child has run the test"));
    }
}

fn refused(error: &Error, sql: &str) {
    assert_eq!(
        (error.sqlstate, error.kind),
        ("53000", ErrorKind::Io),
        "{sql}: {error}"
    );
}

fn rows(client: &mut Client) -> u64 {
    client.check("t").unwrap();
    let table = client.query("SELECT count(*) FROM t").unwrap();
    table.rows[0][0].as_deref().unwrap().parse().unwrap()
}

fn live(directory: &Path) {
    let path = directory.join("db");
    let database = Database::open(&path).unwrap();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, p VARCHAR)",
        "CREATE INDEX t_p ON t (p)",
        "CREATE TABLE blocks (id BIGINT PRIMARY KEY, p VARCHAR) USING columnar",
        "INSERT INTO t SELECT n, md5(CAST(n AS VARCHAR)) FROM generate_series(1, 1000) AS s(n)",
        "INSERT INTO blocks SELECT id, p FROM t",
    ] {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let source = directory.join("rows.csv");
    let lines = (100_000..115_000).map(|n| format!("{n},{n:032}\n"));
    std::fs::write(&source, lines.collect::<String>()).unwrap();
    let load = format!("COPY t FROM '{}'", source.display());
    let statements = [
        "CHECKPOINT",
        load.as_str(),
        "CREATE INDEX t_late ON t (p DESC, id)",
        "CREATE TABLE u (a INTEGER PRIMARY KEY)",
        "COMPACT",
    ];
    let (mut refusals, mut next, mut expected) = (0, 5000, 1000);
    for sql in statements {
        for left in [0, 1, 3] {
            let insert =
                |client: &mut Client, id: u64| client.run(&format!("INSERT INTO t VALUES ({id}, 'new')"));
            insert(&mut client, next).unwrap_or_else(|error| panic!("before {sql}: {error}"));
            (next, expected) = (next + 1, expected + 1);
            let taken = take_all_but(left);
            match client.run(sql) {
                Ok(_) => {}
                Err(error) => {
                    refused(&error, sql);
                    refusals += 1;
                }
            }
            // What is there can be read, as far as that opens no file.
            match client.query("SELECT p FROM t WHERE id = 7") {
                Ok(table) => assert_eq!(table.rows.len(), 1),
                Err(error) => refused(&error, "SELECT"),
            }
            if let Err(error) = insert(&mut client, next) {
                refused(&error, &format!("INSERT after {sql}"));
                refusals += 1;
            } else {
                expected += 1;
            }
            next += 1;
            drop(taken);
            insert(&mut client, next).unwrap_or_else(|error| panic!("after {sql} with {left}: {error}"));
            (next, expected) = (next + 1, expected + 1);
            for undo in [
                "DELETE FROM t WHERE id >= 100000",
                "DROP INDEX IF EXISTS t_late",
                "DROP TABLE IF EXISTS u",
            ] {
                client
                    .run(undo)
                    .unwrap_or_else(|error| panic!("{undo} after {sql} with {left}: {error}"));
            }
            assert_eq!(rows(&mut client), expected, "{sql} with {left}");
        }
    }
    assert!(refusals > 3, "{refusals}");
    idle_transactions_end(&mut client, &mut next);
    let after = rows(&mut client);
    drop((client, database));
    let mut client = Client::new(&Database::open(&path).unwrap());
    assert_eq!(rows(&mut client), after);
    println!("descriptors: {refusals} statements refused");
}

/// A transaction that stands idle does not hold writers up: it is to be run again.
fn idle_transactions_end(client: &mut Client, next: &mut u64) {
    let mut reader = client.another();
    reader.run("BEGIN").unwrap();
    reader.query("SELECT count(*) FROM t").unwrap();
    let taken = take_all_but(0);
    let error = client.run("CHECKPOINT").unwrap_err();
    refused(&error, "CHECKPOINT");
    drop(taken);
    client
        .run(&format!("INSERT INTO t VALUES ({next}, 'new')"))
        .unwrap();
    *next += 1;
    let error = reader.query("SELECT count(*) FROM t").unwrap_err();
    assert_eq!(
        (error.sqlstate, error.kind),
        ("40001", ErrorKind::Conflict),
        "{error}"
    );
    reader.run("ROLLBACK").unwrap();
    reader.query("SELECT count(*) FROM t").unwrap();
}
