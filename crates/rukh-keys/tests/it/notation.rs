//! Reads layouts and keys in the form in which they print, for tables of examples.
//!
//! A layout is `INTEGER, VARCHAR DESC, DATE NULL; 16 buckets on 0 1`; a key is `/1/'it''s'/NULL`
//! with control characters as `\x01`.

use crate::support::unhex;
use rukh_keys::{DataType, Datum, KeyColumn, KeyLayout, Salt, SortOrder};

/// An example: the layout, the datums of a key, and its bytes.
pub struct Example {
    pub layout: KeyLayout,
    pub printed: String,
    pub key: Vec<u8>,
}

impl Example {
    pub fn new(layout: &str, printed: &str, key: &str) -> Example {
        Example {
            layout: parse_layout(layout),
            printed: printed.to_owned(),
            key: unhex(key),
        }
    }

    /// Asserts that the datums encode to the bytes, and that these print as the datums.
    pub fn check(&self, name: &str) {
        let row = parse_key(&self.layout, &self.printed);
        let key = self
            .layout
            .encode(&row)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            crate::support::hex(&key),
            crate::support::hex(&self.key),
            "{name}"
        );
        let decoded = self
            .layout
            .decode(&self.key)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded, row, "{name}");
        assert_eq!(self.layout.display(&decoded).to_string(), self.printed, "{name}");
    }
}

pub fn parse_layout(text: &str) -> KeyLayout {
    let (columns, salt) = match text.split_once("; ") {
        Some((columns, salt)) => (columns, Some(parse_salt(salt))),
        None => (text, None),
    };
    KeyLayout::new(columns.split(", ").map(parse_column).collect(), salt)
}

fn parse_salt(text: &str) -> Salt {
    let (buckets, columns) = text.split_once(" buckets on ").expect("n buckets on columns");
    let columns = columns
        .split(' ')
        .map(|column| column.parse().expect("a position"));
    Salt {
        buckets: buckets.parse().expect("a number of buckets"),
        columns: columns.collect(),
    }
}

fn parse_column(text: &str) -> KeyColumn {
    let (text, nullable) = text
        .strip_suffix(" NULL")
        .map_or((text, false), |text| (text, true));
    let (text, order) = match text.strip_suffix(" DESC") {
        Some(text) => (text, SortOrder::Desc),
        None => (text, SortOrder::Asc),
    };
    KeyColumn {
        ty: text.parse().expect("a type"),
        order,
        nullable,
    }
}

pub fn parse_key(layout: &KeyLayout, text: &str) -> Vec<Datum> {
    let elements = split_elements(text);
    assert_eq!(
        elements.len(),
        layout.columns().len(),
        "{text} has an element per column"
    );
    let columns = layout.columns().iter().zip(elements);
    columns
        .map(|(column, element)| parse_element(column.ty, &element))
        .collect()
}

/// Splits at slashes that stand outside of quotes.
fn split_elements(text: &str) -> Vec<String> {
    let mut elements: Vec<String> = Vec::new();
    let mut quoted = false;
    for character in text.chars() {
        quoted ^= character == '\'';
        match elements.last_mut() {
            Some(last) if quoted || character != '/' => last.push(character),
            _ => elements.push(String::new()),
        }
    }
    elements
}

fn parse_element(ty: DataType, element: &str) -> Datum {
    let inside = |start: &str| Some(element.strip_prefix(start)?.strip_suffix('\'')?.to_owned());
    let datum = if element == "NULL" {
        Datum::Null
    } else if let Some(digits) = inside("x'") {
        Datum::Bytes(unhex(&digits))
    } else if let Some(text) = inside("'") {
        match ty {
            DataType::Inet | DataType::Cidr => ty.parse_text(&text).expect("an address"),
            _ if ty.element().is_some() => ty.parse_text(&text).expect("an array"),
            _ => Datum::Text(unescape(&text.replace("''", "'"))),
        }
    } else {
        ty.parse_text(element).expect("a value")
    };
    ty.check(datum).expect("a value of the type")
}

/// Turns `\x01` into the character.
fn unescape(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push(char::from(unhex(&part[..2])[0]));
        out.push_str(&part[2..]);
    }
    out
}
