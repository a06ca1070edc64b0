//! The SQL types: their names, domains, widths in a key, and neighbouring values.
//!
//! Bringing values into the form of a type is in `check`, reading and writing them as text in `input` and `output`.

pub(crate) mod enums;
pub(crate) mod inet;
pub(crate) mod records;

use crate::datum::Datum;
use crate::error::ValueError;
use crate::numeric::NUMERIC_HALF;
use crate::times::calendar::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DAY_MICROS, TIMESTAMP_INFINITY, TIMESTAMP_MAX,
    TIMESTAMP_MIN, TIMESTAMP_MINUS_INFINITY,
};
use crate::types::enums::{EnumDefinition, EnumLabel, EnumType};
use crate::types::records::{RecordDefinition, RecordType};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// The most digits of a DECIMAL of fixed width.
const DECIMAL_PRECISION_MAX: u8 = 38;
/// The most digits of a DECIMAL that takes 8 bytes.
const DECIMAL_PRECISION_SHORT: u8 = 18;
/// The powers of ten up to that of the most digits.
const POWERS_OF_TEN: [i128; DECIMAL_PRECISION_MAX as usize + 1] = powers_of_ten();
/// The longest CHAR and BINARY, and the longest limit of a VARCHAR or VARBINARY, as in PostgreSQL.
const LENGTH_MAX: u32 = 10_485_760;

/// A type of a column.
///
/// Displays as SQL, such as `DECIMAL(10,2)`, and parses from the same spelling and from
/// PostgreSQL's other names of the types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "StoredType", into = "StoredType")]
pub enum DataType {
    /// `BOOLEAN`.
    Boolean,
    /// `TINYINT`: one byte with sign.
    TinyInt,
    /// `SMALLINT`: two bytes with sign.
    SmallInt,
    /// `INTEGER`: four bytes with sign.
    Integer,
    /// `BIGINT`: eight bytes with sign.
    BigInt,
    /// `REAL`: a binary float of four bytes.
    Real,
    /// `DOUBLE`: a binary float of eight bytes.
    Double,
    /// `DECIMAL(precision, scale)`: `precision` digits (1 to 38), `scale` of them after the point.
    Decimal {
        /// All digits.
        precision: u8,
        /// The digits after the point.
        scale: u8,
    },
    /// `NUMERIC(precision, scale)` of more than 38 digits; `NUMERIC` alone is [`DataType::NUMERIC`].
    Numeric {
        /// All digits, 76 at most.
        precision: u8,
        /// The digits after the point, 38 at most, and at most 38 digits fewer than all.
        scale: u8,
    },
    /// `DATE`: a day of the years 1 to 5 874 897.
    Date,
    /// `TIME(precision)`: a time of day, 00:00 to 24:00; `TIME` is `TIME(6)`.
    Time {
        /// The digits of a second's fraction: 0 to 3, or 6.
        precision: u8,
    },
    /// `TIMESTAMP(precision)`: date and time, of no time zone; `TIMESTAMP` is `TIMESTAMP(6)`.
    Timestamp {
        /// The digits of a second's fraction: 0 to 6.
        precision: u8,
    },
    /// `TIMESTAMP(precision) WITH TIME ZONE`: an instant, held in UTC.
    TimestampTz {
        /// The digits of a second's fraction: 0 to 6.
        precision: u8,
    },
    /// `INTERVAL`: months, days and microseconds. Not in keys.
    Interval,
    /// `JSON`: a text that is JSON, as it was written. Not in keys.
    Json,
    /// `JSONB`: JSON in the form of [`Jsonb`](crate::Jsonb). Not in keys.
    Jsonb,
    /// `type[]`: an array of one dimension of values of a type that is no array.
    Array(&'static DataType),
    /// `CREATE TYPE … AS ENUM`: labels in an order of their own, as the codes of [`EnumDefinition`].
    Enum(EnumType),
    /// `CREATE TYPE … AS (…)`: rows of fields.
    Record(RecordType),
    /// `UUID`.
    Uuid,
    /// `INET`: an address of a host, with the length of its network's mask.
    Inet,
    /// `CIDR`: a network.
    Cidr,
    /// `CHAR(n)`: text of up to `n` characters, of which keys have room for `n` bytes of UTF-8; trailing blanks do not count.
    Char(u32),
    /// `VARCHAR` or `VARCHAR(n)`: text of up to `n` characters.
    Varchar(Option<u32>),
    /// `BINARY(n)`: exactly `n` bytes; shorter values are padded with zero bytes.
    Binary(u32),
    /// `VARBINARY` or `VARBINARY(n)`: up to `n` bytes.
    Varbinary(Option<u32>),
}

impl DataType {
    /// `NUMERIC`: any number of up to 38 digits before the point and 38 after it.
    pub const NUMERIC: DataType = DataType::Numeric {
        precision: 2 * NUMERIC_HALF,
        scale: NUMERIC_HALF,
    };

