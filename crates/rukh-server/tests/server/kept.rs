//! PREPARE, EXECUTE, DEALLOCATE, cursors and DISCARD in the extended protocol, whose own statements have names too.

use crate::server;
use rukh_testkit::raw::{Answer, Raw, bind, execute, framed, parse};

fn sync() -> Vec<u8> {
    framed(Some(b'S'), b"")
}

/// Sends messages at once and reads until the server is ready.
fn all(client: &mut Raw, messages: &[Vec<u8>]) -> Answer {
    client.send_bytes(&messages.concat());
    client.answer()
}

/// Runs a statement without parameters, all rows at once and as text; its tag and rows.
fn run(client: &mut Raw, sql: &str) -> (Vec<String>, Vec<Vec<Option<String>>>) {
    let answer = client.extended(sql, &[], false);
    assert_eq!(answer.error, None, "{sql}");
    (answer.tags.clone(), answer.texts())
}

fn text(value: &str) -> Option<String> {
    Some(value.to_string())
}

#[test]
fn statements_are_prepared_and_run_by_name() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE t (id INT PRIMARY KEY, n BIGINT)");
    run(
        &mut client,
        "PREPARE add (int, bigint) AS INSERT INTO t VALUES ($1, $2)",
    );
    assert_eq!(run(&mut client, "EXECUTE add (1, 10)").0, ["INSERT 0 1"]);
    run(&mut client, "PREPARE get AS SELECT n, id FROM t WHERE id = $1");
    assert_eq!(run(&mut client, "EXECUTE get (1)").1, [[text("10"), text("1")]]);
    // In binary, and described before.
    let answer = client.extended("EXECUTE get (1)", &[], true);
    assert_eq!(
        answer.columns,
        Some(vec![("n".to_string(), 20), ("id".to_string(), 23)])
    );
    let values = [
        Some(10_i64.to_be_bytes().to_vec()),
        Some(1_i32.to_be_bytes().to_vec()),
    ];
    assert_eq!(answer.rows, [values]);
    // A statement of the protocol is found by its name, and has it for itself.
    let named = all(
        &mut client,
        &[parse("mine", "SELECT id + $1 FROM t", &[23]), sync()],
    );
    assert_eq!(named.kinds(), "1Z");
    assert_eq!(run(&mut client, "EXECUTE mine (5)").1, [[text("6")]]);
    let plan = run(&mut client, "EXPLAIN (FORMAT JSON) EXECUTE mine (5)").1;
    let plan = plan[0][0].clone().unwrap_or_default();
    assert!(plan.starts_with('[') && plan.contains("scan"), "{plan}");
    for taken in ["PREPARE mine AS SELECT 1", "PREPARE add AS SELECT 1"] {
        assert_eq!(client.extended(taken, &[], false).sqlstate(), "42P05", "{taken}");
    }
    let taken = all(&mut client, &[parse("add", "SELECT 1", &[]), sync()]);
    assert_eq!(taken.sqlstate(), "42P05");
    // DEALLOCATE takes either.
    assert_eq!(run(&mut client, "DEALLOCATE mine").0, ["DEALLOCATE"]);
    assert_eq!(run(&mut client, "DEALLOCATE add").0, ["DEALLOCATE"]);
    for gone in ["EXECUTE mine (5)", "EXECUTE add (2, 2)", "DEALLOCATE mine"] {
        assert_eq!(client.extended(gone, &[], false).sqlstate(), "26000", "{gone}");
    }
    let gone = all(&mut client, &[bind("", "mine", &[Some(b"1")], 0, 0), sync()]);
    assert_eq!(gone.sqlstate(), "26000");
    // A closed one is gone as well, and its name is free.
    all(&mut client, &[parse("mine", "SELECT 1", &[]), sync()]);
    all(&mut client, &[framed(Some(b'C'), b"Smine\0"), sync()]);
    assert_eq!(client.extended("EXECUTE mine", &[], false).sqlstate(), "26000");
    all(&mut client, &[parse("mine", "SELECT 2", &[]), sync()]);
    assert_eq!(run(&mut client, "EXECUTE mine").1, [[text("2")]]);
    assert_eq!(run(&mut client, "DEALLOCATE ALL").0, ["DEALLOCATE ALL"]);
    for gone in ["EXECUTE mine", "EXECUTE get (1)"] {
        assert_eq!(client.extended(gone, &[], false).sqlstate(), "26000", "{gone}");
    }
    server.stop();
}

