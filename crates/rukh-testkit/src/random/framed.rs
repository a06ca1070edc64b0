//! Random windows: frames of rows, of groups and of ranges, whose distances are of the type of the order.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_keys::DataType;

use super::schema::{RandomColumn, RandomTable};

/// Counts the rows of a frame around each row, and looks at its ends. `None` of a table without a column that ranges are over.
pub(super) fn framed(table: &RandomTable, random: &mut StdRng) -> Option<(String, String)> {
    let ranged: Vec<(&RandomColumn, &[&str])> = table
        .columns
        .iter()
        .filter_map(|column| Some((column, distances(&column.ty)?)))
        .collect();
    let (column, distances) = *ranged.choose(random)?;
    let key = table.names(&(0..table.key_columns).collect::<Vec<_>>());
    let units = *["RANGE", "RANGE", "ROWS", "GROUPS"].choose(random)?;
    let distance = |random: &mut StdRng| match units {
        "RANGE" => *distances.choose(random).unwrap_or(&"0"),
        _ => *["0", "1", "2", "5"].choose(random).unwrap_or(&"0"),
    };
    let (before, behind) = (distance(random), distance(random));
    let frame = match random.random_range(0..6) {
        0 => format!("{units} {before} PRECEDING"),
        1 => format!("{units} BETWEEN CURRENT ROW AND {behind} FOLLOWING"),
        2 => format!("{units} BETWEEN UNBOUNDED PRECEDING AND {before} PRECEDING"),
        3 => format!("{units} BETWEEN {behind} FOLLOWING AND UNBOUNDED FOLLOWING"),
        _ => format!("{units} BETWEEN {before} PRECEDING AND {behind} FOLLOWING"),
    };
    let direction = *["", " DESC", " NULLS FIRST", " DESC NULLS LAST"].choose(random)?;
    let (name, rest) = (
        &column.name,
        if units == "RANGE" {
            String::new()
        } else {
            format!(", {key}")
        },
    );
    let partition = match random.random_bool(0.3) {
        true => format!("PARTITION BY {} ", table.columns.choose(random)?.name),
        false => String::new(),
    };
    Some((
        format!(
            "SELECT {key}, count(*) OVER x_w, min({name}) OVER x_w, max({name}) OVER x_w, count({name}) OVER x_w FROM t"
        ),
        format!(" WINDOW x_w AS ({partition}ORDER BY {name}{direction}{rest} {frame})"),
    ))
}

/// Returns distances of a type of which ranges are, as SQL.
fn distances(ty: &DataType) -> Option<&'static [&'static str]> {
    match ty {
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            Some(&["0", "1", "2", "10", "1000", "3000000000"])
        }
        DataType::Decimal { .. } => Some(&["0", "1", "0.5", "0.125", "1000000"]),
        DataType::Date | DataType::Timestamp { .. } => Some(&[
            "INTERVAL '0'",
            "INTERVAL '1 day'",
            "INTERVAL '90 minutes'",
            "INTERVAL '1 mon 2 days'",
            "INTERVAL '3 years'",
        ]),
        _ => None,
    }
}
