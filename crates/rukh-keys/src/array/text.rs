//! Arrays as PostgreSQL writes them: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`.

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

/// Reads an array of one or more dimensions: its lengths, and its elements row by row; `None` if the text is no such
/// array.
///
/// `{}` has no dimension. `{{1,2},{3,4}}` has the lengths 2 and 2; arrays within one have the same lengths. There are at
/// most 6 dimensions, as in PostgreSQL.
pub fn dimensions(text: &str) -> Option<(Vec<usize>, Vec<Option<String>>)> {
    dimensions_up_to(text, DIMENSIONS_MAX)
}

/// Most dimensions of an array.
const DIMENSIONS_MAX: usize = 6;

fn dimensions_up_to(text: &str, most: usize) -> Option<(Vec<usize>, Vec<Option<String>>)> {
    let deeper = most.checked_sub(1)?;
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    if !inner.trim_start().starts_with('{') {
        let elements = elements(text)?;
        let lengths = if elements.is_empty() {
            Vec::new()
        } else {
            vec![elements.len()]
        };
        return Some((lengths, elements));
    }
    let (mut lengths, mut all, mut count) = (None, Vec::new(), 0_usize);
    for part in parts(inner)? {
        let (within, elements) = dimensions_up_to(part, deeper)?;
        if within.is_empty() || lengths.get_or_insert_with(|| within.clone()) != &within {
            return None;
        }
        all.extend(elements);
        count = count.checked_add(1)?;
    }
    let mut of_all = vec![count];
    of_all.extend(lengths?);
    Some((of_all, all))
}

/// Takes arrays apart that commas part.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' => depth = depth.checked_add(1)?,
            '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at.checked_add(1)?;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    (depth == 0 && !quoted).then_some(parts)
}

/// Writes an array of these lengths, whose elements come row by row.
#[expect(clippy::arithmetic_side_effects, reason = "the divisor is at least one")]
pub fn array_of_dimensions(lengths: &[usize], elements: &[Option<String>]) -> String {
    match lengths {
        [] => "{}".to_string(),
        [_] => array_text(elements.iter().map(Option::as_deref)),
        [count, within @ ..] => {
            let size = (elements.len() / (*count).max(1)).max(1);
            let rows = elements.chunks(size).map(|row| array_of_dimensions(within, row));
            format!("{{{}}}", rows.collect::<Vec<_>>().join(","))
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
    fn arrays_of_dimensions_are_read_and_written() {
        let some = |texts: &[&str]| -> Vec<Option<String>> {
            texts
                .iter()
                .map(|text| (*text != "NULL").then(|| text.to_string()))
                .collect()
        };
        let cases = [
            ("{}", vec![], some(&[])),
            ("{1,2}", vec![2], some(&["1", "2"])),
            ("{{1,2},{3,NULL}}", vec![2, 2], some(&["1", "2", "3", "NULL"])),
            ("{{\"a},{\",b}}", vec![1, 2], some(&["a},{", "b"])),
            (
                "{{{1},{2}},{{3},{4}}}",
                vec![2, 2, 1],
                some(&["1", "2", "3", "4"]),
            ),
        ];
        for (text, lengths, elements) in cases {
            assert_eq!(array_of_dimensions(&lengths, &elements), text);
            assert_eq!(dimensions(text), Some((lengths, elements)), "{text}");
        }
        for bad in [
            "{{{{{{{1}}}}}}}",
            "{{1,2},{3}}",
            "{{1},2}",
            "{{1}",
            "{{}}",
            "{{1},{}}",
            "{1,{2}}",
        ] {
            assert_eq!(dimensions(bad), None, "{bad}");
        }
    }

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
