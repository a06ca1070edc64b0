//! FOREIGN KEY under snapshot isolation: no interleaving of transactions leaves a row that refers to nothing.

use crate::support;
use crate::support::{open, read, row, table, table_draft};
use rukh_catalog::{ColumnId, ForeignAction, ForeignKey, ForeignTiming};
use rukh_engine::{Engine, EngineError, OnConflict, Patience, Row, ScanRequest, Transaction, Write};
use rukh_keys::Datum;
use rukh_kv::Durability;
use std::collections::BTreeSet;
use std::time::Duration;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Deletes the referenced row.
    Delete,
    /// Gives it another key.
    Move,
    /// Changes a column of it that nothing refers to.
    Touch,
    /// Adds a row that refers to it.
    Insert,
    /// Has a row refer to it that referred to nothing.
    Refer,
    /// Has a row refer to nothing that referred to it.
    Release,
    /// Adds the row, or puts it back.
    Restore,
}

const STEPS: [Step; 7] = [
    Step::Delete,
    Step::Move,
    Step::Touch,
    Step::Insert,
    Step::Refer,
    Step::Release,
    Step::Restore,
];

/// Makes both tables: parent 1 has the child 10, the child 11 refers to nothing.
fn database(action: ForeignAction, timing: ForeignTiming, by_index: bool) -> Engine {
    let engine = open(support::memory());
    let parents = "id INTEGER, n INTEGER NULL";
    engine
        .create_table(table_draft("parents", parents, "id", None))
        .unwrap();
    let children = "id INTEGER, parent INTEGER NULL";
    engine
        .create_table(table_draft("children", children, "id", None))
        .unwrap();
    if by_index {
        support::create_index(
            &engine,
            &table(&engine, "children"),
            "by_parent",
            "parent",
            "",
            false,
        );
    }
    let key = ForeignKey {
        name: "children_parent_fkey".to_string(),
        columns: vec![ColumnId(1)],
        referenced: table(&engine, "parents").id,
        referenced_columns: vec![ColumnId(0)],
        on_delete: action,
        on_update: action,
        match_full: false,
        timing,
        not_valid: false,
    };
    let altered = engine.alter_table(table(&engine, "children").id, |_, before| {
        let mut next = before.clone();
        next.foreign_keys.push(key);
        Ok::<_, EngineError>(next)
    });
    altered.unwrap();
    let mut write = engine.begin().unwrap();
    insert(&mut write, "parents", "1, 0").unwrap();
    write.commit(Durability::Synced).unwrap();
    let mut write = engine.begin().unwrap();
    insert(&mut write, "children", "10, 1").unwrap();
    insert(&mut write, "children", "11, NULL").unwrap();
    write.commit(Durability::Synced).unwrap();
    engine
}

fn insert(write: &mut Write, into: &str, text: &str) -> Result<(), EngineError> {
    let table = write.snapshot().catalog.table_named("public", into)?.clone();
    write
        .insert(&table, vec![row(&table, text)], OnConflict::Error)
        .map(drop)
}

/// Does a step where the state allows it.
fn step(write: &mut Write, step: Step) -> Result<(), EngineError> {
    let catalog = write.snapshot().catalog.clone();
    let parents = catalog.table_named("public", "parents")?.clone();
    let children = catalog.table_named("public", "children")?.clone();
    let found = |of: &rukh_catalog::Table, id| write.snapshot().get(of, &[Datum::Int(id)]);
    let (parent, child, free) = (found(&parents, 1)?, found(&children, 10)?, found(&children, 11)?);
    match (step, parent, child, free) {
        (Step::Delete, Some(parent), ..) => write.delete(&parents, vec![parent]).map(drop),
        (Step::Move, Some(parent), ..) => {
            let moved = vec![Datum::Int(2), parent[1].clone()];
            write.update(&parents, vec![(parent, moved)]).map(drop)
        }
        (Step::Touch, Some(parent), ..) => {
            let touched = vec![Datum::Int(1), Datum::Int(7)];
            write.update(&parents, vec![(parent, touched)]).map(drop)
        }
        (Step::Insert, ..) => insert(write, "children", "12, 1"),
        (Step::Refer, _, _, Some(free)) => {
            let refers = vec![Datum::Int(11), Datum::Int(1)];
            write.update(&children, vec![(free, refers)]).map(drop)
        }
        (Step::Release, _, Some(child), _) => {
            let released = vec![Datum::Int(10), Datum::Null];
            write.update(&children, vec![(child, released)]).map(drop)
        }
        (Step::Restore, None, ..) => insert(write, "parents", "1, 0"),
        _ => Ok(()),
    }
}

