//! CREATE TABLE and CREATE INDEX, read right and refused.

use super::summary::*;

#[test]
fn create_table_statements() {
    check(&[
        ("CREATE TABLE t AS SELECT 1 AS a", "t () as SELECT 1 AS a"),
        (
            "CREATE TABLE t (PRIMARY KEY (a DESC)) SALT_BUCKETS = 4 AS SELECT 1 AS a WITH NO DATA",
            "t () pk a- salt 4 as SELECT 1 AS a without rows",
        ),
        (
            "CREATE TABLE t USING columnar WITH (compression = zstd) IMMUTABLE AS SELECT 1 AS a",
            "t () columnar immutable zstd as SELECT 1 AS a",
        ),
        (
            "CREATE TABLE t USING heap AS SELECT 1 AS a",
            "t () as SELECT 1 AS a",
        ),
        (
            "CREATE TABLE t VERSIONS 3, SALT_BUCKETS = 4 AS SELECT 1 AS a WITH NO DATA",
            "t () salt 4 as SELECT 1 AS a without rows",
        ),
        ("CREATE TABLE t (a INT PRIMARY KEY)", "t (a:INTEGER) pk a"),
        // Only the definitions know whether there is such a type.
        (
            "CREATE TABLE t (a mood, b S.\"My Type\"[])",
            "t (a:mood, b:s.\"My Type\"[])",
        ),
        (
            "CREATE TABLE t (a INT REFERENCES u NOT NULL, b INT CONSTRAINT k REFERENCES s.u (x) ON DELETE CASCADE \
             DEFERRABLE INITIALLY DEFERRED, FOREIGN KEY (a, b) REFERENCES w MATCH FULL ON UPDATE SET NULL NOT VALID)",
            "t (a:INTEGER not null, b:INTEGER) fk (a) to u() NO ACTION NO ACTION NotDeferrable \
             fk k(b) to s.u(x) CASCADE NO ACTION Deferred fk (a b) to w() full NO ACTION SET NULL NotDeferrable not valid",
        ),
        (
            "create table if not exists S.T (A int primary key desc);",
            "s.t (a:INTEGER) pk a-",
        ),
        (
            "CREATE TABLE \"T\" (\"A b\" INT, b VARCHAR(20) NOT NULL, PRIMARY KEY (\"A b\", b DESC))",
            "T (A b:INTEGER, b:VARCHAR(20) not null) pk A b b-",
        ),
        (
            "CREATE TABLE t (a BIGINT NOT NULL, b DATE NULL DEFAULT current_date, \
             CONSTRAINT pk PRIMARY KEY (a ASC, hash(b, 8) DESC))",
            "t (a:BIGINT not null, b:DATE null default current_date) pk pk: a hash(b,8)-",
        ),
        (
            "CREATE TABLE t (a INT DEFAULT 1 + 2 NOT NULL PRIMARY KEY, b TEXT DEFAULT 'x' UNIQUE)",
            "t (a:INTEGER not null default 1 + 2, b:VARCHAR default 'x') pk a unique (b)",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b INT CONSTRAINT one UNIQUE, CONSTRAINT u UNIQUE (a, b))",
            "t (a:INTEGER, b:INTEGER) pk a unique one(b) unique u(a b)",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b BYTEA FAMILY payload, c TEXT, FAMILY other (c) COMPRESSION = 'zstd')",
            "t (a:INTEGER, b:VARBINARY in payload, c:VARCHAR) pk a family other(c) zstd",
        ),
        (
            "CREATE TABLE t (family CHAR(20), hash BINARY(4), PRIMARY KEY (hash, family))",
            "t (family:CHAR(20), hash:BINARY(4)) pk hash family",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY) WITH (salt_buckets = 16, immutable = true)",
            "t (a:INTEGER) pk a salt 16 immutable",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY) USING columnar WITH (immutable = true, compression = lz4)",
            "t (a:INTEGER) pk a columnar immutable lz4",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY) USING heap",
            "t (a:INTEGER) pk a",
        ),
        (
            "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b)) SALT_BUCKETS = 16 ON (a), IMMUTABLE_ROWS=true",
            "t (a:INTEGER, b:INTEGER) pk a b salt 16 on a immutable",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY) IMMUTABLE_ROWS = false SPLIT ON (1, (2), (3, 'x'), -4)",
            "t (a:INTEGER) pk a split 1 split 2 split 3 'x' split -4",
        ),
    ]);
}