    /// `TIMESTAMP`: to the microsecond.
    pub const TIMESTAMP: DataType = DataType::Timestamp { precision: 6 };

    /// `TIMESTAMP WITH TIME ZONE`: to the microsecond.
    pub const TIMESTAMP_TZ: DataType = DataType::TimestampTz { precision: 6 };

    /// Returns the type of all its values: a timestamp of some precision is one to the microsecond, as TIME is.
    pub fn unrounded(self) -> DataType {
        match self {
            DataType::Time { .. } => DataType::Time { precision: 6 },
            DataType::Timestamp { .. } => DataType::TIMESTAMP,
            DataType::TimestampTz { .. } => DataType::TIMESTAMP_TZ,
            other => other,
        }
    }

    /// Whether values may be in keys: all but INTERVAL, JSON, JSONB, arrays of these, and rows with them.
    pub fn is_of_keys(&self) -> bool {
        match self {
            DataType::Interval | DataType::Json | DataType::Jsonb => false,
            DataType::Array(element) => element.is_of_keys(),
            DataType::Record(of) => of.fields().iter().all(|field| field.ty.is_of_keys()),
            _ => true,
        }
    }

    /// Returns the type of arrays of this type; that of an array is itself, as in PostgreSQL.
    pub fn array(self) -> DataType {
        /// Types that some array has for its elements. Each is kept for good: there are few.
        static ELEMENTS: Mutex<Option<HashMap<DataType, &'static DataType>>> = Mutex::new(None);
        if let DataType::Array(_) = self {
            return self;
        }
        let mut elements = ELEMENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let element = elements
            .get_or_insert_default()
            .entry(self)
            .or_insert_with(|| Box::leak(Box::new(self)));
        DataType::Array(element)
    }

    /// Whether values are forms of others: arrays and rows, of which [`Datum::Array`] has the bytes.
    pub fn is_composed(self) -> bool {
        matches!(self, DataType::Array(_) | DataType::Record(_))
    }

    /// Returns the type of the elements of an array.
    pub fn element(self) -> Option<DataType> {
        match self {
            DataType::Array(element) => Some(*element),
            _ => None,
        }
    }

    /// Returns the bytes a value takes in a key, tag not counted, or `None` for NUMERIC, INET, CIDR, VARCHAR and
    /// VARBINARY, which vary, and for types that are not in keys. A BOOLEAN counts one byte, although several may share it.
    pub fn key_width(&self) -> Option<usize> {
        Some(match self {
            DataType::Boolean | DataType::TinyInt => 1,
            DataType::SmallInt => 2,
            DataType::Integer | DataType::Real | DataType::Date | DataType::Enum(_) => 4,
            DataType::BigInt | DataType::Double => 8,
            DataType::Decimal { precision, .. } if *precision > DECIMAL_PRECISION_SHORT => 16,
            DataType::Decimal { .. } => 8,
            DataType::Time { precision } if *precision <= 3 => 4,
            DataType::Time { .. } | DataType::Timestamp { .. } | DataType::TimestampTz { .. } => 8,
            DataType::Uuid => 16,
            DataType::Char(length) | DataType::Binary(length) => *length as usize,
            DataType::Numeric { .. } | DataType::Varchar(_) | DataType::Varbinary(_) => return None,
            DataType::Inet | DataType::Cidr => return None,
            DataType::Interval
            | DataType::Json
            | DataType::Jsonb
            | DataType::Array(_)
            | DataType::Record(_) => return None,
        })
    }

