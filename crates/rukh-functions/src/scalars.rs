//! Values between DataFusion and us: literals, parameters, columns of results, assignments.
//!
//! Assignment follows PostgreSQL's assignment casts: numbers round and are checked for range, strings
//! are read in the column's input syntax, dates and timestamps convert, and everything may become text;
//! anything else is 42804.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray,
    LargeBinaryArray, LargeStringArray, ListArray, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampSecondArray,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Decimal256Type, Field, Float64Type, i256,
};
use datafusion::common::ScalarValue;
use rukh_keys::{
    CIDR_WIDE, DataType, Datum, INET_WIDE, Inet, NUMERIC_HALF, NumericParts, RecordType, ValueError,
    array_form, array_text, record_form, record_text,
};

use crate::batch::array_of;
use crate::casts::numbers::converted;
use crate::forms::intervals::{arrow_of, interval_of, of_durations};
use crate::forms::numerics::{self, datum_of, is_nan, overflow, parts_of, unscaled_of_form};
use crate::types::{
    TYPE_KEY, arrow_type, data_type_of, data_type_of_arrow, enum_of, postgres_name, taken_type,
};
use rukh_error::SqlError;

/// Returns a datum as a literal of its type.
pub fn scalar_from_datum(datum: &Datum, ty: &DataType) -> ScalarValue {
    match (datum, ty) {
        (Datum::Array(_), ty) => array_of(ty, std::slice::from_ref(datum))
            .and_then(|array| Ok(ScalarValue::try_from_array(&array, 0)?))
            .unwrap_or(ScalarValue::Null),
        (Datum::Null, _) => ScalarValue::try_from(&arrow_type(ty)).unwrap_or(ScalarValue::Null),
        (Datum::Boolean(v), _) => ScalarValue::Boolean(Some(*v)),
        (Datum::Int(v), DataType::Enum(_)) => ScalarValue::TimestampSecond(Some(*v), zone_of(ty)),
        (Datum::Int(v), DataType::TinyInt) => ScalarValue::Int8(i8::try_from(*v).ok()),
        (Datum::Int(v), DataType::SmallInt) => ScalarValue::Int16(i16::try_from(*v).ok()),
        (Datum::Int(v), DataType::Integer) => ScalarValue::Int32(i32::try_from(*v).ok()),
        (Datum::Int(v), _) => ScalarValue::Int64(Some(*v)),
        (Datum::Float(v), DataType::Real) => ScalarValue::Float32(Some(*v as f32)),
        (Datum::Float(v), _) => ScalarValue::Float64(Some(*v)),
        (Datum::Decimal(v), DataType::Decimal { precision, scale }) => {
            ScalarValue::Decimal128(Some(*v), *precision, *scale as i8)
        }
        (Datum::Decimal(v), _) => ScalarValue::Decimal128(Some(*v), 38, 0),
        (Datum::Numeric(form), ty) => {
            let (precision, scale) = match ty {
                DataType::Numeric { precision, scale } => (*precision, *scale as i8),
                _ => (2 * NUMERIC_HALF, NUMERIC_HALF as i8),
            };
            ScalarValue::Decimal256(unscaled_of_form(form, scale), precision, scale)
        }
        (Datum::Date(v), _) => ScalarValue::Date32(Some(*v)),
        (Datum::Time(v), _) => ScalarValue::Time64Microsecond(Some(*v)),
        (Datum::Timestamp(v), DataType::TimestampTz { .. }) => {
            ScalarValue::TimestampMicrosecond(Some(*v), Some("UTC".into()))
        }
        (Datum::Timestamp(v), _) => ScalarValue::TimestampMicrosecond(Some(*v), None),
        (Datum::Interval(v), _) => ScalarValue::IntervalMonthDayNano(arrow_of(*v).ok()),
        (Datum::Inet(form), ty) => {
            let value = Inet::of_form(form).map(|value| value.to_wide(*ty == DataType::Cidr));
            let width = if *ty == DataType::Cidr {
                CIDR_WIDE
            } else {
                INET_WIDE
            };
            ScalarValue::FixedSizeBinary(width as i32, value)
        }
        (Datum::Jsonb(v), _) => ScalarValue::LargeBinary(Some(v.clone())),
        (Datum::Text(v), DataType::Json) => ScalarValue::LargeUtf8(Some(v.clone())),
        (Datum::Uuid(_), _) => ScalarValue::Utf8(Some(DataType::Uuid.format_text(datum))),
        (Datum::Text(v), _) => ScalarValue::Utf8(Some(v.clone())),
        (Datum::Bytes(v), _) => ScalarValue::Binary(Some(v.clone())),
    }
}

