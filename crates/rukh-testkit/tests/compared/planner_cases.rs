//! Known hard conditions: right rows, and no more keys read than the condition needs.
//!
//! Each sample runs with its key as primary key, as secondary index and as covering index, with
//! every column ascending or descending, and in several spellings. Its rows are those of a full
//! scan; the keys examined are at most the ideal ones and one for each range.

#![allow(clippy::unwrap_used)]

use rukh::Value;
use rukh_testkit::client::Client;
use rukh_testkit::tokens::{TokenKind, tokens};
use rukh_testkit::translate::with_hint;

/// A condition on the columns of a key.
struct Sample {
    /// Names of the key's columns.
    columns: &'static [&'static str],
    /// Their type.
    ty: &'static str,
    /// Rows: every combination of these values, in each column.
    values: &'static [&'static str],
    /// The condition.
    condition: &'static str,
    /// Keys in the ideal spans.
    keys: u64,
    /// Most ranges in any direction of the columns.
    ranges_max: u64,
}

const ONE_TO_TEN: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
const ONE_TO_SIX: &[&str] = &["1", "2", "3", "4", "5", "6"];
const LETTERS: &[&str] = &["'B'", "'C'", "'D'"];
const A: &[&str] = &["a"];
const AB: &[&str] = &["a", "b"];
const ABC: &[&str] = &["a", "b", "c"];
const ABCD: &[&str] = &["a", "b", "c", "d"];

/// Makes a sample on integers.
const fn ints(
    columns: &'static [&'static str],
    condition: &'static str,
    keys: u64,
    ranges_max: u64,
) -> Sample {
    let values = if columns.len() < 3 { ONE_TO_TEN } else { ONE_TO_SIX };
    Sample {
        columns,
        ty: "INTEGER",
        values,
        condition,
        keys,
        ranges_max,
    }
}

