//! The same on disk: histories, loads and reopening with RocksDB underneath.

use crate::support;
use crate::support::model::{INDEXES, KEYS, op, run};
use proptest::prelude::*;
use proptest::sample::subsequence;
use rukh_engine::{CounterMerge, Engine, NoProgress, OnConflict, ScanRequest, Source};
use rukh_kv::{Durability, KvStore, RocksOptions, RocksStore};
use std::path::Path;
use std::sync::Arc;

fn store(path: &Path) -> Arc<dyn KvStore> {
    let options = RocksOptions {
        merge: Some(Arc::new(CounterMerge)),
        ..RocksOptions::default()
    };
    Arc::new(RocksStore::open(path, &options).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn histories_agree_with_the_model(
        key in prop::sample::select(KEYS),
        salt in prop_oneof![2 => Just(None), 1 => Just(Some(3))],
        indexes in subsequence((0..INDEXES.len()).collect::<Vec<_>>(), 0..5),
        ops in prop::collection::vec(op(), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        run(key, salt, &indexes, ops, store(directory.path()));
    }
}

#[test]
fn what_is_committed_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let engine = support::open(store(directory.path()));
    let table = support::create_table(
        &engine,
        "t",
        "k INTEGER, a INTEGER NULL, p VARCHAR NULL IN payload",
        "k",
    );
    support::create_index(&engine, &table, "by_a", "a DESC", "", false);
    let table = support::table(&engine, "t");
    let rows = |range: std::ops::Range<i64>| -> Vec<_> {
        range
            .map(|n| support::row(&table, &format!("{n}, {}, 'p{n}'", -n)))
            .collect()
    };
    let mut write = engine.begin().unwrap();
    write.insert(&table, rows(0..1000), OnConflict::Error).unwrap();
    write.commit(Durability::Synced).unwrap();
    let mut load = engine.load(table.id).unwrap();
    for start in (1000..20_000).step_by(500) {
        load.add(rows(start..start + 500)).unwrap();
    }
    assert_eq!(load.finish().unwrap(), 19_000);
    engine.analyze(table.id, &NoProgress).unwrap();
    drop(engine);
    let engine = support::open(store(directory.path()));
    check(&engine, rows(0..20_000));
    assert_eq!(engine.statistics(table.id).unwrap().rows, 20_000);
}

fn check(engine: &Engine, expected: Vec<rukh_engine::Row>) {
    let table = support::table(engine, "t");
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let snapshot = engine.snapshot();
    assert_eq!(
        support::read(&snapshot, ScanRequest::all(table.clone(), Vec::new())),
        expected
    );
    let mut request = ScanRequest::all(table.clone(), Vec::new());
    request.source = Source::Index(table.index_named("by_a").unwrap().id);
    assert_eq!(support::read(&snapshot, request), expected);
    let parts = snapshot
        .split(&table, Source::Table, vec![rukh_keys::KeyRange::all()], 4)
        .unwrap();
    let count = |ranges| {
        snapshot
            .count(&table, Source::Table, ranges, no_mask())
            .unwrap()
            .0
    };
    assert_eq!(parts.into_iter().map(count).sum::<u64>(), expected.len() as u64);
}

fn no_mask() -> rukh_keys::MaskedCompare {
    rukh_keys::MaskedCompare::new(Vec::new())
}
