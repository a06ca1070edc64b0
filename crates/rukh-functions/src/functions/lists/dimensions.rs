//! Functions of the dimensions of arrays, computed row by row. DataFusion's count an empty array as one dimension of no elements;
//! PostgreSQL says that it has none, and gives NULL for the length of one.
//!
//! An array of arrays has a dimension more. All dimensions begin with 1.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::common::ScalarValue;
use datafusion::common::utils::SingleRowListArrayBuilder;
use rukh_error::SqlError;

use crate::functions::common::row_values::{Compute, integer};

pub(crate) const FUNCTIONS: [(&str, Compute); 6] = [
    ("array_ndims", |values| {
        let count = lengths(&elements(values)?).len();
        Ok(int4((count > 0).then_some(count)))
    }),
    ("array_dims", |values| {
        let lengths = lengths(&elements(values)?);
        let text: String = lengths.iter().map(|length| format!("[1:{length}]")).collect();
        Ok(ScalarValue::Utf8((!text.is_empty()).then_some(text)))
    }),
    ("array_length", |values| Ok(int4(length(values)?))),
    ("array_upper", |values| Ok(int4(length(values)?))),
    ("array_lower", |values| Ok(int4(length(values)?.map(|_| 1)))),
    ("trim_array", |values| {
        let (elements, count) = (elements(values)?, integer(values, 1)?);
        let kept = usize::try_from(count)
            .ok()
            .and_then(|count| elements.len().checked_sub(count));
        let Some(kept) = kept else {
            let message = format!(
                "number of elements to trim must be between 0 and {}",
                elements.len()
            );
            return Err(SqlError::statement("2202E", message));
        };
        Ok(SingleRowListArrayBuilder::new(elements.slice(0, kept)).build_list_scalar())
    }),
];

fn int4(value: Option<usize>) -> ScalarValue {
    ScalarValue::Int32(value.and_then(|value| i32::try_from(value).ok()))
}

/// Returns the elements of the array that is the first argument.
fn elements(values: &[ScalarValue]) -> Result<ArrayRef, SqlError> {
    match values.first() {
        Some(ScalarValue::List(list)) => Ok(list.value(0)),
        other => Err(SqlError::internal(format!("{other:?} is no array"))),
    }
}

/// Returns the lengths of the dimensions of an array.
fn lengths(elements: &ArrayRef) -> Vec<usize> {
    if elements.is_empty() {
        return Vec::new();
    }
    let mut all = vec![elements.len()];
    if let Some(lists) = elements.as_list_opt::<i32>() {
        all.extend(lengths(&lists.value(0)));
    }
    all
}

/// Returns the length of the dimension that the second argument says; `None` if there is no such dimension.
fn length(values: &[ScalarValue]) -> Result<Option<usize>, SqlError> {
    let at = integer(values, 1)?
        .checked_sub(1)
        .and_then(|at| usize::try_from(at).ok());
    let lengths = lengths(&elements(values)?);
    Ok(at.and_then(|at| lengths.get(at)).copied())
}