const SAMPLES: &[Sample] = &[
    ints(A, "a > 2", 8, 1),
    ints(A, "a <> 2", 9, 2),
    ints(A, "a = 5", 1, 1),
    ints(A, "a IN (3, 1, 3, 99)", 2, 3),
    ints(A, "a IS NULL", 0, 0),
    ints(A, "a = NULL", 0, 0),
    ints(A, "a > 2 AND a < 1", 0, 0),
    ints(A, "a BETWEEN 3 AND 5 AND a <> 4", 2, 2),
    ints(A, "NOT (a < 3 OR a > 5)", 3, 1),
    ints(A, "a > 1.5 AND a < 3.5", 2, 1),
    ints(A, "a = 1.5", 0, 0),
    ints(A, "a > 99999999999", 0, 0),
    ints(A, "a < 99999999999", 10, 1),
    ints(A, "a + 1 > 9", 2, 1),
    // A range on the first column closes the prefix; the start is still extended to /3/6.
    ints(AB, "a > 2 AND b > 5", 75, 1),
    ints(AB, "a IN (1, 2, 3) AND b BETWEEN 2 AND 4", 9, 3),
    ints(AB, "(a = 1 AND b = 2) OR (a = 3 AND b = 4)", 2, 2),
    ints(AB, "a > 1 OR (a = 1 AND b >= 9)", 92, 2),
    ints(AB, "a = 3 AND b NOT IN (1, 2, 10)", 7, 3),
    ints(AB, "a = 3 AND (b < 2 OR b > 9)", 2, 2),
    ints(AB, "(a, b) IN ((1, 1), (2, 2), (99, 1))", 2, 3),
    ints(AB, "(a, b) = (4, 4)", 1, 1),
    ints(
        AB,
        "(a, b) >= (1, 5) AND (a, b) < (3, 8) AND a IN (1, 3) AND (b BETWEEN 6 AND 8 OR b IN (4, 5))",
        8,
        2,
    ),
    ints(ABC, "(a, b, c) > (1, 2, 3)", 216 - 6 - 3, 3),
    ints(ABC, "(a, b, c) <= (2, 1, 1)", 36 + 1, 3),
    ints(ABC, "a = 1 AND (b = 2 OR (b = 3 AND c = 4))", 7, 2),
    ints(ABC, "a IN (2, 3) AND b = 4 AND c >= 5", 4, 2),
    // The gap in the middle is not in the ranges: whole prefixes are read, or skipped within.
    ints(ABC, "a IN (2, 3) AND c BETWEEN 4 AND 6", 72, 2),
    Sample {
        columns: ABCD,
        ty: "CHAR(1)",
        values: LETTERS,
        condition: "a = 'C' AND (a, b, c) > ('C', 'B', 'X') AND c = 'C'",
        keys: 6,
        // One for each value of a CHAR(1) behind 'B'; those that hold nothing are leapt over.
        ranges_max: 61,
    },
    Sample {
        columns: A,
        ty: "TINYINT",
        values: &["-128", "-1", "0", "127"],
        condition: "a < 1000 AND a > -1000",
        keys: 4,
        ranges_max: 1,
    },
    Sample {
        columns: A,
        ty: "TINYINT",
        values: &["1", "2"],
        condition: "a = 1000",
        keys: 0,
        ranges_max: 0,
    },
    Sample {
        columns: A,
        ty: "VARCHAR",
        values: &["''", "'a'", "'aa'", "'aaa'", "'ab'", "'b'"],
        condition: "a > 'a'",
        keys: 4,
        ranges_max: 1,
    },
    Sample {
        columns: A,
        ty: "VARCHAR",
        values: &["'002'", "'0021'", "'00'", "'003'", "'1'"],
        condition: "a LIKE '002%'",
        keys: 2,
        ranges_max: 1,
    },
    Sample {
        columns: AB,
        ty: "VARCHAR",
        values: &["'002'", "'0021'", "'00'", "'003'", "'1'"],
        condition: "a = '00' AND b LIKE '002_'",
        keys: 2,
        ranges_max: 1,
    },
    Sample {
        columns: AB,
        ty: "VARCHAR",
        values: &["'002'", "'0021'", "'00'", "'003'", "'1'"],
        condition: "a = '00' AND b LIKE '%1'",
        keys: 5,
        ranges_max: 1,
    },
    Sample {
        columns: AB,
        ty: "VARCHAR",
        values: &["'002'", "'0021'", "'00'", "'003'", "'1'"],
        condition: "a = '00' AND b LIKE '002'",
        keys: 1,
        ranges_max: 1,
    },
    Sample {
        columns: A,
        ty: "TIMESTAMP",
        values: &[
            "'2011-12-31 23:59:59.999999'",
            "'2012-01-01 00:00:00'",
            "'2012-01-01 12:00:00'",
            "'2012-01-01 23:59:59.999999'",
            "'2012-01-02 00:00:00'",
        ],
        condition: "date_trunc('day', a) = '2012-01-01'",
        keys: 3,
        ranges_max: 1,
    },
    Sample {
        columns: A,
        ty: "TIMESTAMP",
        values: &["'2012-01-01 00:00:00'", "'2012-01-01 01:00:00'"],
        condition: "date_trunc('day', a) = '2012-01-01 01:00'",
        keys: 0,
        ranges_max: 0,
    },
    Sample {
        columns: A,
        ty: "DOUBLE PRECISION",
        values: &["'NaN'", "'Infinity'", "'-Infinity'", "0", "1.5"],
        condition: "a > 1",
        keys: 3,
        ranges_max: 1,
    },
    Sample {
        columns: A,
        ty: "REAL",
        values: &["'NaN'", "'Infinity'", "'-Infinity'", "0", "1.5"],
        condition: "a < 1e39",
        keys: 3,
        ranges_max: 1,
    },
    Sample {
        columns: A,
        ty: "VARBINARY",
        values: &["x''", "x'ff'", "x'ffff'", "x'ffffff'", "x'00'"],
        condition: "a >= x'ff' AND a < x'ffffff'",
        keys: 2,
        ranges_max: 1,
    },
];

/// How the key of a sample is stored.
#[derive(Clone, Copy, Debug)]
enum Form {
    Primary,
    Secondary,
    Covering,
}

