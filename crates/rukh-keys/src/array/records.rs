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

/// What is wrong with the text of a row, in the words of PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedRecord(pub &'static str);

/// Reads the fields of a row; `None` is NULL.
pub fn record_fields(text: &str) -> Result<Vec<Option<String>>, MalformedRecord> {
    let inner = text.trim_start().strip_prefix('(');
    let inner = inner.ok_or(MalformedRecord("Missing left parenthesis."))?;
    let mut characters = inner.chars().peekable();
    let mut fields = Vec::new();
    let unexpected = || MalformedRecord("Unexpected end of input.");
    loop {
        if matches!(characters.peek(), Some(',' | ')')) {
            fields.push(None);
        } else {
            let (mut field, mut quoted) = (String::new(), false);
            loop {
                match *characters.peek().ok_or_else(unexpected)? {
                    ',' | ')' if !quoted => break,
                    '\\' => {
                        characters.next();
                        field.push(characters.next().ok_or_else(unexpected)?);
                    }
                    '"' => {
                        characters.next();
                        match quoted && characters.next_if_eq(&'"').is_some() {
                            true => field.push('"'),
                            false => quoted = !quoted,
                        }
                    }
                    other => {
                        characters.next();
                        field.push(other);
                    }
                }
            }
            fields.push(Some(field));
        }
        match characters.next() {
            Some(',') => {}
            Some(_) => break,
            None => return Err(unexpected()),
        }
    }
    match characters.all(char::is_whitespace) {
        true => Ok(fields),
        false => Err(MalformedRecord("Junk after right parenthesis.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_postgresql_does() {
        let fields = |text: &str| {
            record_fields(text).map(|fields| {
                fields
                    .into_iter()
                    .map(|f| f.unwrap_or_else(|| "-".into()))
                    .collect::<Vec<_>>()
                    .join("|")
            })
        };
        for (text, expected) in [
            (" (1, b ,) ", Ok("1| b |-")),
            ("(a\"b c\"d,\\,e)", Ok("ab cd|,e")),
            ("(\"a\"\"b\")", Ok("a\"b")),
            ("()", Ok("-")),
            ("1,2", Err("Missing left parenthesis.")),
            ("(1,2", Err("Unexpected end of input.")),
            ("(1,\"2)", Err("Unexpected end of input.")),
            ("(1) x", Err("Junk after right parenthesis.")),
        ] {
            let found = fields(text);
            assert_eq!(found.as_deref().map_err(|error| error.0), expected, "{text}");
        }
    }

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
            assert_eq!(record_text(fields.iter().copied()), text);
            let fields: Vec<Option<String>> = fields
                .into_iter()
                .map(|field| field.map(str::to_string))
                .collect();
            assert_eq!(record_fields(text), Ok(fields));
        }
    }
}
