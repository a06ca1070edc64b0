//! Splits CSV into records, with PostgreSQL's rules.
//!
//! Fields end at the delimiter, records at a line's end (`\n`, `\r\n` or `\r`). Within quotes both are
//! text; the escape character, which is the quote unless said otherwise, guards a quote. A field that
//! was quoted anywhere is never NULL, so `,,` is NULL and `,"",` an empty string. That difference is why
//! this is not left to a library: the common ones do not report it.
//!
//! The text format has the same records, see `text`.
//!
//! Deliberately not here: what a field means.

use std::io::Read;

use super::text::{END, LineEnd};
use rukh_error::SqlError;
use rukh_syntax::{CopyFormat, CopyOptions};

/// Bytes read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Longest record: a missing quote must not read a whole file into memory.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// One line of a CSV file; lines within quotes count as one.
#[derive(Debug, Default)]
pub(in crate::sql::copy) struct Record {
    pub(in crate::sql::copy) text: Vec<u8>,
    /// End of each field in `text`, and whether it was quoted.
    ends: Vec<(usize, bool)>,
    /// Number of its first line, from 1.
    pub(in crate::sql::copy) line: u64,
}

impl Record {
    /// Returns the number of fields.
    pub(in crate::sql::copy) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a field and whether it was quoted.
    pub(in crate::sql::copy) fn field(&self, position: usize) -> (&[u8], bool) {
        let start = if position == 0 {
            0
        } else {
            self.ends[position - 1].0
        };
        let (end, quoted) = self.ends[position];
        (&self.text[start..end], quoted)
    }

    pub(in crate::sql::copy) fn clear(&mut self, line: u64) {
        self.text.clear();
        self.ends.clear();
        self.line = line;
    }

    pub(in crate::sql::copy) fn end_field(&mut self, quoted: &mut bool) {
        self.ends.push((self.text.len(), std::mem::take(quoted)));
    }

    pub(in crate::sql::copy) fn push_field(&mut self, text: &[u8], quoted: bool) {
        self.text.extend_from_slice(text);
        self.ends.push((self.text.len(), quoted));
    }

    /// Whether this is the line that ends what a client sends.
    fn is_end(&self) -> bool {
        self.ends.len() == 1 && self.field(0) == (END, false)
    }
}

/// The records of a file, one after another.
pub(in crate::sql::copy) struct Records<R> {
    input: R,
    buffer: Vec<u8>,
    /// What of `buffer` is still to be read.
    pub(in crate::sql::copy) start: usize,
    end: usize,
    pub(in crate::sql::copy) line: u64,
    bytes: u64,
    /// The line of text that is read, as it is written.
    pub(in crate::sql::copy) raw: Vec<u8>,
    /// How lines of text end, once that is known.
    pub(in crate::sql::copy) line_end: Option<LineEnd>,
    /// The NULL word of text; `None` for CSV.
    text_null: Option<Vec<u8>>,
    /// Whether a line `\.` ends CSV.
    has_end: bool,
    pub(in crate::sql::copy) delimiter: u8,
    quote: u8,
    escape: u8,
}

impl<R: Read> Records<R> {
    /// Starts at the first line of a file; a byte order mark is passed over.
    pub(in crate::sql::copy) fn new(input: R, options: &CopyOptions) -> std::io::Result<Self> {
        let CopyOptions {
            delimiter,
            quote,
            escape,
            ..
        } = *options;
        let buffer = vec![0; BUFFER_BYTES];
        let mut records = Records {
            input,
            buffer,
            start: 0,
            end: 0,
            line: 1,
            bytes: 0,
            raw: Vec::new(),
            line_end: None,
            text_null: (options.format == CopyFormat::Text).then(|| options.null.as_bytes().to_vec()),
            has_end: false,
            delimiter,
            quote,
            escape,
        };
        records.fill()?;
        if records.buffer[..records.end].starts_with(b"\xef\xbb\xbf") {
            records.start = 3;
        }
        Ok(records)
    }

    /// Takes a line `\.` for the end, as clients send it.
    pub(in crate::sql::copy) fn ended_by_mark(mut self) -> Self {
        self.has_end = true;
        self
    }

