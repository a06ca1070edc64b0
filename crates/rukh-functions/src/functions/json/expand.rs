//! The arrays that functions which give rows take apart: `jsonb_array_elements(x)` is `unnest(jsonb_array_elements_list(x))`.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    ArrayRef, AsArray, LargeBinaryBuilder, LargeStringBuilder, ListBuilder, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Jsonb, JsonbKind, json_elements, json_members};

use super::access::text_of_written;
use super::values::wrong_kind;

/// What a function takes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Elements,
    Names,
    Values,
}

/// Returns the name of the function that gives the elements of `jsonb_array_elements` and its kin as an array.
pub fn list_of(function: &str) -> String {
    format!("{function}_list")
}

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    ALL.iter().cloned()
}

static ALL: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(|| {
    let all = [
        ("array_elements", "array_elements", Part::Elements, false),
        ("array_elements_text", "array_elements_text", Part::Elements, true),
        ("object_keys", "object_keys", Part::Names, true),
        ("each_keys", "each", Part::Names, true),
        ("each", "each", Part::Values, false),
        ("each_text_keys", "each_text", Part::Names, true),
        ("each_text", "each_text", Part::Values, true),
    ];
    let of = |is_binary: bool| {
        all.into_iter().map(move |(name, function, part, is_text)| {
            let prefix = if is_binary { "jsonb" } else { "json" };
            let document = if is_binary {
                ArrowType::LargeBinary
            } else {
                ArrowType::LargeUtf8
            };
            Arc::new(ScalarUDF::from(Expand {
                name: list_of(&format!("{prefix}_{name}")),
                function: format!("{prefix}_{function}"),
                part,
                is_text,
                is_binary,
                signature: Signature::exact(vec![document], Volatility::Immutable),
            }))
        })
    };
    of(false).chain(of(true)).collect()
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct Expand {
    name: String,
    /// The function of SQL, for errors.
    function: String,
    part: Part,
    is_text: bool,
    is_binary: bool,
    signature: Signature,
}

impl Expand {
    fn element(&self) -> ArrowType {
        match (self.is_text, self.is_binary) {
            (true, _) => ArrowType::Utf8,
            (false, true) => ArrowType::LargeBinary,
            (false, false) => ArrowType::LargeUtf8,
        }
    }

    /// The error of a document that is not of the kind that the function takes.
    fn refused(&self, is_scalar: bool) -> SqlError {
        let function = &self.function;
        let message = match (self.part, function.as_str(), is_scalar) {
            (Part::Elements, _, true) if self.is_binary => {
                "cannot extract elements from a scalar".to_string()
            }
            (Part::Elements, _, false) if self.is_binary => {
                "cannot extract elements from an object".to_string()
            }
            (Part::Elements, _, true) => format!("cannot call {function} on a scalar"),
            (Part::Elements, _, false) => format!("cannot call {function} on a non-array"),
            (_, "json_object_keys" | "jsonb_object_keys", true) => {
                format!("cannot call {function} on a scalar")
            }
            (_, "json_object_keys" | "jsonb_object_keys", false) => {
                format!("cannot call {function} on an array")
            }
            (..) if self.is_binary => format!("cannot call {function} on a non-object"),
            (_, _, true) => "cannot deconstruct a scalar".to_string(),
            (_, _, false) => "cannot deconstruct an array as an object".to_string(),
        };
        wrong_kind(&message)
    }

    /// Returns the values that a JSONB has.
    fn of_form<'d>(&self, document: Jsonb<'d>) -> Result<Vec<(&'d str, Jsonb<'d>)>, SqlError> {
        match (self.part, document.kind()) {
            (Part::Elements, JsonbKind::Array) => {
                Ok(document.elements().map(|element| ("", element)).collect())
            }
            (Part::Names | Part::Values, JsonbKind::Object) => Ok(document.members().collect()),
            _ => Err(self.refused(document.is_scalar())),
        }
    }

    /// Returns the values that a JSON has, as they are written.
    fn of_text<'d>(&self, document: &'d str) -> Result<Vec<(String, &'d str)>, SqlError> {
        let (members, elements) = (json_members(document)?, json_elements(document)?);
        match (self.part, members, elements) {
            (Part::Elements, _, Some(elements)) => Ok(elements
                .into_iter()
                .map(|element| (String::new(), element))
                .collect()),
            (Part::Names | Part::Values, Some(members), _) => Ok(members),
            (_, members, elements) => Err(self.refused(members.is_none() && elements.is_none())),
        }
    }

    fn of_rows(&self, documents: &ArrayRef) -> Result<ArrayRef, SqlError> {
        let field = Arc::new(Field::new_list_field(self.element(), true));
        let names_only = self.part == Part::Names;
        if let Some(forms) = documents.as_binary_opt::<i64>() {
            if self.is_text {
                let mut lists = ListBuilder::new(StringBuilder::new()).with_field(field);
                for form in forms {
                    for (name, value) in form.map_or(Ok(Vec::new()), |form| self.of_form(Jsonb::new(form)))? {
                        match names_only {
                            true => lists.values().append_value(name),
                            false => lists.values().append_option(value.as_text()),
                        }
                    }
                    lists.append(form.is_some());
                }
                return Ok(Arc::new(lists.finish()));
            }
            let mut lists = ListBuilder::new(LargeBinaryBuilder::new()).with_field(field);
            for form in forms {
                for (_, value) in form.map_or(Ok(Vec::new()), |form| self.of_form(Jsonb::new(form)))? {
                    lists.values().append_value(value.bytes());
                }
                lists.append(form.is_some());
            }
            return Ok(Arc::new(lists.finish()));
        }
        let Some(texts) = documents.as_string_opt::<i64>() else {
            return Err(SqlError::internal(format!("{} takes a document", self.name)));
        };
        if self.is_text {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(field);
            for text in texts {
                for (name, value) in text.map_or(Ok(Vec::new()), |text| self.of_text(text))? {
                    match names_only {
                        true => lists.values().append_value(name),
                        false => lists.values().append_option(text_of_written(value)?),
                    }
                }
                lists.append(text.is_some());
            }
            return Ok(Arc::new(lists.finish()));
        }
        let mut lists = ListBuilder::new(LargeStringBuilder::new()).with_field(field);
        for text in texts {
            for (_, value) in text.map_or(Ok(Vec::new()), |text| self.of_text(text))? {
                lists.values().append_value(value);
            }
            lists.append(text.is_some());
        }
        Ok(Arc::new(lists.finish()))
    }
}

impl ScalarUDFImpl for Expand {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::new_list(self.element(), true))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = matches!(arguments.args.as_slice(), [ColumnarValue::Scalar(_)]);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [documents] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!(
                "{} takes one value",
                self.name
            )));
        };
        let lists = self.of_rows(documents);
        let lists = lists.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&lists, 0)?)),
            false => Ok(ColumnarValue::Array(lists)),
        }
    }
}
