//! Random queries on one table, joined with itself in some.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rukh_keys::DataType;

use super::aggregated::{above_aggregates, differences};
use super::computed::{numbered, quotients};
use super::condition::{Condition, condition};
use super::framed::framed;
use super::mixed::several_types;
use super::schema::{RandomColumn, RandomTable};
use super::value::Constant;

/// A query: what it selects, its condition, what follows.
#[derive(Clone, Debug)]
pub struct Query {
    /// `SELECT … FROM t`.
    pub select: String,
    /// The condition.
    pub condition: Condition,
    /// GROUP BY, ORDER BY, LIMIT.
    pub rest: String,
}

impl Query {
    /// Writes the query with its constants.
    pub fn sql(&self) -> String {
        format!("{} WHERE {}{}", self.select, self.condition, self.rest)
    }

    /// Writes the query with parameters, and returns their values.
    pub fn with_parameters(&self) -> (String, Vec<Constant>) {
        let mut constants = Vec::new();
        let condition = self.condition.with_parameters(&mut constants);
        (
            format!("{} WHERE {condition}{}", self.select, self.rest),
            constants,
        )
    }

    /// Returns queries that are smaller by one step.
    pub fn smaller(&self) -> Vec<Query> {
        let smaller = self.condition.smaller().into_iter();
        smaller
            .map(|condition| Query {
                condition,
                ..self.clone()
            })
            .collect()
    }
}

/// Draws a query.
pub fn query(table: &RandomTable, random: &mut StdRng) -> Query {
    let condition = condition(table, random);
    let (select, rest) = match random.random_range(0..26) {
        0..=3 => (
            format!("SELECT {} FROM t", some_names(table, random)),
            String::new(),
        ),
        4..=6 => ordered(table, random),
        7 => ("SELECT count(*) FROM t".to_owned(), String::new()),
        8 => aggregates(table, random),
        9 => grouped(table, random),
        10 => distinct(table, random),
        11..=14 => joined(table, random),
        15 => one_per_group(table, random),
        16..=17 => above_aggregates(table, random),
        18 => differences(table, random).unwrap_or_else(|| above_aggregates(table, random)),
        19 => quotients(table, random).unwrap_or_else(|| aggregates(table, random)),
        20 => numbered(table, random),
        23..=24 => framed(table, random).unwrap_or_else(|| aggregates(table, random)),
        21..=22 => several_types(table, random).unwrap_or_else(|| aggregates(table, random)),
        _ => ("SELECT * FROM t".to_owned(), String::new()),
    };
    Query {
        select,
        condition,
        rest,
    }
}

fn some_names(table: &RandomTable, random: &mut StdRng) -> String {
    let mut columns = table.all_columns();
    columns.shuffle(random);
    columns.truncate(random.random_range(1..=columns.len()));
    table.names(&columns)
}

/// All of the key is in the order, so that there is one right answer; LIMIT may cut it.
fn ordered(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let mut columns: Vec<usize> = match random.random_bool(0.6) {
        true => table.key.iter().map(|element| element.column).collect(),
        false => {
            let mut columns = table.all_columns();
            columns.shuffle(random);
            columns.truncate(random.random_range(1..=3));
            columns
        }
    };
    columns.extend(0..table.key_columns);
    let mut seen = Vec::new();
    columns.retain(|column| {
        !seen.contains(column) && {
            seen.push(*column);
            true
        }
    });
    let reverse = random.random_bool(0.5);
    let keys: Vec<String> = columns
        .iter()
        .map(|column| sort_key(table, *column, reverse, random))
        .collect();
    let mut rest = format!(" ORDER BY {}", keys.join(", "));
    if random.random_bool(0.6) {
        rest += &format!(" LIMIT {}", random.random_range(0..=8));
    }
    if random.random_bool(0.2) {
        rest += &format!(" OFFSET {}", random.random_range(0..=3));
    }
    (
        format!("SELECT {} FROM t", table.names(&table.all_columns())),
        rest,
    )
}

/// A column in the direction that its key element has, or in the other, or in any.
fn sort_key(table: &RandomTable, column: usize, reverse: bool, random: &mut StdRng) -> String {
    let element = table
        .key
        .iter()
        .find(|element| element.column == column && element.hash.is_none());
    let along = element.is_some_and(|element| element.descending) != reverse;
    let descending = if random.random_bool(0.8) {
        along
    } else {
        random.random_bool(0.5)
    };
    let nulls = match random.random_range(0..10) {
        0 => " NULLS FIRST",
        1 => " NULLS LAST",
        _ => "",
    };
    format!(
        "{}{}{nulls}",
        table.columns[column].name,
        if descending { " DESC" } else { "" }
    )
}

