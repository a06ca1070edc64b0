//! COPY of files that are not as they were written: bytes changed, gone, doubled and cut off, in every format.
//!
//! Whatever a file says, COPY takes all of it or nothing, with an error that is the file's: none of the program's own,
//! and no panic. What `ON_ERROR ignore` passes over is no row either. Afterwards table and indexes agree.
//!
//! `RUKH_CASES` sets how many files are tried, `RUKH_SEED` which.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use rand::Rng;
use rand::rngs::StdRng;
use rukh_testkit::client::Client;
use rukh_testkit::seed::Cases;

const CASES: u64 = 400;

const COLUMNS: &str = "id INTEGER NOT NULL PRIMARY KEY, a SMALLINT, b BIGINT, d DOUBLE PRECISION, \
                       e DECIMAL(20, 4), f DATE, h TIMESTAMP, j UUID, l VARCHAR(20), m BYTEA, n BOOLEAN";

/// Name and options of each kind of file.
const KINDS: &[(&str, &str)] = &[
    ("t.csv", "FORMAT csv, HEADER true"),
    ("plain.csv", "FORMAT csv, DELIMITER ';', QUOTE '|', NULL '-'"),
    ("t.text", "FORMAT text"),
    ("t.binary", "FORMAT binary"),
    ("t.jsonl", "FORMAT json"),
    ("t.parquet", "FORMAT parquet"),
    ("t.arrow", "FORMAT arrow"),
    ("t.arrows", "FORMAT arrow_stream"),
];

/// Pieces that mean something in one of the formats.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\"",
    b"\"\"",
    b",",
    b";",
    b"|",
    b"\\.",
    b"\\N",
    b"\\x",
    b"{",
    b"}",
    b"[",
    b":",
    b"null",
    b"\0",
    b"\xff\xfe",
    b"1e999",
    b"-0",
    b"99999999999999999999",
    b"9999-99-99",
    b"\\u0000",
    b"\\ud800",
    b"PAR1",
    b"ARROW1",
];

fn run(client: &mut Client, sql: &str) -> u64 {
    client
        .run(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .count()
}

/// Writes rows to a file of each kind; more of them than a batch of a statement takes, if `many`.
fn write_files(directory: &Path, many: bool) {
    let mut client = Client::in_memory();
    run(&mut client, &format!("CREATE TABLE t ({COLUMNS})"));
    let rows = if many { 12_000 } else { 9 };
    run(
        &mut client,
        &format!(
            "INSERT INTO t SELECT k, k % 100, k::bigint * 1000003, k / 7.0, k * 0.25, DATE '2020-01-01', \
             TIMESTAMP '2020-01-01 12:00:00', '0f0e0d0c-0b0a-0908-0706-050403020100', \
             CASE WHEN k % 3 = 0 THEN NULL WHEN k % 3 = 1 THEN 'a, \"b\"' ELSE E'line\\n|end;' END, \
             '\\x00ff5c', k % 2 = 0 FROM generate_series(1, {rows}) AS g(k)"
        ),
    );
    for (name, options) in KINDS {
        let file = directory.join(name);
        let sql = format!("COPY t TO '{}' WITH ({options})", file.display());
        assert_eq!(run(&mut client, &sql), rows, "{sql}");
    }
}

/// Changes a file in a few places.
fn spoil(bytes: &mut Vec<u8>, random: &mut StdRng) {
    for _ in 0..random.random_range(1..5) {
        if bytes.is_empty() {
            return;
        }
        let at = random.random_range(0..bytes.len());
        let len = random
            .random_range(1..40.min(bytes.len() + 1))
            .min(bytes.len() - at);
        match random.random_range(0..7) {
            0 => bytes[at] ^= 1 << random.random_range(0..8),
            1 => bytes[at] = random.random(),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..at + len)),
            4 => {
                let piece = PIECES[random.random_range(0..PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            5 => {
                let doubled = bytes[at..at + len].to_vec();
                bytes.splice(at..at, doubled);
            }
            // Lengths and offsets lie in the last bytes of Parquet and Arrow.
            _ => {
                let last = bytes.len() - 1 - random.random_range(0..bytes.len().min(400));
                bytes[last] = random.random();
            }
        }
    }
}

fn fuzz(many: bool, cases: u64) {
    let originals = tempfile::tempdir().unwrap();
    write_files(originals.path(), many);
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::in_memory();
    run(&mut client, &format!("CREATE TABLE t ({COLUMNS})"));
    run(&mut client, "CREATE INDEX t_l ON t (l, a DESC) INCLUDE (m)");
    run(&mut client, "CREATE UNIQUE INDEX t_b ON t (b, id)");
    run(&mut client, "INSERT INTO t (id, a) VALUES (-1, 1)");
    let (mut taken, mut refused) = (0, 0);
    for case in Cases::from_environment("copy_fuzz", cases).iter() {
        let mut random = case.random();
        let (name, options) = KINDS[random.random_range(0..KINDS.len())];
        let mut bytes = std::fs::read(originals.path().join(name)).unwrap();
        spoil(&mut bytes, &mut random);
        let file = directory.path().join(name);
        std::fs::write(&file, &bytes).unwrap();
        let ignores = random.random_bool(0.3) && options.contains("csv");
        let extra = if ignores { ", ON_ERROR ignore" } else { "" };
        let sql = format!("COPY t FROM '{}' WITH ({options}{extra})", file.display());
        let rows = match client.run(&sql) {
            Ok(output) => {
                taken += 1;
                output.count()
            }
            Err(error) => {
                refused += 1;
                let is_own = error.sqlstate.starts_with("XX");
                assert!(!is_own, "{}\n{sql}: {}: {error}", case.replay(), error.sqlstate);
                0
            }
        };
        let table = client.query("SELECT count(*), count(l), min(id) FROM t").unwrap();
        assert_eq!(
            table.rows[0][0],
            Some((rows + 1).to_string()),
            "{}\n{sql}",
            case.replay()
        );
        client
            .check("t")
            .unwrap_or_else(|error| panic!("{}\n{sql}: {error}", case.replay()));
        run(&mut client, "DELETE FROM t WHERE id <> -1");
    }
    println!("copy_fuzz: {taken} files taken, {refused} refused");
    assert!(taken > 0 && refused > 0);
}

#[test]
fn spoiled_files_are_taken_whole_or_not_at_all() {
    fuzz(false, CASES);
}

#[test]
fn spoiled_files_of_many_rows_are_taken_whole_or_not_at_all() {
    fuzz(true, CASES / 10);
}
