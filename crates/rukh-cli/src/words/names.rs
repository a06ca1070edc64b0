//! Names as they are written in statements.

use crate::words::keywords;
use crate::words::lexer;

/// Returns the name that a word of a statement means: quotes off, or letter case folded.
pub fn meant(word: &str) -> String {
    match word.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest).replace("\"\"", "\""),
        None => word.to_lowercase(),
    }
}

/// Returns `name` as it must be written in a statement, in quotes where it needs them.
pub fn quoted(name: &str) -> String {
    let starts_well = name.chars().next().is_some_and(lexer::begins_name);
    let plain = starts_well
        && name
            .chars()
            .all(|c| lexer::continues_name(c) && !c.is_uppercase());
    if plain && !keywords::is_reserved(name) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let cases = [
            ("users", "users"),
            ("Users", "\"Users\""),
            ("two words", "\"two words\""),
            ("a\"b", "\"a\"\"b\""),
            ("order", "\"order\""),
            ("名前", "名前"),
            ("1st", "\"1st\""),
            ("", "\"\""),
        ];
        for (name, written) in cases {
            assert_eq!(quoted(name), written);
            assert_eq!(meant(written), name);
        }
    }
}
