//! What several connections, threads and openings of one database see of each other.

#![allow(clippy::unwrap_used)]

use std::sync::Barrier;

use rukh::{DataType, Database, Datum, ErrorKind, Options, Value};
use rukh_testkit::client::{Client, table_of};

const LOGS: &str = "CREATE TABLE logs (host VARCHAR NOT NULL, n INTEGER NOT NULL, v BIGINT DEFAULT 7, \
                    PRIMARY KEY (host, n DESC))";
const BY_V: &str = "CREATE INDEX logs_by_v ON logs (v) INCLUDE (n) WHERE v > 0";

fn rows(client: &mut Client, sql: &str) -> Vec<Vec<Option<String>>> {
    client
        .query(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .rows
}

fn run(client: &mut Client, sql: &str) {
    client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn a_database_is_the_same_when_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let created = {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        run(&mut client, LOGS);
        run(&mut client, BY_V);
        run(
            &mut client,
            "INSERT INTO logs (host, n) VALUES ('a', 1), ('a', 2), ('b', 1)",
        );
        run(&mut client, "UPSERT INTO logs VALUES ('a', 2, -1)");
        rows(&mut client, "SHOW CREATE TABLE logs")
    };
    let database = Database::open(&path).unwrap();
    let mut client = Client::new(&database);
    assert_eq!(rows(&mut client, "SHOW CREATE TABLE logs"), created);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows(&mut client, "SELECT host, n, v FROM logs ORDER BY host, n DESC"),
        [
            [some("a"), some("2"), some("-1")],
            [some("a"), some("1"), some("7")],
            [some("b"), some("1"), some("7")]
        ]
    );
    assert_eq!(
        rows(&mut client, "SELECT n FROM logs WHERE v > 0 AND host = 'b'"),
        [[some("1")]]
    );
    client.check("logs").unwrap();
    run(&mut client, "DROP TABLE logs");
    drop((client, database));
    let database = Database::open(&path).unwrap();
    let error = Client::new(&database).run("SELECT * FROM logs").unwrap_err();
    assert_eq!(error.sqlstate, "42P01");
}

#[test]
fn altered_tables_are_the_same_when_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        for sql in [
            "CREATE TABLE t (k INT PRIMARY KEY, a INT, b TEXT CHECK (b <> 'no'), c TEXT FAMILY big, d INT GENERATED ALWAYS AS (a + 1) STORED)",
            "INSERT INTO t (k, a, b, c) VALUES (1, 1, 'x', 'c'), (2, 2, 'y', NULL)",
            "ALTER TABLE t ADD COLUMN e INT DEFAULT 7, ADD f TEXT FAMILY big, DROP COLUMN c",
            "CREATE INDEX t_e ON t (e, upper(b))",
            "ALTER TABLE t RENAME COLUMN b TO bb",
            "ALTER TABLE t RENAME TO u",
            "ALTER INDEX t_e RENAME TO u_e",
            "COMMENT ON TABLE u IS 'letters'",
            "COMMENT ON COLUMN u.bb IS 'a letter'",
            "COMMENT ON INDEX u_e IS 'by e'",
        ] {
            run(&mut client, sql);
        }
    }
    let database = Database::open(&path).unwrap();
    let mut client = Client::new(&database);
    run(
        &mut client,
        "INSERT INTO u (k, a, bb, e, f) VALUES (3, 3, 'z', 8, 'f')",
    );
    run(&mut client, "ALTER TABLE u ALTER COLUMN e SET DEFAULT 9");
    run(&mut client, "INSERT INTO u (k) VALUES (4)");
    let found = rows(&mut client, "SELECT k, a, bb, d, e, f FROM u ORDER BY k");
    let text = |values: [&str; 6]| {
        values
            .map(|value| Some(value).filter(|v| *v != "-").map(String::from))
            .to_vec()
    };
    assert_eq!(
        found,
        [
            text(["1", "1", "x", "2", "7", "-"]),
            text(["2", "2", "y", "3", "7", "-"]),
            text(["3", "3", "z", "4", "8", "f"]),
            text(["4", "-", "-", "-", "9", "-"]),
        ]
    );
    let comment = "SELECT column_comment FROM information_schema.columns WHERE column_name = 'bb'";
    assert_eq!(rows(&mut client, comment), [vec![Some("a letter".to_string())]]);
    let by_index = rows(&mut client, "SELECT k FROM u WHERE e = 7 AND upper(bb) = 'Y'");
    assert_eq!(by_index, [vec![Some("2".to_string())]]);
    let error = client.run("UPDATE u SET bb = 'no' WHERE k = 1").unwrap_err();
    assert_eq!(error.sqlstate, "23514");
    client.check("u").unwrap();
}

