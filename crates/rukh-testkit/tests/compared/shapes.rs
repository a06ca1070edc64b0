//! Queries of shapes that DataFusion takes in another sense than PostgreSQL, drawn at random: the rows are PostgreSQL's.
//!
//! A case draws three small tables with NULLs and equal rows, and asks queries of six shapes: windows with names that
//! take from one another and have frames; set operations with and without ALL within one another; rows as a whole over
//! outer joins; arithmetic on what ranks and counts; subqueries in an order, with LIMIT, aggregates and windows around them;
//! what ORDER BY, GROUP BY and DISTINCT ON name.
//!
//! A subquery orders by all that distinguishes its rows, so that there is one right answer, also where nothing else orders.
//! PostgreSQL loses that order in groups for which it sorts, as its sort shuffles equal rows: it is set to hash instead.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres::{self, PostgresDatabase};
use rukh_testkit::seed::{Case, Cases};

mod positions;

/// Cases of a usual run.
const CASES: u64 = 20;

/// Queries of each shape in a case.
const QUERIES: usize = 12;

/// Failures that end a run.
const FAILURES_MAX: usize = 5;

/// Names of the tables.
const TABLES: [&str; 3] = ["r", "s", "u"];

/// A query, and whether its rows come in one order.
type Shape = (String, bool);

