//! The subcommands: `check`, `dump`, `backup` and its kin.

use crate::transcript::{HOSTS, Place};

#[test]
fn sound_databases_pass() {
    let place = Place::with(HOSTS);
    let runs = [
        place.run(&["check", "db"], ""),
        place.run(&["check", "db", "hosts"], ""),
        place.run(&["check", "db", "none"], ""),
        place.run(&["check", "nowhere"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn views_are_not_checked() {
    let place = Place::with(HOSTS);
    let views =
        "CREATE VIEW a_view AS SELECT * FROM hosts; CREATE MATERIALIZED VIEW kept AS SELECT id FROM hosts;";
    let made = place.run(&["db"], views);
    assert!(made.ends_with("exit 0\n"), "{made}");
    let checked = place.run(&["check", "db"], "");
    assert!(
        checked.contains("hosts: 4 rows, 4 index entries: nothing wrong\nkept: 4 rows"),
        "{checked}"
    );
    assert!(checked.ends_with("exit 0\n"), "{checked}");
}

#[test]
fn everything_stored_is_shown() {
    let place = Place::with(HOSTS);
    let dump = place.run(&["dump", "db"], "");
    let rows: Vec<&str> = dump
        .lines()
        .filter(|line| line.starts_with("hosts") || line.starts_with("---"))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn backups_come_back() {
    let place = Place::with(HOSTS);
    let first = place.run(&["backup", "db", "kept"], "");
    assert!(
        first.contains("      1 | ") && first.ends_with("exit 0\n"),
        "{first}"
    );
    place.run(&["db", "-c", "DELETE FROM hosts WHERE id > 1"], "");
    let second = place.run(&["backup", "db", "kept", "--keep", "2"], "");
    assert!(second.ends_with("exit 0\n"), "{second}");
    let listed = place.run(&["backups", "kept", "--verify"], "");
    assert!(
        listed.contains("      1 | ") && listed.contains("      2 | "),
        "{listed}"
    );
    let restored = place.run(&["restore", "kept", "again", "--backup", "1"], "");
    assert!(
        restored.contains("hosts: 4 rows, 4 index entries: nothing wrong\nbackup 1, "),
        "{restored}"
    );
    assert!(
        restored.ends_with("restored to \"again\"\n--- exit 0\n"),
        "{restored}"
    );
    let runs = [
        place.run(&["again", "-c", "SELECT count(*) FROM hosts"], ""),
        place.run(&["restore", "kept", "again"], ""),
        place.run(&["restore", "kept", "third", "--backup", "7"], ""),
        place.run(&["restore", "db", "third"], ""),
        place.run(&["backup", "nowhere", "kept"], ""),
        place.run(&["compact", "db"], ""),
        place.run(&["compact", "db", "none"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
    assert!(!place.path("third").exists() && !place.path("third.restoring").exists());
}

#[test]
fn damaged_databases_are_saved_as_far_as_they_can_be_read() {
    let place = Place::with(HOSTS);
    let whole = place.run(&["repair", "db", "saved"], "");
    assert!(
        whole.contains("hosts: 4 rows kept, none known to be lost; index \"hosts_by_name\" filled again\n")
            && whole.ends_with("exit 0\n"),
        "{whole}"
    );
    let checked = place.run(&["check", "saved"], "");
    assert!(
        checked.contains("hosts: 4 rows, 4 index entries: nothing wrong\n"),
        "{checked}"
    );
    let there = place.run(&["repair", "db", "saved"], "");
    assert!(
        there.contains("already exists") && there.ends_with("exit 1\n"),
        "{there}"
    );
    place.run(&["db", "-c", "CHECKPOINT"], "");
    let files = std::fs::read_dir(place.path("db")).expect("the database is there");
    for file in files.map(|file| file.expect("it can be read").path()) {
        if file.extension().is_some_and(|ending| ending == "sst") {
            let mut bytes = std::fs::read(&file).expect("the file is there");
            bytes[0] ^= 1;
            std::fs::write(&file, bytes).expect("the file can be written");
        }
    }
    let lost = place.run(&["repair", "db", "less"], "");
    assert!(
        lost.contains("definitions cannot be read") && lost.ends_with("exit 1\n"),
        "{lost}"
    );
}

#[test]
fn stats_name_tables_and_indexes() {
    let place = Place::with(HOSTS);
    let stats = place.run(&["stats", "db"], "");
    for name in ["hosts_by_name", "cache_bytes_max", "background_errors"] {
        assert!(stats.contains(name), "{name}: {stats}");
    }
}

#[test]
fn files_go_in_and_out() {
    let place = Place::empty();
    place.write(
        "in/1.csv",
        "id,name,seen,share\n1,a,2012-01-31,0.5\n2,\"b, c\",,1e3\n",
    );
    place.write("in/2.csv", "id,name,seen,share\n3,,2012-02-01,\n");
    let import = ["import", "db", "in/*.csv", "--into", "t", "--create"];
    let runs = [
        place.run(&import, ""),
        place.run(&[&import[..], &["--key", "id"]].concat(), ""),
        place.run(&["db", "-c", "SHOW CREATE TABLE t", "--format", "json"], ""),
        place.run(
            &["import", "db", "-", "--into", "t", "--no-header"],
            "4,d,2012-03-01,2\n",
        ),
        place.run(&["import", "db", "in/1.csv", "--into", "t"], ""),
        place.run(&["import", "db", "none*.csv", "--into", "t"], ""),
        place.run(
            &["import", "db", "-", "--into", "t", "--create", "--key", "id"],
            "",
        ),
        place.run(&["export", "db", "t"], ""),
        place.run(&["export", "db", "t", "--to", "t.arrows"], ""),
        place.run(
            &[
                "export",
                "db",
                "--query",
                "SELECT id + 10 AS id, name FROM t",
                "--to",
                "q.parquet",
            ],
            "",
        ),
        place.run(&["import", "db", "q.parquet", "--into", "t"], ""),
        place.run(
            &[
                "import", "db", "t.arrows", "--into", "u", "--create", "--key", "name,id",
            ],
            "",
        ),
        place.run(
            &[
                "import", "db", "t.arrows", "--into", "v", "--create", "--key", "id",
            ],
            "",
        ),
        place.run(
            &["db", "-c", "SELECT count(*), sum(id) FROM t; SELECT * FROM v"],
            "",
        ),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn bad_records_are_passed_over_and_reported() {
    let place =
        Place::with("CREATE TABLE t (id BIGINT PRIMARY KEY, n INTEGER CHECK (n > 0), d DATE NOT NULL)");
    place.write(
        "bad.csv",
        "id,n,d\n1,1,2012-01-31\n2,x,2012-01-31\n3,1\n4,-1,2012-01-31\n5,1,\n6,1,2012-02-30\n7,1,2012-02-29\n",
    );
    place.write(
        "bad.json",
        "{\"id\":8,\"n\":1,\"d\":\"2012-01-31\"}\n{\"id\":9\n[]\n{\"id\":10,\"other\":1}\n",
    );
    let runs = [
        place.run(&["import", "db", "bad.csv", "--into", "t"], ""),
        place.run(
            &["import", "db", "bad.csv", "--into", "t", "--max-errors", "3"],
            "",
        ),
        place.run(
            &[
                "import",
                "db",
                "bad.csv",
                "--into",
                "t",
                "--rejects",
                "rejects.csv",
            ],
            "",
        ),
        place.run(
            &[
                "import",
                "db",
                "bad.json",
                "--into",
                "t",
                "--max-errors",
                "5",
                "--rejects",
                "rejects.json.csv",
            ],
            "",
        ),
        place.run(
            &["import", "db", "bad.csv", "--into", "t", "--rejects", "bad.csv"],
            "",
        ),
        place.run(&["db", "-c", "SELECT * FROM t"], ""),
        place.read("rejects.csv"),
        place.read("rejects.json.csv"),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn an_import_goes_on_where_it_was_interrupted() {
    let place = Place::with("CREATE TABLE t (id BIGINT PRIMARY KEY)");
    place.write("1.csv", "id\n1\n");
    place.write("2.csv", "id\nx\n");
    place.write("3.csv", "id\n3\n");
    let import = ["import", "db", "[0-9].csv", "--into", "t", "--journal", "done"];
    let first = place.run(&import, "");
    place.write("2.csv", "id\n2\n");
    let runs = [
        first,
        place.run(&import, ""),
        place.run(&import, ""),
        place.run(&["db", "-c", "SELECT * FROM t"], ""),
    ];
    insta::assert_snapshot!(runs.join("\n"));
}

#[test]
fn a_file_that_was_imported_and_not_noted_is_not_imported_again() {
    let place = Place::with("CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a BIGINT)");
    place.write("1.csv", "a\n1\n");
    place.write("2.csv", "a\n2\n");
    let import = ["import", "db", "[0-9].csv", "--into", "t", "--journal", "done"];
    place.run(&["import", "db", "1.csv", "--into", "t", "--journal", "done"], "");
    // As the process leaves it that ends when the rows of the first file are durable.
    let journal = place.read("done");
    let lines: Vec<&str> = journal.lines().collect();
    let [name, note] = lines[..] else {
        panic!("{journal}");
    };
    place.write("done", &format!("{name}\n"));
    place.write("none.csv", "a\n");
    let database = rukh::Database::open(place.path("db")).unwrap();
    let copy = format!("COPY t FROM '{}' (HEADER)", place.path("none.csv").display());
    let name = name.strip_prefix("journal\t").unwrap();
    database.connect().execute_import(&copy, name, note).unwrap();
    drop(database);
    let second = place.run(&import, "");
    assert!(
        second.contains("1.csv: imported before\n1 rows imported from 1 file\n"),
        "{second}"
    );
    let rows = place.run(&["db", "-c", "SELECT a FROM t ORDER BY a"], "");
    assert!(rows.contains("\n 1\n 2\n(2 rows)"), "{rows}");
    assert!(place.read("done").contains(note));
    // With a new journal files are imported again.
    std::fs::remove_file(place.path("done")).unwrap();
    let third = place.run(&import, "");
    assert!(third.contains("2 rows imported from 2 files\n"), "{third}");
}

#[test]
fn shells_and_manuals_know_the_commands() {
    let place = Place::empty();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell], "");
        assert!(script.ends_with("exit 0\n"), "{script}");
        for word in ["serve", "restore", "log-min-duration", "flight"] {
            assert!(script.contains(word), "{shell} knows {word}");
        }
    }
    let written = place.run(&["man", "pages/man1"], "");
    assert!(written.ends_with("exit 0\n"), "{written}");
    let page = place.read("pages/man1/rukh-serve.1");
    assert!(page.starts_with(".ie") && page.contains("listen"), "{page}");
    assert!(place.read("pages/man1/rukh.1").contains("Exit codes"));
    place.write("taken", "");
    let refused = place.run(&["man", "taken"], "");
    assert!(
        refused.contains("taken") && refused.ends_with("exit 1\n"),
        "{refused}"
    );
}
