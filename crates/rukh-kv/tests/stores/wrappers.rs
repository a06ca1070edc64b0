//! The stores that wrap another one: recording and failing on purpose.

use crate::suite::{self, TestTurn, all, name, table, write};
use rukh_keys::KeyRange;
use rukh_kv::{
    Durability, Fault, FaultStore, KvError, KvStore, LocalFiles, MemoryStore, RecordStore, Recording,
    ScanSpec, WriteBatch,
};
use std::sync::Arc;

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::with_merge_operator(Arc::new(suite::Append)))
}

#[test]
fn wrapped_stores_conform() {
    suite::run(&FaultStore::new(memory()));
    suite::run(&RecordStore::new(memory(), Recording::ReadsAndWrites));
    suite::run(&RecordStore::new(memory(), Recording::Writes));
}

/// Asks a store for one of each operation.
fn ask_everything(store: &RecordStore) {
    table(store, "t");
    table(store, "u");
    let mut batch = WriteBatch::new();
    batch.put("t", b"k1", b"v1");
    batch.delete("u", b"k1");
    store.write(batch, Durability::Synced).unwrap();
    write(store, "u", "a=1");
    let snapshot = store.snapshot();
    snapshot.get("t", b"k1").unwrap();
    snapshot.multi_get("t", &[b"b".to_vec(), b"a".to_vec()]).unwrap();
    let spec = ScanSpec::ranges(vec![KeyRange::prefix(b"k".to_vec())]).limited(5);
    snapshot.scan("t", spec).unwrap();
    store.latest().count("u", ScanSpec::all()).unwrap();
    let mut load = store.sorted_writer("t").unwrap();
    load.add(b"x", b"1").unwrap();
    let files = load.finish().unwrap();
    store.ingest(vec![(name("t"), files)]).unwrap();
    store.drop_table("u").unwrap();
    store.drop_table("u").unwrap_err();
}

#[test]
fn operations_are_written_down() {
    let store = RecordStore::new(memory(), Recording::ReadsAndWrites);
    ask_everything(&store);
    let expected = "\
create table t
create table u
put t/6b31 = 7631
del u/6b31
commit 2 ops
put u/61 = 31
commit 1 ops buffered
get t/6b31
get t /62 /61
scan t [6b - 6c) limit 5
count u [ - ]
load t 1 entries
ingest t
drop table u
";
    assert_eq!(store.take_text(), expected);
    assert_eq!(store.take_text(), "");
}

#[test]
fn reads_can_be_left_out() {
    let store = RecordStore::new(memory(), Recording::Writes);
    ask_everything(&store);
    let text = store.take_text();
    assert!(
        text.contains("put t/6b31") && !text.contains("get") && !text.contains("scan"),
        "{text}"
    );
}

#[test]
fn a_commit_for_which_others_wait_gives_up_its_turn_before_the_sync() {
    let store = FaultStore::new(memory());
    table(&store, "t");
    let commit = |key, is_awaited| {
        let mut turn = TestTurn {
            is_awaited,
            ..TestTurn::default()
        };
        let committed = suite::commit(&store, ("t", key, "1"), store.order().version(), &mut turn);
        (committed, turn.has_ended)
    };
    assert!(matches!(commit("a", false), (Ok(_), false)));
    assert!(matches!(commit("b", true), (Ok(_), true)));
    // The batch is written, the sync fails: others have seen the commit.
    store.fail_write(2, Fault::Refuse);
    let (failed, has_ended) = commit("c", true);
    assert!(has_ended);
    assert!(
        matches!(failed, Err(KvError::NotSynced { source: Some(_) })),
        "{failed:?}"
    );
    assert_eq!(all(&*store.snapshot(), "t"), "a=1 b=1 c=1");
    // What is committed later is behind it in the log.
    store.heal();
    let (failed, _) = commit("d", false);
    assert!(
        matches!(failed, Err(KvError::NotSynced { source: None })),
        "{failed:?}"
    );
}

/// Runs writes until one fails; returns how many were acknowledged.
fn workload(store: &dyn KvStore) -> u64 {
    for n in 0..10 {
        let mut batch = WriteBatch::new();
        batch.put("t", &[n], &[n]);
        batch.put("u", &[n], &[n]);
        batch.delete("t", &[n.wrapping_sub(1)]);
        if store.write(batch, Durability::Synced).is_err() {
            return u64::from(n);
        }
    }
    10
}

fn count(store: &dyn KvStore, table: &str) -> u64 {
    store.snapshot().count(table, ScanSpec::all()).unwrap().0
}

#[test]
fn the_chosen_write_fails_and_nothing_of_it_is_there() {
    for n in 1..=11 {
        for fault in [Fault::Refuse, Fault::Halt, Fault::LoseAnswer] {
            let store = FaultStore::new(memory());
            table(&store, "t");
            table(&store, "u");
            store.fail_write(n, fault);
            let acknowledged = workload(&store);
            assert_eq!(acknowledged, (n - 1).min(10));
            let lost_answer = u64::from(fault == Fault::LoseAnswer && n <= 10);
            assert_eq!(
                count(&store, "u"),
                acknowledged + lost_answer,
                "write {n}, {fault:?}"
            );
            assert_eq!(
                count(&store, "t"),
                (acknowledged + lost_answer).min(1),
                "write {n}, {fault:?}"
            );
            assert_eq!(store.writes(), n.min(10));
        }
    }
}

#[test]
fn a_halted_store_stays_halted_until_healed() {
    let store = FaultStore::new(memory());
    table(&store, "t");
    store.fail_write(2, Fault::Halt);
    write(&store, "t", "a=1");
    for _ in 0..3 {
        let error = store.drop_table("t").unwrap_err().to_string();
        assert!(
            error.starts_with("could not write: injected fault at write "),
            "{error}"
        );
    }
    store.heal();
    write(&store, "t", "b=2");
    assert_eq!(all(&*store.snapshot(), "t"), "a=1 b=2");
}

#[test]
fn a_fault_can_fall_between_the_tables_of_an_ingest() {
    let store = FaultStore::new(memory());
    let mut loads = Vec::new();
    for table in ["a", "b", "c"] {
        suite::table(&store, table);
        let mut load = store.sorted_writer(table).unwrap();
        load.add(b"k", b"v").unwrap();
        loads.push((name(table), load.finish().unwrap()));
    }
    store.fail_write(2, Fault::Refuse);
    store.ingest(loads.clone()).unwrap_err();
    assert_eq!(["a", "b", "c"].map(|table| count(&store, table)), [1, 0, 0]);
    // What is left is ingested from what waits, as after a crash.
    let waiting = store.load_files().unwrap();
    loads
        .iter_mut()
        .for_each(|(_, files)| files.retain(|file| waiting.contains(file)));
    store.ingest(loads).unwrap();
    assert_eq!(["a", "b", "c"].map(|table| count(&store, table)), [1, 1, 1]);
}