#[test]
fn shapes_that_planners_read_otherwise_give_the_rows_of_postgres() {
    let name = "shapes_that_planners_read_otherwise_give_the_rows_of_postgres";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    postgres
        .execute("SET enable_sort = off")
        .expect("PostgreSQL has this setting");
    let mut failures: Vec<String> = Vec::new();
    for case in Cases::from_environment("shapes", CASES).iter() {
        if let Err(failure) = run(case, &mut postgres, &mut failures) {
            panic!("{}\n{failure}", case.replay());
        }
        if failures.len() >= FAILURES_MAX {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn run(case: Case, postgres: &mut PostgresDatabase, failures: &mut Vec<String>) -> Result<(), String> {
    let mut random = case.random();
    let mut rukh = Client::in_memory();
    let script: Vec<String> = TABLES.iter().flat_map(|name| table(name, &mut random)).collect();
    for name in TABLES {
        let sql = format!("DROP TABLE IF EXISTS {name}");
        postgres.execute(&sql).map_err(|error| error.to_string())?;
    }
    for sql in &script {
        rukh.run(sql).map_err(|error| format!("{sql}: {error}"))?;
        postgres
            .execute(sql)
            .map_err(|error| format!("PostgreSQL: {sql}: {error}"))?;
    }
    let shapes = [
        named_windows,
        set_operations,
        whole_rows,
        ranks,
        inner_orders,
        positions::positions,
    ];
    for shape in shapes {
        for _ in 0..QUERIES {
            let query = shape(&mut random);
            if let Err(why) = compare(&mut rukh, postgres, &query) {
                let script = script.join(";\n");
                failures.push(format!("{}\n{script};\n{};\n{why}", case.replay(), query.0));
            }
        }
    }
    Ok(())
}

/// Both give the same rows, or refuse for the same reason; for any, if the shape has several that may be found in any order.
fn compare(rukh: &mut Client, postgres: &mut PostgresDatabase, shape: &Shape) -> Result<(), String> {
    let (sql, ordered) = shape;
    let is_of_positions = sql.contains(positions::MARK);
    match (rukh.query(sql), postgres.query(sql)) {
        (Ok(rows), Ok(expected)) => rows.same_rows(expected, *ordered),
        (Err(error), Err(expected)) if error.sqlstate == expected.sqlstate || is_of_positions => Ok(()),
        (Err(error), expected) => Err(format!(
            "{}: {error}, where PostgreSQL has {:?}",
            error.sqlstate,
            expected.map(|rows| rows.rows)
        )),
        // An order by expressions of output columns has one sense, too, and so do columns that are the same.
        (Ok(_), Err(expected)) if is_of_positions && expected.message.contains("SELECT DISTINCT") => Ok(()),
        (Ok(rows), Err(expected)) => Err(format!("{:?}, where PostgreSQL fails: {expected}", rows.rows)),
    }
}

/// A table of few values, so that equal ones meet.
fn table(name: &str, random: &mut StdRng) -> Vec<String> {
    let create = format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c TEXT)");
    let rows: Vec<String> = (1..=random.random_range(0..14))
        .map(|id| {
            let (a, b) = (number_or_null(3, random), number_or_null(5, random));
            let c = one_of(&["'x'", "'y'", "'z'", "NULL"], random);
            format!("({id}, {a}, {b}, {c})")
        })
        .collect();
    match rows.is_empty() {
        true => vec![create],
        false => vec![create, format!("INSERT INTO {name} VALUES {}", rows.join(", "))],
    }
}

fn number_or_null(below: i32, random: &mut StdRng) -> String {
    match random.random_bool(0.2) {
        true => "NULL".to_owned(),
        false => random.random_range(0..below).to_string(),
    }
}

fn one_of(all: &[&'static str], random: &mut StdRng) -> &'static str {
    all.choose(random).expect("there is something to choose from")
}

/// An order that no two rows of a table share.
fn total_order(random: &mut StdRng) -> String {
    let first = one_of(&["a", "b", "c", "-b", "a + b"], random);
    let direction = one_of(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"], random);
    let last = one_of(&["id", "id DESC"], random);
    match random.random_bool(0.8) {
        true => format!("{first}{direction}, {last}"),
        false => last.to_owned(),
    }
}

/// A frame. One of rows distinguishes equal rows, and stands in windows only whose order does.
fn frame(is_total: bool, random: &mut StdRng) -> String {
    let start = one_of(&["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW"], random);
    let end = one_of(&["CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"], random);
    let units = match is_total {
        true => one_of(&["ROWS", "ROWS", "RANGE", "GROUPS"], random),
        false => one_of(&["RANGE", "GROUPS"], random),
    };
    format!("{units} BETWEEN {start} AND {end}")
}

/// What a window adds to another one, right or not, and whether no two rows are equal in its order.
fn addition(is_total: bool, random: &mut StdRng) -> (String, bool) {
    match random.random_range(0..7) {
        0 | 1 => (String::new(), is_total),
        2 => (" ORDER BY b".to_owned(), false),
        3 => (" ORDER BY id DESC".to_owned(), true),
        4 => (" PARTITION BY c".to_owned(), is_total),
        5 => (format!(" ORDER BY id {}", frame(true, random)), true),
        _ => (format!(" {}", frame(is_total, random)), is_total),
    }
}

/// `WINDOW w AS (…), v AS (w …)`, and functions over them.
fn named_windows(random: &mut StdRng) -> Shape {
    let mut first = String::new();
    if random.random_bool(0.7) {
        first += one_of(&["PARTITION BY a", "PARTITION BY c", "PARTITION BY a, c"], random);
    }
    let order = one_of(
        &["", "", " ORDER BY id", " ORDER BY b", " ORDER BY b, id"],
        random,
    );
    first += order;
    let is_total = order.ends_with("id");
    if random.random_bool(0.15) {
        first += &format!(" {}", frame(is_total, random));
    }
    let (second, is_second_total) = addition(is_total, random);
    let mut items = Vec::new();
    for _ in 0..random.random_range(1..=3) {
        let function = one_of(&["sum(b)", "count(*)", "min(id)", "count(c)"], random);
        let name = one_of(&["w", "w", "v"], random);
        let is_total = if name == "w" { is_total } else { is_second_total };
        let over = match random.random_bool(0.4) {
            true => name.to_owned(),
            false => format!("({name}{})", addition(is_total, random).0),
        };
        items.push(format!("{function} OVER {over}"));
    }
    let table = one_of(&TABLES, random);
    let order = one_of(&["id", "id", "sum(id) OVER w, id"], random);
    let sql = format!(
        "SELECT id, {} FROM {table} WINDOW w AS ({first}), v AS (w{second}) ORDER BY {order}",
        items.join(", ")
    );
    (sql, true)
}

/// Set operations within one another.
fn set_operations(random: &mut StdRng) -> Shape {
    let columns = one_of(&["a", "a, b", "a, c", "c", "b::bigint, c"], random);
    let set = set(columns, 3, random);
    match random.random_range(0..4) {
        0 => (format!("SELECT count(*) FROM ({set}) AS q"), false),
        1 => (format!("{set} ORDER BY {} LIMIT 4", places(columns)), true),
        2 => (
            format!("WITH q AS ({set}) SELECT * FROM q UNION ALL SELECT * FROM q"),
            false,
        ),
        _ => (set, false),
    }
}

fn places(columns: &str) -> &'static str {
    match columns.contains(',') {
        true => "1, 2",
        false => "1",
    }
}

fn set(columns: &str, depth: usize, random: &mut StdRng) -> String {
    if depth == 0 || random.random_bool(0.25) {
        let distinct = one_of(&["", "", "DISTINCT "], random);
        let condition = one_of(&["", "", " WHERE id < 6", " WHERE b > 0"], random);
        return format!(
            "SELECT {distinct}{columns} FROM {}{condition}",
            one_of(&TABLES, random)
        );
    }
    let (left, right) = (set(columns, depth - 1, random), set(columns, depth - 1, random));
    let operation = one_of(&["UNION", "EXCEPT", "INTERSECT"], random);
    let all = one_of(&[" ALL", " ALL", ""], random);
    match random.random_range(0..3) {
        0 => format!("{left} {operation}{all} {right}"),
        1 => format!("({left}) {operation}{all} ({right})"),
        _ => format!("{left} {operation}{all} ({right})"),
    }
}

/// A relation of FROM under a name.
fn relation(name: &str, random: &mut StdRng) -> String {
    let table = one_of(&TABLES, random);
    match random.random_range(0..4) {
        0 => format!("(SELECT a, b FROM {table}) AS {name}"),
        1 => format!("(SELECT NULL::integer AS a, NULL::integer AS b FROM {table} WHERE id < 3) AS {name}"),
        _ => format!("{table} AS {name}"),
    }
}

/// Rows as a whole, of relations that outer joins make up rows of.
fn whole_rows(random: &mut StdRng) -> Shape {
    let join = |random: &mut StdRng| one_of(&["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN"], random);
    let (x, y, z) = (
        relation("x", random),
        relation("y", random),
        relation("z", random),
    );
    let (one, other) = (join(random), join(random));
    let from = match random.random_range(0..4) {
        0 => format!("{x} {one} ({y} {other} {z} ON y.a = z.a) ON x.a = y.a"),
        1 => format!("{x} {one} {y} USING (a)"),
        2 => format!("{x} {one} {y} ON x.a = y.a"),
        _ => format!("{x} {one} {y} ON x.a = y.a {other} {z} ON y.b = z.b"),
    };
    let names: &[&'static str] = match from.contains(" AS z") {
        true => &["x", "y", "z"],
        false => &["x", "y"],
    };
    let (one, other) = (one_of(names, random), one_of(names, random));
    let sql = match random.random_range(0..5) {
        0 => format!("SELECT count({one}.*), count({other}), count(*) FROM {from}"),
        1 => format!("SELECT x.b, count({one}.*) FROM {from} GROUP BY x.b HAVING count({other}) < 4"),
        2 => format!("SELECT x.b, y.b, {one} IS NULL, {other} IS NOT NULL FROM {from}"),
        3 => format!("SELECT {one}.b, y.* FROM {from} WHERE {other} IS NULL"),
        _ => format!("SELECT row_to_json({one}), count({other}) OVER () FROM {from}"),
    };
    (sql, false)
}

/// Arithmetic on what ranks and counts.
fn ranks(random: &mut StdRng) -> Shape {
    let mut items = Vec::new();
    for _ in 0..random.random_range(1..=4) {
        let function = one_of(
            &[
                "row_number()",
                "rank()",
                "dense_rank()",
                "ntile(3)",
                "count(*)",
                "count(b)",
            ],
            random,
        );
        let tells_equals_apart = function.starts_with("row_number") || function.starts_with("ntile");
        let over = match tells_equals_apart {
            true => "OVER (PARTITION BY c ORDER BY id)",
            false => one_of(
                &[
                    "OVER (PARTITION BY a ORDER BY b)",
                    "OVER (ORDER BY a)",
                    "OVER (ORDER BY id)",
                ],
                random,
            ),
        };
        let call = format!("{function} {over}");
        items.push(match random.random_range(0..8) {
            0 => format!("{call} - 5"),
            1 => format!("1 - {call}"),
            2 => format!("100 * {call}"),
            3 => format!("-{call} % 3"),
            4 => format!("({call}) / 2 + coalesce(b, 0)"),
            5 => format!("abs({call} - id)"),
            6 => format!("CASE WHEN {call} - 2 < 0 THEN {call} ELSE b END"),
            _ => format!("{call} - count(*) OVER ()"),
        });
    }
    let table = one_of(&TABLES, random);
    (
        format!("SELECT id, {} FROM {table} ORDER BY id", items.join(", ")),
        true,
    )
}

/// What a query makes of the rows of a subquery that has an order.
fn inner_orders(random: &mut StdRng) -> Shape {
    let table = one_of(&TABLES, random);
    let order = total_order(random);
    let condition = one_of(&["", " WHERE id > 2", " WHERE b IS NOT NULL"], random);
    let limit = one_of(&["", "", " LIMIT 7"], random);
    let columns = one_of(&["*", "id, a, b, c", "id, b, c, a"], random);
    let mut ordered = format!("SELECT {columns} FROM {table}{condition} ORDER BY {order}{limit}");
    for _ in 0..random.random_range(0..3) {
        ordered = match random.random_range(0..3) {
            0 => format!("SELECT id, a, b, c FROM ({ordered}) AS q WHERE id <> 4"),
            1 => format!("SELECT a, id, c, b FROM ({ordered}) AS q"),
            _ => format!("SELECT * FROM ({ordered}) AS q LIMIT 9"),
        };
    }
    let (number, skipped) = (random.random_range(0..6), random.random_range(0..3));
    let other = total_order(random);
    match random.random_range(0..13) {
        0 => (format!("SELECT id FROM ({ordered}) AS x LIMIT {number}"), true),
        1 => (
            format!("SELECT b, c FROM ({ordered}) AS x OFFSET {skipped} LIMIT {number}"),
            true,
        ),
        2 => (format!("SELECT upper(c), id + 1 FROM ({ordered}) AS x"), true),
        3 => (
            format!("SELECT array_agg(id), string_agg(c, ','), count(b) FROM ({ordered}) AS x"),
            true,
        ),
        4 => (
            format!("SELECT a, array_agg(id), string_agg(c, '') FROM ({ordered}) AS x GROUP BY a"),
            false,
        ),
        5 => (
            format!("SELECT id, row_number() OVER (), lag(id) OVER () FROM ({ordered}) AS x"),
            true,
        ),
        6 => (
            format!(
                "SELECT id, sum(b) OVER (ROWS 1 PRECEDING), first_value(c) OVER () FROM ({ordered}) AS x"
            ),
            true,
        ),
        7 => (
            format!("WITH x AS ({ordered}) SELECT array_agg(id) FILTER (WHERE id % 2 = 1) FROM x"),
            true,
        ),
        // Its rows in another order: which they are does not change by that.
        8 => (
            format!("SELECT id, a, b, c FROM ({ordered}) AS x ORDER BY {other}"),
            true,
        ),
        9 => (
            format!("SELECT id, a, b, c FROM ({ordered}) AS x ORDER BY {other} LIMIT {number}"),
            true,
        ),
        10 => (
            format!(
                "SELECT id, b FROM ({ordered}) AS x UNION ALL SELECT id, b FROM {table} ORDER BY 1 DESC, 2"
            ),
            true,
        ),
        11 => (
            format!("SELECT x.id, y.c FROM ({ordered}) AS x JOIN {table} y USING (id) ORDER BY x.id DESC"),
            true,
        ),
        _ => (
            format!(
                "SELECT id FROM ({ordered}) AS x UNION ALL SELECT -id FROM ({ordered}) AS y LIMIT {number}"
            ),
            true,
        ),
    }
}
