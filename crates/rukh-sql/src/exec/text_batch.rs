//! Rows of texts, as statements about the database give them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Schema};

use rukh_error::SqlError;

/// Makes a batch of text columns.
pub(crate) fn text_batch<const N: usize>(
    names: &[&str; N],
    columns: [Vec<String>; N],
) -> Result<RecordBatch, SqlError> {
    let fields = names
        .iter()
        .map(|name| Field::new(*name, ArrowType::Utf8, false))
        .collect::<Vec<_>>();
    let arrays = columns
        .into_iter()
        .map(|values| Arc::new(StringArray::from(values)) as ArrayRef)
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| SqlError::internal(error.to_string()))
}
