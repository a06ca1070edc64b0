//! `->`, `->>`, `#>`, `#>>`: what a name, a number or a path leads to.
//!
//! A JSONB is not read as a whole: the member is found in its form, and its bytes are the result. Of a JSON the text of the member is,
//! as it was written.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, LargeBinaryBuilder, LargeStringBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Json, Jsonb, json_elements, json_members};

/// Returns the functions: for JSON and JSONB those of `->` by name and by number and of `#>`, and for each of them one that gives a text.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    ALL.iter().cloned()
}

static ALL: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(|| {
    let access = |name, by, is_text| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Access {
            name,
            by,
            is_text,
            signature,
        }))
    };
    vec![
        access("json_object_field", By::Name, false),
        access("jsonb_object_field", By::Name, false),
        access("json_object_field_text", By::Name, true),
        access("jsonb_object_field_text", By::Name, true),
        access("json_array_element", By::Number, false),
        access("jsonb_array_element", By::Number, false),
        access("json_array_element_text", By::Number, true),
        access("jsonb_array_element_text", By::Number, true),
        access("json_extract_path", By::Path, false),
        access("jsonb_extract_path", By::Path, false),
        access("json_extract_path_text", By::Path, true),
        access("jsonb_extract_path_text", By::Path, true),
    ]
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    Name,
    Number,
    Path,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Access {
    name: &'static str,
    by: By,
    is_text: bool,
    signature: Signature,
}

/// Steps of a row's path; `None` where the path is NULL or has one.
enum Steps<'a> {
    Names(&'a StringArray),
    Numbers(&'a datafusion::arrow::array::Int32Array),
    Paths(Vec<Option<Vec<String>>>),
}

impl<'a> Steps<'a> {
    fn of(by: By, array: &'a ArrayRef) -> Option<Steps<'a>> {
        Some(match by {
            By::Name => Steps::Names(array.as_string_opt::<i32>()?),
            By::Number => Steps::Numbers(array.as_primitive_opt::<Int32Type>()?),
            By::Path => {
                let lists = array.as_list_opt::<i32>()?;
                let path = |list: ArrayRef| match list.as_string_opt::<i32>() {
                    Some(texts) => texts.iter().map(|text| text.map(str::to_string)).collect(),
                    None => list.is_empty().then(Vec::new),
                };
                Steps::Paths(lists.iter().map(|list| list.and_then(path)).collect())
            }
        })
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Steps::Names(names) => names.is_null(row),
            Steps::Numbers(numbers) => numbers.is_null(row),
            Steps::Paths(paths) => paths[row].is_none(),
        }
    }

    /// Returns what the steps of a row lead to.
    fn member<'d>(&self, row: usize, document: Jsonb<'d>) -> Option<Jsonb<'d>> {
        match self {
            Steps::Names(names) => match document.is_scalar() {
                true => None,
                false => document.member(names.value(row)),
            },
            // A scalar is an array of itself here.
            Steps::Numbers(numbers) if document.is_scalar() => {
                matches!(numbers.value(row), 0 | -1).then_some(document)
            }
            Steps::Numbers(numbers) => document.element(numbers.value(row).into()),
            Steps::Paths(paths) => document.at_path(paths[row].as_ref()?.iter().map(String::as_str)),
        }
    }

    /// The same of a JSON, as it is written.
    fn written<'d>(&self, row: usize, document: &'d str) -> Result<Option<&'d str>, SqlError> {
        match self {
            Steps::Names(names) => named(document, names.value(row)),
            Steps::Numbers(numbers) => numbered(document, numbers.value(row).into()),
            Steps::Paths(paths) => {
                let mut found = document.trim();
                for step in paths[row].iter().flatten() {
                    let next = match found.starts_with('{') {
                        true => named(found, step)?,
                        false => match step.trim().parse::<i32>() {
                            Ok(number) => numbered(found, number.into())?,
                            Err(_) => None,
                        },
                    };
                    match next {
                        Some(next) => found = next,
                        None => return Ok(None),
                    }
                }
                Ok(Some(found))
            }
        }
    }
}

