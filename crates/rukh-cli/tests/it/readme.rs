//! What README and the pages of the guide show is what the binary prints.
//!
//! `UPDATE_GOLDENFILES=1` writes into the pages of the guide what is printed now.

use std::path::Path;

use crate::page::{played, stream};
use crate::transcript::Place;

#[path = "../../../../tests/hbase/fixture.rs"]
mod fixture;

#[test]
fn readme_shows_what_is_printed() {
    let statements = shows_what_is_printed("db", |_| true);
    assert!(statements > 15, "README has {statements} statements");
}

#[test]
fn readme_shows_what_is_printed_on_hbase() {
    if let Some(server) = fixture::Server::start() {
        let is_there = |block: &str| !block.contains("USING columnar");
        let statements = shows_what_is_printed(&server.namespace("readme"), is_there);
        assert!(statements > 10, "README has {statements} statements for HBase");
    }
}

#[test]
fn the_guide_shows_what_is_printed() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut pages = 0;
    for file in std::fs::read_dir(guide).expect("there is a guide").flatten() {
        let page = std::fs::read_to_string(file.path()).expect("a page is text");
        let (printed, statements) = played(&Place::empty(), "db", &page, |_| true);
        if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
            std::fs::write(file.path(), &printed).expect("a page can be written");
        } else {
            assert_eq!(without_times(&printed), without_times(&page), "{:?}", file.path());
        }
        pages += usize::from(statements > 0);
    }
    assert!(pages > 1, "{pages} pages of the guide have statements");
}

/// Runs what the chosen blocks of README show on a database that is not there yet; returns how many statements they have.
fn shows_what_is_printed(database: &str, is_chosen: impl Fn(&str) -> bool) -> usize {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("there is a README");
    // What asks for fetched data is shown by `sql/weather.sql`, and prints times.
    let is_chosen = |block: &str| !block.contains("FROM weather") && is_chosen(block);
    let place = Place::empty();
    let (before, behind) = readme
        .split_once("```\nlogs/")
        .expect("README shows what is stored");
    let (stored, behind) = behind.split_once("```").expect("a block ends");
    let mut statements = 0;
    for (part, dumped) in [(before, Some(stored)), (behind, None)] {
        let (printed, count) = played(&place, database, part, is_chosen);
        assert_eq!(printed, part);
        statements += count;
        if let Some(stored) = dumped {
            let dump = stream(&place.run(&["dump", database], ""), "stdout");
            let rows: Vec<&str> = dump
                .lines()
                .filter(|line| !line.starts_with("catalog/"))
                .collect();
            assert_eq!(rows.join("\n"), format!("logs/{}", stored.trim_end()));
        }
    }
    statements
}

/// Returns a page with `#` for what differs between runs: times, and how many ranges a scan of all keys is divided into.
fn without_times(page: &str) -> String {
    let lines = page.lines().map(|line| match line.trim_start() {
        time if ["time  ", "planning  ", "elapsed  "]
            .iter()
            .any(|word| time.starts_with(word)) =>
        {
            "#".to_string()
        }
        actual if actual.starts_with("actual  ") => match actual.split_once(" seeks, ") {
            Some((_, counts)) => counts.to_string(),
            None => actual.to_string(),
        },
        // The border is as wide as its widest line.
        border if border.starts_with("---") => "---".to_string(),
        _ => line.trim().to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
