//! Records that COPY FROM passes over, because they are no rows of the table.
//!
//! They are counted, and written to a file if one is named, as CSV with a header:
//!
//! ```text
//! file,line,sqlstate,reason,record
//! logs.csv,7,22P02,"invalid input syntax for type integer: ""x""","a,x,3"
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rukh_syntax::{CopyFormat, CopyHeader, CopyOptions, RejectOptions};

use super::errors::file_error;
use super::lines::csv_line;
use rukh_error::SqlError;

/// Bytes of a record that are written at most.
const RECORD_BYTES_MAX: usize = 64 << 10;

/// Counts and writes down what is passed over.
pub(super) struct Rejects {
    options: RejectOptions,
    output: Option<(PathBuf, BufWriter<File>)>,
    count: u64,
}

impl Rejects {
    /// Makes the file, if one is named; it must be none of those that are read.
    pub(super) fn new(options: &RejectOptions, inputs: &[String]) -> Result<Self, SqlError> {
        let mut rejects = Rejects {
            options: options.clone(),
            output: None,
            count: 0,
        };
        if let Some(file) = &options.file {
            let path = Path::new(file);
            if let Ok(taken) = path.canonicalize()
                && inputs
                    .iter()
                    .any(|input| Path::new(input).canonicalize().is_ok_and(|input| input == taken))
            {
                let message = format!("file \"{file}\" cannot be read and take rejects at once");
                return Err(SqlError::statement("22023", message));
            }
            let output = File::create(path).map_err(|error| file_error("open", path, &error))?;
            rejects.output = Some((path.to_owned(), BufWriter::new(output)));
            rejects.write(["file", "line", "sqlstate", "reason", "record"].map(str::to_string))?;
        }
        Ok(rejects)
    }

    /// Whether records are passed over at all.
    pub(super) fn takes(&self) -> bool {
        self.options.ignore
    }

    /// Returns how many were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Passes over a record; gives the error back where none, or no more, may be.
    pub(super) fn add(
        &mut self,
        error: SqlError,
        file: &Path,
        line: u64,
        record: impl FnOnce() -> String,
    ) -> Result<(), SqlError> {
        // What is wrong with the machine, or a request to stop, is not wrong with the record.
        let is_data = error.sqlstate.starts_with("22") || error.sqlstate.starts_with("23");
        if !self.options.ignore || !is_data {
            return Err(error);
        }
        self.count += 1;
        if let Some(limit) = self.options.limit.filter(|limit| self.count > *limit) {
            let message = format!("skipped more than REJECT_LIMIT ({limit}) rows");
            let detail = format!("The last: {}", error.message);
            return Err(SqlError::statement("22P02", message).with_detail(detail));
        }
        if self.output.is_some() {
            let mut record = record();
            let end = (0..=RECORD_BYTES_MAX.min(record.len()))
                .rev()
                .find(|end| record.is_char_boundary(*end));
            record.truncate(end.unwrap_or(0));
            let file = file.display().to_string();
            let state = error.sqlstate.to_string();
            self.write([file, line.to_string(), state, error.message, record])?;
        }
        Ok(())
    }

    fn write(&mut self, fields: [String; 5]) -> Result<(), SqlError> {
        let Some((path, output)) = &mut self.output else {
            return Ok(());
        };
        let line = csv_line(fields.into_iter().map(Some), &plain_csv());
        let written = output.write_all(line.as_bytes());
        written.map_err(|error| file_error("write", path, &error))
    }

    /// Completes the file.
    pub(super) fn finish(&mut self) -> Result<(), SqlError> {
        match &mut self.output {
            Some((path, output)) => output.flush().map_err(|error| file_error("write", path, &error)),
            None => Ok(()),
        }
    }
}

/// CSV in its usual form.
pub(super) fn plain_csv() -> CopyOptions {
    CopyOptions {
        format: CopyFormat::Csv,
        header: CopyHeader::Names,
        delimiter: b',',
        quote: b'"',
        escape: b'"',
        null: String::new(),
        row_number: None,
        rejects: RejectOptions::default(),
        forced: Default::default(),
    }
}
