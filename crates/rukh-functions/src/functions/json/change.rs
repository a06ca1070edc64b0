//! Documents made of others: `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`, `jsonb_strip_nulls`.
//!
//! They work on the tree of a document. Errors and corner cases are PostgreSQL's.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Json, Jsonb, json_elements, json_members};

use super::ask::without_nulls;
use super::values::{document, text, texts, wrong_kind};
use crate::functions::common::row_values::{Compute, integer};

pub(crate) const FUNCTIONS: [(&str, Compute); 8] = [
    ("jsonb_concat", |values| {
        form(joined(
            document(values, 0)?.to_json(),
            document(values, 1)?.to_json(),
        ))
    }),
    ("jsonb_delete", delete),
    ("jsonb_delete_path", delete_path),
    ("jsonb_set", |values| {
        set(values, super::values::document(values, 2)?.to_json())
    }),
    ("jsonb_insert", |values| {
        let (document, path) = (document(values, 0)?, texts(values, 1)?);
        if document.is_scalar() {
            return Err(wrong_kind("cannot set path in scalar"));
        }
        let value = super::values::document(values, 2)?.to_json();
        let after = flag(values, 3).unwrap_or(false);
        change(document, &path, &Change::Insert { value, after })
    }),
    (ASSIGN, |values| {
        let (mut json, path) = (document(values, 0)?.to_json(), texts(values, 1)?);
        assign(&mut json, &path, 0, document(values, 2)?.to_json())?;
        form(json)
    }),
    ("jsonb_strip_nulls", |values| {
        form(without_nulls(document(values, 0)?.to_json()))
    }),
    ("json_strip_nulls", |values| {
        let written = text(values, 0)?;
        Ok(ScalarValue::LargeUtf8(Some(written_without_nulls(
            written.trim(),
        )?)))
    }),
];

/// `jsonb_assign(document, path, value)`, which SET of a member calls: what the path lacks is made, arrays are filled with nulls.
pub const ASSIGN: &str = "jsonb_assign";

/// The most elements that an assignment makes of an array.
const ASSIGNED_MAX: usize = 10_000_000;

fn assign(json: &mut Json, path: &[Option<String>], level: usize, value: Json) -> Result<(), SqlError> {
    let Some(step) = path.get(level) else {
        *json = value;
        return Ok(());
    };
    let position = level.saturating_add(1);
    let Some(step) = step else {
        return Err(SqlError::statement(
            "22004",
            "jsonb subscript in assignment must not be null",
        ));
    };
    // What is made for a step that is a number is an array.
    let made = || match path.get(position).and_then(Option::as_ref) {
        Some(next) if next.parse::<i32>().is_ok() => Json::Array(Vec::new()),
        Some(_) => Json::Object(Vec::new()),
        None => Json::Null,
    };
    let place = match json {
        Json::Object(members) => {
            let at = members.iter().position(|(name, _)| name == step);
            let at = at.unwrap_or_else(|| {
                members.push((step.clone(), made()));
                members.len().saturating_sub(1)
            });
            &mut members[at].1
        }
        Json::Array(elements) => {
            let number: i32 = step.trim().parse().map_err(|_| {
                let message = format!("path element at position {position} is not an integer: \"{step}\"");
                SqlError::statement("22P02", message)
            })?;
            let at = match usize::try_from(number) {
                Ok(at) => Some(at),
                Err(_) => place(number.into(), elements.len()),
            };
            let at = at.filter(|at| *at < ASSIGNED_MAX).ok_or_else(|| {
                let message = format!("path element at position {position} is out of range: {number}");
                SqlError::statement("22023", message)
            })?;
            if at >= elements.len() {
                elements.resize(at, Json::Null);
                elements.push(made());
            }
            &mut elements[at]
        }
        _ => {
            return Err(SqlError::statement("22023", "cannot replace existing key")
                .with_detail("The path assumes key is a composite object, but it is a scalar value."));
        }
    };
    assign(place, path, position, value)
}

