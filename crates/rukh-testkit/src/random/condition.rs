//! Random conditions, as trees that can be made smaller.

use std::fmt;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rukh_keys::DataType;

use super::schema::{RandomColumn, RandomTable};
use super::value::{Constant, constant, exact, stored};

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A test without parts.
    Test(Vec<Part>),
    /// All hold.
    And(Vec<Condition>),
    /// One holds.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

/// A piece of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// SQL.
    Sql(String),
    /// A constant, which may be given as a parameter.
    Constant(Constant),
}

impl Condition {
    /// Returns conditions that are smaller by one step: parts of this one, or this one without a
    /// part.
    pub fn smaller(&self) -> Vec<Condition> {
        match self {
            Condition::Test(_) => Vec::new(),
            Condition::Not(inner) => {
                let mut smaller = vec![(**inner).clone()];
                smaller.extend(
                    inner
                        .smaller()
                        .into_iter()
                        .map(|inner| Condition::Not(Box::new(inner))),
                );
                smaller
            }
            Condition::And(arms) => smaller_arms(arms, Condition::And),
            Condition::Or(arms) => smaller_arms(arms, Condition::Or),
        }
    }

    /// Writes the condition with parameters in place of constants, which are added to `constants`.
    pub fn with_parameters(&self, constants: &mut Vec<Constant>) -> String {
        match self {
            Condition::Test(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Sql(sql) => sql.clone(),
                    Part::Constant(constant) => {
                        constants.push(constant.clone());
                        format!("${}", constants.len())
                    }
                })
                .collect(),
            Condition::And(arms) => joined(arms, " AND ", |arm| arm.with_parameters(constants)),
            Condition::Or(arms) => joined(arms, " OR ", |arm| arm.with_parameters(constants)),
            Condition::Not(inner) => format!("NOT ({})", inner.with_parameters(constants)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Test(parts) => parts.iter().try_for_each(|part| match part {
                Part::Sql(sql) => f.write_str(sql),
                Part::Constant(constant) => f.write_str(&constant.sql),
            }),
            Condition::And(arms) => f.write_str(&joined(arms, " AND ", Condition::to_string)),
            Condition::Or(arms) => f.write_str(&joined(arms, " OR ", Condition::to_string)),
            Condition::Not(inner) => write!(f, "NOT ({inner})"),
        }
    }
}

fn joined(arms: &[Condition], word: &str, mut write: impl FnMut(&Condition) -> String) -> String {
    arms.iter()
        .map(|arm| format!("({})", write(arm)))
        .collect::<Vec<_>>()
        .join(word)
}

fn smaller_arms(arms: &[Condition], make: fn(Vec<Condition>) -> Condition) -> Vec<Condition> {
    let mut smaller: Vec<Condition> = arms.to_vec();
    if arms.len() > 2 {
        smaller.extend((0..arms.len()).map(|place| {
            let mut rest = arms.to_vec();
            rest.remove(place);
            make(rest)
        }));
    }
    for (place, arm) in arms.iter().enumerate() {
        smaller.extend(arm.smaller().into_iter().map(|arm| {
            let mut arms = arms.to_vec();
            arms[place] = arm;
            make(arms)
        }));
    }
    smaller
}

/// Draws a condition on the table's columns, up to three levels deep.
pub fn condition(table: &RandomTable, random: &mut StdRng) -> Condition {
    tree(table, 3, random)
}

fn tree(table: &RandomTable, depth: usize, random: &mut StdRng) -> Condition {
    let arms = |random: &mut StdRng| {
        (0..random.random_range(2..=3))
            .map(|_| tree(table, depth - 1, random))
            .collect::<Vec<_>>()
    };
    match random.random_range(0..10) {
        0..=2 if depth > 0 => Condition::And(arms(random)),
        3..=4 if depth > 0 => Condition::Or(arms(random)),
        5 if depth > 0 => Condition::Not(Box::new(tree(table, depth - 1, random))),
        _ => test(table, random),
    }
}