#[test]
fn sequences_give_no_number_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut given: Vec<i64> = Vec::new();
    let number = |client: &mut Client, sql: &str| -> i64 {
        let row = rows(client, sql).remove(0);
        row[0].as_ref().unwrap().parse().unwrap()
    };
    for round in 0..4 {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        if round == 0 {
            run(&mut client, "CREATE SEQUENCE s CACHE 5");
            run(
                &mut client,
                "CREATE TABLE t (id BIGSERIAL PRIMARY KEY, a INT DEFAULT nextval('s'))",
            );
        }
        // Several connections at once, each with numbers of its own in memory.
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let mut client = Client::new(&database);
                std::thread::spawn(move || {
                    let sql = "INSERT INTO t DEFAULT VALUES RETURNING a";
                    (0..20).map(|_| number(&mut client, sql)).collect::<Vec<_>>()
                })
            })
            .collect();
        for thread in threads {
            given.extend(thread.join().unwrap());
        }
        given.extend((0..40).map(|_| number(&mut client, "SELECT nextval('s')")));
    }
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    assert_eq!((given.len(), count), (400, 400));
    let database = Database::open(&path).unwrap();
    let mut client = Client::new(&database);
    assert_eq!(number(&mut client, "SELECT count(*) FROM t"), 240);
    let next = number(&mut client, "SELECT nextval('s')");
    assert!(next > given[399], "{next} comes after {}", given[399]);
    client.check("t").unwrap();
}

#[test]
fn views_are_the_same_when_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        for sql in [
            "CREATE TABLE t (k INT PRIMARY KEY, a TEXT)",
            "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
            "CREATE VIEW v (key, value) AS SELECT k * 10, a || '!' FROM t",
            "CREATE VIEW w AS SELECT value FROM v WHERE key > 10",
            "CREATE VIEW gone AS SELECT 1 AS one",
            "DROP VIEW gone",
        ] {
            run(&mut client, sql);
        }
    }
    let options = Options {
        read_only: true,
        ..Options::default()
    };
    let database = Database::open_with(&path, options).unwrap();
    let mut client = Client::new(&database);
    assert_eq!(
        rows(&mut client, "SELECT * FROM w"),
        [vec![Some("y!".to_string())]]
    );
    let error = client.run("SELECT * FROM gone").unwrap_err();
    assert_eq!(error.sqlstate, "42P01");
    let error = client.run("DROP VIEW w").unwrap_err();
    assert_eq!(error.sqlstate, "25006");
}

#[test]
fn a_read_only_database_refuses_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        run(&mut client, LOGS);
        run(&mut client, "INSERT INTO logs VALUES ('a', 1, 1)");
    }
    let options = Options {
        read_only: true,
        ..Options::default()
    };
    let database = Database::open_with(&path, options).unwrap();
    let mut client = Client::new(&database);
    for sql in [
        "INSERT INTO logs VALUES ('a', 2, 1)",
        "UPDATE logs SET v = 2",
        "DELETE FROM logs",
        "DROP TABLE logs",
        "CREATE TABLE t (a INTEGER PRIMARY KEY)",
        BY_V,
    ] {
        let error = client.run(sql).unwrap_err();
        assert_eq!(error.sqlstate, "25006", "{sql}: {error}");
    }
    assert_eq!(rows(&mut client, "SELECT v FROM logs"), [[Some("1".to_owned())]]);
}

