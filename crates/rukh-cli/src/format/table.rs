//! Aligned columns, as psql prints them.
//!
//! ```text
//!  id |   name
//! ----+----------
//!   1 | 浙江卫视
//!   2 | two     +
//!     | lines
//! (2 rows)
//! ```
//!
//! Widths come from the header and a bounded sample of rows; rows after the sample are written at once,
//! and a value wider than its column then pushes the rest of its line to the right. Nothing is padded
//! after the last column.

use std::io::{self, Write};

use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;

use super::sample::Sample;
use super::screen::{Alignment, escape, pad, width};
use super::{Frame, RowWriter, Style, value};

/// Writes aligned columns.
pub struct TableWriter {
    columns: Vec<Column>,
    style: Style,
    phase: Phase,
    rows: u64,
}

struct Column {
    name: String,
    alignment: Alignment,
    width: usize,
}

enum Phase {
    Sampling(Sample),
    Streaming,
}

impl TableWriter {
    /// Returns a writer for results of `schema`.
    pub fn new(schema: &SchemaRef, style: &Style) -> TableWriter {
        let columns = schema.fields().iter().map(|field| {
            let name = escape(field.name().clone());
            let width = if style.frame == Frame::Full {
                text_width(&name)
            } else {
                0
            };
            Column {
                name,
                alignment: value::alignment(field.data_type()),
                width,
            }
        });
        TableWriter {
            columns: columns.collect(),
            style: style.clone(),
            phase: Phase::Sampling(Sample::default()),
            rows: 0,
        }
    }

    fn write_row(&mut self, out: &mut dyn Write, row: Vec<String>) -> io::Result<()> {
        match &mut self.phase {
            Phase::Streaming => write_cells(out, &self.columns, &row, None),
            Phase::Sampling(sample) => {
                for (column, cell) in self.columns.iter_mut().zip(&row) {
                    column.width = column.width.max(text_width(cell));
                }
                sample.push(row);
                if sample.is_full() {
                    self.settle(out)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Ends the sampling phase: writes the header and the rows kept.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Phase::Sampling(mut sample) = std::mem::replace(&mut self.phase, Phase::Streaming) else {
            return Ok(());
        };
        if self.style.frame == Frame::Full {
            self.write_header(out)?;
        }
        sample
            .take()
            .iter()
            .try_for_each(|row| write_cells(out, &self.columns, row, None))
    }

    fn write_header(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        write_cells(out, &self.columns, &names, Some(Alignment::Centre))?;
        let rules: Vec<String> = self
            .columns
            .iter()
            .map(|column| "-".repeat(column.width + 2))
            .collect();
        writeln!(
            out,
            "{}",
            if rules.is_empty() {
                "--".to_owned()
            } else {
                rules.join("+")
            }
        )
    }
}

impl RowWriter for TableWriter {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn write_batch(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let null = self.style.null.clone();
        value::escaped_rows(batch, &null, &mut |row| self.write_row(out, row))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.settle(out)?;
        if self.style.frame == Frame::Full {
            writeln!(
                out,
                "({} {})\n",
                self.rows,
                if self.rows == 1 { "row" } else { "rows" }
            )?;
        }
        Ok(())
    }
}

/// Returns the columns of the widest line of `text`.
fn text_width(text: &str) -> usize {
    text.split('\n').map(width).max().unwrap_or(0)
}

/// Writes one row; a cell of several lines makes the row as many lines high.
fn write_cells(
    out: &mut dyn Write,
    columns: &[Column],
    cells: &[String],
    alignment: Option<Alignment>,
) -> io::Result<()> {
    let height = cells
        .iter()
        .map(|cell| 1 + cell.matches('\n').count())
        .max()
        .unwrap_or(1);
    let mut lines: Vec<_> = cells.iter().map(|cell| cell.split('\n')).collect();
    for _ in 0..height {
        let mut text = String::new();
        for (position, (column, rest)) in columns.iter().zip(&mut lines).enumerate() {
            let line = rest.next().unwrap_or("");
            let continues = rest.clone().next().is_some();
            let edge = if position + 1 == columns.len() {
                Edge::Last
            } else {
                Edge::Inner
            };
            write_cell(&mut text, column, line, alignment, continues, edge);
        }
        writeln!(out, "{text}")?;
    }
    Ok(())
}

#[derive(PartialEq)]
enum Edge {
    Inner,
    Last,
}

/// Appends ` cell |`; the blank after a line that goes on below is a `+`.
fn write_cell(
    out: &mut String,
    column: &Column,
    line: &str,
    alignment: Option<Alignment>,
    continues: bool,
    edge: Edge,
) {
    let (before, after) = pad(width(line), column.width, alignment.unwrap_or(column.alignment));
    if edge == Edge::Inner || !line.is_empty() || continues {
        out.push(' ');
        out.extend(std::iter::repeat_n(' ', before));
        out.push_str(line);
    }
    if edge == Edge::Inner || continues {
        out.extend(std::iter::repeat_n(' ', after));
        out.push(if continues { '+' } else { ' ' });
    }
    if edge == Edge::Inner {
        out.push('|');
    }
}
