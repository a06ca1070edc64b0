//! Rows of a query, as record batches or one by one.

use rukh_sql::ColumnInfo;
use rukh_sql::arrow::array::RecordBatch;
use rukh_sql::arrow::datatypes::SchemaRef;

use crate::value::FromDatum;
use crate::{Datum, Error, Result};

/// The rows of a query, made as they are read; dropping them ends the query.
pub struct Rows(rukh_sql::Rows);

impl Rows {
    pub(crate) fn new(rows: rukh_sql::Rows) -> Self {
        Rows(rows)
    }

    /// Returns the Arrow schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.shown_schema()
    }

    /// Returns names and types of the columns.
    pub fn columns(&self) -> &[ColumnInfo] {
        self.0.columns()
    }

    /// Returns the next batch, or `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.0.shown_batch()
    }

    /// Returns the next row, or `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<Row>> {
        Ok(self.0.shown_row()?.map(Row))
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.next_row().transpose()
    }
}

/// One row of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(Vec<Datum>);

impl Row {
    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the row has no columns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a column, counted from 0; NULL beyond the last.
    pub fn datum(&self, column: usize) -> &Datum {
        self.0.get(column).unwrap_or(&Datum::Null)
    }

    /// Returns the value of a column as a Rust type; fails with 42804 when it is of another kind.
    ///
    /// `Option<T>` takes NULL as `None`.
    pub fn get<T: FromDatum>(&self, column: usize) -> Result<T> {
        let datum = self.datum(column);
        T::from_datum(datum).ok_or_else(|| {
            let message = format!(
                "column {column} is {datum:?}, which is no {}",
                std::any::type_name::<T>()
            );
            Error::statement("42804", message)
        })
    }
}
