//! Cuts the lines of a script into statements and backslash commands.
//!
//! A line that begins with a backslash where no statement is open is a command, and so is what follows a
//! statement on its line (`SELECT 1; \q`). What remains at the end of the input is run as a statement even
//! without its semicolon. Input is read line by line, so that a script of any length streams and a
//! program at the other end of a pipe gets its answers.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::ops::Range;

use crate::words::lexer;

/// Below this size every line with a semicolon is a chance to cut; above it only a line that ends with one,
/// or a text that has doubled. Each byte is then looked at a bounded number of times, however many
/// semicolons stand inside the strings of a long statement.
const EAGER_BYTES: usize = 64 << 10;

/// One thing to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What kind of thing.
    pub kind: ItemKind,
    /// Its text; positions of errors count from here.
    pub text: String,
    /// The line the text starts on, counted from 1.
    pub line: usize,
}

/// The two kinds of things a script holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// SQL for the database.
    Statement,
    /// A backslash command for this tool.
    Command,
}

/// The items of a reader, in order.
pub struct Input<R> {
    reader: R,
    /// Text read and not yet cut.
    buffer: String,
    /// The line on which `buffer` starts.
    buffer_line: usize,
    /// The length of `buffer` at the last search that found nothing.
    searched: usize,
    ready: VecDeque<Item>,
}

impl<R: BufRead> Input<R> {
    /// Returns the items of `reader`.
    pub fn new(reader: R) -> Input<R> {
        Input {
            reader,
            buffer: String::new(),
            buffer_line: 1,
            searched: 0,
            ready: VecDeque::new(),
        }
    }

    /// Returns the line that is read next, counted from 1.
    pub fn line(&self) -> usize {
        self.buffer_line + lines(&self.buffer)
    }

    /// Returns whether a statement is begun and not ended.
    pub fn is_open(&self) -> bool {
        !lexer::is_blank(&self.buffer)
    }

    /// Forgets a statement that is begun and not ended.
    pub fn discard(&mut self) {
        self.drop_front(self.buffer.len());
        self.searched = 0;
    }

    /// Reads one line; afterwards [`next_ready`](Input::next_ready) may give items. Returns false at the end.
    pub fn read_line(&mut self) -> io::Result<bool> {
        let mut bytes = Vec::new();
        if self.reader.read_until(b'\n', &mut bytes)? == 0 {
            self.finish();
            return Ok(false);
        }
        let line = String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
        self.push_line(line.strip_prefix('\u{feff}').unwrap_or(&line));
        Ok(true)
    }

    /// Returns the next item that is complete.
    pub fn next_ready(&mut self) -> Option<Item> {
        self.ready.pop_front()
    }

    fn push_line(&mut self, line: &str) {
        if line.trim_start().starts_with('\\') {
            if self.searched < self.buffer.len() {
                self.cut();
            }
            if lexer::is_blank(&self.buffer) {
                self.discard();
                self.buffer.push_str(line);
                self.push(ItemKind::Command, 0..line.len());
                return self.discard();
            }
        }
        self.buffer.push_str(line);
        if self.is_worth_cutting(line) {
            self.cut();
        }
    }

    fn is_worth_cutting(&self, line: &str) -> bool {
        let doubled = self.buffer.len() >= 2 * self.searched;
        line.contains(';') && (self.buffer.len() <= EAGER_BYTES || doubled || line.trim_end().ends_with(';'))
    }

    /// Takes the complete statements off the buffer, and the commands that follow statements on their line.
    fn cut(&mut self) {
        while let Some(start) = self.cut_statements() {
            let end = self.buffer[start..]
                .find('\n')
                .map_or(self.buffer.len(), |len| start + len);
            self.push(ItemKind::Command, start..end);
            self.drop_front(end);
        }
        self.searched = self.buffer.len();
    }

