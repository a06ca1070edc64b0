//! Plain English: idioms in comments for which the field has a usual word, counted for each crate.
//!
//! | idiom                                | usual words                              |
//! |--------------------------------------|------------------------------------------|
//! | told, asked                          | returned, reported, requested, read      |
//! | anew                                 | again                                    |
//! | at hand                              | current, given                           |
//! | who, whoever, nobody, somebody       | the subject: a reader, a session, no one thread |
//! | what there is, speaks of, let be     | the noun: columns, rows, a condition on  |
//!
//! Each crate has as many as [`KNOWN`] says, and no more: the numbers only go down. A comment about people may say *who*; there are few.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::tree::SourceFile;

const IDIOMS: &[&str] = &[
    "told",
    "asked",
    "anew",
    "at hand",
    "who",
    "whoever",
    "nobody",
    "somebody",
    "what there is",
    "speak of",
    "speaks of",
    "let be",
];

/// How many idioms the comments of a crate still have. What is not listed has none.
const KNOWN: &[(&str, usize)] = &[
    ("bench-peers", 26),
    ("rukh", 9),
    ("rukh-bench", 1),
    ("rukh-catalog", 11),
    ("rukh-cli", 9),
    ("rukh-engine", 284),
    ("rukh-error", 1),
    ("rukh-flight", 9),
    ("rukh-functions", 21),
    ("rukh-hbase", 9),
    ("rukh-keys", 4),
    ("rukh-kv", 79),
    ("rukh-planner", 46),
    ("rukh-server", 23),
    ("rukh-sql", 62),
    ("rukh-syntax", 15),
    ("rukh-testkit", 45),
    ("xtask", 22),
];

/// Counts the idioms of every crate.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    check_counts(files, KNOWN)
}

fn check_counts(files: &[SourceFile], known: &[(&str, usize)]) -> Vec<Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.ending() == "rs") {
        let path = file.path.strip_prefix("crates/").unwrap_or(&file.path);
        if let Some((name, _)) = path.split_once('/') {
            *counts.entry(name).or_default() += file.text.lines().map(idioms).sum::<usize>();
        }
    }
    let mut findings = Vec::new();
    for (name, count) in counts {
        let most = known
            .iter()
            .find(|(of, _)| *of == name)
            .map_or(0, |(_, most)| *most);
        let message = match count.cmp(&most) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Less => {
                format!("comments of {name} have {count} idioms now, not {most}: say so in tidy/english.rs")
            }
            std::cmp::Ordering::Greater => format!(
                "comments of {name} have {count} idioms, {most} before: say it in the words that tidy/english.rs has for them"
            ),
        };
        findings.push(Finding::error("xtask/src/tidy/english.rs", 0, message));
    }
    findings
}

/// Returns how many idioms the comment of a line has.
fn idioms(line: &str) -> usize {
    let Some(comment) = line.trim_start().strip_prefix("//") else {
        return 0;
    };
    let words: Vec<String> = comment
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    // Two of one kind may share a blank, which `matches` would take for one.
    let text = text.replace(' ', "  ");
    let of = |idiom: &&str| text.matches(&format!(" {} ", idiom.replace(' ', "  "))).count();
    IDIOMS.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    #[test]
    fn idioms_of_comments_are_counted() {
        for (line, count) in [
            ("/// Tells who asked, and who was told anew.", 5),
            ("let told = asked(); // not at the beginning of a line", 0),
            ("    //! The rows at hand: what there is.", 2),
            ("// Whose turn it is; a hand; nobody's.", 1),
        ] {
            assert_eq!(idioms(line), count, "{line}");
        }
    }

    #[test]
    fn a_crate_has_as_many_as_are_known() {
        let file = |text: &str| vec![SourceFile::new("crates/house/src/a.rs", text)];
        let found = |text: &str, known: &[(&str, usize)]| lines(&check_counts(&file(text), known));
        assert_eq!(found("// told\n", &[("house", 1)]), Vec::<String>::new());
        assert_eq!(found("// told\n", &[]).len(), 1);
        assert_eq!(
            found("", &[("house", 1)]),
            [
                "xtask/src/tidy/english.rs:0: comments of house have 0 idioms now, not 1: say so in tidy/english.rs"
            ]
        );
    }
}
