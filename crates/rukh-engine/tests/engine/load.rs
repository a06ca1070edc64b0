//! Bulk loads: the same outcome as one INSERT of all rows, whatever the memory.

use crate::support;
use crate::support::model::{COLUMNS, INDEXES, KEYS, row};
use proptest::prelude::*;
use proptest::sample::subsequence;
use rukh_engine::{Engine, EngineError, ImportNote, NoProgress, OnConflict, Progress, Row, ScanRequest};
use rukh_kv::{Durability, KvStore, MemoryStore};
use std::cell::Cell;
use std::sync::Arc;

fn database(key: &str, salt: Option<u16>, indexes: &[usize]) -> Engine {
    let engine = support::engine();
    engine
        .create_table(support::table_draft("t", COLUMNS, key, salt))
        .unwrap();
    for nth in indexes {
        let (key, include, predicate, unique) = INDEXES[*nth];
        let table = support::table(&engine, "t");
        let draft = support::index_draft(&table, &format!("i{nth}"), key, include, predicate, unique);
        engine.create_index(table.id, draft, &NoProgress).unwrap();
    }
    engine
}

fn insert(engine: &Engine, rows: Vec<Row>) -> Result<u64, EngineError> {
    let mut write = engine.begin()?;
    let count = write.insert(&support::table(engine, "t"), rows, OnConflict::Error)?;
    write.commit(Durability::Buffered)?;
    Ok(count)
}

fn load(engine: &Engine, rows: &[Row], chunk: usize) -> Result<u64, EngineError> {
    let mut load = engine.load(support::table(engine, "t").id)?;
    for rows in rows.chunks(chunk) {
        load.add(rows.to_vec())?;
    }
    load.finish()
}

fn rows(engine: &Engine) -> Vec<Row> {
    let table = support::table(engine, "t");
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    support::read(&engine.snapshot(), ScanRequest::all(table, Vec::new()))
}

proptest! {
    #[test]
    fn a_load_is_an_insert(
        key in prop::sample::select(KEYS),
        salt in prop_oneof![2 => Just(None), 1 => Just(Some(3))],
        indexes in subsequence((0..INDEXES.len()).collect::<Vec<_>>(), 0..5),
        before in prop::collection::vec(row(), 0..4),
        given in prop::collection::vec(row(), 0..12),
        bytes_max in prop_oneof![Just(0), Just(300), Just(1 << 20)],
        chunk in 1_usize..5,
    ) {
        let (loaded, inserted) = (database(key, salt, &indexes), database(key, salt, &indexes));
        loaded.set_load_bytes_max(bytes_max);
        for engine in [&loaded, &inserted] {
            for row in &before {
                let _ = insert(engine, vec![row.clone()]);
            }
        }
        match (load(&loaded, &given, chunk), insert(&inserted, given)) {
            (Ok(loaded), Ok(inserted)) => prop_assert_eq!(loaded, inserted),
            (Err(EngineError::UniqueViolation { .. }), Err(EngineError::UniqueViolation { .. })) => {}
            (loaded, inserted) => panic!("{loaded:?}, {inserted:?}"),
        }
        prop_assert_eq!(rows(&loaded), rows(&inserted));
        prop_assert_eq!(loaded.store().local().unwrap().load_files().unwrap(), []);
        prop_assert_eq!(loaded.store().latest().get("catalog", b"load").unwrap(), None);
    }
}

fn numbers(range: std::ops::Range<i64>) -> Vec<Row> {
    let engine = database("k", None, &[]);
    let table = support::table(&engine, "t");
    range
        .map(|n| {
            support::row(
                &table,
                &format!("{n}, 's{n}', {n}, 'b{n}', NULL, NULL, NULL, NULL"),
            )
        })
        .collect()
}

/// Cancels once so much is done.
struct CancelAfter(Cell<i64>);

impl Progress for CancelAfter {
    fn total(&self, _: Option<u64>) {}

    fn advance(&self, rows: u64) {
        self.0.set(self.0.get() - rows as i64);
    }

    fn cancelled(&self) -> bool {
        self.0.get() <= 0
    }
}

#[test]
fn a_thousand_runs_sort() {
    let engine = database("k", None, &[2, 10]);
    engine.set_load_bytes_max(2000);
    let mut given = numbers(0..3000);
    given.reverse();
    assert_eq!(load(&engine, &given, 3).unwrap(), 3000);
    given.reverse();
    assert_eq!(rows(&engine), given);
}

#[test]
fn loads_meet_stored_rows() {
    let engine = database("k", None, &[10]);
    load(&engine, &numbers(0..5000), 1000).unwrap();
    load(&engine, &numbers(5000..8000), 1000).unwrap();
    let error = load(&engine, &numbers(7999..9000), 1000).unwrap_err();
    assert_eq!(error.detail().unwrap(), "Key (k)=(7999) already exists.");
    let mut other = numbers(8000..9000);
    other[500][2] = rukh_keys::Datum::Int(4321);
    let error = load(&engine, &other, 1000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "duplicate key value violates unique constraint \"i10\""
    );
    assert_eq!(error.detail().unwrap(), "Key (a)=(4321) already exists.");
    assert_eq!(rows(&engine), numbers(0..8000));
}

