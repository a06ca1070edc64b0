//! Queries, writes, COPY and everything else, read right and refused.

use super::summary::*;

#[test]
fn merge() {
    check(&[
        (
            "MERGE INTO t AS x USING s ON x.a = s.a WHEN MATCHED AND s.b > 1 THEN UPDATE SET b = s.b \
             WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) WHEN MATCHED THEN DO NOTHING",
            "merge t AS x using s on x.a = s.a: Matched and s.b > 1: update b = s.b; \
             NotInTarget: insert (a) (s.a); Matched: nothing;",
        ),
        (
            "MERGE INTO t USING (SELECT 1 AS a) s ON true WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING *",
            "merge t using (SELECT 1 AS a) s on true: NotInSource: delete; returning *",
        ),
    ]);
    check_errors(&[
        (
            "MERGE INTO t USING s ON true WHEN MATCHED THEN INSERT VALUES (1)",
            "42601",
            "syntax error at or near \"INSERT\"",
            48,
        ),
        (
            "MERGE t USING s ON true",
            "42601",
            "syntax error at or near \"t\"",
            7,
        ),
    ]);
}

#[test]
fn queries_and_writes() {
    check(&[
        ("select 1;", "query SELECT 1"),
        (
            "(SELECT 1) UNION ALL SELECT 2",
            "query (SELECT 1) UNION ALL SELECT 2",
        ),
        ("VALUES (1, 'a')", "query VALUES (1, 'a')"),
        (
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "query WITH x AS (SELECT 1) SELECT * FROM x",
        ),
        (
            "SELECT /*+ INDEX(t i) */ a FROM t",
            "query SELECT /*+ INDEX(t i) */ a FROM t",
        ),
        (
            "SELECT a FROM t TABLESAMPLE BERNOULLI (1)",
            "query SELECT a FROM t TABLESAMPLE BERNOULLI (1)",
        ),
        (
            "SELECT a FROM t FETCH FIRST 3 ROWS ONLY",
            "query SELECT a FROM t LIMIT 3",
        ),
        (
            "SELECT a FROM t OFFSET 2 ROWS FETCH NEXT ROW ONLY",
            "query SELECT a FROM t LIMIT 1 OFFSET 2 ROWS",
        ),
        (
            "SELECT a FROM t WHERE (a, b) > (1, 2) LIMIT 5",
            "query SELECT a FROM t WHERE (a, b) > (1, 2) LIMIT 5",
        ),
        (
            "SELECT E'a\\tb', $$x$y$$, U&'\\0041', 0xff, 1_000, 1e3, 1e300",
            "query SELECT 'a\tb', 'x$y', 'A', 255, 1000, 1000.0, 1e300",
        ),
        (
            "SELECT a::varchar(3), CAST(b AS CHAR(2)), UUID 'x', c::uuid, d::int FROM t",
            "query SELECT a::VARCHAR(3), CAST(b AS CHAR(2)), UUID 'x', c::UUID, d::INT FROM t",
        ),
        (
            "SELECT x'00FF', a::text, path FROM t",
            "query SELECT X'00FF', a::TEXT, path FROM t",
        ),
        (
            "SELECT a FROM t WHERE a>-1 AND b=$1",
            "query SELECT a FROM t WHERE a > -1 AND b = $1",
        ),
        (
            "INSERT INTO t VALUES (1, DEFAULT)",
            "INSERT INTO t VALUES (1, DEFAULT)",
        ),
        (
            "INSERT INTO t (a, b) SELECT 1, 2 ON CONFLICT DO NOTHING",
            "INSERT INTO t (a, b) SELECT 1, 2 ON CONFLICT DO NOTHING",
        ),
        ("INSERT INTO t DEFAULT VALUES", "INSERT INTO t DEFAULT VALUES"),
        (
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
            "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
        ),
        (
            "UPSERT INTO t (a, b) VALUES (1, 2)",
            "upsert as INSERT INTO t (a, b) VALUES (1, 2)",
        ),
        (
            "UPSERT INTO t VALUES (1) ON DUPLICATE KEY IGNORE",
            "upsert as INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        ),
        (
            "upsert into t select * from u returning a",
            "upsert as INSERT INTO t SELECT * FROM u RETURNING a",
        ),
        (
            "UPDATE t SET a = 1, b = a + 1 WHERE c IN (1, 2)",
            "UPDATE t SET a = 1, b = a + 1 WHERE c IN (1, 2)",
        ),
        ("UPDATE statistics SET a = 1", "UPDATE statistics SET a = 1"),
        (
            "DELETE FROM t WHERE a = 1 RETURNING *",
            "DELETE FROM t WHERE a = 1 RETURNING *",
        ),
    ]);
}

#[test]
fn clauses_that_would_be_ignored() {
    let cases = [
        ("SELECT (SELECT 1 FOR UPDATE)", "FOR UPDATE is not supported"),
        (
            "SELECT * FROM (SELECT 1 FOR SHARE) x",
            "FOR SHARE is not supported",
        ),
        (
            "SELECT * FROM (SELECT 1 INTO t) s",
            "SELECT INTO is not supported",
        ),
        ("SELECT 1 DISTRIBUTE BY a", "DISTRIBUTE BY is not supported"),
        ("SELECT a COLLATE \"de_DE\" FROM t", "COLLATE is not supported"),
        (
            "SELECT 1 FETCH FIRST 2 ROWS WITH TIES",
            "WITH TIES cannot be specified without ORDER BY clause",
        ),
        (
            "SELECT 1 FETCH FIRST 2 PERCENT ROWS ONLY",
            "FETCH … PERCENT is not supported",
        ),
        ("FROM t", "syntax error at or near \"FROM\""),
        (
            "SELECT * FROM (WITH x AS (DELETE FROM t RETURNING a) SELECT 1) y",
            "WITH clause containing a data-modifying statement must be at the top level",
        ),
        (
            "WITH x AS (DELETE FROM t), y AS (SELECT * FROM x) SELECT 1",
            "WITH query \"x\" does not have a RETURNING clause",
        ),
        (
            "WITH x AS (SELECT 1), x AS (DELETE FROM t) SELECT 1",
            "WITH query name \"x\" specified more than once",
        ),
        (
            "INSERT OR REPLACE INTO t VALUES (1)",
            "INSERT OR, OVERWRITE, PARTITION and OUTPUT are not supported",
        ),
        (
            "INSERT t VALUES (1)",
            "INSERT must be followed by INTO and a table",
        ),
        (
            "UPSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1",
            "UPSERT … ON CONFLICT is not supported",
        ),
        (
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
            "INSERT … ON DUPLICATE KEY is not supported",
        ),
        (
            "UPDATE t SET a = 1 LIMIT 1",
            "UPDATE … ORDER BY and LIMIT are not supported",
        ),
        (
            "DELETE FROM t LIMIT 1",
            "DELETE … ORDER BY and LIMIT are not supported",
        ),
        (
            "SELECT * FROM t WITH ORDINALITY",
            "WITH ORDINALITY is not supported",
        ),
        ("SELECT B'01'", "bit strings are not supported"),
    ];
    for (sql, message) in cases {
        assert_eq!(parse(sql).expect_err(sql).message, message, "{sql}");
    }
}

#[test]
fn utility_statements() {
    check(&[
        (
            "CREATE TYPE S.mood AS ENUM ('sad', 'it''s')",
            "enum s.mood (sad, it's)",
        ),
        ("CREATE TYPE mood AS ENUM ()", "enum mood ()"),
        (
            "CREATE TYPE s.place AS (street TEXT, at POINTS[])",
            "record s.place (street VARCHAR, at points[])",
        ),
        ("CREATE TYPE nothing AS ()", "record nothing ()"),
        (
            "ALTER TYPE place ADD ATTRIBUTE zip INT CASCADE, DROP ATTRIBUTE IF EXISTS a RESTRICT, ALTER ATTRIBUTE b SET DATA TYPE BIGINT",
            "record place add zip INTEGER, drop if exists a, type b BIGINT",
        ),
        (
            "ALTER TYPE place RENAME ATTRIBUTE a TO b",
            "record place rename a to b",
        ),
        (
            "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'a' BEFORE 'b'",
            "type mood add if not exists a before b",
        ),
        (
            "ALTER TYPE mood ADD VALUE 'a' AFTER 'b'",
            "type mood add a after b",
        ),
        (
            "ALTER TYPE mood RENAME VALUE 'a' TO 'b'",
            "type mood rename a to b",
        ),
        (
            "DROP TYPE IF EXISTS a, s.b CASCADE",
            "drop types a, s.b if exists cascade",
        ),
        (
            "CREATE DOMAIN s.d AS INT DEFAULT 1 + 2 NOT NULL CONSTRAINT c CHECK (VALUE > 0) CHECK (VALUE < 9)",
            "domain s.d INTEGER not null default 1 + 2 check c(VALUE > 0) check (VALUE < 9)",
        ),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1;'",
            "function f() -> INTEGER Volatile SELECT 1",
        ),
        (
            "CREATE OR REPLACE FUNCTION s.f(a int, b double precision = 1, timestamp with time zone, IN c character varying(3) DEFAULT 'x') \
             RETURNS SETOF mood IMMUTABLE COST 10 STRICT PARALLEL SAFE AS $$SELECT a$$ LANGUAGE 'SQL'",
            "replace function s.f(a INTEGER, b DOUBLE = 1, TIMESTAMP WITH TIME ZONE, c VARCHAR(3) = 'x') -> set of mood Immutable strict SELECT a",
        ),
        (
            "CREATE FUNCTION f(int[]) RETURNS TABLE (a int, b text) STABLE CALLED ON NULL INPUT RETURN $1 + 1",
            "function f(INTEGER[]) -> table a INTEGER, b VARCHAR Stable SELECT $1 + 1",
        ),
        (
            "DROP FUNCTION IF EXISTS f, s.g(int, b text), h() CASCADE",
            "drop functions f, s.g(INTEGER, VARCHAR), h() if exists cascade",
        ),
        (
            "ALTER FUNCTION f(int) RENAME TO g",
            "function f(INTEGER) rename g",
        ),
        ("ALTER FUNCTION f SET SCHEMA s", "function f schema s"),
        ("ALTER FUNCTION f() OWNER TO ann", "function f() owner ann"),
        ("CREATE DOMAIN d mood", "domain d mood"),
        ("CREATE DOMAIN d VARCHAR(3) NULL", "domain d VARCHAR(3) null"),
        ("ALTER DOMAIN d SET DEFAULT 'a'", "domain d default 'a'"),
        ("ALTER DOMAIN d DROP DEFAULT", "domain d no default"),
        ("ALTER DOMAIN d SET NOT NULL", "domain d not null"),
        ("ALTER DOMAIN d DROP NOT NULL", "domain d null"),
        (
            "ALTER DOMAIN d ADD CONSTRAINT c CHECK (VALUE <> '') NOT VALID",
            "domain d add check c(VALUE <> '') not valid",
        ),
        (
            "ALTER DOMAIN d ADD CHECK (VALUE <> '')",
            "domain d add check (VALUE <> '')",
        ),
        (
            "ALTER DOMAIN d DROP CONSTRAINT IF EXISTS c CASCADE",
            "domain d drop c if exists",
        ),
        (
            "ALTER DOMAIN d RENAME CONSTRAINT c TO e",
            "domain d rename c to e",
        ),
        ("ALTER DOMAIN d VALIDATE CONSTRAINT c", "domain d validate c"),
        ("DROP DOMAIN d RESTRICT", "drop domains d"),
        ("DROP TABLE a, S.b", "drop table a s.b"),
        ("DROP TABLE IF EXISTS a RESTRICT", "drop table if exists a"),
        ("DROP INDEX CONCURRENTLY IF EXISTS i", "drop index if exists i"),
        ("TRUNCATE TABLE a, b", "truncate a b"),
        ("TRUNCATE a CONTINUE IDENTITY", "truncate a"),
        ("EXPLAIN SELECT 1", "explain Text: query SELECT 1"),
        ("EXPLAIN (SELECT 1)", "explain Text: query (SELECT 1)"),
        (
            "EXPLAIN ((SELECT 1) UNION SELECT 2)",
            "explain Text: query (SELECT 1 UNION SELECT 2)",
        ),
        (
            "EXPLAIN ANALYZE VERBOSE SELECT 1",
            "explain analyze Text: query SELECT 1",
        ),
        (
            "EXPLAIN (ANALYZE, COSTS OFF, FORMAT json) SELECT 1",
            "explain analyze Json: query SELECT 1",
        ),
        (
            "EXPLAIN (ALTERNATIVES, FORMAT json) SELECT 1",
            "explain alternatives Json: query SELECT 1",
        ),
        (
            "EXPLAIN (ANALYZE false) FORMAT TEXT UPSERT INTO t VALUES (1)",
            "explain Text: upsert as INSERT INTO t VALUES (1)",
        ),
        ("SHOW TABLES", "show tables"),
        ("SHOW INDEXES", "show indexes of all"),
        ("SHOW INDEX FROM t", "show indexes of t"),
        ("SHOW INDEXES ON s.t", "show indexes of s.t"),
        ("SHOW CREATE TABLE \"T\"", "show create T"),
        ("SHOW COLUMNS FROM t", "show columns of t"),
        ("DESCRIBE t", "show columns of t"),
        ("desc table t;", "show columns of t"),
        ("SHOW LAST QUERY STATS", "show stats"),
        ("SHOW ALL", "show all"),
        ("SHOW TimeZone", "show timezone"),
        ("SHOW TIME ZONE", "show timezone"),
        ("SHOW rukh.x", "show rukh.x"),
        ("CHECK TABLE t", "check table t"),
        ("CHECK INDEX s.i", "check index s.i"),
        ("ANALYZE", "analyze all"),
        ("ANALYZE VERBOSE t", "analyze t"),
        ("UPDATE STATISTICS t;", "analyze t"),
        ("UPDATE STATISTICS s.t", "analyze s.t"),
        ("SET x = 5", "set x = Some(\"5\")"),
        ("SET SESSION a.B TO 'Off'", "set a.b = Some(\"Off\")"),
        ("SET LOCAL x = on", "set local x = Some(\"on\")"),
        ("SET x = -1.5", "set x = Some(\"-1.5\")"),
        (
            "SET search_path TO a, 'B'",
            "set search_path = Some(\"a, \\\"B\\\"\")",
        ),
        ("SET x = DEFAULT", "set x = None"),
        ("SET TIME ZONE 'UTC'", "set timezone = Some(\"UTC\")"),
        ("SET NAMES 'UTF8'", "set client_encoding = Some(\"UTF8\")"),
        ("RESET x", "reset x"),
        ("RESET ALL", "reset all"),
        ("BEGIN", "begin"),
        ("BEGIN WORK", "begin"),
        (
            "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
            "start isolation read write",
        ),
        (
            "BEGIN TRANSACTION READ WRITE ISOLATION LEVEL READ COMMITTED NOT DEFERRABLE READ ONLY",
            "begin isolation read only",
        ),
        ("COMMIT WORK", "commit"),
        ("END", "commit"),
        ("END AND NO CHAIN", "commit"),
        ("COMMIT AND CHAIN", "commit and chain"),
        ("ROLLBACK TRANSACTION", "rollback"),
        ("ABORT", "rollback"),
        ("ROLLBACK WORK AND CHAIN", "rollback and chain"),
        ("SAVEPOINT Here", "savepoint here"),
        ("RELEASE \"Here\"", "release Here"),
        ("RELEASE SAVEPOINT s", "release s"),
        ("ROLLBACK TO s", "rollback to s"),
        ("ROLLBACK WORK TO SAVEPOINT s", "rollback to s"),
        (
            "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            "set transaction isolation",
        ),
        ("SET LOCAL TRANSACTION READ ONLY", "set transaction read only"),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, DEFERRABLE",
            "set characteristics read only",
        ),
    ]);
}