#[test]
fn type_names() {
    let types = [
        ("BOOL", "BOOLEAN"),
        ("tinyint", "TINYINT"),
        ("INT2", "SMALLINT"),
        ("int4", "INTEGER"),
        ("INT8", "BIGINT"),
        ("FLOAT4", "REAL"),
        ("float", "DOUBLE"),
        ("float(24)", "REAL"),
        ("float(25)", "DOUBLE"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("DOUBLE", "DOUBLE"),
        ("numeric", "NUMERIC"),
        ("numeric(10)", "DECIMAL(10,0)"),
        ("DECIMAL(10,2)", "DECIMAL(10,2)"),
        ("TIME", "TIME"),
        ("time(3)", "TIME(3)"),
        ("TIME WITHOUT TIME ZONE", "TIME"),
        ("TIMESTAMP", "TIMESTAMP"),
        ("TIMESTAMP(6)", "TIMESTAMP"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP"),
        ("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"),
        ("timestamp with time zone", "TIMESTAMP WITH TIME ZONE"),
        ("UUID", "UUID"),
        ("CHAR", "CHAR(1)"),
        ("CHARACTER(3)", "CHAR(3)"),
        ("CHARACTER VARYING(5)", "VARCHAR(5)"),
        ("VARCHAR", "VARCHAR"),
        ("TEXT", "VARCHAR"),
        ("string", "VARCHAR"),
        ("BINARY(16)", "BINARY(16)"),
        ("VARBINARY", "VARBINARY"),
        ("VARBINARY(9)", "VARBINARY(9)"),
        ("BYTEA", "VARBINARY"),
        ("DATE", "DATE"),
    ];
    for (written, ty) in types {
        let sql = format!("CREATE TABLE t (a {written} PRIMARY KEY)");
        assert_eq!(summary(&read(&sql)), format!("t (a:{ty}) pk a"), "{written}");
    }
}

#[test]
fn create_table_errors() {
    let at = "CREATE TABLE t (a ".len() + 1;
    check_errors(&[
        (
            "CREATE TABLE t (a INT UNSIGNED)",
            "42704",
            "type \"int unsigned\" does not exist",
            at,
        ),
        (
            "CREATE TABLE t (a )",
            "42601",
            "syntax error at or near \")\"",
            at,
        ),
        (
            "CREATE TABLE t (a",
            "42601",
            "syntax error at end of input",
            at - 1,
        ),
        (
            "CREATE TABLE user (a INT)",
            "42601",
            "syntax error at or near \"user\"",
            14,
        ),
        (
            "CREATE TABLE a.b.c (a INT)",
            "0A000",
            "cross-database references are not supported",
            17,
        ),
        (
            "CREATE TABLE t (a INT NOT NULL NULL)",
            "42601",
            "conflicting NULL/NOT NULL declarations for column \"a\"",
            32,
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))",
            "42P16",
            "multiple primary keys for table \"t\" are not allowed",
            36,
        ),
        (
            "CREATE TABLE t (a INT REFERENCES u ON DELETE)",
            "42601",
            "syntax error at or near \")\"",
            45,
        ),
        (
            "CREATE TABLE t (a INT GENERATED ALWAYS AS (1))",
            "42601",
            "syntax error at or near \")\"",
            46,
        ),
        (
            "CREATE TABLE t (a INT COLLATE \"de_DE\")",
            "0A000",
            "collation \"de_DE\" is not supported",
            31,
        ),
        (
            "CREATE TABLE t (a INT FOO)",
            "42601",
            "syntax error at or near \"FOO\"",
            23,
        ),
        (
            "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u MATCH PARTIAL)",
            "0A000",
            "MATCH PARTIAL not yet implemented",
            59,
        ),
        (
            "CREATE TABLE t (a INT, PRIMARY KEY (HASH(a, 5)))",
            "22023",
            "HASH takes 4, 8 or 16 bytes, not 5",
            45,
        ),
        (
            "CREATE TABLE t (a INT) WITH (fill = 70)",
            "22023",
            "unrecognized parameter \"fill\"",
            30,
        ),
        (
            "CREATE TABLE t (a INT) TABLESPACE fast",
            "42704",
            "tablespace \"fast\" does not exist",
            35,
        ),
        (
            "CREATE TABLE t (a INT) FOO = 1",
            "22023",
            "unrecognized parameter \"foo\"",
            24,
        ),
        (
            "CREATE TABLE t (a INT, b INT, FAMILY f (b) TTL = 10 FROM a)",
            "0A000",
            "TTL of a family counts from when its columns change",
            58,
        ),
        (
            "CREATE TABLE t (a INT) WITH (versions = 0)",
            "22023",
            "VERSIONS must be between 1 and 1000000, not 0",
            41,
        ),
        (
            "CREATE TABLE t (a INT) SALT_BUCKETS = 1",
            "22023",
            "SALT_BUCKETS must be between 2 and 256, not 1",
            39,
        ),
        (
            "CREATE TABLE t (a INT) USING zheap",
            "0A000",
            "access method \"zheap\" is not supported",
            30,
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY RANGE (a)",
            "0A000",
            "CREATE TABLE … PARTITION is not supported",
            24,
        ),
        (
            "CREATE TABLE t USING columnar (a INT)",
            "42601",
            "syntax error at or near \"(\"",
            31,
        ),
        (
            "CREATE TABLE t WITH (versions = 3)",
            "42601",
            "syntax error at end of input",
            35,
        ),
        (
            "CREATE TABLE t foo",
            "42601",
            "syntax error at or near \"foo\"",
            16,
        ),
        (
            "CREATE TABLE t (a INT) AS SELECT 1",
            "0A000",
            "CREATE TABLE … AS takes no types of columns",
            24,
        ),
        (
            "CREATE TABLE t (a INT, FAMILY f (a) COMPRESSION = 'gz')",
            "22023",
            "invalid value for parameter \"compression\": \"gz\"",
            51,
        ),
        (
            "CREATE TEMP TABLE s.t (a INT)",
            "42P16",
            "cannot create temporary relation in non-temporary schema",
            19,
        ),
        (
            "CREATE TABLE t (a INT) ON COMMIT DROP",
            "42P16",
            "ON COMMIT can only be used on temporary tables",
            24,
        ),
        (
            "CREATE OR REPLACE TEMP TABLE t (a INT)",
            "0A000",
            "CREATE OR is not supported",
            1,
        ),
        (
            "CREATE TRIGGER v AS INT",
            "0A000",
            "CREATE TRIGGER is not supported",
            1,
        ),
        ("CREATE FOO", "42601", "syntax error at or near \"FOO\"", 8),
    ]);
}