fn rows(engine: &Engine, of: &str) -> Vec<Row> {
    read(
        &engine.snapshot(),
        ScanRequest::all(table(engine, of), Vec::new()),
    )
}

/// Fails if a child refers to nothing.
fn check(engine: &Engine, what: &dyn std::fmt::Debug) {
    let parents: BTreeSet<String> = rows(engine, "parents")
        .iter()
        .map(|row| format!("{:?}", row[0]))
        .collect();
    for child in rows(engine, "children") {
        let refers = format!("{:?}", child[1]);
        assert!(
            child[1].is_null() || parents.contains(&refers),
            "{what:?}: {child:?} refers to none of {parents:?}"
        );
    }
}

/// A transaction that runs by steps: begins, runs its statements one by one, and commits.
struct Runner<'e> {
    engine: &'e Engine,
    statements: Vec<Step>,
    at: usize,
    open: Option<Transaction>,
    waits: bool,
}

impl Runner<'_> {
    fn advance(&mut self) {
        let patience = Patience {
            timeout: Some(Duration::from_millis(1)),
            ..Patience::default()
        };
        match (self.at, self.waits) {
            (0, true) => self.open = Some(self.engine.transaction_that_waits(patience)),
            (0, false) => self.open = Some(self.engine.transaction()),
            (at, _) if at <= self.statements.len() => {
                let Some(transaction) = &self.open else { return };
                transaction.refresh();
                let done = transaction.write().and_then(|mut write| {
                    step(&mut write, self.statements[at - 1])?;
                    write.commit(Durability::Buffered)
                });
                if done.is_err() {
                    self.open = None;
                }
            }
            _ => {
                if let Some(transaction) = self.open.take() {
                    drop(transaction.commit(Durability::Synced));
                }
            }
        }
        self.at += 1;
    }
}

/// Returns all orders of two sequences of so many steps: for each place, whether the first goes on.
fn orders(first: usize, second: usize) -> Vec<Vec<bool>> {
    match (first, second) {
        (0, 0) => vec![Vec::new()],
        _ => {
            let mut all = Vec::new();
            for (goes_on, left) in [(true, first), (false, second)] {
                if left > 0 {
                    let rest = match goes_on {
                        true => orders(first - 1, second),
                        false => orders(first, second - 1),
                    };
                    all.extend(rest.into_iter().map(|rest| [vec![goes_on], rest].concat()));
                }
            }
            all
        }
    }
}

fn try_all(action: ForeignAction, timing: ForeignTiming, waits: bool) {
    let mut committed = 0;
    for first in STEPS {
        for second in STEPS {
            for order in orders(3, 3) {
                let engine = database(action, timing, (first as usize).is_multiple_of(2));
                let runner = |of| Runner {
                    engine: &engine,
                    statements: vec![of],
                    at: 0,
                    open: None,
                    waits,
                };
                let (mut one, mut other) = (runner(first), runner(second));
                let before = (rows(&engine, "parents"), rows(&engine, "children"));
                for goes_on in &order {
                    match goes_on {
                        true => one.advance(),
                        false => other.advance(),
                    }
                }
                check(&engine, &(action, timing, first, second, &order));
                let after = (rows(&engine, "parents"), rows(&engine, "children"));
                committed += usize::from(before != after);
            }
        }
    }
    assert!(committed > 200, "{committed}");
}

#[test]
fn no_interleaving_leaves_an_orphan() {
    for action in [
        ForeignAction::NoAction,
        ForeignAction::Cascade,
        ForeignAction::SetNull,
    ] {
        for waits in [false, true] {
            try_all(action, ForeignTiming::NotDeferrable, waits);
        }
    }
}