#[test]
fn utility_errors() {
    check_errors(&[
        ("", "42601", "syntax error at end of input", 1),
        (" ; ", "42601", "syntax error at or near \";\"", 2),
        ("FOO BAR", "42601", "syntax error at or near \"FOO\"", 1),
        (
            "SELECT 1; SELECT 2",
            "42601",
            "syntax error at or near \"SELECT\"",
            11,
        ),
        ("CLUSTER t", "0A000", "CLUSTER is not supported", 1),
        (
            "GRANT u TO v WITH GRANT OPTION",
            "42601",
            "syntax error at or near \"GRANT\"",
            19,
        ),
        ("DROP TRIGGER v", "0A000", "DROP TRIGGER is not supported", 1),
        (
            "CREATE TYPE v AS RANGE (subtype = int4)",
            "0A000",
            "CREATE TYPE makes enums and composite types: AS ENUM ('label', …), AS (field type, …)",
            18,
        ),
        (
            "CREATE TYPE v AS ENUM (a)",
            "42601",
            "syntax error at or near \"a\"",
            24,
        ),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN END'",
            "0A000",
            "language \"plpgsql\" is not supported",
            42,
        ),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2'",
            "0A000",
            "the body of a function is one query: several statements, or none, are not supported",
            49,
        ),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DROP TABLE t'",
            "0A000",
            "the body of a function is a query: other statements are not supported",
            49,
        ),
        (
            "CREATE FUNCTION f(OUT a int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "0A000",
            "OUT parameters are not supported",
            19,
        ),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql LANGUAGE sql AS 'SELECT 1'",
            "42601",
            "conflicting or redundant options",
            46,
        ),
        (
            "CREATE FUNCTION f() RETURNS int SECURITY DEFINER AS 'SELECT 1'",
            "0A000",
            "SECURITY DEFINER is not supported",
            33,
        ),
        (
            "CREATE DOMAIN d INT NULL NOT NULL",
            "42601",
            "conflicting NULL/NOT NULL constraints",
            26,
        ),
        (
            "CREATE DOMAIN d INT CONSTRAINT c DEFAULT 1",
            "42601",
            "syntax error at or near \"DEFAULT\"",
            34,
        ),
        (
            "ALTER TYPE v ADD VALUE 'a' BEHIND 'b'",
            "42601",
            "syntax error at or near \"BEHIND\"",
            28,
        ),
        ("DROP TABLE t,", "42601", "syntax error at end of input", 14),
        (
            "EXPLAIN DROP TABLE t",
            "0A000",
            "EXPLAIN takes a query, INSERT, UPSERT, UPDATE, DELETE, MERGE or EXECUTE",
            9,
        ),
        (
            "EXPLAIN EXPLAIN SELECT 1",
            "42601",
            "syntax error at or near \"EXPLAIN\"",
            9,
        ),
        (
            "EXPLAIN (FOO) SELECT 1",
            "42601",
            "unrecognized EXPLAIN option \"foo\"",
            10,
        ),
        (
            "EXPLAIN (FORMAT xml) SELECT 1",
            "22023",
            "unrecognized value for EXPLAIN option \"format\": \"xml\"",
            17,
        ),
        ("SHOW COLUMNS", "42601", "syntax error at end of input", 13),
        ("SET x", "42601", "syntax error at end of input", 6),
        (
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "0A000",
            "isolation level SERIALIZABLE is not supported",
            23,
        ),
        (
            "SET TRANSACTION SNAPSHOT 'x'",
            "0A000",
            "SET TRANSACTION SNAPSHOT is not supported",
            17,
        ),
        (
            "COMMIT PREPARED 'x'",
            "0A000",
            "prepared transactions are not supported",
            8,
        ),
        ("SET TRANSACTION", "42601", "syntax error at end of input", 16),
        ("BEGIN READ ONLY,", "42601", "syntax error at end of input", 17),
        ("BEGIN READ", "42601", "syntax error at or near \"READ\"", 7),
        ("ABORT TO s", "42601", "syntax error at or near \"TO\"", 7),
        ("SAVEPOINT", "42601", "syntax error at end of input", 10),
        ("COMMIT FOO", "42601", "syntax error at or near \"FOO\"", 8),
    ]);
}

