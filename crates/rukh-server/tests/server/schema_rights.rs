//! Rights on schemas: which roles may look at what a schema holds, and which may make something in it.

use crate::users::{connect_as, database, outcome, run};

fn denied(message: &str) -> Option<(String, String)> {
    Some(("42501".to_string(), message.to_string()))
}

#[test]
fn a_schema_is_closed_until_a_right_on_it_is_given() {
    let database = database(&[
        "CREATE USER u",
        "CREATE USER w",
        "CREATE SCHEMA s CREATE TABLE t (id INT PRIMARY KEY, a TEXT) CREATE TABLE z (id INT PRIMARY KEY) CREATE SEQUENCE q",
        "CREATE SCHEMA r CREATE TABLE t (id INT PRIMARY KEY)",
        "GRANT SELECT, INSERT ON s.t TO u",
    ]);
    let mut administrator = database.connect();
    let mut user = connect_as(&database, "u");
    let closed = denied("permission denied for schema s");
    // A right on the table alone does not open the schema.
    for sql in [
        "SELECT * FROM s.t",
        "INSERT INTO s.t VALUES (1, 'x')",
        "TABLE s.t",
    ] {
        assert_eq!(outcome(&mut user, sql), closed, "{sql}");
    }
    run(&mut administrator, "GRANT USAGE ON SCHEMA s TO u");
    run(&mut user, "INSERT INTO s.t VALUES (1, 'x')");
    run(&mut user, "SELECT * FROM s.t");
    run(&mut user, "SET search_path = s");
    run(&mut user, "SELECT * FROM t WHERE id = 1");
    let of_table = |table: &str| denied(&format!("permission denied for table {table}"));
    assert_eq!(outcome(&mut user, "UPDATE t SET a = 'y'"), of_table("t"));
    assert_eq!(outcome(&mut user, "SELECT * FROM z"), of_table("z"));
    // A right on a schema is one on all that is in it: USAGE is that of sequences, too.
    run(&mut user, "SELECT nextval('s.q')");
    assert_eq!(
        outcome(&mut user, "SELECT * FROM r.t"),
        denied("permission denied for schema r")
    );
    // USAGE is for looking, not for making.
    assert_eq!(
        outcome(&mut user, "CREATE TABLE s.mine (id INT PRIMARY KEY)"),
        closed
    );
    assert_eq!(outcome(&mut user, "CREATE TABLE s.mine (LIKE s.t)"), closed);
    run(&mut administrator, "REVOKE USAGE ON SCHEMA s FROM u");
    assert_eq!(outcome(&mut user, "SELECT * FROM s.t"), closed);
}

#[test]
fn rights_on_a_schema_hold_for_what_comes_later() {
    let database = database(&[
        "CREATE USER u",
        "CREATE SCHEMA s",
        "GRANT SELECT ON SCHEMA s TO u",
        "CREATE TABLE s.later (id INT PRIMARY KEY)",
        "CREATE TABLE elsewhere (id INT PRIMARY KEY)",
    ]);
    let mut user = connect_as(&database, "u");
    run(&mut user, "SELECT * FROM s.later");
    assert_eq!(
        outcome(&mut user, "DELETE FROM s.later"),
        denied("permission denied for table later")
    );
    assert_eq!(
        outcome(&mut user, "SELECT * FROM elsewhere"),
        denied("permission denied for table elsewhere")
    );
    run(&mut database.connect(), "REVOKE SELECT ON SCHEMA s FROM u");
    assert_eq!(
        outcome(&mut user, "SELECT * FROM s.later"),
        denied("permission denied for schema s")
    );
}

#[test]
fn who_makes_something_in_a_schema_owns_it() {
    let database = database(&[
        "CREATE USER u",
        "CREATE USER w",
        "CREATE SCHEMA s",
        "CREATE TABLE secret (id INT PRIMARY KEY)",
        "GRANT CREATE ON SCHEMA s TO u",
    ]);
    let mut administrator = database.connect();
    let (mut user, mut other) = (connect_as(&database, "u"), connect_as(&database, "w"));
    run(
        &mut user,
        "CREATE TABLE s.mine (id SERIAL PRIMARY KEY, a TEXT UNIQUE)",
    );
    run(&mut user, "INSERT INTO s.mine (a) VALUES ('x')");
    run(&mut user, "CREATE VIEW s.v AS SELECT a FROM s.mine");
    let closed = denied("permission denied for schema s");
    assert_eq!(outcome(&mut other, "SELECT * FROM s.v"), closed);
    assert_eq!(
        outcome(&mut user, "DROP SCHEMA s CASCADE"),
        denied("must be owner of schema s")
    );
    assert_eq!(
        outcome(&mut user, "ALTER TABLE s.mine SET SCHEMA public"),
        denied("permission denied for schema public")
    );
    // Schemas of one's own take a right on the database; what is made with them is one's own, and needs rights to what it reads.
    let sql = "CREATE SCHEMA own CREATE TABLE t (id INT PRIMARY KEY) CREATE VIEW v AS SELECT id FROM t";
    assert_eq!(
        outcome(&mut user, sql),
        denied("permission denied for database rukh")
    );
    run(&mut administrator, "GRANT CREATE ON DATABASE any TO u");
    assert_eq!(
        outcome(
            &mut user,
            "CREATE SCHEMA own CREATE VIEW v AS SELECT id FROM secret"
        ),
        denied("permission denied for table secret")
    );
    assert_eq!(
        outcome(&mut user, "CREATE TABLE own.t (id INT PRIMARY KEY)").map(|(state, _)| state),
        Some("3F000".to_string()),
        "nothing is left of it"
    );
    run(&mut user, sql);
    run(&mut user, "INSERT INTO own.t VALUES (1)");
    run(&mut user, "SELECT * FROM own.v");
    run(&mut user, "GRANT USAGE ON SCHEMA own TO w");
    run(&mut user, "GRANT SELECT ON own.v TO w");
    run(&mut other, "SELECT * FROM own.v");
    assert_eq!(
        outcome(&mut other, "SELECT * FROM own.t"),
        denied("permission denied for table t")
    );
    run(&mut user, "DROP SCHEMA own CASCADE");
    // An administrator makes a schema for a role, which owns all of it.
    run(
        &mut administrator,
        "CREATE SCHEMA theirs AUTHORIZATION w CREATE TABLE t (id INT PRIMARY KEY) CREATE SEQUENCE q",
    );
    run(&mut other, "INSERT INTO theirs.t SELECT nextval('theirs.q')");
    run(&mut other, "DROP SCHEMA theirs CASCADE");
}

