//! Plain English: comments and pages use the field's usual words. Each idiom is a finding.
//!
//! | idiom                                               | usual words                                  |
//! |-----------------------------------------------------|----------------------------------------------|
//! | *tells*, *told*                                     | returns, reports, has, shows, distinguishes  |
//! | *asked*                                             | requested, wanted, read                      |
//! | *anew*                                              | again                                        |
//! | *at hand*                                           | current, given, in memory                    |
//! | *who*, *whom*, *nobody*, *anybody* and the like     | the subject: a reader, a session, no thread  |
//! | *what there is*, *what comes of*                    | the noun: columns, rows, the results         |
//! | *speaks of*, *goes by*, *let be*, *lets go*         | has, uses, left out, releases                |
//! | *for want of*, *in vain*                            | for lack of, for nothing                     |
//!
//! Words between asterisks or in code are quoted, not used. Decisions and the changelog stay as they were written.

use super::finding::Finding;
use super::tree::SourceFile;

const IDIOMS: &[&str] = &[
    "tell",
    "tells",
    "telling",
    "told",
    "asked",
    "anew",
    "at hand",
    "who",
    "whom",
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "what there is",
    "what comes of",
    "speak of",
    "speaks of",
    "spoken of",
    "goes by",
    "let be",
    "lets go",
    "let go",
    "for want of",
    "in vain",
];

/// Finds the idioms in comments of Rust and in pages.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let is_page = file.ending() == "md" && !is_history(&file.path);
        if !is_page && file.ending() != "rs" {
            continue;
        }
        let mut in_block = false;
        for (index, line) in file.text.lines().enumerate() {
            in_block ^= is_page && line.trim_start().starts_with("```");
            let prose = match is_page {
                true if in_block => "",
                true => line,
                false => line.trim_start().strip_prefix("//").unwrap_or(""),
            };
            for idiom in idioms(prose) {
                let message = format!("\"{idiom}\": tidy/english.rs has plain words for it");
                findings.push(Finding::error(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// Whether a page says what was, and not what is.
fn is_history(path: &str) -> bool {
    path == "CHANGELOG.md" || path.starts_with("docs/decisions/")
}

/// Returns the idioms of a line of prose.
fn idioms(prose: &str) -> impl Iterator<Item = &'static str> {
    let used = without_quoted(&without_quoted(prose, '`'), '*');
    let words: Vec<String> = used
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    IDIOMS
        .iter()
        .copied()
        .filter(move |idiom| text.contains(&format!(" {idiom} ")))
}

/// Returns a text without what stands between two marks.
fn without_quoted(text: &str, mark: char) -> String {
    text.split(mark).step_by(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    #[test]
    fn idioms_of_prose_are_found() {
        for (line, found) in [
            (
                "Tells who asked, and who was told anew.",
                &["tells", "told", "asked", "anew", "who"][..],
            ),
            ("The rows at hand: what there is.", &["at hand", "what there is"]),
            ("Whose turn it is; a hand; `nobody`; *told* is quoted.", &[]),
        ] {
            assert_eq!(idioms(line).collect::<Vec<_>>(), found, "{line}");
        }
    }

    #[test]
    fn comments_and_pages_are_read() {
        let files = [
            SourceFile::new(
                "crates/house/src/a.rs",
                "// A door.\nlet told = 1; // told\n// Who opens it?\n",
            ),
            SourceFile::new("docs/doors.md", "Who opens it?\n```\nwho\n```\n"),
            SourceFile::new("docs/decisions/0001-doors.md", "Who opens it?\n"),
        ];
        assert_eq!(
            lines(&check(&files)),
            [
                "crates/house/src/a.rs:3: \"who\": tidy/english.rs has plain words for it",
                "docs/doors.md:1: \"who\": tidy/english.rs has plain words for it",
            ]
        );
    }
}
