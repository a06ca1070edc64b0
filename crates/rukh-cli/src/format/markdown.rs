//! A pipe table, for pasting into documents.
//!
//! ```text
//! | id | name |
//! |---:|:-----|
//! | 1 | a\|b |
//! ```
//!
//! Cells are not padded, so that rows stream. `|` and `\` are escaped, line feeds become `<br>`.

use std::io::{self, Write};

use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;

use super::screen::{Alignment, escape};
use super::{Frame, RowWriter, Style, value};

/// Writes a pipe table.
pub struct MarkdownWriter {
    columns: Vec<(String, Alignment)>,
    style: Style,
}

impl MarkdownWriter {
    /// Returns a writer for results of `schema`.
    pub fn new(schema: &SchemaRef, style: &Style) -> MarkdownWriter {
        let columns = schema
            .fields()
            .iter()
            .map(|field| (cell(field.name().clone()), value::alignment(field.data_type())));
        MarkdownWriter {
            columns: columns.collect(),
            style: style.clone(),
        }
    }
}

impl RowWriter for MarkdownWriter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.style.frame == Frame::RowsOnly {
            return Ok(());
        }
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rules = self.columns.iter().map(|(_, alignment)| {
            if *alignment == Alignment::Right {
                "---:"
            } else {
                ":---"
            }
        });
        writeln!(out, "| {} |", names.join(" | "))?;
        writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"))
    }

    fn write_batch(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = value::columns(batch)?;
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| cell(value::text(column, row, &self.style.null)))
                .collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn cell(text: String) -> String {
    let backslashes = text.replace('\\', "\\\\").replace('|', "\\|");
    escape(backslashes).replace('\n', "<br>")
}
