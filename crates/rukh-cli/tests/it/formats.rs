//! One table in every format.

use crate::transcript::{HOSTS, Place};

const QUERY: &str = "SELECT * FROM hosts ORDER BY id";

#[test]
fn every_format() {
    let place = Place::with(HOSTS);
    let formats = ["table", "expanded", "csv", "json", "jsonl", "markdown"];
    let runs = formats.map(|format| place.run(&["db", "--format", format, "-c", QUERY], ""));
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn null_rows_only_and_timing() {
    let place = Place::with(HOSTS);
    let runs = [
        place.run(&["db", "--null", "∅", "-c", QUERY], ""),
        place.run(&["db", "--null", "N/A", "--format", "csv", "-t", "-c", QUERY], ""),
        place.run(&["db", "-t", "-c", "SELECT name FROM hosts WHERE id = 1"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
    let timed = place.run(&["db", "-t", "--timing", "-c", "SELECT 1"], "");
    assert!(timed.contains("--- stdout\n 1\n--- stderr\nTime: "), "{timed}");
}

#[test]
fn many_rows() {
    let values = (0..3_000)
        .map(|n| format!("({n}, {})", n * 1_000))
        .collect::<Vec<_>>()
        .join(", ");
    let place = Place::with(&format!(
        "CREATE TABLE n (a INT PRIMARY KEY, b BIGINT); UPSERT INTO n VALUES {values};"
    ));
    let count = |format: &str| {
        let run = place.run(
            &["db", "--format", format, "-c", "SELECT * FROM n ORDER BY a"],
            "",
        );
        run.lines()
            .filter(|line| line.ends_with("000") || line.ends_with("000}"))
            .count()
    };
    // All rows but the first, in which b is 0.
    assert_eq!([count("table"), count("csv"), count("jsonl")], [2_999; 3]);
}
