//! Types of parameters and columns of statements, described before they are run.

use rukh::{Connection, DataType, Database, StatementKind};

const SCHEMA: [&str; 3] = [
    "CREATE TABLE t (id BIGINT PRIMARY KEY, small TINYINT, name VARCHAR(10), price DECIMAL(10,2), day DATE,
        token UUID, blob BYTEA, at TIMESTAMPTZ, flag BOOLEAN, f REAL)",
    "CREATE TABLE u (id BIGINT PRIMARY KEY, t_id BIGINT, note TEXT)",
    "CREATE VIEW v AS SELECT id, price FROM t",
];

fn connection() -> Connection {
    let database = Database::open_in_memory().unwrap();
    let mut connection = database.connect();
    for sql in SCHEMA {
        connection.execute(sql).unwrap();
    }
    connection
}

/// Returns the description as `types of parameters -> columns`.
fn described(connection: &mut Connection, sql: &str, given: &[Option<DataType>]) -> String {
    let statement = match connection.prepare(sql) {
        Ok(statement) => statement,
        Err(error) => return format!("{} {error}", error.sqlstate),
    };
    let described = match connection.describe(&statement, given) {
        Ok(described) => described,
        Err(error) => return format!("{} {error}", error.sqlstate),
    };
    let parameters: Vec<String> = described.parameters.iter().map(ToString::to_string).collect();
    let columns = match &described.columns {
        None => "nothing".to_string(),
        Some(columns) => {
            let columns = columns
                .iter()
                .map(|column| format!("{} {}", column.name, column.ty));
            columns.collect::<Vec<_>>().join(", ")
        }
    };
    format!("({}) -> {columns}", parameters.join(", "))
}