#[test]
fn copy_statements() {
    let options = |sql: &str| match read(sql) {
        Statement::Copy(copy) => copy.options,
        other => panic!("{other:?}"),
    };
    let csv = CopyOptions {
        format: CopyFormat::Csv,
        header: CopyHeader::None,
        delimiter: b',',
        quote: b'"',
        escape: b'"',
        null: String::new(),
        row_number: None,
        rejects: RejectOptions::default(),
        forced: Default::default(),
    };
    assert_eq!(options("COPY t FROM 'f.csv'"), csv);
    assert_eq!(options("COPY t FROM 'f'"), csv);
    let names = CopyOptions {
        header: CopyHeader::Names,
        ..csv.clone()
    };
    assert_eq!(options("COPY t FROM 'f.txt' WITH (FORMAT csv, HEADER)"), names);
    assert_eq!(options("COPY t FROM 'f' WITH (HEADER match)"), names);
    assert_eq!(options("COPY t FROM 'f' CSV HEADER"), names);
    let skip = CopyOptions {
        header: CopyHeader::Skip,
        ..csv.clone()
    };
    assert_eq!(options("COPY t FROM 'f' (HEADER skip)"), skip);
    let semicolon = CopyOptions {
        delimiter: b';',
        null: "NULL".to_string(),
        escape: b'\\',
        ..csv.clone()
    };
    assert_eq!(
        options("COPY t FROM 'f' (DELIMITER ';', NULL 'NULL', ESCAPE '\\')"),
        semicolon
    );
    assert_eq!(
        options("COPY t FROM 'f' DELIMITER AS ';' NULL 'NULL' ESCAPE '\\'"),
        semicolon
    );
    let parquet = CopyOptions {
        format: CopyFormat::Parquet,
        ..csv.clone()
    };
    assert_eq!(options("COPY t TO 'a.b.PARQUET'"), parquet);
    assert_eq!(options("COPY t TO 'f.csv' (FORMAT parquet)"), parquet);
    let json = CopyOptions {
        format: CopyFormat::Json,
        ..csv.clone()
    };
    assert_eq!(options("COPY (SELECT 1) TO 'f.ndjson'"), json);

    let in_text = CopyOptions {
        format: CopyFormat::Text,
        delimiter: b'\t',
        null: "\\N".to_string(),
        ..csv.clone()
    };
    assert_eq!(options("COPY t FROM STDIN"), in_text);
    assert_eq!(options("COPY t TO STDOUT WITH (FORMAT text)"), in_text);
    assert_eq!(options("COPY t FROM STDIN CSV"), csv);
    assert_eq!(options("COPY t FROM STDIN BINARY").format, CopyFormat::Binary);

    let rejects =
        options("COPY t FROM ('a.csv', 'b.csv') (ON_ERROR ignore, REJECT_LIMIT 3, REJECTS 'bad')").rejects;
    let expected = RejectOptions {
        ignore: true,
        limit: Some(3),
        file: Some("bad".to_string()),
    };
    assert_eq!(rejects, expected);
    let stop = options("COPY t FROM 'f.arrow' (ON_ERROR stop)");
    assert_eq!(
        (stop.format, stop.rejects),
        (CopyFormat::Arrow, RejectOptions::default())
    );

    let numbered = options("COPY t FROM 'f.parquet' WITH (FORMAT parquet, ROW_NUMBER id)");
    assert_eq!(numbered.row_number.map(|name| name.text), Some("id".to_string()));

    let Statement::Copy(copy) = read("COPY s.t (a, \"B\") FROM 'f'") else {
        panic!()
    };
    assert_eq!(copy.direction, CopyDirection::From);
    let CopySource::Table { name, columns } = copy.source else {
        panic!()
    };
    assert_eq!(
        (object(&name).as_str(), list(&columns, text).as_str()),
        ("s.t", "a B")
    );

    check_errors(&[
        (
            "COPY (SELECT 1) FROM 'f'",
            "42601",
            "syntax error at or near \"FROM\"",
            17,
        ),
        (
            "COPY t FROM PROGRAM 'f'",
            "0A000",
            "COPY … PROGRAM is not supported",
            13,
        ),
        ("COPY t FROM f", "42601", "syntax error at or near \"f\"", 13),
        (
            "COPY t FROM STDIN (QUOTE 'x')",
            "0A000",
            "COPY QUOTE available only in CSV mode",
            20,
        ),
        (
            "COPY t FROM STDIN (FORMAT binary, NULL '')",
            "0A000",
            "cannot specify NULL in BINARY mode",
            35,
        ),
        (
            "COPY t FROM 'f' (FORMAT csv, FORMAT text)",
            "42601",
            "conflicting or redundant options",
            30,
        ),
        (
            "COPY t FROM 'f' csv binary",
            "42601",
            "conflicting or redundant options",
            21,
        ),
        (
            "COPY t FROM 'f' (FOO 1)",
            "42601",
            "option \"foo\" not recognized",
            18,
        ),
        (
            "COPY t FROM 'f' (DELIMITER 'ab')",
            "0A000",
            "COPY delimiter must be a single one-byte character",
            28,
        ),
        (
            "COPY t FROM 'f' (FORMAT json, HEADER)",
            "0A000",
            "COPY HEADER available only in CSV mode",
            31,
        ),
        (
            "COPY t FROM 'f' (ENCODING 'latin1')",
            "0A000",
            "encoding \"latin1\" is not supported",
            27,
        ),
    ]);
}

