//! The rows of `pg_cast`, made of the table of casts.
//!
//! As in PostgreSQL, casts by the input and output of a type are not among them: those from text, and those to text but for BOOLEAN's. What
//! changes a type's length only is a cast to itself.

use rukh_functions::casts::table::{Context, Kind, context};

use super::table::{Cell, row};

/// Number of the first row.
const FIRST: i64 = 10_000;

/// Returns the rows of `pg_cast`.
pub(super) fn rows() -> Vec<Vec<Cell>> {
    let numbered = |kind: Kind| oids(kind).iter().map(move |oid| (kind, *oid));
    let types = || Kind::ALL.into_iter().flat_map(numbered);
    let pairs = types().flat_map(|from| types().map(move |to| (from, to)));
    let listed = pairs.filter(|((from, source), (to, target))| match (from, to) {
        (Kind::Text, Kind::Text) => (*source, *target) != (TEXT, TEXT),
        (Kind::Text, _) => false,
        (from, Kind::Text) => *from == Kind::Boolean,
        (from, to) => from != to || has_length(*from),
    });
    let found =
        listed.filter_map(|((from, source), (to, target))| Some((source, target, context(from, to)?)));
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

const TEXT: i64 = 25;

/// Whether casts to the type itself change lengths and precisions.
fn has_length(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Numeric | Kind::Time | Kind::Timestamp | Kind::TimestampTz | Kind::Interval
    )
}

/// Returns the numbers of the types of a kind, the widest first.
pub(super) fn oids(kind: Kind) -> &'static [i64] {
    match kind {
        Kind::Boolean => &[16],
        Kind::SmallInt => &[21],
        Kind::Integer => &[23],
        Kind::BigInt => &[20],
        Kind::Real => &[700],
        Kind::Double => &[701],
        Kind::Numeric => &[1700],
        Kind::Date => &[1082],
        Kind::Time => &[1083],
        Kind::Timestamp => &[1114],
        Kind::TimestampTz => &[1184],
        Kind::Interval => &[1186],
        Kind::Uuid => &[2950],
        Kind::Text => &[TEXT, 1042, 1043],
        Kind::Bytes => &[17],
        Kind::Array => &[],
    }
}
