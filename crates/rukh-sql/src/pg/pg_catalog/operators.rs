//! The rows of `pg_operator`, made of the table of operators; and of `pg_aggregate`.

use rukh_functions::signatures::table;

use super::procs;
use super::table::{Cell, row};
use crate::bind::system::oids;

/// Number of the first operator.
const FIRST: i64 = 20_000;

/// Returns the rows of `pg_operator`.
pub(super) fn rows() -> Vec<Vec<Cell>> {
    let all = table::operators().iter();
    let all = all.flat_map(|(name, overloads)| overloads.iter().map(move |overload| (*name, overload)));
    let row = |(at, (name, overload)): (i64, (&str, &table::Overload))| {
        let of = |at: usize| overload.arguments.get(at).map_or(0, procs::number_of);
        let (left, right, result) = (of(0), of(1), procs::number_of(&overload.result));
        row![
            at,
            name,
            oids::PG_CATALOG,
            oids::OWNER,
            "b",
            left,
            right,
            result,
            0_i64
        ]
    };
    (FIRST..).zip(all).map(row).collect()
}

/// Returns the rows of `pg_aggregate`.
pub(super) fn aggregates() -> Vec<Vec<Cell>> {
    let row = |(number, name): (i64, &str)| {
        let takes_order = matches!(name, "percentile_cont" | "percentile_disc" | "mode");
        let direct = i64::from(takes_order && name != "mode");
        row![number, if takes_order { "o" } else { "n" }, direct]
    };
    procs::aggregates().into_iter().map(row).collect()
}
