//! COPY: what goes out to a file comes back the same, and PostgreSQL reads it too.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use rukh::Database;
use rukh_testkit::client::Client;
use rukh_testkit::translate::Translator;
use rukh_testkit::{load, need, postgres};

const COLUMNS: &str = "id INTEGER NOT NULL PRIMARY KEY, a TINYINT, b BIGINT, c REAL, d DOUBLE PRECISION, \
                       e DECIMAL(20, 4), f DATE, g TIME, h TIMESTAMP, i TIMESTAMP WITH TIME ZONE, j UUID, \
                       k CHAR(4), l VARCHAR, m BYTEA, n BOOLEAN";

const ROWS: &[&str] = &[
    "1, -128, -9223372036854775808, CAST('-Infinity' AS REAL), 1e300, -9999999999999999.9999, '0001-01-01', \
     '00:00:00', '0001-01-01 00:00:00', '0001-01-01 00:00:00+00', '00000000-0000-0000-0000-000000000000', '', \
     '', '', false",
    "2, 127, 9223372036854775807, 0.1, CAST('NaN' AS DOUBLE PRECISION), 0.0001, '9999-12-31', \
     '23:59:59.999999', '2012-02-29 23:59:59.999999', '2012-02-29 23:59:59.999999+00', \
     'ffffffff-ffff-ffff-ffff-ffffffffffff', 'é', 'comma, \"quote\" and ''apostrophe''', '\\x00ff', true",
    "3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    "4, 0, 0, 0, 0, 0, '1970-01-01', '12:30', '1970-01-01', '1970-01-01 00:00:00+00', \
     '0f0e0d0c-0b0a-0908-0706-050403020100', 'NULL', E'line\\nend\\ttab \\\\ back', '\\x', true",
    "5, 1, 1, 1, 1, 1, '2000-01-01', '00:00:00.000001', '2000-01-01', '2000-01-01 12:00:00+00', \
     '0f0e0d0c-0b0a-0908-0706-050403020101', 'NA', ' 中国 ', '\\x5c', false",
];