    /// Returns how many bytes of the file have been read.
    pub(in crate::sql::copy) fn bytes(&self) -> u64 {
        self.bytes - (self.end - self.start) as u64
    }

    /// Reads the next record into `record`; false at the end of the file.
    ///
    /// Fails with 22P04 on a quoted field that does not end.
    pub(in crate::sql::copy) fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        let Some(null) = self.text_null.take() else {
            return Ok(self.read_csv(record)? && !(self.has_end && record.is_end()));
        };
        let read = self.read_text(record, &null);
        self.text_null = Some(null);
        read
    }

    fn read_csv(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        record.clear(self.line);
        let mut quoted = false;
        loop {
            self.copy_plain(record)?;
            match self.next()? {
                Some(byte) if byte == self.quote => {
                    quoted = true;
                    self.read_quoted(record)?;
                }
                Some(byte) if byte == self.delimiter => record.end_field(&mut quoted),
                Some(byte) => {
                    if byte == b'\r' && self.peek()? == Some(b'\n') {
                        self.start += 1;
                    }
                    self.line += 1;
                    record.end_field(&mut quoted);
                    return Ok(true);
                }
                None if record.text.is_empty() && record.ends.is_empty() && !quoted => return Ok(false),
                None => {
                    record.end_field(&mut quoted);
                    return Ok(true);
                }
            }
        }
    }

    /// Copies bytes up to the next delimiter, quote or line end.
    fn copy_plain(&mut self, record: &mut Record) -> Result<(), ReadError> {
        let (delimiter, quote) = (self.delimiter, self.quote);
        let stops = |byte: u8| byte == delimiter || byte == quote || byte == b'\n' || byte == b'\r';
        self.copy_until(&mut record.text, record.line, stops)
    }

    /// Copies a quoted part up to its closing quote.
    fn read_quoted(&mut self, record: &mut Record) -> Result<(), ReadError> {
        let (quote, escape) = (self.quote, self.escape);
        loop {
            let stops = |byte: u8| byte == quote || byte == escape || byte == b'\n';
            self.copy_until(&mut record.text, record.line, stops)?;
            match self.next()? {
                Some(b'\n') => {
                    self.line += 1;
                    record.text.push(b'\n');
                }
                Some(byte) => match self.peek()? {
                    Some(next) if byte == escape && (next == quote || next == escape) => {
                        record.text.push(next);
                        self.start += 1;
                    }
                    _ if byte == quote => return Ok(()),
                    _ => record.text.push(byte),
                },
                None => {
                    let error = SqlError::statement("22P04", "unterminated CSV quoted field");
                    return Err(ReadError::Sql(Box::new(error), record.line));
                }
            }
        }
    }

    /// Copies bytes of the record in line `number` up to one that stops it.
    pub(in crate::sql::copy) fn copy_until(
        &mut self,
        text: &mut Vec<u8>,
        number: u64,
        stops: impl Fn(u8) -> bool,
    ) -> Result<(), ReadError> {
        while self.peek()?.is_some() {
            let rest = &self.buffer[self.start..self.end];
            let length = rest.iter().position(|byte| stops(*byte)).unwrap_or(rest.len());
            text.extend_from_slice(&rest[..length]);
            self.start += length;
            if text.len() > RECORD_BYTES_MAX {
                let error = SqlError::statement("54000", "a record is longer than 256 MiB");
                return Err(ReadError::Sql(Box::new(error), number));
            }
            if self.start < self.end {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(in crate::sql::copy) fn next(&mut self) -> std::io::Result<Option<u8>> {
        let byte = self.peek()?;
        self.start += usize::from(byte.is_some());
        Ok(byte)
    }

    pub(in crate::sql::copy) fn peek(&mut self) -> std::io::Result<Option<u8>> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(self.buffer[self.start..self.end].first().copied())
    }

    /// Reads on when all of the buffer has been read.
    fn fill(&mut self) -> std::io::Result<()> {
        self.start = 0;
        self.end = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.bytes += self.end as u64;
        Ok(())
    }
}

/// Why a record could not be read.
#[derive(Debug)]
pub(in crate::sql::copy) enum ReadError {
    /// The file failed.
    Io(std::io::Error),
    /// The record that starts in this line is not CSV.
    Sql(Box<SqlError>, u64),
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        ReadError::Io(error)
    }
}
