//! What statements have cost, in `pg_stat_statements`.

use rukh::{Database, Error};

use crate::{Config, server_over};
use rukh_testkit::raw::Raw;

type Counted = (String, i64, i64, Option<String>, i64);

/// Returns text, calls, rows, plan and keys of the statements that name the table.
fn counted(database: &Database, user: Option<&str>) -> Vec<Counted> {
    let mut connection = database.connect();
    if let Some(user) = user {
        connection.set_user(user);
    }
    let sql = "SELECT query, calls, rows, plan, keys_examined FROM pg_stat_statements \
               WHERE query LIKE '% t%' AND query NOT LIKE '%pg_stat%' OR query LIKE '<%' ORDER BY query";
    let rows = connection.query(sql).expect("it runs");
    let read = |row: rukh::Row| -> Result<Counted, Error> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    };
    rows.map(|row| row.and_then(read).expect("rows have these columns"))
        .collect()
}

#[test]
fn statements_are_counted_without_their_literals() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let server = server_over(database.clone(), Config::default());
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    raw.simple("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    for id in 1..5 {
        raw.simple(&format!("SELECT v FROM t WHERE id = {id}"));
    }
    raw.simple("SELECT  v FROM t WHERE id = 9 -- none");
    raw.simple("SELECT v + 1 AS n FROM t a JOIN (SELECT 2 AS two) b ON a.id >= b.two");
    raw.simple("UPDATE t SET v = v + 1 WHERE id <= 2");
    // What fails is not counted.
    raw.simple("SELECT nothing FROM t");
    let line = |text: &str, calls, rows, plan: Option<&str>| {
        (text.to_string(), calls, rows, plan.map(str::to_string))
    };
    let all = counted(&database, None);
    let shown: Vec<_> = all
        .iter()
        .map(|(text, calls, rows, plan, _)| (text.clone(), *calls, *rows, plan.clone()))
        .filter(|(text, ..)| !text.starts_with("UPDATE"))
        .collect();
    assert_eq!(
        shown,
        [
            line("CREATE TABLE t (id INT PRIMARY KEY, v INT)", 1, 0, None),
            line(
                "INSERT INTO t VALUES ($1 /*, ... */), ($2 /*, ... */), ($3 /*, ... */)",
                1,
                3,
                None
            ),
            line(
                "SELECT v + $1 AS n FROM t a JOIN (SELECT $2 AS two) b ON a.id >= b.two",
                1,
                2,
                Some("general")
            ),
            line("SELECT v FROM t WHERE id = $1", 5, 3, Some("direct")),
        ]
    );
    let updated = all.iter().find(|(text, ..)| text.starts_with("UPDATE"));
    assert_eq!(updated.map(|(_, calls, rows, ..)| (*calls, *rows)), Some((1, 2)));
    let keys = all.iter().find(|(text, ..)| text.starts_with("SELECT v FROM"));
    assert!(keys.is_some_and(|(.., keys)| *keys >= 3), "{all:?}");
    raw.simple("SELECT pg_stat_statements_reset()");
    assert!(counted(&database, None).is_empty());
    server.stop();
}

#[test]
fn texts_of_others_are_not_shown() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let mut administrator = database.connect();
    let created = administrator.execute("CREATE USER u PASSWORD 'x'");
    created.map(drop).expect("a user can be made");
    database.count_statements();
    let result = administrator.execute("SELECT 1 AS that");
    drop(result.expect("it runs"));
    let changed = administrator.execute("ALTER USER u PASSWORD 'secret'");
    changed.map(drop).expect("it runs");
    let theirs = counted(&database, Some("u"));
    assert!(
        theirs.iter().all(|(text, ..)| text == "<insufficient privilege>"),
        "{theirs:?}"
    );
    assert!(!theirs.is_empty());
    let mut user = database.connect();
    user.set_user("u");
    let refused = user
        .query("SELECT pg_stat_statements_reset()")
        .and_then(|mut rows| rows.next_row());
    assert_eq!(refused.map_err(|error| error.sqlstate).err(), Some("42501"));
    // No text with a password is kept.
    let mut all = administrator.query("SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%secret%'");
    let row = all.as_mut().expect("it runs").next_row().expect("it is answered");
    assert_eq!(row.and_then(|row| row.get::<i64>(0).ok()), Some(0));
}
