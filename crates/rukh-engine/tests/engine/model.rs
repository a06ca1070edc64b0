//! Random histories against a model: a map from primary key to row.

use crate::support::model::{INDEXES, KEYS, op, run};
use crate::support::sessions;
use proptest::prelude::*;
use proptest::sample::subsequence;
use rukh_engine::CounterMerge;
use rukh_kv::{KvStore, MemoryStore};
use std::sync::Arc;

/// With an operator partial UPSERTs of tables without indexes are merges.
fn store(merges: bool) -> Arc<dyn KvStore> {
    match merges {
        true => Arc::new(MemoryStore::with_merge_operator(Arc::new(CounterMerge))),
        false => Arc::new(MemoryStore::new()),
    }
}

fn some_indexes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        1 => Just(Vec::new()),
        2 => subsequence((0..INDEXES.len()).collect::<Vec<_>>(), 0..5),
    ]
}

proptest! {
    #[test]
    fn histories_agree_with_the_model(
        key in prop::sample::select(KEYS),
        salt in prop_oneof![2 => Just(None), 1 => Just(Some(3))],
        indexes in some_indexes(),
        merges in any::<bool>(),
        ops in prop::collection::vec(op(), 1..20),
    ) {
        run(key, salt, &indexes, ops, store(merges));
    }

    #[test]
    fn interleaved_transactions_agree_with_the_model(
        key in prop::sample::select(KEYS),
        indexes in some_indexes(),
        merges in any::<bool>(),
        steps in prop::collection::vec(sessions::step(), 1..30),
    ) {
        sessions::run(key, &indexes, steps, store(merges));
    }
}