/// `jsonb_set_lax`, which says itself what NULL is.
pub(crate) const SET_LAX: (&str, Compute) = ("jsonb_set_lax", |values| {
    const TREATMENTS: &str = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
    let is_null = |at: usize| values.get(at).is_none_or(ScalarValue::is_null);
    if is_null(0) || is_null(1) || is_null(3) {
        return Ok(ScalarValue::LargeBinary(None));
    }
    if is_null(4) {
        return Err(SqlError::statement("22023", TREATMENTS));
    }
    if !is_null(2) {
        return set(values, document(values, 2)?.to_json());
    }
    match text(values, 4)? {
        "use_json_null" => set(values, Json::Null),
        "delete_key" => delete_path(values),
        "return_target" => form(document(values, 0)?.to_json()),
        "raise_exception" => Err(SqlError::statement("22004", "JSON value must not be null")
            .with_detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .with_hint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")),
        _ => Err(SqlError::statement("22023", TREATMENTS)),
    }
});

/// `jsonb_set` of a value.
fn set(values: &[ScalarValue], value: Json) -> Result<ScalarValue, SqlError> {
    let (document, path) = (document(values, 0)?, texts(values, 1)?);
    if document.is_scalar() {
        return Err(wrong_kind("cannot set path in scalar"));
    }
    let creates = flag(values, 3).unwrap_or(true);
    // Nothing is created in what is empty.
    if document.is_empty() && !creates {
        return form(document.to_json());
    }
    change(document, &path, &Change::Set { value, creates })
}

/// `#-`.
fn delete_path(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let (document, path) = (document(values, 0)?, texts(values, 1)?);
    if document.is_scalar() {
        return Err(wrong_kind("cannot delete path in scalar"));
    }
    change(document, &path, &Change::Delete)
}

fn form(json: Json) -> Result<ScalarValue, SqlError> {
    Ok(ScalarValue::LargeBinary(Some(json.to_jsonb()?)))
}

fn flag(values: &[ScalarValue], at: usize) -> Option<bool> {
    match values.get(at) {
        Some(ScalarValue::Boolean(value)) => *value,
        _ => None,
    }
}

/// `||`: objects and arrays are joined; anything else beside an array is an element of it.
fn joined(one: Json, other: Json) -> Json {
    match (one, other) {
        (Json::Object(mut members), Json::Object(more)) => {
            members.extend(more);
            Json::Object(members)
        }
        (one, other) => {
            let elements = |json| match json {
                Json::Array(elements) => elements,
                other => vec![other],
            };
            let mut all = elements(one);
            all.extend(elements(other));
            Json::Array(all)
        }
    }
}

/// `-` of a name, of names, of a number.
fn delete(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let document = document(values, 0)?;
    if document.is_scalar() {
        return Err(wrong_kind("cannot delete from scalar"));
    }
    let json = document.to_json();
    if let Some(ScalarValue::Int32(_)) = values.get(1) {
        return match json {
            Json::Array(mut elements) => {
                if let Some(at) = place(integer(values, 1)?, elements.len()) {
                    elements.remove(at);
                }
                form(Json::Array(elements))
            }
            _ => Err(wrong_kind("cannot delete from object using integer index")),
        };
    }
    let names: Vec<Option<String>> = match values.get(1) {
        Some(ScalarValue::List(_)) => texts(values, 1)?,
        _ => vec![Some(text(values, 1)?.to_string())],
    };
    let is_named = |name: &str| names.iter().flatten().any(|given| given == name);
    form(match json {
        Json::Object(members) => {
            Json::Object(members.into_iter().filter(|(name, _)| !is_named(name)).collect())
        }
        Json::Array(elements) => {
            let keeps = |element: &Json| !matches!(element, Json::Text(text) if is_named(text));
            Json::Array(elements.into_iter().filter(keeps).collect())
        }
        scalar => scalar,
    })
}

/// Returns the place of an element that is counted from the end if its number is negative.
fn place(number: i64, length: usize) -> Option<usize> {
    let at = match usize::try_from(number) {
        Ok(at) => at,
        Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
    };
    (at < length).then_some(at)
}

/// What happens at the end of a path.
enum Change {
    Delete,
    Set { value: Json, creates: bool },
    Insert { value: Json, after: bool },
}

fn change(document: Jsonb<'_>, path: &[Option<String>], change: &Change) -> Result<ScalarValue, SqlError> {
    let mut json = document.to_json();
    if !path.is_empty() {
        at_path(&mut json, path, 0, change)?;
    }
    form(json)
}

fn at_path(json: &mut Json, path: &[Option<String>], level: usize, change: &Change) -> Result<(), SqlError> {
    let position = level.saturating_add(1);
    let Some(step) = &path[level] else {
        let message = format!("path element at position {position} is null");
        return Err(SqlError::statement("22004", message));
    };
    let is_last = position == path.len();
    match json {
        Json::Object(members) => {
            let at = members.iter().position(|(name, _)| name == step);
            match (at, is_last, change) {
                (Some(at), false, _) => return at_path(&mut members[at].1, path, position, change),
                (Some(at), true, Change::Delete) => {
                    members.remove(at);
                }
                (Some(at), true, Change::Set { value, .. }) => members[at].1 = value.clone(),
                (Some(_), true, Change::Insert { .. }) => {
                    return Err(wrong_kind("cannot replace existing key")
                        .with_hint("Try using the function jsonb_set to replace key value."));
                }
                (None, true, Change::Set { value, creates: true } | Change::Insert { value, .. }) => {
                    members.push((step.clone(), value.clone()));
                }
                (None, ..) => {}
            }
        }
        Json::Array(elements) => {
            let number: i32 = step.trim().parse().map_err(|_| {
                let message = format!("path element at position {position} is not an integer: \"{step}\"");
                SqlError::statement("22P02", message)
            })?;
            let at = place(number.into(), elements.len());
            match (at, is_last, change) {
                (Some(at), false, _) => return at_path(&mut elements[at], path, position, change),
                (Some(at), true, Change::Delete) => {
                    elements.remove(at);
                }
                (Some(at), true, Change::Set { value, .. }) => elements[at] = value.clone(),
                (Some(at), true, Change::Insert { value, after }) => {
                    elements.insert(at.saturating_add(usize::from(*after)), value.clone());
                }
                // Beyond an end it becomes the first or the last.
                (None, true, Change::Set { value, creates: true } | Change::Insert { value, .. }) => {
                    let at = if number < 0 { 0 } else { elements.len() };
                    elements.insert(at, value.clone());
                }
                (None, ..) => {}
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns a JSON without the members that are null, and without blanks.
fn written_without_nulls(written: &str) -> Result<String, SqlError> {
    if let Some(members) = json_members(written)? {
        let members = members.into_iter().filter(|(_, value)| *value != "null");
        let members = members.map(|(name, value)| {
            let mut member = String::new();
            // Writing into a String does not fail.
            let _ = rukh_keys::quote_json(&name, &mut member);
            Ok(format!("{member}:{}", written_without_nulls(value)?))
        });
        return Ok(format!(
            "{{{}}}",
            members.collect::<Result<Vec<_>, SqlError>>()?.join(",")
        ));
    }
    match json_elements(written)? {
        Some(elements) => {
            let elements = elements.into_iter().map(written_without_nulls);
            Ok(format!(
                "[{}]",
                elements.collect::<Result<Vec<_>, SqlError>>()?.join(",")
            ))
        }
        None => Ok(written.to_string()),
    }
}
