//! The text of typed expressions, which must be read as the same expression again.

use std::sync::Arc;

use rukh_catalog::Table;
use rukh_kv::MemoryStore;

use crate::bind::spelling::parsing::parse_expression;
use crate::bind::types::expressions::{normalise, typed_on};
use crate::sql::session::Shared;

fn table() -> Arc<Table> {
    let shared = Shared::open(Arc::new(MemoryStore::new()), false).expect("a store in memory opens");
    let mut session = shared.session();
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b BIGINT, s SMALLINT, r REAL, d DOUBLE, n DECIMAL(10,2), \
               name VARCHAR, \"Mixed\" VARCHAR, flag BOOLEAN, day DATE, ts TIMESTAMP, tz TIMESTAMPTZ, x BYTEA, u UUID, \
               c CHAR(3), \"time\" TIME)";
    session.execute(sql).unwrap_or_else(|error| panic!("{error:?}"));
    let catalog = shared.engine().catalog();
    catalog
        .table_named("public", "t")
        .expect("it was just made")
        .clone()
}

/// Returns the text of an expression after checking that it is read as itself.
fn text(table: &Table, sql: &str) -> String {
    let typed = |sql: &str| {
        let parsed = parse_expression(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        typed_on(table, &parsed).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    };
    let first = typed(sql);
    let text = normalise(&first.expr);
    let again = typed(&text);
    assert_eq!(again.expr, first.expr, "{sql} is printed as {text}");
    assert_eq!(normalise(&again.expr), text, "{sql}");
    text
}

#[test]
fn expressions_are_read_back() {
    let table = table();
    let cases = [
        ("lower(name)", "lower(name)"),
        ("LOWER( t.name )", "lower(name)"),
        ("\"Mixed\" || 'x''y'", "\"Mixed\" || 'x''y'"),
        ("a + 1", "a + 1"),
        ("(a + b) * 2 - b", "(CAST(a AS BIGINT) + b) * 2 - b"),
        ("b - (b - 1)", "b - (b - 1)"),
        ("a > 5", "a > 5"),
        ("5 < a", "a > 5"),
        ("n > 1.5", "n > 1.50"),
        ("d > 1.5 AND flag", "d > 1.5 AND flag"),
        ("NOT flag OR a = 1 AND b = 2", "NOT flag OR a = 1 AND b = 2"),
        ("(flag OR a = 1) AND b = 2", "(flag OR a = 1) AND b = 2"),
        (
            "name LIKE 'a%' AND name NOT ILIKE '%b'",
            "name LIKE 'a%' AND name NOT ILIKE '%b'",
        ),
        ("a BETWEEN 1 AND 3", "a >= 1 AND a <= 3"),
        ("a IN (1, 2, 3, 4, 5)", "a IN (1, 2, 3, 4, 5)"),
        (
            "name IS NULL OR flag IS NOT TRUE",
            "name IS NULL OR flag IS NOT TRUE",
        ),
        ("day >= '2015-10-01'", "day >= DATE '2015-10-01'"),
        ("ts < '2015-10-01 12:00'", "ts < TIMESTAMP '2015-10-01 12:00:00'"),
        ("CAST(ts AS DATE)", "CAST(ts AS DATE)"),
        ("date_trunc('hour', ts)", "date_trunc('hour', ts)"),
        ("extract(year FROM ts)", "EXTRACT(YEAR FROM ts)"),
        ("extract(second FROM ts)", "EXTRACT(SECOND FROM ts)"),
        ("x = '\\x00ff'", "x = x'00ff'"),
        ("hash(name, 8)", "hash(name, 8)"),
        (
            "coalesce(name, 'none')",
            "CASE WHEN name IS NOT NULL THEN name ELSE 'none' END",
        ),
        (
            "CASE WHEN a > 1 THEN 'x' ELSE 'y' END",
            "CASE WHEN a > 1 THEN 'x' ELSE 'y' END",
        ),
        ("-b", "0 - b"),
        ("-d - 1", "- d - CAST(1 AS DOUBLE)"),
        ("- (r * r)", "- (r * r)"),
        ("a # 5 << 1", "a # 5 << 1"),
        ("quote_nullable(name)", "quote_nullable(name)"),
        ("concat(flag, tz)", "concat(flag, tz)"),
        ("concat(flag::text)", "concat(CAST(flag AS VARCHAR))"),
        ("name ~ '^a'", "name LIKE 'a%'"),
        ("name::varchar(3)", "CAST(name AS VARCHAR(3))"),
        ("name::char(3)", "CAST(name AS CHAR(3))"),
        ("left(name::varchar, 3)", "CAST(name AS VARCHAR(3))"),
        ("\"time\" > '12:00'", "\"time\" > TIME '12:00:00'"),
        ("s = 3 AND r > 0.5", "s = 3 AND CAST(r AS DOUBLE) > 0.5"),
        ("a IS DISTINCT FROM 3", "a IS DISTINCT FROM 3"),
    ];
    for (sql, expected) in cases {
        assert_eq!(text(&table, sql), expected, "{sql}");
    }
}
