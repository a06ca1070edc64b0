//! Splits PostgreSQL's text format into records.
//!
//! Fields end at the delimiter, records at a line's end. A backslash guards both, and stands for other bytes:
//! `\b \f \n \r \t \v`, `\o \oo \ooo` in octal, `\xh \xhh` in hexadecimal; before any other it only says
//! that this one is itself. A field that as it is written is the NULL word (`\N`) is NULL. A line `\.` ends
//! the data, whatever follows. All lines end alike: `\n`, `\r\n` or `\r`.

use std::io::Read;

use super::csv::{ReadError, Record, Records};
use rukh_error::SqlError;

/// How the lines of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql::copy) enum LineEnd {
    /// `\n`
    Newline,
    /// `\r\n`
    Both,
    /// `\r`
    Return,
}

/// The line that ends the data.
pub(in crate::sql::copy) const END: &[u8] = b"\\.";

impl<R: Read> Records<R> {
    /// Reads the next line into `record`; false at the end of the data.
    ///
    /// Fails with 22P04 on a line end that differs from those before.
    pub(in crate::sql::copy) fn read_text(
        &mut self,
        record: &mut Record,
        null: &[u8],
    ) -> Result<bool, ReadError> {
        record.clear(self.line);
        let mut line = std::mem::take(&mut self.raw);
        line.clear();
        let is_there = self.read_line(&mut line, record.line)? && line != END;
        if is_there {
            self.split(&line, record, null);
        }
        self.raw = line;
        Ok(is_there)
    }

    /// Reads up to the next line end that no backslash guards; false at the end of the file.
    fn read_line(&mut self, line: &mut Vec<u8>, number: u64) -> Result<bool, ReadError> {
        loop {
            self.copy_until(line, number, |byte| matches!(byte, b'\n' | b'\r' | b'\\'))?;
            let end = match self.next()? {
                None => return Ok(!line.is_empty()),
                Some(b'\\') => {
                    line.push(b'\\');
                    if let Some(guarded) = self.next()? {
                        line.push(guarded);
                        self.line += u64::from(guarded == b'\n');
                    }
                    continue;
                }
                Some(b'\n') => LineEnd::Newline,
                Some(_) if self.line_end != Some(LineEnd::Return) && self.peek()? == Some(b'\n') => {
                    self.start += 1;
                    LineEnd::Both
                }
                Some(_) => LineEnd::Return,
            };
            if *self.line_end.get_or_insert(end) != end {
                return Err(ReadError::Sql(Box::new(other_line_end(end)), number));
            }
            self.line += 1;
            return Ok(true);
        }
    }

    /// Takes a line apart.
    fn split(&self, line: &[u8], record: &mut Record, null: &[u8]) {
        let mut rest = line;
        loop {
            let end = field_end(rest, self.delimiter);
            let field = &rest[..end];
            match field == null {
                // As CSV has it: what was not quoted and is the word.
                true => record.push_field(null, false),
                false => {
                    unescape(field, record);
                    record.end_field(&mut true);
                }
            }
            match rest.get(end + 1..) {
                Some(more) => rest = more,
                None => return,
            }
        }
    }
}

fn other_line_end(end: LineEnd) -> SqlError {
    let (name, escape) = match end {
        LineEnd::Newline => ("newline", "\\n"),
        LineEnd::Both | LineEnd::Return => ("carriage return", "\\r"),
    };
    SqlError::statement("22P04", format!("literal {name} found in data"))
        .with_hint(format!("Use \"{escape}\" to represent {name}."))
}

/// Returns where the first field ends.
fn field_end(line: &[u8], delimiter: u8) -> usize {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == delimiter => return at,
            _ => at += 1,
        }
    }
    line.len()
}

/// Appends what a field stands for.
fn unescape(field: &[u8], record: &mut Record) {
    let mut rest = field;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        record.text.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((first, after)) = rest.split_first() else {
            return;
        };
        let (byte, length) = match first {
            b'b' => (0x08, 0),
            b'f' => (0x0c, 0),
            b'n' => (b'\n', 0),
            b'r' => (b'\r', 0),
            b't' => (b'\t', 0),
            b'v' => (0x0b, 0),
            b'0'..=b'7' => {
                let (value, length) = number(rest, 8, 3);
                (value, length - 1)
            }
            b'x' if after.first().is_some_and(u8::is_ascii_hexdigit) => number(after, 16, 2),
            other => (*other, 0),
        };
        record.text.push(byte);
        rest = &after[length..];
    }
    record.text.extend_from_slice(rest);
}

/// Reads digits; returns the byte and how many there were. What is too much for a byte is cut off.
fn number(text: &[u8], base: u32, digits_max: usize) -> (u8, usize) {
    let digits = text.iter().take(digits_max);
    let digits: Vec<u32> = digits
        .map_while(|byte| char::from(*byte).to_digit(base))
        .collect();
    let value = digits.iter().fold(0, |value, digit| value * base + digit);
    ((value & 0xff) as u8, digits.len())
}

/// Appends a value as a field of text.
pub(in crate::sql::copy) fn escape_into(line: &mut Vec<u8>, text: &str, delimiter: u8) {
    for byte in text.bytes() {
        let letter = match byte {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b'\\' => b'\\',
            byte if byte == delimiter => byte,
            _ => {
                line.push(byte);
                continue;
            }
        };
        line.extend([b'\\', letter]);
    }
}
