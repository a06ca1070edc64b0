//! The casts that there are: from which type, to which, and where they happen by themselves.
//!
//! The table is PostgreSQL's `pg_cast` for the types that Rukh has; a test compares the two. Beside it, every type is cast to text
//! by an assignment and from text explicitly, by its input and output.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use rukh_error::SqlError;
use rukh_keys::{DataType, EnumType};

use crate::types::{are_uuids, data_type_of};

/// Where a cast happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Anywhere, without being written.
    Implicit,
    /// Where a value is stored in a column, without being written.
    Assignment,
    /// Where it is written.
    Explicit,
}

/// A type as far as casts distinguish types: without length and precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// BOOLEAN.
    Boolean,
    /// SMALLINT, and TINYINT, which PostgreSQL does not have.
    SmallInt,
    /// INTEGER.
    Integer,
    /// BIGINT.
    BigInt,
    /// REAL.
    Real,
    /// DOUBLE.
    Double,
    /// DECIMAL.
    Numeric,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// TIMESTAMP.
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// INTERVAL.
    Interval,
    /// JSON.
    Json,
    /// JSONB.
    Jsonb,
    /// `jsonpath`: the type of parameters only. Values are texts.
    JsonPath,
    /// UUID.
    Uuid,
    /// INET.
    Inet,
    /// CIDR.
    Cidr,
    /// TEXT, and VARCHAR without a length.
    Text,
    /// VARCHAR(n).
    Varchar,
    /// CHAR(n).
    Char,
    /// BINARY and VARBINARY.
    Bytes,
    /// A row.
    Record,
    /// An enum.
    Enum(EnumType),
    /// An array of values of a kind, of any number of dimensions.
    Array(&'static Kind),
}

/// All kinds of values but arrays and enums.
static SCALARS: [Kind; 21] = [
    Kind::Boolean,
    Kind::SmallInt,
    Kind::Integer,
    Kind::BigInt,
    Kind::Real,
    Kind::Double,
    Kind::Numeric,
    Kind::Date,
    Kind::Time,
    Kind::Timestamp,
    Kind::TimestampTz,
    Kind::Interval,
    Kind::Json,
    Kind::Jsonb,
    Kind::Uuid,
    Kind::Inet,
    Kind::Cidr,
    Kind::Text,
    Kind::Varchar,
    Kind::Char,
    Kind::Bytes,
];

impl Kind {
    /// Returns all kinds but arrays and enums.
    pub fn scalars() -> &'static [Kind] {
        &SCALARS
    }

    /// Returns the kind of arrays of this kind; arrays of arrays are arrays of more dimensions.
    pub fn array(self) -> Kind {
        /// Those of enums. Each is kept for good: there are as many as changes of enums.
        static ENUMS: Mutex<Vec<&'static Kind>> = Mutex::new(Vec::new());
        if let Kind::Record = self {
            return Kind::Array(&Kind::Record);
        }
        if let Some(element) = SCALARS.iter().find(|kind| **kind == self) {
            return Kind::Array(element);
        }
        let Kind::Enum(_) = self else { return self };
        let mut enums = ENUMS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = enums.iter().find(|kind| ***kind == self).copied();
        Kind::Array(known.unwrap_or_else(|| {
            let element: &'static Kind = Box::leak(Box::new(self));
            enums.push(element);
            element
        }))
    }

    /// Whether values are texts.
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Text | Kind::Varchar | Kind::Char)
    }

    /// Returns the kind of a column's type.
    pub fn of(ty: DataType) -> Kind {
        match ty {
            DataType::Boolean => Kind::Boolean,
            DataType::TinyInt | DataType::SmallInt => Kind::SmallInt,
            DataType::Integer => Kind::Integer,
            DataType::BigInt => Kind::BigInt,
            DataType::Real => Kind::Real,
            DataType::Double => Kind::Double,
            DataType::Decimal { .. } | DataType::Numeric { .. } => Kind::Numeric,
            DataType::Date => Kind::Date,
            DataType::Time { .. } => Kind::Time,
            DataType::Timestamp { .. } => Kind::Timestamp,
            DataType::TimestampTz { .. } => Kind::TimestampTz,
            DataType::Interval => Kind::Interval,
            DataType::Array(element) => Kind::of(*element).array(),
            DataType::Enum(of) => Kind::Enum(of),
            DataType::Record(_) => Kind::Record,
            DataType::Json => Kind::Json,
            DataType::Jsonb => Kind::Jsonb,
            DataType::Uuid => Kind::Uuid,
            DataType::Inet => Kind::Inet,
            DataType::Cidr => Kind::Cidr,
            DataType::Varchar(None) => Kind::Text,
            DataType::Varchar(Some(_)) => Kind::Varchar,
            DataType::Char(_) => Kind::Char,
            DataType::Binary(_) | DataType::Varbinary(_) => Kind::Bytes,
        }
    }

    /// Returns the kind of a field; `None` of NULL and of what SQL has no type for.
    pub fn of_field(field: &Field) -> Option<Kind> {
        match field.data_type() {
            ArrowType::Interval(_) | ArrowType::Duration(_) => Some(Kind::Interval),
            ArrowType::List(_) if are_uuids(field) => Some(Kind::Uuid.array()),
            ArrowType::List(of) | ArrowType::LargeList(of) | ArrowType::FixedSizeList(of, _) => {
                Kind::of_field(of).map(Kind::array)
            }
            ArrowType::UInt8 | ArrowType::UInt16 | ArrowType::UInt32 | ArrowType::UInt64 => None,
            ArrowType::Struct(_) => Some(Kind::Record),
            ArrowType::Null | ArrowType::Map(..) | ArrowType::Dictionary(..) => None,
            _ => Some(Kind::of(data_type_of(field))),
        }
    }

    /// Returns PostgreSQL's name in `pg_type`; of an array, that of its elements.
    pub fn short_name(self) -> &'static str {
        match self {
            Kind::Boolean => "bool",
            Kind::SmallInt => "int2",
            Kind::Integer => "int4",
            Kind::BigInt => "int8",
            Kind::Real => "float4",
            Kind::Double => "float8",
            Kind::Numeric => "numeric",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::TimestampTz => "timestamptz",
            Kind::Interval => "interval",
            Kind::Json => "json",
            Kind::Jsonb => "jsonb",
            Kind::JsonPath => "jsonpath",
            Kind::Uuid => "uuid",
            Kind::Inet => "inet",
            Kind::Cidr => "cidr",
            Kind::Text => "text",
            Kind::Varchar => "varchar",
            Kind::Char => "bpchar",
            Kind::Bytes => "bytea",
            Kind::Record => "record",
            Kind::Enum(of) => &of.definition().name,
            Kind::Array(element) => element.short_name(),
        }
    }

    fn is_integer(self) -> bool {
        matches!(self, Kind::SmallInt | Kind::Integer | Kind::BigInt)
    }

    fn is_float(self) -> bool {
        matches!(self, Kind::Real | Kind::Double)
    }
}

