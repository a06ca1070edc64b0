//! Random queries with values of several types together: compared, chosen from, in one column.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_keys::DataType;

use super::schema::{RandomColumn, RandomTable};

/// Numbers that are others in another type.
const NUMBERS: [&str; 11] = [
    "CAST(16777217 AS INTEGER)",
    "CAST(16777216 AS REAL)",
    "CAST(9007199254740993 AS BIGINT)",
    "CAST(9007199254740992 AS DOUBLE PRECISION)",
    "CAST(0.1 AS REAL)",
    "CAST(0.1 AS DOUBLE PRECISION)",
    "CAST(2 AS SMALLINT)",
    "0.1",
    "1.5",
    "2",
    "3000000000",
];

/// Moments that are others in another type, or that some types do not hold.
const MOMENTS: [&str; 6] = [
    "DATE '2012-01-01'",
    "DATE '0001-01-01'",
    "TIMESTAMP '2012-01-01 01:00:00'",
    "TIMESTAMP '9999-12-31 23:59:59.999999'",
    "CAST('2012-01-01 00:00:00+00' AS TIMESTAMP WITH TIME ZONE)",
    "CAST('1969-12-31 23:00:00+00' AS TIMESTAMP WITH TIME ZONE)",
];

fn is_number(column: &&RandomColumn) -> bool {
    column.ty.is_integer() || column.ty.is_float() || column.ty.is_decimal()
}

fn is_moment(column: &&RandomColumn) -> bool {
    matches!(
        column.ty,
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
    )
}

/// Draws a query with numbers or moments of several types. `None` of a table that has neither.
pub(super) fn several_types(table: &RandomTable, random: &mut StdRng) -> Option<(String, String)> {
    let of = |test: fn(&&RandomColumn) -> bool| -> Vec<&RandomColumn> {
        table.columns.iter().filter(test).collect()
    };
    let (numbers, moments) = (of(is_number), of(is_moment));
    let is_of_numbers = moments.is_empty() || !numbers.is_empty() && random.random_bool(0.7);
    let (columns, constants) = match is_of_numbers {
        true => (numbers, NUMBERS.as_slice()),
        false => (moments, MOMENTS.as_slice()),
    };
    let column = columns.choose(random)?.name.clone();
    let other_column = columns.choose(random)?.name.clone();
    let mut value = || match random.random_bool(0.5) {
        true => columns.choose(random).map(|column| column.name.clone()),
        false => constants.choose(random).map(ToString::to_string),
    };
    let (one, other, third) = (value()?, value()?, value()?);
    let key: Vec<usize> = (0..table.key_columns).collect();
    let key = table.names(&key);
    let operator = *["=", "<>", "<", "<=", ">", ">="].choose(random)?;
    let not = if random.random_bool(0.3) { "NOT " } else { "" };
    let keys = format!("SELECT {key} FROM t");
    Some(match random.random_range(0..10) {
        0 => (keys, format!(" AND {one} {operator} {other}")),
        1 => (keys, format!(" AND {column} {not}IN ({one}, {other}, {third})")),
        2 => (keys, format!(" AND {column} {not}BETWEEN {one} AND {other}")),
        3 => (keys, format!(" AND {column} IS {not}DISTINCT FROM {other}")),
        4 => {
            let chosen = format!("CASE WHEN {column} IS {not}NULL THEN {one} ELSE {other} END");
            (format!("SELECT {key}, {chosen} AS x_c FROM t"), String::new())
        }
        5 => {
            let chosen = format!("CASE {column} WHEN {one} THEN 1 WHEN {other} THEN 2 ELSE 3 END");
            (format!("SELECT {key}, {chosen} AS x_c FROM t"), String::new())
        }
        6 => {
            let call = match random.random_range(0..4) {
                0 => format!("nullif({column}, {one})"),
                1 => format!("greatest({column}, {one}, {other})"),
                2 => format!("least({one}, {column})"),
                _ => format!("coalesce({column}, {one})"),
            };
            (format!("SELECT {key}, {call} AS x_c FROM t"), String::new())
        }
        7 => {
            let operations = [
                "UNION",
                "UNION ALL",
                "INTERSECT",
                "INTERSECT ALL",
                "EXCEPT",
                "EXCEPT ALL",
            ];
            let operation = operations.choose(random)?;
            (
                format!("SELECT {one} AS x_c FROM t {operation} SELECT {column} FROM t"),
                String::new(),
            )
        }
        8 => (
            keys,
            format!(" AND {one} {not}IN (SELECT x_t.{column} FROM t AS x_t)"),
        ),
        _ => {
            let key: Vec<String> = key.split(", ").map(|name| format!("r.{name}")).collect();
            let key = key.join(", ");
            (
                format!(
                    "SELECT {key}, l.{other_column} FROM (SELECT * FROM t) AS l JOIN t AS r ON l.{other_column} = r.{column} JOIN (SELECT * FROM t"
                ),
                format!(") AS m ON r.{column} {operator} m.{other_column}"),
            )
        }
    })
}
