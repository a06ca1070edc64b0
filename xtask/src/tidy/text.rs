//! Checks of plain text: tabs, trailing blanks, length, names, and paths of one machine.
//!
//! Golden files and snapshots are not looked into: their blanks are what the program printed.

use super::finding::Finding;
use super::tree::SourceFile;

/// Lines of a Rust file from which on it should be split.
const LINES_TO_SPLIT: usize = 600;
/// Lines of a Rust file from which on it must be split.
const LINES_MAX: usize = 1000;

/// Checks every file.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let mut findings = check_name(&file.path);
    findings.extend(check_length(file));
    for (index, line) in file.text.lines().enumerate() {
        if let Some(message) = line_fault(file, line) {
            findings.push(Finding::error(&file.path, index + 1, message));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::error(
            &file.path,
            file.text.lines().count(),
            "no line end at the end of the file",
        ));
    }
    findings
}

fn line_fault(file: &SourceFile, line: &str) -> Option<&'static str> {
    let may_hold_tabs = file.path.ends_with("Makefile") || file.ending() == "slt";
    if line.ends_with([' ', '\t', '\r']) && file.ending() != "slt" {
        Some("trailing blank")
    } else if line.contains('\t') && !may_hold_tabs {
        Some("tab; write \\t in a string, four blanks elsewhere")
    } else if names_a_machine(line) {
        Some("a path of one machine")
    } else {
        None
    }
}

/// Says whether a line holds an absolute path into a home directory.
fn names_a_machine(line: &str) -> bool {
    let directories = ["home", "root", "Users"].map(|name| format!("/{name}/"));
    directories.iter().any(|directory| {
        let mut places = line.match_indices(directory).map(|(at, _)| at);
        places.any(|at| at == 0 || line[..at].ends_with([' ', '"', '\'', '=', ':', '`', '(']))
    })
}

fn check_length(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    match file.ending() {
        "rs" if lines > LINES_MAX => Some(Finding::error(
            &file.path,
            lines,
            format!("{lines} lines; a file has one subject, split it"),
        )),
        "rs" if lines > LINES_TO_SPLIT => Some(Finding::warning(
            &file.path,
            lines,
            format!("{lines} lines; look for a second subject"),
        )),
        _ => None,
    }
}

/// Checks that names are lower case, words joined by `_` in Rust and SQL, by `-` in docs and crates.
fn check_name(path: &str) -> Vec<Finding> {
    let Some((_, name)) = path.rsplit_once('/') else {
        return Vec::new();
    };
    let stem = name.split('.').next().unwrap_or(name);
    let fits = |extra: char| {
        stem.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == extra || c == '_')
    };
    let fault = match name.rsplit_once('.').map(|(_, ending)| ending) {
        // What a folder is for.
        Some("md") if stem == "README" => return Vec::new(),
        // The name of a program is that of its file, and programs have hyphens.
        Some("rs") if path.contains("/bin/") && fits('-') => return Vec::new(),
        Some("rs" | "sql" | "slt") if !fits('_') => "file name is not snake_case",
        Some("md") if path.starts_with("docs/") && (!fits('-') || stem.contains('_')) => {
            "file name is not lower case with hyphens"
        }
        _ => return Vec::new(),
    };
    vec![Finding::error(path, 0, fault)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn check_text(path: &str, text: &str) -> Vec<String> {
        lines(&check(&[SourceFile::new(path, text)]))
    }

    #[test]
    fn clean_text_passes() {
        assert!(check_text("crates/a/src/lib.rs", "//! A\n\nfn a() {}\n").is_empty());
        assert!(check_text("Makefile", "a:\n\tb\n").is_empty());
    }

    #[test]
    fn blanks_and_tabs_are_found_with_their_line() {
        assert_eq!(
            check_text("docs/a.md", "one \ntwo\n\tthree\nfour"),
            [
                "docs/a.md:1: trailing blank",
                "docs/a.md:3: tab; write \\t in a string, four blanks elsewhere",
                "docs/a.md:4: no line end at the end of the file",
            ]
        );
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for directory in ["home", "root", "Users"] {
            let line = format!("see /{directory}/dave/x\n");
            assert_eq!(
                check_text("docs/a.md", &line),
                ["docs/a.md:1: a path of one machine"]
            );
        }
        assert!(check_text("docs/a.md", "the crate/root/x is fine\n").is_empty());
    }

    #[test]
    fn long_rust_files_are_found() {
        let text = "x\n".repeat(700);
        assert_eq!(
            check_text("a/b.rs", &text),
            ["a/b.rs:700: warning: 700 lines; look for a second subject"]
        );
        let text = "x\n".repeat(1001);
        assert_eq!(
            check_text("a/b.rs", &text),
            ["a/b.rs:1001: 1001 lines; a file has one subject, split it"]
        );
        assert!(check_text("a/b.md", &text).is_empty());
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(
            check_text("a/BadName.rs", ""),
            ["a/BadName.rs:0: file name is not snake_case"]
        );
        assert_eq!(
            check_text("sql/url-scans.sql", ""),
            ["sql/url-scans.sql:0: file name is not snake_case"]
        );
        assert_eq!(
            check_text("docs/key_encoding.md", ""),
            ["docs/key_encoding.md:0: file name is not lower case with hyphens"]
        );
        assert!(check_text("crates/a/src/bin/b-c.rs", "").is_empty());
        assert!(check_text("docs/decisions/0001-one-profile.md", "").is_empty());
        assert!(check_text("docs/README.md", "").is_empty());
        assert!(check_text("ARCHITECTURE.md", "").is_empty());
    }
}
