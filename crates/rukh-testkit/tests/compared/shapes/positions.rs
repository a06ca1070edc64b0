//! What ORDER BY, GROUP BY and DISTINCT ON name: numbers that are positions, output names, input names, expressions, constants.

use rand::Rng;
use rand::rngs::StdRng;

use super::{Shape, TABLES, one_of};

/// Queries of this shape have it.
pub const MARK: &str = "/* positions */";

/// What a SELECT list is drawn from: columns, columns under names of others, constants, and the same twice.
const ITEMS: [&str; 14] = [
    "a",
    "b",
    "c",
    "a AS b",
    "b AS a",
    "-a AS a",
    "a + b AS x",
    "coalesce(a, 0)",
    "coalesce(a, 0) AS y",
    "1 AS one",
    "2",
    "'x' AS c",
    "NULL AS nothing",
    "a AS x",
];

/// What is named besides positions; some of it is in no list.
const NAMES: [&str; 14] = [
    "a",
    "b",
    "c",
    "x",
    "y",
    "one",
    "-a",
    "a + b",
    "coalesce(a, 0)",
    "r.a",
    "nothing",
    "NULL",
    "'x'",
    "1.5",
];

/// Some items of a SELECT list. A literal stands once: which types two of them have by then depends on the keys before, in PostgreSQL.
fn items(random: &mut StdRng) -> Vec<&'static str> {
    let mut items: Vec<&str> = (0..random.random_range(1..=4))
        .map(|_| one_of(&ITEMS, random))
        .collect();
    let mut has_literal = false;
    items.retain(|item| !(item.starts_with('\'') && std::mem::replace(&mut has_literal, true)));
    items
}

/// Something to order or group by: a position most often, now and then one that is not there.
fn named(count: usize, random: &mut StdRng) -> String {
    match random.random_range(0..10) {
        0..=4 => random.random_range(1..=count).to_string(),
        5 if random.random_bool(0.2) => {
            one_of(&["0", "9", "-1", "1 + 1", "NULL::integer", "true"], random).to_owned()
        }
        _ => one_of(&NAMES, random).to_owned(),
    }
}

fn some_named(count: usize, random: &mut StdRng) -> Vec<String> {
    (0..random.random_range(1..=3))
        .map(|_| named(count, random))
        .collect()
}

/// An order that ends with all positions, so that rows which are equal in it are the same.
fn order(first: &[String], count: usize, random: &mut StdRng) -> String {
    let mut direct = |key: &String| {
        let direction = one_of(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"], random);
        format!("{key}{direction}")
    };
    let first = first.iter().map(&mut direct);
    let keys: Vec<String> = first.chain((1..=count).map(|place| place.to_string())).collect();
    format!(" ORDER BY {}", keys.join(", "))
}

/// A query that orders or groups by what its SELECT list has, or makes it distinct.
pub fn positions(random: &mut StdRng) -> Shape {
    let mut items = items(random);
    let count = items.len();
    // Tables go by one name, so that names can be qualified.
    let mut from = format!("{} AS r {MARK}", one_of(&TABLES, random));
    if random.random_bool(0.2) {
        from = format!("(SELECT a, b, c FROM {from}) AS r");
    }
    let keys = some_named(count, random);
    match random.random_range(0..5) {
        0 => {
            let order = order(&keys, count, random);
            let list = items.join(", ");
            (format!("SELECT {list} FROM {from}{order}"), true)
        }
        1 => {
            let order = order(&keys, count, random);
            let list = items.join(", ");
            (format!("SELECT DISTINCT {list} FROM {from}{order}"), true)
        }
        // Which row of a group is kept does not matter where all of it is in the order.
        2 => {
            let same = random.random_bool(0.7);
            let first = if same {
                keys.clone()
            } else {
                some_named(count, random)
            };
            let order = order(&first, count, random);
            let (on, list) = (keys.join(", "), items.join(", "));
            (
                format!("SELECT DISTINCT ON ({on}) {list} FROM {from}{order}"),
                true,
            )
        }
        3 => {
            items.push(one_of(&["count(*)", "count(*) AS a", "sum(b) AS x"], random));
            let first = some_named(items.len(), random);
            let order = order(&first, items.len(), random);
            let (by, list) = (keys.join(", "), items.join(", "));
            (format!("SELECT {list} FROM {from} GROUP BY {by}{order}"), true)
        }
        // Grouped by all of the list, so that most hold.
        _ => {
            let by: Vec<String> = (1..=count).map(|place| place.to_string()).collect();
            let order = order(&keys, count, random);
            let having = one_of(&["", "", " HAVING count(*) > 1"], random);
            let (by, list) = (by.join(", "), items.join(", "));
            let distinct = one_of(&["", "", "DISTINCT "], random);
            (
                format!("SELECT {distinct}{list} FROM {from} GROUP BY {by}{having}{order}"),
                true,
            )
        }
    }
}