#[test]
fn errors_point_into_the_text() {
    check_errors(&[
        (
            "SELECT a FROM ORDER BY",
            "42601",
            "syntax error at or near \"ORDER\"",
            15,
        ),
        (
            "SELECT a FROM t WHERE a > 1 + when",
            "42601",
            "syntax error at or near \"when\"",
            31,
        ),
        (
            "SELECT a,\n  b FROM t WHERE a = = 1",
            "42601",
            "syntax error at or near \"=\"",
            32,
        ),
        (
            "SELECT '中国', * FROM t WHERE )",
            "42601",
            "syntax error at or near \")\"",
            29,
        ),
        (
            "SELECT 'abc",
            "42601",
            "unterminated quoted string at or near \"'abc\"",
            8,
        ),
        (
            "SELECT\n\"abc",
            "42601",
            "unterminated quoted identifier at or near \"\"abc\"",
            8,
        ),
        (
            "SELECT $x$abc",
            "42601",
            "unterminated dollar-quoted string at or near \"$x$abc\"",
            8,
        ),
        (
            "SELECT 1 /* a",
            "42601",
            "unterminated /* comment at or near \"/* a\"",
            10,
        ),
        (
            "SELECT E'\\xff'",
            "42601",
            "invalid escape sequence in string at or near \"E'\\xff'\"",
            8,
        ),
        (
            "SELECT E'a",
            "42601",
            "unterminated quoted string at or near \"E'a\"",
            8,
        ),
        (
            "SELECT 1a",
            "42601",
            "trailing junk after numeric literal at or near \"1a\"",
            8,
        ),
        (
            "SELECT 1.5.2",
            "42601",
            "trailing junk after numeric literal at or near \"1.5.2\"",
            8,
        ),
        ("SELECT ?", "42601", "syntax error at or near \"?\"", 8),
        (
            "SELECT x'0'",
            "22023",
            "invalid hexadecimal data: odd number of digits",
            8,
        ),
        (
            "SELECT x'0g'",
            "22P02",
            "\"g\" is not a valid hexadecimal digit",
            8,
        ),
        (
            "SELECT \"\"",
            "42601",
            "zero-length delimited identifier at or near \"\"\"\"",
            8,
        ),
        (
            "INSERT INTO t VALUES (1",
            "42601",
            "syntax error at end of input",
            24,
        ),
        ("SELECT 1 +", "42601", "syntax error at end of input", 11),
    ]);
}