    /// Returns the label that an enum has for a code.
    pub fn label(&self, code: i64) -> Option<&'static str> {
        match self {
            DataType::Enum(of) => of.definition().label(code),
            _ => None,
        }
    }

    /// Whether keys have values of two types in the same bytes.
    pub fn has_key_bytes_of(&self, other: &DataType) -> bool {
        self == other
            || matches!(
                (self, other),
                (DataType::Varchar(_), DataType::Varchar(_))
                    | (DataType::Varbinary(_), DataType::Varbinary(_))
                    | (DataType::Numeric { .. }, DataType::Numeric { .. })
                    | (DataType::Timestamp { .. }, DataType::Timestamp { .. })
                    | (DataType::TimestampTz { .. }, DataType::TimestampTz { .. })
                    | (DataType::Cidr, DataType::Inet)
            )
    }

    /// Whether this is one of the four integer types.
    pub fn is_integer(&self) -> bool {
        self.int_bounds().is_some()
    }

    /// Whether this is REAL or DOUBLE.
    pub fn is_float(&self) -> bool {
        matches!(self, DataType::Real | DataType::Double)
    }

    /// Whether this is DECIMAL or NUMERIC.
    pub fn is_decimal(&self) -> bool {
        matches!(self, DataType::Decimal { .. } | DataType::Numeric { .. })
    }

    /// Whether this is CHAR or VARCHAR.
    pub fn is_text(&self) -> bool {
        matches!(self, DataType::Char(_) | DataType::Varchar(_))
    }

    /// Whether this is INET or CIDR.
    pub fn is_inet(&self) -> bool {
        matches!(self, DataType::Inet | DataType::Cidr)
    }

    /// Whether this is BINARY or VARBINARY.
    pub fn is_bytes(&self) -> bool {
        matches!(self, DataType::Binary(_) | DataType::Varbinary(_))
    }

    /// Whether each value but the greatest has a next one that is worth naming in a span, so that
    /// `> x` may be written `>= successor(x)`: BOOLEAN, integers, DECIMAL, dates, times and enums.
    pub fn is_discrete(&self) -> bool {
        self.min_max().is_some()
    }

    /// Returns the smallest and the greatest value of a discrete type. Dates and timestamps end in infinities; not every number between
    /// those and the last day is a value.
    pub fn min_max(&self) -> Option<(Datum, Datum)> {
        Some(match self {
            DataType::Boolean => (Datum::Boolean(false), Datum::Boolean(true)),
            DataType::Decimal { precision, .. } => {
                let max = decimal_max(*precision);
                (Datum::Decimal(-max), Datum::Decimal(max))
            }
            DataType::Date => (Datum::Date(DATE_MINUS_INFINITY), Datum::Date(DATE_INFINITY)),
            DataType::Time { .. } => (Datum::Time(0), Datum::Time(DAY_MICROS)),
            DataType::Timestamp { .. } | DataType::TimestampTz { .. } => (
                Datum::Timestamp(TIMESTAMP_MINUS_INFINITY),
                Datum::Timestamp(TIMESTAMP_INFINITY),
            ),
            DataType::Enum(of) => {
                let labels = &of.definition().labels;
                let code = |label: &EnumLabel| Datum::Int(i64::from(label.code));
                (code(labels.first()?), code(labels.last()?))
            }
            _ => {
                let (min, max) = self.int_bounds()?;
                (Datum::Int(min), Datum::Int(max))
            }
        })
    }

    /// Returns the next greater value of a discrete type, or `None` at its end, for NULL, and for
    /// every other type.
    pub fn successor(&self, datum: &Datum) -> Option<Datum> {
        let (_, max) = self.min_max()?;
        (*datum < max).then(|| self.step(datum, 1)).flatten()
    }

    /// Returns the next smaller value of a discrete type, or `None` at its start, for NULL, and
    /// for every other type.
    pub fn predecessor(&self, datum: &Datum) -> Option<Datum> {
        let (min, _) = self.min_max()?;
        (*datum > min).then(|| self.step(datum, -1)).flatten()
    }

