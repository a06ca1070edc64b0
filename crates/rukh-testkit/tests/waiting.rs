//! Transactions that wait for one another: `SET conflict = 'wait'`.
//!
//! Each connection has a thread of its own, so that a statement can wait while others go on. That a statement waits is
//! seen by its having no answer after a moment; that it went on wrongly is never taken for that.

#![allow(clippy::unwrap_used)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng};
use rukh::{CancelHandle, Database, Error, ErrorKind};
use rukh_testkit::client::{Client, Output};
use rukh_testkit::place;
use rukh_testkit::seed::{Case, Cases};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;

/// How long a statement has no answer that waits.
const MOMENT: Duration = Duration::from_millis(60);
/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection with a thread of its own.
struct Actor {
    statements: Option<Sender<String>>,
    answers: Receiver<Result<Output, Error>>,
    cancel: CancelHandle,
    thread: Option<JoinHandle<()>>,
}

impl Actor {
    fn new(database: &Database) -> Self {
        let mut client = Client::new(database);
        let cancel = client.connection().cancel_handle();
        let (statements, received) = channel::<String>();
        let (answer, answers) = channel();
        let thread = std::thread::spawn(move || {
            for sql in received {
                if answer.send(client.run(&sql)).is_err() {
                    break;
                }
            }
        });
        Actor {
            statements: Some(statements),
            answers,
            cancel,
            thread: Some(thread),
        }
    }

    fn start(&self, sql: &str) {
        self.statements.as_ref().unwrap().send(sql.to_string()).unwrap();
    }

    /// Returns the answer to the statement started last.
    fn answer(&self) -> Result<Output, Error> {
        self.answers
            .recv_timeout(PATIENCE)
            .expect("a statement that ends")
    }

    fn run(&self, sql: &str) -> Output {
        self.start(sql);
        self.answer().unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn fails(&self, sql: &str, sqlstate: &str) -> Error {
        self.start(sql);
        self.has_failed(sqlstate)
    }

    fn has_failed(&self, sqlstate: &str) -> Error {
        let error = self.answer().expect_err("a statement that fails");
        assert_eq!(error.sqlstate, sqlstate, "{error}");
        error
    }

    /// Starts a statement that has to wait.
    fn waits(&self, sql: &str) {
        self.start(sql);
        let answer = self.answers.recv_timeout(MOMENT);
        assert!(answer.is_err(), "{sql} does not wait: {answer:?}");
    }

    /// Checks the first column of a query's rows.
    fn sees(&self, sql: &str, expected: &[&str]) {
        assert_eq!(first_column(&self.run(sql)), expected, "{sql}");
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.statements = None;
        self.cancel.cancel();
        let thread = self.thread.take().unwrap();
        if !std::thread::panicking() {
            thread.join().unwrap();
        }
    }
}

fn first_column(output: &Output) -> Vec<String> {
    let rows = &output.table.as_ref().expect("a query").rows;
    rows.iter()
        .map(|row| row[0].clone().unwrap_or_default())
        .collect()
}

#[test]
fn all_cases_hold_on_hbase() {
    if let Some(server) = fixture::Server::start() {
        place::run_again_on(&server.url, "all_cases_hold_on_hbase");
    }
}

/// A table of two rows, (1, 10) and (2, 20), and actors whose transactions wait.
fn world<const N: usize>() -> (Database, [Actor; N]) {
    let database = place::database();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER, u INTEGER)",
        "CREATE UNIQUE INDEX t_u ON t (u)",
        "CREATE INDEX t_v ON t (v)",
        "INSERT INTO t VALUES (1, 10, 1), (2, 20, 2)",
    ] {
        client.run(sql).unwrap();
    }
    let actors = std::array::from_fn(|_| {
        let actor = Actor::new(&database);
        actor.run("SET conflict = 'wait'");
        actor
    });
    (database, actors)
}

fn check(database: &Database) {
    Client::new(database).check("t").unwrap();
}

