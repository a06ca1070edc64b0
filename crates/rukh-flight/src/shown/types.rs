//! The types of columns, as drivers of ODBC and JDBC ask for them: `XdbcTypeInfo`.

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{Nullable, Searchable, XdbcDataType as Xdbc, XdbcDatetimeSubcode as Subcode};

/// A type: its name, its number, its size, what stands around its literals, what it is made with.
struct Type {
    name: &'static str,
    number: Xdbc,
    size: i32,
    /// Prefix and suffix of literals.
    around: Option<(&'static str, &'static str)>,
    with: &'static [&'static str],
}

/// A type whose literals are numbers or words.
const fn plain(name: &'static str, number: Xdbc, size: i32) -> Type {
    Type {
        name,
        number,
        size,
        around: None,
        with: &[],
    }
}

/// A type whose literals stand in quotes.
const fn text(name: &'static str, number: Xdbc, size: i32, with: &'static [&'static str]) -> Type {
    Type {
        name,
        number,
        size,
        around: Some(("'", "'")),
        with,
    }
}

/// Longest text and binary string, bytes.
const LENGTH_MAX: i32 = i32::MAX;

const TYPES: &[Type] = &[
    plain("BOOLEAN", Xdbc::XdbcBit, 1),
    plain("TINYINT", Xdbc::XdbcTinyint, 8),
    plain("SMALLINT", Xdbc::XdbcSmallint, 16),
    plain("INTEGER", Xdbc::XdbcInteger, 32),
    plain("BIGINT", Xdbc::XdbcBigint, 64),
    plain("REAL", Xdbc::XdbcReal, 24),
    plain("DOUBLE PRECISION", Xdbc::XdbcDouble, 53),
    Type {
        with: &["precision", "scale"],
        ..plain("DECIMAL", Xdbc::XdbcDecimal, 76)
    },
    text("DATE", Xdbc::XdbcDate, 10, &[]),
    text("TIME", Xdbc::XdbcTime, 15, &["precision"]),
    text("TIMESTAMP", Xdbc::XdbcTimestamp, 26, &[]),
    text("TIMESTAMP WITH TIME ZONE", Xdbc::XdbcTimestamp, 32, &[]),
    text("UUID", Xdbc::XdbcChar, 36, &[]),
    text("CHAR", Xdbc::XdbcChar, LENGTH_MAX, &["length"]),
    text("VARCHAR", Xdbc::XdbcVarchar, LENGTH_MAX, &["length"]),
    Type {
        around: Some(("X'", "'")),
        ..text("BINARY", Xdbc::XdbcBinary, LENGTH_MAX, &["length"])
    },
    Type {
        around: Some(("X'", "'")),
        ..text("VARBINARY", Xdbc::XdbcVarbinary, LENGTH_MAX, &["length"])
    },
];

/// Returns all types.
pub(crate) fn type_info() -> Result<XdbcTypeInfoData, FlightError> {
    let mut builder = XdbcTypeInfoDataBuilder::new();
    TYPES.iter().for_each(|ty| builder.append(of(ty)));
    builder.build()
}

fn of(ty: &Type) -> XdbcTypeInfo {
    let is_number = matches!(
        ty.number,
        Xdbc::XdbcTinyint
            | Xdbc::XdbcSmallint
            | Xdbc::XdbcInteger
            | Xdbc::XdbcBigint
            | Xdbc::XdbcReal
            | Xdbc::XdbcDouble
            | Xdbc::XdbcDecimal
    );
    let is_decimal = ty.number == Xdbc::XdbcDecimal;
    let subcode = match ty.number {
        // The number of dates, too.
        Xdbc::XdbcDate => Some(Subcode::XdbcSubcodeYear),
        Xdbc::XdbcTime => Some(Subcode::XdbcSubcodeTime),
        Xdbc::XdbcTimestamp => Some(Subcode::XdbcSubcodeTimestamp),
        _ => None,
    };
    XdbcTypeInfo {
        type_name: ty.name.to_string(),
        data_type: ty.number,
        column_size: Some(ty.size),
        literal_prefix: ty.around.map(|(prefix, _)| prefix.to_string()),
        literal_suffix: ty.around.map(|(_, suffix)| suffix.to_string()),
        create_params: Some(ty.with.iter().map(ToString::to_string).collect()),
        nullable: Nullable::NullabilityNullable,
        case_sensitive: matches!(ty.number, Xdbc::XdbcChar | Xdbc::XdbcVarchar),
        searchable: Searchable::Full,
        unsigned_attribute: is_number.then_some(false),
        fixed_prec_scale: false,
        auto_increment: is_number.then_some(false),
        local_type_name: Some(ty.name.to_string()),
        minimum_scale: is_decimal.then_some(0),
        maximum_scale: is_decimal.then_some(38),
        sql_data_type: match subcode {
            Some(_) => Xdbc::XdbcDatetime,
            None => ty.number,
        },
        datetime_subcode: subcode,
        num_prec_radix: is_number.then_some(if is_decimal { 10 } else { 2 }),
        interval_precision: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_numbers() {
        let info = type_info().expect("it can be built");
        let rows = |number: Option<i32>| info.record_batch(number).map(|batch| batch.num_rows()).ok();
        assert_eq!(rows(None), Some(TYPES.len()));
        assert_eq!(rows(Some(Xdbc::XdbcTimestamp as i32)), Some(2));
        assert_eq!(rows(Some(9999)), Some(0));
    }
}
