//! Types between Rukh and Arrow.
//!
//! | Rukh                     | Arrow                    |
//! |--------------------------|--------------------------|
//! | TINYINT … BIGINT         | Int8 … Int64             |
//! | REAL, DOUBLE             | Float32, Float64         |
//! | DECIMAL(p,s)             | Decimal128(p,s)          |
//! | NUMERIC(p,s), NUMERIC    | Decimal256(p,s), of 76 digits and a scale of 38 |
//! | DATE                     | Date32                   |
//! | TIME                     | Time64(µs)               |
//! | TIMESTAMP                | Timestamp(µs)            |
//! | TIMESTAMP WITH TIME ZONE | Timestamp(µs, "UTC")     |
//! | INTERVAL                 | Interval(months, days, ns) |
//! | arrays                   | List                     |
//! | rows                     | Struct; which type it is, fields of tables say |
//! | JSON                     | LargeUtf8                |
//! | JSONB                    | LargeBinary, the form of `rukh_keys::Jsonb` |
//! | enums                    | Timestamp(s, "+hh:mm"), the codes of the labels as its seconds; the zone says which enum |
//! | UUID                     | Utf8, canonical text     |
//! | INET, CIDR               | FixedSizeBinary of 34 and of 18 bytes, the wide form of `rukh_keys::Inet` |
//! | CHAR, VARCHAR            | Utf8                     |
//! | BINARY, VARBINARY        | Binary                   |
//!
//! Of the types that Arrow has kernels for, only timestamps carry a name, which enums need: two of them must not compare. Rukh's timestamps are
//! microseconds, so no other values are Timestamp(s).
//!
//! No other values are LargeUtf8 or LargeBinary inside of a query: so CASE, arrays and subqueries keep documents apart from texts.
//! Fields of tables carry the exact type in their metadata, under [`TYPE_KEY`].

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Fields, TimeUnit};
use rukh_keys::{CIDR_WIDE, DataType, EnumType, INET_WIDE, NUMERIC_HALF, RecordField, RecordType};

use crate::forms::intervals::INTERVAL;

/// Key of the SQL type in a field's metadata.
pub const TYPE_KEY: &str = "rukh.type";

/// Key of the number of PostgreSQL's type in a field's metadata, where its values do not show it.
pub const WIRE_KEY: &str = "rukh.wire";

/// Number of the type `uuid[]`.
const UUIDS_OID: u32 = 2951;

/// Number of the type `record`.
pub const RECORD_OID: u32 = 2249;

/// Number of the type `record[]`.
pub const RECORDS_OID: u32 = 2287;

/// Returns the number that PostgreSQL's `pg_type` has for a type.
pub fn oid_of(ty: &DataType) -> u32 {
    match ty {
        DataType::Boolean => 16,
        DataType::TinyInt | DataType::SmallInt => 21,
        DataType::Integer => 23,
        DataType::BigInt => 20,
        DataType::Real => 700,
        DataType::Double => 701,
        DataType::Decimal { .. } | DataType::Numeric { .. } => 1700,
        DataType::Date => 1082,
        DataType::Time { .. } => 1083,
        DataType::Timestamp { .. } => 1114,
        DataType::TimestampTz { .. } => 1184,
        DataType::Interval => 1186,
        DataType::Json => 114,
        DataType::Jsonb => 3802,
        DataType::Array(DataType::Uuid) => UUIDS_OID,
        DataType::Array(DataType::Char(_)) => 1014,
        DataType::Array(DataType::Varchar(Some(_))) => 1015,
        DataType::Enum(of) => enum_oid(*of),
        DataType::Array(DataType::Enum(of)) => enum_array_oid(*of),
        DataType::Record(of) => record_oid(*of),
        DataType::Array(DataType::Record(of)) => record_oid(*of).saturating_add(ARRAY_OIDS),
        DataType::Array(element) => array_oid(&arrow_type(element)).unwrap_or(1009),
        DataType::Uuid => 2950,
        DataType::Inet => 869,
        DataType::Cidr => 650,
        DataType::Char(_) => 1042,
        DataType::Varchar(None) => 25,
        DataType::Varchar(Some(_)) => 1043,
        DataType::Binary(_) | DataType::Varbinary(_) => 17,
    }
}

/// The number that PostgreSQL gives the first of what users define.
pub const FIRST_OID: u32 = 16_384;

/// How far behind the number of a type that of its arrays is.
const ARRAY_OIDS: u32 = 1 << 28;

