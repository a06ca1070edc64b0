//! SELECT by the whole key or a prefix of it: the short way gives what the general one does, whatever the
//! parameters.

use rukh::{DataType, Datum, Value};
use rukh_testkit::client::Client;

/// The rows of a query, or the SQLSTATE that it fails with.
type Answer = Result<Vec<Vec<Option<String>>>, String>;

fn ask(client: &mut Client, path: &str, sql: &str, params: &[Value]) -> Answer {
    client.connection().set("execution_path", path).unwrap();
    let answer = client.query_with(sql, params);
    answer
        .map(|table| table.rows)
        .map_err(|error| error.sqlstate.to_string())
}

/// Asks both ways, twice each, as the second time is by a plan that is kept.
fn ask_both(client: &mut Client, sql: &str, params: &[Value]) -> Answer {
    let general = ask(client, "general", sql, params);
    for _ in 0..2 {
        let direct = ask(client, "auto", sql, params);
        assert_eq!(
            direct,
            general,
            "{sql} with {params:?}, {:?}",
            client.query("SHOW CREATE TABLE t").map(|t| t.rows)
        );
    }
    general
}

fn texts() -> Vec<Value> {
    let texts = [
        "",
        "a",
        "a ",
        "ab",
        "abcdef",
        "a\u{1}",
        "ä",
        "1",
        "2024-02-29",
        "t",
        "NULL",
    ];
    let typed = [
        DataType::Varchar(None),
        DataType::Varchar(Some(2)),
        DataType::Char(3),
    ];
    let of = |text: &&str| typed.map(|ty| Value::new(Datum::Text(text.trim_end().to_string()), ty));
    texts.iter().flat_map(of).chain([Value::from("a ")]).collect()
}

fn values() -> Vec<Value> {
    let mut values = texts();
    values.extend(
        [
            0_i64,
            1,
            -1,
            127,
            128,
            32_767,
            40_000,
            1 << 40,
            i64::MAX,
            i64::MIN,
        ]
        .map(Value::from),
    );
    values.extend([0_i32, 1, 5].map(Value::from));
    values.extend([0_i16, 1, 5].map(Value::from));
    values.extend([0_i8, 1, 5].map(Value::from));
    values.extend([0.0_f64, -0.0, 1.0, 1.5, f64::NAN, f64::INFINITY].map(Value::from));
    values.extend([true, false].map(Value::from));
    values.push(Value::null());
    values.push(Value::new(Datum::Null, DataType::Integer));
    let decimal = DataType::Decimal {
        precision: 10,
        scale: 2,
    };
    for (ty, text) in [
        (decimal, "1.00"),
        (decimal, "1.50"),
        (DataType::Date, "2024-02-29"),
        (DataType::TIMESTAMP, "2024-02-29 00:00:00"),
        (DataType::TIMESTAMP, "2024-02-29 01:00:00"),
        (DataType::Uuid, "0f0e0d0c-0b0a-0908-0706-050403020100"),
        (DataType::Varbinary(None), "\\x61"),
    ] {
        values.push(Value::new(ty.parse_text(text).unwrap(), ty));
    }
    values
}

