//! Checks of manifests: dependencies point one way, and heavy crates have one owner each.
//!
//! Manifests are read line by line: a `[section]`, then `name = …` or `name.workspace = true`. The
//! root's `[workspace.dependencies]` is a list of versions, not a use, and is left alone.

use super::finding::Finding;
use super::tree::SourceFile;

/// For each crate the crates of this workspace it may name. What is not listed may name none.
const EDGES: &[(&str, &[&str])] = &[
    ("rukh-keys", &[]),
    ("rukh-catalog", &["rukh-keys"]),
    ("rukh-planner", &["rukh-catalog", "rukh-keys"]),
    ("rukh-kv", &["rukh-keys"]),
    ("rukh-hbase", &[]),
    ("rukh-commit", &[]),
    ("rukh-walk", &[]),
    (
        "rukh-hbase-store",
        &["rukh-hbase", "rukh-commit", "rukh-kv", "rukh-keys"],
    ),
    (
        "rukh-engine",
        &["rukh-planner", "rukh-catalog", "rukh-keys", "rukh-kv"],
    ),
    (
        "rukh-error",
        &[
            "rukh-syntax",
            "rukh-engine",
            "rukh-catalog",
            "rukh-keys",
            "rukh-kv",
        ],
    ),
    (
        "rukh-functions",
        &[
            "rukh-walk",
            "rukh-error",
            "rukh-syntax",
            "rukh-planner",
            "rukh-keys",
        ],
    ),
    ("rukh-syntax", &["rukh-catalog", "rukh-keys"]),
    (
        "rukh-sql",
        &[
            "rukh-syntax",
            "rukh-functions",
            "rukh-walk",
            "rukh-error",
            "rukh-engine",
            "rukh-planner",
            "rukh-catalog",
            "rukh-keys",
            "rukh-kv",
        ],
    ),
    (
        "rukh",
        &[
            "rukh-sql",
            "rukh-engine",
            "rukh-hbase-store",
            "rukh-kv",
            "rukh-keys",
        ],
    ),
    ("rukh-cli", &["rukh", "rukh-server", "rukh-flight"]),
    ("rukh-server", &["rukh"]),
    ("rukh-flight", &["rukh"]),
    (
        "rukh-testkit",
        &[
            "rukh",
            "rukh-bench",
            "rukh-sql",
            "rukh-engine",
            "rukh-planner",
            "rukh-catalog",
            "rukh-keys",
            "rukh-kv",
            "rukh-hbase-store",
        ],
    ),
    (
        "rukh-bench",
        &[
            "rukh",
            "rukh-sql",
            "rukh-engine",
            "rukh-planner",
            "rukh-catalog",
            "rukh-keys",
            "rukh-kv",
        ],
    ),
];

/// Crates above a crate that its examples use.
const OF_EXAMPLES: &[(&str, &str)] = &[("rukh", "rukh-server")];

/// Crates that several crates of the workspace may name, and no others.
const SHARED: &[(&str, &[&str])] = &[
    ("prost", &["rukh-flight", "rukh-hbase"]),
    (
        "datafusion",
        &["rukh-walk", "rukh-error", "rukh-functions", "rukh-sql"],
    ),
];

/// Crates that exactly one crate of the workspace may name.
const OWNERS: &[(&str, &str)] = &[
    ("rocksdb", "rukh-kv"),
    ("sqlparser", "rukh-syntax"),
    ("pgwire", "rukh-server"),
    ("arrow-pg", "rukh-server"),
    ("arrow-flight", "rukh-flight"),
    ("tonic", "rukh-flight"),
];

/// Crates that no manifest may name, and what to use instead.
const FORBIDDEN: &[(&str, &str)] = &[
    (
        "arrow",
        "use datafusion::arrow: another version would be a second, incompatible copy",
    ),
    ("rust-rocksdb", "it and rocksdb cannot share one build"),
];

/// A dependency as a manifest names it.
#[derive(Debug, PartialEq, Eq)]
struct Dependency {
    line: usize,
    name: String,
    /// Whether only tests, examples and benches see it.
    is_dev: bool,
}

/// Checks the manifests of the crates.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(check_manifest).collect()
}

fn check_manifest(file: &SourceFile) -> Vec<Finding> {
    let Some(folder) = crate_folder(&file.path) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    match package_name(&file.text) {
        Some(name) if name == folder => {}
        _ => findings.push(Finding::error(
            &file.path,
            1,
            format!("the package is not named {folder} as its folder"),
        )),
    }
    for dependency in dependencies(&file.text) {
        if let Some(message) = fault(folder, &dependency) {
            findings.push(Finding::error(&file.path, dependency.line, message));
        }
    }
    findings
}

/// Returns the folder of a crate's manifest; `None` for other files and other workspaces.
fn crate_folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    match folder.strip_prefix("crates/") {
        Some(name) => Some(name),
        None => (folder == "xtask").then_some(folder),
    }
}