fn run(client: &mut Client, sql: &str) -> u64 {
    client
        .run(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .count()
}

/// A database with the table `t` and its rows, and an empty table `back` of the same columns.
fn with_rows() -> Client {
    let mut client = Client::in_memory();
    run(&mut client, &format!("CREATE TABLE t ({COLUMNS})"));
    run(&mut client, &format!("CREATE TABLE back ({COLUMNS})"));
    run(&mut client, "CREATE INDEX back_l ON back (l, k DESC) INCLUDE (m)");
    for row in ROWS {
        run(&mut client, &format!("INSERT INTO t VALUES ({row})"));
    }
    client
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

#[test]
fn every_format_gives_the_rows_back() {
    let directory = tempfile::tempdir().unwrap();
    for (name, options) in [
        ("t.parquet", ""),
        ("t.json", ""),
        ("t.csv", " WITH (FORMAT csv, HEADER true, NULL 'nothing')"),
        ("plain.csv", " WITH (NULL '-', DELIMITER ';', QUOTE '|')"),
        ("default.csv", ""),
        ("t.txt", " WITH (FORMAT text)"),
        ("odd.txt", " WITH (FORMAT text, NULL '-', DELIMITER ';', HEADER)"),
        ("t.bin", " WITH (FORMAT binary)"),
    ] {
        let mut client = with_rows();
        let file = path(directory.path(), name);
        assert_eq!(run(&mut client, &format!("COPY t TO '{file}'{options}")), 5);
        assert_eq!(
            run(&mut client, &format!("COPY back FROM '{file}'{options}")),
            5,
            "{name}"
        );
        let rows = client.query("SELECT * FROM t ORDER BY id").unwrap();
        let back = client.query("SELECT * FROM back ORDER BY id").unwrap();
        assert_eq!(back.rows, rows.rows, "{name}");
        client.check("back").unwrap();
    }
}

#[test]
fn numbers_of_json_are_read_digit_by_digit() {
    let directory = tempfile::tempdir().unwrap();
    let file = path(directory.path(), "n.jsonl");
    let numbers = [
        "-973.6640168902517",
        "1e-45",
        "5e-324",
        "2.2250738585072011e-308",
        "0.1",
    ];
    let lines = numbers.iter().enumerate();
    let lines = lines.map(|(id, number)| {
        format!("{{\"t\": {number} ,\"d\":{number}, \"id\":{id}, \"e\":12345678901234567.8901}}\n")
    });
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let mut client = Client::in_memory();
    run(
        &mut client,
        "CREATE TABLE n (id INTEGER PRIMARY KEY, d DOUBLE PRECISION, e DECIMAL(21,4), t VARCHAR)",
    );
    assert_eq!(run(&mut client, &format!("COPY n FROM '{file}'")), 5);
    let found = client.query("SELECT d, e, t FROM n ORDER BY id").unwrap();
    for (row, number) in found.rows.iter().zip(numbers) {
        let [d, e, t] = row.as_slice() else {
            panic!("{row:?}")
        };
        let (double, right): (f64, f64) = (d.as_ref().unwrap().parse().unwrap(), number.parse().unwrap());
        assert_eq!(double.to_bits(), right.to_bits(), "{number}");
        assert_eq!(e.as_deref(), Some("12345678901234567.8901"));
        assert_eq!(t.as_deref(), Some(number));
    }
}

#[test]
fn postgres_reads_the_csv() {
    let Some(mut postgres) = need::or_skip("postgres_reads_the_csv", postgres::database()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut client = with_rows();
    let file = path(directory.path(), "t.csv");
    run(
        &mut client,
        &format!("COPY t TO '{file}' WITH (FORMAT csv, HEADER true)"),
    );
    let create = Translator::new()
        .translate(&format!("CREATE TABLE t ({COLUMNS})"))
        .unwrap();
    postgres.execute(&create).unwrap();
    load::copy_from(
        &mut postgres,
        &format!("COPY t FROM '{file}' WITH (FORMAT csv, HEADER true)"),
    )
    .unwrap();
    let rows = client.query("SELECT * FROM t ORDER BY id").unwrap();
    rows.same_rows(postgres.query("SELECT * FROM t ORDER BY id").unwrap(), true)
        .unwrap();
}

#[test]
fn a_query_goes_out_and_some_columns_come_in() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = with_rows();
    let file = path(directory.path(), "some.csv");
    run(
        &mut client,
        &format!("COPY (SELECT l, id + 100 AS id FROM t WHERE id <> 3) TO '{file}' WITH (HEADER true)"),
    );
    assert_eq!(
        run(
            &mut client,
            &format!("COPY back (id, l) FROM '{file}' WITH (HEADER true)")
        ),
        4
    );
    let back = client.query("SELECT id, l, a FROM back ORDER BY id").unwrap();
    assert_eq!(back.rows.len(), 4);
    assert_eq!(back.rows[0], [Some("101".to_owned()), Some(String::new()), None]);
}

#[test]
fn rows_are_numbered_in_the_order_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::in_memory();
    run(
        &mut client,
        "CREATE TABLE words (word VARCHAR NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (word, n))",
    );
    let file = path(directory.path(), "words.csv");
    std::fs::write(&file, "b\na\nb\n").unwrap();
    run(
        &mut client,
        &format!("COPY words (word) FROM '{file}' WITH (ROW_NUMBER n)"),
    );
    let words = client.query("SELECT word, n FROM words ORDER BY n").unwrap();
    let texts: Vec<String> = words
        .rows
        .iter()
        .map(|row| row.iter().flatten().cloned().collect())
        .collect();
    assert_eq!(texts, ["b1", "a2", "b3"]);
    for options in ["ROW_NUMBER nothing", "ROW_NUMBER word"] {
        assert!(
            client
                .run(&format!("COPY words (word) FROM '{file}' WITH ({options})"))
                .is_err()
        );
    }
}

#[test]
fn a_file_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::in_memory();
    run(&mut client, "CREATE TABLE t (a INTEGER PRIMARY KEY, b SMALLINT)");
    run(&mut client, "CREATE UNIQUE INDEX t_b ON t (b)");
    run(&mut client, "INSERT INTO t VALUES (0, 0)");
    for (text, sqlstate, part) in [
        ("1,1\n2,x\n", "22P02", "line 2"),
        ("1,1\n2,70000\n", "22003", "line 2"),
        ("1,1\n2\n", "22P04", "line 2"),
        ("1,1\n,2\n", "23502", ""),
        ("1,1\n1,2\n", "23505", ""),
        ("1,1\n2,1\n", "23505", ""),
        ("1,1\n0,2\n", "23505", ""),
        ("1,1\n2,0\n", "23505", ""),
    ] {
        let file = path(directory.path(), "t.csv");
        std::fs::write(&file, text).unwrap();
        let error = client.run(&format!("COPY t FROM '{file}'")).unwrap_err();
        assert_eq!(error.sqlstate, sqlstate, "{text:?}: {error}");
        let said = format!("{} {}", error.message, error.detail.unwrap_or_default());
        assert!(said.contains(part), "{text:?}: {said}");
        assert_eq!(client.query("SELECT * FROM t").unwrap().rows.len(), 1, "{text:?}");
        client.check("t").unwrap();
    }
    let error = client.run("COPY t FROM '/nowhere/t.csv'").unwrap_err();
    assert_eq!(error.sqlstate, "58P01", "{error}");
}

