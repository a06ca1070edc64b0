//! Advisory locks of several sessions.

use std::thread;

use crate::server;
use rukh_testkit::raw::Raw;

#[test]
fn sessions_wait_for_one_another_and_end() {
    let server = server();
    let (mut one, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    assert_eq!(one.first("SELECT pg_advisory_lock(1)"), "");
    assert_eq!(other.first("SELECT pg_try_advisory_lock(1)"), "f");
    assert_eq!(other.first("SELECT pg_try_advisory_lock(0, 1)"), "t");
    assert_eq!(other.first("SELECT pg_advisory_unlock(1)"), "f");
    // One that waits has it as soon as it is free.
    let waiting = thread::spawn(move || {
        let taken = other.first("SELECT pg_advisory_lock_shared(1)");
        (other, taken)
    });
    let runs = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_advisory_lock%'";
    while one.first(runs) != "1" {}
    assert!(!waiting.is_finished());
    assert_eq!(one.first("SELECT pg_advisory_unlock(1)"), "t");
    let (mut other, taken) = waiting.join().expect("the session goes on");
    assert_eq!(taken, "");
    assert_eq!(one.first("SELECT pg_try_advisory_lock_shared(1)"), "t");
    assert_eq!(one.first("SELECT pg_try_advisory_lock(1)"), "f");
    // A wait ends by a setting.
    one.first("SET lock_timeout = '50ms'");
    assert_eq!(one.first("SELECT pg_advisory_lock(1)"), "55P03");
    one.first("SET lock_timeout = 0");
    one.first("SELECT pg_advisory_lock(2)");
    let waiting = thread::spawn(move || {
        let taken = other.first("SELECT pg_advisory_lock(2)");
        (other, taken)
    });
    // The end of a session gives up what it has.
    drop(one);
    let (mut other, taken) = waiting.join().expect("the session goes on");
    assert_eq!(taken, "");
    // Those of a transaction end with it.
    let mut one = Raw::connect(server.address());
    other.first("SELECT pg_advisory_unlock_all()");
    other.first("BEGIN");
    other.first("SELECT pg_advisory_xact_lock(9)");
    assert_eq!(one.first("SELECT pg_try_advisory_lock(9)"), "f");
    // And by going back to a savepoint before.
    other.first("SAVEPOINT a");
    other.first("SELECT pg_advisory_xact_lock(9), pg_advisory_xact_lock(8), pg_advisory_lock(7)");
    other.first("ROLLBACK TO a");
    let tried = ["9", "8", "7"].map(|n| one.first(&format!("SELECT pg_try_advisory_lock({n})")));
    assert_eq!(tried, ["f", "t", "f"]);
    other.first("ROLLBACK");
    assert_eq!(one.first("SELECT pg_try_advisory_lock(9)"), "t");
    assert_eq!(one.first("SELECT pg_try_advisory_xact_lock(10)"), "t");
    assert_eq!(other.first("SELECT pg_try_advisory_lock(10)"), "t");
}

#[test]
fn a_statement_that_waits_holds_up_no_other_writer() {
    let server = server();
    let (mut one, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    one.first("CREATE TABLE t (id INT PRIMARY KEY, n INT)");
    one.first("INSERT INTO t VALUES (1, 1), (2, 2)");
    one.first("SELECT pg_advisory_lock(1)");
    let waiting = thread::spawn(move || {
        let update = "UPDATE t SET n = n + 10 WHERE id = 1 AND pg_advisory_lock(1) IS NOT NULL RETURNING n";
        other.first(update)
    });
    let runs =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'UPDATE t SET n%'";
    while one.first(runs) != "1" {}
    assert_eq!(one.first("UPDATE t SET n = 5 WHERE id = 1 RETURNING n"), "5");
    assert_eq!(one.first("UPDATE t SET n = 7 WHERE id = 2 RETURNING n"), "7");
    assert!(!waiting.is_finished());
    one.first("SELECT pg_advisory_unlock(1)");
    // It is run again on what the other has committed.
    assert_eq!(waiting.join().expect("the session goes on"), "15");
}

#[test]
fn rows_are_waited_for_outside_of_a_transaction() {
    let server = server();
    let (mut one, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    one.first("CREATE TABLE t (id INT PRIMARY KEY, n INT)");
    one.first("INSERT INTO t VALUES (1, 1), (2, 2)");
    one.first("BEGIN");
    one.first("UPDATE t SET n = 5 WHERE id = 1");
    assert_eq!(
        other.first("SELECT n FROM t WHERE id = 1 FOR UPDATE NOWAIT"),
        "55P03"
    );
    assert_eq!(
        other.first("SELECT n FROM t ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1"),
        "2"
    );
    let waiting = thread::spawn(move || {
        let locked = other.first("SELECT n FROM t WHERE id = 1 FOR UPDATE");
        (other, locked)
    });
    let runs = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT n FROM t WHERE%'";
    while one.first(runs) != "1" {}
    one.first("COMMIT");
    let (mut other, locked) = waiting.join().expect("the session goes on");
    assert_eq!(locked, "5");
    // Its lock has ended with it.
    assert_eq!(one.first("UPDATE t SET n = 6 WHERE id = 1 RETURNING n"), "6");
    assert_eq!(other.first("SELECT n FROM t WHERE id = 1"), "6");
}
