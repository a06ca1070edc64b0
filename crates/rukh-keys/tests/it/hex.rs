//! The table `keys.txt`: keys and their bytes, checked both ways, and what decoding refuses.

use crate::notation::{Example, parse_layout};
use crate::support::unhex;

const TABLE: &str = include_str!("keys.txt");

#[test]
fn keys_have_the_bytes_of_the_table() {
    for line in TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        check(line).unwrap_or_else(|| panic!("not a line of the table: {line}"));
    }
}

fn check(line: &str) -> Option<()> {
    let (name, rest) = line.split_once(": (")?;
    let (left, right) = rest.split_once(" => ")?;
    let at = left.rfind(") ")?;
    let (layout, given) = (&left[..at], &left[at + 2..]);
    match unquote(given) {
        None => Example::new(layout, given, unquote(right)?).check(name),
        Some(bytes) => {
            let error = parse_layout(layout).decode(&unhex(bytes)).expect_err(name);
            assert_eq!(error.to_string(), right, "{name}");
        }
    }
    Some(())
}

fn unquote(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}
