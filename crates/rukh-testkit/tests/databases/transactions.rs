//! What transaction blocks do beyond one connection and one script: threads, lost connections,
//! streams, memory, files.

#![allow(clippy::unwrap_used)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use rukh::{Database, ErrorKind, TransactionStatus};
use rukh_testkit::client::Client;

fn run(client: &mut Client, sql: &str) -> String {
    client
        .run(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .tag
}

fn refused(client: &mut Client, sql: &str) -> &'static str {
    client.run(sql).map(|output| output.tag).unwrap_err().sqlstate
}

fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).unwrap().rows[0][0].clone().unwrap_or_default()
}

fn accounts(database: &Database, count: i64) -> Client {
    let mut client = Client::new(database);
    run(
        &mut client,
        "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT)",
    );
    run(
        &mut client,
        "CREATE INDEX accounts_by_balance ON accounts (balance)",
    );
    run(
        &mut client,
        &format!("INSERT INTO accounts SELECT g.x, 100 FROM generate_series(1, {count}) AS g(x)"),
    );
    client
}

#[test]
fn transfers_of_many_threads_lose_nothing() {
    const THREADS: u64 = 8;
    const TRANSFERS: u64 = 25;
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("db")).unwrap();
    let mut client = accounts(&database, 10);
    let (start, conflicts) = (Barrier::new(THREADS as usize), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut client = Client::new(&database);
            let (start, conflicts) = (&start, &conflicts);
            scope.spawn(move || {
                run(&mut client, "SET synchronous_commit = off");
                start.wait();
                for n in 0..TRANSFERS {
                    let (from, to) = ((thread + n) % 10 + 1, (thread * 3 + n * 7) % 10 + 1);
                    while !transfer(&mut client, from, to) {
                        conflicts.fetch_add(1, Ordering::Relaxed);
                    }
                    assert_eq!(value(&mut client, "SELECT sum(balance) FROM accounts"), "1000");
                }
            });
        }
    });
    let moved = value(
        &mut client,
        "SELECT sum(balance) FROM accounts WHERE balance >= -10000",
    );
    assert_eq!(moved, "1000");
    client.check("accounts").unwrap();
    println!("{} conflicts", conflicts.load(Ordering::Relaxed));
}

/// Moves 1 between accounts; false on a conflict.
fn transfer(client: &mut Client, from: u64, to: u64) -> bool {
    run(client, "BEGIN");
    for (id, sign) in [(from, '-'), (to, '+')] {
        run(
            client,
            &format!("UPDATE accounts SET balance = balance {sign} 1 WHERE id = {id}"),
        );
    }
    match client.run("COMMIT") {
        Ok(output) => {
            assert_eq!(output.tag, "COMMIT");
            true
        }
        Err(error) => {
            assert_eq!((error.sqlstate, error.kind), ("40001", ErrorKind::Conflict));
            false
        }
    }
}

/// Transactions come and go while statements by themselves write: whichever way these two meet, no
/// update is lost.
#[test]
fn transactions_and_statements_by_themselves_lose_nothing() {
    const THREADS: usize = 6;
    const ADDITIONS: usize = 60;
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 2);
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (mut client, start) = (Client::new(&database), &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..ADDITIONS {
                    let id = (n + thread) % 2 + 1;
                    match thread % 2 {
                        0 => drop(run(
                            &mut client,
                            &format!("UPDATE accounts SET balance = balance + 1 WHERE id = {id}"),
                        )),
                        _ => while !add_what_was_read(&mut client, id) {},
                    }
                }
            });
        }
    });
    let expected = (200 + THREADS * ADDITIONS).to_string();
    assert_eq!(value(&mut client, "SELECT sum(balance) FROM accounts"), expected);
    client.check("accounts").unwrap();
}

