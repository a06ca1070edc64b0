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
fn stats_name_tables_and_indexes() {
    let place = Place::with(HOSTS);
    let stats = place.run(&["stats", "db"], "");
    for name in ["hosts_by_name", "cache_bytes_max", "background_errors"] {
        assert!(stats.contains(name), "{name}: {stats}");
    }
}