/// Draws a condition without functions or other columns, as partial indexes have.
pub fn simple_condition(table: &RandomTable, random: &mut StdRng) -> Condition {
    let column = table.columns.choose(random).expect("a table has columns");
    match random.random_range(0..3) {
        0 if column.nullable => sql_test(format!("{} IS NOT NULL", column.name)),
        1 => comparison(column, random),
        _ => Condition::Test(vec![
            Part::Sql(format!("{} {} ", column.name, operator(random))),
            Part::Constant(stored(&column.ty, random)),
        ]),
    }
}

fn test(table: &RandomTable, random: &mut StdRng) -> Condition {
    let column = table.columns.choose(random).expect("a table has columns");
    match random.random_range(0..21) {
        0..=7 => comparison(column, random),
        8..=9 => in_list(column, random),
        10..=11 => between(column, random),
        12 => null_test(column, random),
        13 => row_comparison(table, random),
        14 => row_between(table, random),
        15 => row_in(table, random),
        16 => two_columns(table, column, random),
        17 => distinct(column, random),
        18 if is_number(&column.ty) => beyond_domain(column, random),
        _ => by_type(column, random),
    }
}

fn operator(random: &mut StdRng) -> &'static str {
    ["=", "=", "=", "<>", "<", "<=", ">", ">="]
        .choose(random)
        .expect("there are operators")
}

fn comparison(column: &RandomColumn, random: &mut StdRng) -> Condition {
    let constant = match random.random_bool(0.03) {
        true => Constant::null(column.ty),
        false => constant(&column.ty, random),
    };
    let (name, operator) = (&column.name, operator(random));
    match random.random_bool(0.15) {
        true => Condition::Test(vec![
            Part::Constant(constant),
            Part::Sql(format!(" {operator} {name}")),
        ]),
        false => Condition::Test(vec![
            Part::Sql(format!("{name} {operator} ")),
            Part::Constant(constant),
        ]),
    }
}

fn in_list(column: &RandomColumn, random: &mut StdRng) -> Condition {
    let not = if random.random_bool(0.2) { "NOT " } else { "" };
    let mut parts = vec![Part::Sql(format!("{} {not}IN (", column.name))];
    for place in 0..random.random_range(1..=5) {
        if place > 0 {
            parts.push(Part::Sql(", ".to_owned()));
        }
        parts.push(Part::Constant(match random.random_bool(0.04) {
            true => Constant::null(column.ty),
            false => exact(&column.ty, random),
        }));
    }
    parts.push(Part::Sql(")".to_owned()));
    Condition::Test(parts)
}

fn between(column: &RandomColumn, random: &mut StdRng) -> Condition {
    let not = if random.random_bool(0.15) { "NOT " } else { "" };
    Condition::Test(vec![
        Part::Sql(format!("{} {not}BETWEEN ", column.name)),
        Part::Constant(constant(&column.ty, random)),
        Part::Sql(" AND ".to_owned()),
        Part::Constant(constant(&column.ty, random)),
    ])
}

/// Whether PostgreSQL compares values of a type with any number: it reads one beside a REAL as a REAL.
fn is_number(ty: &DataType) -> bool {
    ty.is_integer() || ty.is_decimal() || *ty == DataType::Double
}

/// Numbers that some or all types of numbers do not hold: too great, or with too many digits behind the point.
const BEYOND: [&str; 12] = [
    "128",
    "-32769",
    "2147483648",
    "-9223372036854775809",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    "-123456789012345678901234567890.5",
    "10000000000000000000000000000000000000000",
    "-1e40",
    "1e-45",
    "0.99999999999999999999999999999999999999999999999999",
    "-0.00000000000000000000000000000000000000000000000001",
];

/// Compares with numbers that the column's type does not hold.
fn beyond_domain(column: &RandomColumn, random: &mut StdRng) -> Condition {
    let mut number = || *BEYOND.choose(random).expect("there are numbers");
    let (one, other) = (number(), number());
    let name = &column.name;
    let not = if random.random_bool(0.3) { "NOT " } else { "" };
    match random.random_range(0..5) {
        0 | 1 => sql_test(format!("{name} {} {one}", operator(random))),
        2 => Condition::Test(vec![
            Part::Sql(format!("{name} {not}IN ({one}, ")),
            Part::Constant(exact(&column.ty, random)),
            Part::Sql(format!(", {other})")),
        ]),
        3 => Condition::Test(vec![
            Part::Sql(format!("{name} {not}BETWEEN {one} AND ")),
            Part::Constant(constant(&column.ty, random)),
        ]),
        _ => sql_test(format!("{name} {not}BETWEEN {one} AND {other}")),
    }
}

