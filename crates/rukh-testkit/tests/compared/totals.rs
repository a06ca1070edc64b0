//! Totals of columnar tables drawn at random: read from heads of blocks, they are those of all rows.
//!
//! A case draws a columnar table large enough for several threads and blocks, of columns with NULLs, long texts and short ones, with TTL or without, part of it
//! beside its blocks; and asks for counts, least and greatest values of rows by conditions that whole blocks fulfil, by now and as a
//! transaction sees them that began before the last changes.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::seed::Cases;

/// Cases of a usual run.
const CASES: u64 = 2;

/// Queries of a case.
const QUERIES: usize = 40;

/// Rows of a table: more than one thread reads.
const ROWS: u32 = 55_000;

/// Columns: their types, and what a row has of its number `x`.
const COLUMNS: [(&str, &str, &str); 9] = [
    ("tiny", "SMALLINT", "CAST(x % 500 AS SMALLINT)"),
    ("big", "BIGINT", "(x % 4001 - 2000) * 4611686018427387"),
    ("word", "VARCHAR", "'w' || CAST(x % 9000 AS VARCHAR)"),
    (
        "line",
        "VARCHAR",
        "repeat('long ', CAST(x / 9000 * 2 AS INTEGER)) || CAST(x AS VARCHAR)",
    ),
    ("flag", "CHAR(3)", "substr('ANR', CAST(x % 3 AS INTEGER) + 1, 1)"),
    ("day", "DATE", "DATE '1999-12-30' + CAST(x / 20 AS INTEGER)"),
    ("sign", "BOOLEAN", "x % 2 = 0"),
    ("price", "DECIMAL(12,2)", "CAST(x AS DECIMAL(12,2)) / 4"),
    (
        "share",
        "DOUBLE PRECISION",
        "CASE WHEN x % 4000 = 1 THEN CAST('NaN' AS DOUBLE PRECISION) WHEN x % 4 = 1 THEN -0.0 ELSE x - 20000.5 END",
    ),
];

const CONDITIONS: [&str; 9] = [
    "true",
    "id < 40000",
    "id BETWEEN 9000 AND 30000 AND tiny >= 0",
    "day >= DATE '2001-01-01'",
    "price IS NOT NULL",
    "big IS NULL OR big < 0",
    "word >= 'w' AND tiny <= 499",
    "sign AND id > 20000",
    "id < 0",
];

fn table(random: &mut StdRng, timed: bool) -> Vec<String> {
    let columns: Vec<String> = COLUMNS
        .iter()
        .map(|(name, ty, _)| format!("{name} {ty}"))
        .collect();
    let values = COLUMNS.map(|(_, _, value)| {
        // None, some, or all of whole blocks.
        let nulls = [
            "false",
            "n % 17 = 3",
            "n BETWEEN 9000 AND 28000",
            "n > 30000 AND n % 40 < 39",
        ];
        let null = nulls.choose(random).unwrap_or(&"false");
        format!("CASE WHEN {null} THEN NULL ELSE {} END", value.replace('x', "n"))
    });
    let ttl = if timed { " TTL = '10 minutes'" } else { "" };
    let load = |from: u32, to: u32| {
        let values = values.join(", ");
        format!("INSERT INTO t SELECT n, {values} FROM generate_series({from}, {to}) AS s(n)")
    };
    vec![
        format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, {}) USING columnar{ttl}",
            columns.join(", ")
        ),
        "CLOCK 2024-05-01 00:00:00".to_string(),
        load(1, ROWS / 3),
        "CLOCK 2024-05-01 00:05:00".to_string(),
        load(ROWS / 3 + 1, ROWS),
        "ALTER TABLE t REPACK".to_string(),
        "ALTER TABLE t ADD COLUMN late INTEGER DEFAULT 7".to_string(),
        "ANALYZE t".to_string(),
    ]
}

/// Changes, which stay beside the blocks.
fn changes(random: &mut StdRng) -> Vec<String> {
    let (first, step) = (random.random_range(1..ROWS), random.random_range(500..9000));
    vec![
        format!(
            "UPDATE t SET word = 'a', tiny = -1, price = NULL, share = -1e9, late = NULL WHERE id % {step} = 5"
        ),
        format!("DELETE FROM t WHERE id BETWEEN {first} AND {first} + 300"),
        format!(
            "INSERT INTO t (id, tiny, word, late) SELECT n, 1, 'new', n FROM generate_series({ROWS} + 1, {ROWS} + 2000) AS s(n)"
        ),
    ]
}

fn query(random: &mut StdRng) -> String {
    let names: Vec<&str> = COLUMNS
        .iter()
        .map(|(name, ..)| *name)
        .chain(["id", "late", "*"])
        .collect();
    let mut calls = Vec::new();
    for _ in 0..random.random_range(1..6) {
        let name = names.choose(random).unwrap_or(&"*");
        let function = if *name == "*" {
            "count"
        } else {
            ["count", "min", "max"].choose(random).unwrap_or(&"min")
        };
        calls.push(format!("{function}({name})"));
    }
    let condition = CONDITIONS.choose(random).unwrap_or(&"true");
    format!("SELECT {} FROM t WHERE {condition}", calls.join(", "))
}

