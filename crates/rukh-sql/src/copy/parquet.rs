//! COPY FROM Parquet: columns are told by their names, values are assigned as by INSERT.

use std::fs::File;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, SchemaRef};
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::import::{Assembler, Columns, Import};
use crate::SqlError;
use crate::scalars::assigned_datums;

/// Rows of one batch.
const BATCH_ROWS: usize = 4096;

/// Reads all row groups.
pub(super) fn read(import: &mut Import<'_>, file: File) -> Result<(), SqlError> {
    let path = import.path.display().to_string();
    let failed = |reason: String| {
        let message = format!("could not read Parquet file \"{path}\": {reason}");
        SqlError::statement("22P04", message)
    };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| failed(error.to_string()))?;
    let rows = builder.metadata().file_metadata().num_rows();
    import.total(u64::try_from(rows).unwrap_or(0));
    let (roots, fields) = chosen(&import.columns, builder.schema())?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
    let reader = reader.map_err(|error| failed(error.to_string()))?;
    let mut assembler = import.columns.assembler(fields)?;
    let mut done = 0;
    for batch in reader {
        let batch = batch.map_err(|error| failed(error.to_string()))?;
        add_batch(import, &batch, &mut assembler, &mut done)?;
    }
    Ok(())
}

/// Returns the file's columns to read, and the column of the table that each fills.
fn chosen(columns: &Columns, schema: &SchemaRef) -> Result<(Vec<usize>, Vec<usize>), SqlError> {
    let (mut roots, mut fields) = (Vec::new(), Vec::new());
    for (root, field) in schema.fields().iter().enumerate() {
        match columns.named(field.name()) {
            Some(position) if fields.contains(&position) => {
                let message = format!("column \"{}\" specified more than once in the file", field.name());
                return Err(SqlError::statement("42701", message));
            }
            Some(position) => {
                roots.push(root);
                fields.push(position);
            }
            None if columns.listed => {}
            None => return Err(columns.unknown(field.name(), "the file")),
        }
    }
    columns.check_all_given(&fields, "the file")?;
    Ok((roots, fields))
}

fn add_batch(
    import: &mut Import<'_>,
    batch: &RecordBatch,
    assembler: &mut Assembler,
    done: &mut u64,
) -> Result<(), SqlError> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (array, position) in batch.columns().iter().zip(&assembler.fields) {
        let (name, ty) = import.columns.column(*position);
        let values = assigned_datums(&plain(array)?, ty, name);
        columns.push(values.map_err(|error| {
            let rows = format!(
                "rows {} to {}, column {name}",
                *done + 1,
                *done + batch.num_rows() as u64
            );
            import.located(error, &rows)
        })?);
    }
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    for _ in 0..batch.num_rows() {
        let mut row = assembler.row()?;
        for (values, position) in columns.iter_mut().zip(&assembler.fields) {
            row[*position] = values.next().unwrap_or(rukh_keys::Datum::Null);
        }
        *done += 1;
        let now = *done;
        import.push(row, || now)?;
    }
    Ok(())
}

/// Returns a dictionary-encoded column as plain values.
fn plain(array: &ArrayRef) -> Result<ArrayRef, SqlError> {
    match array.data_type() {
        ArrowType::Dictionary(_, values) => {
            cast(array, values).map_err(|error| SqlError::internal(error.to_string()))
        }
        _ => Ok(array.clone()),
    }
}
