//! Rukh's types as PostgreSQL's: the number, size and modifier that clients know them by.

use rukh::{ColumnInfo, DataType, array_of_enums, element_of_enums, is_enum_oid, oid_of};

/// The number of a type that a client has not said.
pub(crate) const UNSPECIFIED: u32 = 0;

/// The number of `oid[]`.
pub(crate) const OID_ARRAY: u32 = 1028;

/// The type of a column of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireType {
    /// The type of its values.
    pub(crate) ty: DataType,
    /// The number of PostgreSQL's type.
    pub(crate) oid: u32,
}

impl From<&ColumnInfo> for WireType {
    fn from(column: &ColumnInfo) -> Self {
        WireType {
            ty: column.ty,
            oid: column.oid.unwrap_or_else(|| oid_of(&column.ty)),
        }
    }
}

/// Returns the types of columns.
pub(crate) fn wire_types(columns: &[ColumnInfo]) -> Vec<WireType> {
    columns.iter().map(WireType::from).collect()
}

/// Types of elements, and of arrays of them.
const ARRAYS: &[(u32, u32)] = &[
    (16, 1000),
    (17, 1001),
    (18, 1002),
    (19, 1003),
    (20, 1016),
    (21, 1005),
    (23, 1007),
    (25, 1009),
    (26, 1028),
    (650, 651),
    (700, 1021),
    (701, 1022),
    (869, 1041),
    (1042, 1014),
    (1043, 1015),
    (1082, 1182),
    (1083, 1183),
    (1114, 1115),
    (1184, 1185),
    (114, 199),
    (1186, 1187),
    (1700, 1231),
    (2950, 2951),
    (3802, 3807),
];

/// Returns the type of the elements of an array.
pub(crate) fn element_of(array: u32) -> Option<u32> {
    let found = ARRAYS.iter().find(|(_, of)| *of == array);
    found
        .map(|(element, _)| *element)
        .or_else(|| element_of_enums(array))
}

/// Returns the type of arrays of a type.
pub(crate) fn array_of(element: u32) -> Option<u32> {
    let found = ARRAYS.iter().find(|(of, _)| *of == element);
    found.map(|(_, array)| *array).or_else(|| array_of_enums(element))
}

/// Returns the bytes of a value, or -1 where they vary.
pub(crate) fn size_of(wire: WireType) -> i16 {
    match wire.oid {
        18 => return 1,
        19 => return 64,
        26 => return 4,
        _ => {}
    }
    match wire.ty {
        DataType::Boolean => 1,
        DataType::TinyInt | DataType::SmallInt => 2,
        DataType::Integer | DataType::Real | DataType::Date => 4,
        DataType::BigInt
        | DataType::Double
        | DataType::Time { .. }
        | DataType::Timestamp { .. }
        | DataType::TimestampTz { .. } => 8,
        DataType::Uuid | DataType::Interval => 16,
        _ => -1,
    }
}

/// Returns length or precision as PostgreSQL packs it, or -1 for none.
pub(crate) fn modifier_of(wire: WireType) -> i32 {
    match &wire.ty {
        ty if *ty == DataType::NUMERIC => -1,
        DataType::Decimal { precision, scale } | DataType::Numeric { precision, scale } => {
            (i32::from(*precision) << 16 | i32::from(*scale)) + 4
        }
        DataType::Char(length) | DataType::Varchar(Some(length)) => {
            i32::try_from(*length).map_or(-1, |length| length.saturating_add(4))
        }
        DataType::Time { precision }
        | DataType::Timestamp { precision }
        | DataType::TimestampTz { precision }
            if *precision < 6 =>
        {
            i32::from(*precision)
        }
        _ => -1,
    }
}

/// Returns the type that a client means by a number: `Ok(None)` if it leaves the type open, and the
/// number back if Rukh has no such type.
pub(crate) fn type_of(oid: u32) -> Result<Option<DataType>, u32> {
    Ok(Some(match oid {
        // unknown
        UNSPECIFIED | 705 => return Ok(None),
        16 => DataType::Boolean,
        21 => DataType::SmallInt,
        23 => DataType::Integer,
        // oid
        20 | 26 => DataType::BigInt,
        700 => DataType::Real,
        701 => DataType::Double,
        1700 => DataType::NUMERIC,
        1082 => DataType::Date,
        1083 => DataType::Time { precision: 6 },
        1114 => DataType::TIMESTAMP,
        1184 => DataType::TIMESTAMP_TZ,
        869 => DataType::Inet,
        650 => DataType::Cidr,
        2950 => DataType::Uuid,
        114 => DataType::Json,
        1186 => DataType::Interval,
        3802 => DataType::Jsonb,
        // "char", name, text, bpchar, varchar
        18 | 19 | 25 | 1042 | 1043 => DataType::Varchar(None),
        17 => DataType::Varbinary(None),
        // A label comes as its text, and is read in the type that the statement asks for.
        own if is_enum_oid(own) => return Ok(None),
        // An array comes as its text.
        array if element_of(array).is_some() => DataType::Varchar(None),
        other => return Err(other),
    }))
}