#[test]
fn create_index_statements() {
    check(&[
        ("CREATE INDEX i ON t (a)", "indexi on t (a)"),
        (
            "CREATE INDEX i ON t (a varchar_pattern_ops, b int4_ops DESC)",
            "indexi on t (a b-)",
        ),
        (
            "create unique index on s.t (a desc, \"B\" asc)",
            "unique index on s.t (a- B)",
        ),
        (
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON t USING btree (a)",
            "indexi on t (a) if not exists",
        ),
        (
            "CREATE INDEX i ON t (lower(a) DESC, (a || b), HASH(c, 16), CAST(d AS DATE)) INCLUDE (e, f) WHERE a > 1",
            "indexi on t ([lower(a)]- [a || b] hash(c,16) [CAST(d AS DATE)]) include e f where a > 1",
        ),
        (
            "CREATE INDEX i ON t (a NULLS LAST, b DESC NULLS FIRST)",
            "indexi on t (a b-)",
        ),
        (
            "CREATE INDEX i ON t USING columnar (a, b DESC) INCLUDE (c)",
            "indexi on t (a b-) include c columnar",
        ),
        ("CREATE INDEX ON t USING COLUMNAR", "index on t () columnar"),
    ]);
    check_errors(&[
        (
            "CREATE INDEX i ON t (a odd_ops)",
            "42704",
            "operator class \"odd_ops\" does not exist for access method \"btree\"",
            24,
        ),
        (
            "CREATE INDEX i ON t (a NULLS)",
            "42601",
            "syntax error at or near \"NULLS\"",
            24,
        ),
        (
            "CREATE INDEX i ON t (a + 1)",
            "42601",
            "syntax error at or near \"+\"",
            24,
        ),
        (
            "CREATE INDEX i ON t ()",
            "42601",
            "syntax error at or near \")\"",
            22,
        ),
        (
            "CREATE INDEX IF NOT EXISTS ON t (a)",
            "42601",
            "syntax error at or near \"ON\"",
            28,
        ),
        (
            "CREATE INDEX i ON t USING gin (a)",
            "0A000",
            "access method \"gin\" is not supported",
            27,
        ),
        (
            "CREATE INDEX i ON t USING columnar INCLUDE",
            "42601",
            "syntax error at end of input",
            43,
        ),
        (
            "CREATE INDEX i ON t (a) WITH (fillfactor = 1, fill = 2)",
            "22023",
            "unrecognized parameter \"fill\"",
            47,
        ),
        (
            "CREATE INDEX i ON t (a) NULLS NOT",
            "42601",
            "syntax error at or near \"NULLS\"",
            25,
        ),
        (
            "CREATE INDEX i ON t (a) WHERE",
            "42601",
            "syntax error at end of input",
            30,
        ),
        (
            "CREATE LOCAL INDEX i ON t (a)",
            "0A000",
            "CREATE LOCAL is not supported",
            1,
        ),
    ]);
}