/// Reads a balance and writes one more; false on a conflict.
fn add_what_was_read(client: &mut Client, id: usize) -> bool {
    run(client, "BEGIN");
    let balance = value(client, &format!("SELECT balance FROM accounts WHERE id = {id}"));
    let more = balance.parse::<i64>().unwrap() + 1;
    run(
        client,
        &format!("UPDATE accounts SET balance = {more} WHERE id = {id}"),
    );
    match client.run("COMMIT") {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.sqlstate, "40001");
            false
        }
    }
}

#[test]
fn a_lost_connection_rolls_back_and_holds_nobody_up() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 3);
    let mut lost = Client::new(&database);
    run(&mut lost, "BEGIN");
    run(&mut lost, "UPDATE accounts SET balance = 0");
    // An open transaction does not keep others from writing the same rows, or from changing definitions.
    run(&mut client, "UPDATE accounts SET balance = 7 WHERE id = 1");
    run(&mut client, "CREATE TABLE other (a INTEGER PRIMARY KEY)");
    drop(lost);
    assert_eq!(value(&mut client, "SELECT sum(balance) FROM accounts"), "207");
    run(&mut client, "DROP INDEX accounts_by_balance");
}

#[test]
fn tags_and_warnings_are_those_of_postgres() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 1);
    let warning = |client: &mut Client, sql: &str| {
        let output = client.run(sql).unwrap();
        let notice = &output.notices[0];
        assert_eq!(notice.severity, "WARNING");
        format!("{}: {}", output.tag, notice.message)
    };
    assert_eq!(run(&mut client, "START TRANSACTION"), "START TRANSACTION");
    assert_eq!(
        warning(&mut client, "BEGIN"),
        "BEGIN: there is already a transaction in progress"
    );
    assert_eq!(run(&mut client, "SAVEPOINT s"), "SAVEPOINT");
    assert_eq!(run(&mut client, "ROLLBACK TO s"), "ROLLBACK");
    assert_eq!(run(&mut client, "RELEASE s"), "RELEASE");
    assert_eq!(run(&mut client, "END"), "COMMIT");
    assert_eq!(
        warning(&mut client, "COMMIT"),
        "COMMIT: there is no transaction in progress"
    );
    assert_eq!(
        warning(&mut client, "ABORT"),
        "ROLLBACK: there is no transaction in progress"
    );
    assert_eq!(
        warning(&mut client, "SET TRANSACTION READ ONLY"),
        "SET: SET TRANSACTION can only be used in transaction blocks"
    );
    assert_eq!(
        warning(&mut client, "SET LOCAL synchronous_commit = off"),
        "SET: SET LOCAL can only be used in transaction blocks"
    );
    run(&mut client, "BEGIN");
    assert_eq!(refused(&mut client, "SELECT 1 / 0"), "22012");
    assert_eq!(run(&mut client, "COMMIT"), "ROLLBACK");
    assert_eq!(run(&mut client, "BEGIN"), "BEGIN");
    assert_eq!(run(&mut client, "COMMIT AND CHAIN"), "COMMIT");
    assert_eq!(client.connection().transaction_status(), TransactionStatus::Open);
    assert_eq!(run(&mut client, "ROLLBACK"), "ROLLBACK");
}

#[test]
fn an_error_among_rows_aborts_the_block_they_are_read_in() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 5000);
    run(&mut client, "UPDATE accounts SET balance = 0 WHERE id = 5000");
    run(&mut client, "BEGIN");
    let connection = client.connection();
    let rows = connection
        .query("SELECT 100 / balance FROM accounts ORDER BY id")
        .unwrap();
    assert_eq!(connection.transaction_status(), TransactionStatus::Open);
    let error = rows.filter_map(Result::err).next().unwrap();
    assert_eq!(error.sqlstate, "22012");
    assert_eq!(connection.transaction_status(), TransactionStatus::Aborted);
    assert_eq!(refused(&mut client, "SELECT 1"), "25P02");
    run(&mut client, "ROLLBACK");
}

