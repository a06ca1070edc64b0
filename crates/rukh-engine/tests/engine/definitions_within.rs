//! Definitions that a transaction changes, beside others that read, write and define: no other sees half of it, and nothing is lost.

use crate::support;
use crate::support::{index_draft, open, read, row, table, table_draft};
use rukh_engine::{Engine, EngineError, NoProgress, OnConflict, Patience, Row, ScanRequest, Transaction};
use rukh_kv::Durability;
use std::sync::Arc;
use std::time::Duration;

/// Begins a transaction, and a session that is in it.
fn begin(engine: &Engine) -> (Transaction, Engine) {
    within(engine, engine.transaction())
}

/// The same for one that waits for others.
fn begin_waiting(engine: &Engine) -> (Transaction, Engine) {
    within(engine, engine.transaction_that_waits(briefly()))
}

fn within(engine: &Engine, transaction: Transaction) -> (Transaction, Engine) {
    let session = engine.for_session();
    session.enter(&transaction);
    (transaction, session)
}

fn briefly() -> Patience {
    Patience {
        timeout: Some(Duration::from_millis(50)),
        ..Patience::default()
    }
}

fn create(engine: &Engine, name: &str) -> Result<(), EngineError> {
    engine
        .create_table(table_draft(name, "k INTEGER, a INTEGER NULL", "k", None))
        .map(drop)
}

fn index(engine: &Engine, of: &str, name: &str, unique: bool) -> Result<(), EngineError> {
    let table = table(engine, of);
    let draft = index_draft(&table, name, "a", "", None, unique);
    engine.create_index(table.id, draft, &NoProgress).map(drop)
}

fn insert(engine: &Engine, into: &str, rows: &[&str]) -> Result<(), EngineError> {
    let table = table(engine, into);
    let mut write = engine.begin()?;
    let rows = rows.iter().map(|text| row(&table, text)).collect();
    write.insert(&table, rows, OnConflict::Error)?;
    write.commit(Durability::Synced).map(drop)
}

fn insert_within(transaction: &Transaction, into: &str, rows: &[&str]) -> Result<(), EngineError> {
    let mut write = transaction.write()?;
    let table = write.snapshot().catalog.table_named("public", into)?.clone();
    let rows = rows.iter().map(|text| row(&table, text)).collect();
    write.insert(&table, rows, OnConflict::Error)?;
    write.commit(Durability::Buffered).map(drop)
}

fn rows(engine: &Engine, of: &str) -> Vec<Row> {
    read(
        &engine.snapshot(),
        ScanRequest::all(table(engine, of), Vec::new()),
    )
}

fn is_there(engine: &Engine, name: &str) -> bool {
    engine.catalog().table_named("public", name).is_ok()
}

fn is_conflict(result: Result<impl Sized, EngineError>) -> bool {
    matches!(result, Err(EngineError::Conflict { .. }))
}

#[test]
fn others_see_nothing_before_the_commit_and_all_after_it() {
    let engine = open(support::memory());
    create(&engine, "t").unwrap();
    insert(&engine, "t", &["1, 10"]).unwrap();
    let (transaction, session) = begin(&engine);
    create(&session, "new").unwrap();
    index(&session, "t", "t_a", false).unwrap();
    insert_within(&transaction, "new", &["1, 1"]).unwrap();
    assert!(is_there(&session, "new") && !is_there(&engine, "new"));
    assert_eq!(rows(&session, "new").len(), 1);
    assert!(table(&engine, "t").indexes.is_empty());
    assert_eq!(rows(&engine, "t").len(), 1);
    transaction.commit(Durability::Synced).unwrap();
    assert_eq!(rows(&engine, "new").len(), 1);
    assert_eq!(table(&engine, "t").indexes.len(), 1);
    let report = engine.check_table(table(&engine, "t").id, &NoProgress).unwrap();
    assert!(report.is_clean() && report.entries == 1, "{report:?}");
    // The session is in no transaction any more.
    assert!(is_there(&session, "new"));
    create(&session, "after").unwrap();
    assert!(is_there(&engine, "after"));
}

