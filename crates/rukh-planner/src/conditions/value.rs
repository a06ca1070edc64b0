//! Values on the way through functions and comparisons, and how values of different types compare.
//!
//! The rules are PostgreSQL's:
//!
//! | left            | right           | compared as                                        |
//! |-----------------|-----------------|----------------------------------------------------|
//! | integer         | integer         | numbers                                            |
//! | integer, decimal| decimal, NUMERIC| exact decimals                                     |
//! | any number      | REAL, DOUBLE    | DOUBLE; NaN is the greatest and equals itself       |
//! | DATE            | TIMESTAMP       | timestamps, the date at midnight (UTC)              |
//! | CHAR            | text constant   | text, trailing blanks of the constant cut           |
//! | BINARY(n)       | bytes constant  | bytes, the constant padded with zero bytes          |
//! | text constant   | anything else   | the text read as the other type                     |
//! | array           | array of the type | element by element, as their forms do             |
//! | other pairs     |                 | not understood                                      |

use std::borrow::Cow;
use std::cmp::Ordering;

use rukh_keys::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAY_MICROS, DataType, Datum, EnumType, NUMERIC_HALF, NUMERIC_NAN,
    NumericParts, RecordType, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY, decimal_to_double,
};

/// A value with all that its type says about it.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Boolean(bool),
    Int(i128),
    /// Unscaled value and scale.
    Decimal(i128, u8),
    Numeric(NumericParts),
    /// That of a NUMERIC.
    NaN,
    Float(f64),
    /// Days since 1970, of any size; infinities are the ends of 128 bits.
    Date(i128),
    /// Microseconds of the day.
    Time(i64),
    /// Microseconds since 1970, of any size; infinities are the ends of 128 bits.
    Timestamp(i128),
    Uuid([u8; 16]),
    /// The form of an address or a network: they compare.
    Inet(Cow<'a, [u8]>),
    /// The code of a label.
    Enum(i64, EnumType),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// The form of an array, and the type of its elements; of a text type without its length.
    Array(Cow<'a, [u8]>, DataType),
    /// The form of a row of a composite type.
    Row(Cow<'a, [u8]>, RecordType),
}

impl<'a> Value<'a> {
    /// Reads a datum of a type; a datum of another kind is no value of the type.
    pub(crate) fn new(datum: &'a Datum, ty: DataType) -> Option<Value<'a>> {
        Some(match (datum, ty) {
            (Datum::Null, _) => Value::Null,
            (Datum::Boolean(value), DataType::Boolean) => Value::Boolean(*value),
            (Datum::Int(value), ty) if ty.is_integer() => Value::Int(i128::from(*value)),
            (Datum::Decimal(value), DataType::Decimal { scale, .. }) => Value::Decimal(*value, scale),
            (Datum::Numeric(form), DataType::Numeric { .. }) if *form == NUMERIC_NAN => Value::NaN,
            (Datum::Numeric(form), DataType::Numeric { .. }) => Value::Numeric(NumericParts::of_form(form)?),
            (Datum::Float(value), ty) if ty.is_float() => Value::Float(*value),
            (Datum::Date(days), DataType::Date) => Value::Date(match *days {
                DATE_INFINITY => i128::MAX,
                DATE_MINUS_INFINITY => i128::MIN,
                days => i128::from(days),
            }),
            (Datum::Time(micros), DataType::Time { .. }) => Value::Time(*micros),
            (Datum::Timestamp(micros), DataType::Timestamp { .. } | DataType::TimestampTz { .. }) => {
                Value::Timestamp(match *micros {
                    TIMESTAMP_INFINITY => i128::MAX,
                    TIMESTAMP_MINUS_INFINITY => i128::MIN,
                    micros => i128::from(micros),
                })
            }
            (Datum::Uuid(bytes), DataType::Uuid) => Value::Uuid(*bytes),
            (Datum::Inet(form), ty) if ty.is_inet() => Value::Inet(Cow::Borrowed(form)),
            (Datum::Int(code), DataType::Enum(of)) => Value::Enum(*code, of),
            (Datum::Text(text), ty) if ty.is_text() => Value::Text(Cow::Borrowed(text)),
            (Datum::Bytes(bytes), ty) if ty.is_bytes() => Value::Bytes(Cow::Borrowed(bytes)),
            (Datum::Array(form), DataType::Array(element)) => {
                Value::Array(Cow::Borrowed(form), compared_element(*element)?)
            }
            (Datum::Array(form), DataType::Record(of)) => {
                Value::Row(Cow::Borrowed(form), compared_record(of)?)
            }
            _ => return None,
        })
    }

    /// Copies what is borrowed.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Boolean(value) => Value::Boolean(value),
            Value::Int(value) => Value::Int(value),
            Value::Decimal(value, scale) => Value::Decimal(value, scale),
            Value::Numeric(parts) => Value::Numeric(parts),
            Value::NaN => Value::NaN,
            Value::Float(value) => Value::Float(value),
            Value::Date(days) => Value::Date(days),
            Value::Time(micros) => Value::Time(micros),
            Value::Timestamp(micros) => Value::Timestamp(micros),
            Value::Uuid(bytes) => Value::Uuid(bytes),
            Value::Inet(form) => Value::Inet(Cow::Owned(form.into_owned())),
            Value::Enum(code, of) => Value::Enum(code, of),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Value::Array(form, element) => Value::Array(Cow::Owned(form.into_owned()), element),
            Value::Row(form, of) => Value::Row(Cow::Owned(form.into_owned()), of),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value as a DOUBLE, if it is a number.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Decimal(value, scale) => Some(decimal_to_double(*value, *scale)),
            Value::Numeric(parts) => Some(parts.to_double()),
            Value::NaN => Some(f64::NAN),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as an exact decimal, if it is an integer or decimal.
    pub(crate) fn as_decimal(&self) -> Option<(i128, u8)> {
        match self {
            Value::Int(value) => Some((*value, 0)),
            Value::Decimal(value, scale) => Some((*value, *scale)),
            _ => None,
        }
    }

    /// The value as an exact number, if it is an integer, decimal or number and has no more than 38 digits before the point.
    pub(crate) fn as_numeric(&self) -> Option<NumericParts> {
        match self {
            Value::Numeric(parts) => Some(*parts),
            other => other
                .as_decimal()
                .and_then(|(value, scale)| NumericParts::of_decimal(value, scale)),
        }
    }

    /// Whether the value is `infinity` (`Greater`) or `-infinity` (`Less`).
    pub(crate) fn infinity(&self) -> Option<Ordering> {
        match self {
            Value::Date(i128::MAX) | Value::Timestamp(i128::MAX) => Some(Ordering::Greater),
            Value::Date(i128::MIN) | Value::Timestamp(i128::MIN) => Some(Ordering::Less),
            _ => None,
        }
    }

    /// The value as microseconds since 1970, if it is a date or timestamp.
    pub(crate) fn as_timestamp(&self) -> Option<i128> {
        match self {
            Value::Date(days) => Some(days.saturating_mul(i128::from(DAY_MICROS))),
            Value::Timestamp(micros) => Some(*micros),
            _ => None,
        }
    }
}

/// Compares two values that are not NULL; `None` if they do not compare.
pub(crate) fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    use Value::*;
    Some(match (left, right) {
        (Boolean(a), Boolean(b)) => a.cmp(b),
        (Int(a), Int(b)) => a.cmp(b),
        (Float(_), _) | (_, Float(_)) => compare_floats(left.as_float()?, right.as_float()?),
        (NaN, NaN) => Ordering::Equal,
        (NaN, Int(_) | Decimal(..) | Numeric(_)) => Ordering::Greater,
        (Int(_) | Decimal(..) | Numeric(_), NaN) => Ordering::Less,
        (Int(_) | Decimal(..), Int(_) | Decimal(..)) => {
            compare_decimals(left.as_decimal()?, right.as_decimal()?)
        }
        (Int(_) | Decimal(..) | Numeric(_), Int(_) | Decimal(..) | Numeric(_)) => {
            left.as_numeric()?.cmp(&right.as_numeric()?)
        }
        (Date(a), Date(b)) => a.cmp(b),
        (Date(_) | Timestamp(_), Date(_) | Timestamp(_)) => left.as_timestamp()?.cmp(&right.as_timestamp()?),
        (Time(a), Time(b)) => a.cmp(b),
        (Uuid(a), Uuid(b)) => a.cmp(b),
        (Inet(a), Inet(b)) => a.cmp(b),
        (Enum(a, of), Enum(b, other)) if of == other => a.cmp(b),
        (Text(a), Text(b)) => a.cmp(b),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Array(a, of), Array(b, other)) if of == other => a.cmp(b),
        (Row(a, of), Row(b, other)) if of == other => a.cmp(b),
        _ => return None,
    })
}

/// Returns the type by which arrays compare as their forms do, or `None` where they do not: a text's length does not matter.
pub(crate) fn compared_element(element: DataType) -> Option<DataType> {
    match element {
        DataType::Varchar(_) => Some(DataType::Varchar(None)),
        DataType::Varbinary(_) => Some(DataType::Varbinary(None)),
        // Their blanks and bytes at the end may count or not.
        DataType::Char(_) | DataType::Binary(_) => None,
        DataType::Array(element) => compared_element(*element).map(DataType::array),
        DataType::Record(of) => compared_record(of).map(DataType::Record),
        other => other.is_of_keys().then_some(other),
    }
}

/// Returns a composite type whose rows compare as their forms do, `None` of another.
pub(crate) fn compared_record(of: RecordType) -> Option<RecordType> {
    let mut fields = of.fields().iter();
    fields
        .all(|field| compared_element(field.ty).is_some())
        .then_some(of)
}

/// Compares floats in key order: `-0 = 0`, NaN is the greatest and equal to itself.
fn compare_floats(left: f64, right: f64) -> Ordering {
    Datum::Float(left).cmp(&Datum::Float(right))
}

/// Compares exact decimals of any scales without overflow: whole parts first, then fractions.
fn compare_decimals((left, left_scale): (i128, u8), (right, right_scale): (i128, u8)) -> Ordering {
    let scale = left_scale.max(right_scale);
    let parts = |value: i128, own: u8| {
        let unit = power_of_ten(own);
        (
            value.div_euclid(unit),
            value.rem_euclid(unit) * power_of_ten(scale - own),
        )
    };
    parts(left, left_scale).cmp(&parts(right, right_scale))
}

/// Ten to the power of a scale; scales above 38 do not occur in types.
pub(crate) fn power_of_ten(scale: u8) -> i128 {
    10_i128.pow(u32::from(scale.min(38)))
}

/// Returns a constant as it compares with values of type `target`; `None` if it does not.
///
/// | constant      | target    | becomes                                        |
/// |---------------|-----------|------------------------------------------------|
/// | text          | DATE, …   | the text read as that type                      |
/// | text          | CHAR(n)   | the text without trailing blanks                |
/// | CHAR          | text      | the text without trailing blanks                |
/// | bytes         | BINARY(n) | trailing zero bytes cut, padded with them to n  |
/// | anything else |           | as it is                                        |
pub(crate) fn constant_value<'a>(datum: &'a Datum, ty: DataType, target: DataType) -> Option<Value<'a>> {
    match (datum, target) {
        (Datum::Text(text), target) if target.is_text() => {
            let blanks_count = !matches!(target, DataType::Char(_)) && !matches!(ty, DataType::Char(_));
            let text = if blanks_count {
                text
            } else {
                text.trim_end_matches(' ')
            };
            Some(Value::Text(Cow::Borrowed(text)))
        }
        (Datum::Text(text), target) => {
            let read_as = reading_type(target, text)?;
            let value = read_as.parse_text(text).ok()?;
            Value::new(&value, read_as).and_then(|value| padded(value.into_owned(), target))
        }
        _ => padded(Value::new(datum, ty)?, target),
    }
}