#[test]
fn a_directory_that_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        create: false,
        ..Options::default()
    };
    let missing = Database::open_with(directory.path().join("nothing"), options)
        .err()
        .unwrap();
    assert_eq!(missing.kind, ErrorKind::Io, "{missing}");
    let file = directory.path().join("file");
    std::fs::write(&file, "text").unwrap();
    assert!(Database::open(&file).is_err());
}

#[test]
fn one_process_opens_a_database_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let _first = Database::open(&path).unwrap();
    let second = Database::open(&path).err().unwrap();
    assert_eq!(
        (second.kind, second.sqlstate),
        (ErrorKind::Io, "55006"),
        "{second}"
    );
}

#[test]
fn rows_that_are_being_read_do_not_change() {
    let database = Database::open_in_memory().unwrap();
    let (mut reader, mut writer) = (Client::new(&database), Client::new(&database));
    run(&mut writer, LOGS);
    run(
        &mut writer,
        "INSERT INTO logs SELECT 'a', g.value, g.value FROM generate_series(1, 5000) AS g(value)",
    );
    let mut reading = reader
        .connection()
        .query("SELECT n, v FROM logs ORDER BY host, n DESC")
        .unwrap();
    let first = reading.next_row().unwrap().unwrap();
    assert_eq!(first.get::<i32>(0).unwrap(), 5000);
    run(&mut writer, "DELETE FROM logs WHERE n % 2 = 0");
    run(&mut writer, "UPDATE logs SET v = 0");
    let rest = table_of(reading).unwrap();
    assert_eq!(rest.rows.len(), 4999);
    assert!(rest.rows.iter().all(|row| row[0] == row[1]));
    assert_eq!(
        rows(&mut reader, "SELECT count(*), sum(v) FROM logs"),
        [[Some("2500".to_owned()), Some("0".to_owned())]]
    );
}

#[test]
fn writers_take_turns_and_lose_nothing() {
    const WRITERS: usize = 4;
    const STATEMENTS: usize = 50;
    let database = Database::open_in_memory().unwrap();
    run(&mut Client::new(&database), LOGS);
    run(&mut Client::new(&database), BY_V);
    run(
        &mut Client::new(&database),
        "INSERT INTO logs VALUES ('sum', 0, 0)",
    );
    let start = Barrier::new(WRITERS);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (database, start) = (&database, &start);
            scope.spawn(move || {
                let mut client = Client::new(database);
                start.wait();
                for n in 0..STATEMENTS {
                    run(
                        &mut client,
                        &format!("INSERT INTO logs VALUES ('w{writer}', {n}, {n})"),
                    );
                    run(&mut client, "UPDATE logs SET v = v + 1 WHERE host = 'sum'");
                }
            });
        }
    });
    let mut client = Client::new(&database);
    let expected = Some((WRITERS * STATEMENTS).to_string());
    assert_eq!(
        rows(&mut client, "SELECT count(*) FROM logs WHERE host <> 'sum'"),
        [[expected.clone()]]
    );
    assert_eq!(
        rows(&mut client, "SELECT v FROM logs WHERE host = 'sum'"),
        [[expected]]
    );
    client.check("logs").unwrap();
}

#[test]
fn an_index_made_beside_a_writer_misses_nothing() {
    let database = Database::open_in_memory().unwrap();
    run(&mut Client::new(&database), LOGS);
    run(
        &mut Client::new(&database),
        "INSERT INTO logs SELECT 'a', g.value, g.value % 100 FROM generate_series(1, 20000) AS g(value)",
    );
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = Client::new(&database);
            start.wait();
            for n in 0..100 {
                run(
                    &mut client,
                    &format!(
                        "UPSERT INTO logs VALUES ('a', {}, {n}), ('b', {n}, {n})",
                        n * 150 + 1
                    ),
                );
                run(
                    &mut client,
                    &format!("DELETE FROM logs WHERE host = 'a' AND n = {}", n * 170 + 2),
                );
            }
        });
        start.wait();
        run(&mut Client::new(&database), BY_V);
    });
    Client::new(&database).check("logs").unwrap();
}