/// Returns the time zone that names an enum.
fn zone_of(ty: &DataType) -> Option<Arc<str>> {
    match arrow_type(ty) {
        ArrowType::Timestamp(_, zone) => zone,
        _ => None,
    }
}

/// Returns a literal in its own type; `None` for NULL and for kinds that keys do not hold.
pub fn datum_of_scalar(value: &ScalarValue) -> Option<(Datum, DataType)> {
    Some(match value {
        ScalarValue::Boolean(Some(v)) => (Datum::Boolean(*v), DataType::Boolean),
        ScalarValue::Int8(Some(v)) => (Datum::Int(i64::from(*v)), DataType::TinyInt),
        ScalarValue::Int16(Some(v)) => (Datum::Int(i64::from(*v)), DataType::SmallInt),
        ScalarValue::Int32(Some(v)) => (Datum::Int(i64::from(*v)), DataType::Integer),
        ScalarValue::Int64(Some(v)) => (Datum::Int(*v), DataType::BigInt),
        ScalarValue::UInt8(Some(v)) => (Datum::Int(i64::from(*v)), DataType::BigInt),
        ScalarValue::UInt16(Some(v)) => (Datum::Int(i64::from(*v)), DataType::BigInt),
        ScalarValue::UInt32(Some(v)) => (Datum::Int(i64::from(*v)), DataType::BigInt),
        ScalarValue::UInt64(Some(v)) => (
            Datum::Decimal(i128::from(*v)),
            DataType::Decimal {
                precision: 20,
                scale: 0,
            },
        ),
        ScalarValue::Float32(Some(v)) => (Datum::Float(f64::from(*v)), DataType::Real),
        ScalarValue::Float64(Some(v)) => (Datum::Float(*v), DataType::Double),
        ScalarValue::Decimal128(Some(v), precision, scale) if *scale >= 0 => (
            Datum::Decimal(*v),
            DataType::Decimal {
                precision: *precision,
                scale: *scale as u8,
            },
        ),
        ScalarValue::Decimal256(Some(v), precision, scale) if *scale >= 0 => (
            datum_of(*v, *scale).ok()?,
            data_type_of_arrow(&ArrowType::Decimal256(*precision, *scale)),
        ),
        ScalarValue::Date32(Some(v)) => (Datum::Date(*v), DataType::Date),
        ScalarValue::Time64Microsecond(Some(v)) => (Datum::Time(*v), DataType::Time { precision: 6 }),
        ScalarValue::Time64Nanosecond(Some(v)) if v % 1000 == 0 => {
            (Datum::Time(v / 1000), DataType::Time { precision: 6 })
        }
        ScalarValue::TimestampMicrosecond(Some(v), zone) => (Datum::Timestamp(*v), timestamp(zone.is_some())),
        ScalarValue::TimestampMillisecond(Some(v), zone) => {
            (Datum::Timestamp(v.checked_mul(1000)?), timestamp(zone.is_some()))
        }
        value @ ScalarValue::TimestampSecond(Some(v), _) if let Some(of) = enum_of(&value.data_type()) => {
            (Datum::Int(*v), DataType::Enum(of))
        }
        ScalarValue::TimestampSecond(Some(v), zone) => (
            Datum::Timestamp(v.checked_mul(1_000_000)?),
            timestamp(zone.is_some()),
        ),
        ScalarValue::TimestampNanosecond(Some(v), zone) if v % 1000 == 0 => {
            (Datum::Timestamp(v / 1000), timestamp(zone.is_some()))
        }
        ScalarValue::Utf8(Some(v)) | ScalarValue::Utf8View(Some(v)) => {
            (Datum::Text(v.clone()), DataType::Varchar(None))
        }
        ScalarValue::FixedSizeBinary(_, Some(v)) => (
            Datum::Inet(Inet::of_wide(v)?.to_form()),
            data_type_of_arrow(&value.data_type()),
        ),
        ScalarValue::Binary(Some(v)) | ScalarValue::BinaryView(Some(v)) => {
            (Datum::Bytes(v.clone()), DataType::Varbinary(None))
        }
        _ => return None,
    })
}

