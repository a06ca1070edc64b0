//! Definitions: what statements make, what they say when they are wrong, and that SHOW shows it all.

use std::sync::Arc;

use rukh_keys::Datum;
use rukh_kv::MemoryStore;

use crate::sql::session::{Session, Shared};
use rukh_error::SqlError;

fn session() -> Session {
    Shared::open(Arc::new(MemoryStore::new()), false)
        .expect("a store in memory opens")
        .session()
}

/// Runs a statement; returns its tag and its notices.
fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let outcome = session
        .execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let notices = outcome.notices.into_iter().map(|notice| notice.message);
    std::iter::once(outcome.tag).chain(notices).collect()
}

fn error(session: &mut Session, sql: &str) -> SqlError {
    session
        .execute(sql)
        .err()
        .unwrap_or_else(|| panic!("{sql} should fail"))
}

/// Returns rows as text, columns between bars.
fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let outcome = session
        .execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let mut rows = outcome.rows.expect("the statement gives rows");
    let types: Vec<_> = rows.columns().iter().map(|column| column.ty).collect();
    let mut found = Vec::new();
    while let Some(row) = rows.next_row().expect("rows can be read") {
        let value = |(datum, ty): (&Datum, &rukh_keys::DataType)| match datum {
            Datum::Null => "-".to_string(),
            datum => ty.format_text(datum),
        };
        let values: Vec<String> = row.iter().zip(&types).map(value).collect();
        found.push(values.join("|"));
    }
    found
}

fn definition(session: &mut Session, table: &str) -> String {
    let shown = rows(session, &format!("SHOW CREATE TABLE {table}"));
    shown[0]
        .split_once('|')
        .expect("table and statement")
        .1
        .to_string()
}

/// Tables with everything that a definition may have.
const TABLES: &[&str] = &[
    "CREATE TABLE t (a INTEGER PRIMARY KEY)",
    "CREATE TABLE t (a INTEGER, b VARCHAR(20) NOT NULL DEFAULT 'it''s', c TIMESTAMP DEFAULT now(), \
     PRIMARY KEY (b DESC, a)) SALT_BUCKETS = 16 ON (b), IMMUTABLE_ROWS = true",
    "CREATE TABLE t (url VARCHAR, at TIMESTAMPTZ, \"Mixed Case\" DECIMAL(10,2) DEFAULT 1.5, \"order\" BOOLEAN, \
     PRIMARY KEY (HASH(url, 8), at DESC))",
    "CREATE TABLE t (a CHAR(2), b DATE, c BYTEA FAMILY payload, d TEXT, PRIMARY KEY (a, b), \
     FAMILY other (d) COMPRESSION = 'zstd') SPLIT ON ('b', ('c', '2015-10-01'), 'a')",
    "CREATE TABLE t (a BINARY(2) PRIMARY KEY, b TIME(3), c UUID UNIQUE, UNIQUE (b, c)) SPLIT ON (x'10', x'20ff') SALT_BUCKETS = 4",
];

/// Indexes for the second table.
const INDEXES: &[&str] = &[
    "CREATE INDEX plain ON t (a DESC, c)",
    "CREATE UNIQUE INDEX \"Odd name\" ON t (c, a) INCLUDE (b)",
    "CREATE INDEX by_lower ON t (lower(b), (a % 10) DESC) WHERE a > 5 AND b LIKE 'x%'",
    "CREATE INDEX ON t (HASH(b, 8), c)",
];

#[test]
fn no_option_is_taken_with_a_warning() {
    let mut session = session();
    for sql in TABLES {
        let outcome = session.execute(sql).unwrap();
        assert_eq!(outcome.notices, [], "{sql}");
        run(&mut session, "DROP TABLE t");
    }
}

#[test]
fn show_create_table_makes_the_same_again() {
    for (position, sql) in TABLES.iter().enumerate() {
        let (mut one, mut two) = (session(), session());
        run(&mut one, sql);
        if position == 1 {
            INDEXES.iter().for_each(|index| drop(run(&mut one, index)));
        }
        let shown = definition(&mut one, "t");
        let split = crate::split_statements(&shown);
        assert!(split.rest.is_empty(), "{shown}");
        for statement in split.statements {
            run(&mut two, &shown[statement]);
        }
        assert_eq!(definition(&mut two, "t"), shown);
        let table = |session: &Session| {
            let catalog = session.engine().catalog();
            catalog
                .table_named("public", "t")
                .expect("it was just made")
                .clone()
        };
        assert_eq!(table(&two), table(&one), "{shown}");
    }
}

