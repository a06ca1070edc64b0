//! Advisory locks of several sessions.

use std::thread;

use crate::raw::Raw;
use crate::server;

/// Runs a statement; its first value, or its SQLSTATE.
fn first(client: &mut Raw, sql: &str) -> String {
    let answer = client.simple(sql);
    match answer.error {
        Some(_) => answer.sqlstate(),
        None => answer
            .texts()
            .into_iter()
            .flatten()
            .flatten()
            .next()
            .unwrap_or_default(),
    }
}

#[test]
fn sessions_wait_for_one_another_and_end() {
    let server = server();
    let (mut one, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    assert_eq!(first(&mut one, "SELECT pg_advisory_lock(1)"), "");
    assert_eq!(first(&mut other, "SELECT pg_try_advisory_lock(1)"), "f");
    assert_eq!(first(&mut other, "SELECT pg_try_advisory_lock(0, 1)"), "t");
    assert_eq!(first(&mut other, "SELECT pg_advisory_unlock(1)"), "f");
    // One that waits has it as soon as it is free.
    let waiting = thread::spawn(move || {
        let taken = first(&mut other, "SELECT pg_advisory_lock_shared(1)");
        (other, taken)
    });
    let runs = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_advisory_lock%'";
    while first(&mut one, runs) != "1" {}
    assert!(!waiting.is_finished());
    assert_eq!(first(&mut one, "SELECT pg_advisory_unlock(1)"), "t");
    let (mut other, taken) = waiting.join().expect("the session goes on");
    assert_eq!(taken, "");
    assert_eq!(first(&mut one, "SELECT pg_try_advisory_lock_shared(1)"), "t");
    assert_eq!(first(&mut one, "SELECT pg_try_advisory_lock(1)"), "f");
    // A wait ends by a setting.
    first(&mut one, "SET lock_timeout = '50ms'");
    assert_eq!(first(&mut one, "SELECT pg_advisory_lock(1)"), "55P03");
    first(&mut one, "SET lock_timeout = 0");
    first(&mut one, "SELECT pg_advisory_lock(2)");
    let waiting = thread::spawn(move || {
        let taken = first(&mut other, "SELECT pg_advisory_lock(2)");
        (other, taken)
    });
    // The end of a session gives up what it has.
    drop(one);
    let (mut other, taken) = waiting.join().expect("the session goes on");
    assert_eq!(taken, "");
    // Those of a transaction end with it.
    let mut one = Raw::connect(server.address());
    first(&mut other, "SELECT pg_advisory_unlock_all()");
    first(&mut other, "BEGIN");
    first(&mut other, "SELECT pg_advisory_xact_lock(9)");
    assert_eq!(first(&mut one, "SELECT pg_try_advisory_lock(9)"), "f");
    first(&mut other, "ROLLBACK");
    assert_eq!(first(&mut one, "SELECT pg_try_advisory_lock(9)"), "t");
    assert_eq!(first(&mut one, "SELECT pg_try_advisory_xact_lock(10)"), "t");
    assert_eq!(first(&mut other, "SELECT pg_try_advisory_lock(10)"), "t");
}