fn timestamp(with_zone: bool) -> DataType {
    match with_zone {
        true => DataType::TIMESTAMP_TZ,
        false => DataType::TIMESTAMP,
    }
}

/// Returns a value as it is stored in a column of this type: an assignment cast.
pub fn datum_from_scalar(value: &ScalarValue, ty: &DataType, column: &str) -> Result<Datum, SqlError> {
    match (value, ty) {
        (ScalarValue::Int64(Some(v)), ty) if ty.is_integer() => Ok(ty.check(Datum::Int(*v))?),
        (ScalarValue::Utf8(Some(text)), ty) => from_text(text, ty),
        (value, _) if value.is_null() => Ok(Datum::Null),
        _ => {
            let array = value.to_array()?;
            let mut values = assigned_datums(&array, ty, column)?;
            Ok(values.pop().unwrap_or(Datum::Null))
        }
    }
}

/// Reads a string that is assigned to a column.
fn from_text(text: &str, ty: &DataType) -> Result<Datum, SqlError> {
    match ty.is_text() {
        true => Ok(ty.check(Datum::Text(text.to_string()))?),
        false => Ok(ty.parse_text(text)?),
    }
}

/// Returns a column of values as they are stored in a column of this type: an assignment cast.
pub fn assigned_datums(array: &ArrayRef, ty: &DataType, column: &str) -> Result<Vec<Datum>, SqlError> {
    let from = array.data_type();
    if *from == ArrowType::Null {
        return Ok(vec![Datum::Null; array.len()]);
    }
    if is_text(from) {
        return texts(array)?
            .iter()
            .map(|text| text.map_or(Ok(Datum::Null), |text| from_text(text, ty)))
            .collect();
    }
    if let (ArrowType::List(_), Some(element)) = (from, ty.element()) {
        return assigned_arrays(array.as_list(), element, column);
    }
    if let (ArrowType::Struct(_), DataType::Record(of)) = (from, ty) {
        return assigned_records(array.as_struct(), *of, column);
    }
    let datums = match (from, ty) {
        (from, ty) if *from == arrow_type(ty) => datums_from_array(array, ty)?,
        (from, ty) if ty.is_integer() && from.is_numeric() => integers(array)?,
        (ArrowType::Decimal128(..) | ArrowType::Decimal256(..), ty) if ty.is_decimal() => {
            rescaled_datums(array, ty)?
        }
        (from, ty) if ty.is_decimal() && from.is_integer() => {
            rescaled_datums(&cast(array, &ArrowType::Decimal128(20, 0))?, ty)?
        }
        (from, ty) if ty.is_decimal() && from.is_numeric() => match converted(array, &arrow_type(ty))? {
            Some(decimals) => datums_from_array(&decimals, ty)?,
            None => return Err(mismatch(column, ty, &data_type_of_arrow(from))),
        },
        (ArrowType::Float16 | ArrowType::Float32 | ArrowType::Float64, DataType::Real) => {
            datums_from_array(&cast(array, &ArrowType::Float64)?, &DataType::Double)?
        }
        (from, DataType::Real | DataType::Double) if from.is_numeric() => {
            let floats = match converted(array, &arrow_type(ty))? {
                Some(floats) => floats,
                None => cast(array, &arrow_type(ty))?,
            };
            datums_from_array(&floats, ty)?
        }
        (from, ty) if ty.is_text() && has_text(from) => text_datums(array)?,
        (ArrowType::LargeUtf8, DataType::Jsonb) | (ArrowType::LargeBinary, DataType::Json) => {
            let texts = text_datums(array)?.into_iter();
            let read = |datum| match datum {
                Datum::Text(text) => ty.parse_text(&text),
                other => Ok(other),
            };
            texts.map(read).collect::<Result<_, _>>()?
        }
        (ArrowType::FixedSizeBinary(_), DataType::Inet | DataType::Cidr) => {
            datums_from_array(array, &data_type_of_arrow(from))?
        }
        (from, ty) if converts(from, ty) => datums_from_array(&cast(array, &arrow_type(ty))?, ty)?,
        (from, ty) => return Err(mismatch(column, ty, &data_type_of_arrow(from))),
    };
    datums.into_iter().map(|datum| Ok(ty.check(datum)?)).collect()
}