fn enum_oid(of: EnumType) -> u32 {
    FIRST_OID.saturating_add(of.definition().id)
}

fn record_oid(of: RecordType) -> u32 {
    if of.definition().id == 0 {
        return RECORD_OID;
    }
    FIRST_OID.saturating_add(of.definition().id)
}

/// Whether a number may be that of an enum.
pub fn is_enum_oid(oid: u32) -> bool {
    (FIRST_OID..ARRAY_OIDS).contains(&oid)
}

/// Returns the number of the arrays of the enum that may have this number.
pub fn array_of_enums(oid: u32) -> Option<u32> {
    is_enum_oid(oid).then(|| oid.saturating_add(ARRAY_OIDS))
}

/// Returns the number of the enum whose arrays may have this number.
pub fn element_of_enums(oid: u32) -> Option<u32> {
    oid.checked_sub(ARRAY_OIDS).filter(|oid| is_enum_oid(*oid))
}

/// Returns the number of the type of an enum's arrays.
pub fn enum_array_oid(of: EnumType) -> u32 {
    enum_oid(of).saturating_add(ARRAY_OIDS)
}

/// Returns the Arrow type that values of a type have.
pub fn arrow_type(ty: &DataType) -> ArrowType {
    match ty {
        DataType::Boolean => ArrowType::Boolean,
        DataType::TinyInt => ArrowType::Int8,
        DataType::SmallInt => ArrowType::Int16,
        DataType::Integer => ArrowType::Int32,
        DataType::BigInt => ArrowType::Int64,
        DataType::Real => ArrowType::Float32,
        DataType::Double => ArrowType::Float64,
        DataType::Decimal { precision, scale } => ArrowType::Decimal128(*precision, *scale as i8),
        DataType::Numeric { precision, scale } => ArrowType::Decimal256(*precision, *scale as i8),
        DataType::Date => ArrowType::Date32,
        DataType::Time { .. } => ArrowType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp { .. } => ArrowType::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampTz { .. } => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Interval => INTERVAL,
        DataType::Enum(of) => ArrowType::Timestamp(TimeUnit::Second, Some(of.zone().into())),
        DataType::Array(element) => ArrowType::new_list(arrow_type(element), true),
        DataType::Record(of) => ArrowType::Struct(record_fields(*of)),
        DataType::Json => ArrowType::LargeUtf8,
        DataType::Jsonb => ArrowType::LargeBinary,
        DataType::Inet => ArrowType::FixedSizeBinary(INET_WIDE as i32),
        DataType::Cidr => ArrowType::FixedSizeBinary(CIDR_WIDE as i32),
        DataType::Uuid | DataType::Char(_) | DataType::Varchar(_) => ArrowType::Utf8,
        DataType::Binary(_) | DataType::Varbinary(_) => ArrowType::Binary,
    }
}

/// Returns the fields that rows of a type have in Arrow.
pub fn record_fields(of: RecordType) -> Fields {
    let field = |field: &RecordField| Field::new(&field.name, arrow_type(&field.ty), true);
    of.fields().iter().map(field).collect()
}

/// What the text of a type begins with in the metadata of a field, if it is one of rows: its number follows.
const RECORD: &str = "row ";

/// Returns what the metadata of a field say of its type, under [`TYPE_KEY`].
pub fn declared_text(ty: &DataType) -> String {
    match ty {
        DataType::Record(of) => format!("{RECORD}{}", of.number()),
        DataType::Array(DataType::Record(of)) => format!("{RECORD}{}[]", of.number()),
        other => other.to_string(),
    }
}

/// Returns the type of what [`declared_text`] makes.
pub fn declared_type(text: &str) -> Option<DataType> {
    let Some(number) = text.strip_prefix(RECORD) else {
        return text.parse().ok();
    };
    let (number, is_array) = match number.strip_suffix("[]") {
        Some(number) => (number, true),
        None => (number, false),
    };
    let ty = DataType::Record(RecordType::numbered(number.parse().ok()?)?);
    Some(if is_array { ty.array() } else { ty })
}

/// Returns the enum of an Arrow type.
pub fn enum_of(ty: &ArrowType) -> Option<EnumType> {
    match ty {
        ArrowType::Timestamp(TimeUnit::Second, Some(zone)) => EnumType::of_zone(zone),
        _ => None,
    }
}