#[test]
fn alter() {
    check(&[
        ("ALTER TABLE t RENAME TO u", "alter t: to u"),
        (
            "alter table if exists only s.t rename a to \"B\"",
            "alter s.t if exists: a to B",
        ),
        ("ALTER TABLE t RENAME COLUMN a TO b", "alter t: a to b"),
        (
            "ALTER TABLE t RENAME CONSTRAINT a TO b",
            "alter t: constraint a to b",
        ),
        (
            "ALTER TABLE t ADD a INT NOT NULL DEFAULT 1 CHECK (a > 0), ADD COLUMN IF NOT EXISTS b TEXT FAMILY f",
            "alter t: add a:INTEGER not null default 1 check (a > 0); add b:VARCHAR in f if not exists",
        ),
        (
            "ALTER TABLE t DROP a, DROP COLUMN IF EXISTS b CASCADE, DROP CONSTRAINT c RESTRICT",
            "alter t: drop a; drop b if exists cascade; drop constraint c",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT c CHECK (a > b), ALTER a SET DEFAULT 1 + 1, ALTER COLUMN a DROP DEFAULT",
            "alter t: add check c(a > b); a default 1 + 1; a no default",
        ),
        (
            "ALTER TABLE t ALTER a SET NOT NULL, ALTER a DROP NOT NULL",
            "alter t: a not null; a null",
        ),
        ("ALTER TABLE t ADD UNIQUE (a, b)", "alter t: add unique a b"),
        (
            "ALTER INDEX IF EXISTS i RENAME TO j",
            "alter index i if exists: to j",
        ),
        ("ALTER INDEX i REBUILD", "alter index i: Rebuild"),
        ("REINDEX INDEX CONCURRENTLY s.i", "reindex index s.i"),
        ("REINDEX (VERBOSE, CONCURRENTLY) TABLE t", "reindex table t"),
    ]);
    check_errors(&[
        ("ALTER TABLE t", "42601", "syntax error at end of input", 14),
        (
            "ALTER TABLE t RENAME a b",
            "42601",
            "syntax error at or near \"b\"",
            24,
        ),
        (
            "ALTER TABLE t ADD a INT PRIMARY KEY",
            "0A000",
            "PRIMARY KEY of a column that is added is not supported",
            19,
        ),
        (
            "ALTER TABLE t RENAME TO u, DROP a",
            "0A000",
            "RENAME, REPACK, ADD PRIMARY KEY and changes of identity columns stand alone in ALTER TABLE",
            13,
        ),
    ]);
}

#[test]
fn views() {
    check(&[
        ("CREATE VIEW v AS SELECT 1", "view v () SELECT 1"),
        (
            "create or replace view s.v (a, \"B\") as (values (1, 2))",
            "view s.v or replace (a B) (VALUES (1, 2))",
        ),
        ("DROP MATERIALIZED VIEW v", "drop materialized view v"),
        (
            "REFRESH MATERIALIZED VIEW CONCURRENTLY s.v",
            "refresh concurrently s.v",
        ),
        (
            "refresh materialized view v with no data",
            "refresh v without data",
        ),
        (
            "DROP VIEW IF EXISTS v, w CASCADE",
            "drop view if exists v w cascade",
        ),
    ]);
    check_errors(&[
        (
            "CREATE VIEW v SELECT 1",
            "42601",
            "syntax error at or near \"SELECT\"",
            15,
        ),
        (
            "CREATE VIEW v WITH (x) AS SELECT 1",
            "0A000",
            "CREATE VIEW … WITH is not supported",
            15,
        ),
    ]);
}
