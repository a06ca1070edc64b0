//! The first rows of an order that no key delivers: what a scan passes over while it runs is never one of them.
//!
//! A case draws a table of some thousand rows, with columns of one type that have edge values among few others and
//! NULL, and asks for first rows in orders of one to three columns, in all directions, NULLs first and last. Each
//! query runs with bounds that narrow the scan below it and without.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::seed::Cases;

/// Cases of a usual run.
const CASES: u64 = 12;

/// Queries of a case.
const QUERIES: usize = 25;

/// Types of columns, and values of each.
const TYPES: [(&str, &[&str]); 8] = [
    (
        "INTEGER",
        &["-2147483648", "-1", "0", "1", "2", "7", "40", "2147483647"],
    ),
    ("SMALLINT", &["-32768", "0", "1", "2", "9", "32767"]),
    (
        "DOUBLE",
        &[
            "0.0",
            "1.5",
            "-1.5",
            "CAST('NaN' AS DOUBLE)",
            "CAST('-Infinity' AS DOUBLE)",
            "1e300",
        ],
    ),
    ("DECIMAL(10,2)", &["-1.50", "0", "0.01", "1.50", "99999999.99"]),
    ("VARCHAR", &["''", "'a'", "'a b'", "'ab'", "'é'", "'zz'", "'Z'"]),
    ("CHAR(4)", &["''", "'a'", "'ab'", "'abcd'", "'z'"]),
    (
        "UUID",
        &[
            "'00000000-0000-0000-0000-000000000000'",
            "'0123abcd-0000-0000-0000-00000000000f'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        ],
    ),
    (
        "TIMESTAMP",
        &[
            "TIMESTAMP '1969-12-31 23:59:59.999999'",
            "TIMESTAMP '2024-01-01'",
            "TIMESTAMP '2024-01-01 00:00:00.000001'",
        ],
    ),
];

#[test]
fn bounds_found_out_on_the_way_leave_out_no_first_row() {
    let mut examined = [0, 0];
    for case in Cases::from_environment("first_rows", CASES).iter() {
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
            let mut ways = ["off", "on"].map(|setting| {
                client
                    .run(&format!("SET enable_runtimefilter = {setting}"))
                    .unwrap();
                let rows = client.query(&sql).unwrap_or_else(|error| {
                    panic!("{}\n{}\n{sql}: {error}", case.replay(), script.join(";\n"))
                });
                (rows, client.last_stat("keys_examined").unwrap())
            });
            for (sum, (_, keys)) in examined.iter_mut().zip(&ways) {
                *sum += keys;
            }
            let (expected, rows) = (std::mem::take(&mut ways[0].0), std::mem::take(&mut ways[1].0));
            if let Err(difference) = expected.same_rows(rows, true) {
                let plan = client.query(&format!("EXPLAIN {sql}")).unwrap();
                panic!(
                    "{}\n{};\n{sql}\n{difference}\n{plan}",
                    case.replay(),
                    script.join(";\n")
                );
            }
        }
    }
    assert!(examined[1] < examined[0], "scans examine less: {examined:?}");
}

