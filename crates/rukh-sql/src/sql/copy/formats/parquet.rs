//! COPY FROM Parquet: columns are matched by name, values are assigned as by INSERT.

use std::fs::File;

use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::sql::copy::batches::{add_batch, chosen};
use crate::sql::copy::errors::unbroken;
use crate::sql::copy::rows_in::Import;
use rukh_error::SqlError;

/// Rows of one batch.
const BATCH_ROWS: usize = 4096;

/// Reads all row groups.
pub(in crate::sql::copy) fn read(import: &mut Import<'_>, file: File) -> Result<(), SqlError> {
    let path = import.path.display().to_string();
    let failed = |reason: String| {
        let message = format!("could not read Parquet file \"{path}\": {reason}");
        SqlError::statement("22P04", message)
    };
    let builder = unbroken(|| ParquetRecordBatchReaderBuilder::try_new(file)).map_err(failed)?;
    let builder = builder.map_err(|error| failed(error.to_string()))?;
    let rows = builder.metadata().file_metadata().num_rows();
    import.total(u64::try_from(rows).unwrap_or(0));
    let (roots, fields) = chosen(&import.columns, builder.schema())?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
    let mut reader = reader.map_err(|error| failed(error.to_string()))?;
    let mut assembler = import.columns.assembler(fields)?;
    let mut done = 0;
    while let Some(batch) = unbroken(|| reader.next()).map_err(failed)? {
        let batch = batch.map_err(|error| failed(error.to_string()))?;
        add_batch(import, &batch, &mut assembler, &mut done)?;
    }
    Ok(())
}
