//! The casts that there are: from which type, to which, and where they happen by themselves.
//!
//! The table is PostgreSQL's `pg_cast` for the types that Rukh has; a test compares the two. Beside it, every type is cast to text
//! by an assignment and from text explicitly, by its input and output.

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use rukh_error::SqlError;
use rukh_keys::DataType;

use crate::types::data_type_of;

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

/// A type as casts tell types apart: without length and precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// UUID.
    Uuid,
    /// CHAR and VARCHAR.
    Text,
    /// BINARY and VARBINARY.
    Bytes,
    /// An array of anything.
    Array,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 16] = [
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
        Kind::Uuid,
        Kind::Text,
        Kind::Bytes,
        Kind::Array,
    ];

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
            DataType::Uuid => Kind::Uuid,
            DataType::Char(_) | DataType::Varchar(_) => Kind::Text,
            DataType::Binary(_) | DataType::Varbinary(_) => Kind::Bytes,
        }
    }

    /// Returns the kind of a field; `None` of NULL and of what SQL has no type for.
    pub fn of_field(field: &Field) -> Option<Kind> {
        match field.data_type() {
            ArrowType::Interval(_) | ArrowType::Duration(_) => Some(Kind::Interval),
            ArrowType::List(_) | ArrowType::LargeList(_) | ArrowType::FixedSizeList(..) => Some(Kind::Array),
            ArrowType::UInt8 | ArrowType::UInt16 | ArrowType::UInt32 | ArrowType::UInt64 => None,
            ArrowType::Null | ArrowType::Struct(_) | ArrowType::Map(..) | ArrowType::Dictionary(..) => None,
            _ => Some(Kind::of(data_type_of(field))),
        }
    }

    /// Returns PostgreSQL's name; of an array, what stands for the name of its elements' type and `[]`.
    pub fn name(self) -> &'static str {
        match self {
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
            Kind::Uuid => "uuid",
            Kind::Text => "text",
            Kind::Bytes => "bytea",
            Kind::Array => "anyarray",
        }
    }

    /// Returns PostgreSQL's name in `pg_type`.
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
            Kind::Uuid => "uuid",
            Kind::Text => "text",
            Kind::Bytes => "bytea",
            Kind::Array => "anyarray",
        }
    }

    fn is_integer(self) -> bool {
        matches!(self, Kind::SmallInt | Kind::Integer | Kind::BigInt)
    }

    fn is_float(self) -> bool {
        matches!(self, Kind::Real | Kind::Double)
    }
}

/// Returns where a cast happens; `None` if there is none.
pub fn context(from: Kind, to: Kind) -> Option<Context> {
    use Context::{Assignment, Explicit, Implicit};
    use Kind::{
        Array, BigInt, Boolean, Date, Double, Integer, Interval, Numeric, Real, SmallInt, Text, Time,
        Timestamp, TimestampTz,
    };
    Some(match (from, to) {
        (from, to) if from == to => match from {
            // Arrays cast as their elements do; which these are is not told here.
            Array => Explicit,
            _ => Implicit,
        },
        (_, Text) => Assignment,
        (Text, _) => Explicit,
        (SmallInt, Integer | BigInt) | (Integer, BigInt) => Implicit,
        (from, to) if from.is_integer() && to.is_integer() => Assignment,
        (from, Real | Double | Numeric) if from.is_integer() => Implicit,
        (from, to) if from.is_float() && (to.is_integer() || to == Numeric) => Assignment,
        (Real, Double) => Implicit,
        (Double, Real) => Assignment,
        (Numeric, to) if to.is_float() => Implicit,
        (Numeric, to) if to.is_integer() => Assignment,
        (Integer, Boolean) | (Boolean, Integer) => Explicit,
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
            let message = format!("cannot cast type {} to {}", from.name(), to.name());
            Err(DataFusionError::External(Box::new(SqlError::statement(
                "42846", message,
            ))))
        }
    }
}