/// Pads bytes that meet a BINARY(n).
fn padded(value: Value<'_>, target: DataType) -> Option<Value<'_>> {
    match (value, target) {
        (Value::Bytes(bytes), DataType::Binary(length)) => {
            let end = bytes
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last + 1);
            let mut bytes = bytes[..end].to_vec();
            bytes.resize(end.max(length as usize), 0);
            Some(Value::Bytes(Cow::Owned(bytes)))
        }
        (value, _) => Some(value),
    }
}

/// The type that a text constant is read as when it meets `target`: never one that rounds or pads.
fn reading_type(target: DataType, text: &str) -> Option<DataType> {
    match target {
        DataType::Decimal { .. } => Some(DataType::Decimal {
            precision: 38,
            scale: scale_of_text(text, DECIMAL_SCALE_MAX)?,
        }),
        DataType::Numeric { .. } if text.trim().eq_ignore_ascii_case("nan") => Some(DataType::NUMERIC),
        DataType::Numeric { .. } => scale_of_text(text, NUMERIC_HALF).map(|_| DataType::NUMERIC),
        DataType::Binary(_) => Some(DataType::Varbinary(None)),
        DataType::Cidr => Some(DataType::Inet),
        ty if ty.is_integer() => Some(DataType::BigInt),
        ty => Some(ty.unrounded()),
    }
}

/// Most digits behind the point of a text that is read as a DECIMAL.
const DECIMAL_SCALE_MAX: u8 = 30;

/// The digits behind the point of a number written without an exponent; `None` of more than `most`.
fn scale_of_text(text: &str, most: u8) -> Option<u8> {
    let text = text.trim();
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let fits = text.chars().all(is_plain) && fraction.len() <= usize::from(most);
    u8::try_from(fraction.len()).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_scale_compare() {
        assert_eq!(compare_decimals((15, 1), (150, 2)), Ordering::Equal);
        assert_eq!(compare_decimals((-15, 1), (-1, 0)), Ordering::Less);
        let max = 10_i128.pow(38) - 1;
        assert_eq!(compare_decimals((max, 0), (max, 38)), Ordering::Greater);
        assert_eq!(compare_decimals((-max, 0), (-max, 38)), Ordering::Less);
    }

    #[test]
    fn floats_compare_as_keys_do() {
        let compare = |a, b| compare(&Value::Float(a), &Value::Float(b)).unwrap();
        assert_eq!(compare(-0.0, 0.0), Ordering::Equal);
        assert_eq!(compare(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(compare(-f64::NAN, f64::NAN), Ordering::Equal);
    }
}
