//! Rows as PostgreSQL writes them: `(1,"a b",)`, where nothing between two commas is NULL.

/// Writes a row of fields; `None` is NULL.
pub fn record_text<'a>(fields: impl Iterator<Item = Option<&'a str>>) -> String {
    let mut text = String::from("(");
    for (at, field) in fields.enumerate() {
        if at > 0 {
            text.push(',');
        }
        let Some(field) = field else { continue };
        let is_special =
            |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || c.is_ascii_whitespace() || c == '\u{b}';
        if !field.is_empty() && !field.contains(is_special) {
            text.push_str(field);
            continue;
        }
        text.push('"');
        for character in field.chars() {
            if matches!(character, '"' | '\\') {
                text.push(character);
            }
            text.push(character);
        }
        text.push('"');
    }
    text.push(')');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_postgresql_does() {
        for (fields, text) in [
            (vec![Some("1"), None, Some("a b")], "(1,,\"a b\")"),
            (vec![None], "()"),
            (vec![Some("")], "(\"\")"),
            (
                vec![Some("x\"y"), Some("a\\b"), Some("(c,d)")],
                "(\"x\"\"y\",\"a\\\\b\",\"(c,d)\")",
            ),
            (vec![Some("{1,2}"), Some("t")], "(\"{1,2}\",t)"),
        ] {
            assert_eq!(record_text(fields.into_iter()), text);
        }
    }
}
