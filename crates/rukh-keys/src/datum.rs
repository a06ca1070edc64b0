//! Typed values, owned ([`Datum`]) and borrowed ([`DatumRef`]), and their total order.
//!
//! The order is the one keys have: NULL is greater than every value, `-0 = 0`, NaN is equal to
//! itself and greater than every other float, text compares by UTF-8 bytes.
//!
//! Deliberately not here: SQL's three-valued comparison, and any conversion between kinds.

use crate::times::interval::Interval;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A value of one of the SQL types, or NULL.
///
/// One variant may serve several [`DataType`](crate::DataType)s: `Int` all integers, `Float` REAL
/// (then it is exactly an `f32`) and DOUBLE, `Timestamp` both timestamp types.
///
/// Equality, order and hash are those of keys. Comparing different variants gives a total order
/// without a meaning, except that NULL is the greatest of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Datum {
    /// SQL NULL.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// TINYINT, SMALLINT, INTEGER, BIGINT.
    Int(i64),
    /// REAL, DOUBLE.
    #[serde(with = "float_form")]
    Float(f64),
    /// DECIMAL: the value times ten to the power of the type's scale.
    Decimal(i128),
    /// NUMERIC: the form of [`NumericParts`](crate::NumericParts).
    Numeric(Vec<u8>),
    /// DATE: days since 1970-01-01.
    Date(i32),
    /// TIME: microseconds of the day, 0 to 86 400 000 000.
    Time(i64),
    /// TIMESTAMP (of no zone) and TIMESTAMP WITH TIME ZONE (UTC): microseconds since 1970-01-01.
    Timestamp(i64),
    /// UUID.
    Uuid([u8; 16]),
    /// INET, CIDR: the form of [`Inet`](crate::Inet).
    Inet(Vec<u8>),
    /// INTERVAL.
    Interval(Interval),
    /// JSONB: the form of [`Jsonb`](crate::Jsonb).
    Jsonb(Vec<u8>),
    /// An array: the form of [`array_form`](crate::array_form).
    Array(Vec<u8>),
    /// CHAR, VARCHAR, JSON.
    Text(String),
    /// BINARY, VARBINARY.
    Bytes(Vec<u8>),
}