#[test]
fn samples_read_no_more_keys_than_they_need() {
    let failures: Vec<String> = SAMPLES
        .iter()
        .flat_map(|sample| check_sample(sample).into_iter().take(3))
        .collect();
    assert!(
        failures.is_empty(),
        "{} samples fail\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn check_sample(sample: &Sample) -> Vec<String> {
    let mut failures = Vec::new();
    for directions in 0..1_usize << sample.columns.len() {
        for form in [Form::Primary, Form::Secondary, Form::Covering] {
            let mut client = Client::in_memory();
            let place = define(&mut client, sample, directions, form);
            for spelling in spellings(sample.condition) {
                let sql = select(form, &spelling);
                if let Err(error) = check(&mut client, sample, &sql, &[]) {
                    failures.push(format!("{place}\n  {sql}\n  {error}"));
                }
            }
            if let Some((spelling, parameters)) = with_parameters(sample) {
                let sql = select(form, &spelling);
                if let Err(error) = check(&mut client, sample, &sql, &parameters) {
                    failures.push(format!("{place}\n  {sql} {parameters:?}\n  {error}"));
                }
            }
        }
    }
    failures
}

/// Makes the table with its rows, and returns its key as SQL.
fn define(client: &mut Client, sample: &Sample, directions: usize, form: Form) -> String {
    let columns: Vec<String> = sample
        .columns
        .iter()
        .map(|column| format!("{column} {} NOT NULL", sample.ty))
        .collect();
    let key: Vec<String> = sample
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            if directions >> place & 1 == 1 {
                format!("{column} DESC")
            } else {
                (*column).to_owned()
            }
        })
        .collect();
    let (columns, key) = (columns.join(", "), key.join(", "));
    let mut run = |sql: String| client.run(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let primary = if matches!(form, Form::Primary) { &key } else { "id" };
    run(format!(
        "CREATE TABLE t ({columns}, id INTEGER NOT NULL, v INTEGER, PRIMARY KEY ({primary}))"
    ));
    match form {
        Form::Primary => {}
        Form::Secondary => drop(run(format!("CREATE INDEX i ON t ({key})"))),
        Form::Covering => drop(run(format!("CREATE INDEX i ON t ({key}) INCLUDE (v)"))),
    }
    let rows: Vec<String> = combinations(sample)
        .iter()
        .enumerate()
        .map(|(id, row)| format!("({}, {id}, {id})", row.join(", ")))
        .collect();
    run(format!("INSERT INTO t VALUES {}", rows.join(", ")));
    format!("{form:?} ({key}) of {}", sample.ty)
}

fn combinations(sample: &Sample) -> Vec<Vec<&'static str>> {
    sample.columns.iter().fold(vec![Vec::new()], |rows, _| {
        let longer = |row: Vec<&'static str>| {
            sample
                .values
                .iter()
                .map(move |value| [row.clone(), vec![*value]].concat())
        };
        rows.into_iter().flat_map(longer).collect()
    })
}

fn select(form: Form, condition: &str) -> String {
    match form {
        Form::Primary => format!("SELECT v FROM t WHERE {condition}"),
        Form::Secondary | Form::Covering => format!("SELECT /*+ INDEX(t i) */ v FROM t WHERE {condition}"),
    }
}

/// The same condition in other words.
fn spellings(condition: &str) -> Vec<String> {
    vec![
        condition.to_owned(),
        format!("({condition}) AND 1 = 1"),
        format!("NOT (NOT ({condition}))"),
        format!("({condition}) OR ({condition})"),
        format!("true AND ({condition}) AND ({condition})"),
    ]
}

/// The condition with its constants as parameters; not where a function needs a literal.
fn with_parameters(sample: &Sample) -> Option<(String, Vec<Value>)> {
    if sample.condition.contains("date_trunc") || sample.condition.contains("LIKE") {
        return None;
    }
    let mut parameters: Vec<Value> = Vec::new();
    let mut sql = String::new();
    for token in tokens(sample.condition) {
        let value = match token.kind {
            TokenKind::Number => number(&token.text),
            TokenKind::Text if token.text.starts_with('\'') => {
                Some(Value::from(token.text.trim_matches('\'')))
            }
            _ => None,
        };
        match value {
            Some(value) => {
                parameters.push(value);
                sql += &format!("${}", parameters.len());
            }
            None => sql += &token.text,
        }
    }
    (!parameters.is_empty()).then_some((sql, parameters))
}

fn number(text: &str) -> Option<Value> {
    text.parse::<i64>()
        .map(Value::from)
        .or_else(|_| text.parse::<f64>().map(Value::from))
        .ok()
}

fn check(client: &mut Client, sample: &Sample, sql: &str, parameters: &[Value]) -> Result<(), String> {
    let message = |error: rukh::Error| error.to_string();
    let full = client
        .query_with(&with_hint(sql, "FULL_SCAN"), parameters)
        .map_err(message)?;
    let table = client.query_with(sql, parameters).map_err(message)?;
    let keys = client.last_stat("keys_examined").map_err(message)?;
    let ranges = client.last_stat("ranges").map_err(message)?;
    table.same_rows(full, false)?;
    if keys > sample.keys + ranges {
        return Err(format!("{keys} keys in {ranges} ranges, not {}", sample.keys));
    }
    match ranges <= sample.ranges_max {
        true => Ok(()),
        false => Err(format!("{ranges} ranges, not {}", sample.ranges_max)),
    }
}

