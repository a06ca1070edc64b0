//! Groups of columnar scans drawn at random: with numbered groups they have the results that hashing gives.
//!
//! A case draws a columnar table large enough for several threads, of columns with few values, NULLs among them, part of it beside its blocks; and
//! asks for aggregates by one to three of them, of all rows and of some.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::seed::Cases;

/// Cases of a usual run.
const CASES: u64 = 1;

/// Queries of a case.
const QUERIES: usize = 25;

/// Rows of a table: more than one thread reads.
const ROWS: u32 = 55_000;

/// Columns grouped by: their types, and what a row has of some number `x`.
const KEYS: [(&str, &str, &str); 10] = [
    ("flag", "CHAR(1)", "substr('ANR', CAST(x % 3 AS INTEGER) + 1, 1)"),
    ("word", "VARCHAR", "repeat('ab', CAST(x % 6 AS INTEGER))"),
    ("tiny", "SMALLINT", "x % 5 - 2"),
    ("number", "INTEGER", "x % 7 * 300000000 - 1000000000"),
    ("big", "BIGINT", "(x % 4 - 2) * 4611686018427387904"),
    ("day", "DATE", "DATE '1999-12-30' + CAST(x % 9 AS INTEGER)"),
    ("sign", "BOOLEAN", "x % 2 = 0"),
    (
        "at",
        "TIMESTAMP",
        "TIMESTAMP '1970-01-01 00:00:00' + (x % 3 - 1) * INTERVAL '1 second'",
    ),
    (
        "name",
        "UUID",
        "CAST('00000000-0000-0000-0000-00000000000' || CAST(x % 5 AS VARCHAR) AS UUID)",
    ),
    (
        "share",
        "DOUBLE PRECISION",
        "CASE WHEN x % 4 = 0 THEN CAST('NaN' AS DOUBLE PRECISION) WHEN x % 4 = 1 THEN -0.0 ELSE x % 3 END",
    ),
];

/// The aggregates of the groups.
const AGGREGATES: [&str; 33] = [
    "count(*)",
    "count(word)",
    "sum(tiny)",
    "sum(big)",
    "sum(price)",
    "sum(price * (1 - price / 1000000))",
    "sum(price * (1 - price))",
    "sum(price * (1 - price) * (1 + cost))",
    "avg(cost + price * 0.5)",
    "sum(cost * cost)",
    "sum(whole)",
    "avg(whole - cost)",
    "count(cost)",
    "avg(price)",
    "avg(number)",
    "min(word)",
    "max(flag)",
    "min(tiny)",
    "max(number)",
    "min(big)",
    "max(at)",
    "min(cost)",
    "max(whole)",
    "min(share)",
    "max(share)",
    "count(number)",
    "count(share)",
    "sum(number)",
    "max(price)",
    "min(day)",
    "max(huge)",
    "sum(huge)",
    "count(*) FILTER (WHERE tiny > 0)",
];

const CONDITIONS: [&str; 8] = [
    "true",
    "id < 40000",
    "tiny > 0",
    "word = 'ab' OR sign",
    "price < 100",
    "price BETWEEN 100 AND 101",
    "number IS NOT NULL",
    "id < 0",
];

fn table(random: &mut StdRng) -> Vec<String> {
    let columns: Vec<String> = KEYS.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    let values = KEYS.map(|(_, _, value)| {
        let (step, nulls) = (random.random_range(1..2000), random.random_range(2..40));
        let value = value.replace('x', &format!("(n / {step})"));
        format!("CASE WHEN n % {nulls} = 1 THEN NULL ELSE {value} END")
    });
    let (changed, gone) = (random.random_range(300..5000), random.random_range(2000..9000));
    vec![
        format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, {}, price DECIMAL(12,2), huge DECIMAL(38,0), cost DECIMAL(18,4), whole DECIMAL(18,0)) USING columnar",
            columns.join(", ")
        ),
        format!(
            "INSERT INTO t SELECT n, {}, CAST(n AS DECIMAL(12,2)) / 4,
             CASE WHEN n % 1000 = 0 THEN 10000000000000000000000000000000000000 ELSE n END,
             CASE WHEN n % 7 = 0 THEN NULL ELSE n * 1000003.0007 END, 999999999999999999 - n FROM generate_series(1, {ROWS}) AS s(n)",
            values.join(", ")
        ),
        "ALTER TABLE t REPACK".to_string(),
        format!("UPDATE t SET word = 'changed', tiny = NULL, price = -1 WHERE id % {changed} = 5"),
        format!("DELETE FROM t WHERE id % {gone} = 7"),
        "ANALYZE t".to_string(),
    ]
}

/// Draws so many of them, in any order, each once.
fn some(all: &[&'static str], count: usize, random: &mut StdRng) -> Vec<&'static str> {
    let mut left = all.to_vec();
    let mut draw = || left.swap_remove(random.random_range(0..left.len()));
    (0..count).map(|_| draw()).collect()
}

fn query(random: &mut StdRng) -> String {
    let count = random.random_range(1..4);
    let by = some(&KEYS.map(|(name, _, _)| name), count, random);
    let count = random.random_range(0..4);
    let calls = some(&AGGREGATES, count, random);
    let condition = CONDITIONS.choose(random).unwrap_or(&"true");
    let by = by.join(", ");
    let calls: String = calls.iter().map(|one| format!(", {one}")).collect();
    format!("SELECT {by}{calls} FROM t WHERE {condition} GROUP BY {by}")
}

/// The rows of a query in some order, or the SQLSTATE that it fails with.
fn ask(client: &mut Client, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let mut rows = client
        .query(sql)
        .map_err(|error| error.sqlstate.to_string())?
        .rows;
    rows.sort();
    Ok(rows)
}

#[test]
fn groups_by_numbers_are_the_groups() {
    let mut numbered = 0;
    for case in Cases::from_environment("groups", CASES).iter() {
        let mut random = case.random();
        let mut client = Client::in_memory();
        let script = table(&mut random);
        for statement in &script {
            client
                .run(statement)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        for _ in 0..QUERIES {
            let sql = query(&mut random);
            let plan = client.query(&format!("EXPLAIN {sql}")).unwrap();
            numbered += usize::from(format!("{:?}", plan.rows).contains("few groups"));
            let [on, off] = ["on", "off"].map(|setting| {
                client.run(&format!("SET enable_fewgroups = {setting}")).unwrap();
                ask(&mut client, &sql)
            });
            client.run("RESET enable_fewgroups").unwrap();
            assert_eq!(on, off, "{}\n{}\n{sql}", case.replay(), script.join(";\n"));
        }
    }
    // Several threads are needed, and groups that are not by floats.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(numbered > 0 || threads == 1);
}