/// A [`Datum`] whose text or bytes may be borrowed from a key or a row.
#[derive(Debug, Clone)]
pub enum DatumRef<'a> {
    /// SQL NULL.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// TINYINT, SMALLINT, INTEGER, BIGINT.
    Int(i64),
    /// REAL, DOUBLE.
    Float(f64),
    /// DECIMAL: the value times ten to the power of the type's scale.
    Decimal(i128),
    /// NUMERIC: the form of [`NumericParts`](crate::NumericParts).
    Numeric(Cow<'a, [u8]>),
    /// DATE: days since 1970-01-01.
    Date(i32),
    /// TIME: microseconds of the day.
    Time(i64),
    /// TIMESTAMP and TIMESTAMP WITH TIME ZONE: microseconds since 1970-01-01.
    Timestamp(i64),
    /// UUID.
    Uuid([u8; 16]),
    /// INET, CIDR: the form of [`Inet`](crate::Inet).
    Inet(Cow<'a, [u8]>),
    /// INTERVAL.
    Interval(Interval),
    /// JSONB: the form of [`Jsonb`](crate::Jsonb).
    Jsonb(Cow<'a, [u8]>),
    /// An array: the form of [`array_form`](crate::array_form).
    Array(Cow<'a, [u8]>),
    /// CHAR, VARCHAR, JSON.
    Text(Cow<'a, str>),
    /// BINARY, VARBINARY.
    Bytes(Cow<'a, [u8]>),
}

impl Datum {
    /// Borrows the value.
    #[inline]
    #[allow(clippy::should_implement_trait)] // a DatumRef is not a reference
    pub fn as_ref(&self) -> DatumRef<'_> {
        match self {
            Datum::Null => DatumRef::Null,
            Datum::Boolean(v) => DatumRef::Boolean(*v),
            Datum::Int(v) => DatumRef::Int(*v),
            Datum::Float(v) => DatumRef::Float(*v),
            Datum::Decimal(v) => DatumRef::Decimal(*v),
            Datum::Numeric(v) => DatumRef::Numeric(Cow::Borrowed(v)),
            Datum::Date(v) => DatumRef::Date(*v),
            Datum::Time(v) => DatumRef::Time(*v),
            Datum::Timestamp(v) => DatumRef::Timestamp(*v),
            Datum::Uuid(v) => DatumRef::Uuid(*v),
            Datum::Inet(v) => DatumRef::Inet(Cow::Borrowed(v)),
            Datum::Interval(v) => DatumRef::Interval(*v),
            Datum::Jsonb(v) => DatumRef::Jsonb(Cow::Borrowed(v)),
            Datum::Array(v) => DatumRef::Array(Cow::Borrowed(v)),
            Datum::Text(v) => DatumRef::Text(Cow::Borrowed(v)),
            Datum::Bytes(v) => DatumRef::Bytes(Cow::Borrowed(v)),
        }
    }

    /// Whether this is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// Names the kind of the value, for messages.
    pub fn kind_name(&self) -> &'static str {
        self.as_ref().kind_name()
    }

    /// Returns the smallest text or byte string greater than all that start with this one, or
    /// `None` if there is none or this is no string.
    ///
    /// | value        | successor      | because                                   |
    /// |--------------|----------------|-------------------------------------------|
    /// | `'ab'`       | `'ac'`         |                                           |
    /// | `'a\u{10ffff}'` | `'b'`       | the highest code point has no next        |
    /// | `'\u{d7ff}'` | `'\u{e000}'`   | surrogates are no characters              |
    /// | `x'61ff'`    | `x'62'`        |                                           |
    /// | `x'ff'`, `''`| none           |                                           |
    pub fn prefix_successor(&self) -> Option<Datum> {
        match self {
            Datum::Text(text) => text_prefix_successor(text).map(Datum::Text),
            Datum::Bytes(bytes) => crate::successor::prefix_successor(bytes).map(Datum::Bytes),
            _ => None,
        }
    }
}

fn text_prefix_successor(text: &str) -> Option<String> {
    let mut rest = text.to_owned();
    while let Some(last) = rest.pop() {
        // The step of a char range skips the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

impl DatumRef<'_> {
    /// Copies the value out of what it borrows from.
    pub fn to_owned(&self) -> Datum {
        self.clone().into_owned()
    }

    /// Turns into an owned value, copying only what is borrowed.
    pub fn into_owned(self) -> Datum {
        match self {
            DatumRef::Null => Datum::Null,
            DatumRef::Boolean(v) => Datum::Boolean(v),
            DatumRef::Int(v) => Datum::Int(v),
            DatumRef::Float(v) => Datum::Float(v),
            DatumRef::Decimal(v) => Datum::Decimal(v),
            DatumRef::Numeric(v) => Datum::Numeric(v.into_owned()),
            DatumRef::Date(v) => Datum::Date(v),
            DatumRef::Time(v) => Datum::Time(v),
            DatumRef::Timestamp(v) => Datum::Timestamp(v),
            DatumRef::Uuid(v) => Datum::Uuid(v),
            DatumRef::Inet(v) => Datum::Inet(v.into_owned()),
            DatumRef::Interval(v) => Datum::Interval(v),
            DatumRef::Jsonb(v) => Datum::Jsonb(v.into_owned()),
            DatumRef::Array(v) => Datum::Array(v.into_owned()),
            DatumRef::Text(v) => Datum::Text(v.into_owned()),
            DatumRef::Bytes(v) => Datum::Bytes(v.into_owned()),
        }
    }

    /// Whether this is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, DatumRef::Null)
    }

    /// Names the kind of the value, for messages.
    pub fn kind_name(&self) -> &'static str {
        match self {
            DatumRef::Null => "null",
            DatumRef::Boolean(_) => "boolean",
            DatumRef::Int(_) => "integer",
            DatumRef::Float(_) => "double precision",
            DatumRef::Decimal(_) | DatumRef::Numeric(_) => "numeric",
            DatumRef::Date(_) => "date",
            DatumRef::Time(_) => "time",
            DatumRef::Timestamp(_) => "timestamp",
            DatumRef::Uuid(_) => "uuid",
            DatumRef::Inet(_) => "inet",
            DatumRef::Interval(_) => "interval",
            DatumRef::Jsonb(_) => "jsonb",
            DatumRef::Array(_) => "array",
            DatumRef::Text(_) => "text",
            DatumRef::Bytes(_) => "bytea",
        }
    }

    /// The place of the variant among the others; NULL is last.
    fn rank(&self) -> u8 {
        match self {
            DatumRef::Boolean(_) => 0,
            DatumRef::Int(_) => 1,
            DatumRef::Float(_) => 2,
            DatumRef::Decimal(_) => 3,
            DatumRef::Date(_) => 4,
            DatumRef::Time(_) => 5,
            DatumRef::Timestamp(_) => 6,
            DatumRef::Uuid(_) => 7,
            DatumRef::Text(_) => 8,
            DatumRef::Bytes(_) => 9,
            DatumRef::Numeric(_) => 10,
            DatumRef::Interval(_) => 11,
            DatumRef::Jsonb(_) => 12,
            DatumRef::Array(_) => 13,
            DatumRef::Inet(_) => 14,
            DatumRef::Null => 15,
        }
    }
}

/// Serialises floats so that every one of them comes back: as text in formats for people, which
/// otherwise lose NaN and infinity and may lose the last digit.
mod float_form {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(value)
        } else {
            value.serialize(serializer)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?
                .parse()
                .map_err(D::Error::custom)
        } else {
            f64::deserialize(deserializer)
        }
    }
}