    fn step(&self, datum: &Datum, sign: i8) -> Option<Datum> {
        Some(match (self, datum) {
            (DataType::Boolean, Datum::Boolean(_)) => Datum::Boolean(sign > 0),
            (DataType::Decimal { .. }, Datum::Decimal(v)) => Datum::Decimal(v.checked_add(i128::from(sign))?),
            (DataType::Date, Datum::Date(v)) => {
                Datum::Date(date_towards(v.checked_add(i32::from(sign))?, sign))
            }
            (DataType::Time { precision }, Datum::Time(v)) => {
                Datum::Time(v.checked_add(i64::from(sign) * time_unit(*precision))?)
            }
            (DataType::Timestamp { .. } | DataType::TimestampTz { .. }, Datum::Timestamp(v)) => {
                Datum::Timestamp(timestamp_towards(v.checked_add(i64::from(sign))?, sign))
            }
            (DataType::Enum(of), Datum::Int(code)) => {
                let of = of.definition();
                let next = of.position(*code)?.checked_add_signed(isize::from(sign))?;
                Datum::Int(i64::from(of.labels.get(next)?.code))
            }
            (_, Datum::Int(v)) if self.is_integer() => Datum::Int(v.checked_add(i64::from(sign))?),
            _ => return None,
        })
    }

    /// The smallest and greatest value of an integer type.
    pub(crate) fn int_bounds(&self) -> Option<(i64, i64)> {
        Some(match self {
            DataType::TinyInt => (i64::from(i8::MIN), i64::from(i8::MAX)),
            DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
            DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
            DataType::BigInt => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }

    /// Returns the name PostgreSQL's messages use, such as `character varying(20)`.
    pub fn postgres_name(&self) -> String {
        match self {
            DataType::Double => "double precision".to_owned(),
            numeric if *numeric == DataType::NUMERIC => "numeric".to_owned(),
            DataType::Decimal { precision, scale } | DataType::Numeric { precision, scale } => {
                format!("numeric({precision},{scale})")
            }
            DataType::Time { precision: 6 } => "time".to_owned(),
            DataType::Char(length) => format!("character({length})"),
            DataType::Varchar(None) => "text".to_owned(),
            DataType::Varchar(Some(limit)) => format!("character varying({limit})"),
            DataType::Varbinary(None) => "bytea".to_owned(),
            DataType::Enum(of) => of.sql_name(),
            DataType::Record(of) => of.sql_name(),
            DataType::Array(element) => format!("{}[]", element.postgres_name()),
            other => other.to_string().to_lowercase(),
        }
    }
}

/// Returns the date at a number of days, or the next one in a direction where the calendar has none.
fn date_towards(days: i32, sign: i8) -> i32 {
    match days {
        DATE_INFINITY | DATE_MINUS_INFINITY | DATE_MIN..=DATE_MAX => days,
        ..DATE_MIN if sign > 0 => DATE_MIN,
        ..DATE_MIN => DATE_MINUS_INFINITY,
        _ if sign > 0 => DATE_INFINITY,
        _ => DATE_MAX,
    }
}

/// Returns the timestamp at a number of microseconds, or the next one in a direction where the calendar has none.
fn timestamp_towards(micros: i64, sign: i8) -> i64 {
    match micros {
        TIMESTAMP_INFINITY | TIMESTAMP_MINUS_INFINITY | TIMESTAMP_MIN..=TIMESTAMP_MAX => micros,
        ..TIMESTAMP_MIN if sign > 0 => TIMESTAMP_MIN,
        ..TIMESTAMP_MIN => TIMESTAMP_MINUS_INFINITY,
        _ if sign > 0 => TIMESTAMP_INFINITY,
        _ => TIMESTAMP_MAX,
    }
}

const fn powers_of_ten<const N: usize>() -> [i128; N] {
    let mut powers = [1; N];
    let mut exponent = 1;
    while exponent < N {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
}

/// The greatest unscaled value of a DECIMAL: `precision` nines.
#[inline]
pub(crate) fn decimal_max(precision: u8) -> i128 {
    POWERS_OF_TEN[usize::from(precision.min(DECIMAL_PRECISION_MAX))] - 1
}

/// The microseconds between neighbouring values of a TIME.
pub(crate) fn time_unit(precision: u8) -> i64 {
    10_i64.pow(6 - u32::from(precision.min(6)))
}

/// Whether a text has more characters than its type allows.
pub(crate) fn has_more_characters(text: &str, limit: u32) -> bool {
    let limit = limit as usize;
    text.len() > limit && text.chars().nth(limit).is_some()
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Boolean => f.write_str("BOOLEAN"),
            DataType::TinyInt => f.write_str("TINYINT"),
            DataType::SmallInt => f.write_str("SMALLINT"),
            DataType::Integer => f.write_str("INTEGER"),
            DataType::BigInt => f.write_str("BIGINT"),
            DataType::Real => f.write_str("REAL"),
            DataType::Double => f.write_str("DOUBLE"),
            DataType::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            numeric if *numeric == DataType::NUMERIC => f.write_str("NUMERIC"),
            DataType::Numeric { precision, scale } => write!(f, "NUMERIC({precision},{scale})"),
            DataType::Date => f.write_str("DATE"),
            DataType::Time { precision: 6 } => f.write_str("TIME"),
            DataType::Time { precision } => write!(f, "TIME({precision})"),
            DataType::Timestamp { precision: 6 } => f.write_str("TIMESTAMP"),
            DataType::Timestamp { precision } => write!(f, "TIMESTAMP({precision})"),
            DataType::TimestampTz { precision: 6 } => f.write_str("TIMESTAMP WITH TIME ZONE"),
            DataType::TimestampTz { precision } => write!(f, "TIMESTAMP({precision}) WITH TIME ZONE"),
            DataType::Interval => f.write_str("INTERVAL"),
            DataType::Array(element) => write!(f, "{element}[]"),
            DataType::Json => f.write_str("JSON"),
            DataType::Jsonb => f.write_str("JSONB"),
            DataType::Enum(of) => f.write_str(&of.sql_name()),
            DataType::Record(of) => f.write_str(&of.sql_name()),
            DataType::Uuid => f.write_str("UUID"),
            DataType::Inet => f.write_str("INET"),
            DataType::Cidr => f.write_str("CIDR"),
            DataType::Char(length) => write!(f, "CHAR({length})"),
            DataType::Varchar(None) => f.write_str("VARCHAR"),
            DataType::Varchar(Some(limit)) => write!(f, "VARCHAR({limit})"),
            DataType::Binary(length) => write!(f, "BINARY({length})"),
            DataType::Varbinary(None) => f.write_str("VARBINARY"),
            DataType::Varbinary(Some(limit)) => write!(f, "VARBINARY({limit})"),
        }
    }
}

impl FromStr for DataType {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(element) = text.trim_end().strip_suffix(']') {
            let (element, length) = element.rsplit_once('[').ok_or_else(|| unknown_type(text))?;
            return match length.trim().chars().all(|digit| digit.is_ascii_digit()) {
                true => element.parse::<DataType>().map(DataType::array),
                false => Err(unknown_type(text)),
            };
        }
        let spelling = Spelling::parse(text).ok_or_else(|| unknown_type(text))?;
        spelling.data_type(text)
    }
}