/// PostgreSQL's name, as its messages write it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Boolean => "boolean",
            Kind::SmallInt => "smallint",
            Kind::Integer => "integer",
            Kind::BigInt => "bigint",
            Kind::Real => "real",
            Kind::Double => "double precision",
            Kind::Numeric => "numeric",
            Kind::Date => "date",
            Kind::Time => "time without time zone",
            Kind::Timestamp => "timestamp without time zone",
            Kind::TimestampTz => "timestamp with time zone",
            Kind::Interval => "interval",
            Kind::Json => "json",
            Kind::Jsonb => "jsonb",
            Kind::JsonPath => "jsonpath",
            Kind::Uuid => "uuid",
            Kind::Inet => "inet",
            Kind::Cidr => "cidr",
            Kind::Text => "text",
            Kind::Varchar => "character varying",
            Kind::Char => "character",
            Kind::Bytes => "bytea",
            Kind::Record => "record",
            Kind::Enum(of) => return f.write_str(&of.sql_name()),
            Kind::Array(element) => return write!(f, "{element}[]"),
        })
    }
}

/// Returns where a cast happens; `None` if there is none.
pub fn context(from: Kind, to: Kind) -> Option<Context> {
    use Context::{Assignment, Explicit, Implicit};
    use Kind::{
        Array, BigInt, Boolean, Cidr, Date, Double, Inet, Integer, Interval, Json, Jsonb, Numeric, Real,
        SmallInt, Time, Timestamp, TimestampTz,
    };
    Some(match (from, to) {
        (from, to) if from == to || from.is_text() && to.is_text() => Implicit,
        (from, Kind::JsonPath) if from.is_text() => Implicit,
        (_, to) if to.is_text() => Assignment,
        (from, _) if from.is_text() => Explicit,
        (Array(from), Array(to)) => return context(*from, *to),
        (SmallInt, Integer | BigInt) | (Integer, BigInt) => Implicit,
        (from, to) if from.is_integer() && to.is_integer() => Assignment,
        (from, Real | Double | Numeric) if from.is_integer() => Implicit,
        (from, to) if from.is_float() && (to.is_integer() || to == Numeric) => Assignment,
        (Real, Double) => Implicit,
        (Double, Real) => Assignment,
        (Numeric, to) if to.is_float() => Implicit,
        (Numeric, to) if to.is_integer() => Assignment,
        (Integer, Boolean) | (Boolean, Integer) => Explicit,
        (Json, Jsonb) | (Jsonb, Json) | (Inet, Cidr) => Assignment,
        (Cidr, Inet) => Implicit,
        (Jsonb, to) if to == Boolean || to == Numeric || to.is_integer() || to.is_float() => Explicit,
        (Date, Timestamp | TimestampTz) | (Timestamp, TimestampTz) | (Time, Interval) => Implicit,
        (Timestamp | TimestampTz, Date | Time) | (TimestampTz, Timestamp) | (Interval, Time) => Assignment,
        _ => return None,
    })
}

/// Fails with 42846 if no cast is there from a field to another.
pub fn check_cast(from: &Field, to: &Field) -> DataFusionResult<()> {
    let (Some(from), Some(to)) = (Kind::of_field(from), Kind::of_field(to)) else {
        return Ok(());
    };
    match context(from, to).is_some() {
        true => Ok(()),
        false => {
            let message = format!("cannot cast type {from} to {to}");
            Err(DataFusionError::External(Box::new(SqlError::statement(
                "42846", message,
            ))))
        }
    }
}