/// Returns the last member of a name.
fn named<'d>(document: &'d str, name: &str) -> Result<Option<&'d str>, SqlError> {
    let members = json_members(document)?.unwrap_or_default();
    let mut members = members.into_iter().rev();
    Ok(members.find(|(known, _)| known == name).map(|(_, value)| value))
}

fn numbered(document: &str, number: i64) -> Result<Option<&str>, SqlError> {
    let elements = json_elements(document)?.unwrap_or_default();
    let at = match usize::try_from(number) {
        Ok(at) => Some(at),
        Err(_) => usize::try_from(number.unsigned_abs())
            .ok()
            .and_then(|back| elements.len().checked_sub(back)),
    };
    Ok(at.and_then(|at| elements.get(at).copied()))
}

/// Returns a value of a JSON as `->>` gives it.
pub(crate) fn text_of_written(written: &str) -> Result<Option<String>, SqlError> {
    if written == "null" {
        return Ok(None);
    }
    if !written.starts_with('"') {
        return Ok(Some(written.to_string()));
    }
    match Json::parse(written)? {
        Json::Text(text) => Ok(Some(text)),
        _ => Ok(Some(written.to_string())),
    }
}

impl Access {
    fn of_rows(&self, documents: &ArrayRef, steps: &ArrayRef) -> DataFusionResult<ArrayRef> {
        let external = |error| DataFusionError::External(Box::new(error));
        let steps = Steps::of(self.by, steps).ok_or_else(|| self.internal())?;
        let rows = documents.len();
        let is_null = |row: usize| documents.is_null(row) || steps.is_null(row);
        if let Some(texts) = documents.as_string_opt::<i64>() {
            let found = (0..rows).map(|row| match is_null(row) {
                true => Ok(None),
                false => steps.written(row, texts.value(row)),
            });
            let found = found.collect::<Result<Vec<_>, SqlError>>().map_err(external)?;
            if !self.is_text {
                let mut builder = LargeStringBuilder::new();
                found.into_iter().for_each(|text| builder.append_option(text));
                return Ok(Arc::new(builder.finish()));
            }
            let texts = found
                .into_iter()
                .map(|text| text.map_or(Ok(None), text_of_written));
            let texts = texts
                .collect::<Result<StringArray, SqlError>>()
                .map_err(external)?;
            return Ok(Arc::new(texts));
        }
        let Some(forms) = documents.as_binary_opt::<i64>() else {
            return Err(self.internal());
        };
        let member = |row: usize| match is_null(row) {
            true => None,
            false => steps.member(row, Jsonb::new(forms.value(row))),
        };
        if self.is_text {
            let mut builder = StringBuilder::with_capacity(rows, rows.saturating_mul(16));
            for row in 0..rows {
                builder.append_option(member(row).and_then(Jsonb::as_text));
            }
            return Ok(Arc::new(builder.finish()));
        }
        let mut builder = LargeBinaryBuilder::with_capacity(rows, rows.saturating_mul(16));
        for row in 0..rows {
            builder.append_option(member(row).map(Jsonb::bytes));
        }
        Ok(Arc::new(builder.finish()))
    }

    fn internal(&self) -> DataFusionError {
        DataFusionError::Internal(format!("{} takes a document, and where to look in it", self.name))
    }
}

impl ScalarUDFImpl for Access {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match (self.is_text, types.first()) {
            (true, _) => Ok(ArrowType::Utf8),
            (false, Some(ArrowType::LargeUtf8)) => Ok(ArrowType::LargeUtf8),
            (false, _) => Ok(ArrowType::LargeBinary),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = arguments
            .args
            .iter()
            .all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [documents, steps] = arrays.as_slice() else {
            return Err(self.internal());
        };
        let found = self.of_rows(documents, steps)?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?)),
            false => Ok(ColumnarValue::Array(found)),
        }
    }
}