fn unknown_type(text: &str) -> ValueError {
    ValueError::UnknownType {
        name: text.trim().to_owned(),
    }
}

/// A type name taken apart: lower-case words with single blanks, and the modifiers.
struct Spelling {
    words: String,
    modifiers: Vec<u32>,
}

impl Spelling {
    /// Splits `timestamp (3) with time zone` into its words and its modifiers.
    fn parse(text: &str) -> Option<Spelling> {
        let (before, modifiers, after) = match text.split_once('(') {
            None => (text, Vec::new(), ""),
            Some((before, rest)) => {
                let (inside, after) = rest.split_once(')')?;
                let numbers = inside.split(',').map(|number| number.trim().parse().ok());
                (before, numbers.collect::<Option<Vec<u32>>>()?, after)
            }
        };
        let words: Vec<&str> = before
            .split_whitespace()
            .chain(after.split_whitespace())
            .collect();
        Some(Spelling {
            words: words.join(" ").to_ascii_lowercase(),
            modifiers,
        })
    }

    fn data_type(&self, text: &str) -> Result<DataType, ValueError> {
        let ty = match (self.words.as_str(), self.modifiers.as_slice()) {
            ("boolean" | "bool", []) => DataType::Boolean,
            ("tinyint", []) => DataType::TinyInt,
            ("smallint" | "int2", []) => DataType::SmallInt,
            ("integer" | "int" | "int4", []) => DataType::Integer,
            ("bigint" | "int8", []) => DataType::BigInt,
            ("real" | "float4", []) => DataType::Real,
            ("double" | "double precision" | "float" | "float8", []) => DataType::Double,
            ("decimal" | "numeric" | "dec", modifiers) => return self.decimal(modifiers, text),
            ("date", []) => DataType::Date,
            ("time" | "time without time zone", []) => DataType::Time { precision: 6 },
            ("time" | "time without time zone", [precision]) => return self.time(*precision),
            ("timestamp" | "timestamp without time zone", []) => DataType::TIMESTAMP,
            ("timestamptz" | "timestamp with time zone", []) => DataType::TIMESTAMP_TZ,
            // As PostgreSQL, which says so in a warning.
            ("timestamp" | "timestamp without time zone", [digits]) => DataType::Timestamp {
                precision: (*digits).min(6) as u8,
            },
            ("timestamptz" | "timestamp with time zone", [digits]) => DataType::TimestampTz {
                precision: (*digits).min(6) as u8,
            },
            ("interval", []) => DataType::Interval,
            ("json", []) => DataType::Json,
            ("jsonb", []) => DataType::Jsonb,
            ("uuid", []) => DataType::Uuid,
            ("inet", []) => DataType::Inet,
            ("cidr", []) => DataType::Cidr,
            ("char" | "character", []) => DataType::Char(1),
            ("char" | "character", [length]) => DataType::Char(self.length(*length)?),
            ("varchar" | "character varying" | "text" | "string", []) => DataType::Varchar(None),
            ("varchar" | "character varying", [n]) => DataType::Varchar(Some(self.length(*n)?)),
            ("binary", []) => DataType::Binary(1),
            ("binary", [length]) => DataType::Binary(self.length(*length)?),
            ("varbinary" | "binary varying" | "bytea", []) => DataType::Varbinary(None),
            ("varbinary" | "binary varying", [n]) => DataType::Varbinary(Some(self.length(*n)?)),
            _ => return Err(unknown_type(text)),
        };
        Ok(ty)
    }

