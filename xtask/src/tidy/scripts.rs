//! Checks that every directory of test scripts has a runner: a Rust file that names it.
//!
//! A directory of scripts is one below a `tests` folder that holds files, none of them Rust; snapshots
//! and shrunk failures are results, not scripts. It is named by its path from its crate, or by that of
//! a directory above it, as a runner that walks downwards does: `tests/scripts` covers
//! `tests/scripts/in_list`.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::tree::SourceFile;

/// Checks every directory of scripts; the finding stands at its first file.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut directories: BTreeMap<&str, &str> = BTreeMap::new();
    for file in files {
        if let Some(directory) = script_directory(file) {
            directories.entry(directory).or_insert(&file.path);
        }
    }
    let homes_of_rust = files
        .iter()
        .filter(|file| file.ending() == "rs")
        .filter_map(|file| file.path.rsplit_once('/'));
    for (directory, _) in homes_of_rust {
        directories.remove(directory);
    }
    let orphans = directories
        .into_iter()
        .filter(|(directory, _)| !has_runner(directory, files));
    orphans
        .map(|(directory, first)| Finding::error(first, 0, format!("no test names {directory}")))
        .collect()
}

fn script_directory(file: &SourceFile) -> Option<&str> {
    let (directory, _) = file.path.rsplit_once('/')?;
    let is_result = directory
        .split('/')
        .any(|part| ["snapshots", "proptest-regressions"].contains(&part));
    let is_script = !["rs", "md", "toml"].contains(&file.ending());
    let below_tests = from_tests(directory)? != "tests";
    (is_script && below_tests && !is_result).then_some(directory)
}

/// Returns the part of a directory from its `tests` folder on.
fn from_tests(directory: &str) -> Option<&str> {
    if directory == "tests" || directory.starts_with("tests/") {
        return Some(directory);
    }
    directory.find("/tests").map(|at| &directory[at + 1..])
}

fn has_runner(directory: &str, files: &[SourceFile]) -> bool {
    let path = from_tests(directory).expect("a directory of scripts lies below tests");
    let mut names: Vec<&str> = Vec::new();
    let mut rest = path;
    while rest != "tests" {
        names.push(rest);
        rest = rest.rsplit_once('/').map_or("tests", |(above, _)| above);
    }
    let home = directory
        .split("/tests")
        .next()
        .filter(|home| home.starts_with("crates/"))
        .unwrap_or("");
    let runners = files
        .iter()
        .filter(|file| file.ending() == "rs" && file.path.starts_with(home));
    runners
        .into_iter()
        .any(|file| names.iter().any(|name| file.text.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn check_with(runner: &str) -> Vec<String> {
        lines(&check(&[
            SourceFile::new("crates/a/tests/golden.rs", runner),
            SourceFile::new("crates/a/tests/scripts/in_list/one", ""),
            SourceFile::new("crates/a/tests/scripts/in_list/two", ""),
            SourceFile::new("crates/a/tests/snapshots/b.snap", ""),
        ]))
    }

    #[test]
    fn a_runner_names_the_directory_or_one_above() {
        assert!(check_with("in \"tests/scripts/in_list\"").is_empty());
        assert!(check_with("in \"crates/a/tests/scripts\"").is_empty());
    }

    #[test]
    fn scripts_that_nobody_runs_are_found() {
        assert_eq!(
            check_with("in \"tests/other\""),
            ["crates/a/tests/scripts/in_list/one:0: no test names crates/a/tests/scripts/in_list"]
        );
    }

    #[test]
    fn data_beside_the_test_that_reads_it_is_no_script() {
        let files =
            ["crates/a/tests/it/main.rs", "crates/a/tests/it/keys.txt"].map(|path| SourceFile::new(path, ""));
        assert!(check(&files).is_empty());
    }

    #[test]
    fn scripts_of_the_whole_may_be_run_by_any_crate() {
        let script = SourceFile::new("tests/slt/joins.slt", "");
        let runner = SourceFile::new("crates/rukh-testkit/tests/slt.rs", "walk(\"../../tests/slt\")");
        assert!(check(&[script.clone(), runner]).is_empty());
        assert_eq!(
            lines(&check(&[script])),
            ["tests/slt/joins.slt:0: no test names tests/slt"]
        );
    }
}
