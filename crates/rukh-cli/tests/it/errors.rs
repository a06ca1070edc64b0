//! What failures say, and the exit codes they give.

use crate::transcript::{HOSTS, Place};

#[test]
fn a_caret_stands_under_the_place() {
    let place = Place::with(HOSTS);
    let runs = [
        place.run(&["db", "-c", "SELECT * FROM hots"], ""),
        place.run(&["db", "-c", "SELECT nme FROM hosts"], ""),
        place.run(&["db", "-c", "SELECT 1 +"], ""),
        place.run(&["db", "-c", "SELEC 1"], ""),
        place.run(&["db", "-v", "-c", "SELECT '浙江卫视' FROM hots"], ""),
        place.run(&["db", "-c", "INSERT INTO hosts (id) VALUES (1)"], ""),
        place.run(&["db", "-c", "INSERT INTO hosts (id) VALUES (NULL)"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn urls_are_no_directories() {
    let place = Place::with(HOSTS);
    let url = "hbase://localhost:1/default";
    let runs = [
        place.run(&[url, "-c", "SELECT 1"], ""),
        place.run(&["hbase://localhost", "-c", "SELECT 1"], ""),
        place.run(&["hbase://localhost:1?auth=kerberos", "-c", "SELECT 1"], ""),
        place.run(&["hase://localhost:1/default", "-c", "SELECT 1"], ""),
        place.run(&["serve", "s3://bucket/db"], ""),
        place.run(&["backup", "db", url], ""),
        place.run(&["db", "-c", "BACKUP DATABASE TO 'file:///tmp/x'"], ""),
        place.run(&["repair", "db", url], ""),
    ];
    assert!(!place.path("hbase:").exists() && !place.path("s3:").exists() && !place.path("file:").exists());
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn the_first_failure_ends_a_script() {
    let place = Place::with(HOSTS);
    place.write(
        "bad.sql",
        "SELECT 1 AS a;\n\n-- a comment\nSELECT id\n  FROM hots;\nSELECT 2 AS b;\n",
    );
    let runs = [
        place.run(&["db", "-f", "bad.sql", "-c", "SELECT 3 AS c"], ""),
        place.run(
            &["db", "--keep-going", "-f", "bad.sql", "-c", "SELECT 3 AS c"],
            "",
        ),
        place.run(&["db", "-t"], "SELECT 1;\nSELECT 2 FROM hots;\nSELECT 3;\n"),
        place.run(&["db", "-c", "SELECT 1 AS a; SELECT 2 FROM hots; SELECT 3"], ""),
        place.run(&["db", "-f", "none.sql"], ""),
        place.run(&["db", "-c", "\\nonsense"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn a_failed_statement_changes_nothing() {
    let place = Place::with("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1);");
    place.run(&["db", "-c", "INSERT INTO t VALUES (2), (1)"], "");
    let count = place.run(&["db", "-t", "-c", "SELECT count(*) FROM t"], "");
    assert!(count.contains("--- stdout\n 1\n--- exit 0"), "{count}");
}

#[test]
fn databases_that_do_not_open() {
    let place = Place::empty();
    place.write("file", "no database");
    let read_only = place.run(&["--read-only", "none", "-c", "SELECT 1"], "");
    assert!(read_only.ends_with("--- exit 3\n"), "{read_only}");
    assert!(!place.path("none").exists(), "reading makes no database");
    let file = place.run(&["file", "-c", "SELECT 1"], "");
    assert!(
        file.contains("ERROR:  could not open database \"file\": ") && file.ends_with("--- exit 3\n"),
        "{file}"
    );
}

#[test]
fn read_only_databases_are_not_written() {
    let place = Place::with(HOSTS);
    let runs = [
        place.run(
            &[
                "db",
                "--read-only",
                "-t",
                "-c",
                "SELECT name FROM hosts WHERE id = 1",
            ],
            "",
        ),
        place.run(&["db", "--read-only", "-c", "DELETE FROM hosts"], ""),
        place.run(
            &["db", "--read-only", "-c", "CREATE TABLE t (a INT PRIMARY KEY)"],
            "",
        ),
        place.run(&["db", "-t", "-c", "SELECT count(*) FROM hosts"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn wrong_usage() {
    let place = Place::empty();
    for arguments in [
        &["--format", "xml"][..],
        &["--nonsense"],
        &["a", "b"],
        &["dump"],
        &["-c"],
    ] {
        let run = place.run(arguments, "");
        assert!(
            run.contains("--- stderr\nerror: ") && run.ends_with("--- exit 2\n"),
            "{run}"
        );
    }
}
