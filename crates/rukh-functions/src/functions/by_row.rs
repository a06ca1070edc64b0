//! Functions that are computed row by row: a name, and what it makes of the values of a row. Their signatures are those of the
//! table (`signatures::table`), which a call's arguments have when they come here; NULL in gives NULL out, but of `quote_nullable`,
//! `jsonb_set_lax`, `array_assign` and `overlaps`.
//!
//! | functions                                         | what                                                     |
//! |---------------------------------------------------|----------------------------------------------------------|
//! | `sind`, `cosd`, … , `atan2d`                      | angles in degrees, see `degrees`                         |
//! | `width_bucket`                                    | in which of so many parts of a range a number is          |
//! | `scale`, `min_scale`                              | digits after the point, and those that are not zeros      |
//! | `get_bit`, `set_bit`, `get_byte`, `set_byte`, `bit_count` | of byte strings                                  |
//! | `isfinite`                                        | of dates, times and intervals, which are                  |
//! | `array_dims`, `array_length`, … , `trim_array`    | dimensions of arrays, see `dimensions`                    |
//! | `int2shl`, `int2shr`                              | `<<` and `>>` of SMALLINT                                 |
//! | `substr`, `btrim`, … of byte strings              | see `bytes`                                               |
//! | `host`, `network`, `inet_merge`, …                | of addresses and networks, see `networks`                |
//! | `to_number`                                       | numbers out of reports, see `number_input`               |
//! | `overlaps`                                        | of spans of time, see `overlaps`                         |
//! | `quote_ident`, `quote_literal`, `quote_nullable`  | see `quoting`                                             |
//! | `jsonb_set`, `jsonb_contains`, …                  | see `json`                                                |
//! | `to_hex`, `factorial`, `unistr`, `make_date`, `to_date` |                                                          |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType as ArrowType};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_error::SqlError;

use crate::forms::intervals::{arrow_of, interval_of};
use crate::functions::common::row_values::{Compute, bytes, float, int4, integer, number};
use crate::functions::times::moment_parts::days_of;
use crate::functions::{
    json,
    lists::dimensions,
    networks,
    numbers::{degrees, number_input},
    texts::{bytes as byte_strings, quoting},
    times::{moment_input, overlaps},
};
use crate::numbers::Number;
use crate::signatures::overloaded::column_type;
use crate::signatures::table::{self, Overload};
use crate::types::arrow_type;
use rukh_keys::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DataType, Interval, NUMERIC_HALF,
    is_infinite_timestamp,
};

/// The operators `<<` and `>>` of SMALLINT, whose bits beyond 16 are lost.
pub const SHIFTS: [&str; 2] = ["int2shl", "int2shr"];

/// `~ x`, a function of no name of PostgreSQL's.
pub const BITWISE_NOT: &str = "bitwise_not";