#[test]
fn definitions_print_as_written() {
    let mut session = session();
    run(&mut session, TABLES[1]);
    INDEXES.iter().for_each(|index| drop(run(&mut session, index)));
    let expected = "\
CREATE TABLE t (
    a INTEGER NOT NULL,
    b VARCHAR(20) NOT NULL DEFAULT 'it''s',
    c TIMESTAMP DEFAULT now(),
    PRIMARY KEY (b DESC, a)
) SALT_BUCKETS = 16 ON (b), IMMUTABLE_ROWS = true;
CREATE INDEX plain ON t (a DESC, c);
CREATE UNIQUE INDEX \"Odd name\" ON t (c, a) INCLUDE (b);
CREATE INDEX by_lower ON t (lower(b), (a % 10) DESC) WHERE a > 5 AND b LIKE 'x%';
CREATE INDEX t_b_hash_c_idx ON t (HASH(b, 8), c);";
    assert_eq!(definition(&mut session, "t"), expected);
    assert_eq!(
        rows(&mut session, "DESCRIBE t"),
        [
            "a|INTEGER|f|-|2 ASC|default",
            "b|VARCHAR(20)|f|'it''s'|1 DESC|default",
            "c|TIMESTAMP|t|now()|-|default",
        ]
    );
    assert_eq!(
        rows(&mut session, "SHOW INDEXES FROM t"),
        [
            "t|plain|f|a DESC, c|-|-|ready",
            "t|Odd name|t|c, a|b|-|ready",
            "t|by_lower|f|lower(b), (a % 10) DESC|-|a > 5 AND b LIKE 'x%'|ready",
            "t|t_b_hash_c_idx|f|HASH(b, 8), c|-|-|ready",
        ]
    );
    assert_eq!(rows(&mut session, "SHOW TABLES"), ["public|t|table|3|4|rows"]);
}

#[test]
fn show_tables_tells_what_a_columnar_table_has_beside_its_blocks() {
    let mut session = session();
    run(
        &mut session,
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) USING columnar",
    );
    let layout = |session: &mut Session| {
        let shown = rows(session, "SHOW TABLES").remove(0);
        let (rows, bytes) = shown.rsplit_once(" rows, ").expect("size comes last");
        assert!(bytes.contains(" bytes"), "{shown}");
        rows.to_string()
    };
    run(&mut session, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)");
    assert_eq!(
        layout(&mut session),
        "public|t|table|2|0|columnar: 0 blocks of 0 rows, 3 delta"
    );
    run(&mut session, "ALTER TABLE t REPACK");
    run(&mut session, "DELETE FROM t WHERE a = 2");
    assert_eq!(
        layout(&mut session),
        "public|t|table|2|0|columnar: 1 blocks of 3 rows, 1 delta"
    );
    run(&mut session, "CREATE VIEW v AS SELECT a FROM t");
    assert_eq!(rows(&mut session, "SHOW TABLES")[1], "public|v|view|1|0|-");
}

#[test]
fn what_is_dropped_under_a_statement_is_named() {
    use rukh_catalog::CatalogError;
    use rukh_engine::EngineError;
    use rukh_kv::KvError;
    let name = |name: &str| name.to_string();
    let storage = || KvError::UnknownTable { table: name("i7.c") };
    let catalog = || CatalogError::UnknownIndex {
        name: name("index 7"),
    };
    for error in [EngineError::Kv(storage()), EngineError::Catalog(catalog())] {
        let gone = CatalogError::UnknownTable { name: name("logs") };
        let error = super::alter::repack::repack_error(error, gone);
        assert_eq!(error.to_string(), "relation \"logs\" does not exist");
        assert_eq!(error.sqlstate, "42P01");
    }
    let error = SqlError::from(storage());
    let message = "a table or index that the statement uses was dropped meanwhile";
    assert_eq!((error.sqlstate, error.message.as_str()), ("55000", message));
    assert_eq!(error.detail.as_deref(), Some("Storage \"i7.c\" is not there."));
    let error = SqlError::from(KvError::Corruption {
        table: Some(name("i7.c")),
        key: None,
        message: name("block checksum mismatch"),
    });
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.starts_with("SHOW STATS shows"))
    );
}

