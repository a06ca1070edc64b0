//! `xtask features`: every choice of packages must build the same RocksDB and the same DataFusion.
//!
//! Cargo unifies the features of a dependency over the packages of one build. When the tests
//! of the workspace ask one more feature of `memchr` than the binary does, everything above `memchr`
//! is compiled twice, and that is half an hour. So the features in question are enabled by the crates
//! that are the first to name the heavy dependencies, `rukh-kv` and `rukh-error`, used or not; see
//! `docs/decisions/0001-one-optimised-profile.md`.
//!
//! The check compares what `cargo tree` prints for single packages, for the programs of the workspace
//! and for its tests. It distinguishes a package for the target from the same package for a build script only
//! by the one that has more features.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Choices of packages that must agree with the tests of the whole workspace: a name, the choice, and
/// the dependency that takes long to compile.
const CHOICES: &[(&str, &[&str], &str)] = &[
    ("rukh-kv alone", &["--package", "rukh-kv"], "rocksdb"),
    ("rukh-engine alone", &["--package", "rukh-engine"], "rocksdb"),
    (
        "rukh-functions alone",
        &["--package", "rukh-functions"],
        "datafusion",
    ),
    ("rukh-sql alone", &["--package", "rukh-sql"], "datafusion"),
    ("rukh alone", &["--package", "rukh"], "datafusion"),
    ("rukh-cli alone", &["--package", "rukh-cli"], "datafusion"),
    ("the programs of the workspace", &["--workspace"], "datafusion"),
    (
        "bench-peers",
        &["--manifest-path", "bench-peers/Cargo.toml"],
        "datafusion",
    ),
];

/// Packages with their features, one a line: `memchr v2.8.3 [alloc,default,std]`.
type Features = BTreeSet<String>;

/// Compares the choices, prints what differs to stdout, and fails when something does.
pub fn run(root: &Path) -> Result<(), String> {
    let tests = tree(root, &["--workspace"], "normal,build,dev")?;
    let mut findings = Vec::new();
    for (name, packages, heavy) in CHOICES {
        let heavy = tree(root, &["--package", heavy], "normal")?;
        let choice = tree(root, packages, "normal,build")?;
        findings.extend(compare(name, &choice, &tests, &heavy));
    }
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(format!(
            "features: {count} findings; name the features in rukh-error or rukh-kv"
        )),
    }
}

/// Returns a line for each package of the tree `heavy` whose features in `choice` are none of those
/// in `tests`, or are fewer in all.
///
/// A package that is built twice, for the target and for the programs that run while building, is printed
/// twice. Where only the poorer of the two is in `choice`, its target has features less.
fn compare(name: &str, choice: &Features, tests: &Features, heavy: &Features) -> Vec<String> {
    let heavy: BTreeSet<&str> = heavy.iter().map(|line| package(line)).collect();
    let alien = choice
        .iter()
        .filter(|line| heavy.contains(package(line)) && !tests.contains(*line));
    let describe = |line: &String| {
        let others: Vec<&str> = tests
            .iter()
            .filter(|test| package(test) == package(line))
            .map(String::as_str)
            .collect();
        format!(
            "{name}: {line}, but in the tests of the workspace: {}",
            others.join(" and ")
        )
    };
    let mut found: Vec<String> = alien.map(describe).collect();
    for name_and_version in heavy {
        let enabled = enabled(tests, name_and_version);
        let missing: Vec<&str> = match enabled_somewhere(choice, name_and_version) {
            Some(here) => enabled.difference(&here).copied().collect(),
            None => Vec::new(),
        };
        if !missing.is_empty() {
            found.push(format!(
                "{name}: {name_and_version} lacks {}, which the tests of the workspace ask",
                missing.join(", ")
            ));
        }
    }
    found
}

/// Returns all features that a package has, in whichever of its builds.
fn enabled<'a>(features: &'a Features, name_and_version: &str) -> BTreeSet<&'a str> {
    let of_it = features.iter().filter(|line| package(line) == name_and_version);
    let listed = of_it.filter_map(|line| line.split_once(" [")?.1.strip_suffix(']'));
    listed
        .flat_map(|list| list.split(','))
        .filter(|one| !one.is_empty())
        .collect()
}

/// Returns the same, or nothing if the package is not there.
fn enabled_somewhere<'a>(features: &'a Features, name_and_version: &str) -> Option<BTreeSet<&'a str>> {
    let is_there = features.iter().any(|line| package(line) == name_and_version);
    is_there.then(|| enabled(features, name_and_version))
}

/// Returns the part of a line before the features.
fn package(line: &str) -> &str {
    line.split(" [").next().unwrap_or(line)
}

fn tree(root: &Path, packages: &[&str], edges: &str) -> Result<Features, String> {
    let output = Command::new("cargo")
        .args([
            "tree",
            "--quiet",
            "--prefix",
            "none",
            "--format",
            "{p} [{f}]",
            "--edges",
            edges,
        ])
        .args(packages)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo tree: {error}"))?;
    match output.status.success() {
        true => Ok(lines(&String::from_utf8_lossy(&output.stdout))),
        false => Err(format!(
            "cargo tree:\n{}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

/// Drops the mark of packages that were printed before.
fn lines(text: &str) -> Features {
    text.lines()
        .map(|line| line.trim_end_matches(" (*)").to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_features_pass() {
        let tree = lines("a v1.0.0 [std]\na v1.0.0 [std] (*)\nb v2.0.0 []\n");
        assert_eq!(tree.len(), 2);
        assert!(compare("a alone", &tree, &tree, &tree).is_empty());
    }

    #[test]
    fn other_features_below_a_heavy_dependency_are_found() {
        let choice = lines("a v1.0.0 []\nb v2.0.0 []\n");
        let tests = lines("a v1.0.0 [std]\na v1.0.0 [alloc]\nb v2.0.0 [std]\n");
        let heavy = lines("a v1.0.0 []\n");
        assert_eq!(
            compare("a alone", &choice, &tests, &heavy),
            [
                "a alone: a v1.0.0 [], but in the tests of the workspace: a v1.0.0 [alloc] and a v1.0.0 [std]",
                "a alone: a v1.0.0 lacks alloc, std, which the tests of the workspace ask",
            ]
        );
    }

    #[test]
    fn features_of_a_build_script_do_not_stand_for_those_of_the_target() {
        let choice = lines("a v1.0.0 [alloc]\n");
        let tests = lines("a v1.0.0 [alloc]\na v1.0.0 [alloc,std]\n");
        assert_eq!(
            compare("a alone", &choice, &tests, &choice),
            ["a alone: a v1.0.0 lacks std, which the tests of the workspace ask"]
        );
        assert!(compare("a alone", &tests, &choice, &choice).len() == 1);
    }
}