#[test]
fn what_is_rolled_back_leaves_no_storage() {
    let store = support::memory();
    let engine = open(store.clone());
    create(&engine, "t").unwrap();
    let before = store.tables();
    let (transaction, session) = begin(&engine);
    create(&session, "new").unwrap();
    index(&session, "t", "t_a", false).unwrap();
    assert!(store.tables().len() > before.len());
    // What others define and drop meanwhile leaves it there.
    create(&engine, "other").unwrap();
    engine.drop_table(table(&engine, "other").id).unwrap();
    insert_within(&transaction, "new", &["1, 1"]).unwrap();
    assert_eq!(rows(&session, "new").len(), 1);
    drop(transaction);
    assert_eq!(store.tables(), before);
    assert!(!is_there(&session, "new"));
}

/// The entries of an index that is made in a transaction are those of the rows at its commit, or there is no commit.
#[test]
fn a_row_that_another_writes_is_no_row_without_an_entry() {
    let engine = open(support::memory());
    create(&engine, "t").unwrap();
    insert(&engine, "t", &["1, 10"]).unwrap();
    let (transaction, session) = begin(&engine);
    index(&session, "t", "t_a", false).unwrap();
    insert(&engine, "t", &["2, 20"]).unwrap();
    assert!(is_conflict(transaction.commit(Durability::Synced)));
    assert!(table(&engine, "t").indexes.is_empty());
    // One that has begun before, and commits after: it does not know of the index.
    let writer = engine.transaction();
    insert_within(&writer, "t", &["3, 30"]).unwrap();
    let (transaction, session) = begin(&engine);
    index(&session, "t", "t_a", false).unwrap();
    transaction.commit(Durability::Synced).unwrap();
    assert!(is_conflict(writer.commit(Durability::Synced)));
    let report = engine.check_table(table(&engine, "t").id, &NoProgress).unwrap();
    assert!(report.is_clean() && report.rows == 2, "{report:?}");
}

#[test]
fn the_second_to_define_something_fails_or_waits() {
    let engine = open(support::memory());
    create(&engine, "t").unwrap();
    // Without waiting the first to commit wins, whatever they define.
    let (first, of_first) = begin(&engine);
    let (second, of_second) = begin(&engine);
    create(&of_first, "a").unwrap();
    create(&of_second, "b").unwrap();
    second.commit(Durability::Synced).unwrap();
    assert!(is_conflict(first.commit(Durability::Synced)));
    assert!(is_there(&engine, "b") && !is_there(&engine, "a"));
    // What is defined outside of transactions is such a commit.
    let (first, of_first) = begin(&engine);
    create(&of_first, "a").unwrap();
    create(&engine, "c").unwrap();
    assert!(is_conflict(first.commit(Durability::Synced)));
    let (first, of_first) = begin(&engine);
    engine.drop_table(table(&engine, "c").id).unwrap();
    assert!(is_conflict(create(&of_first, "a")));
    drop(first);
    // With waiting none defines anything before the first has ended.
    let (first, of_first) = begin_waiting(&engine);
    create(&of_first, "a").unwrap();
    let (second, of_second) = begin_waiting(&engine);
    assert!(matches!(create(&of_second, "d"), Err(EngineError::LockTimeout)));
    assert!(matches!(
        engine.wait_for_definitions(&briefly()),
        Err(EngineError::LockTimeout)
    ));
    first.commit(Durability::Synced).unwrap();
    drop(engine.wait_for_definitions(&briefly()).unwrap());
    // Its state is too old, and a newer one helps.
    assert!(is_conflict(create(&of_second, "a")));
    assert!(second.take_outdated());
    assert!(second.refresh());
    assert!(matches!(create(&of_second, "a"), Err(EngineError::Catalog(_))));
    create(&of_second, "d").unwrap();
    second.commit(Durability::Synced).unwrap();
    assert!(is_there(&engine, "d"));
}

