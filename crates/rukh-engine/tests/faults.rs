//! The n-th write fails, for every n and every way of failing: afterwards the database holds what
//! it held before the statement, or all of what it holds after it, and the scrub is clean.

#![allow(clippy::unwrap_used)]

mod support;

use rukh_engine::{Engine, EngineError, NoProgress, OnConflict, ScanRequest};
use rukh_kv::{Durability, Fault, FaultStore, KvStore, MemoryStore};
use std::sync::Arc;

type Step = fn(&Engine) -> Result<(), EngineError>;

const COLUMNS: &str = "k INTEGER, a INTEGER NULL, s VARCHAR NULL, p VARCHAR NULL IN payload";

/// What a database does in its life, each a statement.
const STEPS: &[Step] = &[
    |engine| {
        engine
            .create_table(support::table_draft("t", COLUMNS, "k", None))
            .map(drop)
    },
    |engine| index(engine, "by_a", "a", false),
    |engine| {
        insert(
            engine,
            &["1, 10, 'x', 'p'", "2, 20, 'y', NULL", "3, 30, 'z', 'q'"],
        )
    },
    |engine| index(engine, "by_s", "s DESC", true),
    |engine| upsert(engine, &["1, 11, 'w', NULL", "4, 40, NULL, 'r'"]),
    |engine| {
        load(
            engine,
            &["9, 90, 'k', 'v'", "8, 80, 'l', NULL", "7, NULL, NULL, 'm'"],
        )
    },
    |engine| index(engine, "late", "a DESC, s", false),
    |engine| delete(engine, "2"),
    |engine| transaction(engine, &["21, 1, 'tx', 'p'", "22, 2, NULL, NULL"], "3"),
    |engine| engine.drop_index(support::table(engine, "t").index_named("by_a").unwrap().id),
    |engine| {
        engine
            .create_table(support::table_draft("u", "k INTEGER", "k", Some(2)))
            .map(drop)
    },
    |engine| engine.truncate(support::table(engine, "t").id),
    |engine| load(engine, &["1, 1, '1', '1'"]),
    |engine| engine.drop_table(support::table(engine, "t").id),
];

fn index(engine: &Engine, name: &str, key: &str, unique: bool) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let draft = support::index_draft(&table, name, key, "", None, unique);
    engine.create_index(table.id, draft, &NoProgress).map(drop)
}

fn insert(engine: &Engine, rows: &[&str]) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let mut write = engine.begin()?;
    write.insert(
        &table,
        rows.iter().map(|row| support::row(&table, row)).collect(),
        OnConflict::Error,
    )?;
    write.commit(Durability::Synced)
}

fn upsert(engine: &Engine, rows: &[&str]) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin()?;
    write.upsert(
        &table,
        &all,
        rows.iter().map(|row| support::row(&table, row)).collect(),
    )?;
    write.commit(Durability::Synced)
}

fn delete(engine: &Engine, key: &str) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let mut write = engine.begin()?;
    let row = write
        .snapshot()
        .get(&table, &support::key(&table.key_layout(), key))?
        .unwrap();
    write.delete(&table, vec![row])?;
    write.commit(Durability::Synced)
}

/// Two statements as one.
fn transaction(engine: &Engine, rows: &[&str], key: &str) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let transaction = engine.transaction();
    let mut write = transaction.write()?;
    let rows = rows.iter().map(|row| support::row(&table, row)).collect();
    write.insert(&table, rows, OnConflict::Error)?;
    write.commit(Durability::Buffered)?;
    let mut write = transaction.write()?;
    let row = write
        .snapshot()
        .get(&table, &support::key(&table.key_layout(), key))?
        .unwrap();
    write.delete(&table, vec![row])?;
    write.commit(Durability::Buffered)?;
    transaction.commit(Durability::Synced)
}

fn load(engine: &Engine, rows: &[&str]) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let mut load = engine.load(table.id)?;
    load.add(rows.iter().map(|row| support::row(&table, row)).collect())?;
    load.finish().map(drop)
}

/// Everything that a user sees: tables, their indexes, their rows.
fn state(engine: &Engine) -> Vec<String> {
    let mut state = Vec::new();
    for table in engine.catalog().tables() {
        let indexes: Vec<_> = table
            .indexes
            .iter()
            .map(|index| (&index.name, index.state))
            .collect();
        state.push(format!("{} {indexes:?}", table.name));
        let rows = support::read(&engine.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
        state.extend(rows.iter().map(|row| support::show_row(table, row)));
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
    state
}

/// Runs all steps without a fault; returns the state before each and at the end, and the writes.
fn undisturbed(rows_at_once: u64) -> (Vec<Vec<String>>, u64) {
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
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
        let memory: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
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
            .map(|table| table.families.len() + table.indexes.len())
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
        let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
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
