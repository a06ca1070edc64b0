//! Functions of byte strings whose names are those of functions of texts, computed row by row. `x_of_bytes` is what a call of `x` means
//! whose first argument is a byte string.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::common::ScalarValue;
use rukh_error::SqlError;

use crate::functions::common::row_values::{Compute, bytes, integer};

pub(crate) const FUNCTIONS: [(&str, Compute); 7] = [
    ("substr_of_bytes", part),
    ("substring_of_bytes", part),
    ("btrim_of_bytes", |values| trimmed(values, true, true)),
    ("ltrim_of_bytes", |values| trimmed(values, true, false)),
    ("rtrim_of_bytes", |values| trimmed(values, false, true)),
    ("position_of_bytes", |values| {
        let (whole, part) = (bytes(values, 0)?, bytes(values, 1)?);
        let at = match part.is_empty() {
            true => Some(0),
            false => whole.windows(part.len()).position(|window| window == part),
        };
        let place = at.map_or(0, |at| at.saturating_add(1));
        Ok(ScalarValue::Int32(i32::try_from(place).ok()))
    }),
    ("bit_length_of_bytes", |values| {
        let bits = bytes(values, 0)?.len().saturating_mul(8);
        Ok(ScalarValue::Int32(i32::try_from(bits).ok()))
    }),
];

/// The bytes from a place on, counted from 1; places before the first count, too, and have none.
fn part(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let (whole, from) = (bytes(values, 0)?, integer(values, 1)?);
    let until = match values.len() {
        2 => i64::MAX,
        _ => match integer(values, 2)? {
            ..0 => {
                return Err(SqlError::statement(
                    "22011",
                    "negative substring length not allowed",
                ));
            }
            length => from.saturating_add(length),
        },
    };
    let place = |at: i64| {
        usize::try_from(at.saturating_sub(1))
            .unwrap_or(0)
            .min(whole.len())
    };
    let (from, until) = (place(from), place(until));
    Ok(ScalarValue::Binary(Some(whole[from..until.max(from)].to_vec())))
}

/// Takes the bytes of a set off the beginning, the end, or both.
fn trimmed(values: &[ScalarValue], start: bool, end: bool) -> Result<ScalarValue, SqlError> {
    let (mut rest, set) = (bytes(values, 0)?, bytes(values, 1)?);
    while let (true, [first, after @ ..]) = (start, rest)
        && set.contains(first)
    {
        rest = after;
    }
    while let (true, [before @ .., last]) = (end, rest)
        && set.contains(last)
    {
        rest = before;
    }
    Ok(ScalarValue::Binary(Some(rest.to_vec())))
}