/// Checks that a column takes the values of an expression that is no literal: a text is read as a value of another type
/// only where it is one. That the other types fit is checked by [`assigned_datums`].
///
/// # Errors
/// 42804.
pub fn check_assigned(from: &Field, ty: &DataType, column: &str) -> Result<(), SqlError> {
    let is_text = is_text(from.data_type()) && data_type_of(from).is_text();
    // UUIDs are texts, and not everything that gives one says so.
    let may_fit = ty.is_text() || (*ty == DataType::Uuid && !from.metadata().contains_key(TYPE_KEY));
    match is_text && !may_fit {
        true => Err(mismatch(column, ty, &data_type_of(from))),
        false => Ok(()),
    }
}

/// Returns arrays as they are stored in a column: each element by an assignment cast.
fn assigned_arrays(lists: &ListArray, element: DataType, column: &str) -> Result<Vec<Datum>, SqlError> {
    let from = lists.value_type();
    if from.is_list() {
        return Err(ValueError::ArrayDimensions.into());
    }
    // UUIDs are texts.
    if is_text(&from) && !element.is_text() && element != DataType::Uuid {
        let list = ArrowType::new_list(from, true);
        return Err(mismatch(column, &element.array(), &data_type_of_arrow(&list)));
    }
    let form = |values: Option<ArrayRef>| match values {
        None => Ok(Datum::Null),
        Some(values) => {
            let values = assigned_datums(&values, &element, column)?;
            Ok(Datum::Array(array_form(element, &values)?))
        }
    };
    lists.iter().map(form).collect()
}

/// Returns rows as they are stored in a column: each field by an assignment cast, in the order of the type's.
fn assigned_records(records: &StructArray, of: RecordType, column: &str) -> Result<Vec<Datum>, SqlError> {
    let wanted = of.fields();
    if records.num_columns() != wanted.len() {
        let message = format!("cannot cast type record to {}", of.sql_name());
        let detail = match records.num_columns() < wanted.len() {
            true => "Input has too few columns.",
            false => "Input has too many columns.",
        };
        return Err(SqlError::statement("42846", message).with_detail(detail));
    }
    let fields = records.columns().iter().zip(wanted);
    let fields = fields.map(|(values, field)| assigned_datums(values, &field.ty, column));
    let mut fields = fields.collect::<Result<Vec<_>, SqlError>>()?;
    let record = |row: usize| match records.is_null(row) {
        true => Ok(Datum::Null),
        false => {
            let values = fields
                .iter_mut()
                .map(|field| std::mem::replace(&mut field[row], Datum::Null));
            Ok(Datum::Array(record_form(of, &values.collect::<Vec<_>>())?))
        }
    };
    (0..records.len()).map(record).collect()
}

/// Returns exact numbers as those of a DECIMAL or NUMERIC, rounded half away from zero.
fn rescaled_datums(array: &ArrayRef, ty: &DataType) -> Result<Vec<Datum>, SqlError> {
    let parts: Vec<Option<Option<NumericParts>>> = match array.data_type() {
        ArrowType::Decimal128(_, scale) => {
            let values = array.as_primitive::<Decimal128Type>().iter();
            let parts = |value| parts_of(i256::from_i128(value), *scale);
            values.map(|value| value.map(parts)).collect()
        }
        ArrowType::Decimal256(_, scale) => {
            let values = array.as_primitive::<Decimal256Type>().iter();
            values
                .map(|value| value.map(|value| parts_of(value, *scale)))
                .collect()
        }
        _ => return Err(layout_error(array)),
    };
    let datum = |parts: Option<NumericParts>| match ty {
        DataType::Decimal { scale, .. } => parts
            .and_then(|parts| parts.to_decimal(*scale))
            .map(Datum::Decimal),
        _ => parts.map(|parts| Datum::Numeric(parts.to_form())),
    };
    let datums = parts.into_iter().enumerate().map(|(row, parts)| match parts {
        None => Ok(Datum::Null),
        Some(None) if is_nan(array, row) => Ok(ty.parse_text("NaN")?),
        Some(parts) => datum(parts).ok_or_else(|| overflow(ty)),
    });
    datums.collect()
}

