//! Members of roles: the rights that they have, making others members, and what of them is left when roles go.

use crate::users::{connect_as, database, outcome, run};

fn denied(message: &str) -> Option<(String, String)> {
    Some(("42501".to_string(), message.to_string()))
}

#[test]
fn members_have_the_rights_of_their_roles_and_those_of_these() {
    let database = database(&[
        "CREATE TABLE t (id INT PRIMARY KEY, a TEXT)",
        "INSERT INTO t VALUES (1, 'x')",
        "CREATE ROLE readers",
        "CREATE ROLE writers IN ROLE readers",
        "GRANT SELECT ON t TO readers",
        "GRANT INSERT, UPDATE ON t TO writers",
        "CREATE USER u IN ROLE writers",
        "CREATE USER n NOINHERIT IN ROLE writers",
    ]);
    let mut administrator = database.connect();
    let (mut user, mut other) = (connect_as(&database, "u"), connect_as(&database, "n"));
    run(&mut user, "SELECT * FROM t");
    run(&mut user, "INSERT INTO t VALUES (2, 'y')");
    run(&mut user, "UPDATE t SET a = 'z' WHERE id = 1");
    let no_right = denied("permission denied for table t");
    assert_eq!(outcome(&mut user, "DELETE FROM t"), no_right);
    // Without INHERIT the rights come with SET ROLE.
    assert_eq!(outcome(&mut other, "SELECT * FROM t"), no_right);
    run(&mut other, "SET ROLE readers");
    run(&mut other, "SELECT * FROM t");
    assert_eq!(outcome(&mut other, "INSERT INTO t VALUES (3, 'y')"), no_right);
    run(&mut other, "SET ROLE writers");
    run(&mut other, "INSERT INTO t VALUES (3, 'y')");
    run(&mut other, "RESET ROLE");
    assert_eq!(outcome(&mut other, "SELECT * FROM t"), no_right);
    // A right that is taken from the role is taken from its members, also in statements that ran before.
    run(&mut administrator, "REVOKE SELECT ON t FROM readers");
    assert_eq!(outcome(&mut user, "SELECT * FROM t"), no_right);
    run(&mut administrator, "GRANT SELECT ON t TO readers");
    run(&mut user, "SELECT * FROM t");
    run(&mut administrator, "REVOKE readers FROM writers");
    assert_eq!(outcome(&mut user, "SELECT * FROM t"), no_right);
    assert_eq!(
        outcome(&mut other, "SET ROLE readers"),
        denied("permission denied to set role \"readers\"")
    );
}

#[test]
fn what_a_role_owns_its_members_may_change() {
    let database = database(&[
        "CREATE ROLE team",
        "CREATE USER u IN ROLE team",
        "CREATE USER w",
        "GRANT CREATE ON SCHEMA public TO team",
    ]);
    let (mut user, mut other) = (connect_as(&database, "u"), connect_as(&database, "w"));
    run(&mut user, "SET ROLE team");
    run(&mut user, "CREATE TABLE shared (id INT PRIMARY KEY)");
    run(&mut user, "RESET ROLE");
    run(&mut user, "ALTER TABLE shared ADD COLUMN a TEXT");
    run(&mut user, "GRANT SELECT ON shared TO w");
    run(&mut other, "SELECT * FROM shared");
    assert_eq!(
        outcome(&mut other, "DROP TABLE shared"),
        denied("must be owner of table shared")
    );
    run(&mut user, "CREATE TABLE own (id INT PRIMARY KEY)");
    // What the member makes as itself is its own, and not the role's.
    let mut administrator = database.connect();
    run(&mut administrator, "CREATE USER v IN ROLE team");
    let mut second = connect_as(&database, "v");
    run(&mut second, "INSERT INTO shared VALUES (1)");
    assert_eq!(
        outcome(&mut second, "INSERT INTO own VALUES (1)"),
        denied("permission denied for table own")
    );
}

#[test]
fn those_with_the_admin_option_make_others_members() {
    let database = database(&[
        "CREATE ROLE team",
        "CREATE ROLE all_teams",
        "CREATE USER boss",
        "CREATE USER u",
        "GRANT team TO boss WITH ADMIN OPTION",
        "GRANT all_teams TO team",
    ]);
    let mut administrator = database.connect();
    let (mut boss, mut user) = (connect_as(&database, "boss"), connect_as(&database, "u"));
    let may_not = denied("must have admin option on role \"team\"");
    assert_eq!(outcome(&mut user, "GRANT team TO u"), may_not);
    run(&mut boss, "GRANT team TO u");
    assert_eq!(outcome(&mut user, "GRANT team TO boss"), may_not);
    assert_eq!(
        outcome(&mut boss, "GRANT all_teams TO u"),
        denied("must have admin option on role \"all_teams\"")
    );
    let circular = |of: &str, member: &str| {
        Some((
            "0LP01".to_string(),
            format!("role \"{of}\" is a member of role \"{member}\""),
        ))
    };
    assert_eq!(
        outcome(&mut administrator, "GRANT team TO all_teams"),
        circular("team", "all_teams")
    );
    assert_eq!(outcome(&mut administrator, "GRANT u TO u"), circular("u", "u"));
    assert_eq!(
        outcome(&mut administrator, "GRANT nobody TO u"),
        Some(("42704".to_string(), "role \"nobody\" does not exist".to_string()))
    );
    run(&mut user, "SET ROLE all_teams");
    run(&mut user, "RESET ROLE");
    run(&mut boss, "REVOKE team FROM u");
    assert_eq!(
        outcome(&mut user, "SET ROLE all_teams"),
        denied("permission denied to set role \"all_teams\"")
    );
    run(&mut administrator, "REVOKE ADMIN OPTION FOR team FROM boss");
    assert_eq!(outcome(&mut boss, "GRANT team TO u"), may_not);
    run(&mut boss, "SET ROLE team");
    run(&mut boss, "RESET ROLE");
    // A role that goes has no members.
    run(&mut administrator, "DROP ROLE team");
    run(&mut administrator, "CREATE ROLE team");
    assert_eq!(
        outcome(&mut boss, "SET ROLE team"),
        denied("permission denied to set role \"team\"")
    );
}

#[test]
fn catalogs_show_members() {
    let database = database(&[
        "CREATE ROLE team",
        "CREATE USER u IN ROLE team",
        "CREATE USER n NOINHERIT",
        "GRANT team TO n WITH ADMIN OPTION",
    ]);
    let mut administrator = database.connect();
    let mut rows = |sql: &str| -> Vec<String> {
        let rows = administrator.execute(sql).expect("a query").rows.expect("rows");
        let text = |row: rukh::Result<rukh::Row>| row.expect("a row").get::<String>(0).expect("a text");
        rows.map(text).collect()
    };
    let members = "SELECT m.rolname || ' of ' || r.rolname || ' ' || a.admin_option || ' ' || m.rolinherit \
                   FROM pg_auth_members a JOIN pg_roles r ON r.oid = a.roleid JOIN pg_roles m ON m.oid = a.member ORDER BY 1";
    assert_eq!(rows(members), ["n of team true false", "u of team false true"]);
    let has = "SELECT concat_ws(' ', pg_has_role('u', 'team', 'MEMBER'), pg_has_role('n', 'team', 'USAGE'), \
               pg_has_role('n', 'team', 'MEMBER'), pg_has_role('team', 'u', 'MEMBER'), \
               pg_has_role('n', 'team', 'MEMBER WITH ADMIN OPTION'), pg_has_role('u', 'u', 'USAGE'))";
    assert_eq!(rows(has), ["t f t f t t"]);
}