/// Compares floats in key order: `-0 = 0`, NaN is the greatest and equal to itself.
fn compare_floats(left: f64, right: f64) -> Ordering {
    canonical_float(left).total_cmp(&canonical_float(right))
}

/// Maps `-0` to `0` and every NaN to the positive quiet one.
#[inline]
pub(crate) fn canonical_float(value: f64) -> f64 {
    if value.is_nan() {
        f64::from_bits(0x7ff8_0000_0000_0000)
    } else {
        value + 0.0
    }
}

impl Ord for DatumRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        use DatumRef::*;
        match (self, other) {
            (Boolean(a), Boolean(b)) => a.cmp(b),
            (Int(a), Int(b)) => a.cmp(b),
            (Float(a), Float(b)) => compare_floats(*a, *b),
            (Decimal(a), Decimal(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(b),
            (Time(a), Time(b)) => a.cmp(b),
            (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (Interval(a), Interval(b)) => a.cmp(b),
            (Jsonb(a), Jsonb(b)) | (Array(a), Array(b)) => a.as_ref().cmp(b.as_ref()),
            (Numeric(a), Numeric(b)) | (Inet(a), Inet(b)) => a.as_ref().cmp(b.as_ref()),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Bytes(a), Bytes(b)) => a.as_ref().cmp(b.as_ref()),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for DatumRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DatumRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for DatumRef<'_> {}

impl Hash for DatumRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            DatumRef::Null => {}
            DatumRef::Boolean(v) => v.hash(state),
            DatumRef::Int(v) | DatumRef::Time(v) | DatumRef::Timestamp(v) => v.hash(state),
            DatumRef::Float(v) => canonical_float(*v).to_bits().hash(state),
            DatumRef::Decimal(v) => v.hash(state),
            DatumRef::Date(v) => v.hash(state),
            DatumRef::Uuid(v) => v.hash(state),
            DatumRef::Interval(v) => v.hash(state),
            DatumRef::Text(v) => v.hash(state),
            DatumRef::Bytes(v)
            | DatumRef::Numeric(v)
            | DatumRef::Inet(v)
            | DatumRef::Jsonb(v)
            | DatumRef::Array(v) => v.hash(state),
        }
    }
}

impl Ord for Datum {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Datum {}

impl Hash for Datum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}
