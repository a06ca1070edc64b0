//! Patterns of file names, where no shell has expanded them: `*`, `?`, `[a-z]`, `[!a-z]`.
//!
//! Each part of a path is matched by itself, so `*` does not reach past a `/`; names that start with a dot
//! are matched by patterns that do. Results are in the order of their names.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Whether a word has characters of a pattern.
pub fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// Returns the paths that a pattern matches.
pub fn expand(pattern: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = vec![PathBuf::new()];
    for part in Path::new(pattern).components() {
        match part {
            Component::Normal(name) if is_pattern(&name.to_string_lossy()) => {
                let mut next = Vec::new();
                for path in &paths {
                    matching(path, &name.to_string_lossy(), &mut next)?;
                }
                paths = next;
            }
            part => paths.iter_mut().for_each(|path| path.push(part)),
        }
    }
    paths.retain(|path| path.exists());
    paths.sort();
    Ok(paths)
}

fn matching(directory: &Path, pattern: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let place = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    if !place.is_dir() {
        return Ok(());
    }
    let pattern: Vec<char> = pattern.chars().collect();
    for entry in fs::read_dir(place)? {
        let name = entry?.file_name();
        let text: Vec<char> = name.to_string_lossy().chars().collect();
        let hidden = text.first() == Some(&'.') && pattern.first() != Some(&'.');
        if !hidden && matches(&pattern, &text) {
            found.push(directory.join(name));
        }
    }
    Ok(())
}

/// Whether a pattern matches a whole text. A star is tried with ever more characters; only the last one
/// need be, so the work is at most the product of the lengths.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if let Some(width) = one(&pattern[p..], text[t]) {
            p += width;
            t += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}

/// Returns how many characters of the pattern match one of the text.
fn one(pattern: &[char], text: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match class(pattern) {
            Some((width, ranges, negated)) => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&text));
                (inside != negated).then_some(width)
            }
            None => (text == '[').then_some(1),
        },
        plain => (*plain == text).then_some(1),
    }
}

/// Reads a class: how long it is, its ranges, and whether it means all others; none if it has no end.
fn class(pattern: &[char]) -> Option<(usize, Vec<(char, char)>, bool)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    // A bracket in the first place is itself.
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|c| *c == ']')?;
    let mut ranges = Vec::new();
    let mut at = start;
    while at < end {
        if at + 2 < end && pattern[at + 1] == '-' {
            ranges.push((pattern[at], pattern[at + 2]));
            at += 3;
        } else {
            ranges.push((pattern[at], pattern[at]));
            at += 1;
        }
    }
    Some((end + 1, ranges, negated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let cases = [
            ("*.csv", "a.csv", true),
            ("*.csv", ".csv", true),
            ("*.csv", "a.csv.gz", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("part-[0-9].csv", "part-7.csv", true),
            ("part-[!0-9].csv", "part-7.csv", false),
            ("part-[ab-d]x", "part-cx", true),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("浙*", "浙江", true),
            ("**", "", true),
        ];
        for (pattern, text, expected) in cases {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(
                matches(&chars(pattern), &chars(text)),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn paths_are_found_in_order() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        for name in ["b/2.csv", "b/1.csv", "a/1.csv", "a/.hidden.csv", "a/1.txt", "c"] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a directory can be made");
            std::fs::write(path, "").expect("a file can be written");
        }
        let pattern = format!("{}/*/[0-9].csv", directory.path().display());
        let found = expand(&pattern).expect("directories can be read");
        let names: Vec<_> = found
            .iter()
            .map(|path| {
                path.strip_prefix(directory.path())
                    .expect("it is inside")
                    .display()
                    .to_string()
            })
            .collect();
        assert_eq!(names, ["a/1.csv", "b/1.csv", "b/2.csv"]);
    }
}
