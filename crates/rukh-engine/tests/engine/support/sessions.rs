//! Random transactions of several sessions, interleaved, and the model of snapshot isolation.
//!
//! A session sees what was committed when its transaction began and its own changes. It may commit
//! if no other session has committed a change of a row it touched, or taken a UNIQUE value that it takes,
//! since it began: the first committer wins. Rows put back as they were count as touched.

use super::model::{Model, Op, Statement, check, count_rows, op};
use proptest::prelude::*;
use rukh_catalog::Table;
use rukh_engine::{Engine, EngineError, Row, Savepoint, Transaction};
use rukh_keys::Datum;
use rukh_kv::{Durability, KvStore};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sessions at once.
const SESSIONS: usize = 3;

/// What one session does next.
#[derive(Clone, Debug)]
pub struct Step {
    session: usize,
    op: Op,
}

pub fn step() -> impl Strategy<Value = Step> {
    let op = op().prop_filter("definitions are those of the start", |op| {
        !matches!(
            op,
            Op::Truncate | Op::Reopen | Op::CreateIndex(_) | Op::DropIndex(_)
        )
    });
    (0..SESSIONS, op).prop_map(|(session, op)| Step { session, op })
}

/// A primary key, or a value of a UNIQUE index.
type Touched = (String, Vec<Datum>);

struct Open {
    transaction: Transaction,
    began: usize,
    model: Model,
    touched: BTreeSet<Touched>,
    savepoints: Vec<(Savepoint, Model, BTreeSet<Touched>)>,
}

struct World {
    engine: Engine,
    table: Arc<Table>,
    committed: Model,
    commits: Vec<BTreeSet<Touched>>,
    sessions: Vec<Option<Open>>,
}

/// Returns what a statement touches that takes a model from `before` to `after`.
fn touched(table: &Table, statement: &Statement, before: &Model, after: &Model) -> BTreeSet<Touched> {
    let key = |row: &Row| Model::key(table, row);
    let keys: Vec<Vec<Datum>> = match statement {
        Statement::Insert(rows, _) => rows
            .iter()
            .map(key)
            .filter(|key| !before.rows.contains_key(key))
            .collect(),
        Statement::Upsert(rows, _) | Statement::Delete(rows) => rows.iter().map(key).collect(),
        Statement::Update(changes) => changes
            .iter()
            .flat_map(|(old, new)| [key(old), key(new)])
            .collect(),
    };
    let mut touched = BTreeSet::new();
    for key in keys {
        match (statement, after.rows.get(&key)) {
            // Left out for the sake of another UNIQUE value.
            (Statement::Insert(..), None) => continue,
            (_, Some(row)) => touched.extend(Model::unique_values(table, row)),
            (_, None) => {}
        }
        touched.insert((String::new(), key));
    }
    touched
}

impl World {
    fn apply(&mut self, Step { session, op }: Step) {
        match op {
            Op::Begin => {
                self.sessions[session] = Some(Open {
                    transaction: self.engine.transaction(),
                    began: self.commits.len(),
                    model: self.committed.clone(),
                    touched: BTreeSet::new(),
                    savepoints: Vec::new(),
                });
            }
            Op::Commit => self.commit(session),
            Op::Rollback => self.sessions[session] = None,
            Op::Savepoint => {
                if let Some(open) = &mut self.sessions[session] {
                    let savepoint = open.transaction.savepoint();
                    open.savepoints
                        .push((savepoint, open.model.clone(), open.touched.clone()));
                }
            }
            Op::RollbackTo(pick) => {
                if let Some(open) = &mut self.sessions[session]
                    && !open.savepoints.is_empty()
                {
                    open.savepoints.truncate(pick.index(open.savepoints.len()) + 1);
                    let (savepoint, model, touched) = &open.savepoints[open.savepoints.len() - 1];
                    open.transaction.roll_back_to(savepoint);
                    (open.model, open.touched) = (model.clone(), touched.clone());
                }
            }
            Op::CountRows => count_rows(&self.engine, &self.table),
            op => self.statement(session, op),
        }
    }

    fn statement(&mut self, session: usize, op: Op) {
        let (write, model) = match &mut self.sessions[session] {
            Some(open) => (open.transaction.write().unwrap(), &mut open.model),
            None => (self.engine.begin().unwrap(), &mut self.committed),
        };
        let Some(statement) = Statement::of(op, model) else {
            return;
        };
        let before = model.clone();
        let done = statement.run(write, &self.table, model);
        let touched = match done {
            true => touched(&self.table, &statement, &before, model),
            false => BTreeSet::new(),
        };
        match &mut self.sessions[session] {
            Some(open) => open.touched.extend(touched),
            None => self.commits.push(touched),
        }
    }

    fn commit(&mut self, session: usize) {
        let Some(open) = self.sessions[session].take() else {
            return;
        };
        let since = &self.commits[open.began..];
        let conflict = since.iter().any(|commit| !commit.is_disjoint(&open.touched));
        match open.transaction.commit(Durability::Buffered) {
            Ok(_) => assert!(!conflict, "{:?} must conflict", open.touched),
            Err(EngineError::Conflict { .. }) => assert!(conflict, "{:?} must not conflict", open.touched),
            Err(error) => panic!("{error}"),
        }
        if conflict {
            return;
        }
        // Of others' rows the newest, of one's own what one has made of them.
        for (_, key) in open.touched.iter().filter(|(index, _)| index.is_empty()) {
            match open.model.rows.get(key) {
                Some(row) => drop(self.committed.rows.insert(key.clone(), row.clone())),
                None => drop(self.committed.rows.remove(key)),
            }
        }
        self.commits.push(open.touched);
    }

    fn check(&self) {
        check(&self.engine, &self.engine.snapshot(), &self.committed);
        for open in self.sessions.iter().flatten() {
            check(&self.engine, &open.transaction.snapshot(), &open.model);
        }
    }
}

/// Runs sessions, comparing each with the model after every step.
pub fn run(key: &str, indexes: &[usize], steps: Vec<Step>, store: Arc<dyn KvStore>) {
    let engine = super::open(store);
    super::model::create(&engine, key, None, indexes);
    let mut world = World {
        table: super::table(&engine, "t"),
        engine,
        committed: Model::default(),
        commits: Vec::new(),
        sessions: (0..SESSIONS).map(|_| None).collect(),
    };
    for step in steps {
        world.apply(step);
        world.check();
    }
}