    /// Up to 38 digits have a fixed width; a bare one is NUMERIC.
    fn decimal(&self, modifiers: &[u32], text: &str) -> Result<DataType, ValueError> {
        let (precision, scale) = match modifiers {
            [] => return Ok(DataType::NUMERIC),
            [precision] => (*precision, 0),
            [precision, scale] => (*precision, *scale),
            _ => return Err(unknown_type(text)),
        };
        let half = u32::from(NUMERIC_HALF);
        if precision == 0 || precision > 2 * half {
            return Err(self.modifier("the precision must be between 1 and 76"));
        }
        if scale > precision {
            return Err(self.modifier("the scale must be between 0 and the precision"));
        }
        if scale > half || precision - scale > half {
            return Err(self.modifier("at most 38 digits can be before the point and 38 after it"));
        }
        let is_short = precision <= u32::from(DECIMAL_PRECISION_MAX);
        let (precision, scale) = (precision as u8, scale as u8);
        Ok(match is_short {
            true => DataType::Decimal { precision, scale },
            false => DataType::Numeric { precision, scale },
        })
    }

    fn time(&self, precision: u32) -> Result<DataType, ValueError> {
        match precision {
            0..=3 | 6 => Ok(DataType::Time {
                precision: precision as u8,
            }),
            _ => Err(self.modifier("the precision must be 0 to 3 or 6")),
        }
    }

    fn length(&self, length: u32) -> Result<u32, ValueError> {
        match length {
            1..=LENGTH_MAX => Ok(length),
            _ => Err(self.modifier("the length must be between 1 and 10485760")),
        }
    }

    fn modifier(&self, reason: &'static str) -> ValueError {
        ValueError::InvalidModifier {
            name: self.words.clone(),
            reason,
        }
    }
}

