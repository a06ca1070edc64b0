//! The list of known differences: `tests/regress/<suite>.known`.
//!
//! ```text
//! # PostgreSQL gives rows with equal keys in the order of its hash table.
//! join.sql: SELECT * FROM a ORDER BY b
//! ```
//!
//! A line that begins with `#` is the reason of the statements behind it. White space in statements does not count.
//! A statement that no longer differs has to leave the list, unless its reason says `in any order` or `random`.

use std::collections::BTreeMap;
use std::path::Path;

/// Statements that differ, by file, and why.
#[derive(Debug, Default)]
pub struct Known {
    reasons: BTreeMap<(String, String), String>,
}

/// Returns a statement in one line.
pub fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Known {
    /// Reads a list; one that is not there is empty.
    pub fn read(path: &Path) -> Result<Known, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Known::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Known::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Known, String> {
        let (mut known, mut reason) = (Known::default(), String::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                reason = comment.trim().to_string();
            } else if let Some((file, sql)) = line.split_once(": ") {
                if reason.is_empty() {
                    return Err(format!("line {}: a difference without a reason", number + 1));
                }
                known
                    .reasons
                    .insert((file.to_string(), one_line(sql)), reason.clone());
            } else if !line.is_empty() {
                return Err(format!("line {}: no file and statement", number + 1));
            }
        }
        Ok(known)
    }

    /// Returns why a statement of a file differs, if that is known.
    pub fn reason(&self, file: &str, sql: &str) -> Option<&str> {
        let reason = self.reasons.get(&(file.to_string(), one_line(sql)));
        reason.map(String::as_str)
    }

    /// Returns the statements of a file that differ in every run: not those of a reason that says `in any order` or `random`.
    pub fn constant(&self, file: &str) -> impl Iterator<Item = &str> {
        let is_constant = |reason: &str| !reason.contains("in any order") && !reason.contains("random");
        let entries = self.reasons.iter();
        let entries = entries.filter(move |((name, _), reason)| name == file && is_constant(reason));
        entries.map(|((_, sql), _)| sql.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_reasons() {
        let known = Known::parse("# ties\na.sql: SELECT  1\n").expect("the list is read");
        assert_eq!(known.reason("a.sql", "SELECT\n1"), Some("ties"));
        assert_eq!(known.reason("b.sql", "SELECT 1"), None);
        assert!(Known::parse("a.sql: SELECT 1").is_err());
    }
}
