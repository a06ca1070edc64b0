//! Texts run by their templates give what they give by themselves.

use std::sync::Arc;

use rukh_kv::MemoryStore;

use crate::exec::held::KnownTemplate;
use crate::sql::session::{Session, Shared};

const TABLE: &str = "CREATE TABLE t (a VARCHAR(5) NOT NULL, n INTEGER NOT NULL, d DATE, c CHAR(3), u UUID, \
     s SMALLINT, f DOUBLE, m DECIMAL(6,2), z TIMESTAMP, PRIMARY KEY (a, n DESC))";

const ROWS: &str = "INSERT INTO t VALUES \
     ('x', 1, '2024-01-01', 'ab', '00000000-0000-0000-0000-00000000000a', 3, 1.5, 1.25, '2024-01-01 10:00'), \
     ('x', 2, '2024-01-02', 'abc', NULL, -3, 2, 2, '2024-01-02 10:00:00.5'), \
     ('it''s', -1, NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('', 0, '2024-02-29', '', NULL, 0, 0, 0, NULL)";

fn session() -> Session {
    let shared = Shared::open(Arc::new(MemoryStore::new()), false).expect("memory opens");
    let mut session = shared.session();
    for sql in [TABLE, "CREATE INDEX t_by_d ON t (d, s)", ROWS] {
        session.execute(sql).expect("the table is made");
    }
    session
}

/// Prints a statement's rows, or its error.
fn answer(session: &mut Session, sql: &str) -> String {
    let mut lines = Vec::new();
    let mut rows = match session.execute(sql) {
        Err(error) => return format!("{} {} {:?}", error.sqlstate, error.message, error.position),
        Ok(outcome) => outcome.rows.expect("a query gives rows"),
    };
    loop {
        match rows.next_row() {
            Ok(Some(row)) => lines.push(format!("{row:?}")),
            Ok(None) => break,
            Err(error) => lines.push(format!("{} {}", error.sqlstate, error.message)),
        }
    }
    lines.sort();
    lines.join("\n")
}

fn has_plan(session: &Session) -> bool {
    session
        .templates
        .known
        .values()
        .any(|known| matches!(known, KnownTemplate::Planned(_, Some(_))))
}

/// Asks a shape with each of its values in turn, in one session, and compares every answer with
/// that of the general path; returns whether a template was planned.
fn ask(shape: &str, values: &[&str]) -> bool {
    let (mut session, mut general) = (session(), session());
    general
        .execute("SET execution_path = general")
        .expect("a setting");
    for value in values {
        let sql = shape.replace("%", value);
        assert_eq!(answer(&mut session, &sql), answer(&mut general, &sql), "{sql}");
    }
    has_plan(&session)
}