/// Returns the type as which values of an Arrow type from outside are taken: without a dictionary, and texts and byte strings in the
/// layout that is not that of documents.
pub fn taken_type(ty: &ArrowType) -> ArrowType {
    match ty {
        ArrowType::Dictionary(_, values) => taken_type(values),
        ArrowType::LargeUtf8 => ArrowType::Utf8,
        ArrowType::LargeBinary | ArrowType::FixedSizeBinary(_) => ArrowType::Binary,
        ArrowType::Timestamp(TimeUnit::Second, zone) => {
            ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        other => other.clone(),
    }
}

/// Returns the type of the column that holds the values of a field from outside. Documents come as texts that say so.
pub fn taken_data_type(field: &Field) -> DataType {
    let ty = taken_type(field.data_type());
    let declared = field
        .metadata()
        .get(TYPE_KEY)
        .and_then(|name| declared_type(name));
    match declared {
        Some(shown @ (DataType::Json | DataType::Jsonb | DataType::Inet | DataType::Cidr))
            if ty == ArrowType::Utf8 =>
        {
            shown
        }
        _ => data_type_of(&field.clone().with_data_type(ty)),
    }
}

/// Returns the SQL type of a field: the one in its metadata if its values have it, else by its Arrow type.
pub fn data_type_of(field: &Field) -> DataType {
    let declared = field
        .metadata()
        .get(TYPE_KEY)
        .and_then(|name| declared_type(name));
    match declared {
        Some(ty) if arrow_type(&ty) == *field.data_type() => ty,
        _ => data_type_of_arrow(field.data_type()),
    }
}

/// Returns PostgreSQL's full name of a type, without length or precision, as its messages write it.
pub fn postgres_name(ty: &DataType) -> &'static str {
    match ty {
        DataType::Boolean => "boolean",
        DataType::TinyInt => "tinyint",
        DataType::SmallInt => "smallint",
        DataType::Integer => "integer",
        DataType::BigInt => "bigint",
        DataType::Real => "real",
        DataType::Double => "double precision",
        DataType::Decimal { .. } | DataType::Numeric { .. } => "numeric",
        DataType::Date => "date",
        DataType::Time { .. } => "time without time zone",
        DataType::Timestamp { .. } => "timestamp without time zone",
        DataType::TimestampTz { .. } => "timestamp with time zone",
        DataType::Interval => "interval",
        DataType::Json => "json",
        DataType::Jsonb => "jsonb",
        DataType::Array(_) => "array",
        DataType::Record(of) => &of.definition().name,
        DataType::Enum(of) => &of.definition().name,
        DataType::Uuid => "uuid",
        DataType::Inet => "inet",
        DataType::Cidr => "cidr",
        DataType::Char(_) => "character",
        DataType::Varchar(Some(_)) => "character varying",
        DataType::Varchar(None) => "text",
        DataType::Binary(_) | DataType::Varbinary(_) => "bytea",
    }
}

/// The same of a field; `unknown` where PostgreSQL has no such type.
pub fn postgres_name_of(field: &Field) -> &'static str {
    match field.data_type() {
        ArrowType::Interval(_) | ArrowType::Duration(_) => "interval",
        ty if ty.is_numeric() || ty.is_string() || ty.is_binary() => postgres_name(&data_type_of(field)),
        ArrowType::Boolean
        | ArrowType::FixedSizeBinary(_)
        | ArrowType::Date32
        | ArrowType::Date64
        | ArrowType::Time32(_)
        | ArrowType::Time64(_)
        | ArrowType::Timestamp(..) => postgres_name(&data_type_of(field)),
        _ => "unknown",
    }
}

/// Whether a field has arrays of UUIDs, which are texts in Arrow.
pub fn are_uuids(field: &Field) -> bool {
    let is_of_texts = matches!(field.data_type(), ArrowType::List(of) if *of.data_type() == ArrowType::Utf8);
    let declared = field.metadata().get(TYPE_KEY);
    let is_uuid = |name: &String| {
        let ty = declared_type(name);
        ty.map(|ty| ty.element().unwrap_or(ty)) == Some(DataType::Uuid)
    };
    is_of_texts && declared.is_some_and(is_uuid)
}

/// Returns the type of rows of a field whose type has no name; `None` of other values, and where there are too many such types.
pub fn unnamed_record(field: &Field) -> Option<DataType> {
    let (ArrowType::Struct(fields), false) = (field.data_type(), is_declared_record(field)) else {
        return None;
    };
    let fields = fields.iter().map(|field| RecordField {
        name: field.name().clone(),
        ty: unnamed_record(field).unwrap_or_else(|| data_type_of(field)),
    });
    RecordType::unnamed(fields.collect()).map(DataType::Record)
}

