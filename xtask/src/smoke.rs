//! `xtask smoke`: runs what only people run, at a size of seconds, so that it still runs when they do.
//!
//! | what                       | how                                                                             |
//! |----------------------------|---------------------------------------------------------------------------------|
//! | every example of a crate   | with the arguments of [`EXAMPLES`], or by the test in [`OF_TESTS`]; one that is not listed is a finding |
//! | `make bench`               | plain, with `--columnar`, and once more on the tables of the first run            |
//! | `make bench-writes`        | all works, of 1,000 rows                                                         |
//! | `make bench-wire`          | all works, a second each                                                         |
//! | `make soak`                | seconds                                                                          |
//!
//! All questions run, and rows are compared: a peer that gives other rows ends a bench. Times are printed and not
//! judged. The programs have been built: a cargo started by `cargo run` would build again, see `main`.
//!
//! Deliberately not here: the scripts of `sql/` and `tests/clients`, which tests run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Examples with their arguments.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("arrow_batches", &[]),
    ("backup_and_restore", &[]),
    ("beside", &["20000"]),
    ("bulk_load", &["20000"]),
    ("columnar", &["20000"]),
    ("explain_as_data", &[]),
    // The directory stays, so that a run finds the tables of the one before.
    ("open_and_query", &["example-data"]),
    ("planning", &["point"]),
    ("prepared_reads", &["1000"]),
    ("server_in_process", &[]),
    ("time_series", &[]),
    ("transactions", &[]),
];

/// Examples that need a server, and the tests that run them on one.
const OF_TESTS: &[(&str, &str)] = &[
    ("batches", "crates/rukh-hbase/tests/server.rs"),
    ("first", "crates/rukh-hbase/tests/server.rs"),
    ("regions", "crates/rukh-hbase/tests/server.rs"),
    ("scans", "crates/rukh-hbase/tests/server.rs"),
    ("transfer", "crates/rukh-hbase-store/tests/transactions.rs"),
];

/// Programs with their arguments, in the order in which they run; `DIR` is a directory that stays between runs.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("rukh-bench-writes", &["--rows", "1000", "--connections", "4"]),
    (
        "rukh-bench-wire",
        &[
            "--seconds",
            "1",
            "--scale",
            "1",
            "--copy",
            "20000",
            "--rows",
            "20000",
        ],
    ),
    ("rukh-soak", &["--seconds", "20"]),
    ("bench-peers", &PEERS),
    (
        "bench-peers",
        &[
            "--columnar",
            "--rows",
            "20000",
            "--rounds",
            "1",
            "--reads",
            "400",
            "--dir",
            "DIR",
        ],
    ),
    // Whatever another run has left in the directory.
    (
        "bench-peers",
        &[
            "--keep", "--rows", "20000", "--rounds", "1", "--reads", "400", "--dir", "DIR",
        ],
    ),
    ("bench-peers", &PEERS),
];

/// A plain run beside SQLite.
const PEERS: [&str; 8] = [
    "--rows", "20000", "--rounds", "1", "--reads", "400", "--dir", "DIR",
];

/// Runs all of them, or those whose names contain `only`; `built` is where the programs are.
pub fn run(root: &Path, built: &Path, only: &str) -> Result<(), String> {
    check_listed(&examples(root)?)?;
    // What a run leaves the next one finds, as in the directories that people use.
    let directory = built.join("smoke");
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    run_in(&directory, built, only)
}

fn run_in(directory: &Path, built: &Path, only: &str) -> Result<(), String> {
    let examples = EXAMPLES
        .iter()
        .map(|(name, words)| (built.join("examples").join(name), *name, *words));
    let programs = PROGRAMS
        .iter()
        .map(|(name, words)| (built.join(name), *name, *words));
    for (program, name, words) in examples
        .chain(programs)
        .filter(|(_, name, _)| name.contains(only))
    {
        let place = directory.display().to_string();
        let words: Vec<&str> = words
            .iter()
            .map(|word| if *word == "DIR" { &place } else { *word })
            .collect();
        let started = Instant::now();
        println!("-- {name} {}", words.join(" "));
        // Tables beside the database are made where a program runs.
        let status = Command::new(&program)
            .args(&words)
            .current_dir(directory)
            .status();
        let status = status.map_err(|error| format!("{}: {error}", program.display()))?;
        if !status.success() {
            return Err(format!("smoke: {name} ended with {status}"));
        }
        println!("-- {name}: {:.1} s\n", started.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Returns the names of the examples of all crates.
fn examples(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for krate in entries(&root.join("crates"))? {
        let examples = krate.join("examples");
        if examples.is_dir() {
            let found = entries(&examples)?;
            names.extend(
                found
                    .iter()
                    .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())),
            );
        }
    }
    Ok(names)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(failed)?;
    entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect()
}

/// Fails if there is an example that is not run.
fn check_listed(names: &[String]) -> Result<(), String> {
    let is_listed = |name: &String| {
        EXAMPLES
            .iter()
            .map(|(listed, _)| listed)
            .chain(OF_TESTS.iter().map(|(listed, _)| listed))
            .any(|listed| listed == name)
    };
    match names.iter().find(|name| !is_listed(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "smoke: the example \"{name}\" is not listed in xtask/src/smoke.rs"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_the_repository_is_run() {
        let names = examples(&crate::repository()).expect("the repository can be read");
        assert_eq!(names.len(), EXAMPLES.len() + OF_TESTS.len(), "{names:?}");
        for (example, test) in OF_TESTS {
            let text = fs::read_to_string(crate::repository().join(test)).expect("the test can be read");
            assert!(text.contains(&format!("run_example(\"{example}\")")), "{test}");
        }
        assert_eq!(check_listed(&names), Ok(()));
        assert!(check_listed(&["another".to_string()]).is_err());
    }
}