#[test]
fn a_cancelled_statement_ends_and_the_session_goes_on() {
    let database = Database::open_in_memory().unwrap();
    let mut client = Client::new(&database);
    run(&mut client, LOGS);
    run(
        &mut client,
        "INSERT INTO logs SELECT 'a', g.value, g.value FROM generate_series(1, 3000) AS g(value)",
    );
    let handle = client.connection().cancel_handle();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                handle.cancel();
                std::thread::yield_now();
            }
        });
        let error = client
            .run("SELECT count(*) FROM logs a, logs b, logs c, logs d WHERE a.v + b.v + c.v + d.v = 1")
            .unwrap_err();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(
            (error.kind, error.sqlstate),
            (ErrorKind::Cancelled, "57014"),
            "{error}"
        );
    });
    assert_eq!(
        rows(&mut client, "SELECT count(*) FROM logs"),
        [[Some("3000".to_owned())]]
    );
}

#[test]
fn a_join_that_computes_for_hours_is_cancelled_too() {
    let database = Database::open_in_memory().unwrap();
    let mut client = Client::new(&database);
    run(&mut client, LOGS);
    run(
        &mut client,
        "INSERT INTO logs SELECT 'a', g.value, g.value FROM generate_series(1, 3000) AS g(value)",
    );
    let handle = client.connection().cancel_handle();
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        // All rows are read long before; what is cancelled is the join.
        scope.spawn(|| {
            while started.elapsed() < std::time::Duration::from_millis(300) {
                std::thread::yield_now();
            }
            handle.cancel();
        });
        let error = client
            .run("SELECT count(*) FROM logs a, logs b, logs c, logs d WHERE a.v * b.v * c.v * d.v = 17")
            .unwrap_err();
        assert_eq!(
            (error.kind, error.sqlstate),
            (ErrorKind::Cancelled, "57014"),
            "{error}"
        );
    });
    assert_eq!(
        rows(&mut client, "SELECT count(*) FROM logs"),
        [[Some("3000".to_owned())]]
    );
}

#[test]
fn who_arms_a_handle_may_cancel_what_has_not_begun() {
    let mut client = Client::new(&Database::open_in_memory().unwrap());
    run(&mut client, LOGS);
    run(
        &mut client,
        "INSERT INTO logs SELECT 'a', g.value, g.value FROM generate_series(1, 3000) AS g(value)",
    );
    let slow = "SELECT count(*) FROM logs a, logs b, logs c, logs d WHERE a.v * b.v * c.v * d.v = 17";
    let handle = client.connection().cancel_handle();
    let armed = handle.arm();
    armed.cancel();
    assert_eq!(client.run(slow).unwrap_err().sqlstate, "57014");
    // It is still armed: what follows is cancelled with it.
    assert_eq!(client.run(slow).unwrap_err().sqlstate, "57014");
    drop(armed);
    run(
        &mut client,
        "SELECT count(*) FROM logs a, logs b WHERE a.v * b.v = 17",
    );
    handle.cancel();
    run(
        &mut client,
        "SELECT count(*) FROM logs a, logs b WHERE a.v * b.v = 17",
    );
}

#[test]
fn values_of_ten_megabytes_come_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("db")).unwrap();
    let mut client = Client::new(&database);
    run(
        &mut client,
        "CREATE TABLE files (id INTEGER PRIMARY KEY, name VARCHAR, cover BYTEA)",
    );
    run(&mut client, "CREATE INDEX files_by_name ON files (name)");
    let cover: Vec<u8> = (0..10_u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let connection = client.connection();
    let insert = connection
        .prepare("INSERT INTO files VALUES ($1, $2, $3)")
        .unwrap();
    for id in 0..3 {
        let parameters = [Value::from(id), Value::from("cover"), Value::from(cover.clone())];
        connection.execute_prepared(&insert, &parameters).unwrap();
    }
    let select = connection
        .prepare("SELECT cover FROM files WHERE id = $1")
        .unwrap();
    let mut found = connection.query_prepared(&select, &[Value::from(1_i32)]).unwrap();
    let row = found.next_row().unwrap().unwrap();
    assert!(row.get::<Vec<u8>>(0).unwrap() == cover);
    drop(found);
    assert_eq!(
        rows(
            &mut client,
            "SELECT count(*), sum(octet_length(cover)) FROM files"
        ),
        [[Some("3".to_owned()), Some((30_u32 << 20).to_string())]]
    );
    client.check("files").unwrap();
}

