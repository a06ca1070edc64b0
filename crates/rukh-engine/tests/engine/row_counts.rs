//! The number of rows of a table, kept with every commit: how long it is kept, and that it is right beside writers.

use crate::support;
use crate::support::model::count_rows;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh_catalog::Table;
use rukh_engine::{
    CounterMerge, Engine, EngineError, NoProgress, OnConflict, Row, ScanRequest, Snapshot, Source,
};
use rukh_keys::{Datum, Edge, KeyRange, MaskedCompare, Span};
use rukh_kv::{Durability, KvStore, RocksOptions, RocksStore};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const COLUMNS: &str = "k BIGINT, a BIGINT NULL, c COUNTER";

fn rocks(directory: &Path) -> Arc<dyn KvStore> {
    let options = RocksOptions {
        merge: Some(Arc::new(CounterMerge)),
        ..RocksOptions::default()
    };
    Arc::new(RocksStore::open(directory.join("db"), &options).unwrap())
}

fn row(k: i64, a: i64) -> Row {
    vec![Datum::Int(k), Datum::Int(a), Datum::Int(0)]
}

fn insert(engine: &Engine, table: &Arc<Table>, keys: std::ops::Range<i64>) {
    let mut write = engine.begin().unwrap();
    let rows = keys.map(|k| row(k, k)).collect();
    write.insert(table, rows, OnConflict::Error).unwrap();
    write.commit(Durability::Buffered).unwrap();
}

fn upsert(engine: &Engine, table: &Arc<Table>, named: usize, rows: Vec<Row>) {
    let named: Vec<_> = table.columns[..named].iter().map(|column| column.id).collect();
    let mut write = engine.begin().unwrap();
    write.upsert(table, &named, rows).unwrap();
    write.commit(Durability::Buffered).unwrap();
}

fn kept(snapshot: &Snapshot, table: &Table) -> Option<u64> {
    snapshot.kept_rows(table).unwrap()
}

fn counted(snapshot: &Snapshot, table: &Table) -> u64 {
    let all = vec![KeyRange::all()];
    let counted = snapshot.count(table, Source::Table, all, MaskedCompare::default());
    counted.unwrap().0
}

