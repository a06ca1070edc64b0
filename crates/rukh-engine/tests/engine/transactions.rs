//! What a transaction refuses, and what ends it, case by case.

use crate::support;
use crate::support::toy::ToyFunctions;
use rukh_catalog::Table;
use rukh_engine::{Engine, EngineError, OnConflict, ScanRequest, Transaction};
use rukh_kv::{Durability, MemoryStore, RocksOptions, RocksStore};
use std::sync::Arc;

fn world() -> (Engine, Arc<Table>) {
    let engine = support::engine();
    let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER NULL", "k");
    support::create_index(&engine, &table, "by_a", "a", "", true);
    let table = support::table(&engine, "t");
    let mut write = engine.begin().unwrap();
    let rows = (0..5)
        .map(|k| support::row(&table, &format!("{k}, {k}")))
        .collect();
    write.insert(&table, rows, OnConflict::Error).unwrap();
    write.commit(Durability::Buffered).unwrap();
    (engine, table)
}

fn insert(transaction: &Transaction, table: &Arc<Table>, row: &str) -> Result<(), EngineError> {
    let mut write = transaction.write()?;
    write.insert(table, vec![support::row(table, row)], OnConflict::Error)?;
    write.commit(Durability::Buffered).map(|_| ())
}

fn update(transaction: &Transaction, table: &Arc<Table>, old: &str, new: &str) -> Result<(), EngineError> {
    let mut write = transaction.write()?;
    write.update(table, vec![(support::row(table, old), support::row(table, new))])?;
    write.commit(Durability::Buffered).map(|_| ())
}

fn conflict(transaction: Transaction) -> String {
    let error = transaction.commit(Durability::Buffered).unwrap_err();
    assert_eq!(error.hint(), Some("The transaction might succeed if retried."));
    assert!(matches!(error, EngineError::Conflict { .. }), "{error}");
    error.detail().unwrap()
}

#[test]
fn a_changed_definition_is_a_conflict_for_who_wrote_the_table() {
    let (engine, table) = world();
    let other = support::create_table(&engine, "other", "k INTEGER", "k");
    let (writer, bystander) = (engine.transaction(), engine.transaction());
    insert(&writer, &table, "7, 7").unwrap();
    insert(&bystander, &other, "1").unwrap();
    support::create_index(&engine, &table, "later", "a, k", "", false);
    assert_eq!(
        conflict(writer),
        "Table \"t\": The definition of the table has changed."
    );
    bystander.commit(Durability::Buffered).unwrap();
    assert!(
        engine
            .check_table(table.id, &rukh_engine::NoProgress)
            .unwrap()
            .is_clean()
    );
}

#[test]
fn a_dropped_table_is_read_on_and_not_written() {
    let (engine, table) = world();
    let transaction = engine.transaction();
    insert(&transaction, &table, "7, 7").unwrap();
    engine.drop_table(table.id).unwrap();
    let rows = support::read(
        &transaction.snapshot(),
        ScanRequest::all(table.clone(), Vec::new()),
    );
    assert_eq!(rows.len(), 6);
    insert(&transaction, &table, "8, 8").unwrap();
    conflict(transaction);
}

#[test]
fn whole_tables_that_changed_are_conflicts() {
    let (engine, table) = world();
    let transaction = engine.transaction();
    update(&transaction, &table, "1, 1", "1, 10").unwrap();
    engine.truncate(table.id).unwrap();
    assert_eq!(
        conflict(transaction),
        "Table \"t\": A row that was changed here has been changed by another."
    );
    let transaction = engine.transaction();
    insert(&transaction, &table, "7, 7").unwrap();
    let mut load = engine.load(table.id).unwrap();
    load.add(vec![support::row(&table, "7, 8")]).unwrap();
    load.finish().unwrap();
    conflict(transaction);
}

#[test]
fn putting_a_row_back_as_it_was_guards_it() {
    let (engine, table) = world();
    let (reader, writer) = (engine.transaction(), engine.transaction());
    update(&reader, &table, "1, 1", "1, 1").unwrap();
    update(&writer, &table, "1, 1", "1, 10").unwrap();
    reader.commit(Durability::Buffered).unwrap();
    conflict(writer);
}