fn aggregates(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let mut items = vec!["count(*)".to_owned()];
    for _ in 0..random.random_range(1..=3) {
        let column = table.columns.choose(random).expect("a table has columns");
        items.push(aggregate(column, random));
    }
    (format!("SELECT {} FROM t", items.join(", ")), String::new())
}

/// Queries to which one row of each group is enough, grouped by a prefix of the key or by any columns.
fn one_per_group(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let mut columns: Vec<usize> = table.key.iter().map(|element| element.column).collect();
    if random.random_bool(0.4) {
        columns = table.all_columns();
        columns.shuffle(random);
    }
    let mut seen = Vec::new();
    columns.retain(|column| {
        !seen.contains(column) && {
            seen.push(*column);
            true
        }
    });
    let by: Vec<usize> = columns[..random.random_range(0..columns.len().min(3))].to_vec();
    let next = columns[by.len()];
    let names = table.names(&by);
    match random.random_range(0..5) {
        0 | 1 if has_order(&table.columns[next]) => extremes(table, &names, next, random),
        2 if !by.is_empty() => {
            let limit = match random.random_bool(0.5) {
                true => format!(" ORDER BY {names} LIMIT {}", random.random_range(0..=4)),
                false => String::new(),
            };
            (format!("SELECT DISTINCT {names} FROM t"), limit)
        }
        _ if by.is_empty() => aggregates(table, random),
        kind => first_rows(table, &by, next, kind == 3, random),
    }
}

/// `min` and `max` of a column, of each group or, without a name, of all rows.
fn extremes(table: &RandomTable, names: &str, column: usize, random: &mut StdRng) -> (String, String) {
    let column = &table.columns[column];
    let mut items: Vec<String> = (!names.is_empty())
        .then(|| names.to_owned())
        .into_iter()
        .collect();
    let functions: &[&str] = match random.random_range(0..4) {
        0 => &["min"],
        1 => &["min", "max"],
        _ => &["max"],
    };
    items.extend(functions.iter().map(|function| extreme(function, column)));
    let rest = match names.is_empty() {
        true => String::new(),
        false => format!(" GROUP BY {names}"),
    };
    (format!("SELECT {} FROM t", items.join(", ")), rest)
}

/// The first row of each group in an order that knows no equals, in one of two spellings. The frame is
/// of no use to `row_number`, but that DataFusion has no RANGE over times and byte strings.
fn first_rows(
    table: &RandomTable,
    by: &[usize],
    next: usize,
    distinct_on: bool,
    random: &mut StdRng,
) -> (String, String) {
    let reverse = random.random_bool(0.5);
    let mut order = vec![next];
    order.extend((0..table.key_columns).filter(|column| *column != next && !by.contains(column)));
    let keys: Vec<String> = order
        .iter()
        .map(|column| sort_key(table, *column, reverse, random))
        .collect();
    let (names, all, keys) = (
        table.names(by),
        table.names(&table.all_columns()),
        keys.join(", "),
    );
    match distinct_on {
        true => (
            format!("SELECT DISTINCT ON ({names}) {all} FROM t"),
            format!(" ORDER BY {names}, {keys}"),
        ),
        false => (
            format!(
                "SELECT {all} FROM (SELECT {all}, row_number() OVER (PARTITION BY {names} ORDER BY {keys} ROWS UNBOUNDED PRECEDING) AS nth FROM t"
            ),
            ") AS numbered WHERE nth = 1".to_owned(),
        ),
    }
}

/// `min` or `max` of a column; that of a CHAR is a text, which only PostgreSQL pads.
fn extreme(function: &str, column: &RandomColumn) -> String {
    match column.ty {
        DataType::Char(_) => format!("rtrim({function}({}))", column.name),
        _ => format!("{function}({})", column.name),
    }
}

/// Whether both databases have `min` and `max` for the type.
fn has_order(column: &RandomColumn) -> bool {
    !matches!(
        column.ty,
        DataType::Boolean
            | DataType::Uuid
            | DataType::Binary(_)
            | DataType::Varbinary(_)
            | DataType::Jsonb
            | DataType::Record(_)
    )
}

/// An aggregate that both databases have for the type.
fn aggregate(column: &RandomColumn, random: &mut StdRng) -> String {
    let name = &column.name;
    let has_order = has_order(column);
    let has_sum = matches!(
        column.ty,
        DataType::TinyInt
            | DataType::SmallInt
            | DataType::Integer
            | DataType::Decimal { .. }
            | DataType::Numeric { .. }
    );
    match random.random_range(0..5) {
        0 if has_sum => format!("sum({name})"),
        1..=2 if has_order => extreme("min", column),
        3 if has_order => extreme("max", column),
        4 => format!("count(DISTINCT {name})"),
        _ => format!("count({name})"),
    }
}

