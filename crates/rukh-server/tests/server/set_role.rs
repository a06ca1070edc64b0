//! SET ROLE: statements with the rights of another role.

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
