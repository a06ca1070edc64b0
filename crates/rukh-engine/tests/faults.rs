//! The n-th write fails, for every n and every way of failing: afterwards the database holds what
//! it held before the statement, or all of what it holds after it, and the scrub is clean.

#![allow(clippy::unwrap_used)]

mod support;

use rukh_kv::{Fault, FaultStore};
use std::sync::Arc;
use support::life::{STEPS, state};

/// Runs all steps without a fault; returns the state before each and at the end, and the writes.
fn undisturbed(rows_at_once: u64) -> (Vec<Vec<String>>, u64) {
    let store = Arc::new(FaultStore::new(support::memory()));
    let engine = support::open(store.clone());
    engine.set_rows_at_once(rows_at_once);
    store.fail_write(u64::MAX, Fault::Refuse);
    let mut states = vec![state(&engine)];
    for step in STEPS {
        step(&engine).unwrap();
        states.push(state(&engine));
    }
    (states, store.writes())
}

/// Runs steps until one fails, then opens what is left. Indexes are filled while writers wait, and beside them.
fn sweep(fault: Fault) {
    sweep_with(fault, u64::MAX - 1);
    sweep_with(fault, 0);
}

fn sweep_with(fault: Fault, rows_at_once: u64) {
    let (states, writes) = undisturbed(rows_at_once);
    assert!(writes > 40, "{writes}");
    for n in 1..=writes {
        let memory = support::memory();
        let store = Arc::new(FaultStore::new(memory.clone()));
        let engine = support::open(store.clone());
        engine.set_rows_at_once(rows_at_once);
        store.fail_write(n, fault);
        let failed = STEPS.iter().position(|step| step(&engine).is_err());
        drop(engine);
        let engine = support::open(memory.clone());
        let Some(at) = failed else {
            assert_eq!(&state(&engine), states.last().unwrap(), "write {n}");
            continue;
        };
        let found = state(&engine);
        assert!(
            found == states[at] || found == states[at + 1],
            "write {n}, step {at}: {found:#?}"
        );
        let named = engine
            .catalog()
            .tables()
            .map(|table| {
                let indexes = table.indexes.iter().flat_map(rukh_catalog::Index::storage_names);
                table.storage_names().len() + indexes.count()
            })
            .sum::<usize>();
        assert_eq!(
            memory.tables().len(),
            named + 2,
            "write {n}: {:?}",
            memory.tables()
        );
        assert_eq!(memory.load_files().unwrap(), []);
    }
}

#[test]
fn a_refused_write() {
    sweep(Fault::Refuse);
}

#[test]
fn the_end_of_the_process() {
    sweep(Fault::Halt);
}

#[test]
fn a_lost_answer() {
    sweep(Fault::LoseAnswer);
}

/// After a passing trouble the same engine goes on: the statement runs again, and all others.
#[test]
fn a_refused_write_can_be_tried_again() {
    let (states, writes) = undisturbed(0);
    for n in 1..=writes {
        let store = Arc::new(FaultStore::new(support::memory()));
        let engine = support::open(store.clone());
        engine.set_rows_at_once(0);
        store.fail_write(n, Fault::Refuse);
        for (at, step) in STEPS.iter().enumerate() {
            if step(&engine).is_err() {
                assert_eq!(state(&engine), states[at], "write {n}, step {at}");
                step(&engine).unwrap();
            }
        }
        assert_eq!(&state(&engine), states.last().unwrap(), "write {n}");
    }
}