fn grouped(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let names = group_names(table, random);
    let column = table.columns.choose(random).expect("a table has columns");
    let aggregate = aggregate(column, random);
    (
        format!("SELECT {names}, count(*), {aggregate} FROM t"),
        format!(" GROUP BY {names}"),
    )
}

fn distinct(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    (
        format!("SELECT DISTINCT {} FROM t", group_names(table, random)),
        String::new(),
    )
}

/// A prefix of the key, or any column.
fn group_names(table: &RandomTable, random: &mut StdRng) -> String {
    let mut columns: Vec<usize> = table.key.iter().map(|element| element.column).collect();
    columns.dedup();
    match random.random_bool(0.6) {
        true => columns.truncate(random.random_range(1..=columns.len())),
        false => columns = vec![random.random_range(0..table.columns.len())],
    }
    table.names(&columns)
}

/// What stands before and behind an IN: most often nothing, else what shows whether it is NULL or false.
fn place_of_in(table: &RandomTable, random: &mut StdRng) -> (&'static str, String) {
    let columns = table.all_columns();
    let other = columns.choose(random).expect("there are columns");
    let other = &table.columns[*other].name;
    match random.random_range(0..10) {
        0 => ("", format!(" OR {other} IS NULL")),
        1 => ("NOT (", format!(" AND {other} IS NOT NULL)")),
        2 => ("(", ") IS NULL".to_owned()),
        3 => ("(", ") = false".to_owned()),
        4 => ("coalesce(", ", true)".to_owned()),
        _ => ("", String::new()),
    }
}

/// Whether the values of a column are rows, which are not looked for among those of a subquery.
pub(crate) fn is_row(table: &RandomTable, name: &str) -> bool {
    let mut columns = table.columns.iter();
    columns.any(|column| column.name == name && matches!(column.ty, DataType::Record(_)))
}

/// The rows that fulfil the condition, joined with all rows by equal values.
fn joined(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let pairs: Vec<(&str, &str)> = (0..random.random_range(1..=2))
        .map(|_| equal_columns(table, random))
        .collect();
    let of = |side: &str, column: &str| format!("{side}.{column}");
    let mut on: Vec<String> = pairs
        .iter()
        .map(|(l, r)| format!("{} = {}", of("l", l), of("r", r)))
        .collect();
    let names = some_names(table, random);
    let not = if random.random_bool(0.4) { "NOT " } else { "" };
    match random.random_range(0..6) {
        4 | 5 => correlated(table, random, &names),
        0 if !is_row(table, pairs[0].0) => {
            let (kept, found) = pairs[0];
            let (before, after) = place_of_in(table, random);
            (
                format!("SELECT {names} FROM t WHERE {before}{kept} {not}IN (SELECT {found} FROM t"),
                format!("){after}"),
            )
        }
        1 => (
            format!("SELECT {names} FROM t AS r WHERE {not}EXISTS (SELECT 1 FROM (SELECT * FROM t"),
            format!(") AS l WHERE {})", on.join(" AND ")),
        ),
        _ => {
            if random.random_bool(0.3) {
                let (l, r) = equal_columns(table, random);
                on.push(format!("{} <> {}", of("l", l), of("r", r)));
            }
            let kind = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
                .choose(random)
                .expect("there are kinds of joins");
            // PostgreSQL has no FULL JOIN by NULL.
            if *kind != "FULL JOIN" && random.random_bool(0.3) {
                let (l, r) = pairs[0];
                on[0] = format!("{} IS NOT DISTINCT FROM {}", of("l", l), of("r", r));
            }
            let also = match random.random_bool(0.3) {
                true => {
                    let (l, r) = equal_columns(table, random);
                    format!(" WHERE {} = {}", of("l", l), of("r", r))
                }
                false => String::new(),
            };
            let (columns, order) = match random.random_bool(0.4) {
                true => order_of_both(table, random),
                false => {
                    let all = table.all_columns();
                    let of_side = |side| all.iter().map(move |column| (side, *column));
                    (of_side("l").chain(of_side("r")).collect(), String::new())
                }
            };
            let shown = columns
                .iter()
                .map(|(side, column)| of(side, &table.columns[*column].name));
            let mut shown: Vec<String> = shown.collect();
            let (mut inner, mut order) = ("*", order);
            // A constant of the one side, which an outer join makes up.
            if !order.is_empty() && random.random_bool(0.4) {
                inner = "*, 1 AS x_one";
                shown.push("l.x_one".to_owned());
                order = order.replacen("ORDER BY", "ORDER BY l.x_one,", 1);
            }
            (
                format!("SELECT {} FROM (SELECT {inner} FROM t", shown.join(", ")),
                format!(") AS l {kind} t AS r ON {}{also}{order}", on.join(" AND ")),
            )
        }
    }
}