/// Runs statements, then a query; returns its rows, keys examined and ranges.
fn measure(statements: &[&str], query: &str) -> (usize, u64, u64) {
    let mut client = Client::in_memory();
    for sql in statements {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let table = client
        .query(query)
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let keys = client.last_stat("keys_examined").unwrap();
    let ranges = client.last_stat("ranges").unwrap();
    let full = client.query(&with_hint(query, "FULL_SCAN")).unwrap();
    table
        .clone()
        .same_rows(full, false)
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    (table.rows.len(), keys, ranges)
}

const THOUSAND: &str = "INSERT INTO t SELECT g.value, g.value % 7 FROM generate_series(1, 1000) AS g(value)";

#[test]
fn nulls_of_an_index_are_not_read() {
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)";
    let rows = "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, NULL), (5, NULL), (6, NULL)";
    for index in ["CREATE INDEX i ON t (a)", "CREATE INDEX i ON t (a DESC)"] {
        let measured = measure(
            &[table, index, rows],
            "SELECT /*+ INDEX(t i) */ id FROM t WHERE a <> 2",
        );
        assert!(measured.0 == 2 && measured.1 <= 4, "{index}: {measured:?}");
        let measured = measure(
            &[table, index, rows],
            "SELECT /*+ INDEX(t i) */ id FROM t WHERE a IS NULL",
        );
        assert!(measured.0 == 3 && measured.1 <= 4, "{index}: {measured:?}");
    }
}

#[test]
fn a_reverse_scan_stops_at_its_limit() {
    let statements = ["CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)", THOUSAND];
    let (rows, keys, _) = measure(
        &statements,
        "SELECT k FROM t WHERE k <= 100 ORDER BY k DESC LIMIT 20",
    );
    assert_eq!(rows, 20);
    assert!(keys <= 21, "{keys}");
}

#[test]
fn the_primary_key_behind_an_index_is_usable() {
    let statements = [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)",
        "CREATE INDEX i ON t (b)",
        THOUSAND,
    ];
    let measured = measure(
        &statements,
        "SELECT /*+ INDEX(t i) */ a FROM t WHERE b = 1 AND a = 8",
    );
    assert!(measured.0 == 1 && measured.1 <= 2, "{measured:?}");
}

#[test]
fn salt_columns_that_are_fixed_leave_one_bucket() {
    let table = "CREATE TABLE t (period INTEGER NOT NULL, user_id INTEGER NOT NULL, \
                 PRIMARY KEY (period, user_id)) SALT_BUCKETS = 16 ON (user_id)";
    let rows = "INSERT INTO t SELECT g.value % 10, g.value FROM generate_series(1, 1000) AS g(value)";
    let (count, keys, ranges) = measure(&[table, rows], "SELECT * FROM t WHERE user_id = 8 AND period = 8");
    assert_eq!((count, ranges), (1, 1));
    assert!(keys <= 2, "{keys}");
    let (count, keys, ranges) = measure(&[table, rows], "SELECT * FROM t WHERE period = 1");
    assert_eq!((count, ranges), (100, 16));
    assert!(keys <= 116, "{keys}");
    let (count, _, ranges) = measure(&[table, rows], "SELECT * FROM t WHERE user_id = 8");
    assert_eq!((count, ranges), (1, 1));
}

#[test]
fn a_hash_serves_equality_only() {
    let table = "CREATE TABLE t (url VARCHAR NOT NULL, day INTEGER NOT NULL, \
                 PRIMARY KEY (HASH(url, 8), url, day))";
    let rows = "INSERT INTO t SELECT 'u' || CAST(g.value % 20 AS VARCHAR), g.value FROM generate_series(1, 1000) AS g(value)";
    let (count, keys, ranges) = measure(&[table, rows], "SELECT * FROM t WHERE url = 'u5' AND day >= 500");
    assert_eq!((count, ranges), (25, 1));
    assert!(keys <= 26, "{keys}");
    let (count, _, _) = measure(&[table, rows], "SELECT * FROM t WHERE url > 'u5'");
    assert_eq!(count, 200);
}

#[test]
fn a_thousand_by_a_thousand_values_stay_bounded() {
    let table = "CREATE TABLE t (a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (a, b))";
    let list = (0..1000)
        .map(|n| (n * 3).to_string())
        .collect::<Vec<_>>()
        .join(", ");
    let (count, _, ranges) = measure(
        &[table, THOUSAND],
        &format!("SELECT * FROM t WHERE a IN ({list}) AND b IN ({list})"),
    );
    let expected = (1..=1000).filter(|n| n % 3 == 0 && (n % 7) % 3 == 0).count();
    assert_eq!(count, expected);
    assert!(ranges <= 100_000, "{ranges}");
}

#[test]
fn counting_a_range_reads_its_keys_only() {
    let statements = ["CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)", THOUSAND];
    let (_, keys, ranges) = measure(&statements, "SELECT count(*) FROM t WHERE k BETWEEN 11 AND 20");
    assert!(keys <= 11 && ranges == 1, "{keys} keys, {ranges} ranges");
}