/// Returns whether values of an Arrow type may be assigned to a column beside the numeric cases.
fn converts(from: &ArrowType, ty: &DataType) -> bool {
    let time = |from: &ArrowType| {
        matches!(
            from,
            ArrowType::Timestamp(..) | ArrowType::Date32 | ArrowType::Date64
        )
    };
    if enum_of(from).is_some() {
        return false;
    }
    match ty {
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. } => time(from),
        DataType::Time { .. } => matches!(
            from,
            ArrowType::Time32(_) | ArrowType::Time64(_) | ArrowType::Timestamp(..)
        ),
        DataType::Binary(_) | DataType::Varbinary(_) => from.is_binary() && *from != ArrowType::LargeBinary,
        DataType::Interval => matches!(
            from,
            ArrowType::Interval(_) | ArrowType::Duration(_) | ArrowType::Time64(_)
        ),
        _ => false,
    }
}

/// Whether values of an Arrow type may be assigned to a text: all that SQL has may.
fn has_text(from: &ArrowType) -> bool {
    !from.is_nested() || matches!(from, ArrowType::List(_) | ArrowType::Struct(_))
}

/// Returns a value as a cast to text spells it: an address with its mask, which results leave out where it covers the address.
pub(crate) fn cast_text(datum: &Datum, ty: &DataType) -> String {
    match datum {
        Datum::Inet(form) => Inet::of_form(form).map(Inet::full_text).unwrap_or_default(),
        datum => ty.format_text(datum),
    }
}

/// Returns values as texts, spelled as casts to text spell them.
fn text_datums(array: &ArrayRef) -> Result<Vec<Datum>, SqlError> {
    let ty = data_type_of_arrow(array.data_type());
    let text = |datum| match datum {
        Datum::Null => Datum::Null,
        // `t` and `f` are how results show them.
        Datum::Boolean(value) => Datum::Text(value.to_string()),
        datum => Datum::Text(cast_text(&datum, &ty)),
    };
    Ok(datums_from_array(array, &ty)?.into_iter().map(text).collect())
}

/// Returns the name of a type in messages.
fn name(ty: &DataType) -> String {
    match ty.element() {
        Some(element) => format!("{}[]", postgres_name(&element)),
        None => postgres_name(ty).to_string(),
    }
}

fn mismatch(column: &str, ty: &DataType, from: &DataType) -> SqlError {
    let message = format!(
        "column \"{column}\" is of type {} but expression is of type {}",
        name(ty),
        name(from)
    );
    SqlError::statement("42804", message).with_hint("You will need to rewrite or cast the expression.")
}

/// Rounds numbers to integers: decimals half away from zero, floats half to even, as PostgreSQL does.
fn integers(array: &ArrayRef) -> Result<Vec<Datum>, SqlError> {
    let from = array.data_type();
    if from.is_floating() {
        let floats = cast(array, &ArrowType::Float64)?;
        let round = |v: f64| match (-9.2e18..9.2e18).contains(&v.round_ties_even()) {
            true => Ok(Datum::Int(v.round_ties_even() as i64)),
            false => Err(SqlError::statement("22003", "bigint out of range")),
        };
        let values = floats.as_primitive::<Float64Type>();
        return values.iter().map(|v| v.map_or(Ok(Datum::Null), round)).collect();
    }
    let target = match from {
        ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => return whole_numbers(array),
        _ => ArrowType::Int64,
    };
    datums_from_array(&cast(array, &target)?, &DataType::BigInt)
}

fn whole_numbers(array: &ArrayRef) -> Result<Vec<Datum>, SqlError> {
    let whole = DataType::Decimal {
        precision: 38,
        scale: 0,
    };
    let narrowed = rescaled_datums(array, &whole)?
        .into_iter()
        .map(|datum| match datum {
            Datum::Decimal(v) => match i64::try_from(v) {
                Ok(v) => Ok(Datum::Int(v)),
                Err(_) => Err(SqlError::statement("22003", "bigint out of range")),
            },
            other => Ok(other),
        });
    narrowed.collect()
}

fn cast(array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef, SqlError> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, to, &options).map_err(|error| match array.data_type().is_nested() {
        true => SqlError::unsupported("rows and arrays as values are not supported here"),
        false => SqlError::statement("22003", error.to_string()),
    })
}

