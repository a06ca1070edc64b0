//! Histories of tables that share column families, and of some that do not: they are those of a store in memory.

use crate::shared::open;
use crate::suite::{Append, name};
use proptest::collection::vec;
use proptest::prelude::*;
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvSnapshot, KvStore, MemoryStore, ScanSpec, TableOptions, WriteBatch};
use std::sync::Arc;

/// One step of a history over some tables.
#[derive(Debug, Clone)]
enum Step {
    /// Creates the table, or drops it.
    Toggle(usize),
    Put(usize, Vec<u8>, u8),
    Delete(usize, Vec<u8>),
    DeleteRange(usize, Vec<u8>, Option<Vec<u8>>),
    Merge(usize, Vec<u8>, u8),
    Load(usize, Vec<Vec<u8>>),
    Flush,
    Compact(usize),
    Reopen,
    /// Remembers the state, to be compared at the end.
    Snapshot,
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(vec![0_u8, 1, 7, 0xff]), 0..4)
}

fn step() -> impl Strategy<Value = Step> {
    let table = || 0..NAMES.len();
    prop_oneof![
        4 => table().prop_map(Step::Toggle),
        8 => (table(), key(), 1..9_u8).prop_map(|(table, key, value)| Step::Put(table, key, value)),
        3 => (table(), key()).prop_map(|(table, key)| Step::Delete(table, key)),
        2 => (table(), key(), prop::option::of(key()))
            .prop_map(|(table, start, limit)| Step::DeleteRange(table, start, limit)),
        3 => (table(), key(), 1..9_u8).prop_map(|(table, key, value)| Step::Merge(table, key, value)),
        2 => (table(), vec(key(), 1..5)).prop_map(|(table, keys)| Step::Load(table, keys)),
        1 => Just(Step::Flush),
        1 => table().prop_map(Step::Compact),
        1 => Just(Step::Reopen),
        1 => Just(Step::Snapshot),
    ]
}

/// Does a step; one on a table that is not there is left out.
fn run(store: &dyn KvStore, step: &Step) {
    let there = |table: usize| store.table_exists(NAMES[table]);
    let mut batch = WriteBatch::new();
    match step {
        Step::Toggle(table) if there(*table) => store.drop_table(NAMES[*table]).unwrap(),
        Step::Toggle(table) => store
            .create_table(NAMES[*table], &TableOptions::default())
            .unwrap(),
        Step::Put(table, key, value) if there(*table) => batch.put(NAMES[*table], key, &[*value]),
        Step::Delete(table, key) if there(*table) => batch.delete(NAMES[*table], key),
        Step::DeleteRange(table, start, limit) if there(*table) => {
            let range = KeyRange {
                start: start.clone(),
                limit: limit.clone(),
            };
            batch.delete_range(NAMES[*table], &range);
        }
        Step::Merge(table, key, value) if there(*table) => batch.merge(NAMES[*table], key, &[*value]),
        Step::Load(table, keys) if there(*table) => {
            let mut keys = keys.clone();
            keys.sort();
            keys.dedup();
            let mut writer = store.local().unwrap().sorted_writer(NAMES[*table]).unwrap();
            keys.iter().for_each(|key| writer.add(key, b"loaded").unwrap());
            let files = writer.finish().unwrap();
            store
                .local()
                .unwrap()
                .ingest(vec![(name(NAMES[*table]), files)])
                .unwrap();
        }
        Step::Flush => store.local().unwrap().flush().unwrap(),
        Step::Compact(table) if there(*table) => store.compact(NAMES[*table]).unwrap(),
        _ => {}
    }
    store.write(batch, Durability::Buffered).unwrap();
}

/// Returns all that a snapshot shows, forwards, after it was found to be the same in other ways.
fn state(snapshot: &dyn KvSnapshot) -> Vec<(String, Vec<(Vec<u8>, Vec<u8>)>)> {
    let entries = |table: &str, spec: ScanSpec| {
        let mut cursor = snapshot.scan(table, spec).unwrap();
        let mut entries = Vec::new();
        while let Some(entry) = cursor.next().unwrap() {
            entries.push((entry.key.to_vec(), entry.value.to_vec()));
        }
        entries
    };
    let tables = snapshot.tables().into_iter().map(|table| {
        let forwards = entries(&table, ScanSpec::all());
        let mut backwards = entries(&table, ScanSpec::all().reversed());
        backwards.reverse();
        assert_eq!(forwards, backwards);
        for (key, value) in &forwards {
            assert_eq!(snapshot.get(&table, key).unwrap().as_ref(), Some(value));
        }
        (table, forwards)
    });
    tables.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn histories_are_those_of_a_store_in_memory(
        steps in vec(step(), 1..60),
        own_families in 0..3_usize,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let model = MemoryStore::with_merge_operator(Arc::new(Append));
        let mut store = open(directory.path(), own_families);
        let mut snapshots = Vec::new();
        for step in &steps {
            match step {
                Step::Reopen => {
                    snapshots.clear();
                    drop(store);
                    store = open(directory.path(), own_families);
                }
                Step::Snapshot => snapshots.push((store.snapshot(), state(&*model.snapshot()))),
                _ => {
                    run(&model, step);
                    run(&store, step);
                }
            }
            prop_assert_eq!(state(&*store.snapshot()), state(&*model.snapshot()));
            prop_assert_eq!(state(&*store.latest()), state(&*model.snapshot()));
        }
        for (snapshot, expected) in &snapshots {
            prop_assert_eq!(&state(&**snapshot), expected);
        }
    }
}
