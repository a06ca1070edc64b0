//! Arrays as PostgreSQL writes them: `{1,NULL,"a b"}`.

/// Reads the elements of an array of one dimension; `None` if the text is no such array.
///
/// | text            | elements            |
/// |-----------------|---------------------|
/// | `{}`            | none                |
/// | `{1, 2}`        | `1`, `2`            |
/// | `{NULL,"NULL"}` | NULL, `NULL`        |
/// | `{"a\"b",c d}`  | `a"b`, `c d`        |
pub fn elements(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut all = Vec::new();
    let mut characters = inner.chars().peekable();
    loop {
        while characters.next_if(|c| c.is_whitespace()).is_some() {}
        let mut element = String::new();
        let quoted = characters.next_if_eq(&'"').is_some();
        if quoted {
            loop {
                match characters.next()? {
                    '"' => break,
                    '\\' => element.push(characters.next()?),
                    other => element.push(other),
                }
            }
            while characters.next_if(|c| c.is_whitespace()).is_some() {}
        } else {
            while let Some(next) = characters.next_if(|c| *c != ',') {
                match next {
                    '{' | '}' | '"' => return None,
                    '\\' => element.push(characters.next()?),
                    other => element.push(other),
                }
            }
            element.truncate(element.trim_end().len());
            if element.is_empty() {
                return None;
            }
        }
        let is_null = !quoted && element.eq_ignore_ascii_case("null");
        all.push((!is_null).then_some(element));
        match characters.next() {
            None => return Some(all),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

/// Writes an array.
pub fn array_text<'a>(elements: impl Iterator<Item = Option<&'a str>>) -> String {
    let mut text = String::from("{");
    for (at, element) in elements.enumerate() {
        if at > 0 {
            text.push(',');
        }
        match element {
            None => text.push_str("NULL"),
            Some(element) if is_plain(element) => text.push_str(element),
            Some(element) => {
                text.push('"');
                for character in element.chars() {
                    if matches!(character, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(character);
                }
                text.push('"');
            }
        }
    }
    text.push('}');
    text
}

fn is_plain(element: &str) -> bool {
    let special = |c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || c.is_whitespace();
    !element.is_empty() && !element.eq_ignore_ascii_case("null") && !element.contains(special)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_written_and_read() {
        let cases: [(&str, &[Option<&str>]); 5] = [
            ("{}", &[]),
            ("{1,2}", &[Some("1"), Some("2")]),
            ("{NULL,\"NULL\",\"\"}", &[None, Some("NULL"), Some("")]),
            (
                "{\"a b\",\"c\\\"d\",\"e\\\\f\"}",
                &[Some("a b"), Some("c\"d"), Some("e\\f")],
            ),
            ("{\"{\",\"}\",\",\"}", &[Some("{"), Some("}"), Some(",")]),
        ];
        for (text, all) in cases {
            assert_eq!(array_text(all.iter().copied()), text);
            let read = elements(text).expect("the text is an array");
            assert!(
                read.iter().map(Option::as_deref).eq(all.iter().copied()),
                "{text}"
            );
        }
        assert_eq!(
            elements("{ 1 , x y }"),
            Some(vec![Some("1".into()), Some("x y".into())])
        );
        for bad in ["", "1", "{", "{1", "{,}", "{1,}", "{\"a}", "{{1}}", "{\"a\"b}"] {
            assert_eq!(elements(bad), None, "{bad}");
        }
    }
}
