//! Functions of the dimensions of arrays, computed row by row. DataFusion's count an empty array as one dimension of no elements;
//! PostgreSQL says that it has none, and gives NULL for the length of one.
//!
//! An array of arrays has a dimension more. All dimensions begin with 1.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::Int32Type;
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

/// The function that SET of elements of arrays calls.
pub const ARRAY_ASSIGN: &str = "array_assign";

/// `array_assign(array, places, elements)`, which SET of elements calls: places are a subscript, or the bounds of a slice. An array that
/// is NULL has no elements; if those that are put are NULL, the array stays what it is.
pub(crate) const ASSIGN: (&str, Compute) = (ARRAY_ASSIGN, |values| {
    let list = |at: usize| match values.get(at) {
        Some(ScalarValue::List(list)) => Ok(list.is_valid(0).then(|| list.value(0))),
        other => Err(SqlError::internal(format!("{other:?} is no array"))),
    };
    let (Some(source), Some(places)) = (list(2)?, list(1)?) else {
        return values
            .first()
            .cloned()
            .ok_or_else(|| SqlError::internal("array_assign takes arrays"));
    };
    let elements = list(0)?.unwrap_or_else(|| source.slice(0, 0));
    let places = places.as_primitive::<Int32Type>();
    if places.null_count() > 0 {
        let message = "array subscript in assignment must not be null";
        return Err(SqlError::statement("22004", message));
    }
    let bound = |at: usize| i64::from(places.value(at));
    let (low, high) = (bound(0), bound(places.len().saturating_sub(1)));
    if high < low {
        let message = "upper bound cannot be less than lower bound";
        return Err(SqlError::statement("2202E", message));
    }
    let length = elements.len();
    // An array of no elements begins where its first element is put.
    let (Some(start), Ok(end)) = (
        low.checked_sub(1).and_then(|at| usize::try_from(at).ok()),
        usize::try_from(high),
    ) else {
        return Err(begins_elsewhere());
    };
    if length == 0 && start > 0 {
        return Err(begins_elsewhere());
    }
    let count = end.saturating_sub(start);
    if source.len() < count {
        return Err(SqlError::statement("2202E", "source array too small"));
    }
    if end > ELEMENTS_MAX {
        let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
        return Err(SqlError::statement("54000", message));
    }
    let gap = new_null_array(elements.data_type(), start.saturating_sub(length));
    let (before, after) = (elements.slice(0, start.min(length)), end.min(length));
    let after = elements.slice(after, length.saturating_sub(after));
    let new = source.slice(0, count);
    let parts: [&dyn Array; 4] = [before.as_ref(), gap.as_ref(), new.as_ref(), after.as_ref()];
    let changed = concat(&parts).map_err(|error| SqlError::internal(error.to_string()))?;
    Ok(SingleRowListArrayBuilder::new(changed).build_list_scalar())
});

/// The most elements that PostgreSQL's arrays have.
const ELEMENTS_MAX: usize = 134_217_727;

fn begins_elsewhere() -> SqlError {
    SqlError::unsupported("arrays whose first subscript is not 1 are not supported")
}

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