fn fault(folder: &str, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if let Some((_, reason)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name) {
        return Some(format!("{name} may not be named: {reason}"));
    }
    if let Some((_, owner)) = OWNERS.iter().find(|(owned, _)| *owned == name) {
        return (*owner != folder).then(|| format!("{name} may be named by {owner} only"));
    }
    if let Some((_, owners)) = SHARED.iter().find(|(shared, _)| *shared == name) {
        return (!owners.contains(&folder))
            .then(|| format!("{name} may be named by {} only", owners.join(" and ")));
    }
    let is_ours = name == "rukh" || name.starts_with("rukh-");
    let is_of_example = || {
        OF_EXAMPLES
            .iter()
            .any(|(of, used)| *of == folder && *used == name)
    };
    if !is_ours || (dependency.is_dev && (name == "rukh-testkit" || is_of_example())) {
        return None;
    }
    let edges = EDGES
        .iter()
        .find(|(from, _)| *from == folder)
        .map_or(&[][..], |(_, to)| to);
    (!edges.contains(&name)).then(|| format!("{folder} may not depend on {name}"))
}

fn package_name(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.trim_start().starts_with("name"))?;
    Some(line.split_once('=')?.1.trim().trim_matches('"'))
}

fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').trim_matches('[');
            if let Some((_, name)) = section.split_once("dependencies.") {
                found.push(dependency(index, name, section));
            }
        } else if section.ends_with("dependencies")
            && let Some((key, value)) = line.split_once('=')
        {
            let name = renamed(value).unwrap_or_else(|| key.split('.').next().unwrap_or(key));
            found.push(dependency(index, name, section));
        }
    }
    found
}

fn dependency(index: usize, name: &str, section: &str) -> Dependency {
    let name = name.trim().trim_matches('"').to_string();
    Dependency {
        line: index + 1,
        name,
        is_dev: section.contains("dev-dependencies"),
    }
}

/// Returns the real name of `other = { package = "name", … }`.
fn renamed(value: &str) -> Option<&str> {
    let after = value.split_once("package")?.1.trim_start().strip_prefix('=')?;
    after.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn check_text(folder: &str, dependencies: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{folder}\"\n{dependencies}");
        lines(&check(&[SourceFile::new(
            &format!("crates/{folder}/Cargo.toml"),
            &text,
        )]))
    }

    #[test]
    fn allowed_edges_pass() {
        assert!(
            check_text(
                "rukh-planner",
                "[dependencies]\nrukh-keys.workspace = true\nserde = \"1\"\n"
            )
            .is_empty()
        );
        assert!(check_text("rukh-kv", "[dependencies]\nrocksdb.workspace = true\n").is_empty());
    }

    #[test]
    fn edges_against_the_arrow_are_found() {
        assert_eq!(
            check_text(
                "rukh-keys",
                "[dependencies]\nmemchr = \"2\"\nrukh-catalog.workspace = true\n"
            ),
            ["crates/rukh-keys/Cargo.toml:5: rukh-keys may not depend on rukh-catalog"]
        );
        assert_eq!(
            check_text(
                "rukh-cli",
                "[dependencies.rukh-engine]\npath = \"../rukh-engine\"\n"
            ),
            ["crates/rukh-cli/Cargo.toml:3: rukh-cli may not depend on rukh-engine"]
        );
        assert_eq!(
            check_text(
                "rukh-kv",
                "[dependencies]\nk = { package = \"rukh-engine\", path = \"x\" }\n"
            ),
            ["crates/rukh-kv/Cargo.toml:4: rukh-kv may not depend on rukh-engine"]
        );
    }

    #[test]
    fn tests_may_use_the_testkit_and_nothing_else_above() {
        assert!(
            check_text(
                "rukh-engine",
                "[dev-dependencies]\nrukh-testkit.workspace = true\n"
            )
            .is_empty()
        );
        assert_eq!(
            check_text("rukh-engine", "[dependencies]\nrukh-testkit.workspace = true\n"),
            ["crates/rukh-engine/Cargo.toml:4: rukh-engine may not depend on rukh-testkit"]
        );
        assert_eq!(
            check_text("rukh-engine", "[dev-dependencies]\nrukh-sql.workspace = true\n"),
            ["crates/rukh-engine/Cargo.toml:4: rukh-engine may not depend on rukh-sql"]
        );
    }

    #[test]
    fn heavy_crates_have_one_owner() {
        assert_eq!(
            check_text(
                "rukh-engine",
                "[dependencies]\nrocksdb = \"0.25\"\n[dev-dependencies]\ndatafusion = \"55\"\n"
            ),
            [
                "crates/rukh-engine/Cargo.toml:4: rocksdb may be named by rukh-kv only",
                "crates/rukh-engine/Cargo.toml:6: datafusion may be named by rukh-walk and rukh-error and rukh-functions and rukh-sql only",
            ]
        );
        assert_eq!(
            check_text("rukh-sql", "[dependencies]\narrow = \"59\"\n").len(),
            1
        );
    }

    #[test]
    fn the_root_and_other_workspaces_are_left_alone() {
        let text = "[workspace.dependencies]\nrocksdb = \"1\"\n";
        let files = [
            SourceFile::new("Cargo.toml", text),
            SourceFile::new("bench-peers/Cargo.toml", text),
        ];
        assert!(check(&files).is_empty());
    }

    #[test]
    fn packages_are_named_as_their_folder() {
        let file = SourceFile::new("crates/rukh-a/Cargo.toml", "[package]\nname = \"rukh-b\"\n");
        assert_eq!(
            lines(&check(&[file])),
            ["crates/rukh-a/Cargo.toml:1: the package is not named rukh-a as its folder"]
        );
    }
}
