//! SET ROLE and SET SESSION AUTHORIZATION: statements with the rights of another role.

use rukh::Connection;

use crate::users::{connect_as, database, outcome, run};

#[test]
fn statements_have_the_rights_of_the_role_that_is_set() {
    let database = database(&[
        "CREATE USER boss SUPERUSER",
        "CREATE USER u",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TABLE open (id INT PRIMARY KEY)",
        "GRANT SELECT ON open TO u",
    ]);
    let denied = |what: &str| Some(("42501".to_string(), what.to_string()));
    let mut boss = connect_as(&database, "boss");
    // A text that one role may run is looked at again for another.
    run(&mut boss, "SELECT * FROM t");
    run(&mut boss, "SET ROLE u");
    let closed = denied("permission denied for table t");
    assert_eq!(outcome(&mut boss, "SELECT * FROM t"), closed);
    run(&mut boss, "SELECT * FROM open");
    assert_eq!(
        outcome(&mut boss, "CREATE USER other"),
        denied("permission denied to create role")
    );
    run(&mut boss, "SET ROLE NONE");
    run(&mut boss, "SELECT * FROM t");
    // For a transaction only, and taken back with it.
    run(&mut boss, "BEGIN");
    run(&mut boss, "SET LOCAL ROLE u");
    assert_eq!(outcome(&mut boss, "SELECT * FROM t"), closed);
    run(&mut boss, "ROLLBACK");
    run(&mut boss, "SELECT * FROM t");
    run(&mut boss, "SET ROLE 'u'");
    run(&mut boss, "RESET ROLE");
    run(&mut boss, "SELECT * FROM t");
    run(&mut boss, "SET ROLE u");
    run(&mut boss, "DISCARD ALL");
    run(&mut boss, "SELECT * FROM t");
    let nobody = Some(("22023".to_string(), "role \"nobody\" does not exist".to_string()));
    assert_eq!(outcome(&mut boss, "SET ROLE nobody"), nobody);

    let mut user = connect_as(&database, "u");
    run(&mut user, "SET ROLE u");
    let refused = denied("permission denied to set role \"boss\"");
    assert_eq!(outcome(&mut user, "SET ROLE boss"), refused);
    let set = outcome(&mut user, "SELECT set_config('role', 'boss', false)");
    assert_eq!(set.map(|(state, _)| state), Some("0A000".to_string()));
    assert_eq!(outcome(&mut user, "SELECT * FROM t"), closed);
}

#[test]
fn a_session_counts_as_the_role_that_a_superuser_sets() {
    let database = database(&[
        "CREATE USER boss SUPERUSER",
        "CREATE USER u",
        "CREATE ROLE g",
        "GRANT g TO u",
        "CREATE USER other",
        "CREATE TABLE t (id INT PRIMARY KEY)",
    ]);
    let denied = |what: &str| Some(("42501".to_string(), what.to_string()));
    let closed = denied("permission denied for table t");
    let mut boss = connect_as(&database, "boss");
    boss.set_client("boss", 1);
    let names = |boss: &mut Connection| {
        let sql = "SELECT session_user, current_user, current_setting('role')";
        let mut rows = boss.query(sql).expect("the query runs");
        let row = rows.next().expect("there is a row").expect("it can be read");
        [0, 1, 2].map(|at| row.get::<String>(at).expect("it is a text"))
    };
    run(&mut boss, "SET ROLE g");
    run(&mut boss, "SET SESSION AUTHORIZATION u");
    assert_eq!(names(&mut boss), ["u", "u", "none"]);
    assert_eq!(outcome(&mut boss, "SELECT * FROM t"), closed);
    // Roles are those of u now; the user that began the session still says what it may count as.
    run(&mut boss, "SET ROLE g");
    assert_eq!(names(&mut boss), ["u", "g", "g"]);
    let refused = denied("permission denied to set role \"other\"");
    assert_eq!(outcome(&mut boss, "SET ROLE other"), refused);
    run(&mut boss, "RESET ALL");
    assert_eq!(names(&mut boss), ["u", "g", "g"]);
    run(&mut boss, "SET SESSION AUTHORIZATION 'other'");
    assert_eq!(names(&mut boss), ["other", "other", "none"]);
    run(&mut boss, "RESET SESSION AUTHORIZATION");
    assert_eq!(names(&mut boss), ["boss", "boss", "none"]);
    run(&mut boss, "SELECT * FROM t");
    // Taken back with its transaction, or at its end.
    for end in ["ROLLBACK", "COMMIT"] {
        run(&mut boss, "BEGIN");
        run(&mut boss, "SET LOCAL SESSION AUTHORIZATION u");
        assert_eq!(names(&mut boss), ["u", "u", "none"]);
        run(&mut boss, end);
        assert_eq!(names(&mut boss), ["boss", "boss", "none"]);
    }
    run(&mut boss, "SET session_authorization = u");
    // What it makes is that role's.
    assert_eq!(
        outcome(&mut boss, "CREATE TABLE mine (id INT PRIMARY KEY)"),
        denied("permission denied for schema public")
    );
    run(&mut boss, "SET SESSION AUTHORIZATION DEFAULT");
    assert_eq!(names(&mut boss), ["boss", "boss", "none"]);
    run(&mut boss, "SET SESSION AUTHORIZATION u");
    run(&mut boss, "DISCARD ALL");
    assert_eq!(names(&mut boss), ["boss", "boss", "none"]);
    let nobody = Some(("22023".to_string(), "role \"nobody\" does not exist".to_string()));
    assert_eq!(outcome(&mut boss, "SET SESSION AUTHORIZATION nobody"), nobody);

    let mut user = connect_as(&database, "u");
    user.set_client("u", 2);
    run(&mut user, "SET SESSION AUTHORIZATION u");
    run(&mut user, "SET SESSION AUTHORIZATION DEFAULT");
    let refused = denied("permission denied to set session authorization");
    assert_eq!(outcome(&mut user, "SET SESSION AUTHORIZATION other"), refused);
    assert_eq!(outcome(&mut user, "SET session_authorization = boss"), refused);
    let set = outcome(
        &mut user,
        "SELECT set_config('session_authorization', 'boss', false)",
    );
    assert_eq!(set.map(|(state, _)| state), Some("0A000".to_string()));
    run(&mut user, "SET ROLE g");
    assert_eq!(outcome(&mut user, "SELECT * FROM t"), closed);
}
