//! Names of code that the pages about the code give: each is defined somewhere.
//!
//! A name in code quotes of [`PAGES`] is checked if it is an identifier, or several joined by `::`, and not all capitals, as words of
//! SQL are. The first of a path, or the only one, is an item, a module, a folder, a dependency, or a name that the code has as a string: a
//! setting, a system table. What follows in a path is a word of the code.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::SourceFile;

/// Pages that lead through the code.
const PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Words behind which an item's name stands.
const ITEMS: &[&str] = &["fn", "struct", "enum", "trait", "mod", "const", "static", "type"];

/// Checks the pages.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let known = Known::of(files);
    let pages = files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    let mut findings = Vec::new();
    for page in pages {
        for (index, line) in page.text.lines().enumerate() {
            for name in quoted_names(line).filter(|name| !known.has(name)) {
                let message = format!("nothing is named `{name}`");
                findings.push(Finding::error(&page.path, index + 1, message));
            }
        }
    }
    findings
}

/// Returns the names in code quotes.
fn quoted_names(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let text = text.strip_suffix("()").unwrap_or(text);
        text.split("::").all(is_identifier) && text.contains(|c: char| c.is_ascii_lowercase())
    })
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word_char) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The names of the repository.
struct Known<'f> {
    /// Items, modules, folders, dependencies, strings that are one word.
    defined: BTreeSet<&'f str>,
    /// All words of the code.
    words: BTreeSet<&'f str>,
}

impl<'f> Known<'f> {
    fn of(files: &'f [SourceFile]) -> Self {
        let (mut defined, mut words) = (BTreeSet::new(), BTreeSet::new());
        for file in files {
            match file.ending() {
                "rs" => {
                    defined.extend(file.path.trim_end_matches(".rs").split('/'));
                    for line in file.text.lines() {
                        let code = line.split("//").next().unwrap_or("");
                        defined.extend(code.split('"').skip(1).step_by(2));
                        let mut before = "";
                        for word in code.split(|c| !is_word_char(c)).filter(|word| !word.is_empty()) {
                            words.insert(word);
                            if ITEMS.contains(&before) {
                                defined.insert(word);
                            }
                            before = word;
                        }
                    }
                }
                "toml" => {
                    let keys = file.text.lines().filter_map(|line| line.split(['=', '.']).next());
                    defined.extend(keys.map(str::trim));
                }
                _ => {}
            }
        }
        Known { defined, words }
    }

    fn has(&self, name: &str) -> bool {
        let mut parts = name.strip_suffix("()").unwrap_or(name).split("::");
        let first = parts.next().unwrap_or("");
        self.defined.contains(first) && parts.all(|part| self.words.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    #[test]
    fn names_of_pages_are_defined() {
        let code = "/// A `Ghost`.\npub struct Door { key: Key }\nfn open(door: Door) { setting(\"statement_timeout\") }\n";
        let files = [
            SourceFile::new("crates/house/src/hall/door.rs", code),
            SourceFile::new("Cargo.toml", "memchr = \"2\"\n"),
            SourceFile::new(
                "ARCHITECTURE.md",
                "`Door`, `Door::key`, `hall`, `open()`, `statement_timeout`, `memchr`, `SELECT`, `a b`\n\
                 `Ghost`, `Door::lock`, `key`\n",
            ),
            SourceFile::new("README.md", "`Ghost`\n"),
        ];
        assert_eq!(
            lines(&check(&files)),
            [
                "ARCHITECTURE.md:2: nothing is named `Ghost`",
                "ARCHITECTURE.md:2: nothing is named `Door::lock`",
                "ARCHITECTURE.md:2: nothing is named `key`",
            ]
        );
    }
}
