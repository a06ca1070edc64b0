//! Reads the repository's own text files.
//!
//! The walk starts from a list of places, not from the root: database directories, data sets and
//! build outputs lie beside them and are not source.

use std::fs;
use std::io;
use std::path::Path;

/// Directories whose files are source.
const ROOTS: &[&str] = &[
    "crates",
    "xtask",
    "docs",
    "sql",
    "tests",
    "bench-peers",
    "fuzz",
    ".ci",
];

/// Endings of files that are source text; `Makefile` and files in `.ci` have none.
const ENDINGS: &[&str] = &[
    "rs", "toml", "md", "sql", "sh", "slt", "py", "js", "json", "yml", "lock",
];

/// A text file of the repository.
#[derive(Clone, Debug, Default)]
pub struct SourceFile {
    /// Path relative to the repository, with `/`.
    pub path: String,
    /// Its content; empty when the file is no source text (a golden file, a snapshot).
    pub text: String,
}

impl SourceFile {
    /// Returns a file of the given path and text.
    #[cfg(test)]
    pub fn new(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.to_string(),
            text: text.to_string(),
        }
    }

    /// Returns what follows the last dot of the file name, or the empty string.
    pub fn ending(&self) -> &str {
        ending(&self.path)
    }
}

/// Reads every file of the repository, sorted by path.
pub fn read_tree(root: &Path) -> io::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for entry in sorted_entries(root)? {
        let path = root.join(&entry);
        let wanted = path.is_file() && (entry == "Makefile" || ENDINGS.contains(&ending(&entry)));
        if wanted || (path.is_dir() && ROOTS.contains(&entry.as_str())) {
            read_into(root, &entry, &mut files)?;
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn read_into(root: &Path, relative: &str, files: &mut Vec<SourceFile>) -> io::Result<()> {
    let path = root.join(relative);
    if path.is_file() {
        let text = if is_source(relative) {
            fs::read_to_string(&path)?
        } else {
            String::new()
        };
        files.push(SourceFile {
            path: relative.to_string(),
            text,
        });
        return Ok(());
    }
    for entry in sorted_entries(&path)? {
        if !["target", "node_modules", ".git"].contains(&entry.as_str()) {
            read_into(root, &format!("{relative}/{entry}"), files)?;
        }
    }
    Ok(())
}

fn sorted_entries(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn is_source(path: &str) -> bool {
    path.ends_with("Makefile") || path.starts_with(".ci/") || ENDINGS.contains(&ending(path))
}

fn ending(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}
