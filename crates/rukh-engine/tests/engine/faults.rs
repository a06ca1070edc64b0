//! The n-th write fails, for every n and every way of failing: afterwards the database holds what
//! it held before the statement, or all of what it holds after it, and the scrub is clean.

use crate::support;
use crate::support::life::{STEPS, state};
use rukh_catalog::IndexState;
use rukh_engine::{Engine, EngineError};
use rukh_kv::{Fault, FaultStore, KvError};
use std::sync::Arc;

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
        assert_eq!(memory.local().unwrap().load_files().unwrap(), []);
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

/// On a full disk every statement that writes is refused, and nothing else: readers see what was there before, and once there is space
/// the same engine goes on. A load that was visible in part is completed then.
#[test]
fn a_full_disk() {
    let mut completed = 0;
    for rows_at_once in [u64::MAX - 1, 0] {
        completed += full_disk(rows_at_once);
    }
    assert!(completed > 0, "no load was refused in the middle");
}

fn full_disk(rows_at_once: u64) -> usize {
    let (states, writes) = undisturbed(rows_at_once);
    let mut completed = 0;
    for n in 1..=writes {
        let memory = support::memory();
        let store = Arc::new(FaultStore::new(memory.clone()));
        let mut engine = support::open(store.clone());
        engine.set_rows_at_once(rows_at_once);
        store.fail_write(n, Fault::Full);
        for (at, step) in STEPS.iter().enumerate() {
            let Err(error) = step(&engine) else { continue };
            let what = format!("write {n}, step {at}");
            refused(&error, &what);
            // Readers, and a writer.
            shows(&engine, &states[at], &what);
            match step(&engine) {
                // What is half made has its name still.
                Err(_) if has_half_made(&engine) => {}
                Err(error) => refused(&error, &what),
                Ok(()) => panic!("{what}: a full disk takes writes"),
            }
            shows(&engine, &states[at], &what);
            store.heal();
            if has_half_made(&engine) {
                // A statement of several writes cannot be undone; the next open does it.
                drop(engine);
                engine = support::open(store.clone());
                engine.set_rows_at_once(rows_at_once);
            }
            drop(engine.begin().unwrap());
            if matches!(error, EngineError::CompletedLater { .. }) {
                completed += 1;
                assert_eq!(state(&engine), states[at + 1], "{what}");
            } else {
                assert_eq!(state(&engine), states[at], "{what}");
                step(&engine).unwrap_or_else(|error| panic!("{what}, again: {error}"));
            }
        }
        assert_eq!(&state(&engine), states.last().unwrap(), "write {n}");
        assert_eq!(memory.local().unwrap().load_files().unwrap(), [], "write {n}");
        drop(engine);
        let engine = support::open(memory);
        assert_eq!(&state(&engine), states.last().unwrap(), "write {n}");
    }
    completed
}

/// The process ends while the disk is full: the next finds what was there before the statement, or all of it.
#[test]
fn the_end_of_the_process_on_a_full_disk() {
    let (states, writes) = undisturbed(0);
    for n in 1..=writes {
        let memory = support::memory();
        let store = Arc::new(FaultStore::new(memory.clone()));
        let engine = support::open(store.clone());
        engine.set_rows_at_once(0);
        store.fail_write(n, Fault::Full);
        let mut failures = STEPS
            .iter()
            .enumerate()
            .filter_map(|(at, step)| Some((at, step(&engine).err()?)));
        let Some((at, error)) = failures.next() else {
            continue;
        };
        drop(engine);
        let found = state(&support::open(memory.clone()));
        let completed = matches!(error, EngineError::CompletedLater { .. });
        // The next open may fill an index whose definition could not be taken back.
        let may_be_done = completed || states[at + 1].len() == states[at].len();
        assert!(
            (found == states[at] && !completed) || (found == states[at + 1] && may_be_done),
            "write {n}, step {at}: {found:#?}"
        );
        assert_eq!(memory.local().unwrap().load_files().unwrap(), [], "write {n}");
    }
}

/// Compares, but for an index, a table or a schema that could not be filled and is not removed yet.
fn shows(engine: &Engine, expected: &[String], what: &str) {
    let catalog = engine.catalog();
    let mut states = catalog.indexes().map(|(_, index)| index.state);
    let is_left = states.any(|state| state == IndexState::Building) || has_half_made(engine);
    let found = state(engine);
    assert!(found == expected || is_left, "{what}: {found:#?}");
}

fn has_half_made(engine: &Engine) -> bool {
    let catalog = engine.catalog();
    catalog.tables().any(|table| table.options.filling) || catalog.schemas().any(|schema| schema.filling)
}

fn refused(error: &EngineError, what: &str) {
    let of_storage = match error {
        EngineError::CompletedLater { source } => source,
        error => error,
    };
    assert!(
        matches!(of_storage, EngineError::Kv(KvError::DiskFull { .. })),
        "{what}: {error:?}"
    );
}