const FUNCTIONS: [(&str, Compute); 19] = [
    ("timezone_of_interval", moved),
    (BITWISE_NOT, |values| match values.first() {
        Some(ScalarValue::FixedSizeBinary(..)) => networks::inverted(values),
        Some(ScalarValue::Int16(Some(value))) => Ok(ScalarValue::Int16(Some(!value))),
        Some(ScalarValue::Int32(Some(value))) => Ok(ScalarValue::Int32(Some(!value))),
        _ => Ok(ScalarValue::Int64(Some(!integer(values, 0)?))),
    }),
    ("to_date", |values| {
        let text = |at: usize| values.get(at).and_then(ScalarValue::try_as_str).flatten();
        let (Some(text), Some(pattern)) = (text(0), text(1)) else {
            return Err(SqlError::internal("to_date takes two texts"));
        };
        let (_, days) = moment_input::read(text, pattern)?;
        let date = i32::try_from(days)
            .ok()
            .filter(|days| (DATE_MIN..=DATE_MAX).contains(days));
        match date {
            Some(days) => Ok(ScalarValue::Date32(Some(days))),
            None => Err(SqlError::statement(
                "22008",
                format!("date out of range: \"{text}\""),
            )),
        }
    }),
    ("make_interval", make_interval),
    (SHIFTS[0], |values| shifted(values, i32::wrapping_shl)),
    (SHIFTS[1], |values| shifted(values, i32::wrapping_shr)),
    ("to_hex", |values| {
        let text = match values.first() {
            Some(ScalarValue::Int32(Some(value))) => format!("{value:x}"),
            _ => format!("{:x}", integer(values, 0)?),
        };
        Ok(ScalarValue::Utf8(Some(text)))
    }),
    ("make_date", |values| {
        let part = |at| Ok::<i32, SqlError>(integer(values, at)? as i32);
        let days = days_of(part(0)?, part(1)?, part(2)?)?;
        Ok(ScalarValue::Date32(i32::try_from(days).ok()))
    }),
    ("factorial", factorial),
    ("unistr", unistr),
    ("width_bucket", width_bucket),
    ("scale", |values| Ok(scale_of(number(values, 0)?))),
    ("min_scale", |values| {
        Ok(scale_of(number(values, 0)?.map(Number::without_zeros)))
    }),
    ("get_bit", |values| {
        let (bytes, bit) = (bytes(values, 0)?, place(values, bits(values)?)?);
        Ok(int4(i64::from(bytes[bit / 8] >> (bit % 8) & 1)))
    }),
    ("set_bit", set_bit),
    ("get_byte", |values| {
        let bytes = bytes(values, 0)?;
        Ok(int4(i64::from(bytes[place(values, bytes.len())?])))
    }),
    ("set_byte", |values| {
        let mut bytes = bytes(values, 0)?.to_vec();
        let at = place(values, bytes.len())?;
        // The lowest eight bits, as in PostgreSQL.
        bytes[at] = integer(values, 2)? as u8;
        Ok(ScalarValue::Binary(Some(bytes)))
    }),
    ("bit_count", |values| {
        let ones = bytes(values, 0)?.iter().map(|byte| i64::from(byte.count_ones()));
        Ok(ScalarValue::Int64(Some(ones.sum())))
    }),
    ("isfinite", |values| {
        let is_infinite = match values.first() {
            Some(ScalarValue::Date32(Some(days))) => *days == DATE_INFINITY || *days == DATE_MINUS_INFINITY,
            Some(ScalarValue::TimestampMicrosecond(Some(micros), _)) => is_infinite_timestamp(*micros),
            _ => false,
        };
        Ok(ScalarValue::Boolean(Some(!is_infinite)))
    }),
];

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let all = FUNCTIONS
        .iter()
        .chain(&degrees::FUNCTIONS)
        .chain(&dimensions::FUNCTIONS)
        .chain(&byte_strings::FUNCTIONS)
        .chain(&quoting::FUNCTIONS)
        .chain(&networks::FUNCTIONS)
        .chain(&json::ask::FUNCTIONS)
        .chain(&json::change::FUNCTIONS)
        .chain(&json::objects::FUNCTIONS)
        .chain([&number_input::FUNCTION]);
    let strict = all.map(|function| (function, true));
    strict
        .chain([
            (&quoting::OF_NULLS, false),
            (&json::change::SET_LAX, false),
            (&dimensions::ASSIGN, false),
            (&overlaps::FUNCTION, false),
        ])
        .map(|((name, compute), is_strict)| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::from(ByRow {
                name,
                compute: Computed(*compute),
                is_strict,
                signature,
            }))
        })
}

/// Returns the function of a name.
pub fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    functions().find(|function| function.name() == name)
}

/// Returns a call of the function of a name.
pub fn call(name: &str, arguments: Vec<Expr>) -> Option<Expr> {
    function(name).map(|function| function.call(arguments))
}

/// A function, identified by its name.
#[derive(Clone, Copy)]
struct Computed(Compute);