#[test]
fn literals_are_read_in_the_types_of_their_columns() {
    let words = [
        "'x'",
        "'it''s'",
        "''",
        "'longer than five'",
        "'x'",
        "5",
        "NULL",
        "'y'",
    ];
    let integers = [
        "1",
        "-1",
        "2147483648",
        "'1'",
        "1.0",
        "2",
        "'one'",
        "99999999999999999999",
        "- 1",
        "1",
    ];
    let days = [
        "'2024-01-01'",
        "'2024-02-29'",
        "'2024-02-30'",
        "'x'",
        "''",
        "DATE '2024-01-02'",
        "'2024-01-02'",
    ];
    let times = [
        "'2024-01-01 10:00'",
        "'2024-01-02 10:00:00.5'",
        "'2024-01-02'",
        "'25:00'",
    ];
    let doubles = [
        "1.5",
        "2",
        "0.0",
        "-1.5",
        "- 1.5",
        "1.50",
        "'2'",
        "1e0",
        "123456789012345678.5",
    ];
    let decimals = [
        "1.25",
        "2",
        "1.250",
        "2.001",
        "-1.25",
        "99999.99",
        "'2'",
        "1.2",
        "12345678901234567890.5",
    ];
    let patterns = [
        "'x%'", "'it%'", "'%'", "''", "'x'", "'_'", "'it''%'", "'%s'", "'x\\%'", "'\\'", "'a\\_b'", "5",
        "'x%'",
    ];
    let uuids = [
        "'00000000-0000-0000-0000-00000000000A'",
        "'{00000000-0000-0000-0000-00000000000a}'",
        "'x'",
    ];
    for (shape, values) in [
        ("SELECT * FROM t WHERE a = %", &words[..]),
        ("SELECT n, f FROM t WHERE a = 'x' AND n = %", &integers[..]),
        ("SELECT n FROM t WHERE n > % ORDER BY a DESC, n", &integers[..]),
        ("SELECT a FROM t WHERE d = %", &days[..]),
        ("SELECT a FROM t WHERE d BETWEEN '2024-01-01' AND %", &days[..]),
        ("SELECT a FROM t WHERE a = 'x' AND z >= %", &times[..]),
        ("SELECT a FROM t WHERE (a, n) > ('x', %)", &integers[..]),
        (
            "SELECT a FROM t WHERE a = 'x' AND substr(a, 1, 1) = %",
            &["'x'", "'i'", "''", "5"][..],
        ),
        (
            "SELECT a FROM t WHERE a = 'x' AND date_trunc('day', z) = %",
            &times[..],
        ),
        (
            "SELECT a FROM t WHERE d >= DATE %",
            &[
                "'2024-01-01'",
                "'2024-01-02'",
                "'2024-02-30'",
                "'x'",
                "'2024-02-29'",
            ][..],
        ),
        (
            "SELECT a FROM t WHERE a = 'x' AND z > TIMESTAMP %",
            &[
                "'2024-01-01 10:00'",
                "'2024-01-02'",
                "'25:00'",
                "'2023-12-31 23:59:59.999999'",
            ][..],
        ),
        ("SELECT a, n FROM t WHERE a = 'x' AND f = %", &doubles[..]),
        ("SELECT a, n FROM t WHERE f > %", &doubles[..]),
        ("SELECT a, n FROM t WHERE a = 'x' AND m = %", &decimals[..]),
        ("SELECT a, n FROM t WHERE m <= %", &decimals[..]),
        ("SELECT a, n FROM t WHERE a LIKE %", &patterns[..]),
        ("SELECT a, n FROM t WHERE a NOT LIKE % AND n < 9", &patterns[..]),
        ("SELECT a, n FROM t WHERE a ILIKE %", &patterns[..]),
        ("SELECT a, n FROM t WHERE a = 'x' AND u = %", &uuids[..]),
        ("SELECT a FROM t WHERE a IN ('x', %) AND n < 7", &words[..]),
        (
            "SELECT a FROM t WHERE a = 'x' AND NOT (n = % OR n = 2)",
            &integers[..],
        ),
        ("SELECT count(*) FROM t WHERE a = 'x' AND n >= %", &integers[..]),
        (
            "SELECT a, n FROM t WHERE a = 'x' AND s <> % LIMIT 1",
            &["3", "-3", "40000", "0"][..],
        ),
        (
            "SELECT a, n FROM t WHERE a = 'x' AND c = %",
            &["'ab'", "'abc'", "'ab '", "'abcd'", "''"][..],
        ),
    ] {
        assert!(ask(shape, values), "{shape} has no template");
    }
}

#[test]
fn what_is_no_column_beside_a_literal_has_no_plan() {
    for (shape, values) in [
        // DataFusion makes LIKE of it where the prefix is known, and of a parameter not.
        (
            "SELECT a FROM t WHERE a = 'x' AND starts_with(a, %)",
            &["'x'", "'i'", "''"][..],
        ),
        (
            "SELECT a FROM t WHERE a = 'x' AND z > now() - INTERVAL %",
            &["'1 day'", "'2 days'", "'1 day'"][..],
        ),
        ("SELECT a FROM t WHERE % = %", &["1", "2", "2"][..]),
        ("SELECT a FROM t ORDER BY %", &["1", "2", "1"][..]),
        ("SELECT a FROM nosuch WHERE a = %", &["'x'", "'y'", "'z'"][..]),
        ("SELECT a FROM t WHERE nosuch = %", &["'x'", "'y'", "'z'"][..]),
    ] {
        assert!(!ask(shape, values), "{shape} has a template");
    }
}

#[test]
fn a_plan_is_made_anew_when_definitions_change() {
    let mut session = session();
    let ask = |session: &mut Session, n: i32| {
        answer(session, &format!("SELECT s FROM t WHERE a = 'x' AND n = {n}"))
    };
    let answers: Vec<String> = [1, 2, 1].map(|n| ask(&mut session, n)).to_vec();
    assert!(has_plan(&session));
    session
        .execute("CREATE INDEX t_by_n ON t (n) INCLUDE (s)")
        .expect("an index is made");
    assert_eq!([1, 2, 1].map(|n| ask(&mut session, n)).to_vec(), answers);
    session.execute("DROP TABLE t").expect("the table is dropped");
    assert!(ask(&mut session, 1).starts_with("42P01"), "the table is gone");
}
