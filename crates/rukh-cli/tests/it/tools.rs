//! The subcommands `check` and `dump`.

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
