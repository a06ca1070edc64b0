//! One block a row, one line a column, as psql's expanded display.
//!
//! ```text
//! -[ RECORD 1 ]--
//! id   | 1
//! name | 浙江卫视
//! ```
//!
//! The length of the rules comes from the same bounded sample that the table layout takes.

use std::io::{self, Write};

use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;

use super::sample::Sample;
use super::screen::{escape, width};
use super::{Frame, RowWriter, Style, value};

/// Writes blocks of `name | value` lines.
pub struct ExpandedWriter {
    names: Vec<String>,
    name_width: usize,
    value_width: usize,
    style: Style,
    sample: Option<Sample>,
    rows: u64,
}

impl ExpandedWriter {
    /// Returns a writer for results of `schema`.
    pub fn new(schema: &SchemaRef, style: &Style) -> ExpandedWriter {
        let names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| escape(field.name().clone()).replace('\n', " "))
            .collect();
        let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
        ExpandedWriter {
            names,
            name_width,
            value_width: 0,
            style: style.clone(),
            sample: Some(Sample::default()),
            rows: 0,
        }
    }

    fn write_row(&mut self, out: &mut dyn Write, row: Vec<String>) -> io::Result<()> {
        let Some(sample) = &mut self.sample else {
            return self.write_block(out, &row);
        };
        let widest = row
            .iter()
            .flat_map(|cell| cell.split('\n'))
            .map(width)
            .max()
            .unwrap_or(0);
        self.value_width = self.value_width.max(widest);
        sample.push(row);
        if sample.is_full() {
            self.settle(out)
        } else {
            Ok(())
        }
    }

    /// Ends the sampling phase: writes the rows kept.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rows = self
            .sample
            .take()
            .map(|mut sample| sample.take())
            .unwrap_or_default();
        rows.iter().try_for_each(|row| self.write_block(out, row))
    }

    fn write_block(&mut self, out: &mut dyn Write, row: &[String]) -> io::Result<()> {
        self.rows += 1;
        if self.style.frame == Frame::Full {
            writeln!(out, "{}", self.rule())?;
        } else if self.rows > 1 {
            writeln!(out)?;
        }
        self.names
            .iter()
            .zip(row)
            .try_for_each(|(name, cell)| self.write_cell(out, name, cell))
    }

    /// Returns `-[ RECORD n ]`, drawn on to the width of the block with a `+` above the bars.
    fn rule(&self) -> String {
        let mut rule = format!("-[ RECORD {} ]", self.rows);
        let bar = self.name_width + 1;
        let end = bar + 2 + self.value_width;
        for column in rule.len()..end {
            rule.push(if column == bar { '+' } else { '-' });
        }
        rule
    }

    fn write_cell(&self, out: &mut dyn Write, name: &str, cell: &str) -> io::Result<()> {
        let mut lines = cell.split('\n').peekable();
        let mut name = name;
        while let Some(line) = lines.next() {
            let blanks = " ".repeat(self.name_width - width(name));
            let gap = if line.is_empty() { "" } else { " " };
            let more = if lines.peek().is_some() { "+" } else { "" };
            writeln!(out, "{name}{blanks} |{gap}{line}{more}")?;
            name = "";
        }
        Ok(())
    }
}

impl RowWriter for ExpandedWriter {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn write_batch(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let null = self.style.null.clone();
        value::escaped_rows(batch, &null, &mut |row| self.write_row(out, row))?;
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.settle(out)?;
        match (self.style.frame, self.rows) {
            (Frame::RowsOnly, _) => Ok(()),
            (Frame::Full, 0) => writeln!(out, "(0 rows)\n"),
            (Frame::Full, _) => writeln!(out),
        }
    }
}
