//! Questions about a document.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Json, JsonbKind, json_elements};

use super::values::{boolean, document, text, texts, wrong_kind};
use crate::functions::common::row_values::{Compute, int4};

pub(crate) const FUNCTIONS: [(&str, Compute); 10] = [
    ("jsonb_contains", |values| {
        Ok(boolean(document(values, 0)?.contains(document(values, 1)?)))
    }),
    ("jsonb_contained", |values| {
        Ok(boolean(document(values, 1)?.contains(document(values, 0)?)))
    }),
    ("jsonb_exists", |values| {
        Ok(boolean(document(values, 0)?.has_name(text(values, 1)?)))
    }),
    ("jsonb_exists_any", |values| exists(values, false)),
    ("jsonb_exists_all", |values| exists(values, true)),
    ("jsonb_typeof", |values| {
        Ok(ScalarValue::from(document(values, 0)?.kind().name()))
    }),
    ("json_typeof", |values| {
        let written = text(values, 0)?.trim_start();
        let name = match written.as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        };
        Ok(ScalarValue::Utf8(Some(name.to_string())))
    }),
    ("jsonb_array_length", |values| {
        let document = document(values, 0)?;
        match document.kind() {
            JsonbKind::Array => Ok(length(document.len())),
            JsonbKind::Object => Err(wrong_kind("cannot get array length of a non-array")),
            _ => Err(wrong_kind("cannot get array length of a scalar")),
        }
    }),
    ("json_array_length", |values| {
        let written = text(values, 0)?;
        match json_elements(written)? {
            Some(elements) => Ok(length(elements.len())),
            None if written.trim_start().starts_with('{') => {
                Err(wrong_kind("cannot get array length of a non-array"))
            }
            None => Err(wrong_kind("cannot get array length of a scalar")),
        }
    }),
    ("jsonb_pretty", |values| {
        Ok(ScalarValue::Utf8(Some(document(values, 0)?.pretty())))
    }),
];

fn length(length: usize) -> ScalarValue {
    int4(i64::try_from(length).unwrap_or(i64::MAX))
}

fn exists(values: &[ScalarValue], all: bool) -> Result<ScalarValue, SqlError> {
    let (document, names) = (document(values, 0)?, texts(values, 1)?);
    // A NULL among the names is none.
    let mut found = names.iter().flatten().map(|name| document.has_name(name));
    Ok(boolean(match all {
        true => found.all(|is_found| is_found),
        false => found.any(|is_found| is_found),
    }))
}

/// Returns a tree without the members that are null.
pub(super) fn without_nulls(json: Json) -> Json {
    match json {
        Json::Array(elements) => Json::Array(elements.into_iter().map(without_nulls).collect()),
        Json::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(
                members
                    .map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        scalar => scalar,
    }
}
