//! Whether what is typed is complete, or Enter goes on to the next line.

use reedline::{ValidationResult, Validator};

/// Asks the database where statements end.
pub struct SqlValidator;

impl Validator for SqlValidator {
    fn validate(&self, line: &str) -> ValidationResult {
        if is_complete(line) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

/// Returns whether `text` holds only whole statements, or is a backslash command.
///
/// | text           | complete |
/// |----------------|----------|
/// | `SELECT 1;`    | yes      |
/// | `SELECT 1`     | no       |
/// | `SELECT ';`    | no       |
/// | `\dt`          | yes      |
/// | `SELECT 1; \q` | yes      |
pub fn is_complete(text: &str) -> bool {
    if text.trim_start().starts_with('\\') {
        return true;
    }
    let rest = &text[rukh::split_statements(text).rest];
    rest.is_empty() || rest.starts_with('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_or_not() {
        let cases = [
            ("", true),
            ("  ", true),
            ("\\dt", true),
            ("  \\dt", true),
            ("SELECT 1;", true),
            ("SELECT 1; -- done", true),
            ("SELECT 1; \\q", true),
            ("SELECT 1;\n", true),
            ("SELECT 1", false),
            ("SELECT\n1;", true),
            ("SELECT ';", false),
            ("SELECT ';';", true),
            ("SELECT 1 /* ;", false),
            ("SELECT 1; SELECT", false),
            ("-- note", true),
            ("/* open", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_complete(text), expected, "{text:?}");
        }
    }
}
