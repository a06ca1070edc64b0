//! Rows of the tool's own queries: SHOW, DESCRIBE, CHECK.

use rukh::Rows;
use rukh::arrow::array::{Array, AsArray, RecordBatch};
use rukh::arrow::compute::{cast, concat_batches};
use rukh::arrow::datatypes::DataType;

use crate::base::error::CliError;

/// The rows of a short query.
pub struct Fetched {
    /// All of them.
    pub batch: RecordBatch,
}

impl Fetched {
    /// Reads all rows.
    pub fn read(mut rows: Rows) -> Result<Fetched, CliError> {
        let mut batches = Vec::new();
        while let Some(batch) = rows.next_batch().map_err(Fetched::error)? {
            batches.push(batch);
        }
        let batch = concat_batches(&rows.schema(), &batches);
        batch
            .map(|batch| Fetched { batch })
            .map_err(|error| CliError::command(error.to_string()))
    }

    /// Returns the error of an internal query: it has no place in a typed text.
    pub fn error(error: rukh::Error) -> CliError {
        CliError::Command {
            message: error.message,
            hint: error.hint,
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text of a value; none when it is NULL or there is no such column.
    pub fn text(&self, column: &str, row: usize) -> Option<String> {
        let values = cast(self.batch.column_by_name(column)?, &DataType::Utf8).ok()?;
        let values = values.as_string::<i32>();
        values.is_valid(row).then(|| values.value(row).to_owned())
    }
}
