//! Backslash commands.

use crate::transcript::{HOSTS, Place};

const LOGS: &str = "
    CREATE TABLE logs (system VARCHAR, period INTEGER, minutes BIGINT DEFAULT 0, PRIMARY KEY (system, period DESC));
    CREATE INDEX logs_by_period ON logs (period, system) INCLUDE (minutes);
    CREATE UNIQUE INDEX logs_minutes ON logs (minutes) WHERE minutes > 0;
    CREATE TABLE \"Odd Name\" (a INT PRIMARY KEY);
";

#[test]
fn what_there_is() {
    let place = Place::with(&format!("{HOSTS}{LOGS}"));
    let commands = [
        "\\dt",
        "\\dt h*",
        "\\di",
        "\\di *period",
        "\\d hosts",
        "\\d logs",
        "\\d \"Odd Name\"",
        "\\d logs_by_period",
        "\\d none",
    ];
    let runs = commands.map(|command| place.run(&["db", "-c", command], ""));
    insta::assert_snapshot!(runs.join("\n"));
}

/// Views, sequences, schemas, users and functions, and what `+` adds.
#[test]
fn what_else_there_is() {
    let more = "
        CREATE SCHEMA shop;
        CREATE TABLE shop.goods (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, price DECIMAL(8,2) CHECK (price > 0));
        CREATE VIEW busy AS SELECT system, minutes FROM logs WHERE minutes > 10;
        CREATE SEQUENCE numbers START 5 INCREMENT 5;
        COMMENT ON TABLE logs IS 'who was logged in';
        COMMENT ON COLUMN logs.period IS 'year and month';
        COMMENT ON VIEW busy IS 'more than ten';
        CREATE ROLE readers;
    ";
    let place = Place::with(&format!("{LOGS}{more}"));
    let commands = [
        "\\dv",
        "\\dv+",
        "\\ds",
        "\\ds n*",
        "\\dn+",
        "\\du",
        "\\df quote_id*",
        "\\dt+ l*",
        "\\di+ logs_m*",
        "\\d busy",
        "\\d+ busy",
        "\\d+ logs",
        "\\d numbers",
        "\\d+ shop.goods",
        "\\sv busy",
        "\\sv logs",
        "\\l nothing",
    ];
    let runs = commands.map(|command| place.run(&["db", "-c", command], ""));
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn display_settings() {
    let place = Place::with(HOSTS);
    let script = "\\pset null 'n/a'\n\\x\nSELECT id, name FROM hosts WHERE id < 3 ORDER BY id;\n\\x off\n\\t\n\
                  SELECT id, name FROM hosts WHERE id < 3 ORDER BY id;\n\\t off\n\\pset format markdown\n\
                  SELECT id, name FROM hosts WHERE id < 3 ORDER BY id;\n\\pset\n\\pset null\n\\echo done; well\n";
    insta::assert_snapshot!(place.run(&["db"], script));
}

#[test]
fn files_include_files_beside_them() {
    let place = Place::empty();
    place.write("sub/a.sql", "SELECT 'a';\n\\i deep/b.sql\nSELECT 'a again';\n");
    place.write("sub/deep/b.sql", "SELECT 'b';\n\\i c.sql\n");
    place.write("sub/deep/c.sql", "SELECT 'c';\n\\q\nSELECT 'never';\n");
    place.write("loop.sql", "\\i loop.sql\n");
    place.write("sub/bad.sql", "\\i deep/worse.sql\n");
    place.write("sub/deep/worse.sql", "\n\nSELECT nope;\n");
    let runs = [
        place.run(&[":memory:", "-t", "-c", "\\i sub/a.sql"], ""),
        place.run(&[":memory:", "-t"], "\\i 'loop.sql'\n"),
        place.run(&[":memory:", "-t", "-f", "sub/bad.sql"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn results_go_to_files() {
    let place = Place::with(HOSTS);
    let script = "\\o out.txt\nSELECT id FROM hosts WHERE id = 1;\n\\o\nSELECT id FROM hosts WHERE id = 2;\n\\o no/such/dir\n";
    let run = place.run(&["db"], script);
    insta::assert_snapshot!(format!("{run}--- out.txt\n{}", place.read("out.txt")));
}

#[test]
fn files_are_copied_in_and_out() {
    let place = Place::with(HOSTS);
    place.write("more.csv", "id;name\n7;seven\n8;\n9;\"\"\n");
    let script = "\\copy hosts (id, name) FROM 'more.csv' WITH (FORMAT csv, HEADER true, DELIMITER ';')\n\
                  \\copy (SELECT id, name FROM hosts ORDER BY id) TO 'out.csv' WITH (HEADER)\n\
                  \\copy (SELECT id, name FROM hosts ORDER BY id) TO out.jsonl\n\
                  \\copy hosts (id, name) TO STDOUT WITH (NULL '\\N')\n\
                  CREATE TABLE again (id INT PRIMARY KEY, name VARCHAR);\n\
                  \\copy again FROM 'out.csv' CSV HEADER\n\
                  SELECT count(*) AS copied, count(name) AS named FROM again;\n\
                  \\copy none FROM 'none.csv'\n";
    let run = place.run(&["db"], script);
    insta::assert_snapshot!(format!(
        "{run}--- out.csv\n{}--- out.jsonl\n{}",
        place.read("out.csv"),
        place.read("out.jsonl")
    ));
}

#[test]
fn the_last_error_is_remembered() {
    let place = Place::empty();
    insta::assert_snapshot!(place.run(
        &[":memory:", "--keep-going"],
        "\\errverbose\nSELECT 1 FROM nowhere;\n\\errverbose\n"
    ));
}