#[test]
fn deep_and_long_statements() {
    let nested = |n: usize| format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n));
    read(&nested(100));
    assert_eq!(parse(&nested(5_000)).expect_err("nested").sqlstate, "54001");

    let chain = |n: usize, op: &str| format!("SELECT 1 WHERE a = 0{}", format!(" {op} a = 1").repeat(n));
    read(&chain(5_000, "OR"));
    read(&chain(5_000, "AND"));
    assert_eq!(parse(&chain(50_000, "OR")).expect_err("chain").sqlstate, "54001");
    let sum = |n: usize| format!("SELECT 1{}", " + 1".repeat(n));
    read(&sum(300));
    assert_eq!(parse(&sum(10_000)).expect_err("sum").sqlstate, "54001");
    let union = |n: usize| format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n));
    read(&union(100));
    assert_eq!(parse(&union(5_000)).expect_err("union").sqlstate, "54001");

    let list = format!("SELECT 1 WHERE a IN (0{})", ", 1".repeat(100_000));
    read(&list);
}

#[test]
fn balanced_chains_keep_their_terms_in_order() {
    let terms: Vec<_> = (0..100).map(|n| format!("a = {n}")).collect();
    let Statement::Query(query) = read(&format!("SELECT 1 WHERE {}", terms.join(" OR "))) else {
        panic!()
    };
    assert!(query.to_string().ends_with(&terms.join(" OR ")));
}

