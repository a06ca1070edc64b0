//! Plain English: comments use the field's usual words. Each idiom is a finding.
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
//! Words between asterisks or in code are quoted, not used.

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

/// Finds the idioms in comments of Rust.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.ending() == "rs") {
        for (index, line) in file.text.lines().enumerate() {
            for idiom in idioms(line) {
                let message = format!("\"{idiom}\" in a comment: tidy/english.rs has plain words for it");
                findings.push(Finding::error(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// Returns the idioms that the comment of a line has.
fn idioms(line: &str) -> impl Iterator<Item = &'static str> {
    let comment = line.trim_start().strip_prefix("//").unwrap_or("");
    let used = without_quoted(&without_quoted(comment, '`'), '*');
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
    fn idioms_of_comments_are_found() {
        for (line, found) in [
            (
                "/// Tells who asked, and who was told anew.",
                &["tells", "told", "asked", "anew", "who"][..],
            ),
            ("let told = asked(); // not at the beginning of a line", &[]),
            (
                "    //! The rows at hand: what there is.",
                &["at hand", "what there is"],
            ),
            ("// Whose turn it is; a hand; `nobody`; *told* is quoted.", &[]),
        ] {
            assert_eq!(idioms(line).collect::<Vec<_>>(), found, "{line}");
        }
    }

    #[test]
    fn an_idiom_is_found_with_its_place() {
        let files = [SourceFile::new(
            "crates/house/src/a.rs",
            "// A door.\n// Who opens it?\n",
        )];
        assert_eq!(
            lines(&check(&files)),
            ["crates/house/src/a.rs:2: \"who\" in a comment: tidy/english.rs has plain words for it"]
        );
    }
}