fn null_test(column: &RandomColumn, random: &mut StdRng) -> Condition {
    sql_test(format!(
        "{} IS {}NULL",
        column.name,
        if random.random_bool(0.5) { "NOT " } else { "" }
    ))
}

fn distinct(column: &RandomColumn, random: &mut StdRng) -> Condition {
    let not = if random.random_bool(0.5) { "NOT " } else { "" };
    Condition::Test(vec![
        Part::Sql(format!("{} IS {not}DISTINCT FROM ", column.name)),
        Part::Constant(exact(&column.ty, random)),
    ])
}

/// Two or three columns, mostly in the order of the key.
fn some_columns<'a>(table: &'a RandomTable, random: &mut StdRng) -> Vec<&'a RandomColumn> {
    let mut places: Vec<usize> = table.key.iter().map(|element| element.column).collect();
    places.dedup();
    if random.random_bool(0.3) || places.len() < 2 {
        places = table.all_columns();
        places.shuffle(random);
    }
    let size = random.random_range(2..=3).min(places.len());
    places[..size]
        .iter()
        .map(|place| &table.columns[*place])
        .collect()
}

fn row_comparison(table: &RandomTable, random: &mut StdRng) -> Condition {
    let columns = some_columns(table, random);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut parts = vec![Part::Sql(format!("({}) {} ", names.join(", "), operator(random)))];
    parts.extend(row_of_constants(&columns, random));
    Condition::Test(parts)
}

fn row_between(table: &RandomTable, random: &mut StdRng) -> Condition {
    let columns = some_columns(table, random);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let not = if random.random_bool(0.3) { "NOT " } else { "" };
    let symmetric = if random.random_bool(0.3) { "SYMMETRIC " } else { "" };
    let mut parts = vec![Part::Sql(format!(
        "({}) {not}BETWEEN {symmetric}",
        names.join(", ")
    ))];
    parts.extend(row_of_constants(&columns, random));
    parts.push(Part::Sql(" AND ".to_owned()));
    parts.extend(row_of_constants(&columns, random));
    Condition::Test(parts)
}

fn row_in(table: &RandomTable, random: &mut StdRng) -> Condition {
    let columns = some_columns(table, random);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut parts = vec![Part::Sql(format!("({}) IN (", names.join(", ")))];
    for place in 0..random.random_range(1..=3) {
        if place > 0 {
            parts.push(Part::Sql(", ".to_owned()));
        }
        parts.extend(row_of_constants(&columns, random));
    }
    parts.push(Part::Sql(")".to_owned()));
    Condition::Test(parts)
}

/// `(1, 'a')`. A row of one column is written without parentheses' meaning: `(1)`.
fn row_of_constants(columns: &[&RandomColumn], random: &mut StdRng) -> Vec<Part> {
    let mut parts = vec![Part::Sql("(".to_owned())];
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            parts.push(Part::Sql(", ".to_owned()));
        }
        parts.push(Part::Constant(exact(&column.ty, random)));
    }
    parts.push(Part::Sql(")".to_owned()));
    parts
}

fn two_columns(table: &RandomTable, column: &RandomColumn, random: &mut StdRng) -> Condition {
    let same: Vec<&RandomColumn> = table
        .columns
        .iter()
        .filter(|other| other.ty == column.ty && other.name != column.name)
        .collect();
    match same.choose(random) {
        Some(other) => sql_test(format!("{} {} {}", column.name, operator(random), other.name)),
        None => comparison(column, random),
    }
}