#[test]
fn prepared_statements_take_every_type_and_null() {
    let mut client = Client::in_memory();
    run(
        &mut client,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TINYINT, b DECIMAL(10, 2), c DATE, d TIMESTAMP, e UUID, \
         f CHAR(3), g BYTEA, h BOOLEAN, i REAL, j TIME(3))",
    );
    let types = [
        DataType::TinyInt,
        DataType::Decimal {
            precision: 10,
            scale: 2,
        },
        DataType::Date,
        DataType::TIMESTAMP,
        DataType::Uuid,
        DataType::Char(3),
        DataType::Varbinary(None),
        DataType::Boolean,
        DataType::Real,
        DataType::Time { precision: 3 },
    ];
    let texts = [
        "-5",
        "12.50",
        "2024-02-29",
        "2024-02-29 01:02:03.000004",
        "0f0e0d0c-0b0a-0908-0706-050403020100",
        "ab ",
        "\\x00ff",
        "t",
        "1.5",
        "01:02:03.004",
    ];
    let values: Vec<Value> = types
        .iter()
        .zip(texts)
        .map(|(ty, text)| Value::new(ty.parse_text(text).unwrap(), *ty))
        .collect();
    let insert = "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let statement = client.connection().prepare(insert).unwrap();
    let with_id = |id: i32, values: Vec<Value>| [vec![Value::from(id)], values].concat();
    client
        .connection()
        .execute_prepared(&statement, &with_id(1, values.clone()))
        .unwrap();
    let nulls = types.iter().map(|ty| Value::new(Datum::Null, *ty)).collect();
    client
        .connection()
        .execute_prepared(&statement, &with_id(2, nulls))
        .unwrap();
    let untyped = vec![Value::null(); types.len()];
    client
        .connection()
        .execute_prepared(&statement, &with_id(3, untyped))
        .unwrap();
    let table = client.query("SELECT * FROM t ORDER BY id").unwrap();
    let first: Vec<&str> = table.rows[0]
        .iter()
        .skip(1)
        .map(|value| value.as_deref().unwrap())
        .collect();
    assert_eq!(first, texts);
    assert!(
        table.rows[1..]
            .iter()
            .all(|row| row[1..].iter().all(Option::is_none))
    );
    for (column, value) in ('a'..='j').zip(values) {
        let sql = format!("SELECT id FROM t WHERE {column} = $1");
        let found = client
            .query_with(&sql, &[value])
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(found.rows, [[Some("1".to_owned())]], "{sql}");
        let found = client
            .query_with(&sql, &[Value::null()])
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(found.rows.is_empty(), "{sql} with NULL");
    }
}

#[test]
fn parameters_that_are_missing_are_an_error() {
    let mut client = Client::in_memory();
    run(&mut client, LOGS);
    let error = client
        .query_with("SELECT * FROM logs WHERE n = $1", &[])
        .unwrap_err();
    assert_eq!(error.sqlstate, "42P02", "{error}");
    let error = client.run("SELECT * FROM logs WHERE n = $1").unwrap_err();
    assert_eq!(error.sqlstate, "42P02", "{error}");
}

#[test]
fn errors_name_their_place() {
    let mut client = Client::in_memory();
    run(&mut client, LOGS);
    for (sql, sqlstate, position) in [
        ("SELECT host, nothing FROM logs", "42703", 14),
        ("SELECT * FROM nowhere", "42P01", 15),
        ("SELECT * FROM logs WHERE n = = 1", "42601", 30),
        ("SELECT é, nothing FROM (VALUES (1)) AS v(é)", "42703", 11),
        ("INSERT INTO logs (host, nothing) VALUES ('a', 1)", "42703", 25),
        ("SELECT nosuch(n) FROM logs", "42883", 8),
    ] {
        let error = client.run(sql).unwrap_err();
        assert_eq!(
            (error.sqlstate, error.position),
            (sqlstate, Some(position)),
            "{sql}: {error}"
        );
    }
}