#[test]
fn names_are_made_up_as_in_postgresql() {
    let mut session = session();
    run(
        &mut session,
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER UNIQUE, c TEXT, UNIQUE (b, c), CONSTRAINT own UNIQUE (c))",
    );
    run(&mut session, "CREATE INDEX ON t (b, c DESC)");
    run(&mut session, "CREATE INDEX ON t (b, c)");
    run(&mut session, "CREATE INDEX ON t (lower(c), (b + 1))");
    let names: Vec<String> = rows(&mut session, "SHOW INDEXES FROM t")
        .iter()
        .map(|row| row.split('|').nth(1).expect("a name").to_string())
        .collect();
    assert_eq!(
        names,
        [
            "t_b_key",
            "t_b_c_key",
            "own",
            "t_b_c_idx",
            "t_b_c_idx1",
            "t_lower_expr_idx"
        ]
    );
}

#[test]
fn existing_and_missing_names_are_notices_if_allowed() {
    let mut session = session();
    run(&mut session, "CREATE TABLE t (a INTEGER PRIMARY KEY)");
    run(&mut session, "CREATE INDEX i ON t (a)");
    let cases = [
        (
            "CREATE TABLE IF NOT EXISTS t (b TEXT PRIMARY KEY)",
            "relation \"t\" already exists, skipping",
        ),
        (
            "CREATE INDEX IF NOT EXISTS i ON t (a)",
            "relation \"i\" already exists, skipping",
        ),
        ("DROP TABLE IF EXISTS u", "table \"u\" does not exist, skipping"),
        ("DROP INDEX IF EXISTS j", "index \"j\" does not exist, skipping"),
    ];
    for (sql, notice) in cases {
        assert_eq!(run(&mut session, sql)[1..], [notice], "{sql}");
    }
    run(&mut session, "DROP INDEX i, i");
    run(&mut session, "DROP TABLE t, t");
    assert!(rows(&mut session, "SHOW TABLES").is_empty());
}

#[test]
fn wrong_definitions_say_what_and_where() {
    let mut session = session();
    run(
        &mut session,
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c DECIMAL(5,2))",
    );
    run(&mut session, "CREATE INDEX i ON t (b)");
    let cases = [
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY)",
            "42P07",
            "relation \"t\" already exists",
            14,
        ),
        (
            "CREATE TABLE i (a INTEGER PRIMARY KEY)",
            "42P07",
            "relation \"i\" already exists",
            14,
        ),
        (
            "CREATE TABLE s.u (a INTEGER PRIMARY KEY)",
            "3F000",
            "schema \"s\" does not exist",
            14,
        ),
        (
            "CREATE TABLE u (a INTEGER, a TEXT, PRIMARY KEY (a))",
            "42701",
            "column \"a\" specified more than once",
            28,
        ),
        (
            "CREATE TABLE u (a INTEGER, PRIMARY KEY (b))",
            "42703",
            "column \"b\" named in key does not exist",
            41,
        ),
        (
            "CREATE TABLE u (a INTEGER NULL PRIMARY KEY)",
            "42601",
            "conflicting NULL/NOT NULL declarations for column \"a\"",
            32,
        ),
        (
            "CREATE TABLE u (a INTEGER PRIMARY KEY, UNIQUE (b))",
            "42703",
            "column \"b\" named in key does not exist",
            48,
        ),
        (
            "CREATE TABLE u (a INTEGER PRIMARY KEY, FAMILY f (b))",
            "42703",
            "column \"b\" does not exist",
            50,
        ),
        (
            "CREATE TABLE u (a INTEGER PRIMARY KEY) SALT_BUCKETS = 4 ON (b)",
            "42703",
            "column \"b\" does not exist",
            61,
        ),
        (
            "CREATE TABLE u (a INTEGER PRIMARY KEY) SPLIT ON ('x')",
            "22P02",
            "invalid input syntax for type integer: \"x\"",
            50,
        ),
        (
            "CREATE TABLE u (a INTEGER PRIMARY KEY) SPLIT ON ((1, 2))",
            "42P16",
            "a SPLIT ON key must be a prefix of the primary key",
            50,
        ),
        (
            "CREATE TABLE u (a INTEGER DEFAULT 'x' PRIMARY KEY)",
            "22P02",
            "invalid input syntax for type integer: \"x\"",
            27,
        ),
        (
            "CREATE TABLE u (a INTEGER DEFAULT true PRIMARY KEY)",
            "42804",
            "column \"a\" is of type integer but expression is of type boolean",
            27,
        ),
        (
            "CREATE TABLE u (a INTEGER DEFAULT (SELECT 1) PRIMARY KEY)",
            "0A000",
            "cannot use subquery in DEFAULT expression",
            27,
        ),
        (
            "CREATE INDEX ON u (a)",
            "42P01",
            "relation \"u\" does not exist",
            17,
        ),
        (
            "CREATE INDEX i ON t (a)",
            "42P07",
            "relation \"i\" already exists",
            14,
        ),
        (
            "CREATE INDEX ON t (d)",
            "42703",
            "column \"d\" does not exist",
            20,
        ),
        (
            "CREATE INDEX ON t (lower(d))",
            "42703",
            "column \"d\" does not exist",
            20,
        ),
        (
            "CREATE INDEX ON t (a, a)",
            "42701",
            "column \"a\" specified more than once",
            17,
        ),
        (
            "CREATE INDEX ON t (a) INCLUDE (d)",
            "42703",
            "column \"d\" does not exist",
            32,
        ),
        (
            "CREATE INDEX ON t ((now()))",
            "42P17",
            "functions in index expression must be marked IMMUTABLE",
            20,
        ),
        (
            "CREATE INDEX ON t ((random()))",
            "0A000",
            "function random() in index expression is not supported",
            20,
        ),
        (
            "CREATE INDEX ON t ((SELECT 1))",
            "0A000",
            "cannot use subquery in index expression",
            20,
        ),
        (
            "CREATE INDEX ON t (a) WHERE b",
            "42804",
            "argument of WHERE must be type boolean, not type text",
            29,
        ),
        (
            "CREATE INDEX ON t (a) WHERE a > $1",
            "42P02",
            "cannot use parameters in index predicate",
            29,
        ),
        ("DROP TABLE i", "42809", "\"i\" is not a table", 12),
        ("DROP INDEX t", "42809", "\"t\" is not an index", 12),
        ("DROP TABLE t, u", "42P01", "table \"u\" does not exist", 15),
        ("DROP INDEX j", "42704", "index \"j\" does not exist", 12),
        ("TRUNCATE u", "42P01", "relation \"u\" does not exist", 10),
    ];
    for (sql, sqlstate, message, position) in cases {
        let error = error(&mut session, sql);
        let found = (error.sqlstate, error.message.as_str(), error.position);
        assert_eq!(found, (sqlstate, message, Some(position)), "{sql}");
    }
    assert_eq!(rows(&mut session, "SHOW TABLES"), ["public|t|table|3|1|rows"]);
}