#[test]
fn the_first_statement_waits_and_goes_on_with_what_is_there_then() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        for sql in [
            "UPDATE t SET v = v + 1 WHERE id = 1",
            "UPDATE t SET v = v + 1 WHERE id + 0 = 1",
            "UPDATE t SET v = v + 1 WHERE v BETWEEN 5 AND 19",
            "INSERT INTO t VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET v = t.v + 1",
            "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v + 1",
            "WITH w AS (UPDATE t SET v = v + 1 WHERE id = 1 RETURNING id) SELECT * FROM w",
        ] {
            let (database, [a, b]) = world();
            a.run(&format!("BEGIN ISOLATION LEVEL {level}"));
            b.run(&format!("BEGIN ISOLATION LEVEL {level}"));
            a.run("UPDATE t SET v = 12 WHERE id = 1");
            b.waits(sql);
            a.run("COMMIT");
            b.answer()
                .unwrap_or_else(|error| panic!("{level}, {sql}: {error}"));
            b.sees("SELECT v FROM t WHERE id = 1", &["13"]);
            b.run("COMMIT");
            a.sees("SELECT v FROM t WHERE id = 1", &["13"]);
            check(&database);
        }
    }
}

#[test]
fn who_waits_for_a_transaction_that_is_rolled_back_goes_on() {
    let (_database, [a, b]) = world();
    a.run("BEGIN");
    b.run("BEGIN");
    b.sees("SELECT v FROM t WHERE id = 1", &["10"]);
    a.run("UPDATE t SET v = 12 WHERE id = 1");
    b.waits("UPDATE t SET v = v + 1 WHERE id = 1");
    a.run("ROLLBACK");
    b.answer().unwrap();
    b.run("COMMIT");
    a.sees("SELECT v FROM t WHERE id = 1", &["11"]);
}

#[test]
fn repeatable_read_fails_at_the_statement_and_read_committed_goes_on() {
    let (_database, [a, b, c]) = world();
    a.run("BEGIN");
    b.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    c.run("BEGIN ISOLATION LEVEL READ COMMITTED");
    b.sees("SHOW transaction_isolation", &["repeatable read"]);
    c.sees("SHOW transaction_isolation", &["read committed"]);
    for actor in [&b, &c] {
        actor.sees("SELECT v FROM t WHERE id = 2", &["20"]);
    }
    a.run("UPDATE t SET v = 12 WHERE id = 1");
    b.waits("UPDATE t SET v = v + 1 WHERE id = 1");
    a.run("COMMIT");
    let error = b.has_failed("40001");
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert_eq!(
        error.message,
        "could not serialize access due to concurrent update"
    );
    b.fails("SELECT 1", "25P02");
    c.sees("SELECT v FROM t WHERE id = 1", &["12"]);
    c.run("UPDATE t SET v = v + 1 WHERE id = 1");
    c.run("COMMIT");
    b.run("ROLLBACK");
    b.sees("SELECT v FROM t WHERE id = 1", &["13"]);
}

#[test]
fn read_committed_reads_what_is_committed_with_its_own_changes_on_top() {
    let (database, [a, b]) = world();
    b.run("BEGIN ISOLATION LEVEL READ COMMITTED");
    b.run("UPDATE t SET v = 21 WHERE id = 2");
    a.run("INSERT INTO t VALUES (3, 30, 3)");
    b.sees("SELECT v FROM t ORDER BY v", &["10", "21", "30"]);
    b.sees("SELECT count(*) FROM t", &["3"]);
    a.run("DELETE FROM t WHERE id = 1");
    b.sees("SELECT id FROM t WHERE v BETWEEN 5 AND 25", &["2"]);
    b.run("SAVEPOINT s");
    b.run("DELETE FROM t WHERE id = 3");
    a.waits("UPDATE t SET v = 33 WHERE id = 3");
    b.run("ROLLBACK TO s");
    assert_eq!(a.answer().unwrap().count(), 1);
    b.sees("SELECT v FROM t ORDER BY id", &["21", "33"]);
    b.run("COMMIT");
    a.sees("SELECT v FROM t ORDER BY id", &["21", "33"]);
    check(&database);
}

#[test]
fn a_deadlock_ends_one_and_the_other_goes_on() {
    let (_database, [a, b]) = world();
    a.run("BEGIN");
    b.run("BEGIN");
    a.run("UPDATE t SET v = 11 WHERE id = 1");
    b.run("UPDATE t SET v = 22 WHERE id = 2");
    a.waits("UPDATE t SET v = 12 WHERE id = 2");
    let error = b.fails("UPDATE t SET v = 21 WHERE id = 1", "40P01");
    assert_eq!(error.message, "deadlock detected");
    // Its locks are given up with the error, before the client says ROLLBACK.
    a.answer().unwrap();
    a.run("COMMIT");
    b.run("ROLLBACK");
    b.sees("SELECT v FROM t ORDER BY id", &["11", "12"]);
}

