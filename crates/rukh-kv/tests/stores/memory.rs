//! The store in memory, by the conformance suite.

use crate::{scans, suite};
use proptest::collection::vec;
use proptest::prelude::*;
use rukh_kv::{KvError, KvStore, MemoryStore, WriteBatch};
use std::sync::Arc;

#[test]
fn the_store_in_memory_conforms() {
    suite::run(&MemoryStore::with_merge_operator(Arc::new(suite::Append)));
}

#[test]
fn merging_needs_an_operator() {
    let store = MemoryStore::new();
    suite::table(&store, "t");
    let mut batch = WriteBatch::new();
    batch.put("t", b"a", b"1");
    batch.merge("t", b"a", b"2");
    let refused = store.write(batch, rukh_kv::Durability::Synced);
    assert!(matches!(refused, Err(KvError::Unsupported { .. })));
    assert_eq!(suite::all(&*store.snapshot(), "t"), "");
}

proptest! {
    #[test]
    fn scans_are_filters(changes in scans::changes(), scans in vec(scans::scan(), 1..8)) {
        scans::scans_are_filters(&MemoryStore::new(), "t", &changes, &scans)?;
    }
}
