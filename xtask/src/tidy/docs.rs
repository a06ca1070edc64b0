//! Checks of Markdown: what it links to or names exists, it states the format version in force, and
//! decisions are numbered without gaps.

use super::finding::Finding;
use super::tree::SourceFile;

/// Where the format version is defined.
const VERSION_FILE: &str = "crates/rukh-catalog/src/stored.rs";
/// What stands before it there.
const VERSION_CONSTANT: &str = "pub const FORMAT_VERSION: u32 =";
/// Pages that must state it, if they exist.
const FORMAT_PAGES: &[&str] = &["docs/key-encoding.md", "docs/row-format.md"];
/// First folders of paths that are checked when a page names them in code quotes.
const PLACES: &[&str] = &["crates", "docs", "sql", "tests", "xtask", "bench-peers", ".ci"];

/// Checks every Markdown file.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let pages = files.iter().filter(|file| file.ending() == "md");
    let mut findings: Vec<Finding> = pages.flat_map(|page| check_paths(page, files)).collect();
    findings.extend(check_version(files));
    findings.extend(check_decisions(files));
    findings
}

fn check_paths(page: &SourceFile, files: &[SourceFile]) -> Vec<Finding> {
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    let mut in_block = false;
    for (index, line) in page.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let targets = links(line).into_iter().map(|target| resolve(folder, target));
        for path in targets.chain(named_paths(line)) {
            if !exists(&path, files) {
                findings.push(Finding::error(
                    &page.path,
                    index + 1,
                    format!("{path} does not exist"),
                ));
            }
        }
    }
    findings
}

/// Returns the relative targets of the links of a line, without their anchors.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or(""));
    files
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// Returns the paths of this repository that stand in code quotes.
fn named_paths(line: &str) -> Vec<String> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_path_char = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    quoted
        .filter(|text| text.chars().all(is_path_char))
        .filter(|text| {
            text.split_once('/')
                .is_some_and(|(first, rest)| PLACES.contains(&first) && !rest.is_empty())
        })
        .map(|text| text.trim_end_matches('/').to_string())
        .collect()
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn exists(path: &str, files: &[SourceFile]) -> bool {
    let below = format!("{path}/");
    path == "LICENSE"
        || files
            .iter()
            .any(|file| file.path == path || file.path.starts_with(&below))
}

fn check_version(files: &[SourceFile]) -> Vec<Finding> {
    let Some(source) = files.iter().find(|file| file.path == VERSION_FILE) else {
        return vec![Finding::error(
            VERSION_FILE,
            0,
            "the file that defines FORMAT_VERSION does not exist",
        )];
    };
    let Some(version) = constant(&source.text) else {
        return vec![Finding::error(
            VERSION_FILE,
            0,
            "FORMAT_VERSION is not defined here",
        )];
    };
    let pages = files
        .iter()
        .filter(|file| file.path.starts_with("docs/") && !file.path.contains("/decisions/"));
    pages.flat_map(|page| check_page_version(page, version)).collect()
}

fn constant(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(VERSION_CONSTANT)?;
    rest.split(';').next()?.trim().parse().ok()
}

fn check_page_version(page: &SourceFile, version: u32) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut stated = false;
    for (index, line) in page.text.lines().enumerate() {
        for found in versions(line) {
            stated = true;
            if found != version {
                let message = format!("format version {found} is stated, {version} is in force");
                findings.push(Finding::error(&page.path, index + 1, message));
            }
        }
    }
    if !stated && FORMAT_PAGES.contains(&page.path.as_str()) {
        findings.push(Finding::error(
            &page.path,
            0,
            format!("the page does not state \"format version {version}\""),
        ));
    }
    findings
}

/// Returns the numbers that follow "format version" or "encoding version" in a line.
fn versions(line: &str) -> Vec<u32> {
    let lower = line.to_lowercase().replace("encoding version", "format version");
    let after = lower.split("format version").skip(1);
    after
        .filter_map(|rest| {
            let rest = rest.trim_start_matches([' ', '*', ':', '`']);
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        })
        .collect()
}

fn check_decisions(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages = files
        .iter()
        .filter(|file| file.path.starts_with("docs/decisions/") && file.ending() == "md");
    for (index, page) in pages.enumerate() {
        let name = page.path.rsplit('/').next().unwrap_or("");
        let number = format!("{:04}-", index + 1);
        if !name.starts_with(&number) {
            findings.push(Finding::error(
                &page.path,
                0,
                format!("decision number {number} was due here"),
            ));
        }
        if !page.text.starts_with("# ") {
            findings.push(Finding::error(&page.path, 1, "a decision opens with its title"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn check_page(path: &str, text: &str) -> Vec<String> {
        lines(&check(&[
            SourceFile::new(path, text),
            SourceFile::new(
                "crates/rukh-catalog/src/stored.rs",
                "pub const FORMAT_VERSION: u32 = 4;\n",
            ),
        ]))
    }

    #[test]
    fn links_and_named_paths_exist() {
        let text = "[a](sql.md) [b](../crates/rukh-catalog/src/stored.rs#top) [c](https://x.y/z) `docs/sql.md` `a/b`\n";
        assert!(check_page("docs/sql.md", text).is_empty());
        assert_eq!(
            check_page("docs/sql.md", "x\n[a](gone.md), `crates/rukh-gone`\n"),
            [
                "docs/sql.md:2: docs/gone.md does not exist",
                "docs/sql.md:2: crates/rukh-gone does not exist"
            ]
        );
        assert!(check_page("docs/sql.md", "```\n`docs/gone.md`\n```\n").is_empty());
    }

    #[test]
    fn the_format_version_is_the_one_in_force() {
        assert!(check_page("docs/row-format.md", "This is format version 4.\n").is_empty());
        assert!(check_page("docs/key-encoding.md", "Key encoding version: 4. Done.\n").is_empty());
        assert_eq!(
            check_page("docs/operations.md", "a\nFormat version **2**\n"),
            ["docs/operations.md:2: format version 2 is stated, 4 is in force"]
        );
        assert_eq!(
            check_page("docs/row-format.md", "a newer format version is refused\n"),
            ["docs/row-format.md:0: the page does not state \"format version 4\""]
        );
        assert_eq!(
            lines(&check(&[SourceFile::new(
                "crates/rukh-catalog/src/stored.rs",
                ""
            )])),
            ["crates/rukh-catalog/src/stored.rs:0: FORMAT_VERSION is not defined here"]
        );
    }

    #[test]
    fn decisions_are_numbered() {
        assert!(check_page("docs/decisions/0001-a.md", "# A\n").is_empty());
        assert_eq!(
            check_page("docs/decisions/0003-a.md", "A\n"),
            [
                "docs/decisions/0003-a.md:0: decision number 0001- was due here",
                "docs/decisions/0003-a.md:1: a decision opens with its title",
            ]
        );
    }
}
