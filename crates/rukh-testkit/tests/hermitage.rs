//! The schedules of Hermitage: which anomalies transactions prevent, each by several connections.
//!
//! The cases are those of Martin Kleppmann's *Hermitage* (the names are Adya's). Where databases
//! with locks would wait, a statement here goes on, and the commit of the second fails. The row that
//! follows from them is in `docs/transactions.md`.
//!
//! Each case runs on a table alone, with an index that the predicates can use, and without the
//! direct path.

#![allow(clippy::unwrap_used)]

use rukh::ErrorKind;
use rukh_testkit::client::Client;
use rukh_testkit::place;

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;

#[test]
fn all_cases_hold_on_hbase() {
    if let Some(server) = fixture::Server::start() {
        place::run_again_on(&server.url, "all_cases_hold_on_hbase");
    }
}

/// Three connections to one table of two rows: (1, 10) and (2, 20).
struct World {
    sessions: Vec<Client>,
}

impl World {
    fn new(index: bool, general: bool) -> Self {
        let database = place::database();
        let mut world = World {
            sessions: (0..4).map(|_| Client::new(&database)).collect(),
        };
        world.run(0, "CREATE TABLE test (id INTEGER PRIMARY KEY, value INTEGER)");
        if index {
            world.run(0, "CREATE INDEX test_value ON test (value)");
        }
        world.run(0, "INSERT INTO test VALUES (1, 10), (2, 20)");
        if general {
            (0..4).for_each(|session| world.run(session, "SET execution_path = general"));
        }
        world
    }

    fn run(&mut self, session: usize, sql: &str) {
        let outcome = self.sessions[session].run(sql);
        outcome.unwrap_or_else(|error| panic!("T{session}: {sql}: {error}"));
    }

    /// Begins a transaction on each of the first sessions, which takes its snapshot with its first
    /// statement.
    fn begin(&mut self, sessions: usize) {
        for session in 1..=sessions {
            self.run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        }
    }

    /// Runs a statement that counts the rows it changes.
    fn changes(&mut self, session: usize, sql: &str, rows: u64) {
        let output = self.sessions[session].run(sql).unwrap();
        assert_eq!(output.count(), rows, "T{session}: {sql}");
    }

    fn update(&mut self, session: usize, id: i32, value: i32) {
        let sql = format!("UPDATE test SET value = {value} WHERE id = {id}");
        self.changes(session, &sql, 1);
    }

    /// Checks the rows that a condition selects: `1 => 10, 2 => 20`.
    fn sees(&mut self, session: usize, condition: &str, expected: &str) {
        let sql = format!("SELECT id, value FROM test WHERE {condition} ORDER BY id");
        let table = self.sessions[session].query(&sql).unwrap();
        let row = |row: &Vec<Option<String>>| {
            let value = |at: usize| row[at].clone().unwrap_or_default();
            format!("{} => {}", value(0), value(1))
        };
        let rows: Vec<String> = table.rows.iter().map(row).collect();
        assert_eq!(rows.join(", "), expected, "T{session}: {sql}");
    }

    /// As `sees`, with the rows locked.
    fn sees_locked(&mut self, session: usize, condition: &str, lock: &str, expected: &str) {
        let sql = format!("SELECT id, value FROM test WHERE {condition} ORDER BY id {lock}");
        let table = self.sessions[session].query(&sql).unwrap();
        assert_eq!(table.columns, ["id", "value"]);
        let text = |row: &Vec<Option<String>>| {
            let value = |at: usize| row[at].clone().unwrap_or_default();
            format!("{} => {}", value(0), value(1))
        };
        let rows: Vec<String> = table.rows.iter().map(text).collect();
        assert_eq!(rows.join(", "), expected, "T{session}: {sql}");
    }

    fn commits(&mut self, session: usize) {
        let output = self.sessions[session].run("COMMIT").unwrap();
        assert_eq!(output.tag, "COMMIT");
    }

    fn conflicts(&mut self, session: usize) {
        let error = self.sessions[session].run("COMMIT").unwrap_err();
        assert_eq!((error.sqlstate, error.kind), ("40001", ErrorKind::Conflict));
        assert_eq!(
            error.message,
            "could not serialize access due to concurrent update"
        );
        assert_eq!(
            error.hint.as_deref(),
            Some("The transaction might succeed if retried.")
        );
        // The transaction is over: what follows is not part of it.
        let next = self.sessions[session].run("COMMIT").unwrap();
        assert_eq!(next.notices[0].message, "there is no transaction in progress");
    }

    /// Checks what is committed, and that the index agrees.
    fn ends(mut self, expected: &str) {
        self.sees(0, "true", expected);
        self.sessions[0].check("test").unwrap();
    }
}

fn in_all_worlds(case: impl Fn(World)) {
    for (index, general) in [(false, false), (true, false), (true, true)] {
        case(World::new(index, general));
    }
}

