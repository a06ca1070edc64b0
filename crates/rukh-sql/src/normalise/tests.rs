//! The text of typed expressions, which must be read as the same expression again.

use std::sync::Arc;

use rukh_catalog::Table;
use rukh_kv::MemoryStore;

use super::*;
use crate::expressions::{normalise, typed_on};
use crate::session::Shared;
use crate::statement::parse_expression;

#[test]
fn special_words_are_sorted() {
    assert!(SPECIAL.is_sorted());
}

#[test]
fn names_are_quoted_where_needed() {
    let cases = [
        ("url", "url"),
        ("a1_b", "a1_b"),
        ("Url", "\"Url\""),
        ("1a", "\"1a\""),
        ("order", "\"order\""),
        ("time", "\"time\""),
        ("date", "date"),
        ("a \"b\"", "\"a \"\"b\"\"\""),
        ("中国", "\"中国\""),
        ("", "\"\""),
    ];
    for (name, sql) in cases {
        assert_eq!(quoted(name), sql);
    }
}

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