#[test]
fn a_number_is_kept_from_the_first_count_on() {
    let directory = tempfile::tempdir().unwrap();
    let store = rocks(directory.path());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    let now = || kept(&engine.snapshot(), &table);
    insert(&engine, &table, 0..10);
    assert_eq!(now(), None);
    count_rows(&engine, &table);
    let old = engine.snapshot();
    insert(&engine, &table, 10..15);
    // Whole rows, some of them new, and parts of rows.
    upsert(
        &engine,
        &table,
        3,
        vec![row(3, 1), row(15, 1), row(15, 2), row(16, 1)],
    );
    upsert(
        &engine,
        &table,
        2,
        vec![row(4, 1), row(17, 1), row(18, 1), row(17, 2)],
    );
    assert_eq!(now(), Some(19));
    let mut write = engine.begin().unwrap();
    let amounts = vec![vec![(table.columns[2].id, 1)]; 2];
    write
        .insert_or_add(&table, vec![row(1, 1), row(19, 1)], &amounts)
        .unwrap();
    write.commit(Durability::Buffered).unwrap();
    let mut write = engine.begin().unwrap();
    write.delete(&table, vec![row(0, 0), row(1, 1)]).unwrap();
    write.update(&table, vec![(row(2, 2), row(100, 2))]).unwrap();
    write.commit(Durability::Buffered).unwrap();
    assert_eq!(now(), Some(18));
    assert_eq!((kept(&old, &table), counted(&old, &table)), (Some(10), 10));
    // Files of rows, and of deletions.
    let mut load = engine.load(table.id).unwrap();
    load.add((200..300).map(|k| row(k, k)).collect()).unwrap();
    load.finish().unwrap();
    assert_eq!(now(), Some(118));
    let span = Span {
        start: vec![Datum::Int(250)],
        start_edge: Edge::Included,
        end: vec![Datum::Int(1000)],
        end_edge: Edge::Included,
    };
    let mut erase = engine.begin().unwrap().erase(table.id).unwrap();
    erase.add(vec![row(200, 200), row(200, 200)]).unwrap();
    erase.add_spans(&[span], &NoProgress).unwrap();
    erase.finish(&NoProgress).unwrap();
    assert_eq!(now(), Some(67));
    assert_eq!(counted(&engine.snapshot(), &table), 67);
    // The process ends without a word.
    drop(engine);
    drop(old);
    let engine = support::open(store);
    let now = || kept(&engine.snapshot(), &table);
    assert_eq!(now(), Some(67));
    insert(&engine, &table, 1000..1001);
    assert_eq!(now(), Some(68));
    engine.truncate(table.id).unwrap();
    assert_eq!(now(), Some(0));
    insert(&engine, &table, 0..3);
    assert_eq!(now(), Some(3));
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_transaction_sees_its_own_rows() {
    let engine = support::open(support::memory());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    insert(&engine, &table, 0..10);
    count_rows(&engine, &table);
    let transaction = engine.transaction();
    let own = || kept(&transaction.snapshot(), &table);
    let statement = |rows: Vec<Row>| {
        let named: Vec<_> = table.columns.iter().map(|column| column.id).collect();
        let mut write = transaction.write().unwrap();
        write.upsert(&table, &named, rows).unwrap();
        write.commit(Durability::Buffered).unwrap();
    };
    statement(vec![row(9, 0), row(10, 0)]);
    let savepoint = transaction.savepoint();
    statement(vec![row(11, 0), row(12, 0)]);
    assert_eq!(own(), Some(13));
    transaction.roll_back_to(&savepoint);
    assert_eq!(own(), Some(11));
    insert(&engine, &table, 50..52);
    assert_eq!(kept(&engine.snapshot(), &table), Some(12));
    assert_eq!(own(), Some(11));
    transaction.commit(Durability::Buffered).unwrap();
    assert_eq!(kept(&engine.snapshot(), &table), Some(13));
    // One that loses leaves no trace.
    let transaction = engine.transaction();
    let mut write = transaction.write().unwrap();
    write.delete(&table, vec![row(50, 50)]).unwrap();
    write.commit(Durability::Buffered).unwrap();
    let mut write = engine.begin().unwrap();
    write.delete(&table, vec![row(50, 50)]).unwrap();
    write.commit(Durability::Buffered).unwrap();
    let lost = transaction.commit(Durability::Buffered);
    assert!(matches!(lost, Err(EngineError::Conflict { .. })));
    assert_eq!(kept(&engine.snapshot(), &table), Some(12));
}

/// Both add to one new row and do not conflict.
#[test]
fn what_is_not_certain_is_not_kept() {
    let engine = support::open(support::memory());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    count_rows(&engine, &table);
    let transactions = [engine.transaction(), engine.transaction()];
    for transaction in &transactions {
        let mut write = transaction.write().unwrap();
        let amounts = vec![vec![(table.columns[2].id, 1)]];
        write.insert_or_add(&table, vec![row(1, 1)], &amounts).unwrap();
        write.commit(Durability::Buffered).unwrap();
        assert_eq!(kept(&transaction.snapshot(), &table), None);
    }
    for transaction in transactions {
        transaction.commit(Durability::Buffered).unwrap();
    }
    assert_eq!(kept(&engine.snapshot(), &table), None);
    count_rows(&engine, &table);
    assert_eq!(kept(&engine.snapshot(), &table), Some(1));
}

#[test]
fn a_count_beside_writers_is_exact() {
    const WRITERS: u64 = 3;
    const STATEMENTS: usize = 150;
    const KEYS: i64 = 400;
    for columnar in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let engine = support::open(rocks(directory.path()));
        let (columns, key) = match columnar {
            true => ("k BIGINT, a BIGINT NULL, c BIGINT", "COLUMNAR k"),
            false => (COLUMNS, "k"),
        };
        let table = support::create_table(&engine, "t", columns, key);
        let (running, mut kept_times) = (AtomicUsize::new(WRITERS as usize), 0);
        thread::scope(|scope| {
            for seed in 0..WRITERS {
                let (engine, table, running) = (&engine, &table, &running);
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(seed);
                    for _ in 0..STATEMENTS {
                        statement(engine, table, &mut random, KEYS);
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
            while running.load(Ordering::SeqCst) > 0 {
                let snapshot = engine.snapshot();
                if let Some(count) = engine.begin_row_count(&snapshot, &table).unwrap() {
                    count.finish(counted(&snapshot, &table));
                }
                let snapshot = engine.snapshot();
                if let Some(kept) = kept(&snapshot, &table) {
                    assert_eq!(kept, counted(&snapshot, &table));
                    kept_times += 1;
                }
            }
        });
        assert!(kept_times > 0);
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}

/// Inserts, upserts, deletes or loads rows, by itself or in a transaction; one that loses is as good as none.
fn statement(engine: &Engine, table: &Arc<Table>, random: &mut StdRng, keys: i64) {
    let some = |random: &mut StdRng| -> Vec<Row> {
        let count = random.random_range(1..6);
        (0..count).map(|_| row(random.random_range(0..keys), 1)).collect()
    };
    let named = |count: usize| -> Vec<_> { table.columns[..count].iter().map(|column| column.id).collect() };
    if random.random_range(0..10) == 0 {
        let mut load = engine.load(table.id).unwrap();
        load.add(some(random)).unwrap();
        let _ = load.finish();
        return;
    }
    let transaction = random.random_bool(0.4).then(|| engine.transaction());
    for _ in 0..random.random_range(1..4) {
        let begun = match &transaction {
            Some(transaction) => transaction.write(),
            None => engine.begin(),
        };
        let mut write = begun.unwrap();
        let rows = some(random);
        let done = match random.random_range(0..5) {
            0 => write.insert(table, rows, OnConflict::Ignore),
            1 => write.upsert(table, &named(3), rows),
            2 => write.upsert(table, &named(2), rows),
            3 if !table.is_columnar() => {
                let amounts = vec![vec![(table.columns[2].id, 1)]; rows.len()];
                write.insert_or_add(table, rows, &amounts)
            }
            _ => {
                let all = ScanRequest::all(table.clone(), Vec::new());
                let mut there = support::read(write.snapshot(), all);
                there.retain(|_| random.random_bool(0.1));
                write.delete(table, there)
            }
        };
        done.unwrap();
        write.commit(Durability::Buffered).unwrap();
    }
    if let Some(transaction) = transaction {
        let ended = transaction.commit(Durability::Buffered);
        assert!(
            matches!(ended, Ok(_) | Err(EngineError::Conflict { .. })),
            "{ended:?}"
        );
    }
}
