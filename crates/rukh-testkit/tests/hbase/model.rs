//! The engine's random histories against its model, on HBase.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, TestRunner};
use rukh_engine::CounterMerge;
use rukh_hbase_store::{HbaseStore, Options};
use rukh_kv::KvStore;

use crate::engine_support::model::{INDEXES, KEYS, op, run};
use crate::engine_support::sessions;
use crate::fixture;

/// Histories of each kind.
const CASES: u32 = 12;

#[test]
fn histories_agree_with_the_model() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let number = std::cell::Cell::new(0);
    // With an operator partial UPSERTs of tables without indexes are merges.
    let store = |merges: bool| -> Arc<dyn KvStore> {
        number.set(number.get() + 1);
        let options = Options {
            merge: merges.then(|| Arc::new(CounterMerge) as Arc<dyn rukh_kv::MergeOperator>),
            ..Options::default()
        };
        let url = server.namespace(&format!("model{}", number.get()));
        Arc::new(HbaseStore::open(&url, options).expect("it is made"))
    };
    let in_rows = |text: &str| !text.starts_with("COLUMNAR");
    let keys: Vec<&str> = KEYS.iter().copied().filter(|key| in_rows(key)).collect();
    let indexes: Vec<usize> = (0..INDEXES.len()).filter(|at| in_rows(INDEXES[*at].0)).collect();
    let some_indexes = prop_oneof![
        1 => Just(Vec::new()),
        2 => subsequence(indexes, 0..5),
    ];
    let config = || Config {
        cases: CASES,
        // A failure is shown as it was drawn: each attempt at a smaller one takes a second.
        max_shrink_iters: 20,
        failure_persistence: None,
        ..Config::default()
    };
    let salt = prop_oneof![2 => Just(None), 1 => Just(Some(3))];
    let histories = (
        prop::sample::select(keys.clone()),
        salt,
        some_indexes.clone(),
        any::<bool>(),
        prop::collection::vec(op(), 1..20),
    );
    let held = TestRunner::new(config()).run(&histories, |(key, salt, indexes, merges, ops)| {
        run(key, salt, &indexes, ops, store(merges));
        Ok(())
    });
    held.expect("histories agree with the model");
    let interleaved = (
        prop::sample::select(keys),
        some_indexes,
        any::<bool>(),
        prop::collection::vec(sessions::step(), 1..30),
    );
    let held = TestRunner::new(config()).run(&interleaved, |(key, indexes, merges, steps)| {
        sessions::run(key, &indexes, steps, store(merges));
        Ok(())
    });
    held.expect("interleaved transactions agree with the model");
}
