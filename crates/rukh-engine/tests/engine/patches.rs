//! Partial UPSERTs that read nothing: what is written, what it means, and what of it is refused.

use crate::support;
use proptest::prelude::*;
use rukh_catalog::Table;
use rukh_engine::{AddOutcome, CounterMerge, Engine, EngineError, NoProgress, OnConflict, Row, ScanRequest};
use rukh_keys::Datum;
use rukh_kv::{
    Durability, KvStore, MemoryStore, RecordStore, Recording, RocksOptions, RocksStore, ScanSpec, WriteBatch,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const COLUMNS: &str = "k BIGINT, a BIGINT NULL, t VARCHAR NULL, c COUNTER, b BOOLEAN NULL, n BIGINT IN stats, \
     p VARCHAR NULL IN stats";

fn memory() -> Arc<dyn KvStore> {
    Arc::new(MemoryStore::with_merge_operator(Arc::new(CounterMerge)))
}

fn upsert(engine: &Engine, named: &[usize], row: &str) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    upsert_row(engine, named, support::row(&table, row))
}

fn upsert_row(engine: &Engine, named: &[usize], row: Row) -> Result<(), EngineError> {
    let table = support::table(engine, "t");
    let ids: Vec<_> = named.iter().map(|at| table.columns[*at].id).collect();
    let mut write = engine.begin()?;
    assert_eq!(write.upsert(&table, &ids, vec![row])?, 1);
    write.commit(Durability::Synced).map(|_| ())
}