#[test]
fn a_wait_ends_by_lock_timeout_and_by_cancel() {
    let (_database, [a, b]) = world();
    a.run("BEGIN");
    a.run("UPDATE t SET v = 11 WHERE id = 1");
    b.run("SET lock_timeout = '50ms'");
    for begin in ["SELECT 1", "BEGIN"] {
        b.run(begin);
        let error = b.fails("UPDATE t SET v = 12 WHERE id = 1", "55P03");
        assert_eq!(error.message, "canceling statement due to lock timeout");
    }
    b.run("ROLLBACK");
    b.run("SET lock_timeout = 0");
    for begin in ["SELECT 1", "BEGIN"] {
        b.run(begin);
        b.waits("DELETE FROM t WHERE id = 1");
        b.cancel.cancel();
        b.has_failed("57014");
    }
    b.run("ROLLBACK");
    a.run("COMMIT");
    b.sees("SELECT v FROM t WHERE id = 1", &["11"]);
}

#[test]
fn statements_outside_of_transactions_wait_too() {
    let (database, [a, b, c]) = world();
    c.run("SET conflict = 'fail'");
    a.run("BEGIN");
    a.run("UPDATE t SET v = v + 1");
    b.waits("UPDATE t SET v = v + 1 WHERE v > 10");
    c.waits("UPDATE t SET v = v + 1 WHERE id = 2");
    a.run("COMMIT");
    assert_eq!(b.answer().unwrap().count(), 2);
    assert_eq!(c.answer().unwrap().count(), 1);
    a.sees("SELECT v FROM t ORDER BY id", &["12", "23"]);
    check(&database);
}

#[test]
fn a_commit_of_another_kind_of_transaction_leaves_locked_rows_alone() {
    let (_database, [a, b]) = world();
    b.run("SET conflict = 'fail'");
    a.run("BEGIN");
    b.run("BEGIN");
    a.run("UPDATE t SET v = 11 WHERE id = 1");
    b.run("UPDATE t SET v = 12 WHERE id = 1");
    let error = b.fails("COMMIT", "40001");
    assert_eq!(
        error.detail.as_deref(),
        Some("Table \"t\": A row that was changed here is locked by another.")
    );
    a.run("COMMIT");
    b.sees("SELECT v FROM t WHERE id = 1", &["11"]);
}

#[test]
fn unique_values_are_waited_for() {
    let (database, [a, b]) = world();
    a.run("BEGIN");
    a.run("INSERT INTO t VALUES (3, 30, 7)");
    b.waits("INSERT INTO t VALUES (4, 40, 7)");
    a.run("COMMIT");
    b.has_failed("23505");
    a.run("BEGIN");
    a.run("INSERT INTO t VALUES (5, 50, 8)");
    b.run("BEGIN");
    b.waits("INSERT INTO t VALUES (6, 60, 8) ON CONFLICT (u) DO NOTHING");
    a.run("ROLLBACK");
    assert_eq!(b.answer().unwrap().count(), 1);
    b.run("COMMIT");
    a.sees("SELECT id FROM t ORDER BY id", &["1", "2", "3", "6"]);
    check(&database);
}

#[test]
fn rows_locked_for_update_and_for_share_are_waited_for() {
    let (_database, [a, b, c]) = world();
    for actor in [&a, &b, &c] {
        actor.run("BEGIN");
    }
    a.sees("SELECT v FROM t WHERE id = 1 FOR SHARE", &["10"]);
    b.sees("SELECT v FROM t WHERE id = 1 FOR SHARE", &["10"]);
    c.waits("SELECT v FROM t WHERE id = 1 FOR UPDATE");
    a.run("COMMIT");
    b.run("ROLLBACK");
    assert_eq!(first_column(&c.answer().unwrap()), ["10"]);
    a.run("BEGIN");
    a.waits("SELECT v FROM t FOR UPDATE");
    c.run("UPDATE t SET v = 15 WHERE id = 1");
    c.run("COMMIT");
    assert_eq!(first_column(&a.answer().unwrap()), ["15", "20"]);
}

