//! Counters: adds are merges that read nothing, none is lost, and every way of reading sees the sum.

use crate::support;
use proptest::prelude::*;
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{
    AddOutcome, CounterMerge, Engine, EngineError, NoProgress, OnConflict, ScanRequest, Snapshot, Write,
};
use rukh_keys::Datum;
use rukh_kv::{Durability, KvStore, MemoryStore, RecordStore, Recording, RocksOptions, RocksStore};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;

const COLUMNS: &str = "k BIGINT, a COUNTER, t VARCHAR NULL, b COUNTER IN stats, n VARCHAR NULL IN notes";

fn memory() -> Arc<dyn KvStore> {
    Arc::new(MemoryStore::with_merge_operator(Arc::new(CounterMerge)))
}

fn rocks(path: &Path) -> Arc<dyn KvStore> {
    let options = RocksOptions {
        merge: Some(Arc::new(CounterMerge)),
        ..RocksOptions::default()
    };
    Arc::new(RocksStore::open(path, &options).unwrap())
}

fn column(table: &Table, name: &str) -> ColumnId {
    table.column_named(name).unwrap().id
}

fn row(table: &Table, key: i64, a: i64, b: i64) -> Vec<Datum> {
    support::row(table, &format!("{key}, {a}, 't', {b}, NULL"))
}

/// Adds to the counters of the row under a key.
fn add(write: &mut Write, table: &Arc<Table>, key: i64, a: i64, b: i64) -> AddOutcome {
    let amounts = [(column(table, "a"), a), (column(table, "b"), b)];
    assert!(write.can_add(table, &amounts.map(|(id, _)| id)));
    write.add(table, &[Datum::Int(key)], &amounts).unwrap()
}

/// Puts a row or, if there is one, adds to it.
fn put_or_add(write: &mut Write, table: &Arc<Table>, key: i64, a: i64, b: i64) {
    let amounts = vec![(column(table, "a"), a), (column(table, "b"), b)];
    let new = row(table, key, a, b);
    assert!(write.can_insert_or_add(table, &[column(table, "a"), column(table, "b")], &new));
    assert_eq!(write.insert_or_add(table, vec![new], &[amounts]).unwrap(), 1);
}

/// Reads all rows: keys with both counters.
fn sums(snapshot: &Snapshot, table: &Arc<Table>) -> BTreeMap<i64, (i64, i64)> {
    let rows = support::read(snapshot, ScanRequest::all(table.clone(), Vec::new()));
    let number = |datum: &Datum| match datum {
        Datum::Int(value) => *value,
        other => panic!("{other:?}"),
    };
    rows.iter()
        .map(|row| (number(&row[0]), (number(&row[1]), number(&row[3]))))
        .collect()
}

#[test]
fn adds_read_nothing_but_whether_the_row_is_there() {
    let store = Arc::new(RecordStore::new(memory(), Recording::ReadsAndWrites));
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    let columns = [column(&table, "a"), column(&table, "b")];
    store.take();
    let mut write = engine.begin().unwrap();
    put_or_add(&mut write, &table, 1, 5, 0);
    put_or_add(&mut write, &table, 1, 5, 2);
    write.commit(Durability::Synced).unwrap();
    let text = store.take_text();
    assert!(!text.contains("get") && !text.contains("scan"), "{text}");
    assert!(text.ends_with("commit 2 ops\n"), "{text}");
    assert_eq!(text.matches("merge ").count(), 2, "{text}");

    let mut write = engine.begin().unwrap();
    let amounts = [(columns[0], 7)];
    assert_eq!(
        write.add(&table, &[Datum::Int(1)], &amounts).unwrap(),
        AddOutcome::Done
    );
    assert_eq!(
        write.add(&table, &[Datum::Int(2)], &amounts).unwrap(),
        AddOutcome::NoRow
    );
    let amounts = [(columns[0], i64::MAX)];
    assert_eq!(
        write.add(&table, &[Datum::Int(1)], &amounts).unwrap(),
        AddOutcome::OutOfRange
    );
    write.commit(Durability::Synced).unwrap();
    let text = store.take_text();
    assert_eq!(text.matches("get ").count(), 3, "{text}");
    assert!(text.ends_with("commit 1 ops\n"), "{text}");
    assert_eq!(
        sums(&engine.snapshot(), &table),
        BTreeMap::from([(1, (5 + 5 + 7, 2))])
    );

    // What another family has of a new row cannot be left to chance.
    let write = engine.begin().unwrap();
    let noted = support::row(&table, "1, 0, NULL, 0, 'n'");
    assert!(!write.can_insert_or_add(&table, &columns, &noted));
    drop(write);
    support::create_index(&engine, &table, "by_a", "a", "", false);
    let table = support::table(&engine, "t");
    let write = engine.begin().unwrap();
    assert!(!write.can_add(&table, &columns[..1]) && write.can_add(&table, &columns[1..]));
}

