//! The rows of `pg_cast`, made of the table of casts.
//!
//! As in PostgreSQL, casts by the input and output of a type are not among them: those from text, and those to text but for BOOLEAN's. What
//! changes a type's length only is a cast to itself.

use rukh_functions::casts::table::{Context, Kind, context};
use rukh_functions::types::enum_array_oid;
use rukh_keys::DataType;

use super::table::{Cell, row};
use super::types;

/// Number of the first row.
const FIRST: i64 = 10_000;

/// Returns the rows of `pg_cast`.
pub(super) fn rows() -> Vec<Vec<Cell>> {
    let kinds = || Kind::scalars().iter().copied();
    let pairs = kinds().flat_map(|from| kinds().map(move |to| (from, to)));
    let listed = pairs.filter(|(from, to)| match (from, to) {
        (from, to) if from == to => has_length(*from),
        (from, to) if from.is_text() => to.is_text(),
        (from, to) => !to.is_text() || *from == Kind::Boolean,
    });
    let found = listed.filter_map(|(from, to)| Some((oid(from), oid(to), context(from, to)?)));
    let row = |(at, (source, target, context)): (i64, (i64, i64, Context))| {
        let context = match context {
            Context::Implicit => "i",
            Context::Assignment => "a",
            Context::Explicit => "e",
        };
        row![at, source, target, 0_i64, context, "f"]
    };
    (FIRST..).zip(found).map(row).collect()
}

/// Whether casts to the type itself change lengths and precisions.
fn has_length(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Varchar
            | Kind::Char
            | Kind::Numeric
            | Kind::Time
            | Kind::Timestamp
            | Kind::TimestampTz
            | Kind::Interval
    )
}

/// Returns the number of a type.
pub(super) fn oid(kind: Kind) -> i64 {
    match kind {
        Kind::Boolean => 16,
        Kind::SmallInt => 21,
        Kind::Integer => 23,
        Kind::BigInt => 20,
        Kind::Real => 700,
        Kind::Double => 701,
        Kind::Numeric => 1700,
        Kind::Date => 1082,
        Kind::Time => 1083,
        Kind::Timestamp => 1114,
        Kind::TimestampTz => 1184,
        Kind::Interval => 1186,
        Kind::Json => 114,
        Kind::Jsonb => 3802,
        Kind::JsonPath => 4072,
        Kind::Uuid => 2950,
        Kind::Inet => 869,
        Kind::Cidr => 650,
        Kind::Text => 25,
        Kind::Varchar => 1043,
        Kind::Char => 1042,
        Kind::Bytes => 17,
        Kind::Record => 2249,
        Kind::Array(Kind::Record) => 2287,
        Kind::Enum(of) => types::oid_of(&DataType::Enum(of)),
        Kind::Array(Kind::Enum(of)) => i64::from(enum_array_oid(*of)),
        Kind::Array(element) => types::array_of(oid(*element)),
    }
}
