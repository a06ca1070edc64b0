//! Statements from the command line, from files and from standard input.

use crate::transcript::{HOSTS, Place};

#[test]
fn sources_run_in_the_order_given() {
    let place = Place::empty();
    place.write("two.sql", "\u{feff}SELECT 2;\r\n");
    let runs = [
        place.run(
            &[
                ":memory:",
                "-t",
                "-c",
                "SELECT 1",
                "-f",
                "two.sql",
                "-c",
                "SELECT 3; SELECT 4",
                "-f",
                "-",
            ],
            "SELECT 5",
        ),
        place.run(
            &[":memory:", "-t"],
            "SELECT ';\n';SELECT\n6;\n-- only a comment\n;;\n/* SELECT 7; */ SELECT 8",
        ),
        place.run(&[":memory:"], ""),
        place.run(&[":memory:", "-t"], "SELECT 1; \\q\nSELECT 2;\n"),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn rows_are_all_that_is_written() {
    let place = Place::empty();
    insta::assert_snapshot!(place.run(
        &["db", "--format", "csv"],
        &format!("{HOSTS} DELETE FROM hosts WHERE id > 1; SELECT * FROM hosts;")
    ));
}

#[test]
fn a_transaction_that_a_script_does_not_end_is_rolled_back() {
    let place = Place::with("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (0);");
    let ends = [
        "BEGIN; INSERT INTO t VALUES (1);",
        "BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (2); COMMIT;",
        "BEGIN; INSERT INTO t VALUES (3); COMMIT; BEGIN; INSERT INTO t VALUES (4); ROLLBACK;",
    ];
    let exits = ends.map(|script| place.run(&["db"], script).contains("exit 0"));
    assert_eq!(exits, [true, false, true]);
    let left = place.run(&["db", "-t", "-c", "SELECT a FROM t ORDER BY a"], "");
    assert!(left.contains("--- stdout\n 0\n 3\n"), "{left}");
}

#[test]
fn the_default_directory_is_made() {
    let place = Place::empty();
    place.run(
        &[
            "-c",
            "CREATE TABLE t (a INT PRIMARY KEY)",
            "-c",
            "INSERT INTO t VALUES (7)",
        ],
        "",
    );
    assert!(place.path("rukh-data").is_dir());
    insta::assert_snapshot!(place.run(&["-c", "SELECT * FROM t"], ""));
}

#[test]
fn notices_are_printed_beside_the_rows() {
    let place = Place::with(HOSTS);
    insta::assert_snapshot!(place.run(
        &[
            "db",
            "-t",
            "-c",
            "SELECT /*+ INDEX(hosts none) */ id FROM hosts WHERE id = 1"
        ],
        ""
    ));
}

#[test]
fn other_encodings_are_refused() {
    let place = Place::empty();
    std::fs::write(place.path("latin.sql"), b"SELECT 1;\nSELECT '\xe9';\n").expect("a file can be written");
    insta::assert_snapshot!(place.run(&[":memory:", "-t", "--keep-going", "-f", "latin.sql"], ""));
}