#[test]
fn a_store_that_does_not_merge_is_no_store_for_adds() {
    let engine = support::engine();
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    let write = engine.begin().unwrap();
    assert!(!write.can_add(&table, &[column(&table, "a")]));
}

#[test]
fn many_adders_lose_nothing() {
    const ADDERS: i64 = 16;
    const ADDS: i64 = 200;
    const CELLS: i64 = 3;
    let directory = tempfile::tempdir().unwrap();
    let engine = support::open(rocks(directory.path()));
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    thread::scope(|scope| {
        for adder in 0..ADDERS {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || {
                for nth in 0..ADDS {
                    let cell = (adder + nth) % CELLS;
                    if nth % 50 == 7 {
                        // A transaction that only adds never has to be run again.
                        let transaction = engine.transaction();
                        for _ in 0..2 {
                            let mut write = transaction.write().unwrap();
                            put_or_add(&mut write, table, cell, 1, -1);
                            write.commit(Durability::Buffered).unwrap();
                        }
                        transaction.commit(Durability::Buffered).unwrap();
                    } else {
                        let mut write = engine.begin().unwrap();
                        put_or_add(&mut write, table, cell, 1, -1);
                        write.commit(Durability::Buffered).unwrap();
                    }
                    if nth == ADDS / 2 {
                        engine.flush().unwrap();
                    }
                }
            });
        }
    });
    let expected = ADDERS * (ADDS + ADDS / 50);
    let check = |engine: &Engine| {
        let sums = sums(&engine.snapshot(), &table);
        assert_eq!(sums.len() as i64, CELLS);
        assert_eq!(sums.values().map(|(a, _)| a).sum::<i64>(), expected);
        assert_eq!(sums.values().map(|(_, b)| b).sum::<i64>(), -expected);
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
    };
    check(&engine);
    drop(engine);
    let engine = support::open(rocks(directory.path()));
    check(&engine);
    for name in engine.store().tables() {
        engine.store().compact(&name).unwrap();
    }
    check(&engine);
}

#[test]
fn adds_conflict_with_all_else() {
    let engine = support::open(memory());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    let mut write = engine.begin().unwrap();
    write
        .insert(&table, vec![row(&table, 1, 0, 0)], OnConflict::Error)
        .unwrap();
    write.commit(Durability::Synced).unwrap();
    let adding = || {
        let transaction = engine.transaction();
        let mut write = transaction.write().unwrap();
        assert_eq!(add(&mut write, &table, 1, 10, 0), AddOutcome::Done);
        write.commit(Durability::Synced).unwrap();
        transaction
    };
    let (one, other) = (adding(), adding());
    assert_eq!(sums(&one.snapshot(), &table)[&1], (10, 0));
    one.commit(Durability::Synced).unwrap();
    assert_eq!(sums(&other.snapshot(), &table)[&1], (10, 0));
    other.commit(Durability::Synced).unwrap();
    assert_eq!(sums(&engine.snapshot(), &table)[&1], (20, 0));

    let adder = adding();
    let mut write = engine.begin().unwrap();
    write.delete(&table, vec![row(&table, 1, 20, 0)]).unwrap();
    write.commit(Durability::Synced).unwrap();
    let failed = adder.commit(Durability::Synced);
    assert!(matches!(failed, Err(EngineError::Conflict { .. })), "{failed:?}");
    assert_eq!(sums(&engine.snapshot(), &table), BTreeMap::new());

    let transaction = engine.transaction();
    let mut write = transaction.write().unwrap();
    write
        .insert(&table, vec![row(&table, 1, 0, 0)], OnConflict::Error)
        .unwrap();
    write.commit(Durability::Synced).unwrap();
    let mut write = engine.begin().unwrap();
    put_or_add(&mut write, &table, 1, 3, 0);
    write.commit(Durability::Synced).unwrap();
    let failed = transaction.commit(Durability::Synced);
    assert!(matches!(failed, Err(EngineError::Conflict { .. })), "{failed:?}");
}