#[test]
fn statements_are_described() {
    let cases = [
        ("SELECT id, name FROM t", "() -> id BIGINT, name VARCHAR(10)"),
        ("SELECT id FROM t WHERE id = $1", "(BIGINT) -> id BIGINT"),
        (
            "SELECT id FROM t WHERE $1 = token AND small > $2",
            "(UUID, SMALLINT) -> id BIGINT",
        ),
        (
            "SELECT 1 AS one FROM t WHERE price BETWEEN $1 AND $2",
            "(DECIMAL(10,2), DECIMAL(10,2)) -> one INTEGER",
        ),
        (
            "SELECT id FROM t WHERE name IN ($1, $2) AND day < $3",
            "(VARCHAR, VARCHAR, DATE) -> id BIGINT",
        ),
        (
            "SELECT id FROM t WHERE blob = $1 OR at >= $2 OR f = $3",
            "(VARBINARY, TIMESTAMP WITH TIME ZONE, REAL) -> id BIGINT",
        ),
        (
            "SELECT t.id FROM t JOIN u ON t.id = u.t_id AND u.id = $1",
            "(BIGINT) -> id BIGINT",
        ),
        (
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE note = $1)",
            "(VARCHAR) -> id BIGINT",
        ),
        (
            "SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2",
            "(BIGINT, BIGINT) -> id BIGINT",
        ),
        (
            "SELECT $1::date AS d, CAST($2 AS INT) AS i",
            "(DATE, INTEGER) -> d DATE, i INTEGER",
        ),
        ("SELECT $1 AS p", "(VARCHAR) -> p VARCHAR"),
        (
            "SELECT price FROM v WHERE id = $1",
            "(BIGINT) -> price DECIMAL(10,2)",
        ),
        (
            "INSERT INTO t (id, name, price) VALUES ($1, $2, $3)",
            "(BIGINT, VARCHAR, DECIMAL(10,2)) -> nothing",
        ),
        (
            "INSERT INTO t (id, day) VALUES ($1, $2) RETURNING id, day",
            "(BIGINT, DATE) -> id BIGINT, day DATE",
        ),
        (
            "INSERT INTO u SELECT $1, id, $2 FROM t WHERE flag = $3",
            "(BIGINT, VARCHAR, BOOLEAN) -> nothing",
        ),
        (
            "INSERT INTO u VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET note = $4, t_id = excluded.t_id",
            "(BIGINT, BIGINT, VARCHAR, VARCHAR) -> nothing",
        ),
        (
            "UPSERT INTO u VALUES ($1, $2, $3)",
            "(BIGINT, BIGINT, VARCHAR) -> nothing",
        ),
        (
            "UPDATE t SET day = $1, small = small + 1 WHERE id = $2",
            "(DATE, BIGINT) -> nothing",
        ),
        (
            "UPDATE t SET name = $1 WHERE token = $2 RETURNING *, id + 1 AS next",
            "",
        ),
        (
            "DELETE FROM u WHERE note = $1 RETURNING id",
            "(VARCHAR) -> id BIGINT",
        ),
        (
            "EXPLAIN SELECT * FROM t WHERE id = $1",
            "(BIGINT) -> plan VARCHAR",
        ),
        ("BEGIN", "() -> nothing"),
        ("CREATE TABLE x (a INT PRIMARY KEY)", "() -> nothing"),
        ("SHOW statement_timeout", "() -> statement_timeout VARCHAR"),
        (
            "SELECT * FROM nowhere WHERE a = $1",
            "42P01 relation \"nowhere\" does not exist",
        ),
        ("SELECT nothing FROM t", "42703 column \"nothing\" does not exist"),
        (
            "INSERT INTO t (id, nothing) VALUES ($1, $2)",
            "42703 column \"nothing\" of relation \"t\" does not exist",
        ),
        (
            "INSERT INTO t (id) VALUES ($1, $2)",
            "42601 INSERT has more expressions than target columns",
        ),
        (
            "SELECT $99999",
            "54023 a statement takes at most 65535 parameters",
        ),
    ];
    let mut connection = connection();
    for (sql, expected) in cases {
        let found = described(&mut connection, sql, &[]);
        match expected {
            "" => assert!(
                found.starts_with("(VARCHAR, UUID) -> id BIGINT, small TINYINT, name VARCHAR(10)"),
                "{found}"
            ),
            expected => assert_eq!(found, expected, "{sql}"),
        }
        // The second time it is remembered.
        assert_eq!(described(&mut connection, sql, &[]), found, "{sql}");
    }
}

#[test]
fn types_that_are_given_hold() {
    let mut connection = connection();
    let given = [Some(DataType::Integer), None];
    let sql = "SELECT id FROM t WHERE id = $1 AND name = $2";
    assert_eq!(
        described(&mut connection, sql, &given),
        "(INTEGER, VARCHAR) -> id BIGINT"
    );
    assert_eq!(
        described(&mut connection, sql, &[]),
        "(BIGINT, VARCHAR) -> id BIGINT"
    );
}

#[test]
fn descriptions_follow_the_catalog() {
    let mut connection = connection();
    assert_eq!(
        described(&mut connection, "SELECT * FROM u", &[]),
        "() -> id BIGINT, t_id BIGINT, note VARCHAR"
    );
    connection.execute("ALTER TABLE u ADD COLUMN more INT").unwrap();
    let expected = "() -> id BIGINT, t_id BIGINT, note VARCHAR, more INTEGER";
    assert_eq!(described(&mut connection, "SELECT * FROM u", &[]), expected);
}

#[test]
fn a_wrong_name_aborts_the_transaction() {
    let mut connection = connection();
    connection.execute("BEGIN").unwrap();
    assert!(described(&mut connection, "SELECT * FROM nowhere", &[]).starts_with("42P01"));
    assert!(described(&mut connection, "SELECT * FROM u", &[]).starts_with("25P02"));
    connection.execute("ROLLBACK").unwrap();
}