#[test]
fn totals_of_heads_are_those_of_all_rows() {
    let mut by_heads = 0;
    for case in Cases::from_environment("totals", CASES).iter() {
        let mut random = case.random();
        let mut client = Client::in_memory();
        let timed = random.random();
        let script = table(&mut random, timed);
        let run = |client: &mut Client, statement: &str| match statement.strip_prefix("CLOCK ") {
            Some(time) => client.set_clock(time),
            None => drop(
                client
                    .run(statement)
                    .unwrap_or_else(|error| panic!("{statement}: {error}")),
            ),
        };
        script.iter().for_each(|statement| run(&mut client, statement));
        let mut old = client.another();
        old.run("BEGIN").unwrap();
        old.query("SELECT count(*) FROM t").unwrap();
        let changes = changes(&mut random);
        // Those of the first third have died, if any die.
        run(&mut client, "CLOCK 2024-05-01 00:12:00");
        changes.iter().for_each(|statement| run(&mut client, statement));
        for _ in 0..QUERIES {
            let sql = query(&mut random);
            for client in [&mut client, &mut old] {
                let [on, off] = ["on", "off"].map(|setting| {
                    client
                        .run(&format!("SET enable_blocktotals = {setting}"))
                        .unwrap();
                    let rows = client.query(&sql).map_err(|error| error.sqlstate.to_string());
                    (
                        rows.map(|rows| rows.rows),
                        client.query(&format!("EXPLAIN ANALYZE {sql}")).unwrap(),
                    )
                });
                assert_eq!(
                    on.0,
                    off.0,
                    "{}\n{}\n{}\n{sql}",
                    case.replay(),
                    script.join(";\n"),
                    changes.join(";\n")
                );
                let count =
                    |plan: &rukh_testkit::table::Table| format!("{:?}", plan.rows).matches(" told").count();
                assert_eq!(count(&off.1), 0);
                by_heads += count(&on.1);
            }
        }
    }
    assert!(by_heads > 0);
}

#[test]
fn counts_of_all_rows_within_queries_read_the_number_kept() {
    let mut client = Client::in_memory();
    for table in ["rows", "columns"] {
        let using = if table == "columns" { "USING columnar" } else { "" };
        client
            .run(&format!(
                "CREATE TABLE {table} (id INTEGER PRIMARY KEY, of INTEGER) {using}"
            ))
            .unwrap();
        client
            .run(&format!(
                "INSERT INTO {table} SELECT n, n % 5 FROM generate_series(1, 100) AS s(n)"
            ))
            .unwrap();
        let queries = [
            (
                2,
                format!("SELECT count(*) FROM {table} UNION ALL SELECT count(1) FROM {table}"),
            ),
            (1, format!("SELECT (SELECT count(*) FROM {table}) + 1")),
            (
                1,
                format!(
                    "SELECT n FROM (SELECT count(*) AS n, count(*) AS m FROM {table}) AS a WHERE n < 1000"
                ),
            ),
            (0, format!("SELECT count(*) + 0 FROM {table} WHERE id > 50")),
            (0, format!("SELECT count(of) + 0 FROM {table}")),
            (
                0,
                format!("SELECT count(*) + 0 FROM {table} GROUP BY of ORDER BY of"),
            ),
            (0, format!("SELECT count(DISTINCT 1) + 0 FROM {table}")),
            (
                0,
                format!("SELECT count(*) FILTER (WHERE of = 1) + 0 FROM {table}"),
            ),
            (
                0,
                format!("SELECT count(*) + 0 FROM (SELECT id FROM {table} LIMIT 7) AS a"),
            ),
        ];
        let rows_of = |client: &mut Client, sql: &str| client.query(sql).unwrap().rows;
        let counted: Vec<_> = queries.iter().map(|(_, sql)| rows_of(&mut client, sql)).collect();
        client.query(&format!("SELECT count(*) FROM {table}")).unwrap();
        for ((times, sql), counted) in queries.iter().zip(counted) {
            let plan = format!("{:?}", rows_of(&mut client, &format!("EXPLAIN {sql}")));
            assert_eq!(
                plan.matches("row count of table").count(),
                *times,
                "{sql}\n{plan}"
            );
            assert_eq!(rows_of(&mut client, sql), counted, "{sql}");
        }
        client.run("BEGIN").unwrap();
        client
            .run(&format!("DELETE FROM {table} WHERE id <= 10"))
            .unwrap();
        let added = rows_of(&mut client, &format!("SELECT count(*) + 0 FROM {table}"));
        assert_eq!(format!("{added:?}").matches("90").count(), 1, "{added:?}");
        client.run("ROLLBACK").unwrap();
        let all = rows_of(&mut client, &format!("SELECT count(*) + 0 FROM {table}"));
        assert_eq!(format!("{all:?}").matches("100").count(), 1, "{all:?}");
    }
}
