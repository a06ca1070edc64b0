//! Statistics that follow the rows: plans change when they are gathered, and at no other time. And what
//! EXPLAIN ANALYZE shows of plans of several paths.

use rukh::{Database, Value};
use rukh_testkit::client::Client;

fn client() -> (Database, Client) {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let mut client = Client::new(&database);
    for statement in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR)",
        "CREATE INDEX t_a ON t (a)",
        "INSERT INTO t SELECT n, n % 2, 'some text' FROM generate_series(1, 5000) AS s(n)",
    ] {
        client.run(statement).unwrap();
    }
    (database, client)
}

fn plan(client: &mut Client) -> String {
    let plan = client.query("EXPLAIN SELECT b FROM t WHERE a = 1").unwrap();
    plan.to_string()
}

#[test]
fn plans_follow_the_rows_once_statistics_are_refreshed() {
    let (database, mut client) = client();
    database.refresh_statistics().unwrap();
    let before = plan(&mut client);
    assert!(before.contains("full scan on table t"), "{before}");
    assert!(before.contains("5000 keys, 2500 rows"), "{before}");
    let statement = client
        .connection()
        .prepare("SELECT count(b) FROM t WHERE a = $1")
        .unwrap();
    let examined = |client: &mut Client| {
        let rows = client
            .connection()
            .query_prepared(&statement, &[Value::from(1)])
            .unwrap();
        drop(rukh_testkit::client::table_of(rows).unwrap());
        client.last_stat("keys_examined").unwrap()
    };
    assert_eq!(examined(&mut client), 5000);

    client.run("UPDATE t SET a = id").unwrap();
    assert_eq!(plan(&mut client), before, "the same statistics, the same plan");
    assert_eq!(examined(&mut client), 5000);
    database.refresh_statistics().unwrap();
    let after = plan(&mut client);
    assert!(after.contains("range scan on index t@t_a"), "{after}");
    assert_eq!(examined(&mut client), 1, "a prepared statement is planned anew");
}

#[test]
fn few_changes_leave_statistics_as_they_are() {
    let (database, mut client) = client();
    database.refresh_statistics().unwrap();
    let before = plan(&mut client);
    // 50 and a tenth of 5,000 rows make a table stale.
    client.run("UPDATE t SET a = 7 WHERE id <= 500").unwrap();
    client.run("DELETE FROM t WHERE id > 4951").unwrap();
    database.refresh_statistics().unwrap();
    assert_eq!(plan(&mut client), before);
    client.run("BEGIN").unwrap();
    client.run("INSERT INTO t VALUES (10000, 1, 'x')").unwrap();
    database.refresh_statistics().unwrap();
    assert_eq!(plan(&mut client), before, "what is not committed does not count");
    client.run("COMMIT").unwrap();
    database.refresh_statistics().unwrap();
    let after = plan(&mut client);
    assert!(after.contains("4952 keys"), "{after}");
}

#[test]
fn each_path_of_a_direct_plan_says_what_it_did() {
    let (database, mut client) = client();
    client.run("UPDATE t SET a = id % 500").unwrap();
    client.run("CREATE INDEX t_b ON t (b)").unwrap();
    client.run("UPDATE t SET b = 'rare' WHERE id % 1000 = 7").unwrap();
    database.refresh_statistics().unwrap();
    let actuals = |client: &mut Client, sql: &str| {
        let plan = client
            .query(&format!("EXPLAIN ANALYZE {sql}"))
            .unwrap()
            .to_string();
        let lines = plan.lines().filter(|line| line.contains("actual"));
        let keys = lines.map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| *word == "keys").unwrap();
            let rows = words.iter().position(|word| word.starts_with("rows")).unwrap();
            format!("{} keys, {} rows", words[at - 1], words[rows - 1])
        });
        (keys.collect::<Vec<String>>(), plan)
    };
    let (arms, plan) = actuals(&mut client, "SELECT id FROM t WHERE a = 3 OR b = 'rare'");
    assert_eq!(arms, ["10 keys, 10 rows", "5 keys, 5 rows"], "{plan}");
    let (totals, plan) = actuals(&mut client, "SELECT count(*), max(id) FROM t WHERE id > 4990");
    assert_eq!(totals.len(), 2, "{plan}");
    assert_eq!(totals[0], "10 keys, 1 rows", "{plan}");
    assert!(
        totals[1] != totals[0] && totals[1].ends_with("keys, 1 rows"),
        "{plan}"
    );
}