#[test]
fn locked_rows_prevent_write_skew_on_items() {
    for lock in ["FOR UPDATE", "FOR SHARE", "FOR SHARE OF test NOWAIT"] {
        in_all_worlds(|mut world| {
            world.begin(2);
            world.sees_locked(1, "id IN (1, 2)", lock, "1 => 10, 2 => 20");
            world.sees_locked(2, "id IN (1, 2)", lock, "1 => 10, 2 => 20");
            world.update(1, 1, 11);
            world.update(2, 2, 21);
            world.commits(1);
            world.conflicts(2);
            world.ends("1 => 11, 2 => 20");
        });
    }
}

#[test]
fn rows_locked_for_update_conflict_and_those_for_share_do_not() {
    in_all_worlds(|mut world| {
        world.begin(3);
        world.sees_locked(1, "value > 15", "FOR SHARE", "2 => 20");
        world.sees_locked(2, "id = 2", "FOR SHARE", "2 => 20");
        world.sees_locked(3, "id = 2", "FOR UPDATE", "2 => 20");
        world.commits(1);
        world.commits(2);
        world.commits(3);
        world.begin(3);
        world.sees_locked(1, "id = 2", "FOR SHARE", "2 => 20");
        world.sees_locked(2, "id = 2", "FOR UPDATE", "2 => 20");
        world.sees_locked(3, "id = 2", "FOR UPDATE SKIP LOCKED", "2 => 20");
        world.commits(3);
        world.conflicts(1);
        world.conflicts(2);
        world.ends("1 => 10, 2 => 20");
    });
}

#[test]
fn a_savepoint_gives_locks_back() {
    in_all_worlds(|mut world| {
        world.begin(1);
        world.run(1, "SAVEPOINT s");
        world.sees_locked(1, "id = 1", "FOR UPDATE", "1 => 10");
        world.run(1, "ROLLBACK TO s");
        world.update(1, 2, 21);
        world.update(2, 1, 11);
        world.commits(1);
        world.ends("1 => 11, 2 => 21");
    });
}

#[test]
fn g0_write_cycles_are_prevented() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.update(1, 1, 11);
        world.update(2, 1, 12);
        world.update(1, 2, 21);
        world.commits(1);
        world.sees(3, "true", "1 => 11, 2 => 21");
        world.update(2, 2, 22);
        world.conflicts(2);
        world.ends("1 => 11, 2 => 21");
    });
}

#[test]
fn g1a_aborted_reads_are_prevented() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.update(1, 1, 101);
        world.sees(2, "true", "1 => 10, 2 => 20");
        world.run(1, "ROLLBACK");
        world.sees(2, "true", "1 => 10, 2 => 20");
        world.commits(2);
        world.ends("1 => 10, 2 => 20");
    });
}

#[test]
fn g1b_intermediate_reads_are_prevented() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.update(1, 1, 101);
        world.sees(2, "true", "1 => 10, 2 => 20");
        world.update(1, 1, 11);
        world.commits(1);
        world.sees(2, "true", "1 => 10, 2 => 20");
        world.commits(2);
        world.ends("1 => 11, 2 => 20");
    });
}

#[test]
fn g1c_circular_information_flow_is_prevented() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.update(1, 1, 11);
        world.update(2, 2, 22);
        world.sees(1, "id = 2", "2 => 20");
        world.sees(2, "id = 1", "1 => 10");
        world.commits(1);
        world.commits(2);
        world.ends("1 => 11, 2 => 22");
    });
}

#[test]
fn otv_observed_transactions_do_not_vanish() {
    in_all_worlds(|mut world| {
        world.begin(3);
        world.update(1, 1, 11);
        world.update(1, 2, 19);
        world.update(2, 1, 12);
        world.commits(1);
        world.sees(3, "id = 1", "1 => 11");
        world.update(2, 2, 18);
        world.sees(3, "id = 2", "2 => 19");
        world.conflicts(2);
        world.sees(3, "true", "1 => 11, 2 => 19");
        world.commits(3);
        world.ends("1 => 11, 2 => 19");
    });
}

#[test]
fn pmp_predicates_that_many_precede_are_stable() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "value = 30", "");
        world.run(2, "INSERT INTO test VALUES (3, 30)");
        world.commits(2);
        world.sees(1, "value % 3 = 0", "");
        world.sees(1, "value = 30", "");
        world.commits(1);
        world.ends("1 => 10, 2 => 20, 3 => 30");
    });
}

#[test]
fn pmp_for_predicates_of_writes() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.changes(1, "UPDATE test SET value = value + 10", 2);
        world.sees(2, "value = 20", "2 => 20");
        world.changes(2, "DELETE FROM test WHERE value = 20", 1);
        world.commits(1);
        world.conflicts(2);
        world.ends("1 => 20, 2 => 30");
    });
}

#[test]
fn p4_lost_updates_are_prevented() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "id = 1", "1 => 10");
        world.sees(2, "id = 1", "1 => 10");
        world.update(1, 1, 11);
        world.update(2, 1, 11);
        world.commits(1);
        world.conflicts(2);
        world.ends("1 => 11, 2 => 20");
    });
}