#[test]
fn nowait_fails_and_skip_locked_takes_others() {
    let (database, [a, b, c]) = world();
    a.run("INSERT INTO t SELECT n, n, n FROM generate_series(3, 9) AS s(n)");
    let next = "SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 2";
    for (actor, expected) in [(&a, ["1", "2"]), (&b, ["3", "4"])] {
        actor.run("BEGIN");
        actor.sees(next, &expected);
    }
    c.run("BEGIN");
    c.sees(
        "SELECT id FROM t ORDER BY id LIMIT 1 OFFSET 2 FOR UPDATE SKIP LOCKED",
        &["7"],
    );
    c.run("ROLLBACK");
    a.run("DELETE FROM t WHERE id IN (1, 2)");
    a.run("COMMIT");
    c.run("BEGIN");
    c.sees("SELECT id FROM t WHERE id < 6 FOR UPDATE SKIP LOCKED", &["5"]);
    let error = c.fails("SELECT id FROM t WHERE id = 3 FOR UPDATE NOWAIT", "55P03");
    assert_eq!(error.message, "could not obtain lock on row in relation \"t\"");
    c.run("ROLLBACK");
    c.run("BEGIN");
    c.fails("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT", "55P03");
    c.run("ROLLBACK");
    b.run("COMMIT");
    a.run("BEGIN");
    a.run("LOCK TABLE t IN EXCLUSIVE MODE");
    b.waits("DELETE FROM t WHERE id = 9");
    a.run("COMMIT");
    assert_eq!(b.answer().unwrap().count(), 1);
    check(&database);
}

#[test]
fn adds_to_a_counter_wait_for_no_one_but_changes() {
    let database = place::database();
    let mut client = Client::new(&database);
    client
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, n COUNTER)")
        .unwrap();
    client.run("INSERT INTO t VALUES (1, 0)").unwrap();
    let [a, b, c]: [Actor; 3] = std::array::from_fn(|_| Actor::new(&database));
    for actor in [&a, &b, &c] {
        actor.run("SET conflict = wait");
        actor.run("BEGIN");
    }
    a.run("UPDATE t SET n = n + 1 WHERE id = 1");
    b.run("UPDATE t SET n = n + 10 WHERE id = 1");
    c.waits("DELETE FROM t WHERE id = 1 AND n >= 0");
    a.run("COMMIT");
    b.run("COMMIT");
    assert_eq!(c.answer().unwrap().count(), 1);
    c.run("COMMIT");
}

#[test]
fn how_a_transaction_meets_others_is_a_setting_of_its_session() {
    let (_database, [a]) = world();
    a.run("SET conflict = 'fail'");
    a.run("SET default_transaction_isolation = 'read committed'");
    a.sees("SHOW default_transaction_isolation", &["repeatable read"]);
    a.run("SET conflict = 'wait'");
    a.sees("SHOW default_transaction_isolation", &["read committed"]);
    a.run("BEGIN");
    a.sees("SHOW transaction_isolation", &["read committed"]);
    a.run("SELECT * FROM t");
    a.fails("SET conflict = 'fail'", "25001");
    a.run("ROLLBACK");
    a.run("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    a.sees("SHOW transaction_isolation", &["repeatable read"]);
    a.fails("SET conflict = 'perhaps'", "22023");
    a.run("RESET conflict");
    a.sees("SHOW conflict", &["fail"]);
}

#[test]
fn a_history_shows_a_transaction_that_waited_whole() {
    let database = place::database();
    let mut client = Client::new(&database);
    client
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER) VERSIONS 9")
        .unwrap();
    client.run("INSERT INTO t VALUES (1, 10), (2, 20)").unwrap();
    let [a, b]: [Actor; 2] = std::array::from_fn(|_| Actor::new(&database));
    for actor in [&a, &b] {
        actor.run("SET conflict = 'wait'");
        actor.run("BEGIN ISOLATION LEVEL READ COMMITTED");
    }
    a.run("UPDATE t SET v = 11 WHERE id = 1");
    b.run("UPDATE t SET v = 21 WHERE id = 2");
    b.waits("UPDATE t SET v = 12 WHERE id = 1");
    a.run("COMMIT");
    // What it has changed already is of a moment before the other's commit.
    b.has_failed("40001");
    b.run("ROLLBACK");
    b.run("BEGIN ISOLATION LEVEL READ COMMITTED");
    a.run("BEGIN");
    a.run("UPDATE t SET v = 13 WHERE id = 1");
    b.waits("UPDATE t SET v = v + 1 WHERE id = 1");
    a.run("COMMIT");
    b.answer().unwrap();
    b.run("COMMIT");
    a.sees(
        "SELECT v FROM t FOR SYSTEM_TIME FROM '2020-01-01' TO now() WHERE id = 1 ORDER BY v",
        &["10", "11", "13", "14"],
    );
    check(&database);
}