#[test]
fn who_makes_a_type_owns_it() {
    let database = database(&[
        "CREATE USER u",
        "CREATE USER w",
        "GRANT CREATE ON SCHEMA public TO u",
        "GRANT CREATE ON SCHEMA public TO w",
    ]);
    let (mut user, mut other) = (connect_as(&database, "u"), connect_as(&database, "w"));
    run(&mut user, "CREATE TYPE mood AS ENUM ('sad')");
    run(&mut user, "CREATE DOMAIN pos AS INT CHECK (value > 0)");
    // Each change of roles looks at what they own.
    run(&mut database.connect(), "CREATE USER x");
    let owner = |name: &str| denied(&format!("must be owner of type {name}"));
    assert_eq!(
        outcome(&mut other, "ALTER TYPE mood ADD VALUE 'ok'"),
        owner("mood")
    );
    assert_eq!(outcome(&mut other, "DROP DOMAIN pos"), owner("pos"));
    run(&mut user, "ALTER TYPE mood ADD VALUE 'ok'");
    run(&mut user, "DROP DOMAIN pos");
}

#[test]
fn a_function_reads_what_its_caller_may_read() {
    let database = database(&[
        "CREATE USER u",
        "CREATE USER w",
        "GRANT CREATE ON SCHEMA public TO u",
        "CREATE TABLE secret (id INT PRIMARY KEY)",
        "INSERT INTO secret VALUES (7)",
        "CREATE FUNCTION plain(a INT) RETURNS INT LANGUAGE sql AS 'SELECT a + 1'",
        "CREATE FUNCTION of_administrator() RETURNS INT LANGUAGE sql AS 'SELECT max(id) FROM secret'",
        "CREATE VIEW through AS SELECT of_administrator() AS n",
        "GRANT SELECT ON through TO u",
    ]);
    let mut administrator = database.connect();
    let (mut user, mut other) = (connect_as(&database, "u"), connect_as(&database, "w"));
    let closed = denied("permission denied for table secret");
    run(&mut user, "SELECT plain(1)");
    // A function has no rights of its own, in a view of its owner neither.
    for sql in ["SELECT of_administrator()", "SELECT * FROM through"] {
        assert_eq!(outcome(&mut user, sql), closed, "{sql}");
    }
    let own = "FUNCTION own() RETURNS SETOF INT LANGUAGE sql AS";
    run(&mut user, &format!("CREATE {own} 'SELECT 1'"));
    run(&mut user, "CREATE VIEW of_user AS SELECT * FROM own()");
    run(&mut user, "GRANT SELECT ON of_user TO w");
    run(&mut other, "SELECT * FROM of_user");
    run(
        &mut user,
        &format!("CREATE OR REPLACE {own} 'SELECT id FROM secret'"),
    );
    assert_eq!(outcome(&mut user, "SELECT * FROM own()"), closed);
    for sql in ["SELECT * FROM of_user", "SELECT (SELECT count(*) FROM own())"] {
        assert_eq!(outcome(&mut other, sql), closed, "{sql}");
    }
    // With the right on the table the function reads it; through the view, the right of the role that reads the view counts.
    run(&mut administrator, "GRANT SELECT ON secret TO u");
    run(&mut user, "SELECT * FROM of_user");
    assert_eq!(outcome(&mut other, "SELECT * FROM of_user"), closed);
    // Definitions are their owner's.
    let owner = denied("must be owner of function plain");
    for sql in [
        "DROP FUNCTION plain(INT)",
        "ALTER FUNCTION plain RENAME TO mine",
        "COMMENT ON FUNCTION plain(INT) IS 'x'",
        "CREATE OR REPLACE FUNCTION plain(a INT) RETURNS INT LANGUAGE sql AS 'SELECT a + 2'",
    ] {
        assert_eq!(outcome(&mut user, sql), owner, "{sql}");
    }
    assert_eq!(
        outcome(
            &mut other,
            "CREATE FUNCTION f() RETURNS INT LANGUAGE sql AS 'SELECT 1'"
        ),
        denied("permission denied for schema public")
    );
    run(&mut administrator, "ALTER FUNCTION plain(INT) OWNER TO u");
    run(&mut user, "DROP FUNCTION plain(INT)");
}