#[test]
fn a_load_is_seen_all_at_once() {
    let engine = database("k", None, &[0]);
    let mut load = engine.load(support::table(&engine, "t").id).unwrap();
    load.add(numbers(0..100)).unwrap();
    let before = engine.snapshot();
    assert_eq!(rows(&engine), Vec::<Row>::new());
    assert_eq!(load.finish().unwrap(), 100);
    let request = ScanRequest::all(support::table(&engine, "t"), Vec::new());
    assert_eq!(support::read(&before, request), Vec::<Row>::new());
    assert_eq!(rows(&engine).len(), 100);
}

#[test]
fn a_load_that_is_dropped_or_cancelled_leaves_nothing() {
    let engine = database("k", None, &[0]);
    let id = support::table(&engine, "t").id;
    let mut load = engine.load(id).unwrap();
    load.add(numbers(0..100)).unwrap();
    drop(load);
    let mut load = engine.load(id).unwrap();
    load.add(numbers(0..100)).unwrap();
    let cancelled = load.finish_watched(&CancelAfter(Cell::new(0)));
    // A load that is done before the first report is not cancelled.
    match cancelled {
        Err(EngineError::Cancelled) => assert_eq!(rows(&engine).len(), 0),
        other => assert_eq!(other.unwrap(), 100),
    }
    assert_eq!(engine.store().local().unwrap().load_files().unwrap(), []);
}

#[test]
fn an_index_is_filled_in_little_memory() {
    let engine = database("k", None, &[]);
    load(&engine, &numbers(0..3000), 500).unwrap();
    engine.set_load_bytes_max(10_000);
    let table = support::table(&engine, "t");
    support::create_index(&engine, &table, "by_s", "s DESC", "a", true);
    assert_eq!(rows(&engine).len(), 3000);
    let draft = support::index_draft(&table, "c", "b", "", None, false);
    let cancelled = engine.create_index(table.id, draft, &CancelAfter(Cell::new(1500)));
    assert!(matches!(cancelled, Err(EngineError::Cancelled)), "{cancelled:?}");
    assert!(support::table(&engine, "t").index_named("c").is_none());
    assert_eq!(
        engine.store().tables(),
        ["catalog", "i2", "statistics", "t1", "t1.f1"]
    );
}

#[test]
fn a_failed_row_ends_the_load() {
    let engine = database("k", None, &[]);
    let mut load = engine.load(support::table(&engine, "t").id).unwrap();
    let mut wrong = numbers(0..1);
    wrong[0][0] = rukh_keys::Datum::Null;
    assert!(matches!(
        load.add(wrong),
        Err(EngineError::NotNullViolation { .. })
    ));
    drop(load);
    assert_eq!(rows(&engine).len(), 0);
}

#[test]
fn a_half_visible_load_is_completed_at_open() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER NULL", "k");
    support::create_index(&engine, &table, "by_a", "a", "", false);
    let table = support::table(&engine, "t");
    // Ingesting fails half way, and goes on failing: nothing may be read until it is completed.
    let faults = Arc::new(rukh_kv::FaultStore::new(store.clone()));
    let engine = support::open(faults.clone());
    let mut load = engine.load(table.id).unwrap();
    load.add(vec![support::row(&table, "1, 10"), support::row(&table, "2, 20")])
        .unwrap();
    load.note_import(imported("1.csv"));
    // Two files finished, a look for room, the note, the table; the index is the sixth.
    faults.fail_write(6, rukh_kv::Fault::Halt);
    assert!(matches!(load.finish(), Err(EngineError::RecoveryNeeded)));
    let request = || ScanRequest::all(table.clone(), Vec::new());
    assert!(matches!(
        engine.snapshot().scan(request()),
        Err(EngineError::RecoveryNeeded)
    ));
    assert!(matches!(engine.begin(), Err(EngineError::RecoveryNeeded)));
    faults.heal();
    let read_only = Engine::open(store.clone(), Arc::new(support::toy::ToyFunctions), true);
    assert!(matches!(read_only, Err(EngineError::RecoveryNeeded)));
    let engine = support::open(store);
    assert_eq!(engine.recovered(), [rukh_engine::Recovery::CompletedLoad]);
    assert_eq!(rows(&engine).len(), 2);
    assert_eq!(engine.imported_last("j").unwrap().as_deref(), Some("1.csv"));
}

#[test]
fn a_note_of_an_import_is_there_with_its_rows() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", "k INTEGER", "k");
    let last = |engine: &Engine| engine.imported_last("j").unwrap();
    assert_eq!(last(&engine), None);
    let load = |key: &str, file: &str| {
        let mut load = engine.load(table.id)?;
        load.add(vec![support::row(&table, key)])?;
        load.note_import(imported(file));
        load.finish()
    };
    load("1", "1.csv").unwrap();
    assert_eq!(last(&engine).as_deref(), Some("1.csv"));
    // Neither rows nor a note.
    assert!(load("1", "2.csv").is_err());
    assert_eq!(last(&engine).as_deref(), Some("1.csv"));
    let mut write = engine.begin().unwrap();
    write.note_import(imported("3.csv"));
    let added = vec![support::row(&table, "3")];
    write.insert(&table, added, OnConflict::Error).unwrap();
    assert_eq!(last(&engine).as_deref(), Some("1.csv"));
    write.commit(Durability::Synced).unwrap();
    let engine = support::open(store);
    assert_eq!(last(&engine).as_deref(), Some("3.csv"));
    engine.forget_import("j").unwrap();
    assert_eq!(last(&engine), None);
}

fn imported(file: &str) -> ImportNote {
    ImportNote {
        journal: "j".to_string(),
        file: file.to_string(),
    }
}