#[test]
fn cursors_are_fetched_from_part_by_part() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("BEGIN");
    run(
        &mut client,
        "DECLARE c CURSOR FOR SELECT value, 'v' || value AS v FROM generate_series(1, 10) AS t(value)",
    );
    let (tags, rows) = run(&mut client, "FETCH 3 FROM c");
    assert_eq!((tags, rows.len()), (vec!["FETCH 3".to_string()], 3));
    assert_eq!(rows[2], [text("3"), text("v3")]);
    let answer = client.extended("FETCH c", &[], true);
    assert_eq!(answer.rows[0][0], Some(4_i32.to_be_bytes().to_vec()));
    // A portal over a FETCH gives its rows in parts itself.
    let part = all(
        &mut client,
        &[
            parse("", "FETCH 4 FROM c", &[]),
            bind("p", "", &[], 0, 0),
            execute("p", 3),
            sync(),
        ],
    );
    assert_eq!(part.kinds(), "12DDDsZ");
    let rest = all(&mut client, &[execute("p", 0), sync()]);
    assert_eq!(
        (rest.kinds().as_str(), rest.texts()),
        ("DCZ", vec![vec![text("8"), text("v8")]])
    );
    assert_eq!(run(&mut client, "MOVE 1 FROM c").0, ["MOVE 1"]);
    assert_eq!(run(&mut client, "FETCH ALL FROM c").1.len(), 1);
    assert_eq!(run(&mut client, "FETCH c").0, ["FETCH 0"]);
    run(&mut client, "DECLARE kept CURSOR WITH HOLD FOR SELECT 7 AS seven");
    client.simple("COMMIT");
    assert_eq!(client.extended("FETCH c", &[], false).sqlstate(), "34000");
    assert_eq!(run(&mut client, "FETCH kept").1, [[text("7")]]);
    assert_eq!(run(&mut client, "CLOSE kept").0, ["CLOSE CURSOR"]);
    assert_eq!(client.extended("CLOSE kept", &[], false).sqlstate(), "34000");
    server.stop();
}

#[test]
fn cursors_take_parameters() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("BEGIN");
    let declare = "DECLARE c CURSOR FOR SELECT value FROM generate_series(1, 10) AS t(value) \
                   WHERE value > $1 AND value = ANY ($2::int[])";
    let answer = client.extended(declare, &[Some(b"7"), Some(b"{3,8,9}")], false);
    assert_eq!(
        (answer.error.clone(), answer.tags),
        (None, vec!["DECLARE CURSOR".to_string()])
    );
    assert_eq!(run(&mut client, "FETCH ALL FROM c").1, [[text("8")], [text("9")]]);
    client.simple("COMMIT");
    server.stop();
}

#[test]
fn a_login_that_is_no_role_is_set_again() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let (_, user) = run(&mut client, "SELECT current_user");
    let user = user[0][0].clone().expect("a name");
    run(&mut client, &format!("SET ROLE \"{user}\""));
    run(&mut client, "CREATE TABLE own (id INT PRIMARY KEY)");
    assert_eq!(run(&mut client, "SELECT current_user").1, [[Some(user)]]);
    assert_eq!(client.extended("SET ROLE nobody", &[], false).sqlstate(), "22023");
    server.stop();
}

#[test]
fn discard_all_leaves_nothing() {
    let server = server();
    let mut client = Raw::connect(server.address());
    run(&mut client, "PREPARE one AS SELECT 1");
    run(&mut client, "DECLARE kept CURSOR WITH HOLD FOR SELECT 7");
    run(&mut client, "SET statement_timeout = '7s'");
    all(&mut client, &[parse("mine", "SELECT 1", &[]), sync()]);
    client.simple("BEGIN");
    assert_eq!(client.extended("DISCARD ALL", &[], false).sqlstate(), "25001");
    client.simple("ROLLBACK");
    assert_eq!(run(&mut client, "DISCARD ALL").0, ["DISCARD ALL"]);
    assert_eq!(client.extended("EXECUTE one", &[], false).sqlstate(), "26000");
    assert_eq!(client.extended("FETCH kept", &[], false).sqlstate(), "34000");
    let gone = all(&mut client, &[bind("", "mine", &[], 0, 0), sync()]);
    assert_eq!(gone.sqlstate(), "26000");
    assert_eq!(run(&mut client, "SHOW statement_timeout").1, [[text("0")]]);
    server.stop();
}