fn is_text(from: &ArrowType) -> bool {
    matches!(from, ArrowType::Utf8 | ArrowType::Utf8View)
        || matches!(from, ArrowType::Dictionary(_, values) if is_text(values))
}

/// Returns strings of any string layout.
pub fn texts(array: &ArrayRef) -> Result<Vec<Option<&str>>, SqlError> {
    match array.data_type() {
        ArrowType::Utf8 => Ok(array.as_string::<i32>().iter().collect()),
        ArrowType::LargeUtf8 => Ok(array.as_string::<i64>().iter().collect()),
        ArrowType::Utf8View => Ok(array.as_string_view().iter().collect()),
        other => Err(SqlError::unsupported(format!("strings of layout {other}"))),
    }
}

/// Collects the values of a typed array as datums.
macro_rules! collect {
    ($array:expr, $kind:ty, $value:ident => $datum:expr) => {{
        let typed = $array
            .as_any()
            .downcast_ref::<$kind>()
            .ok_or_else(|| layout_error($array))?;
        Ok(typed
            .iter()
            .map(|value| value.map_or(Datum::Null, |$value| $datum))
            .collect())
    }};
}

/// Returns the values of a column of a result; the array is cast to the type's own layout if need be.
///
/// Arrays, which no column has, come as text.
pub fn datums_from_array(array: &ArrayRef, ty: &DataType) -> Result<Vec<Datum>, SqlError> {
    if let ArrowType::List(_) = array.data_type() {
        return match ty.element() {
            Some(element) => assigned_arrays(array.as_list(), element, ""),
            None => array_texts(array),
        };
    }
    if let ArrowType::Struct(_) = array.data_type() {
        return match ty {
            DataType::Record(of) => assigned_records(array.as_struct(), *of, ""),
            _ => record_texts(array),
        };
    }
    let wanted = arrow_type(ty);
    let converted;
    let array = match array.data_type() {
        from if *from == wanted => array,
        ArrowType::Duration(_) => {
            converted = of_durations(array)?;
            &converted
        }
        _ => {
            converted = cast(array, &wanted)?;
            &converted
        }
    };
    match ty {
        DataType::Boolean => collect!(array, BooleanArray, v => Datum::Boolean(v)),
        DataType::TinyInt => collect!(array, Int8Array, v => Datum::Int(i64::from(v))),
        DataType::SmallInt => collect!(array, Int16Array, v => Datum::Int(i64::from(v))),
        DataType::Integer => collect!(array, Int32Array, v => Datum::Int(i64::from(v))),
        DataType::BigInt => collect!(array, Int64Array, v => Datum::Int(v)),
        DataType::Real => collect!(array, Float32Array, v => Datum::Float(f64::from(v))),
        DataType::Double => collect!(array, Float64Array, v => Datum::Float(v)),
        DataType::Decimal { .. } => collect!(array, Decimal128Array, v => Datum::Decimal(v)),
        DataType::Numeric { .. } => numerics::datums(array.as_primitive::<Decimal256Type>()),
        DataType::Date => collect!(array, Date32Array, v => Datum::Date(v)),
        DataType::Time { .. } => collect!(array, Time64MicrosecondArray, v => Datum::Time(v)),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            collect!(array, TimestampMicrosecondArray, v => Datum::Timestamp(v))
        }
        DataType::Enum(_) => collect!(array, TimestampSecondArray, v => Datum::Int(v)),
        DataType::Char(_) | DataType::Varchar(_) => {
            collect!(array, StringArray, v => Datum::Text(v.to_string()))
        }
        DataType::Binary(_) | DataType::Varbinary(_) => {
            collect!(array, BinaryArray, v => Datum::Bytes(v.to_vec()))
        }
        DataType::Inet | DataType::Cidr => collect!(array, FixedSizeBinaryArray, v => {
            Inet::of_wide(v).map_or(Datum::Null, |value| Datum::Inet(value.to_form()))
        }),
        DataType::Interval => {
            collect!(array, IntervalMonthDayNanoArray, v => Datum::Interval(interval_of(v)))
        }
        DataType::Json => collect!(array, LargeStringArray, v => Datum::Text(v.to_string())),
        DataType::Jsonb => collect!(array, LargeBinaryArray, v => Datum::Jsonb(v.to_vec())),
        DataType::Array(_) | DataType::Record(_) => Err(layout_error(array)),
        DataType::Uuid => {
            let typed = array
                .as_any()
                .downcast_ref::<StringArray>()
                .ok_or_else(|| layout_error(array))?;
            typed
                .iter()
                .map(|text| text.map_or(Ok(Datum::Null), |text| Ok(ty.parse_text(text)?)))
                .collect()
        }
    }
}

