//! What texts begin with that a regular expression matches: what a key can be read by.
//!
//! | regular expression      | prefixes     | because                                     |
//! |-------------------------|--------------|---------------------------------------------|
//! | `^ab.*`                 | `ab`         |                                             |
//! | `^abc?`                 | `ab`         | the `c` may be missing                      |
//! | `^a\.b`                 | `a.b`        | a point with a backslash is a point         |
//! | `^ab|^cd`               | `ab`, `cd`   | one for each alternative                    |
//! | `^ab(c|d)`              | `ab`         | groups are not looked into                  |
//! | `ab`, `^ab|cd`, `^[ab]` | none         | may begin with anything, or with no text    |

use rukh_functions::functions::texts::regex::POINT_IS_ANY;
use rukh_functions::functions::texts::similar;

/// Returns texts with one of which all begin that a regular expression matches, if it says so plainly: one for
/// each of its alternatives.
pub(crate) fn regex_prefixes(pattern: &str) -> Option<Vec<String>> {
    let similar = pattern
        .strip_prefix(similar::OPENING)
        .and_then(|rest| rest.strip_suffix(similar::CLOSING));
    let pattern = pattern.strip_prefix(POINT_IS_ANY).unwrap_or(pattern);
    let alternatives = alternatives(similar.unwrap_or(pattern))?;
    let prefix = |one: &str| match similar {
        Some(_) => regex_prefix(one),
        None => regex_prefix(one.strip_prefix('^')?),
    };
    alternatives.into_iter().map(prefix).collect()
}

/// Splits a regular expression at the bars that stand in no group and no class; `None` if it is not plain.
fn alternatives(pattern: &str) -> Option<Vec<&str>> {
    let (mut from, mut depth, mut in_class) = (0, 0_usize, false);
    let mut found = Vec::new();
    let mut rest = pattern.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => drop(rest.next()?),
            // A class within a class, or one that begins with its own end, is not looked into.
            '[' if in_class || pattern[at + 1..].starts_with([']', '^']) => return None,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            '|' if depth == 0 => {
                found.push(&pattern[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&pattern[from..]);
    Some(found)
}

/// Returns what all texts begin with that a regular expression without alternatives matches from their beginning
/// on, if it says so plainly.
fn regex_prefix(pattern: &str) -> Option<String> {
    let mut prefix = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        let literal = match c {
            '\\' => rest.next().filter(char::is_ascii_punctuation),
            '.' | '^' | '$' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' => None,
            c => Some(c),
        };
        let Some(literal) = literal else { break };
        // What may be there or not is no part of the prefix.
        if matches!(rest.peek(), Some('*' | '?' | '{')) {
            break;
        }
        prefix.push(literal);
    }
    (!prefix.is_empty()).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::regex_prefixes;

    #[test]
    fn prefixes_of_regular_expressions() {
        for (pattern, expected) in [
            ("^ab.*", Some(vec!["ab"])),
            ("^abc?", Some(vec!["ab"])),
            ("^a\\.b", Some(vec!["a.b"])),
            ("^ab|^cd", Some(vec!["ab", "cd"])),
            ("^ab(c|d)", Some(vec!["ab"])),
            ("(?s-x)^(?:ab|cd.*)$", Some(vec!["ab", "cd"])),
            ("(?s-x)^(?:ab(c|d))$", Some(vec!["ab"])),
            ("^a\\|b", Some(vec!["a|b"])),
            ("^a[|]b", Some(vec!["a"])),
            ("ab", None),
            ("^ab|cd", None),
            ("^[ab]", None),
            ("^(ab)", None),
            ("^ab|", None),
        ] {
            let expected = expected.map(|all| all.iter().map(ToString::to_string).collect());
            assert_eq!(regex_prefixes(pattern), expected, "{pattern}");
        }
    }
}
