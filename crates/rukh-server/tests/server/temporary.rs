//! Temporary relations of several sessions.

use crate::server;
use rukh_testkit::raw::Raw;

/// How many schemas of temporary relations there are.
const SCHEMAS: &str = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'";

#[test]
fn temporary_tables_are_of_one_session_and_end_with_it() {
    let server = server();
    let (mut one, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    one.first("CREATE TABLE t (a INT PRIMARY KEY)");
    one.first("INSERT INTO t VALUES (1)");
    one.first("CREATE TEMP TABLE t (a INT PRIMARY KEY)");
    one.first("INSERT INTO t VALUES (7)");
    other.first("CREATE TEMP TABLE u (a INT PRIMARY KEY)");
    assert_eq!(one.first("SELECT a FROM t"), "7");
    assert_eq!(other.first("SELECT a FROM t"), "1");
    assert_eq!(one.first("SELECT a FROM u"), "42P01");
    assert_eq!(other.first(SCHEMAS), "2");
    drop(one);
    while other.first(SCHEMAS) != "1" {}
    assert_eq!(other.first("SELECT a FROM t"), "1");
    assert_eq!(
        other.first("SELECT count(*) FROM pg_class WHERE relname = 't'"),
        "1"
    );
}

#[test]
fn a_session_ends_while_another_defines() {
    let server = server();
    let (mut one, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    one.first("CREATE TEMP TABLE t (a INT PRIMARY KEY)");
    other.first("BEGIN");
    other.first("CREATE TABLE u (a INT PRIMARY KEY)");
    drop(one);
    // What it could not drop is dropped by the next session that ends.
    other.first("COMMIT");
    let mut watching = Raw::connect(server.address());
    drop(other);
    while watching.first(SCHEMAS) != "0" {
        drop(Raw::connect(server.address()));
    }
}