#[test]
fn taking_one_unique_value_is_a_conflict() {
    let (engine, table) = world();
    let (one, other) = (engine.transaction(), engine.transaction());
    insert(&one, &table, "7, 70").unwrap();
    insert(&other, &table, "8, 70").unwrap();
    one.commit(Durability::Buffered).unwrap();
    conflict(other);
}

#[test]
fn a_statement_that_fails_leaves_the_transaction_as_it_was() {
    let (engine, table) = world();
    let transaction = engine.transaction();
    insert(&transaction, &table, "7, 7").unwrap();
    let taken = insert(&transaction, &table, "8, 7").unwrap_err();
    assert!(matches!(taken, EngineError::UniqueViolation { .. }));
    let mut dropped = transaction.write().unwrap();
    dropped
        .insert(&table, vec![support::row(&table, "9, 9")], OnConflict::Error)
        .unwrap();
    drop(dropped);
    transaction.commit(Durability::Buffered).unwrap();
    let rows = support::read(&engine.snapshot(), ScanRequest::all(table, Vec::new()));
    assert_eq!(rows.len(), 6);
}

#[test]
fn memory_is_bounded() {
    let (engine, table) = world();
    engine.set_transaction_bytes_max(1000);
    let transaction = engine.transaction();
    insert(&transaction, &table, "7, 7").unwrap();
    let error = (8..30)
        .find_map(|k| insert(&transaction, &table, &format!("{k}, {k}")).err())
        .unwrap();
    assert!(matches!(
        error,
        EngineError::TransactionTooLarge { limit_bytes: 1000 }
    ));
    // What the refused statement would have added is not there, the rest is.
    let count = |snapshot| support::read(&snapshot, ScanRequest::all(table.clone(), Vec::new())).len();
    let seen = count(transaction.snapshot());
    assert!(seen > 5);
    transaction.commit(Durability::Buffered).unwrap();
    assert_eq!(count(engine.snapshot()), seen);
}

#[test]
fn a_read_only_database_has_transactions_that_read() {
    let store = Arc::new(MemoryStore::new());
    support::create_table(&support::open(store.clone()), "t", "k INTEGER", "k");
    let engine = Engine::open(store, Arc::new(ToyFunctions), true).unwrap();
    let transaction = engine.transaction();
    assert!(matches!(transaction.write(), Err(EngineError::ReadOnly)));
    transaction.commit(Durability::Synced).unwrap();
}

#[test]
fn what_is_dropped_or_was_never_committed_is_not_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let open = || {
        support::open(Arc::new(
            RocksStore::open(&path, &RocksOptions::default()).unwrap(),
        ))
    };
    let rows = |engine: &Engine| {
        let table = support::table(engine, "t");
        support::read(&engine.snapshot(), ScanRequest::all(table, Vec::new())).len()
    };
    {
        let engine = open();
        let table = support::create_table(&engine, "t", "k INTEGER", "k");
        let (kept, dropped) = (engine.transaction(), engine.transaction());
        insert(&kept, &table, "1").unwrap();
        insert(&kept, &table, "2").unwrap();
        insert(&dropped, &table, "3").unwrap();
        kept.commit(Durability::Synced).unwrap();
        drop(dropped);
        assert_eq!(rows(&engine), 2);
    }
    assert_eq!(rows(&open()), 2);
}

#[test]
fn growth_counts_what_is_committed() {
    let (engine, table) = world();
    engine.analyze(table.id, &rukh_engine::NoProgress).unwrap();
    let transaction = engine.transaction();
    insert(&transaction, &table, "7, 7").unwrap();
    let savepoint = transaction.savepoint();
    insert(&transaction, &table, "8, 8").unwrap();
    transaction.roll_back_to(&savepoint);
    insert(&transaction, &table, "9, 9").unwrap();
    update(&transaction, &table, "9, 9", "10, 9").unwrap();
    assert_eq!(engine.growth(table.id), 0);
    transaction.commit(Durability::Buffered).unwrap();
    assert_eq!(engine.growth(table.id), 2);
    let undone = engine.transaction();
    insert(&undone, &table, "11, 11").unwrap();
    drop(undone);
    assert_eq!(engine.growth(table.id), 2);
}
