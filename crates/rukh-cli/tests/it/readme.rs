//! What README shows is what the binary prints.

use std::path::Path;

use crate::transcript::Place;

#[path = "../../../../tests/hbase/fixture.rs"]
mod fixture;

/// A statement of README and what stands below it.
struct Example {
    statement: String,
    shown: String,
}

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

/// Runs what the chosen blocks of README show on a database that is not there yet; returns how many statements they have.
fn shows_what_is_printed(database: &str, is_chosen: impl Fn(&str) -> bool) -> usize {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("there is a README");
    let place = Place::empty();
    let mut statements = 0;
    // What asks for fetched data is shown by `sql/weather.sql`, and prints times.
    let chosen = blocks(&readme).filter(|block| !block.contains("FROM weather") && is_chosen(block));
    for block in chosen {
        if block.starts_with("logs/") {
            let dump = place.run(&["dump", database], "");
            let stored = stream(&dump, "stdout").lines();
            let stored: Vec<&str> = stored.filter(|line| !line.starts_with("catalog/")).collect();
            assert_eq!(stored, block.lines().collect::<Vec<_>>());
        }
        for example in examples(block) {
            let run = place.run(&[database, "-c", &example.statement], "");
            let printed = match stream(&run, "stdout") {
                "" => stream(&run, "stderr"),
                rows => rows,
            };
            assert_eq!(printed, example.shown, "{}", example.statement);
            statements += 1;
        }
    }
    statements
}

/// Returns the texts between fences.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let between = text.split("```").skip(1).step_by(2);
    between.filter_map(|block| block.split_once('\n').map(|(_, lines)| lines))
}

/// Returns what a block asks the REPL, with the answers.
fn examples(block: &str) -> impl Iterator<Item = Example> {
    let inputs = block.split("rukh> ").skip(1);
    inputs.filter_map(|example| {
        let (statement, shown) = example.split_once(";\n")?;
        let lines: Vec<&str> = shown.trim_end().lines().map(str::trim_end).collect();
        Some(Example {
            statement: statement.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
            shown: lines.join("\n"),
        })
    })
}

/// Returns what a run wrote to a stream.
fn stream<'a>(run: &'a str, name: &str) -> &'a str {
    let begin = format!("--- {name}\n");
    let text = run.split_once(&begin).map_or("", |(_, rest)| rest);
    text.split("\n--- ").next().unwrap_or("").trim_end()
}