/// Returns the values of an array as those of a parameter that is wanted to be of a type, and their type.
///
/// | values   | wanted       | become                                                |
/// |----------|--------------|-------------------------------------------------------|
/// | strings  | any type     | what they say, read as literals of the type           |
/// | integers | integers     | the type wanted if all of them fit, else as they are  |
/// | others   | any type     | as they are                                           |
///
/// Lists become texts such as `{1,2}`.
pub fn parameters_of_array(array: &ArrayRef, wanted: &DataType) -> Result<(Vec<Datum>, DataType), SqlError> {
    let unpacked;
    let plain = taken_type(array.data_type());
    let array = match plain == *array.data_type() {
        true => array,
        false => {
            unpacked = cast(array, &plain)?;
            &unpacked
        }
    };
    let from = array.data_type();
    if from.is_null() {
        return Ok((vec![Datum::Null; array.len()], *wanted));
    }
    if is_text(from) && !wanted.is_text() {
        let values = texts(array)?.into_iter();
        let values = values.map(|text| text.map_or(Ok(Datum::Null), |text| from_text(text, wanted)));
        return Ok((values.collect::<Result<_, _>>()?, *wanted));
    }
    if from.is_nested() && !matches!(from, ArrowType::List(_)) {
        return Err(SqlError::unsupported(format!(
            "parameters of the Arrow type {from} are not supported"
        )));
    }
    let own = match from {
        ArrowType::List(_) => DataType::Varchar(None),
        from => data_type_of_arrow(from),
    };
    let values = datums_from_array(array, &own)?;
    let fits = |value: &Datum| wanted.check(value.clone()).is_ok();
    match own.is_integer() && wanted.is_integer() && values.iter().all(fits) {
        true => Ok((values, *wanted)),
        false => Ok((values, own)),
    }
}

/// Returns rows as PostgreSQL writes them: `(1,"a b",)`.
fn record_texts(array: &ArrayRef) -> Result<Vec<Datum>, SqlError> {
    let record = array.as_struct();
    let fields = record.columns().iter().zip(record.fields());
    let fields = fields.map(|(values, field)| output_texts(values, &data_type_of(field)));
    let fields = fields.collect::<Result<Vec<_>, SqlError>>()?;
    let text = |row: usize| match record.is_null(row) {
        true => Datum::Null,
        false => Datum::Text(record_text(fields.iter().map(|texts| texts[row].as_deref()))),
    };
    Ok((0..record.len()).map(text).collect())
}

/// Returns values as texts, spelled as results show them.
fn output_texts(values: &ArrayRef, ty: &DataType) -> Result<Vec<Option<String>>, SqlError> {
    let text = |datum| match datum {
        Datum::Null => None,
        Datum::Boolean(value) => Some(if value { "t" } else { "f" }.to_string()),
        datum => Some(ty.format_text(&datum)),
    };
    Ok(datums_from_array(values, ty)?.into_iter().map(text).collect())
}

/// Returns arrays as PostgreSQL writes them.
fn array_texts(array: &ArrayRef) -> Result<Vec<Datum>, SqlError> {
    let text = |values: ArrayRef| -> Result<Datum, SqlError> {
        let texts = output_texts(&values, &data_type_of_arrow(values.data_type()))?;
        Ok(Datum::Text(match values.data_type() {
            // An array in an array is not quoted.
            ArrowType::List(_) => {
                let inner = texts
                    .into_iter()
                    .map(|text| text.unwrap_or_else(|| "NULL".to_string()));
                format!("{{{}}}", inner.collect::<Vec<_>>().join(","))
            }
            _ => array_text(texts.iter().map(Option::as_deref)),
        }))
    };
    let lists = array.as_list::<i32>();
    lists
        .iter()
        .map(|values| values.map_or(Ok(Datum::Null), text))
        .collect()
}

fn layout_error(array: &ArrayRef) -> SqlError {
    SqlError::internal(format!(
        "a column has the unexpected layout {}",
        array.data_type()
    ))
}