    /// Takes statements off the front of the buffer, up to a command; returns where that starts.
    fn cut_statements(&mut self) -> Option<usize> {
        let split = rukh::split_statements(&self.buffer);
        for statement in split.statements {
            if self.buffer[statement.start..].starts_with('\\') {
                return Some(statement.start);
            }
            self.push(ItemKind::Statement, statement);
        }
        if self.buffer[split.rest.start..].starts_with('\\') {
            return Some(split.rest.start);
        }
        self.drop_front(split.rest.start);
        None
    }

    fn finish(&mut self) {
        self.cut();
        let rest = self.buffer.trim_end().len();
        if rest > 0 {
            self.push(ItemKind::Statement, 0..rest);
        }
        self.discard();
    }

    /// Queues the item that stands in `range` of the buffer.
    fn push(&mut self, kind: ItemKind, range: Range<usize>) {
        let line = self.buffer_line + lines(&self.buffer[..range.start]);
        let text = self.buffer[range].trim().to_owned();
        self.ready.push_back(Item { kind, text, line });
    }

    /// Forgets the first `len` bytes of the buffer.
    fn drop_front(&mut self, len: usize) {
        self.buffer_line += lines(&self.buffer[..len]);
        self.buffer.drain(..len);
    }
}

/// Returns the items of a text in memory.
pub fn items(text: &str) -> Vec<Item> {
    let mut input = Input::new(io::empty());
    text.split_inclusive('\n').for_each(|line| input.push_line(line));
    input.finish();
    input.ready.into()
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let items = items(text);
        let show = |item: &Item| {
            format!(
                "{}{}:{}",
                if item.kind == ItemKind::Command { "!" } else { "" },
                item.line,
                item.text
            )
        };
        items.iter().map(show).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn cuts() {
        let cases = [
            ("SELECT 1;", "1:SELECT 1"),
            ("SELECT 1", "1:SELECT 1"),
            (
                "SELECT 1; SELECT 2;\nSELECT 3",
                "1:SELECT 1 | 1:SELECT 2 | 2:SELECT 3",
            ),
            ("SELECT\n 1;\n\n/* b */\nSELECT 2;\n", "1:SELECT\n 1 | 5:SELECT 2"),
            ("\\dt\nSELECT 1;\n \\q\n", "!1:\\dt | 2:SELECT 1 | !3:\\q"),
            ("SELECT 1; \\q\nSELECT 2;", "1:SELECT 1 | !1:\\q | 2:SELECT 2"),
            (
                "SELECT 1; \\echo a; b\nSELECT 2;",
                "1:SELECT 1 | !1:\\echo a; b | 2:SELECT 2",
            ),
            ("SELECT 1 -- ;\n;\nSELECT 2;", "1:SELECT 1 | 3:SELECT 2"),
            ("-- note\n\\dt\n", "!2:\\dt"),
            (";;\n;", ""),
            ("SELECT ';\n\\x';", "1:SELECT ';\n\\x'"),
            ("-- only; a comment\n", ""),
            ("SELECT 1; -- done\n", "1:SELECT 1"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn statements_of_many_lines_are_cut_at_their_end() {
        let values = "(1, 'Mozilla/5.0 (X11; Linux x86_64)'),\n".repeat(5_000);
        let text = format!("INSERT INTO t VALUES\n{values}(2, 'x');\nSELECT 1; -- end\n\\q\n");
        let items = items(&text);
        let kinds: Vec<_> = items.iter().map(|item| (item.kind, item.line)).collect();
        assert_eq!(
            kinds,
            [
                (ItemKind::Statement, 1),
                (ItemKind::Statement, 5_003),
                (ItemKind::Command, 5_004)
            ]
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        let mut input = Input::new("\u{feff}SELECT 1;\n".as_bytes());
        assert!(input.read_line().expect("memory can be read"));
        assert_eq!(
            input.next_ready().map(|item| item.text),
            Some("SELECT 1".to_owned())
        );
    }

    #[test]
    fn other_encodings_are_refused() {
        let mut input = Input::new(&b"SELECT '\xff';\n"[..]);
        assert_eq!(
            input.read_line().map_err(|error| error.to_string()),
            Err("it is not UTF-8".to_owned())
        );
    }
}