#[test]
fn p4_against_a_statement_by_itself() {
    in_all_worlds(|mut world| {
        world.begin(1);
        world.sees(1, "id = 1", "1 => 10");
        world.update(3, 1, 15);
        world.update(1, 1, 11);
        world.conflicts(1);
        world.ends("1 => 15, 2 => 20");
    });
}

#[test]
fn g_single_read_skew_is_prevented() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "id = 1", "1 => 10");
        world.sees(2, "true", "1 => 10, 2 => 20");
        world.update(2, 1, 12);
        world.update(2, 2, 18);
        world.commits(2);
        world.sees(1, "id = 2", "2 => 20");
        world.commits(1);
        world.ends("1 => 12, 2 => 18");
    });
}

#[test]
fn g_single_with_predicates() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "value % 5 = 0", "1 => 10, 2 => 20");
        world.changes(2, "UPDATE test SET value = 12 WHERE value = 10", 1);
        world.commits(2);
        world.sees(1, "value % 3 = 0", "");
        world.commits(1);
        world.ends("1 => 12, 2 => 20");
    });
}

#[test]
fn g_single_with_predicates_of_writes() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "id = 1", "1 => 10");
        world.sees(2, "true", "1 => 10, 2 => 20");
        world.update(2, 1, 12);
        world.update(2, 2, 18);
        world.commits(2);
        world.changes(1, "DELETE FROM test WHERE value = 20", 1);
        world.conflicts(1);
        world.ends("1 => 12, 2 => 18");
    });
}

#[test]
fn g2_item_write_skew_is_let_through() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "id IN (1, 2)", "1 => 10, 2 => 20");
        world.sees(2, "id IN (1, 2)", "1 => 10, 2 => 20");
        world.update(1, 1, 11);
        world.update(2, 2, 21);
        world.commits(1);
        world.commits(2);
        world.ends("1 => 11, 2 => 21");
    });
}

#[test]
fn g2_item_is_prevented_by_writing_what_was_read() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.update(1, 1, 11);
        world.changes(1, "UPDATE test SET value = value WHERE id = 2", 1);
        world.update(2, 2, 21);
        world.changes(2, "UPDATE test SET value = value WHERE id = 1", 1);
        world.commits(1);
        world.conflicts(2);
        world.ends("1 => 11, 2 => 20");
    });
}

#[test]
fn g2_predicate_write_skew_is_let_through() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.sees(1, "value % 3 = 0", "");
        world.sees(2, "value % 3 = 0", "");
        world.run(1, "INSERT INTO test VALUES (3, 30)");
        world.run(2, "INSERT INTO test VALUES (4, 42)");
        world.commits(1);
        world.commits(2);
        world.ends("1 => 10, 2 => 20, 3 => 30, 4 => 42");
    });
}

#[test]
fn g2_is_prevented_by_locking_the_table() {
    in_all_worlds(|mut world| {
        world.begin(3);
        world.run(1, "LOCK TABLE test IN SHARE ROW EXCLUSIVE MODE");
        world.run(2, "LOCK test");
        world.run(3, "LOCK TABLE test IN ROW EXCLUSIVE MODE");
        world.sees(1, "value % 3 = 0", "");
        world.sees(2, "value % 3 = 0", "");
        world.run(1, "INSERT INTO test VALUES (3, 30)");
        world.run(2, "INSERT INTO test VALUES (4, 42)");
        world.run(3, "INSERT INTO test VALUES (5, 50)");
        world.commits(1);
        world.conflicts(2);
        world.commits(3);
        world.ends("1 => 10, 2 => 20, 3 => 30, 5 => 50");
    });
}

#[test]
fn a_locked_table_is_free_again_after_its_transaction_or_savepoint() {
    in_all_worlds(|mut world| {
        world.begin(2);
        world.run(1, "SAVEPOINT s");
        world.run(1, "LOCK TABLE test");
        world.run(1, "ROLLBACK TO s");
        world.run(2, "LOCK TABLE test IN EXCLUSIVE MODE");
        world.update(0, 1, 11);
        world.commits(1);
        // It changes nothing itself, and what it has read is not what is there.
        world.conflicts(2);
        world.begin(1);
        world.run(1, "LOCK TABLE test");
        world.commits(1);
        world.ends("1 => 11, 2 => 20");
    });
}

#[test]
fn g2_with_two_edges_is_let_through() {
    in_all_worlds(|mut world| {
        world.begin(3);
        world.sees(1, "true", "1 => 10, 2 => 20");
        world.changes(2, "UPDATE test SET value = value + 5 WHERE id = 2", 1);
        world.commits(2);
        world.sees(3, "true", "1 => 10, 2 => 25");
        world.commits(3);
        world.update(1, 1, 0);
        world.commits(1);
        world.ends("1 => 0, 2 => 25");
    });
}
