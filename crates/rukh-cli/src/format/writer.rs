//! What all formats have in common: a style, and a way to take batches.

use std::io::{self, Write};

use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;

use super::Format;
use super::csv::CsvWriter;
use super::expanded::ExpandedWriter;
use super::json::JsonWriter;
use super::markdown::MarkdownWriter;
use super::table::TableWriter;

/// Whether headers and footers surround the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Column names, rules and row counts are written.
    Full,
    /// Rows only.
    RowsOnly,
}

/// What varies within a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// The text shown for NULL in all formats but the JSON ones.
    pub null: String,
    /// Whether header and footer are written.
    pub frame: Frame,
    /// The separator of CSV fields.
    pub delimiter: char,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            null: String::new(),
            frame: Frame::Full,
            delimiter: ',',
        }
    }
}

/// Writes one result, batch by batch.
///
/// Call [`begin`](RowWriter::begin) once, [`write_batch`](RowWriter::write_batch) for every batch, and
/// [`finish`](RowWriter::finish) when the result has ended well; a result that fails is left unfinished,
/// so that a reader of JSON notices.
pub trait RowWriter {
    /// Writes what comes before the first row, where that does not depend on rows.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// Writes or keeps the rows of one batch.
    fn write_batch(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()>;
    /// Writes kept rows and what comes after the last one.
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Returns the writer of `format` for results of `schema`.
pub fn row_writer(format: Format, schema: &SchemaRef, style: &Style) -> Box<dyn RowWriter> {
    match format {
        Format::Table => Box::new(TableWriter::new(schema, style)),
        Format::Expanded => Box::new(ExpandedWriter::new(schema, style)),
        Format::Csv => Box::new(CsvWriter::new(schema, style)),
        Format::Json => Box::new(JsonWriter::array(schema)),
        Format::Jsonl => Box::new(JsonWriter::lines(schema)),
        Format::Markdown => Box::new(MarkdownWriter::new(schema, style)),
    }
}