#[test]
fn statements_are_of_a_kind() {
    let mut connection = connection();
    let cases = [
        ("SELECT 1", StatementKind::Read),
        ("SHOW TABLES", StatementKind::Read),
        ("EXPLAIN SELECT 1", StatementKind::Read),
        ("DELETE FROM t", StatementKind::Write),
        ("UPSERT INTO u VALUES (1)", StatementKind::Write),
        ("START TRANSACTION", StatementKind::Begin),
        ("ABORT", StatementKind::End),
        ("SAVEPOINT s", StatementKind::Transaction),
        ("SET statement_timeout = 0", StatementKind::Setting),
        ("RESET ALL", StatementKind::Setting),
        ("CREATE INDEX ON t (name)", StatementKind::Write),
        ("CREATE INDEX CONCURRENTLY ON t (name)", StatementKind::Alone),
        ("ANALYZE", StatementKind::Alone),
    ];
    for (sql, kind) in cases {
        assert_eq!(connection.prepare(sql).unwrap().kind(), kind, "{sql}");
    }
}

#[test]
fn char_is_shown_with_its_blanks_and_computed_with_without() {
    let mut connection = Database::open_in_memory().unwrap().connect();
    for sql in [
        "CREATE TABLE c (k INTEGER PRIMARY KEY, c CHAR(5))",
        "CREATE INDEX c_x ON c ((c || '!'))",
        "INSERT INTO c VALUES (1, 'ab'), (2, 'abcde'), (3, NULL), (4, 'é')",
        "UPDATE c SET c = c WHERE k = 1",
    ] {
        connection.execute(sql).unwrap();
    }
    for (sql, expected) in [
        ("SELECT c FROM c WHERE k = 1", vec![Some("ab   ")]),
        (
            "SELECT c FROM c ORDER BY k",
            vec![Some("ab   "), Some("abcde"), None, Some("é    ")],
        ),
        ("SELECT max(c) FROM c WHERE k = 1", vec![Some("ab   ")]),
        ("SELECT CAST('x' AS CHAR(3))", vec![Some("x  ")]),
        (
            "UPDATE c SET c = 'cd ' WHERE k = 4 RETURNING c",
            vec![Some("cd   ")],
        ),
        ("SELECT c || '|' FROM c WHERE k = 1", vec![Some("ab|")]),
        ("SELECT c::text FROM c WHERE c || '!' = 'ab!'", vec![Some("ab")]),
        ("SELECT length(c)::text FROM c WHERE c = 'ab   '", vec![Some("2")]),
        // What has one length keeps it.
        (
            "SELECT CASE WHEN k = 1 THEN c ELSE c END FROM c WHERE k = 1",
            vec![Some("ab   ")],
        ),
        ("SELECT coalesce(c, c) FROM c WHERE k = 1", vec![Some("ab   ")]),
        (
            "SELECT c FROM c WHERE k = 1 UNION ALL SELECT c FROM c WHERE k = 1",
            vec![Some("ab   "); 2],
        ),
        // What has several is a text.
        (
            "SELECT CASE WHEN k = 1 THEN c ELSE 'xyz' END FROM c WHERE k = 1",
            vec![Some("ab")],
        ),
        (
            "SELECT c FROM c WHERE k = 1 UNION ALL SELECT 'x'::varchar(9) ORDER BY 1",
            vec![Some("ab"), Some("x")],
        ),
        (
            "SELECT 'x'::varchar(9) AS x UNION ALL SELECT c FROM c WHERE k = 1 ORDER BY 1",
            vec![Some("ab"), Some("x")],
        ),
    ] {
        let rows = connection.query(sql).unwrap();
        let texts = rows.map(|row| row.unwrap().get::<Option<String>>(0).unwrap());
        let texts: Vec<Option<String>> = texts.collect();
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        assert_eq!(texts, expected, "{sql}");
    }
    let mut rows = connection.query("SELECT c FROM c ORDER BY k").unwrap();
    let batch = rows.next_batch().unwrap().expect("there are rows");
    let text = rukh::arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap();
    assert_eq!(text, "ab   ");
}