/// A store that takes no loads stores a COPY ten thousand rows at a time, and says of one that fails what is there; in a block it is all or nothing.
#[test]
fn a_store_without_files_stores_large_copies_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let lines = |last: &str| {
        let mut text: String = (1..=25_000).map(|id| format!("{id},{}\n", id % 7)).collect();
        text.push_str(last);
        text
    };
    let (sound, unsound) = (path(directory.path(), "a.csv"), path(directory.path(), "b.csv"));
    std::fs::write(&sound, lines("25001,1\n")).unwrap();
    std::fs::write(&unsound, lines("7,1\n")).unwrap();
    let database = Database::open_without_files().unwrap();
    let mut client = Client::new(&database);
    run(&mut client, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)");
    run(&mut client, "CREATE INDEX t_v ON t (v)");
    let mut copy = |file: &str| client.run(&format!("COPY t FROM '{file}'"));
    assert_eq!(copy(&sound).unwrap().count(), 25_001);
    // The first ten thousand rows are there already.
    let error = copy(&sound).unwrap_err();
    assert_eq!(error.sqlstate, "23505");
    assert!(!error.detail.unwrap().contains("are stored"));
    run(&mut client, "TRUNCATE t");
    let mut copy = |file: &str| client.run(&format!("COPY t FROM '{file}'"));
    let error = copy(&unsound).unwrap_err();
    assert_eq!(error.sqlstate, "23505");
    let detail = error.detail.unwrap();
    assert!(detail.contains("The first 20000 rows are stored"), "{detail}");
    let count = |client: &mut Client| client.query("SELECT count(*) FROM t").unwrap().rows[0][0].clone();
    assert_eq!(count(&mut client).as_deref(), Some("20000"));
    client.check("t").unwrap();
    run(&mut client, "TRUNCATE t");
    run(&mut client, "BEGIN");
    let error = client.run(&format!("COPY t FROM '{unsound}'")).unwrap_err();
    assert!(!error.detail.unwrap().contains("are stored"));
    run(&mut client, "ROLLBACK");
    assert_eq!(count(&mut client).as_deref(), Some("0"));
    client.check("t").unwrap();
}