/// A type as the catalog stores it: timestamps to the microsecond keep the names that they had when there were no others.
#[derive(Serialize, Deserialize)]
enum StoredType {
    Boolean,
    TinyInt,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    Decimal { precision: u8, scale: u8 },
    Date,
    Time { precision: u8 },
    Timestamp,
    TimestampTz,
    Uuid,
    Char(u32),
    Varchar(Option<u32>),
    Binary(u32),
    Varbinary(Option<u32>),
    TimestampOf { precision: u8 },
    TimestampTzOf { precision: u8 },
    Numeric { precision: u8, scale: u8 },
    Interval,
    Json,
    Jsonb,
    Array(Box<StoredType>),
    Enum(EnumDefinition),
    Record(RecordDefinition),
    Inet,
    Cidr,
}

impl From<StoredType> for DataType {
    fn from(stored: StoredType) -> Self {
        match stored {
            StoredType::Boolean => DataType::Boolean,
            StoredType::TinyInt => DataType::TinyInt,
            StoredType::SmallInt => DataType::SmallInt,
            StoredType::Integer => DataType::Integer,
            StoredType::BigInt => DataType::BigInt,
            StoredType::Real => DataType::Real,
            StoredType::Double => DataType::Double,
            StoredType::Decimal { precision, scale } => DataType::Decimal { precision, scale },
            StoredType::Date => DataType::Date,
            StoredType::Time { precision } => DataType::Time { precision },
            StoredType::Timestamp => DataType::TIMESTAMP,
            StoredType::TimestampTz => DataType::TIMESTAMP_TZ,
            StoredType::Uuid => DataType::Uuid,
            StoredType::Inet => DataType::Inet,
            StoredType::Cidr => DataType::Cidr,
            StoredType::Interval => DataType::Interval,
            StoredType::Array(element) => DataType::from(*element).array(),
            StoredType::Enum(definition) => DataType::Enum(EnumType::of(definition)),
            StoredType::Record(definition) => DataType::Record(RecordType::of(definition)),
            StoredType::Json => DataType::Json,
            StoredType::Jsonb => DataType::Jsonb,
            StoredType::Char(length) => DataType::Char(length),
            StoredType::Varchar(limit) => DataType::Varchar(limit),
            StoredType::Binary(length) => DataType::Binary(length),
            StoredType::Varbinary(limit) => DataType::Varbinary(limit),
            StoredType::TimestampOf { precision } => DataType::Timestamp { precision },
            StoredType::TimestampTzOf { precision } => DataType::TimestampTz { precision },
            StoredType::Numeric { precision, scale } => DataType::Numeric { precision, scale },
        }
    }
}

impl From<DataType> for StoredType {
    fn from(ty: DataType) -> Self {
        match ty {
            DataType::Boolean => StoredType::Boolean,
            DataType::TinyInt => StoredType::TinyInt,
            DataType::SmallInt => StoredType::SmallInt,
            DataType::Integer => StoredType::Integer,
            DataType::BigInt => StoredType::BigInt,
            DataType::Real => StoredType::Real,
            DataType::Double => StoredType::Double,
            DataType::Decimal { precision, scale } => StoredType::Decimal { precision, scale },
            DataType::Date => StoredType::Date,
            DataType::Time { precision } => StoredType::Time { precision },
            DataType::TIMESTAMP => StoredType::Timestamp,
            DataType::TIMESTAMP_TZ => StoredType::TimestampTz,
            DataType::Uuid => StoredType::Uuid,
            DataType::Inet => StoredType::Inet,
            DataType::Cidr => StoredType::Cidr,
            DataType::Interval => StoredType::Interval,
            DataType::Array(element) => StoredType::Array(Box::new(StoredType::from(*element))),
            DataType::Enum(of) => StoredType::Enum(of.definition().clone()),
            DataType::Record(of) => StoredType::Record(of.definition().clone()),
            DataType::Json => StoredType::Json,
            DataType::Jsonb => StoredType::Jsonb,
            DataType::Char(length) => StoredType::Char(length),
            DataType::Varchar(limit) => StoredType::Varchar(limit),
            DataType::Binary(length) => StoredType::Binary(length),
            DataType::Varbinary(limit) => StoredType::Varbinary(limit),
            DataType::Timestamp { precision } => StoredType::TimestampOf { precision },
            DataType::TimestampTz { precision } => StoredType::TimestampTzOf { precision },
            DataType::Numeric { precision, scale } => StoredType::Numeric { precision, scale },
        }
    }
}