#[test]
fn no_interleaving_of_deferred_checks_leaves_an_orphan() {
    for waits in [false, true] {
        try_all(ForeignAction::NoAction, ForeignTiming::Deferred, waits);
    }
}

/// Two statements each, of which the second may mend what the first has broken.
#[test]
fn a_deferred_check_sees_what_the_transaction_leaves() {
    for first in STEPS {
        for second in STEPS {
            let engine = database(ForeignAction::NoAction, ForeignTiming::Deferred, true);
            let mut runner = Runner {
                engine: &engine,
                statements: vec![first, second],
                at: 0,
                open: None,
                waits: false,
            };
            (0..4).for_each(|_| runner.advance());
            check(&engine, &(first, second));
        }
    }
    let engine = database(ForeignAction::NoAction, ForeignTiming::Deferred, true);
    let transaction = engine.transaction();
    for one in [Step::Delete, Step::Restore] {
        let mut write = transaction.write().unwrap();
        step(&mut write, one).unwrap();
        write.commit(Durability::Buffered).unwrap();
    }
    transaction.commit(Durability::Synced).unwrap();
    assert_eq!(rows(&engine, "parents").len(), 1);
}

/// Statements that change other columns of the referenced row stand in no one's way.
#[test]
fn an_update_of_other_columns_is_no_conflict() {
    for (first, second) in [
        (Step::Touch, Step::Insert),
        (Step::Insert, Step::Touch),
        (Step::Insert, Step::Refer),
    ] {
        let engine = database(ForeignAction::NoAction, ForeignTiming::NotDeferrable, true);
        let (one, other) = (engine.transaction(), engine.transaction());
        for (transaction, of) in [(&one, first), (&other, second)] {
            let mut write = transaction.write().unwrap();
            step(&mut write, of).unwrap();
            write.commit(Durability::Buffered).unwrap();
        }
        one.commit(Durability::Synced).unwrap();
        other.commit(Durability::Synced).unwrap();
        check(&engine, &(first, second));
    }
}

/// A constraint that is added beside a transaction which takes away what it needs.
#[test]
fn a_constraint_that_comes_meanwhile_holds() {
    for one in STEPS {
        let engine = database(ForeignAction::NoAction, ForeignTiming::NotDeferrable, true);
        let id = table(&engine, "children").id;
        let key = table(&engine, "children").foreign_keys.clone();
        let dropped = engine.alter_table(id, |_, before| {
            let mut next = before.clone();
            next.foreign_keys.clear();
            Ok::<_, EngineError>(next)
        });
        dropped.unwrap();
        let transaction = engine.transaction();
        let mut write = transaction.write().unwrap();
        step(&mut write, one).unwrap();
        write.commit(Durability::Buffered).unwrap();
        let added = engine.alter_table(id, |_, before| {
            let mut next = before.clone();
            next.foreign_keys.extend(key);
            Ok::<_, EngineError>(next)
        });
        added.unwrap();
        drop(transaction.commit(Durability::Synced));
        check(&engine, &one);
    }
}

/// Loads check what they add, and a transaction that has taken that away before is in conflict.
#[test]
fn a_load_leaves_no_orphan() {
    let engine = database(ForeignAction::NoAction, ForeignTiming::NotDeferrable, true);
    let children = table(&engine, "children");
    let mut load = engine.load(children.id).unwrap();
    let missing = load
        .add(vec![row(&children, "20, 1"), row(&children, "21, 99")])
        .and_then(|_| load.finish());
    assert!(
        matches!(missing, Err(EngineError::ReferencedMissing { .. })),
        "{missing:?}"
    );
    let mut write = engine.begin().unwrap();
    step(&mut write, Step::Release).unwrap();
    write.commit(Durability::Synced).unwrap();
    let transaction = engine.transaction();
    let mut write = transaction.write().unwrap();
    step(&mut write, Step::Delete).unwrap();
    write.commit(Durability::Buffered).unwrap();
    let mut load = engine.load(children.id).unwrap();
    load.add(vec![row(&children, "20, 1")]).unwrap();
    load.finish().unwrap();
    assert!(matches!(
        transaction.commit(Durability::Synced),
        Err(EngineError::Conflict { .. })
    ));
    check(&engine, &"load");
}
