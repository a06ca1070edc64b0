//! Random queries above aggregates, and on times that are subtracted: where a condition stands, and in what an aggregate is ordered,
//! changes how often something is computed.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_keys::DataType;

use super::schema::{RandomColumn, RandomTable};

/// Conditions that read no column. Those of `random()` are always true or always false.
const WITHOUT_COLUMNS: [&str; 7] = [
    "(SELECT 1) > 5",
    "(SELECT 1) < 5",
    "(SELECT count(*) FROM t) > 100000",
    "random() > 2",
    "random() >= 0",
    "1 > 5",
    "NULL",
];

/// Intervals that times are compared with.
const INTERVALS: [&str; 8] = [
    "0",
    "1 day",
    "30 days",
    "1 mon",
    "-3 days 04:00",
    "23:59:59.999999",
    "1000 years",
    "24:00:00",
];

/// Draws a condition without columns above an aggregate, grouping sets, aggregates with an order, or one of an outer query.
pub(super) fn above_aggregates(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let condition = WITHOUT_COLUMNS.choose(random).expect("there are conditions");
    match random.random_range(0..6) {
        0 => (
            "SELECT count(*) FROM t".to_owned(),
            format!(" HAVING {condition}"),
        ),
        1 => (
            "SELECT x_n FROM (SELECT count(*) AS x_n FROM t".to_owned(),
            format!(") AS x WHERE {condition}"),
        ),
        2 => {
            let name = &table.columns[0].name;
            (
                format!("SELECT r.{name}, x_n FROM t AS r LEFT JOIN (SELECT count(*) AS x_n FROM t"),
                format!(") AS x ON {condition}"),
            )
        }
        3 => {
            let (one, other) = (grouped_column(table, random), grouped_column(table, random));
            let sets = match random.random_range(0..3) {
                0 => format!("GROUPING SETS (({one}, {other}), ({one}), ())"),
                1 => format!("ROLLUP ({one}, {other})"),
                _ => format!("CUBE ({one}, {other})"),
            };
            (
                format!("SELECT {one}, {other}, count(*) FROM t"),
                format!(" GROUP BY {sets} HAVING {condition}"),
            )
        }
        4 => ordered_aggregates(table, random),
        _ => {
            let name = grouped_column(table, random);
            (
                format!("SELECT (SELECT count(r.{name})) FROM (SELECT * FROM t"),
                ") AS r".to_owned(),
            )
        }
    }
}

/// A column whose values both databases group and show alike.
fn grouped_column<'a>(table: &'a RandomTable, random: &mut StdRng) -> &'a str {
    // Which of several equal intervals or documents stands for its group is open.
    let is_plain = |column: &&RandomColumn| {
        !matches!(
            column.ty,
            DataType::Char(_) | DataType::Real | DataType::Double | DataType::Interval | DataType::Jsonb
        )
    };
    let plain: Vec<&RandomColumn> = table.columns.iter().filter(is_plain).collect();
    plain
        .choose(random)
        .map_or(&table.columns[0].name, |column| &column.name)
}

/// Aggregates whose result does not depend on the order that they ask for, of integers that a float holds.
fn ordered_aggregates(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let is_small = |column: &&RandomColumn| matches!(column.ty, DataType::TinyInt | DataType::SmallInt);
    let small: Vec<&RandomColumn> = table.columns.iter().filter(is_small).collect();
    let by = grouped_column(table, random);
    let value = match small.choose(random) {
        Some(column) => format!("CAST({} AS DOUBLE PRECISION)", column.name),
        None => "CAST(1 AS DOUBLE PRECISION)".to_owned(),
    };
    let other = grouped_column(table, random);
    let select = format!(
        "SELECT avg({value} ORDER BY {by}), sum({value} ORDER BY {other} DESC), count({value} ORDER BY {by}), max({value} ORDER BY {other}) FROM t"
    );
    (select, String::new())
}

/// Draws differences of times: shown, compared, sorted, grouped, added up. `None` of a table without times.
pub(super) fn differences(table: &RandomTable, random: &mut StdRng) -> Option<(String, String)> {
    let is_time = |column: &&RandomColumn| {
        matches!(
            column.ty,
            DataType::Timestamp { .. } | DataType::TimestampTz { .. }
        )
    };
    let times: Vec<&RandomColumn> = table.columns.iter().filter(is_time).collect();
    let one = times.choose(random)?;
    let alike: Vec<&&RandomColumn> = times.iter().filter(|other| other.ty == one.ty).collect();
    let type_name = match one.ty {
        DataType::Timestamp { .. } => "TIMESTAMP",
        _ => "TIMESTAMPTZ",
    };
    let other = match random.random_bool(0.5) {
        true => alike.choose(random).map(|column| column.name.clone())?,
        false => format!("{type_name} '2020-02-29 12:30:00.5'"),
    };
    let difference = match random.random_bool(0.5) {
        true => format!("{} - {other}", one.name),
        false => format!("{other} - {}", one.name),
    };
    let difference = match one.ty {
        // There is none with an infinity.
        DataType::Timestamp { .. } => {
            format!(
                "(CASE WHEN isfinite({}) AND isfinite({other}) THEN {difference} END)",
                one.name
            )
        }
        _ => format!("({difference})"),
    };
    let key: Vec<usize> = (0..table.key_columns).collect();
    let key = table.names(&key);
    let mut interval = || INTERVALS.choose(random).expect("there are intervals");
    let (low, high) = (interval(), interval());
    Some(match random.random_range(0..7) {
        0 => (format!("SELECT {key}, {difference} AS x_d FROM t"), String::new()),
        1 => (
            format!("SELECT {key} FROM t"),
            format!(" AND {difference} > INTERVAL '{low}'"),
        ),
        2 => (
            format!("SELECT {key} FROM t"),
            format!(" AND {difference} BETWEEN INTERVAL '{low}' AND '{high}'"),
        ),
        3 => (
            format!("SELECT {key}, {difference} AS x_d FROM t"),
            format!(" ORDER BY {difference}, {key} LIMIT 5"),
        ),
        4 => (
            format!("SELECT {difference} AS x_d, count(*) FROM t"),
            format!(" GROUP BY {difference}"),
        ),
        5 => (
            format!("SELECT min({difference}), max({difference}), count(DISTINCT {difference}) FROM t"),
            String::new(),
        ),
        _ => (
            format!("SELECT {key}, EXTRACT(DAY FROM {difference}), EXTRACT(HOUR FROM {difference}) FROM t"),
            format!(" AND ({difference}) * 2 < INTERVAL '{high}'"),
        ),
    })
}
