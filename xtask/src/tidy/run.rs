//! Runs every check over the repository and prints what they find.

use std::path::Path;

use super::finding::{Finding, Severity};
use super::{docs, english, folders, locks, manifests, names, rings, rust, scripts, text, tree};

/// Checks the repository at `root`, prints findings to stdout, and fails when one is an error.
pub fn run(root: &Path) -> Result<(), String> {
    let files = tree::read_tree(root).map_err(|error| format!("cannot read the repository: {error}"))?;
    let checks = [
        text::check,
        manifests::check,
        rust::check,
        scripts::check,
        docs::check,
        english::check,
        folders::check,
        names::check,
        rings::check,
        locks::check,
    ];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(&files)).collect();
    findings.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    for finding in &findings {
        println!("{finding}");
    }
    match findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count()
    {
        0 => Ok(()),
        errors => Err(format!("tidy: {errors} findings in {} files read", files.len())),
    }
}
