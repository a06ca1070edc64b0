//! Joins over tables drawn at random: every way to run them gives the same rows.
//!
//! A case draws three tables whose key columns are of one type, with edge values among few others, so
//! that joins find partners and NULLs, and asks joins of all types over them: of two and three tables,
//! with groups and unions on one side, on one column and on two. Each is run with lookups, with hash
//! tables alone, with hash tables that narrow the scan of the other side while it runs, and with merges.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::seed::Cases;
use rukh_testkit::table::Table;

/// Cases of a usual run.
const CASES: u64 = 25;

/// Queries of a case.
const QUERIES: usize = 30;

/// Settings that change how a join is run, and what they are set to in turn; the first way is the
/// judge of the others.
const SETTINGS: [&str; 3] = ["enable_lookupjoin", "enable_runtimefilter", "enable_hashjoin"];
const WAYS: [[&str; 3]; 4] = [
    ["off", "off", "on"],
    ["off", "on", "on"],
    ["on", "on", "on"],
    ["off", "on", "off"],
];

/// Types of key columns, and values of each.
const TYPES: [(&str, &[&str]); 10] = [
    (
        "INTEGER",
        &["-2147483648", "-1", "0", "1", "2", "7", "40", "2147483647"],
    ),
    (
        "BIGINT",
        &["-9223372036854775808", "0", "3", "4", "5", "9223372036854775807"],
    ),
    ("SMALLINT", &["-32768", "0", "1", "2", "9", "32767"]),
    (
        "DOUBLE",
        &[
            "0.0",
            "-0.0",
            "1.5",
            "-1.5",
            "CAST('NaN' AS DOUBLE)",
            "CAST('Infinity' AS DOUBLE)",
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
        "DATE",
        &[
            "DATE '1969-12-31'",
            "DATE '2024-02-29'",
            "DATE '2024-03-01'",
            "DATE '0001-01-01'",
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
fn joins_give_the_same_rows_in_every_way() {
    let mut examined = [0; WAYS.len()];
    for case in Cases::from_environment("joins", CASES).iter() {
        let mut random = case.random();
        let mut client = Client::in_memory();
        let script = tables(&mut random);
        for statement in &script {
            client
                .run(statement)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        for _ in 0..QUERIES {
            let sql = query(&mut random);
            let mut first: Option<Table> = None;
            for (way, values) in WAYS.iter().enumerate() {
                for (setting, value) in SETTINGS.iter().zip(values) {
                    client.run(&format!("SET {setting} = {value}")).unwrap();
                }
                let rows = client.query(&sql).unwrap_or_else(|error| {
                    panic!("{}\n{}\n{sql}: {error}", case.replay(), script.join(";\n"))
                });
                examined[way] += client.last_stat("keys_examined").unwrap();
                let Some(first) = &first else {
                    first = Some(rows);
                    continue;
                };
                if let Err(difference) = first.clone().same_rows(rows, sql.contains("ORDER BY")) {
                    let plan = client.query(&format!("EXPLAIN {sql}")).unwrap();
                    panic!(
                        "{}\n{};\n{sql}\n{values:?}\n{difference}\n{plan}",
                        case.replay(),
                        script.join(";\n")
                    );
                }
            }
        }
    }
    assert!(
        examined[1] < examined[0],
        "narrowed scans examine less: {examined:?}"
    );
}

#[test]
fn what_a_join_finds_out_narrows_the_scan_of_its_other_side() {
    let mut client = Client::in_memory();
    for statement in [
        "CREATE TABLE teams (id INTEGER PRIMARY KEY, label VARCHAR)",
        "CREATE TABLE events (team INTEGER, number BIGINT, kind VARCHAR, PRIMARY KEY (team, number))",
        "CREATE INDEX events_by_kind ON events (kind)",
        "INSERT INTO teams SELECT n, 'team ' || CAST(n AS VARCHAR) FROM generate_series(1, 400) AS s(n)",
        "INSERT INTO events SELECT n % 400 + 1, n, 'k' || CAST(n % 600 AS VARCHAR) FROM generate_series(1, 12000) AS s(n)",
        "ANALYZE teams",
        "ANALYZE events",
        "SET enable_lookupjoin = off",
    ] {
        client.run(statement).unwrap();
    }
    let by_key = "SELECT count(*) FROM teams t JOIN events e ON e.team = t.id WHERE t.label LIKE '%39'";
    let by_index = "SELECT sum(e.number) FROM teams t JOIN events e ON e.kind = 'k' || CAST(t.id AS VARCHAR) WHERE t.label LIKE '%39'";
    for (sql, all, narrowed) in [(by_key, 12_400, 520), (by_index, 12_400, 480)] {
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
    let plan = client.query(&format!("EXPLAIN ANALYZE {by_key}")).unwrap();
    let text = plan.to_string();
    for line in [
        "run time   team by hash join",
        "narrowed   skip scan on table events",
        "[/39 - /39]",
        "120 keys examined",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
}

/// A value of a type, or NULL.
fn value(random: &mut StdRng, values: &[&'static str], nullable: bool) -> &'static str {
    match nullable && random.random_ratio(1, 8) {
        true => "NULL",
        false => values.choose(random).unwrap(),
    }
}

/// Three tables `a`, `b` and `c` with `k` and `v` of one type, and rows.
fn tables(random: &mut StdRng) -> Vec<String> {
    let (ty, values) = TYPES.choose(random).unwrap();
    let mut script = Vec::new();
    for (table, rows) in [("a", 20), ("b", 120), ("c", 60)] {
        let keys = ["k, n", "k DESC, n", "n, k", "HASH(k, 4), k, n", "n"];
        let key = keys.choose(random).unwrap();
        let salt = match random.random_ratio(1, 4) {
            true => " WITH (SALT_BUCKETS = 3)",
            false => "",
        };
        script.push(format!(
            "CREATE TABLE {table} (k {ty} NOT NULL, n INTEGER NOT NULL, v {ty}, x INTEGER, \
             PRIMARY KEY ({key})){salt}"
        ));
        let row = |n: u32, random: &mut StdRng| {
            let (k, v) = (value(random, values, false), value(random, values, true));
            let x = random.random_range(0..5);
            format!("({k}, {n}, {v}, {x})")
        };
        let rows: Vec<String> = (0..rows).map(|n| row(n, random)).collect();
        script.push(format!("INSERT INTO {table} VALUES {}", rows.join(", ")));
        let indexes = [
            "CREATE INDEX {t}_v ON {t} (v)",
            "CREATE INDEX {t}_v ON {t} (v DESC, x) INCLUDE (k)",
            "CREATE INDEX {t}_v ON {t} USING columnar (n) INCLUDE (k, v, x)",
            "ANALYZE {t}",
        ];
        for index in indexes.choose_multiple(random, 2) {
            let statement = index.replace("{t}", table);
            let is_again = script.iter().any(|known| {
                known.starts_with("CREATE INDEX")
                    && statement.starts_with("CREATE INDEX")
                    && known.contains(&format!("{table}_v"))
            });
            if !is_again {
                script.push(statement);
            }
        }
    }
    script
}

/// A join.
fn query(random: &mut StdRng) -> String {
    let join = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
        .choose(random)
        .unwrap();
    let on = [
        "b.k = a.v",
        "b.v = a.k",
        "b.k = a.k",
        "b.k = a.v AND b.n = a.n",
        "b.v = a.v AND b.x > a.x",
        "b.n = a.n",
    ]
    .choose(random)
    .unwrap();
    let wheres = [
        "",
        "WHERE a.x = 1",
        "WHERE a.n < 3",
        "WHERE a.x + a.n = 7",
        "WHERE a.x < 0",
        "WHERE b.x = 2",
    ];
    let condition = wheres.choose(random).unwrap();
    let of_a = condition.replace("b.x", "a.x");
    let shapes = [
        format!("SELECT a.n, a.k, b.n, b.k, b.v FROM a {join} b ON {on} {condition}"),
        format!("SELECT a.n, b.n, b.x FROM b {join} a ON {on} {condition}"),
        format!("SELECT a.n, b.n, c.n, c.k FROM a JOIN b ON {on} {join} c ON c.k = b.k {condition}"),
        format!(
            "SELECT c.n, j.n, j.m FROM c JOIN (SELECT a.n, b.n AS m, b.v AS w, a.k FROM a {join} b ON {on} {condition}) j ON c.v = j.w"
        ),
        format!("SELECT b.n, b.k FROM b WHERE b.k IN (SELECT a.v FROM a {of_a})"),
        format!("SELECT b.n, b.k FROM b WHERE b.v NOT IN (SELECT a.k FROM a {of_a})"),
        format!("SELECT b.n, b.k FROM b WHERE b.v NOT IN (SELECT a.v FROM a {of_a})"),
        format!("SELECT b.n FROM b WHERE EXISTS (SELECT 1 FROM a WHERE {on}) AND b.x < 3"),
        format!("SELECT b.n FROM b WHERE NOT EXISTS (SELECT 1 FROM a WHERE {on}) AND b.x < 3"),
        format!(
            "SELECT a.n, g.k, g.m FROM a JOIN (SELECT k, count(*) AS m FROM b GROUP BY k) g ON g.k = a.v {of_a}"
        ),
        format!(
            "SELECT a.n, u.n FROM a JOIN (SELECT n, k FROM b UNION ALL SELECT n, v FROM c) u ON u.k = a.v {of_a}"
        ),
        format!("SELECT a.n, b.n FROM a JOIN b ON {on} {condition} ORDER BY b.k, b.n, a.n"),
        format!("SELECT a.n, b.n FROM a JOIN b ON {on} {condition} ORDER BY b.v DESC, b.n, a.n LIMIT 7"),
        format!(
            "SELECT n, k FROM b {} ORDER BY x, n LIMIT 5",
            condition.replace("a.", "b.")
        ),
        format!(
            "SELECT n, v FROM b {} ORDER BY v, n LIMIT 5",
            condition.replace("a.", "b.")
        ),
    ];
    shapes.choose(random).unwrap().clone()
}