/// Columns of both sides of a join and an order by all of them, so that rows which are alike in it are alike: first some of one side, as its
/// key has them most often, then some of the other.
fn order_of_both(table: &RandomTable, random: &mut StdRng) -> (Vec<(&'static str, usize)>, String) {
    let is_plain = |column: &usize| {
        let ty = &table.columns[*column].ty;
        !matches!(ty, DataType::Char(_) | DataType::Real | DataType::Double)
    };
    let mut sides = ["l", "r"];
    sides.shuffle(random);
    let mut columns = Vec::new();
    for side in sides {
        let mut own: Vec<usize> = table.key.iter().map(|element| element.column).collect();
        if random.random_bool(0.4) {
            own = table.all_columns();
            own.shuffle(random);
        }
        own.retain(is_plain);
        own.dedup();
        own.truncate(random.random_range(1..=2));
        columns.extend(own.into_iter().map(|column| (side, column)));
    }
    if columns.is_empty() {
        return (vec![("l", 0)], String::new());
    }
    let reverse = random.random_bool(0.3);
    let keys: Vec<String> = columns
        .iter()
        .map(|(side, column)| format!("{side}.{}", sort_key(table, *column, reverse, random)))
        .collect();
    let order = format!(" ORDER BY {}", keys.join(", "));
    (columns, order)
}

/// What the rows that fulfil the condition have for each row: a subquery that compares with it in any way.
fn correlated(table: &RandomTable, random: &mut StdRng, names: &str) -> (String, String) {
    let mut compared = || {
        let (l, r) = equal_columns(table, random);
        let op = ["=", "<>", "<", "<=", ">", ">="]
            .choose(random)
            .expect("there are operators");
        format!("l.{l} {op} r.{r}")
    };
    let condition = match (compared(), compared()) {
        (one, other) if one.len() % 3 == 0 => format!("{one} AND {other}"),
        (one, other) if one.len() % 3 == 1 => format!("({one} OR {other})"),
        (one, _) => one,
    };
    let (kept, found) = equal_columns(table, random);
    let not = if random.random_bool(0.4) { "NOT " } else { "" };
    let rows = "(SELECT * FROM t";
    let value = |value: &str, end: &str| {
        (
            format!("SELECT {names}, (SELECT {value} FROM {rows}"),
            format!(") AS l WHERE {condition}{end}) FROM t AS r"),
        )
    };
    match random.random_range(0..9) {
        0 => value("count(*)", ""),
        1 => value(&format!("count(DISTINCT l.{found})"), ""),
        2 => value(
            &format!("sum(CASE WHEN l.{found} IS NULL THEN 1 ELSE 2 END)"),
            &format!(" HAVING count(*) > 1 OR r.{kept} IS NULL"),
        ),
        3 => value(
            &format!("l.{found}"),
            &format!(" ORDER BY l.{found} LIMIT 1 OFFSET 1"),
        ),
        8 => (
            format!("SELECT {names}, (SELECT l.{found} FROM {rows}"),
            format!(") AS l ORDER BY l.{found} LIMIT 1) IS {not}NULL FROM t AS r"),
        ),
        4 => (
            format!("SELECT {names} FROM t AS r WHERE {not}EXISTS (SELECT 1 FROM {rows}"),
            format!(") AS l WHERE {condition})"),
        ),
        5 if !is_row(table, kept) => (
            format!("SELECT {names} FROM t AS r WHERE r.{kept} {not}IN (SELECT l.{found} FROM {rows}"),
            format!(") AS l WHERE {condition})"),
        ),
        6 => (
            format!("SELECT {names}, x_v FROM t AS r LEFT JOIN LATERAL (SELECT l.{found} AS x_v FROM {rows}"),
            format!(") AS l WHERE {condition} ORDER BY l.{found} LIMIT 2) AS x ON true"),
        ),
        _ => (
            format!("SELECT {names}, x_v FROM t AS r, LATERAL (SELECT count(l.{found}) AS x_v FROM {rows}"),
            format!(") AS l WHERE {condition} GROUP BY l.{kept}) AS x"),
        ),
    }
}

/// Two columns whose values both databases compare alike; CHAR is not, which only PostgreSQL pads.
fn equal_columns<'a>(table: &'a RandomTable, random: &mut StdRng) -> (&'a str, &'a str) {
    let compares = |column: &&RandomColumn| !matches!(column.ty, DataType::Char(_));
    let columns: Vec<&RandomColumn> = table.columns.iter().filter(compares).collect();
    let Some(one) = columns.choose(random) else {
        let name = &table.columns[0].name;
        return (name, name);
    };
    let same = columns.iter().filter(|column| column.ty == one.ty);
    let same: Vec<&&RandomColumn> = same.collect();
    let other = same.choose(random).map_or(&one.name, |column| &column.name);
    (&one.name, other)
}
