//! Random queries that compute: decimals divided and averaged, and sequences beside ORDER BY.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_keys::DataType;

use super::schema::{RandomColumn, RandomTable};

/// The sequence that queries take numbers of; each way to run one begins at 1.
pub const SEQUENCE: &str = "x_s";

/// Divisors whose quotients have few digits, which both databases show.
const DIVISORS: [&str; 6] = ["2", "4", "0.5", "-8", "0.25", "1.0"];

/// Divides a decimal or an integer: shown, compared, averaged. `None` of a table without numbers that stay small.
pub(super) fn quotients(table: &RandomTable, random: &mut StdRng) -> Option<(String, String)> {
    let is_small = |column: &&RandomColumn| match column.ty {
        DataType::Decimal { precision, .. } => precision <= 10,
        ty => ty.is_integer() && ty != DataType::BigInt,
    };
    let small: Vec<&RandomColumn> = table.columns.iter().filter(is_small).collect();
    let column = small.choose(random)?;
    let divisor = DIVISORS.choose(random).expect("there are divisors");
    // An integer divided by an integer is one; here both are decimals.
    let quotient = format!("(1.0 * {} / {divisor})", column.name);
    let key = key_of(table);
    let limit = ["0", "0.25", "-1.5", "100000.125", "-0.0625"]
        .choose(random)
        .expect("there are limits");
    Some(match random.random_range(0..4) {
        0 => (format!("SELECT {key}, {quotient} AS x_q FROM t"), String::new()),
        1 => (
            format!("SELECT {key} FROM t"),
            format!(" AND {quotient} > {limit}"),
        ),
        2 => (
            format!(
                "SELECT round(avg(1.0 * {}), 1), sum({quotient}) FROM t",
                column.name
            ),
            String::new(),
        ),
        _ => (
            format!("SELECT {quotient} AS x_q, count(*) FROM t"),
            format!(" GROUP BY {quotient} HAVING avg({quotient}) <> {limit}"),
        ),
    })
}

/// Numbers rows as they are sorted. LIMIT cuts what is numbered.
pub(super) fn numbered(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let key = key_of(table);
    let column = table.columns.choose(random).expect("a table has columns");
    let direction = if random.random_bool(0.5) { " DESC" } else { "" };
    let mut rest = format!(" ORDER BY {}{direction}, {key}", column.name);
    if random.random_bool(0.7) {
        rest += &format!(" LIMIT {}", random.random_range(0..=6));
    }
    if random.random_bool(0.3) {
        rest += &format!(" OFFSET {}", random.random_range(0..=3));
    }
    let number = match random.random_bool(0.5) {
        true => format!("nextval('{SEQUENCE}')"),
        false => format!("nextval('{SEQUENCE}') + 10"),
    };
    (format!("SELECT {key}, {number} AS x_n FROM t"), rest)
}

fn key_of(table: &RandomTable) -> String {
    let key: Vec<usize> = (0..table.key_columns).collect();
    table.names(&key)
}