#[test]
fn hints_that_are_not_understood_are_said() {
    let mut client = Client::in_memory();
    run(&mut client, LOGS);
    for (hint, part) in [
        ("NONSENSE", "nonsense"),
        ("INDEX(logs nothing)", "nothing"),
        ("INDEX(nowhere i)", "nowhere"),
        ("FULL_SCAN(nowhere)", "nowhere"),
    ] {
        let output = client
            .run(&format!("SELECT /*+ {hint} */ n FROM logs WHERE host = 'a'"))
            .unwrap();
        let said = output.notices.iter().any(|notice| notice.message.contains(part));
        assert!(said, "{hint}: {:?}", output.notices);
    }
    let output = client
        .run("SELECT /*+ FULL_SCAN */ n FROM logs WHERE host = 'a'")
        .unwrap();
    assert!(output.notices.is_empty(), "{:?}", output.notices);
}

#[test]
fn a_row_named_by_its_key_is_changed_without_a_plan() {
    let mut client = Client::in_memory();
    run(&mut client, LOGS);
    run(&mut client, BY_V);
    run(
        &mut client,
        "INSERT INTO logs SELECT 'a', g.x, g.x FROM generate_series(1, 100) AS g(x)",
    );
    let update = client
        .connection()
        .prepare("UPDATE logs SET v = v + $1 WHERE host = $2 AND n = $3")
        .unwrap();
    let parameters: [Value; 3] = [5_i64.into(), "a".into(), 7_i64.into()];
    let connection = client.connection();
    assert_eq!(
        connection.execute_prepared(&update, &parameters).unwrap().tag,
        "UPDATE 1"
    );
    let stats = connection.last_query_stats().unwrap();
    let read = (
        stats.counters.seeks,
        stats.counters.keys_examined,
        stats.counters.rows,
    );
    assert_eq!((stats.path, read), (rukh::RunPath::Direct, (1, 1, 1)));
    assert_eq!(rows(&mut client, "SELECT n FROM logs WHERE v = 12").len(), 2);
    let deleted = client.run("DELETE FROM logs WHERE n = 7 AND host = 'a'").unwrap();
    assert_eq!(deleted.tag, "DELETE 1");
    assert_eq!(client.last_stat("keys_examined").unwrap(), 1);
    // One column of the key is missing: a scan.
    run(&mut client, "UPDATE logs SET v = v + 1 WHERE host = 'a'");
    assert!(client.last_stat("keys_examined").unwrap() >= 99);
    client.check("logs").unwrap();
}

#[test]
fn additions_of_many_connections_lose_none() {
    const CONNECTIONS: i64 = 16;
    const ADDITIONS: i64 = 40;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let database = Database::open(&path).unwrap();
        let mut client = Client::new(&database);
        run(&mut client, "CREATE TABLE cells (k BIGINT PRIMARY KEY, c BIGINT)");
        run(&mut client, "CREATE INDEX cells_by_c ON cells (c)");
        run(&mut client, "INSERT INTO cells VALUES (0, 0), (1, 0)");
        let start = Barrier::new(CONNECTIONS as usize);
        std::thread::scope(|scope| {
            for connection in 0..CONNECTIONS {
                let (mut client, start) = (Client::new(&database), &start);
                scope.spawn(move || {
                    start.wait();
                    for n in 0..ADDITIONS {
                        // One cell for all, and one that every other addition goes to by a scan.
                        run(&mut client, "UPDATE cells SET c = c + 1 WHERE k = 0");
                        if n % 2 == connection % 2 {
                            run(&mut client, "UPDATE cells SET c = c + 1 WHERE k BETWEEN 1 AND 5");
                        }
                    }
                });
            }
        });
    }
    let mut client = Client::new(&Database::open(&path).unwrap());
    let sums = rows(&mut client, "SELECT c FROM cells ORDER BY k");
    let expected = [CONNECTIONS * ADDITIONS, CONNECTIONS * ADDITIONS / 2];
    assert_eq!(sums, expected.map(|sum| vec![Some(sum.to_string())]));
    client.check("cells").unwrap();
}
