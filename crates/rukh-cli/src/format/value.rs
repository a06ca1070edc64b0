//! One Arrow value as PostgreSQL would print it.
//!
//! | type              | text                            |
//! |-------------------|---------------------------------|
//! | BOOLEAN           | `t`, `f`                        |
//! | numbers           | shortest floats, DECIMAL with its scale |
//! | times             | see [`super::time`]             |
//! | VARBINARY         | `\x00ff`                        |
//! | lists             | `{1,2,NULL,"a b"}`              |
//! | structs           | `(1,"a b",)`                    |
//!
//! NULL has no text here: callers ask [`is_null`] first. Types that no column of Rukh has (unions, maps,
//! …) print as Arrow prints them.

use std::borrow::Cow;
use std::io;

use rukh::NUMERIC_NAN;
use rukh::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use rukh::arrow::compute::cast;
use rukh::arrow::datatypes::*;
use rukh::arrow::util::display::{ArrayFormatter, FormatOptions};

use super::screen::escape;
use super::time::{Spelling, Zone, write_date, write_interval, write_time, write_timestamp};
use super::{Alignment, float};

/// Returns the columns of a batch with dictionaries and runs unpacked, as the functions below expect them.
pub fn columns(batch: &RecordBatch) -> io::Result<Vec<ArrayRef>> {
    batch.columns().iter().map(unpack).collect()
}

fn unpack(column: &ArrayRef) -> io::Result<ArrayRef> {
    match column.data_type() {
        DataType::Dictionary(_, value) => cast(column, value).map_err(io::Error::other),
        DataType::RunEndEncoded(_, value) => cast(column, value.data_type()).map_err(io::Error::other),
        _ => Ok(column.clone()),
    }
}

/// Returns the side to which values of a type are aligned.
pub fn alignment(data_type: &DataType) -> Alignment {
    match data_type {
        DataType::Dictionary(_, value) => alignment(value),
        data_type if data_type.is_numeric() => Alignment::Right,
        _ => Alignment::Left,
    }
}

/// Returns whether the value in `row` is NULL.
pub fn is_null(column: &dyn Array, row: usize) -> bool {
    *column.data_type() == DataType::Null || column.is_null(row)
}

/// Calls `write` with the texts of each row, control characters made visible.
pub fn escaped_rows(
    batch: &RecordBatch,
    null: &str,
    write: &mut dyn FnMut(Vec<String>) -> io::Result<()>,
) -> io::Result<()> {
    let columns = columns(batch)?;
    for row in 0..batch.num_rows() {
        let cells = columns.iter().map(|column| escape(text(column, row, null)));
        write(cells.collect())?;
    }
    Ok(())
}

/// Returns the text of the value in `row`, or `null` when it is NULL.
pub fn text(column: &dyn Array, row: usize, null: &str) -> String {
    let mut out = String::new();
    if is_null(column, row) {
        out.push_str(null);
    } else {
        write_text(column, row, Spelling::Text, &mut out);
    }
    out
}

/// Appends the text of a value that is not NULL.
pub fn write_text(column: &dyn Array, row: usize, spelling: Spelling, out: &mut String) {
    match column.data_type() {
        DataType::Boolean => out.push(if column.as_boolean().value(row) { 't' } else { 'f' }),
        DataType::Float32 => float::write_f32(column.as_primitive::<Float32Type>().value(row), out),
        DataType::Float64 => float::write_f64(column.as_primitive::<Float64Type>().value(row), out),
        DataType::List(_) => write_list(&column.as_list::<i32>().value(row), out),
        DataType::LargeList(_) => write_list(&column.as_list::<i64>().value(row), out),
        DataType::FixedSizeList(..) => write_list(&column.as_fixed_size_list().value(row), out),
        DataType::Struct(_) => write_struct(column, row, out),
        _ => {
            let written = write_integer(column, row, out)
                || write_string(column, row, out)
                || write_bytes(column, row, out)
                || write_clock_value(column, row, spelling, out);
            if !written {
                write_as_arrow(column, row, out);
            }
        }
    }
}