#[test]
fn rows_that_are_being_read_do_not_change_with_the_transaction() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 3000);
    run(&mut client, "BEGIN");
    run(&mut client, "UPDATE accounts SET balance = 1 WHERE id = 1");
    for sql in [
        "SELECT balance FROM accounts WHERE id >= 0 ORDER BY id LIMIT 2500",
        "SELECT balance + 0 FROM accounts ORDER BY id LIMIT 2500",
    ] {
        run(&mut client, "SAVEPOINT s");
        let mut rows = client.connection().query(sql).unwrap();
        let first = rows.next_row().unwrap().unwrap().get::<i64>(0).unwrap();
        run(&mut client, "UPDATE accounts SET balance = 2");
        run(&mut client, "DELETE FROM accounts WHERE id > 10");
        run(&mut client, "ROLLBACK TO s");
        run(&mut client, "UPDATE accounts SET balance = 3");
        let rest: i64 = rows.map(|row| row.unwrap().get::<i64>(0).unwrap()).sum();
        assert_eq!((first, rest), (1, 2499 * 100), "{sql}");
        run(&mut client, "ROLLBACK TO s");
    }
    run(&mut client, "COMMIT");
    assert_eq!(value(&mut client, "SELECT sum(balance) FROM accounts"), "299901");
}

#[test]
fn what_a_query_did_is_known_after_its_transaction() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 30);
    run(&mut client, "BEGIN");
    run(&mut client, "DELETE FROM accounts WHERE id <= 10");
    run(&mut client, "SELECT * FROM accounts");
    run(&mut client, "COMMIT");
    // The keys that are gone were looked at, too: as stored, and as deleted.
    assert_eq!(client.last_stat("rows").unwrap(), 20);
    assert_eq!(client.last_stat("keys_examined").unwrap(), 40);
}

#[test]
fn definitions_change_under_a_transaction() {
    let database = Database::open_in_memory().unwrap();
    let (mut client, mut other) = (accounts(&database, 3), Client::new(&database));
    run(&mut client, "BEGIN");
    run(&mut client, "UPDATE accounts SET balance = 5 WHERE id = 1");
    run(&mut other, "CREATE INDEX late ON accounts (balance, id)");
    run(&mut other, "CREATE TABLE newer (a INTEGER PRIMARY KEY)");
    // The transaction has the definitions of its snapshot, and reads on.
    assert_eq!(
        value(&mut client, "SELECT count(*) FROM accounts WHERE balance = 5"),
        "1"
    );
    assert_eq!(refused(&mut client, "SELECT * FROM newer"), "42P01");
    run(&mut client, "ROLLBACK");
    run(&mut client, "BEGIN");
    run(&mut client, "UPDATE accounts SET balance = 5 WHERE id = 1");
    run(&mut other, "DROP INDEX late");
    assert_eq!(refused(&mut client, "COMMIT"), "40001");
    run(&mut client, "BEGIN");
    run(&mut client, "UPDATE accounts SET balance = 5 WHERE id = 1");
    run(
        &mut other,
        "ALTER TABLE accounts ADD COLUMN note VARCHAR DEFAULT 'x'",
    );
    run(&mut other, "UPDATE accounts SET note = 'y' WHERE id = 2");
    assert_eq!(refused(&mut client, "SELECT note FROM accounts"), "42703");
    run(&mut client, "ROLLBACK");
    run(&mut client, "BEGIN");
    run(&mut client, "UPDATE accounts SET balance = 6 WHERE id = 2");
    run(&mut other, "ALTER TABLE accounts DROP COLUMN note");
    assert_eq!(
        value(&mut client, "SELECT note FROM accounts WHERE balance = 6"),
        "y"
    );
    assert_eq!(refused(&mut client, "COMMIT"), "40001");
    run(&mut client, "BEGIN");
    run(&mut client, "UPDATE accounts SET balance = 5 WHERE id = 1");
    run(&mut other, "TRUNCATE accounts");
    assert_eq!(value(&mut client, "SELECT sum(balance) FROM accounts"), "205");
    assert_eq!(refused(&mut client, "COMMIT"), "40001");
    client.check("accounts").unwrap();
}

