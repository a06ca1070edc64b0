//! Types as the catalog stores them.
//!
//! Timestamps to the microsecond keep the names that they had when there were no others.

use serde::{Deserialize, Serialize};

use crate::types::DataType;

#[derive(Serialize, Deserialize)]
pub(crate) enum StoredType {
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
            StoredType::Char(length) => DataType::Char(length),
            StoredType::Varchar(limit) => DataType::Varchar(limit),
            StoredType::Binary(length) => DataType::Binary(length),
            StoredType::Varbinary(limit) => DataType::Varbinary(limit),
            StoredType::TimestampOf { precision } => DataType::Timestamp { precision },
            StoredType::TimestampTzOf { precision } => DataType::TimestampTz { precision },
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
            DataType::Char(length) => StoredType::Char(length),
            DataType::Varchar(limit) => StoredType::Varchar(limit),
            DataType::Binary(length) => StoredType::Binary(length),
            DataType::Varbinary(limit) => StoredType::Varbinary(limit),
            DataType::Timestamp { precision } => StoredType::TimestampOf { precision },
            DataType::TimestampTz { precision } => StoredType::TimestampTzOf { precision },
        }
    }
}