/// Appends an integer or decimal; returns false for other types.
fn write_integer(column: &dyn Array, row: usize, out: &mut String) -> bool {
    macro_rules! digits {
        ($arrow:ty) => {
            column.as_primitive::<$arrow>().value(row).to_string()
        };
    }
    macro_rules! scaled {
        ($arrow:ty) => {
            column.as_primitive::<$arrow>().value_as_string(row)
        };
    }
    let text = match column.data_type() {
        DataType::Int8 => digits!(Int8Type),
        DataType::Int16 => digits!(Int16Type),
        DataType::Int32 => digits!(Int32Type),
        DataType::Int64 => digits!(Int64Type),
        DataType::UInt8 => digits!(UInt8Type),
        DataType::UInt16 => digits!(UInt16Type),
        DataType::UInt32 => digits!(UInt32Type),
        DataType::UInt64 => digits!(UInt64Type),
        DataType::Decimal32(..) => scaled!(Decimal32Type),
        DataType::Decimal64(..) => scaled!(Decimal64Type),
        DataType::Decimal128(..) => scaled!(Decimal128Type),
        DataType::Decimal256(..) if column.as_primitive::<Decimal256Type>().value(row) == NUMERIC_NAN => {
            "NaN".to_string()
        }
        // A NUMERIC without digits shows those that it has.
        DataType::Decimal256(76, 38) => {
            let text = scaled!(Decimal256Type);
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        DataType::Decimal256(..) => scaled!(Decimal256Type),
        _ => return false,
    };
    out.push_str(&text);
    true
}

/// Appends a string; returns false for other types.
fn write_string(column: &dyn Array, row: usize, out: &mut String) -> bool {
    match column.data_type() {
        DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => out.push_str(column.as_string::<i64>().value(row)),
        DataType::Utf8View => out.push_str(column.as_string_view().value(row)),
        _ => return false,
    }
    true
}

/// Appends bytes as `\x` and hexadecimal digits; returns false for other types.
fn write_bytes(column: &dyn Array, row: usize, out: &mut String) -> bool {
    let bytes = match column.data_type() {
        DataType::Binary => column.as_binary::<i32>().value(row),
        DataType::LargeBinary => column.as_binary::<i64>().value(row),
        DataType::BinaryView => column.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => column.as_fixed_size_binary().value(row),
        _ => return false,
    };
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str("\\x");
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    true
}

/// How dates and timestamps after all others are shown: the greatest numbers of their types.
const INFINITY: &str = "infinity";

/// How those before all others are: the least numbers.
const MINUS_INFINITY: &str = "-infinity";

/// Appends a date, time, timestamp, interval or duration; returns false for other types.
fn write_clock_value(column: &dyn Array, row: usize, spelling: Spelling, out: &mut String) -> bool {
    match column.data_type() {
        DataType::Date32 => match column.as_primitive::<Date32Type>().value(row) {
            i32::MAX => out.push_str(INFINITY),
            i32::MIN => out.push_str(MINUS_INFINITY),
            days => write_date(i64::from(days), out),
        },
        DataType::Date64 => write_date(
            column
                .as_primitive::<Date64Type>()
                .value(row)
                .div_euclid(86_400_000),
            out,
        ),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            write_time(count(column, row) * nanos_in(*unit), out)
        }
        DataType::Timestamp(..) if count(column, row) == i128::from(i64::MAX) => out.push_str(INFINITY),
        DataType::Timestamp(..) if count(column, row) == i128::from(i64::MIN) => out.push_str(MINUS_INFINITY),
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { Zone::Utc } else { Zone::None };
            write_timestamp(count(column, row) * nanos_in(*unit), zone, spelling, out);
        }
        DataType::Duration(unit) => {
            let nanos = count(column, row) * nanos_in(*unit);
            let day = nanos_in(TimeUnit::Second) * 86_400;
            write_interval(
                0,
                i64::try_from(nanos / day).unwrap_or(i64::MAX),
                nanos % day,
                out,
            );
        }
        DataType::Interval(unit) => write_interval_value(column, row, *unit, out),
        _ => return false,
    }
    true
}

fn write_interval_value(column: &dyn Array, row: usize, unit: IntervalUnit, out: &mut String) {
    match unit {
        IntervalUnit::YearMonth => {
            write_interval(
                i64::from(column.as_primitive::<IntervalYearMonthType>().value(row)),
                0,
                0,
                out,
            );
        }
        IntervalUnit::DayTime => {
            let value = column.as_primitive::<IntervalDayTimeType>().value(row);
            write_interval(
                0,
                i64::from(value.days),
                i128::from(value.milliseconds) * 1_000_000,
                out,
            );
        }
        IntervalUnit::MonthDayNano => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            write_interval(
                i64::from(value.months),
                i64::from(value.days),
                i128::from(value.nanoseconds),
                out,
            );
        }
    }
}

/// Returns the stored number of units of a time, timestamp or duration.
fn count(column: &dyn Array, row: usize) -> i128 {
    macro_rules! stored {
        ($arrow:ty) => {
            i128::from(column.as_primitive::<$arrow>().value(row))
        };
    }
    match column.data_type() {
        DataType::Time32(TimeUnit::Second) => stored!(Time32SecondType),
        DataType::Time32(_) => stored!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => stored!(Time64MicrosecondType),
        DataType::Time64(_) => stored!(Time64NanosecondType),
        DataType::Timestamp(TimeUnit::Second, _) => stored!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => stored!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => stored!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => stored!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => stored!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => stored!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => stored!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => stored!(DurationNanosecondType),
        _ => 0,
    }
}

fn nanos_in(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

fn write_list(items: &ArrayRef, out: &mut String) {
    out.push('{');
    for row in 0..items.len() {
        if row > 0 {
            out.push(',');
        }
        let item = text(items, row, "NULL");
        let nested = matches!(
            items.data_type(),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)
        );
        if nested || is_null(items, row) {
            out.push_str(&item);
        } else {
            let bare = !item.eq_ignore_ascii_case("null") && !item.contains(['{', '}']);
            out.push_str(&quote_member(&item, bare, "\\\""));
        }
    }
    out.push('}');
}

fn write_struct(column: &dyn Array, row: usize, out: &mut String) {
    out.push('(');
    for (position, field) in column.as_struct().columns().iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        if !is_null(field, row) {
            let member = text(field, row, "");
            out.push_str(&quote_member(&member, !member.contains(['(', ')']), "\"\""));
        }
    }
    out.push(')');
}

/// Quotes a member of a list or struct unless it reads back bare; `quote` is how a `"` inside is written.
fn quote_member<'a>(member: &'a str, bare: bool, quote: &str) -> Cow<'a, str> {
    let special = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\\');
    if bare && !member.is_empty() && !member.contains(special) {
        return Cow::Borrowed(member);
    }
    Cow::Owned(format!(
        "\"{}\"",
        member.replace('\\', "\\\\").replace('"', quote)
    ))
}

fn write_as_arrow(column: &dyn Array, row: usize, out: &mut String) {
    let options = FormatOptions::default();
    match ArrayFormatter::try_new(column, &options) {
        Ok(formatter) => out.push_str(&formatter.value(row).to_string()),
        Err(error) => out.push_str(&format!("<{error}>")),
    }
}
