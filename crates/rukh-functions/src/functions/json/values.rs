//! Values of a row as functions of documents take them.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::Jsonb;

/// Returns an argument that is a JSONB.
pub(super) fn document(values: &[ScalarValue], at: usize) -> Result<Jsonb<'_>, SqlError> {
    match values.get(at) {
        Some(ScalarValue::LargeBinary(Some(form))) => Ok(Jsonb::new(form)),
        other => Err(SqlError::internal(format!("{other:?} is no JSONB"))),
    }
}

/// Returns an argument that is a JSON or a text.
pub(super) fn text(values: &[ScalarValue], at: usize) -> Result<&str, SqlError> {
    match values.get(at) {
        Some(
            ScalarValue::LargeUtf8(Some(text))
            | ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text)),
        ) => Ok(text),
        other => Err(SqlError::internal(format!("{other:?} is no text"))),
    }
}

/// Returns an argument that is an array of texts.
pub(super) fn texts(values: &[ScalarValue], at: usize) -> Result<Vec<Option<String>>, SqlError> {
    let Some(ScalarValue::List(list)) = values.get(at) else {
        return Err(SqlError::internal(format!("{:?} is no array", values.get(at))));
    };
    match list.value(0).as_string_opt::<i32>() {
        Some(texts) => Ok(texts.iter().map(|text| text.map(str::to_string)).collect()),
        // An array without elements may have no type of them.
        None if list.value(0).is_empty() => Ok(Vec::new()),
        None => Err(SqlError::internal("an array of other values than texts")),
    }
}

pub(super) fn boolean(value: bool) -> ScalarValue {
    ScalarValue::Boolean(Some(value))
}

/// Makes the error of a document that is not of the kind that a function takes, 22023.
pub(super) fn wrong_kind(message: &str) -> SqlError {
    SqlError::statement("22023", message)
}