#[test]
fn every_value_against_every_type_of_key() {
    let tables = [
        ("TINYINT", "1", "5"),
        ("SMALLINT", "1", "32767"),
        ("INTEGER", "1", "40000"),
        ("BIGINT", "1", "9223372036854775807"),
        ("BOOLEAN", "true", "false"),
        ("VARCHAR", "'a'", "'a '"),
        ("VARCHAR(2)", "'a'", "'ab'"),
        ("CHAR(3)", "'a'", "'ab'"),
        ("DATE", "'2024-02-29'", "'2024-03-01'"),
        ("TIMESTAMP", "'2024-02-29'", "'2024-02-29 01:00:00'"),
        ("DOUBLE PRECISION", "1", "'NaN'"),
        ("REAL", "1.5", "0"),
        ("DECIMAL(10, 2)", "1", "1.5"),
        (
            "UUID",
            "'0f0e0d0c-0b0a-0908-0706-050403020100'",
            "'1f0e0d0c-0b0a-0908-0706-050403020100'",
        ),
        ("BYTEA", "'\\x61'", "'\\x'"),
    ];
    let mut found = 0;
    for (ty, first, second) in tables {
        for options in ["", " USING columnar", " WITH (SALT_BUCKETS = 4)"] {
            let mut client = Client::in_memory();
            let sql = format!("CREATE TABLE t (k {ty}, v INT, PRIMARY KEY (k)){options}");
            client.run(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            client
                .run(&format!("INSERT INTO t VALUES ({first}, 1), ({second}, 2)"))
                .unwrap();
            let sql = format!("CREATE TABLE p (k {ty}, n INT, PRIMARY KEY (k, n)){options}");
            client.run(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            client
                .run(&format!(
                    "INSERT INTO p VALUES ({first}, 1), ({first}, 2), ({second}, 2)"
                ))
                .unwrap();
            for value in values() {
                let answer = ask_both(
                    &mut client,
                    "SELECT v, k FROM t WHERE k = $1",
                    std::slice::from_ref(&value),
                );
                found += answer.map_or(0, |rows| rows.len());
                let sql = "SELECT n, k FROM p WHERE k = $1 ORDER BY n";
                found += ask_both(&mut client, sql, &[value]).map_or(0, |rows| rows.len());
            }
        }
    }
    assert!(found > 100, "{found} rows");
}

#[test]
fn own_writes_families_and_definitions() {
    let mut client = Client::in_memory();
    client
        .run("CREATE TABLE t (a INT, b TEXT, c INT, far TEXT FAMILY f, PRIMARY KEY (a, b DESC))")
        .unwrap();
    client
        .run("INSERT INTO t VALUES (1, 'x', 10, 'far'), (1, 'y', NULL, NULL)")
        .unwrap();
    let queries = [
        "SELECT c FROM t WHERE a = $1 AND b = $2",
        "SELECT far, c, a, b FROM t WHERE b = $2 AND $1 = a",
        "SELECT * FROM t WHERE a = $1 AND b = $2 ORDER BY c LIMIT 1",
        "SELECT c FROM t WHERE a = $1 AND b = $2 LIMIT 0",
        "SELECT c FROM t WHERE a = $1 AND b = $2 OFFSET 1",
        "SELECT c FROM t WHERE a = $1 AND b = $2 AND c = 10",
        "SELECT count(*) FROM t WHERE a = $1 AND b = $2",
        "SELECT c FROM t WHERE a = $1 AND a = $1 AND b = $2",
        "SELECT c, b FROM t WHERE a = $1",
        "SELECT c FROM t WHERE a = $1 ORDER BY b",
        "SELECT far, c FROM t WHERE a = $1 ORDER BY b DESC LIMIT 1",
        "SELECT c FROM t WHERE a = $1 ORDER BY b OFFSET 1",
        "SELECT b FROM t WHERE a = $1 ORDER BY b LIMIT 0",
        "SELECT b FROM t WHERE a = $1 ORDER BY c, b LIMIT 1",
        "SELECT c FROM t WHERE a = $1 AND a = $1",
        "SELECT max(c), count(*) FROM t WHERE a = $1",
    ];
    let keys = [(1, "x"), (1, "y"), (2, "x"), (1, "")];
    let all = |client: &mut Client| -> Vec<Answer> {
        let mut answers = Vec::new();
        for sql in queries {
            for (a, b) in keys {
                answers.push(ask_both(client, sql, &[a.into(), b.into()]));
            }
        }
        answers
    };
    let committed = all(&mut client);
    assert_eq!(committed[0], Ok(vec![vec![Some("10".to_string())]]));

    client.run("BEGIN").unwrap();
    client.run("UPDATE t SET c = 11 WHERE a = 1 AND b = 'x'").unwrap();
    client.run("DELETE FROM t WHERE b = 'y'").unwrap();
    client.run("INSERT INTO t VALUES (2, 'x', 20, 'new')").unwrap();
    let own = all(&mut client);
    assert_eq!(own[0], Ok(vec![vec![Some("11".to_string())]]));
    assert_eq!(own[1], Ok(vec![]));
    client.run("ROLLBACK").unwrap();
    assert_eq!(all(&mut client), committed);

    client.run("ALTER TABLE t ADD COLUMN d INT DEFAULT 7").unwrap();
    client.run("ALTER TABLE t RENAME COLUMN far TO near").unwrap();
    let renamed = ask_both(
        &mut client,
        "SELECT d, near FROM t WHERE a = $1 AND b = $2",
        &[1.into(), "x".into()],
    );
    assert_eq!(
        renamed,
        Ok(vec![vec![Some("7".to_string()), Some("far".to_string())]])
    );
    assert_eq!(
        ask_both(&mut client, queries[1], &[1.into(), "x".into()]),
        Err("42703".to_string())
    );
    client.run("DROP TABLE t").unwrap();
    client
        .run("CREATE TABLE t (a INT, b TEXT, c TEXT, PRIMARY KEY (a, b))")
        .unwrap();
    client.run("INSERT INTO t VALUES (1, 'x', 'other')").unwrap();
    assert_eq!(
        ask_both(&mut client, queries[0], &[1.into(), "x".into()]),
        Ok(vec![vec![Some("other".to_string())]])
    );
}

#[test]
fn prefixes_of_every_length() {
    let mut client = Client::in_memory();
    for options in [
        "",
        " USING columnar",
        " WITH (SALT_BUCKETS = 4)",
        " WITH (TTL = 3600)",
    ] {
        client
            .run(&format!(
                "CREATE TABLE t (a INT, f BOOLEAN, g BOOLEAN, b INT, c TEXT, PRIMARY KEY (a, f, g, b)){options}"
            ))
            .unwrap();
        let rows = "SELECT v / 1500, v % 2 = 0, v % 4 < 2, v, 'c' || v FROM generate_series(0, 3099) AS s(v)";
        client.run(&format!("INSERT INTO t {rows}")).unwrap();
        client
            .run("INSERT INTO t VALUES (2147483647, true, true, 1, 'last')")
            .unwrap();
        let mut found = 0;
        for a in [0, 1, 2, 3, i32::MAX] {
            for sql in [
                "SELECT b, c FROM t WHERE a = $1 ORDER BY f, g, b",
                "SELECT b FROM t WHERE a = $1 AND f = true ORDER BY g, b LIMIT 1000",
                "SELECT b FROM t WHERE f AND a = $1 AND NOT g ORDER BY b DESC LIMIT 2000 OFFSET 3",
                "SELECT b FROM t WHERE a = $1 AND f ORDER BY g DESC, b DESC LIMIT 7",
                "SELECT b FROM t WHERE a = $1 AND f IS NOT TRUE ORDER BY g DESC, b LIMIT 7",
                "SELECT f, g FROM t WHERE a = $1 AND f = false AND g = true ORDER BY b OFFSET 5000",
            ] {
                found += ask_both(&mut client, sql, &[a.into()]).unwrap().len();
            }
        }
        assert!(found > 5000, "{found} rows of {options}");
        client.run("DROP TABLE t").unwrap();
    }
}

#[test]
fn an_index_that_begins_alike_is_still_chosen() {
    let mut client = Client::in_memory();
    client
        .run("CREATE TABLE t (a INT, b INT, c INT, PRIMARY KEY (a, b))")
        .unwrap();
    client
        .run("INSERT INTO t SELECT 1, v, -v FROM generate_series(1, 3000) AS s(v)")
        .unwrap();
    client.run("CREATE INDEX by_c ON t (a, c)").unwrap();
    for _ in 0..2 {
        let answer = ask_both(
            &mut client,
            "SELECT b FROM t WHERE a = $1 ORDER BY c LIMIT 1",
            &[1.into()],
        );
        assert_eq!(answer, Ok(vec![vec![Some("3000".to_string())]]));
        let stats = client.connection().last_query_stats().unwrap();
        assert!(stats.counters.keys_examined < 10, "{stats:?}");
    }
}

#[test]
fn a_point_read_says_what_it_did() {
    let mut client = Client::in_memory();
    client.run("CREATE TABLE t (a INT PRIMARY KEY, b INT)").unwrap();
    client.run("INSERT INTO t VALUES (1, 2)").unwrap();
    for _ in 0..2 {
        for (key, keys_examined) in [(1, 1), (5, 0)] {
            ask(&mut client, "auto", "SELECT b FROM t WHERE a = $1", &[key.into()]).unwrap();
            let stats = client.connection().last_query_stats().unwrap();
            assert_eq!(stats.path, rukh::RunPath::Direct);
            let counted = (
                stats.counters.ranges,
                stats.counters.seeks,
                stats.counters.keys_examined,
            );
            assert_eq!(counted, (1, 1, keys_examined));
        }
    }
    client
        .run("CREATE TABLE p (a INT, b INT, PRIMARY KEY (a, b))")
        .unwrap();
    client.run("INSERT INTO p VALUES (1, 2), (1, 3), (2, 4)").unwrap();
    for _ in 0..2 {
        for (key, keys_examined) in [(1, 2), (5, 0)] {
            ask(&mut client, "auto", "SELECT b FROM p WHERE a = $1", &[key.into()]).unwrap();
            let stats = client.connection().last_query_stats().unwrap();
            assert_eq!(stats.path, rukh::RunPath::Direct);
            let counters = stats.counters;
            assert_eq!((counters.ranges, counters.seeks), (1, 1));
            assert_eq!(
                (counters.keys_examined, counters.rows),
                (keys_examined, keys_examined)
            );
        }
    }
}