#[test]
fn keys_behind_the_first_rows_are_sought_past() {
    let mut client = Client::in_memory();
    for statement in [
        "CREATE TABLE readings (sensor INTEGER, day INTEGER, value INTEGER, note VARCHAR, PRIMARY KEY (sensor, day))",
        "CREATE INDEX readings_note ON readings (note, value)",
        "INSERT INTO readings SELECT n % 100, n / 100, n * 7919 % 10007, 'note ' || CAST(n % 3 AS VARCHAR) \
         FROM generate_series(0, 29999) AS s(n)",
        "ANALYZE readings",
    ] {
        client.run(statement).unwrap();
    }
    let by_day = "SELECT sensor, day FROM readings ORDER BY day, sensor LIMIT 10";
    let last_days = "SELECT sensor, day FROM readings ORDER BY day DESC, sensor LIMIT 10";
    let by_index =
        "SELECT value, sensor, day FROM readings WHERE note >= 'note' ORDER BY value, sensor, day LIMIT 5";
    for (sql, all, narrowed) in [
        (by_day, 30_000, 6_000),
        (last_days, 30_000, 6_000),
        (by_index, 30_000, 30_000),
    ] {
        let mut examined = |setting: &str| {
            client
                .run(&format!("SET enable_runtimefilter = {setting}"))
                .unwrap();
            let rows = client.query(sql).unwrap();
            (rows.rows, client.last_stat("keys_examined").unwrap())
        };
        let (expected, keys) = examined("off");
        assert_eq!(keys, all, "{sql}");
        let (rows, keys) = examined("on");
        assert_eq!(rows, expected, "{sql}");
        assert!(keys <= narrowed, "{sql}: {keys} keys");
    }
    let plan = client.query(&format!("EXPLAIN ANALYZE {by_day}")).unwrap();
    assert!(
        plan.to_string().contains("run time   sensor, day by first rows"),
        "{plan}"
    );
}

/// A table `t` with `k` and `v` of one type, and rows in several batches.
fn table(random: &mut StdRng) -> Vec<String> {
    let (ty, values) = TYPES.choose(random).unwrap();
    let keys = [
        "k, n",
        "k DESC, n",
        "n, k",
        "x, k, n",
        "x, k DESC, n",
        "HASH(k, 4), k, n",
        "n",
    ];
    let key = keys.choose(random).unwrap();
    let salt = match random.random_ratio(1, 4) {
        true => " WITH (SALT_BUCKETS = 3)",
        false => "",
    };
    let list = values.iter().enumerate();
    let list: Vec<String> = list.map(|(at, value)| format!("({at}, {value})")).collect();
    let (count, rows) = (values.len(), random.random_range(1..6000));
    let steps = [random.random_range(1..50), random.random_range(1..50)];
    let mut script = vec![
        format!("CREATE TABLE list (i INTEGER PRIMARY KEY, v {ty})"),
        format!("INSERT INTO list VALUES {}, ({count}, NULL)", list.join(", ")),
        format!(
            "CREATE TABLE t (k {ty} NOT NULL, n INTEGER NOT NULL, v {ty}, x INTEGER NOT NULL, \
             PRIMARY KEY ({key})){salt}"
        ),
        format!(
            "INSERT INTO t SELECT a.v, s.n, b.v, s.n % 7 FROM generate_series(1, {rows}) AS s(n) \
             JOIN list a ON a.i = s.n / {} % {count} JOIN list b ON b.i = s.n / {} % {}",
            steps[0],
            steps[1],
            count + 1
        ),
    ];
    let others = [
        "CREATE INDEX t_x ON t (x, v)",
        "CREATE INDEX t_x ON t (x DESC, v DESC) INCLUDE (k)",
        "CREATE UNIQUE INDEX t_n ON t (n)",
        "ANALYZE t",
        "DELETE FROM t WHERE n % 3 = 0",
    ];
    for other in others {
        if random.random_bool(0.5)
            && !script
                .iter()
                .any(|known| known.starts_with(other.get(..20).unwrap_or(other)))
        {
            script.push(other.to_string());
        }
    }
    script
}

