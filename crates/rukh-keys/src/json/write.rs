//! Writes JSON as text, as PostgreSQL does.

use std::fmt::{self, Write};

use super::form::{Jsonb, JsonbKind};
use super::number::displayed;
use super::tree::Json;

/// Writes a document as JSONB is displayed, `{"a": [1, 2]}`, its members in their own order.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(number) => write!(f, "{number}"),
            Json::Text(text) => quote_json(text, f),
            Json::Array(elements) => {
                let elements = elements.iter();
                list(f, ['[', ']'], elements, |f, element| write!(f, "{element}"))
            }
            Json::Object(members) => list(f, ['{', '}'], members.iter(), |f, (name, value)| {
                quote_json(name, f)?;
                write!(f, ": {value}")
            }),
        }
    }
}

/// Writes a value as `{"a": [1, 2]}`.
impl fmt::Display for Jsonb<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            JsonbKind::Array => list(f, ['[', ']'], self.elements(), |f, element| {
                write!(f, "{element}")
            }),
            JsonbKind::Object => list(f, ['{', '}'], self.members(), |f, (name, value)| {
                quote_json(name, f)?;
                write!(f, ": {value}")
            }),
            _ => scalar(*self, f),
        }
    }
}

fn scalar(value: Jsonb<'_>, out: &mut impl Write) -> fmt::Result {
    match value.kind() {
        JsonbKind::Bool(value) => write!(out, "{value}"),
        JsonbKind::Number => out.write_str(&displayed(value.text())),
        JsonbKind::Text => quote_json(value.text(), out),
        _ => out.write_str("null"),
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    mut item: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (at, of) in items.enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        item(f, of)?;
    }
    f.write_char(close)
}

impl Jsonb<'_> {
    /// Returns the value as `->>` does: a string without its quotes, `None` of `null`.
    pub fn as_text(self) -> Option<String> {
        match self.kind() {
            JsonbKind::Null => None,
            JsonbKind::Text => Some(self.text().to_owned()),
            _ => Some(self.to_string()),
        }
    }

    /// Returns the value over several lines, each level indented by four blanks.
    pub fn pretty(self) -> String {
        let mut out = String::new();
        // Writing into a String does not fail.
        let _ = pretty(self, 0, &mut out);
        out
    }
}

fn pretty(value: Jsonb<'_>, level: usize, out: &mut String) -> fmt::Result {
    const INDENT: usize = 4;
    let line = |level: usize, out: &mut String| write!(out, "\n{:1$}", "", INDENT * level);
    let (open, close) = match value.kind() {
        JsonbKind::Array => ('[', ']'),
        JsonbKind::Object => ('{', '}'),
        _ => return scalar(value, out),
    };
    out.push(open);
    for (at, element) in value.elements().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        line(level + 1, out)?;
        pretty(element, level + 1, out)?;
    }
    if open == '{' {
        for (at, (name, member)) in value.members().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            line(level + 1, out)?;
            quote_json(name, out)?;
            out.push_str(": ");
            pretty(member, level + 1, out)?;
        }
    }
    line(level, out)?;
    out.push(close);
    Ok(())
}

/// Writes a string in quotes, with what JSON escapes escaped.
///
/// # Errors
/// Those of the writer.
pub fn quote_json(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            8 => out.write_str("\\b")?,
            12 => out.write_str("\\f")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            control => write!(out, "\\u{control:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}
