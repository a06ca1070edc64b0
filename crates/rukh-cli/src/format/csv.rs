//! Comma-separated values by RFC 4180, with line feeds as line ends.
//!
//! | value                                                   | field        |
//! |---------------------------------------------------------|--------------|
//! | NULL                                                    | nothing, or the text set for NULL |
//! | `''`                                                    | `""`         |
//! | text equal to the text set for NULL                     | quoted       |
//! | text with a separator, quote, line feed or carriage return | quoted, `"` doubled |
//! | `\.` alone, which ends a COPY                           | quoted       |

use std::io::{self, Write};

use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;

use super::time::Spelling;
use super::{Frame, RowWriter, Style, value};

/// Writes comma-separated values.
pub struct CsvWriter {
    names: Vec<String>,
    style: Style,
    line: String,
    field: String,
}

impl CsvWriter {
    /// Returns a writer for results of `schema`.
    pub fn new(schema: &SchemaRef, style: &Style) -> CsvWriter {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        CsvWriter {
            names,
            style: style.clone(),
            line: String::new(),
            field: String::new(),
        }
    }

    fn push_field(&mut self, position: usize, null: bool) {
        if position > 0 {
            self.line.push(self.style.delimiter);
        }
        if null {
            self.line.push_str(&self.style.null);
        } else {
            push_quoted(&mut self.line, &self.field, &self.style);
        }
    }

    fn end_line(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.line.push('\n');
        out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }
}

impl RowWriter for CsvWriter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.style.frame == Frame::RowsOnly {
            return Ok(());
        }
        for (position, name) in std::mem::take(&mut self.names).into_iter().enumerate() {
            self.field = name;
            self.push_field(position, false);
        }
        self.end_line(out)
    }

    fn write_batch(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = value::columns(batch)?;
        for row in 0..batch.num_rows() {
            for (position, column) in columns.iter().enumerate() {
                self.field.clear();
                let null = value::is_null(column, row);
                if !null {
                    value::write_text(column, row, Spelling::Text, &mut self.field);
                }
                self.push_field(position, null);
            }
            self.end_line(out)?;
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn push_quoted(line: &mut String, field: &str, style: &Style) {
    let special = |c: char| c == style.delimiter || matches!(c, '"' | '\n' | '\r');
    if field.is_empty() || field == style.null || field == "\\." || field.contains(special) {
        line.push('"');
        line.push_str(&field.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(field);
    }
}
