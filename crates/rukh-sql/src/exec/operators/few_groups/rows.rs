//! The rows of a batch: vectors as a columnar scan reads them, or what Arrow has.
//!
//! On vectors, groups are compared and decimals summed without conversion; arrays are made of what DataFusion's own expressions and
//! aggregates look at, and of nothing else.

use std::cell::OnceCell;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{Decimal128Type, SchemaRef};
use datafusion::error::Result as DataFusionResult;
use rukh_engine::{Coded, ColumnBatch, ColumnVector, Values};

use crate::exec::vectors::{array, null_buffer};
use rukh_error::SqlError;
use rukh_functions::errors::external;

/// The rows of a batch.
pub(super) enum Rows {
    Arrow(RecordBatch),
    Vectors(Vectors),
}

/// Rows as a scan of blocks gives them out.
pub(super) struct Vectors {
    batch: ColumnBatch,
    /// What fields arrays of them are.
    schema: SchemaRef,
    /// By column, the array of it, once it was wanted.
    arrays: Vec<OnceCell<ArrayRef>>,
}

/// The values of a column that rows are grouped by.
pub(super) enum Keys<'a> {
    Array(&'a ArrayRef),
    /// Integers, and which are NULL if any is.
    Integers(&'a [i64], Option<&'a [bool]>),
    /// Byte strings by number.
    Coded(&'a Coded, Option<&'a [bool]>),
    /// Neither integers nor by number.
    Others,
}

/// Integers, those of rows that are NULL mean nothing.
pub(super) enum Integers<'a> {
    Short(&'a [i64]),
    Wide(&'a [i128]),
}

impl Vectors {
    /// Returns a column as an array.
    fn array(&self, column: usize) -> Result<ArrayRef, SqlError> {
        if let Some(array) = self.arrays[column].get() {
            return Ok(array.clone());
        }
        let made = array(self.batch.columns[column].clone())?;
        Ok(self.arrays[column].get_or_init(|| made).clone())
    }
}

impl Rows {
    /// Takes the rows of a scan of blocks.
    pub(super) fn of_vectors(batch: ColumnBatch, schema: SchemaRef) -> Self {
        let arrays = batch.columns.iter().map(|_| OnceCell::new()).collect();
        Rows::Vectors(Vectors {
            batch,
            schema,
            arrays,
        })
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        match self {
            Rows::Arrow(batch) => batch.num_rows(),
            Rows::Vectors(vectors) => vectors.batch.rows,
        }
    }

    /// Returns the values of a column.
    pub(super) fn keys(&self, column: usize) -> Keys<'_> {
        match self {
            Rows::Arrow(batch) => Keys::Array(batch.column(column)),
            Rows::Vectors(vectors) => {
                let vector = &vectors.batch.columns[column];
                match vector.values() {
                    Values::Int(values) => Keys::Integers(values, vector.nulls()),
                    Values::Coded(coded) => Keys::Coded(coded, vector.nulls()),
                    Values::Wide(_) | Values::Bytes(_) => Keys::Others,
                }
            }
        }
    }

    /// Returns a column as a vector, if it is one.
    pub(super) fn vector(&self, column: usize) -> Option<&ColumnVector> {
        match self {
            Rows::Arrow(_) => None,
            Rows::Vectors(vectors) => Some(&vectors.batch.columns[column]),
        }
    }

    /// Returns the integers of a column: of decimals those that they are in units of their last digit.
    pub(super) fn integers(&self, column: usize) -> Option<Integers<'_>> {
        match self {
            Rows::Arrow(batch) => {
                let array = batch.column(column).as_primitive_opt::<Decimal128Type>()?;
                Some(Integers::Wide(array.values()))
            }
            Rows::Vectors(vectors) => match vectors.batch.columns[column].values() {
                Values::Int(values) => Some(Integers::Short(values)),
                Values::Wide(values) => Some(Integers::Wide(values)),
                Values::Bytes(_) | Values::Coded(_) => None,
            },
        }
    }

    /// Returns which rows of a column are not NULL, or `None` if none is.
    pub(super) fn nulls(&self, column: usize) -> Option<NullBuffer> {
        match self {
            Rows::Arrow(batch) => {
                let nulls = batch.column(column).logical_nulls();
                nulls.filter(|nulls| nulls.null_count() > 0)
            }
            Rows::Vectors(vectors) => null_buffer(&vectors.batch.columns[column]),
        }
    }

    /// Returns the values of a column in some rows.
    pub(super) fn taken(&self, column: usize, rows: &UInt32Array) -> DataFusionResult<ArrayRef> {
        match self {
            Rows::Arrow(batch) => Ok(take(batch.column(column), rows, None)?),
            Rows::Vectors(vectors) => {
                let some = vectors.batch.columns[column].rows(rows.values());
                let some = some.ok_or_else(|| SqlError::internal("groups have more than 4 GiB of text"));
                some.and_then(array).map_err(external)
            }
        }
    }

    /// Returns some of the columns.
    pub(super) fn project(&self, columns: &[usize]) -> DataFusionResult<RecordBatch> {
        match self {
            Rows::Arrow(batch) => Ok(batch.project(columns)?),
            Rows::Vectors(vectors) => {
                let arrays = columns.iter().map(|column| vectors.array(*column));
                let arrays = arrays.collect::<Result<_, SqlError>>().map_err(external)?;
                let schema = Arc::new(vectors.schema.project(columns)?);
                let options = RecordBatchOptions::new().with_row_count(Some(vectors.batch.rows));
                Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
            }
        }
    }
}