/// A statement of the model.
#[derive(Clone, Debug)]
enum Op {
    Add(i64, i64, i64),
    PutOrAdd(i64, i64, i64),
    Upsert(i64, i64, i64),
    Delete(i64),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..4_i64;
    let number = || prop_oneof![4 => -9..9_i64, 1 => Just(i64::MAX / 2), 1 => Just(i64::MIN / 2)];
    prop_oneof![
        4 => (key.clone(), number(), number()).prop_map(|(k, a, b)| Op::Add(k, a, b)),
        4 => (key.clone(), number(), number()).prop_map(|(k, a, b)| Op::PutOrAdd(k, a, b)),
        1 => (key.clone(), number(), number()).prop_map(|(k, a, b)| Op::Upsert(k, a, b)),
        1 => key.prop_map(Op::Delete),
    ]
}

/// The counters of each row, exactly.
type Model = BTreeMap<i64, (i128, i128)>;

fn shown(model: &Model) -> BTreeMap<i64, (i64, i64)> {
    let clamp = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    model
        .iter()
        .map(|(key, (a, b))| (*key, (clamp(*a), clamp(*b))))
        .collect()
}

fn run_op(mut write: Write, table: &Arc<Table>, op: &Op, model: &mut Model) {
    match *op {
        Op::Add(key, a, b) => {
            let before = shown(model).get(&key).copied();
            let outcome = add(&mut write, table, key, a, b);
            match before {
                None => assert_eq!(outcome, AddOutcome::NoRow),
                Some((x, y)) if x.checked_add(a).is_none() || y.checked_add(b).is_none() => {
                    assert_eq!(outcome, AddOutcome::OutOfRange);
                }
                Some(_) => {
                    let (x, y) = model.get_mut(&key).unwrap();
                    *x += i128::from(a);
                    *y += i128::from(b);
                }
            }
        }
        Op::PutOrAdd(key, a, b) => {
            put_or_add(&mut write, table, key, a, b);
            let (x, y) = model.entry(key).or_default();
            *x += i128::from(a);
            *y += i128::from(b);
        }
        Op::Upsert(key, a, b) => {
            let all: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
            write.upsert(table, &all, vec![row(table, key, a, b)]).unwrap();
            model.insert(key, (a.into(), b.into()));
        }
        Op::Delete(key) => {
            let stored = write.snapshot().get(table, &[Datum::Int(key)]).unwrap();
            write.delete(table, stored.into_iter().collect()).unwrap();
            model.remove(&key);
        }
    }
    write.commit(Durability::Buffered).unwrap();
}

/// Runs lists of statements: alone, or as transactions that are committed or not.
fn run(store: Arc<dyn KvStore>, steps: &[(Vec<Op>, u8)]) {
    let engine = support::open(store);
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    let mut model = Model::new();
    for (ops, mode) in steps {
        let before = (engine.snapshot(), shown(&model));
        match mode {
            0 => {
                for op in ops {
                    run_op(engine.begin().unwrap(), &table, op, &mut model);
                }
                if ops.len() > 3 {
                    engine.flush().unwrap();
                }
            }
            mode => {
                let transaction = engine.transaction();
                let mut own = model.clone();
                for op in ops {
                    run_op(transaction.write().unwrap(), &table, op, &mut own);
                    assert_eq!(sums(&transaction.snapshot(), &table), shown(&own));
                }
                if *mode == 1 {
                    transaction.commit(Durability::Buffered).unwrap();
                    model = own;
                }
            }
        }
        assert_eq!(sums(&engine.snapshot(), &table), shown(&model));
        assert_eq!(sums(&before.0, &table), before.1);
    }
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(
        report.is_clean() && report.rows == model.len() as u64,
        "{report:?}"
    );
}

fn steps() -> impl Strategy<Value = Vec<(Vec<Op>, u8)>> {
    prop::collection::vec((prop::collection::vec(op(), 0..6), 0..3_u8), 1..6)
}

proptest! {
    #[test]
    fn histories_agree_with_the_model(steps in steps()) {
        run(memory(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn histories_on_disk_agree_with_the_model(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        run(rocks(directory.path()), &steps);
    }
}