/// A query for the first rows of an order that leaves none open.
fn query(random: &mut StdRng) -> String {
    let mut columns = vec!["k", "v", "x", "n"];
    let mut order = Vec::new();
    for _ in 0..random.random_range(1..4) {
        let column = columns.remove(random.random_range(0..columns.len()));
        let direction = ["", " DESC"].choose(random).unwrap();
        let nulls = ["", " NULLS FIRST", " NULLS LAST"].choose(random).unwrap();
        order.push(format!("{column}{direction}{nulls}"));
    }
    if columns.contains(&"n") {
        order.push("n".to_string());
    }
    let conditions = [
        "",
        "WHERE x IN (1, 2, 5)",
        "WHERE x = 3 OR n < 2000",
        "WHERE n % 2 = 0",
        "WHERE v IS NOT NULL",
        "WHERE x > 1",
        "WHERE x BETWEEN 2 AND 4 AND n > 100",
    ];
    let outputs = ["n", "n, k, v, x", "n, x + 1"];
    let (limit, offset) = (random.random_range(1..40), random.random_range(0..5));
    let (output, condition) = (
        outputs.choose(random).unwrap(),
        conditions.choose(random).unwrap(),
    );
    let order = order.join(", ");
    let shapes = [
        format!("SELECT {output} FROM t {condition} ORDER BY {order} LIMIT {limit}"),
        format!("SELECT {output} FROM t {condition} ORDER BY {order} LIMIT {limit} OFFSET {offset}"),
        format!(
            "SELECT q.n FROM (SELECT * FROM t {condition}) q JOIN list l ON l.i = q.x ORDER BY {order} LIMIT {limit}"
        ),
        format!(
            "SELECT n FROM (SELECT * FROM t UNION ALL SELECT * FROM t) q {condition} ORDER BY {order} LIMIT {limit}"
        ),
    ];
    let shape = shapes.choose(random).unwrap();
    // In a join, `v` is a column of both tables.
    match shape.contains("JOIN") {
        true => shape
            .replace("ORDER BY v", "ORDER BY q.v")
            .replace(", v", ", q.v"),
        false => shape.clone(),
    }
}

/// A scan in the wanted order, of more rows than one batch has, with columns computed of them: all stay in that order.
#[test]
fn computed_columns_keep_the_order_of_a_scan_that_ends_early() {
    const ROWS: usize = 60_000;
    let mut client = Client::in_memory();
    let series = format!("SELECT n, n * 3, n % 7 FROM generate_series(1, {ROWS}) AS s(n)");
    for statement in [
        "CREATE TABLE rows (k INTEGER PRIMARY KEY, a BIGINT, n INTEGER)".to_owned(),
        format!("INSERT INTO rows {series}"),
        "CREATE INDEX by_a ON rows USING columnar (a)".to_owned(),
        "CREATE TABLE blocks (k INTEGER PRIMARY KEY, a BIGINT, n INTEGER) USING columnar".to_owned(),
        format!("INSERT INTO blocks {series}"),
        "ALTER TABLE blocks REPACK".to_owned(),
    ] {
        client
            .run(&statement)
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let all = |keep: fn(usize) -> bool| (1..=ROWS).filter(move |k| keep(*k));
    let sevenths: Vec<usize> = all(|k| k % 7 == 0).collect();
    let plain: Vec<usize> = all(|_| true).collect();
    for (condition, kept) in [("true", &plain), ("n = 0", &sevenths)] {
        for from in [
            "/*+ FULL_SCAN */ k + 1 FROM rows",
            "a / 3 + 1 FROM rows",
            "/*+ INDEX(rows by_a) */ a / 3 + 1 FROM rows",
            "k + 1 FROM blocks",
        ] {
            let by = if from.contains("a / 3") { "a" } else { "k" };
            for (direction, limit, offset) in [
                ("", 8400, 0),
                ("DESC", 8400, 0),
                ("", 50, 8200),
                ("DESC", 50, 8200),
            ] {
                let sql = format!(
                    "SELECT {from} WHERE {condition} ORDER BY {by} {direction} LIMIT {limit} OFFSET {offset}"
                );
                let found = client
                    .query(&sql)
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
                let found: Vec<usize> = found
                    .rows
                    .iter()
                    .map(|row| {
                        row[0]
                            .as_ref()
                            .expect("it is not NULL")
                            .parse()
                            .expect("it is a number")
                    })
                    .collect();
                let mut right: Vec<usize> = kept.iter().map(|k| k + 1).collect();
                if direction == "DESC" {
                    right.reverse();
                }
                let right: Vec<usize> = right.into_iter().skip(offset).take(limit).collect();
                assert!(found == right, "{sql}: {:?}, not {:?}", &found[..5], &right[..5]);
            }
        }
    }
}