#[test]
fn a_table_that_is_changed_is_locked() {
    let engine = open(support::memory());
    create(&engine, "t").unwrap();
    insert(&engine, "t", &["1, 10"]).unwrap();
    let (first, of_first) = begin_waiting(&engine);
    index(&of_first, "t", "t_a", false).unwrap();
    let second = engine.transaction_that_waits(briefly());
    assert!(matches!(
        insert_within(&second, "t", &["2, 20"]),
        Err(EngineError::LockTimeout)
    ));
    drop(first);
    insert_within(&second, "t", &["2, 20"]).unwrap();
    // And the other way round.
    let (third, of_third) = begin_waiting(&engine);
    assert!(matches!(
        index(&of_third, "t", "t_a", false),
        Err(EngineError::LockTimeout)
    ));
    second.commit(Durability::Synced).unwrap();
    drop(third);
    assert_eq!(rows(&engine, "t").len(), 2);
}

#[test]
fn a_unique_index_sees_the_rows_of_the_transaction() {
    let engine = open(support::memory());
    create(&engine, "t").unwrap();
    insert(&engine, "t", &["1, 10"]).unwrap();
    let (transaction, session) = begin(&engine);
    insert_within(&transaction, "t", &["2, 10"]).unwrap();
    let duplicate = index(&session, "t", "t_a", true);
    assert!(
        matches!(duplicate, Err(EngineError::UniqueViolation { .. })),
        "{duplicate:?}"
    );
    drop(transaction);
    let (transaction, session) = begin(&engine);
    index(&session, "t", "t_a", true).unwrap();
    let duplicate = insert_within(&transaction, "t", &["2, 10"]);
    assert!(
        matches!(duplicate, Err(EngineError::UniqueViolation { .. })),
        "{duplicate:?}"
    );
    insert_within(&transaction, "t", &["2, 20"]).unwrap();
    transaction.commit(Durability::Synced).unwrap();
    assert!(matches!(
        insert(&engine, "t", &["3, 20"]),
        Err(EngineError::UniqueViolation { .. })
    ));
}

/// A database that is opened after the process has ended between has nothing of it, and gives the ids again.
#[test]
fn an_end_before_the_commit_leaves_nothing() {
    let store = support::memory();
    let engine = open(store.clone());
    create(&engine, "t").unwrap();
    let before = store.tables();
    let (transaction, session) = begin(&engine);
    create(&session, "new").unwrap();
    insert_within(&transaction, "new", &["1, 1"]).unwrap();
    // The process ends: nothing of it is dropped.
    std::mem::forget((transaction, session, engine));
    let engine = open(store.clone());
    assert_eq!(store.tables(), before);
    create(&engine, "other").unwrap();
    assert_eq!(rows(&engine, "other"), Vec::<Row>::new());
}

/// Many at once: each makes a table and an index, and all that commit are whole.
#[test]
fn many_define_at_once() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 10;
    let engine = open(support::memory());
    create(&engine, "t").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let engine = &engine;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let patience = Patience::default();
                    let (transaction, session) = within(engine, engine.transaction_that_waits(patience));
                    let name = format!("t{thread}_{round}");
                    while is_conflict(create(&session, &name)) {
                        transaction.start_over();
                    }
                    index(&session, &name, &format!("{name}_a"), false).unwrap();
                    insert_within(&transaction, &name, &["1, 1", "2, 2"]).unwrap();
                    match round % 3 {
                        0 => drop(transaction),
                        _ => drop(transaction.commit(Durability::Synced).unwrap()),
                    }
                }
            });
        }
        for _ in 0..THREADS * ROUNDS {
            drop(insert(&engine, "t", &["1, 1"]));
            let write = engine.begin().unwrap();
            drop(write);
        }
    });
    let tables: Vec<Arc<_>> = engine.catalog().tables().cloned().collect();
    assert_eq!(tables.len(), 1 + THREADS * (ROUNDS - ROUNDS.div_ceil(3)));
    for table in tables {
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}