fn rows(engine: &Engine) -> Vec<String> {
    let table = support::table(engine, "t");
    let rows = support::read(&engine.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    rows.iter().map(|row| support::show_row(&table, row)).collect()
}

#[test]
fn a_partial_upsert_reads_nothing() {
    let store = Arc::new(RecordStore::new(memory(), Recording::ReadsAndWrites));
    let engine = support::open(store.clone());
    support::create_table(&engine, "t", COLUMNS, "k");
    store.take();
    upsert(&engine, &[0, 2], "1, NULL, 'x', 0, NULL, 5, NULL").unwrap();
    upsert(&engine, &[0, 1, 5], "1, 7, NULL, 0, NULL, 6, NULL").unwrap();
    upsert(&engine, &[0, 2], "1, 3, NULL, 9, true, 9, 'p'").unwrap();
    let text = store.take_text();
    assert!(!text.contains("get") && !text.contains("scan"), "{text}");
    assert!(!text.contains("put") && text.contains("merge t1/"), "{text}");
    assert_eq!(rows(&engine), ["1, 7, NULL, 0, NULL, 6, NULL"]);
    // Where the row decides, it is read.
    store.take();
    upsert(&engine, &[0, 6], "1, NULL, NULL, 0, NULL, 0, 'q'").unwrap();
    assert!(
        !store.take_text().contains("get"),
        "each row has the NOT NULL column of that family"
    );
    let table = support::table(&engine, "t");
    support::create_index(&engine, &table, "by_a", "a", "", false);
    store.take();
    upsert(&engine, &[0, 2], "1, NULL, 'y', 0, NULL, 0, NULL").unwrap();
    let text = store.take_text();
    assert!(text.contains("get") && text.contains("put"), "{text}");
    assert_eq!(rows(&engine), ["1, 7, 'y', 0, NULL, 6, 'q'"]);
}

#[test]
fn what_is_not_null_has_to_be_given_where_there_may_be_no_row() {
    let engine = support::open(memory());
    support::create_table(&engine, "t", "k BIGINT, a BIGINT, b BIGINT NULL", "k");
    upsert(&engine, &[0, 1], "1, 5, NULL").unwrap();
    // Without a default for `a` only a row that is there can be changed.
    let partial = |k: i64| vec![Datum::Int(k), Datum::Null, Datum::Int(6)];
    upsert_row(&engine, &[0, 2], partial(1)).unwrap();
    let refused = upsert_row(&engine, &[0, 2], partial(2));
    assert!(
        matches!(refused, Err(EngineError::NotNullViolation { .. })),
        "{refused:?}"
    );
    let refused = upsert_row(&engine, &[0, 1], partial(1));
    assert!(
        matches!(refused, Err(EngineError::NotNullViolation { .. })),
        "{refused:?}"
    );
    assert_eq!(rows(&engine), ["1, 5, 6"]);
}

#[test]
fn one_of_two_transactions_that_patch_a_row_fails() {
    let engine = support::open(memory());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    let named = [table.columns[0].id, table.columns[2].id];
    let row = |k: i64, text: &str| support::row(&table, &format!("{k}, NULL, '{text}', 0, NULL, 5, NULL"));
    let (one, other) = (engine.transaction(), engine.transaction());
    for (transaction, text) in [(&one, "one"), (&other, "other")] {
        let mut write = transaction.write().unwrap();
        write.upsert(&table, &named, vec![row(1, text)]).unwrap();
        write.commit(Durability::Synced).unwrap();
        let own = support::read(
            &transaction.snapshot(),
            ScanRequest::all(table.clone(), Vec::new()),
        );
        assert_eq!(own, [row(1, text)]);
    }
    one.commit(Durability::Synced).unwrap();
    let refused = other.commit(Durability::Synced);
    assert!(
        matches!(refused, Err(EngineError::Conflict { .. })),
        "{refused:?}"
    );
    assert_eq!(rows(&engine), ["1, NULL, 'one', 0, NULL, 5, NULL"]);
}

/// Bytes that are no patches are an error that names the key.
#[test]
fn damaged_patches_are_errors() {
    let store = memory();
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", COLUMNS, "k");
    upsert(&engine, &[0, 2], "1, NULL, 'x', 0, NULL, 5, NULL").unwrap();
    upsert(&engine, &[0, 2], "1, NULL, 'y', 0, NULL, 5, NULL").unwrap();
    let mut cursor = store.snapshot().scan("t1", ScanSpec::all()).unwrap();
    let entry = cursor.next().unwrap().unwrap();
    let (key, value) = (entry.key.to_vec(), entry.value.to_vec());
    let mut errors = 0;
    for at in 0..value.len() {
        for bit in 0..8 {
            let mut damaged = value.clone();
            damaged[at] ^= 1 << bit;
            let mut batch = WriteBatch::new();
            batch.put("t1", &key, &damaged);
            store.write(batch, Durability::Synced).unwrap();
            match engine.snapshot().get(&table, &[Datum::Int(1)]) {
                Ok(_) => {}
                Err(EngineError::Corruption { .. }) => errors += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(errors > value.len(), "{errors} errors");
}

/// What is done to one row.
#[derive(Clone, Debug)]
enum Step {
    Upsert(Vec<usize>, Row),
    Add(i64, i64),
    Delete(i64),
    Compact,
    Widen,
}

fn row() -> impl Strategy<Value = Row> {
    let number = || prop_oneof![1 => Just(Datum::Null), 3 => (-2..3_i64).prop_map(Datum::Int)];
    let text = || prop_oneof![1 => Just(Datum::Null), 3 => "[a-b]{0,3}".prop_map(Datum::Text)];
    let flag = prop_oneof![Just(Datum::Null), any::<bool>().prop_map(Datum::Boolean)];
    ((0..3_i64), number(), text(), 0..5_i64, flag, 0..5_i64, text())
        .prop_map(|(k, a, t, c, b, n, p)| vec![Datum::Int(k), a, t, Datum::Int(c), b, Datum::Int(n), p])
}

fn step() -> impl Strategy<Value = Step> {
    let named = prop::sample::subsequence((1..7).collect::<Vec<usize>>(), 1..=6);
    prop_oneof![
        10 => (named, row()).prop_map(|(named, row)| Step::Upsert(named, row)),
        3 => (0..3_i64, -3..4_i64).prop_map(|(k, amount)| Step::Add(k, amount)),
        1 => (0..3_i64).prop_map(Step::Delete),
        2 => Just(Step::Compact),
        1 => Just(Step::Widen),
    ]
}

fn run(store: Arc<dyn KvStore>, steps: Vec<Step>) {
    let engine = support::open(store);
    support::create_table(&engine, "t", COLUMNS, "k");
    let mut model: BTreeMap<i64, Row> = BTreeMap::new();
    let mut widened = false;
    for step in steps {
        let table: Arc<Table> = support::table(&engine, "t");
        match step {
            Step::Upsert(named, mut row) => {
                row.resize(table.columns.len(), Datum::Int(8));
                let named: Vec<usize> = std::iter::once(0).chain(named).collect();
                upsert_row(&engine, &named, row.clone()).unwrap();
                let Datum::Int(k) = row[0] else { unreachable!() };
                let known = model.entry(k).or_insert_with(|| row.clone());
                named.iter().for_each(|at| known[*at] = row[*at].clone());
            }
            Step::Add(k, amount) => {
                let mut write = engine.begin().unwrap();
                let counter = table.columns[3].id;
                let outcome = write.add(&table, &[Datum::Int(k)], &[(counter, amount)]).unwrap();
                write.commit(Durability::Buffered).unwrap();
                assert_eq!(outcome == AddOutcome::Done, model.contains_key(&k));
                if let Some(Datum::Int(sum)) = model.get_mut(&k).map(|row| &mut row[3]) {
                    *sum += amount;
                }
            }
            Step::Delete(k) => {
                if let Some(row) = model.remove(&k) {
                    let mut write = engine.begin().unwrap();
                    write.delete(&table, vec![row]).unwrap();
                    write.commit(Durability::Buffered).unwrap();
                }
            }
            Step::Compact => engine.compact(None, &NoProgress).unwrap(),
            // Another layout: patches of rows written before it are of the former one.
            Step::Widen if !widened => {
                widened = true;
                let altered = engine.alter_table(table.id, |_, before| {
                    let mut column = before.columns[1].clone();
                    column.name = "w".into();
                    column.values.missing = Some(Datum::Int(9));
                    before.with_column(column).map_err(EngineError::from)
                });
                altered.unwrap();
                model.values_mut().for_each(|row| row.push(Datum::Int(9)));
            }
            Step::Widen => {}
        }
        let table = support::table(&engine, "t");
        let expected: Vec<Row> = model.values().cloned().collect();
        let read = support::read(&engine.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
        assert_eq!(read, expected);
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
    // An index that is filled from such rows has what they show.
    let table = support::table(&engine, "t");
    support::create_index(&engine, &table, "by_t", "t", "a, c", false);
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(
        report.is_clean() && report.entries == model.len() as u64,
        "{report:?}"
    );
    let mut write = engine.begin().unwrap();
    let taken = write.insert(
        &support::table(&engine, "t"),
        model.into_values().collect(),
        OnConflict::Ignore,
    );
    assert_eq!(taken.unwrap(), 0);
}

proptest! {
    #[test]
    fn patched_rows_are_those_of_the_model(steps in prop::collection::vec(step(), 1..30)) {
        run(memory(), steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn patched_rows_are_those_of_the_model_on_disk(steps in prop::collection::vec(step(), 1..30)) {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions { merge: Some(Arc::new(CounterMerge)), ..RocksOptions::default() };
        run(Arc::new(RocksStore::open(directory.path(), &options).unwrap()), steps);
    }
}