const ACCOUNTS: i32 = 5;

/// What clients do of their own: transactions of several kinds between accounts, none of which fails instead of waiting.
#[test]
fn money_is_neither_made_nor_lost() {
    let cases = Cases::from_environment("waiting", 1);
    cases.iter().for_each(|case| money_stays(&case));
}

fn money_stays(case: &Case) {
    let seed = case.seed;
    let database = place::database();
    let mut client = Client::new(&database);
    client
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
        .unwrap();
    client.run("CREATE INDEX t_v ON t (v)").unwrap();
    client
        .run(&format!(
            "INSERT INTO t SELECT n, 100 FROM generate_series(1, {ACCOUNTS}) AS s(n)"
        ))
        .unwrap();
    let workers: Vec<_> = (0..6)
        .map(|worker| {
            let mut client = Client::new(&database);
            std::thread::spawn(move || {
                let mut random = StdRng::seed_from_u64(seed ^ worker);
                let waits = worker < 5;
                client
                    .run(&format!("SET conflict = {}", if waits { "wait" } else { "fail" }))
                    .unwrap();
                let mut failed = 0;
                for _ in 0..60 {
                    let from = random.random_range(1..=ACCOUNTS);
                    let to = (from + random.random_range(1..ACCOUNTS) - 1) % ACCOUNTS + 1;
                    let amount = random.random_range(1..20);
                    if let Err(error) = transfer(&mut client, &mut random, (from, to), amount) {
                        assert!(["40001", "40P01"].contains(&error.sqlstate), "{error}");
                        failed += 1;
                        client.run("ROLLBACK").unwrap();
                    }
                }
                failed
            })
        })
        .collect();
    let failed: Vec<i32> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    assert!(failed.iter().any(|failed| *failed < 60), "{failed:?}");
    let sum = client.query("SELECT sum(v), count(*) FROM t").unwrap();
    assert_eq!(
        sum.rows,
        [[Some((100 * ACCOUNTS).to_string()), Some(ACCOUNTS.to_string())]]
    );
    check(&database);
}

fn transfer(
    client: &mut Client,
    random: &mut StdRng,
    (from, to): (i32, i32),
    amount: i32,
) -> Result<(), Error> {
    match random.random_range(0..4) {
        0 => {
            let sql = format!(
                "UPDATE t SET v = v + CASE WHEN id = {from} THEN -{amount} ELSE {amount} END WHERE id IN ({from}, {to})"
            );
            client.run(&sql)?;
        }
        1 => {
            client.run("BEGIN ISOLATION LEVEL READ COMMITTED")?;
            let sql = format!("SELECT v FROM t WHERE id IN ({from}, {to}) ORDER BY id FOR UPDATE");
            let values = client.query(&sql)?.rows;
            let value = |at: usize| values[at][0].as_ref().unwrap().parse::<i32>().unwrap();
            let (low, high) = if from < to { (from, to) } else { (to, from) };
            let sign = if from < to { -1 } else { 1 };
            let set =
                |client: &mut Client, id, v| client.run(&format!("UPDATE t SET v = {v} WHERE id = {id}"));
            set(client, low, value(0) + sign * amount)?;
            set(client, high, value(1) - sign * amount)?;
            client.run("COMMIT")?;
        }
        level => {
            let level = if level == 2 {
                "READ COMMITTED"
            } else {
                "REPEATABLE READ"
            };
            client.run(&format!("BEGIN ISOLATION LEVEL {level}"))?;
            client.run(&format!("UPDATE t SET v = v - {amount} WHERE id = {from}"))?;
            client.run(&format!("UPDATE t SET v = v + {amount} WHERE id = {to}"))?;
            client.run("COMMIT")?;
        }
    }
    Ok(())
}

#[test]
fn clients_that_add_to_one_row_never_fail() {
    let (database, []) = world::<0>();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let mut client = Client::new(&database);
            std::thread::spawn(move || {
                client.run("SET conflict = 'wait'").unwrap();
                for _ in 0..25 {
                    client.run("BEGIN").unwrap();
                    client.run("UPDATE t SET v = v + 1 WHERE id = 1").unwrap();
                    client.run("COMMIT").unwrap();
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let sum = Client::new(&database)
        .query("SELECT v FROM t WHERE id = 1")
        .unwrap();
    assert_eq!(sum.rows, [[Some("210".to_string())]]);
}