#[derive(Debug, PartialEq, Eq, Hash)]
struct ByRow {
    name: &'static str,
    compute: Computed,
    /// Whether NULL among the arguments makes NULL.
    is_strict: bool,
    signature: Signature,
}

impl std::fmt::Debug for Computed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("by row")
    }
}

impl PartialEq for Computed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Computed {}

impl std::hash::Hash for Computed {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl ScalarUDFImpl for ByRow {
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
        let overloads = table::functions().get(self.name);
        let overloads = overloads.ok_or_else(|| internal("has no signature"))?;
        let takes = |overload: &&Overload| {
            let arguments = overload.arguments.iter().map(|parameter| {
                let kind = parameter.kind()?;
                column_type(kind, None).map(|ty| arrow_type(&ty))
            });
            arguments.eq(types.iter().cloned().map(Some))
        };
        let overload = overloads.iter().find(takes).or(overloads.first());
        let result = overload.ok_or_else(|| internal("has no signature"))?.result;
        match result.kind().and_then(|kind| column_type(kind, None)) {
            // A number of any size.
            Some(ty) if ty.is_decimal() => Ok(arrow_type(&DataType::NUMERIC)),
            Some(ty) => Ok(arrow_type(&ty)),
            None => types.first().cloned().ok_or_else(|| internal("has no array")),
        }
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let null = ScalarValue::try_from(arguments.return_type())?;
        let of_row = |arrays: &[ArrayRef], row: usize| -> DataFusionResult<ScalarValue> {
            if self.is_strict && arrays.iter().any(|array| array.is_null(row)) {
                return Ok(null.clone());
            }
            let values = arrays.iter().map(|array| ScalarValue::try_from_array(array, row));
            let values: Vec<ScalarValue> = values.collect::<DataFusionResult<_>>()?;
            (self.compute.0)(&values).map_err(|error| DataFusionError::External(Box::new(error)))
        };
        let of_arrays = |arrays: &[ArrayRef]| match arrays[0].len() {
            0 => null.to_array_of_size(0),
            rows => {
                let values = (0..rows).map(|row| of_row(arrays, row));
                ScalarValue::iter_to_array(values.collect::<DataFusionResult<Vec<_>>>()?)
            }
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
    }
}

fn internal(what: &str) -> DataFusionError {
    DataFusionError::Internal(format!("a function by row {what}"))
}

/// Returns how many bits the first argument has.
fn bits(values: &[ScalarValue]) -> Result<usize, SqlError> {
    Ok(bytes(values, 0)?.len().saturating_mul(8))
}

/// Returns the place that the second argument says, among so many. Fails with 2202E on others.
fn place(values: &[ScalarValue], count: usize) -> Result<usize, SqlError> {
    let at = integer(values, 1)?;
    let place = usize::try_from(at).ok().filter(|place| *place < count);
    place.ok_or_else(|| {
        let last = i64::try_from(count).unwrap_or(i64::MAX).saturating_sub(1);
        SqlError::statement("2202E", format!("index {at} out of valid range, 0..{last}"))
    })
}

/// Shifts as the processors do that PostgreSQL runs on: by the count modulo 32.
fn shifted(values: &[ScalarValue], shift: fn(i32, u32) -> i32) -> Result<ScalarValue, SqlError> {
    let (value, count) = (integer(values, 0)?, integer(values, 1)?);
    Ok(ScalarValue::Int16(Some(shift(value as i32, count as u32) as i16)))
}

/// `timezone(interval, moment)`: an interval is the distance of a zone from UTC.
fn moved(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let (
        Some(ScalarValue::IntervalMonthDayNano(Some(zone))),
        Some(ScalarValue::TimestampMicrosecond(Some(moment), of)),
    ) = (values.first(), values.get(1))
    else {
        return Err(SqlError::internal("timezone takes an interval and a moment"));
    };
    let mut zone = interval_of(*zone);
    // Zones are of whole seconds.
    zone.micros = zone.micros.saturating_sub(zone.micros % 1_000_000);
    if zone.months != 0 || zone.days != 0 {
        let message = "interval time zone must not include months or days";
        return Err(SqlError::statement("22023", message));
    }
    let (moved, of) = match of {
        None => (moment.checked_sub(zone.micros), Some("UTC".into())),
        Some(_) => (moment.checked_add(zone.micros), None),
    };
    let moved = moved.ok_or_else(|| SqlError::statement("22008", "timestamp out of range"))?;
    Ok(ScalarValue::TimestampMicrosecond(Some(moved), of))
}

/// Adds up years, months, weeks, days, hours, minutes and seconds.
fn make_interval(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    const MICROS: i64 = 1_000_000;
    let outside = || SqlError::statement("22008", "interval out of range");
    let part = |at: usize| integer(values, at);
    let sum = |more: i64, one: i64, by: i64| more.checked_mul(by).and_then(|whole| whole.checked_add(one));
    let of_32_bits = |sum: Option<i64>| sum.and_then(|sum| i32::try_from(sum).ok()).ok_or_else(outside);
    let months = of_32_bits(sum(part(0)?, part(1)?, 12))?;
    let days = of_32_bits(sum(part(2)?, part(3)?, 7))?;
    let seconds = (float(values, 6)? * MICROS as f64).round_ties_even();
    // The greatest DOUBLE that 64 bits hold is less than 2^63.
    let is_whole = seconds >= i64::MIN as f64 && seconds < i64::MAX as f64;
    let clock = sum(part(4)?, part(5)?, 60)
        .and_then(|minutes| minutes.checked_mul(60 * MICROS))
        .filter(|_| is_whole)
        .and_then(|micros| micros.checked_add(seconds as i64));
    let interval = Interval {
        months,
        days,
        micros: clock.ok_or_else(outside)?,
    };
    let interval = arrow_of(interval).map_err(|_| outside())?;
    Ok(ScalarValue::IntervalMonthDayNano(Some(interval)))
}

/// Returns the digits after the point, NULL for NaN.
fn scale_of(number: Option<Number>) -> ScalarValue {
    number.map_or(ScalarValue::Int32(None), |number| int4(number.scale()))
}

fn factorial(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    /// The greatest whose factorial NUMERIC holds.
    const MOST: i64 = 33;
    let of = integer(values, 0)?;
    match of {
        ..0 => Err(SqlError::statement(
            "22003",
            "factorial of a negative number is undefined",
        )),
        0..=MOST => {
            let product = (1..=i128::from(of)).product::<i128>();
            let scale = NUMERIC_HALF as i8;
            let unscaled = Number::of_i128(product, 0).to_i256(scale)?;
            Ok(ScalarValue::Decimal256(
                Some(unscaled),
                DECIMAL256_MAX_PRECISION,
                scale,
            ))
        }
        _ => Err(SqlError::statement("22003", "value overflows numeric format")),
    }
}

/// Reads `\\XXXX`, `\\+XXXXXX`, `\\uXXXX` and `\\UXXXXXXXX` as the characters with these numbers; two of UTF-16 are one.
fn unistr(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let Some(Some(text)) = values.first().and_then(ScalarValue::try_as_str) else {
        return Err(SqlError::internal("unistr takes a text"));
    };
    let wrong = |message: &str| SqlError::statement("42601", message);
    let (mut units, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('\\') {
        units.extend(rest[..at].encode_utf16());
        rest = &rest[at.saturating_add(1)..];
        if let Some(after) = rest.strip_prefix('\\') {
            units.push(u16::from(b'\\'));
            rest = after;
            continue;
        }
        let (digits, count) = match rest.as_bytes().first() {
            Some(b'+') => (&rest[1..], 6),
            Some(b'u') => (&rest[1..], 4),
            Some(b'U') => (&rest[1..], 8),
            _ => (rest, 4),
        };
        let read = digits
            .get(..count)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = read.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| wrong("invalid Unicode escape"))?;
        match (u16::try_from(code), char::from_u32(code)) {
            (Ok(unit), _) if unit > 0 => units.push(unit),
            (Err(_), Some(character)) => units.extend(character.encode_utf16(&mut [0; 2]).iter()),
            _ => return Err(wrong("invalid Unicode code point")),
        }
        rest = &digits[count..];
    }
    units.extend(rest.encode_utf16());
    let text = String::from_utf16(&units).map_err(|_| wrong("invalid Unicode surrogate pair"))?;
    Ok(ScalarValue::Utf8(Some(text)))
}

fn set_bit(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let mut changed = bytes(values, 0)?.to_vec();
    let bit = place(values, bits(values)?)?;
    let mask = 1_u8 << (bit % 8);
    match integer(values, 2)? {
        0 => changed[bit / 8] &= !mask,
        1 => changed[bit / 8] |= mask,
        _ => return Err(SqlError::statement("22023", "new bit must be 0 or 1")),
    }
    Ok(ScalarValue::Binary(Some(changed)))
}

/// `width_bucket(x, low, high, count)`: 0 before the range, `count + 1` behind it; the range may go down.
fn width_bucket(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let wrong = |message: &str| Err(SqlError::statement("2201G", message));
    let nan = || wrong("operand, lower bound, and upper bound cannot be NaN");
    let count = integer(values, 3)?;
    if count <= 0 {
        return wrong("count must be greater than zero");
    }
    let behind = count.saturating_add(1);
    let bucket = match values.first() {
        Some(ScalarValue::Float64(_)) => {
            let (x, low, high) = (float(values, 0)?, float(values, 1)?, float(values, 2)?);
            if x.is_nan() || low.is_nan() || high.is_nan() {
                return nan();
            }
            if low.is_infinite() || high.is_infinite() {
                return wrong("lower and upper bounds must be finite");
            }
            let (from, way, width) = match low.total_cmp(&high) {
                std::cmp::Ordering::Equal => return wrong("lower bound cannot equal upper bound"),
                std::cmp::Ordering::Less => (x < low, x - low, high - low),
                std::cmp::Ordering::Greater => (x > low, low - x, low - high),
            };
            match from {
                true => 0,
                false if way >= width => behind,
                // Halved where the whole would overflow.
                false if way.is_infinite() || width.is_infinite() => {
                    let half = (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
                    ((half * count as f64) as i64).saturating_add(1)
                }
                false => ((way / width * count as f64) as i64).saturating_add(1),
            }
        }
        _ => {
            let (Some(x), Some(low), Some(high)) =
                (number(values, 0)?, number(values, 1)?, number(values, 2)?)
            else {
                return nan();
            };
            let (way, width) = match low.partial_cmp(&high) {
                Some(std::cmp::Ordering::Less) => (x.minus(&low), high.minus(&low)),
                Some(std::cmp::Ordering::Greater) => (low.minus(&x), low.minus(&high)),
                _ => return wrong("lower bound cannot equal upper bound"),
            };
            let parts = way.times(&Number::of_i128(i128::from(count), 0));
            match way {
                way if way.is_negative() => 0,
                way if way >= width => behind,
                _ => parts
                    .whole_quotient(&width)?
                    .to_i64()
                    .unwrap_or(behind)
                    .saturating_add(1),
            }
        }
    };
    match i32::try_from(bucket) {
        Ok(bucket) => Ok(ScalarValue::Int32(Some(bucket))),
        Err(_) => Err(SqlError::statement("22003", "integer out of range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_signature() {
        for function in functions() {
            let array = ArrowType::new_list(ArrowType::Int32, true);
            assert!(function.return_type(&[array]).is_ok(), "{}", function.name());
        }
    }
}