/// Whether a field has rows of a type that has a name, or arrays of such.
fn is_declared_record(field: &Field) -> bool {
    let ty = data_type_of(field);
    matches!(ty.element().unwrap_or(ty), DataType::Record(_))
}

/// Returns the number of PostgreSQL's type of a field that no column of a table has.
pub fn wire_oid(field: &Field) -> Option<u32> {
    let declared = field.metadata().get(WIRE_KEY).and_then(|oid| oid.parse().ok());
    declared.or_else(|| match field.data_type() {
        ArrowType::List(_) if are_uuids(field) => Some(UUIDS_OID),
        ArrowType::List(_) | ArrowType::Struct(_) if is_declared_record(field) => None,
        ArrowType::List(of) => array_oid(of.data_type()),
        ArrowType::Struct(_) => Some(RECORD_OID),
        _ => None,
    })
}

/// Returns the number of the type of arrays of these values.
fn array_oid(element: &ArrowType) -> Option<u32> {
    Some(match element {
        // Arrays of arrays are arrays of more dimensions, of the same type.
        ArrowType::List(of) => return array_oid(of.data_type()),
        ArrowType::Boolean => 1000,
        ArrowType::Int8 | ArrowType::Int16 => 1005,
        ArrowType::Int32 => 1007,
        ArrowType::Int64 => 1016,
        ArrowType::Float32 => 1021,
        ArrowType::Float64 => 1022,
        ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => 1231,
        ArrowType::LargeUtf8 => 199,
        ArrowType::LargeBinary => 3807,
        ArrowType::FixedSizeBinary(width) => match is_cidr(*width) {
            true => 651,
            false => 1041,
        },
        ty if ty.is_binary() => 1001,
        ArrowType::Date32 => 1182,
        ArrowType::Time64(_) => 1183,
        ArrowType::Interval(_) => 1187,
        ArrowType::Timestamp(_, None) => 1115,
        ArrowType::Timestamp(_, Some(_)) => return enum_of(element).map(enum_array_oid).or(Some(1185)),
        ArrowType::Utf8 | ArrowType::Utf8View | ArrowType::Null => 1009,
        ArrowType::Struct(_) => RECORDS_OID,
        _ => return None,
    })
}

fn is_cidr(width: i32) -> bool {
    width == CIDR_WIDE as i32
}

/// Returns the SQL type that stands nearest to an Arrow type; text for those without one.
pub fn data_type_of_arrow(arrow: &ArrowType) -> DataType {
    match arrow {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int8 => DataType::TinyInt,
        ArrowType::Int16 | ArrowType::UInt8 => DataType::SmallInt,
        ArrowType::Int32 | ArrowType::UInt16 => DataType::Integer,
        ArrowType::Int64 | ArrowType::UInt32 => DataType::BigInt,
        ArrowType::UInt64 => DataType::Decimal {
            precision: 20,
            scale: 0,
        },
        ArrowType::Float16 | ArrowType::Float32 => DataType::Real,
        ArrowType::Float64 => DataType::Double,
        ArrowType::Decimal128(precision, scale) if *scale >= 0 => DataType::Decimal {
            precision: *precision,
            scale: *scale as u8,
        },
        ArrowType::Decimal256(precision, scale) if (0..=NUMERIC_HALF as i8).contains(scale) => {
            DataType::Numeric {
                precision: *precision,
                scale: *scale as u8,
            }
        }
        ArrowType::Date32 | ArrowType::Date64 => DataType::Date,
        ArrowType::Time32(_) | ArrowType::Time64(_) => DataType::Time { precision: 6 },
        ArrowType::Timestamp(_, None) => DataType::TIMESTAMP,
        ArrowType::Timestamp(_, Some(_)) => enum_of(arrow).map_or(DataType::TIMESTAMP_TZ, DataType::Enum),
        ArrowType::Interval(_) | ArrowType::Duration(_) => DataType::Interval,
        ArrowType::LargeUtf8 => DataType::Json,
        ArrowType::LargeBinary => DataType::Jsonb,
        ArrowType::List(of) if !of.data_type().is_nested() => data_type_of_arrow(of.data_type()).array(),
        ArrowType::FixedSizeBinary(width) if *width == INET_WIDE as i32 => DataType::Inet,
        ArrowType::FixedSizeBinary(width) if is_cidr(*width) => DataType::Cidr,
        other if other.is_binary() => DataType::Varbinary(None),
        _ => DataType::Varchar(None),
    }
}
