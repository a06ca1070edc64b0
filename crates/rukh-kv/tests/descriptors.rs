//! Descriptors that are used up: a flush fails and with it all writes, reads go on, and once there are descriptors and no
//! reader, the same store writes on.
//!
//! The test runs itself as a child process with a small limit, in which it opens files until there is none left.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvError, KvStore, RocksOptions, RocksStore, ScanSpec, TableOptions, WriteBatch};
use std::path::Path;

#[path = "../../../tests/few_descriptors.rs"]
mod few_descriptors;

use few_descriptors::{take_all_but, with_few_descriptors};

/// The directory that the child works in.
const DIRECTORY: &str = "RUKH_KV_DESCRIPTORS";
const TEST: &str = "a_store_writes_on_once_there_are_descriptors";

#[test]
fn a_store_writes_on_once_there_are_descriptors() {
    with_few_descriptors(TEST, DIRECTORY, live);
}

fn put(store: &dyn KvStore, table: &str, key: u32) -> Result<(), KvError> {
    let mut batch = WriteBatch::new();
    batch.put(table, &key.to_be_bytes(), b"value");
    store.write(batch, Durability::Synced)
}

fn keys(store: &dyn KvStore, table: &str) -> u64 {
    let all = ScanSpec::ranges(vec![KeyRange::all()]);
    store.snapshot().count(table, all).unwrap().0
}

/// Makes a flush fail for lack of descriptors.
fn stop(store: &dyn KvStore) {
    let taken = take_all_but(0);
    let refused = store.local().unwrap().flush();
    assert!(
        matches!(refused, Err(KvError::TooManyFiles { .. })),
        "{refused:?}"
    );
    drop(taken);
}

fn live(directory: &Path) {
    // One table has a column family of its own, the other shares one.
    let options = RocksOptions {
        own_families: Some(1),
        ..RocksOptions::default()
    };
    let store = RocksStore::open(directory.join("db"), &options).unwrap();
    let tables = ["own", "shared"];
    for table in tables {
        store.create_table(table, &TableOptions::default()).unwrap();
    }
    let mut expected = 0;
    let write = |key| tables.iter().try_for_each(|table| put(&store, table, key));
    for round in 0..3 {
        let key = round * 10;
        write(key).unwrap();
        stop(&store);
        assert_eq!(keys(&store, "own"), expected + 1);
        write(key + 1).unwrap();
        expected += 2;
        assert_eq!([keys(&store, "own"), keys(&store, "shared")], [expected; 2]);
    }
    // A reader keeps its view, and writers are refused until it is done.
    write(100).unwrap();
    let (snapshot, other) = (store.snapshot(), store.snapshot());
    stop(&store);
    let all = || ScanSpec::ranges(vec![KeyRange::all()]);
    for source in [snapshot.clone(), store.latest()] {
        let mut cursor = source.scan("shared", all()).unwrap();
        drop(source);
        assert!(cursor.next().unwrap().is_some());
        let refused = write(101);
        assert!(
            matches!(refused, Err(KvError::TooManyFiles { .. })),
            "{refused:?}"
        );
        assert!(cursor.next().unwrap().is_some());
        assert_eq!(snapshot.count("own", all()).unwrap().0, expected + 1);
    }
    // An idle snapshot is taken away.
    write(101).unwrap();
    for snapshot in [&snapshot, &other] {
        let gone = snapshot.get("own", &[0; 4]);
        assert!(matches!(gone, Err(KvError::SnapshotGone)), "{gone:?}");
    }
    stop(&store);
    // A table is created and dropped in the same way.
    store.create_table("late", &TableOptions::default()).unwrap();
    put(&store, "late", 1).unwrap();
    stop(&store);
    store.drop_table("late").unwrap();
    drop(store);
    let store = RocksStore::open(directory.join("db"), &options).unwrap();
    assert_eq!(store.tables(), tables);
    assert_eq!([keys(&store, "own"), keys(&store, "shared")], [expected + 2; 2]);
}
