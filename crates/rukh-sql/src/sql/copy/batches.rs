//! Arrow batches to rows: columns are matched by name, values are assigned as by INSERT.

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::SchemaRef;
use rukh_keys::Datum;

use super::rows_in::{Assembler, Columns, Import};
use rukh_error::SqlError;
use rukh_functions::scalars::assigned_datums;
use rukh_functions::types::taken_type;

/// Returns the file's columns to read, and the column of the table that each fills.
pub(super) fn chosen(columns: &Columns, schema: &SchemaRef) -> Result<(Vec<usize>, Vec<usize>), SqlError> {
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

/// Adds the rows of a batch, of which `done` have come before.
pub(super) fn add_batch(
    import: &mut Import<'_>,
    batch: &RecordBatch,
    assembler: &mut Assembler,
    done: &mut u64,
) -> Result<(), SqlError> {
    let columns = match columns(import, batch, assembler, *done) {
        Ok(columns) => columns,
        Err(error) if import.rejects.takes() && batch.num_rows() > 1 => {
            // Row by row, to find those that are to blame.
            drop(error);
            for row in 0..batch.num_rows() {
                add_batch(import, &batch.slice(row, 1), assembler, done)?;
            }
            return Ok(());
        }
        Err(error) => {
            *done += batch.num_rows() as u64;
            return import.reject(error, *done, String::new);
        }
    };
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    for _ in 0..batch.num_rows() {
        let mut row = assembler.row(Vec::new())?;
        for (values, position) in columns.iter_mut().zip(&assembler.fields) {
            row[*position] = values.next().unwrap_or(Datum::Null);
        }
        *done += 1;
        let now = *done;
        import.push_checked(row, now, || now, String::new)?;
    }
    Ok(())
}

/// Returns the values of each column as they are stored.
fn columns(
    import: &Import<'_>,
    batch: &RecordBatch,
    assembler: &Assembler,
    done: u64,
) -> Result<Vec<Vec<Datum>>, SqlError> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (array, position) in batch.columns().iter().zip(&assembler.fields) {
        let (name, ty) = import.columns.column(*position);
        let values = plain(array).and_then(|array| assigned_datums(&array, ty, name));
        columns.push(values.map_err(|error| {
            let last = done + batch.num_rows() as u64;
            let rows = match batch.num_rows() {
                1 => format!("row {last}, column {name}"),
                _ => format!("rows {} to {last}, column {name}", done + 1),
            };
            import.located(error, &rows)
        })?);
    }
    Ok(columns)
}

/// Returns a column as plain values: not encoded by a dictionary, and with ends of 32 bits.
fn plain(array: &ArrayRef) -> Result<ArrayRef, SqlError> {
    let ty = taken_type(array.data_type());
    match ty == *array.data_type() {
        true => Ok(array.clone()),
        false => cast(array, &ty).map_err(|error| SqlError::internal(error.to_string())),
    }
}
