//! Checks that `bench-peers`, a workspace of its own, has the versions of the root below `rukh`.
//!
//! With other versions it would measure another Rukh, and compile DataFusion a second time.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::SourceFile;

const ROOT: &str = "Cargo.lock";
const PEERS: &str = "bench-peers/Cargo.lock";

/// A package of a lock file.
struct Package<'a> {
    line: usize,
    name: &'a str,
    version: &'a str,
    /// Names, followed by a version where the name alone is not unique.
    dependencies: Vec<&'a str>,
}

/// Checks the two lock files, where both are there.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let find = |path: &str| files.iter().find(|file| file.path == path);
    let (Some(root), Some(peers)) = (find(ROOT), find(PEERS)) else {
        return Vec::new();
    };
    let root: BTreeSet<(&str, &str)> = packages(&root.text)
        .iter()
        .map(|package| (package.name, package.version))
        .collect();
    let peers = packages(&peers.text);
    let alien = below(&peers, "rukh")
        .into_iter()
        .filter(|package| !root.contains(&(package.name, package.version)));
    let describe = |package: &Package<'_>| {
        let message = format!(
            "{} {} is not a version of the root's Cargo.lock",
            package.name, package.version
        );
        Finding::error(PEERS, package.line, message)
    };
    alien.map(describe).collect()
}

fn packages(text: &str) -> Vec<Package<'_>> {
    let mut packages: Vec<Package<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let quoted = line.split('"').nth(1).unwrap_or("");
        if line.starts_with("name = ") {
            packages.push(Package {
                line: index + 1,
                name: quoted,
                version: "",
                dependencies: Vec::new(),
            });
        } else if let Some(package) = packages.last_mut() {
            match line {
                _ if line.starts_with("version = ") => package.version = quoted,
                _ if line.starts_with(" \"") => package.dependencies.push(quoted),
                _ => {}
            }
        }
    }
    packages
}

/// Returns the package of this name and all that it depends on, directly or not.
fn below<'a, 'b>(packages: &'b [Package<'a>], name: &'a str) -> Vec<&'b Package<'a>> {
    let mut found: Vec<&Package<'_>> = Vec::new();
    let mut open = vec![name];
    while let Some(dependency) = open.pop() {
        let (name, version) = dependency.split_once(' ').unwrap_or((dependency, ""));
        for package in packages
            .iter()
            .filter(|package| package.name == name && package.version.starts_with(version))
        {
            if !found.iter().any(|seen| seen.line == package.line) {
                found.push(package);
                open.extend(&package.dependencies);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn lock(packages: &[(&str, &str, &[&str])]) -> String {
        let mut text = "version = 4\n".to_string();
        for (name, version, dependencies) in packages {
            let listed: String = dependencies
                .iter()
                .map(|name| format!(" \"{name}\",\n"))
                .collect();
            text += &format!(
                "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n{listed}]\n"
            );
        }
        text
    }

    fn check_peers(peers: &[(&str, &str, &[&str])]) -> Vec<String> {
        let root = lock(&[
            ("a", "1.0.0", &[]),
            ("a", "2.0.0", &[]),
            ("rukh", "0.1.0", &["a 2.0.0"]),
        ]);
        lines(&check(&[
            SourceFile::new(ROOT, &root),
            SourceFile::new(PEERS, &lock(peers)),
        ]))
    }

    #[test]
    fn the_same_versions_pass_and_others_beside_rukh_too() {
        assert!(
            check_peers(&[
                ("a", "2.0.0", &[]),
                ("a", "3.0.0", &[]),
                ("b", "1.0.0", &["a 3.0.0"]),
                ("rukh", "0.1.0", &["a 2.0.0"])
            ])
            .is_empty()
        );
    }

    #[test]
    fn other_versions_below_rukh_are_found() {
        assert_eq!(
            check_peers(&[("a", "2.0.1", &[]), ("rukh", "0.1.0", &["a"])]),
            ["bench-peers/Cargo.lock:4: a 2.0.1 is not a version of the root's Cargo.lock"]
        );
    }
}