#[test]
fn copy_is_part_of_a_transaction() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 2);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let lines: String = (10..20_010).map(|id| format!("{id},1\n")).collect();
    std::fs::write(path("in.csv"), lines).unwrap();
    run(&mut client, "BEGIN");
    assert_eq!(
        run(&mut client, &format!("COPY accounts FROM '{}'", path("in.csv"))),
        "COPY 20000"
    );
    assert_eq!(
        value(&mut client, "SELECT count(*) FROM accounts WHERE balance = 1"),
        "20000"
    );
    run(&mut client, "DELETE FROM accounts WHERE id = 1");
    let out = format!(
        "COPY (SELECT id FROM accounts WHERE id < 12) TO '{}'",
        path("out.csv")
    );
    assert_eq!(run(&mut client, &out), "COPY 3");
    assert_eq!(std::fs::read_to_string(path("out.csv")).unwrap(), "2\n10\n11\n");
    run(&mut client, "SAVEPOINT s");
    let again = format!("COPY accounts FROM '{}'", path("in.csv"));
    assert_eq!(refused(&mut client, &again), "23505");
    run(&mut client, "ROLLBACK TO s");
    run(&mut client, "COMMIT");
    assert_eq!(value(&mut client, "SELECT count(*) FROM accounts"), "20001");
    client.check("accounts").unwrap();
}

#[test]
fn what_is_committed_is_there_when_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let database = Database::open(&path).unwrap();
        let mut client = accounts(&database, 3);
        run(&mut client, "BEGIN");
        run(&mut client, "SET LOCAL synchronous_commit = off");
        run(&mut client, "UPDATE accounts SET balance = 1 WHERE id = 1");
        run(&mut client, "COMMIT");
        run(&mut client, "BEGIN");
        run(&mut client, "UPDATE accounts SET balance = 2 WHERE id = 2");
    }
    let mut client = Client::new(&Database::open(&path).unwrap());
    assert_eq!(value(&mut client, "SELECT sum(balance) FROM accounts"), "201");
    client.check("accounts").unwrap();
}

#[test]
fn reading_needs_no_writable_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    accounts(&Database::open(&path).unwrap(), 3);
    let options = rukh::Options {
        read_only: true,
        ..rukh::Options::default()
    };
    let mut client = Client::new(&Database::open_with(&path, options).unwrap());
    run(&mut client, "BEGIN");
    assert_eq!(value(&mut client, "SELECT count(*) FROM accounts"), "3");
    assert_eq!(refused(&mut client, "DELETE FROM accounts"), "25006");
    assert_eq!(run(&mut client, "COMMIT"), "ROLLBACK");
}

#[test]
fn the_guard_ends_as_the_block_does() {
    let database = Database::open_in_memory().unwrap();
    let mut client = accounts(&database, 3);
    let connection = client.connection();
    let mut transaction = connection.transaction().unwrap();
    transaction.execute("DELETE FROM accounts").unwrap();
    assert_eq!(transaction.transaction().err().unwrap().sqlstate, "25001");
    transaction.rollback().unwrap();

    let mut transaction = connection.transaction().unwrap();
    assert!(transaction.execute("SELECT 1 / 0 FROM accounts WHERE").is_err());
    assert_eq!(transaction.commit().unwrap_err().sqlstate, "25P02");

    let mut transaction = connection.transaction().unwrap();
    transaction.execute("DELETE FROM accounts WHERE id = 1").unwrap();
    transaction.execute("COMMIT").unwrap();
    assert_eq!(transaction.commit().unwrap_err().sqlstate, "25P01");
    assert_eq!(connection.transaction_status(), TransactionStatus::Idle);
    assert_eq!(value(&mut client, "SELECT count(*) FROM accounts"), "2");
    assert_eq!(refused(&mut client, "LOCK TABLE accounts"), "25P01");
}