#[test]
fn a_table_whose_unique_index_fails_is_not_left_behind() {
    let mut session = session();
    let sql = "CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT, CONSTRAINT u UNIQUE (b))";
    assert_eq!(error(&mut session, sql).sqlstate, "42P07");
    assert!(rows(&mut session, "SHOW TABLES").is_empty());
}

#[test]
fn truncate_empties_tables() {
    let mut session = session();
    run(&mut session, "CREATE TABLE t (a INTEGER PRIMARY KEY)");
    run(&mut session, "INSERT INTO t VALUES (1), (2)");
    assert_eq!(run(&mut session, "TRUNCATE t"), ["TRUNCATE TABLE"]);
    assert!(rows(&mut session, "SELECT a FROM t").is_empty());
}

#[test]
fn definitions_can_be_queried() {
    let mut session = session();
    run(&mut session, TABLES[1]);
    INDEXES.iter().for_each(|index| drop(run(&mut session, index)));
    let queries = [
        (
            "SELECT table_name, table_type FROM information_schema.tables",
            vec!["t|BASE TABLE"],
        ),
        (
            "SELECT column_name, data_type, is_nullable, character_maximum_length FROM information_schema.columns \
             ORDER BY ordinal_position",
            vec![
                "a|integer|NO|-",
                "b|character varying|NO|20",
                "c|timestamp without time zone|YES|-",
            ],
        ),
        (
            "SELECT constraint_name, constraint_type FROM information_schema.table_constraints ORDER BY 1",
            vec!["t_pkey|PRIMARY KEY"],
        ),
        (
            "SELECT column_name, ordinal_position FROM information_schema.key_column_usage \
             WHERE constraint_name = 't_pkey' ORDER BY 2",
            vec!["b|1", "a|2"],
        ),
        (
            "SELECT seq_in_index, column_name, expression, collation FROM information_schema.statistics \
             WHERE index_name = 'by_lower' ORDER BY 1",
            vec!["1|-|lower(b)|A", "2|-|a % 10|D"],
        ),
        (
            "SELECT indexname FROM pg_catalog.pg_indexes WHERE indexdef LIKE '%UNIQUE%'",
            vec!["t_pkey", "Odd name"],
        ),
        ("SELECT count(*) FROM information_schema.schemata", vec!["3"]),
    ];
    for (sql, expected) in queries {
        assert_eq!(rows(&mut session, sql), expected, "{sql}");
    }
}
