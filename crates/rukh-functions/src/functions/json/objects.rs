//! `json_object`, `jsonb_object`: texts as objects, from one array of names and values or from one of each. `json_array_text`: arrays as texts.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::array::{Array, AsArray};
use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Json, Jsonb, quote_json};

use super::values::{text, texts};
use crate::functions::common::row_values::Compute;

/// A document's array as an array is written, which `jsonb_to_record` casts to the type of its column.
pub const ARRAY_TEXT: &str = "json_array_text";

pub(crate) const FUNCTIONS: [(&str, Compute); 3] = [
    (ARRAY_TEXT, |values| {
        let json = match values.first() {
            Some(ScalarValue::LargeBinary(Some(form))) => Jsonb::new(form).to_json(),
            _ => Json::parse(text(values, 0)?)?,
        };
        match json {
            Json::Null => Ok(ScalarValue::Utf8(None)),
            Json::Array(elements) => Ok(ScalarValue::Utf8(Some(array_text(elements)))),
            _ => Err(SqlError::statement("22P02", "expected JSON array")),
        }
    }),
    ("json_object", |values| {
        let pair = |(name, value): (String, Option<String>)| {
            let mut pair = String::new();
            // Writing into a String does not fail.
            let _ = quote_json(&name, &mut pair);
            pair.push_str(" : ");
            match value {
                Some(value) => drop(quote_json(&value, &mut pair)),
                None => pair.push_str("null"),
            }
            pair
        };
        let pairs: Vec<String> = pairs(values)?.into_iter().map(pair).collect();
        Ok(ScalarValue::LargeUtf8(Some(format!("{{{}}}", pairs.join(", ")))))
    }),
    ("jsonb_object", |values| {
        let member = |(name, value): (String, Option<String>)| (name, value.map_or(Json::Null, Json::Text));
        let members = pairs(values)?.into_iter().map(member).collect();
        Ok(ScalarValue::LargeBinary(Some(Json::Object(members).to_jsonb()?)))
    }),
];

fn array_text(elements: Vec<Json>) -> String {
    let quoted = |text: String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let element = |element: Json| match element {
        Json::Null => "NULL".to_string(),
        Json::Array(elements) => array_text(elements),
        Json::Text(text) => quoted(text),
        other => quoted(other.to_string()),
    };
    let elements: Vec<String> = elements.into_iter().map(element).collect();
    format!("{{{}}}", elements.join(","))
}

/// Names and values.
type Pairs = Vec<(String, Option<String>)>;

/// Returns the names and values of the arguments.
///
/// # Errors
/// 2202E where there are not as many of them, or not in pairs; 22004 for a name that is NULL.
fn pairs(values: &[ScalarValue]) -> Result<Pairs, SqlError> {
    let wrong = |message: &str| SqlError::statement("2202E", message);
    let flat: Vec<(Option<String>, Option<String>)> = match values {
        [names, others] => {
            if nested(names).is_some() || nested(others).is_some() {
                return Err(wrong("wrong number of array subscripts"));
            }
            let (names, others) = (texts(values, 0)?, texts(values, 1)?);
            if names.len() != others.len() {
                return Err(wrong("mismatched array dimensions"));
            }
            names.into_iter().zip(others).collect()
        }
        _ => match values.first().and_then(nested) {
            Some(rows) => {
                let pair = |row: ScalarValue| {
                    if nested(&row).is_some() {
                        return Err(wrong("wrong number of array subscripts"));
                    }
                    match texts(&[row], 0)?.as_slice() {
                        [name, value] => Ok((name.clone(), value.clone())),
                        _ => Err(wrong("array must have two columns")),
                    }
                };
                rows.into_iter().map(pair).collect::<Result<_, SqlError>>()?
            }
            None => {
                let all = texts(values, 0)?;
                let (pairs, rest) = all.as_chunks::<2>();
                if !rest.is_empty() {
                    return Err(wrong("array must have even number of elements"));
                }
                pairs.iter().cloned().map(|[name, value]| (name, value)).collect()
            }
        },
    };
    let named = |(name, value): (Option<String>, Option<String>)| match name {
        Some(name) => Ok((name, value)),
        None => Err(SqlError::statement(
            "22004",
            "null value not allowed for object key",
        )),
    };
    flat.into_iter().map(named).collect()
}

/// Returns the rows of an array of several dimensions.
fn nested(value: &ScalarValue) -> Option<Vec<ScalarValue>> {
    let ScalarValue::List(list) = value else {
        return None;
    };
    let rows = list.value(0);
    rows.as_list_opt::<i32>()?;
    (0..rows.len())
        .map(|at| ScalarValue::try_from_array(&rows, at).ok())
        .collect()
}
