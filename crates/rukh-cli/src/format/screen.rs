//! Text on a character grid: columns taken, padding, and control characters made visible.
//!
//! A value from a table must not move the cursor or recolour the screen, so that everything a terminal
//! would obey is shown as `\x1B`. Line feeds stay: the layouts turn them into lines of a cell.

use unicode_width::UnicodeWidthStr;

/// Columns between two tab stops.
const TAB_WIDTH: usize = 8;

/// The side of a column its values keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Text and all else.
    Left,
    /// Numbers.
    Right,
    /// Headers.
    Centre,
}

/// Returns the terminal columns that `text`, one line without control characters, takes.
///
/// | text  | columns |
/// |-------|---------|
/// | `abc` | 3       |
/// | `好`  | 2       |
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Returns the blanks before and after a text of `used` columns in a field of `field` columns.
pub fn pad(used: usize, field: usize, alignment: Alignment) -> (usize, usize) {
    let free = field.saturating_sub(used);
    match alignment {
        Alignment::Left => (0, free),
        Alignment::Right => (free, 0),
        Alignment::Centre => (free / 2, free - free / 2),
    }
}

/// Makes control characters of a text visible, line feeds excepted; tabs become blanks.
pub fn escape(text: String) -> String {
    if !text.chars().any(|c| c.is_control() && c != '\n') {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut column = 0;
    for c in text.chars() {
        let start = escaped.len();
        match c {
            '\n' => escaped.push('\n'),
            '\t' => escaped.extend(std::iter::repeat_n(' ', TAB_WIDTH - column % TAB_WIDTH)),
            '\r' => escaped.push_str("\\r"),
            c if c.is_ascii_control() => escaped.push_str(&format!("\\x{:02X}", u32::from(c))),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => escaped.push(c),
        }
        column = if c == '\n' {
            0
        } else {
            column + width(&escaped[start..])
        };
    }
    escaped
}

/// Makes a text safe to show on one line: control characters and line feeds become visible, tabs one blank.
pub fn escape_line(text: &str) -> String {
    escape(text.replace('\t', " ")).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        for (text, expected) in [("", 0), ("abc", 3), ("浙江卫视", 8), ("e\u{301}", 1), ("🦀", 2)] {
            assert_eq!(width(text), expected, "{text}");
        }
    }

    #[test]
    fn escapes() {
        let cases = [
            ("plain 好", "plain 好"),
            ("two\nlines", "two\nlines"),
            ("a\tb", "a       b"),
            ("好\tb", "好      b"),
            ("x\n\tb", "x\n        b"),
            ("red \u{1b}[31m", "red \\x1B[31m"),
            ("cr\r\n", "cr\\r\n"),
            ("c1 \u{9b}", "c1 \\u009B"),
            ("\0", "\\x00"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text.to_owned()), expected);
        }
        assert_eq!(escape_line("a\nb\tc"), "a\\nb c");
    }
}