/// A test that only columns of this type have: functions, LIKE, flags.
fn by_type(column: &RandomColumn, random: &mut StdRng) -> Condition {
    let name = &column.name;
    let operator = operator(random);
    let choices: Vec<String> = match &column.ty {
        DataType::Boolean => ["", "NOT ", " IS TRUE", " IS NOT FALSE", " IS NOT TRUE"]
            .map(|word| around(word, name))
            .to_vec(),
        DataType::TinyInt | DataType::SmallInt | DataType::Integer => vec![
            format!("CAST({name} AS BIGINT) + 1 {operator} 2"),
            format!("2 - CAST({name} AS BIGINT) {operator} 1"),
            format!("{name} % 3 = 1"),
            format!("CAST({name} AS BIGINT) {operator} 0"),
            format!("{name} * {} {operator} 0", random.random_range(0..=1)),
            format!("CAST({name} AS BIGINT) * -1 {operator} 1"),
            format!("0 - CAST({name} AS BIGINT) * 0 {operator} 0"),
            format!("{name} * 0 IS NOT NULL"),
            format!("{name} / 2 {operator} 0"),
        ],
        DataType::BigInt | DataType::Decimal { .. } | DataType::Numeric { .. } => vec![
            format!("{name} * {} {operator} 0", random.random_range(0..=1)),
            format!("{name} * 0 IS NULL"),
            format!("{name} + 0 {operator} 1"),
            format!("{name} / 2 {operator} 1"),
        ],
        DataType::Real | DataType::Double => vec![
            format!("{name} * {} {operator} 0", random.random_range(-1..=1)),
            format!("{name} * 0 IS NULL"),
            format!("{name} / 2 {operator} 1"),
        ],
        ty @ (DataType::Timestamp { .. } | DataType::TimestampTz { .. }) => vec![
            format!("CAST({name} AS DATE) {operator} DATE '2012-01-01'"),
            format!("date_trunc('day', {name}) {operator} '2012-01-01 00:00:00'"),
            format!("date_trunc('hour', {name}) {operator} '2012-01-01 01:00:00'"),
            format!("date_trunc('day', {name}) = '2012-01-01 01:00:00'"),
            match ty {
                DataType::TimestampTz { .. } => format!("extract(year FROM {name}) {operator} 2012"),
                _ => format!("isfinite({name}) OR extract(month FROM {name}) IS NOT NULL"),
            },
            format!("{name} + interval '1 month' {operator} '2012-01-31 23:59:59.999999'"),
        ],
        DataType::Date => vec![
            format!("extract(month FROM {name}) = 1"),
            format!("date_trunc('month', {name}) {operator} '2012-01-01 00:00:00'"),
            format!("{name} {operator} '2012-01-02'"),
        ],
        DataType::Varchar(_) => text_tests(name, operator, random),
        _ => return comparison(column, random),
    };
    sql_test(choices.choose(random).expect("there are choices").clone())
}

fn around(word: &str, name: &str) -> String {
    match word.starts_with(' ') {
        true => format!("{name}{word}"),
        false => format!("{word}{name}"),
    }
}

fn text_tests(name: &str, operator: &str, random: &mut StdRng) -> Vec<String> {
    const PATTERNS: [&str; 12] = [
        "a%",
        "%",
        "a_",
        "_",
        "%b",
        "a\\%%",
        "",
        "00%",
        "002_",
        "é%",
        "\u{10ffff}%",
        "a%b",
    ];
    let pattern = PATTERNS.choose(random).expect("there are patterns");
    vec![
        format!("{name} LIKE '{pattern}'"),
        format!("{name} LIKE '{pattern}'"),
        format!("{name} NOT LIKE '{pattern}'"),
        format!("{name} ILIKE '{pattern}'"),
        format!("starts_with({name}, 'a')"),
        format!("substr({name}, 1, 2) {operator} 'ab'"),
        format!("lower({name}) = 'a'"),
        format!("length({name}) {operator} 2"),
        format!("{name} || 'x' {operator} 'ax'"),
        format!("coalesce({name}, 'a') {operator} 'a'"),
    ]
}

fn sql_test(sql: String) -> Condition {
    Condition::Test(vec![Part::Sql(sql)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_get_smaller() {
        let leaf = |sql: &str| sql_test(sql.to_owned());
        let both = Condition::And(vec![leaf("a"), Condition::Not(Box::new(leaf("b")))]);
        let smaller: Vec<String> = both.smaller().iter().map(Condition::to_string).collect();
        assert_eq!(smaller, ["a", "NOT (b)", "(a) AND (b)"]);
    }
}
