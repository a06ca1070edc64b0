//! All interleavings of a few transactions, with processes that die and messages that are lost, late or doubled.
//!
//! A state is the store, the processes, and the messages on their way. From each state every possible step is taken, each state
//! once. Where nothing can go on, the rows are recovered by a reader, and what is there is compared with what was committed.

#![allow(clippy::unwrap_used)]

mod explore;
mod process;
mod store;

use std::collections::BTreeMap;

use rukh_commit::Change;

use explore::{Case, Trouble, explore};
use process::Task;
use store::{Fault, Row, Value};

fn write(changes: &[(Row, Value)]) -> Task {
    let change = |(row, value): &(Row, Value)| (*row, Change::Put(*value));
    Task::Write {
        changes: changes.iter().map(change).collect(),
        indexed: None,
    }
}

/// Deletes row 0, and keeps row 1 as it is.
fn delete_and_keep() -> Task {
    Task::Write {
        changes: BTreeMap::from([(0, Change::Delete), (1, Change::Keep)]),
        indexed: None,
    }
}

fn read(rows: &[Row]) -> Task {
    Task::Read { rows: rows.to_vec() }
}

/// The row that has an index, and that of its entry.
const INDEXED: (Row, Row) = (0, 9);

fn write_indexed(value: Value) -> Task {
    Task::Write {
        changes: BTreeMap::from([(INDEXED.0, Change::Put(value))]),
        indexed: Some(INDEXED),
    }
}

fn cases() -> Vec<(&'static str, Case)> {
    vec![
        (
            "two writers of the same two rows",
            Case::of(vec![write(&[(0, 1), (1, 1)]), write(&[(0, 2), (1, 2)])]),
        ),
        (
            "two writers that meet in one row, one dies",
            Case {
                crashes: 1,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), write(&[(1, 2), (2, 2)])])
            },
        ),
        (
            "a writer that dies, and a reader",
            Case {
                crashes: 1,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), read(&[1, 0])])
            },
        ),
        (
            "a writer whose messages are doubled, and a reader",
            Case {
                doubles: 1,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), read(&[1, 0])])
            },
        ),
        (
            "two writers whose answers are lost",
            Case {
                losses: 1,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), write(&[(0, 2), (1, 2)])])
            },
        ),
        (
            "a writer that dies, a reader, and records that expire",
            Case {
                crashes: 1,
                expires: true,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), read(&[1])])
            },
        ),
        (
            "two writers, one dies, answers are lost, messages doubled",
            Case {
                crashes: 1,
                losses: 1,
                doubles: 1,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), write(&[(0, 2), (1, 2)])])
            },
        ),
        (
            "a writer, a reader, all that can go wrong",
            Case {
                crashes: 2,
                losses: 1,
                doubles: 2,
                expires: true,
                ..Case::of(vec![write(&[(0, 1), (1, 1)]), read(&[1, 0])])
            },
        ),
        (
            "three writers that meet in two rows",
            Case::of(vec![write(&[(0, 1), (1, 1)]), write(&[(1, 2)]), write(&[(0, 3)])]),
        ),
        (
            "a writer that deletes, one that only keeps a row, and a reader",
            Case {
                crashes: 1,
                ..Case::of(vec![delete_and_keep(), write(&[(0, 2), (1, 2)]), read(&[0])])
            },
        ),
        (
            "two writers and a reader",
            Case::of(vec![write(&[(0, 1), (1, 1)]), write(&[(1, 2)]), read(&[0, 1])]),
        ),
        (
            "a writer while an index is defined",
            Case::of(vec![write_indexed(1), Task::Define { of: INDEXED }]),
        ),
        (
            "two writers while an index is defined",
            Case::of(vec![
                write_indexed(1),
                write_indexed(2),
                Task::Define { of: INDEXED },
            ]),
        ),
    ]
}

#[test]
fn no_interleaving_breaks_a_transaction() {
    let mut all = 0;
    for (name, case) in cases() {
        match explore(&case, None) {
            Ok(states) => {
                println!("{states:>9} states: {name}");
                all += states;
            }
            Err(trouble) => panic!("{name}: {trouble}"),
        }
    }
    println!("{all:>9} states");
}

#[test]
fn each_planted_fault_is_found() {
    const FAULTS: [Fault; 9] = [
        Fault::LockWithoutCondition,
        Fault::CommitBeforeAllLocks,
        Fault::ResolutionWithoutPrimary,
        Fault::OldLocksIgnored,
        Fault::ClockGoesBack,
        Fault::VersionIgnored,
        Fault::RollbackWithoutRecord,
        Fault::OutcomeExpires,
        Fault::CommitWithoutLock,
    ];
    for fault in FAULTS {
        let found = cases().into_iter().find_map(|(name, case)| {
            let trouble = explore(&case, Some(fault)).err()?;
            Some((name, trouble))
        });
        let (name, trouble): (&str, Trouble) = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{fault:?}: {name}: {}", trouble.what);
    }
}
