//! Random histories against a model: a map from primary key to row.

#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use proptest::sample::subsequence;
use rukh_kv::MemoryStore;
use std::sync::Arc;
use support::model::{INDEXES, KEYS, op, run};
use support::sessions;

proptest! {
    #[test]
    fn histories_agree_with_the_model(
        key in prop::sample::select(KEYS),
        salt in prop_oneof![2 => Just(None), 1 => Just(Some(3))],
        indexes in subsequence((0..INDEXES.len()).collect::<Vec<_>>(), 0..5),
        ops in prop::collection::vec(op(), 1..20),
    ) {
        run(key, salt, &indexes, ops, Arc::new(MemoryStore::new()));
    }

    #[test]
    fn interleaved_transactions_agree_with_the_model(
        key in prop::sample::select(KEYS),
        indexes in subsequence((0..INDEXES.len()).collect::<Vec<_>>(), 0..4),
        steps in prop::collection::vec(sessions::step(), 1..30),
    ) {
        sessions::run(key, &indexes, steps, Arc::new(MemoryStore::new()));
    }
}
