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