#[test]
fn any_prefix_of_a_statement_gives_an_answer() {
    let sql = "CREATE TABLE IF NOT EXISTS s.\"T\" (a INT DEFAULT (1 + x'00ff') NOT NULL, b DECIMAL(10,2), \
               CONSTRAINT pk PRIMARY KEY (hash(a, 8) DESC, b), FAMILY f (c) COMPRESSION = 'lz4') \
               SALT_BUCKETS = 16 ON (a), IMMUTABLE_ROWS = true SPLIT ON (1, ($$x$$, -2))";
    for (at, _) in sql.char_indices() {
        if let Err(error) = parse(&sql[..at]) {
            let position = error.position.expect("a syntax error has a place");
            assert!(position <= at + 1, "{at}: {error:?}");
        }
    }
}

#[test]
fn operations() {
    check(&[
        ("BACKUP DATABASE TO 'd'", "backup to d keep None"),
        ("backup database to 'd' keep 3;", "backup to d keep Some(3)"),
        ("CHECKPOINT", "checkpoint to None"),
        ("CHECKPOINT TO 'd'", "checkpoint to Some(\"d\")"),
        ("COMPACT", "compact all"),
        ("COMPACT TABLE s.t", "compact s.t"),
        ("SHOW STATS", "show usage of all"),
        ("SHOW STATS FROM t", "show usage of t"),
        ("SHOW DATABASE STATS", "show usage"),
        ("SHOW BACKUPS IN 'd'", "show backups in d"),
        ("DESCRIBE FILE 'f.json'", "describe f.json as Json"),
        ("DESCRIBE file", "show columns of file"),
    ]);
    check_errors(&[
        (
            "BACKUP DATABASE TO 'd' KEEP 0",
            "22023",
            "KEEP takes a number from 1 to 4294967295",
            29,
        ),
        ("BACKUP DATABASE TO ''", "22023", "a directory needs a name", 20),
        (
            "COPY t FROM 'f' (REJECT_LIMIT 0)",
            "22023",
            "REJECT_LIMIT (0) must be greater than zero",
            31,
        ),
        (
            "COPY t FROM 'f' (ON_ERROR maybe)",
            "22023",
            "COPY ON_ERROR \"maybe\" not recognized",
            27,
        ),
        ("COPY t FROM ()", "42601", "syntax error at or near \")\"", 14),
    ]);
}
