//! Tables that share column families: they are as if each had its own, come and go whole, and leave nothing behind.
//!
//! What all stores do is tested in `rocks` for such tables, too.

use crate::suite::{Append, all, name, range, read, table, write};
use rukh_keys::KeyRange;
use rukh_kv::{
    Compression, Durability, KvError, KvSnapshot, KvStore, LocalFiles, MergeOperator, RocksOptions,
    RocksStore, ScanSpec, TableOptions, WriteBatch,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

fn options(own_families: usize) -> RocksOptions {
    RocksOptions {
        block_cache_bytes: 8 << 20,
        write_buffer_bytes: 8 << 20,
        own_families: Some(own_families),
        merge: Some(Arc::new(Append)),
        ..RocksOptions::default()
    }
}

pub fn open(path: &Path, own_families: usize) -> RocksStore {
    RocksStore::open(path, &options(own_families)).unwrap()
}

/// Returns the column families as RocksDB has them, with the number of keys in each.
fn families(path: &Path) -> BTreeMap<String, usize> {
    let plain = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&plain, path).unwrap();
    let db = rocksdb::DB::open_cf_for_read_only(&plain, path, &names, false).unwrap();
    let count = |name: &str| {
        let family = db.cf_handle(name).unwrap();
        db.iterator_cf(&family, rocksdb::IteratorMode::Start).count()
    };
    names.iter().map(|name| (name.clone(), count(name))).collect()
}

/// Returns the number of keys in all column families that tables share.
fn shared_keys(path: &Path) -> usize {
    let families = families(path).into_iter();
    families
        .filter(|(name, _)| name.starts_with("shared."))
        .map(|(_, keys)| keys)
        .sum()
}

/// Writes as another program would.
fn write_raw(path: &Path, change: impl FnOnce(&rocksdb::DB)) {
    let mut plain = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&plain, path).unwrap();
    plain.create_missing_column_families(true);
    change(&rocksdb::DB::open_cf(&plain, path, names).unwrap());
}

#[test]
fn tables_beyond_the_first_share() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 2);
    for name in ["a", "b", "c", "d", "e"] {
        table(&store, name);
        write(&store, name, &format!("k={name}"));
    }
    store.drop_table("a").unwrap();
    // There is room for another with a column family of its own.
    table(&store, "f");
    let kept = TableOptions {
        own_family: true,
        ..TableOptions::default()
    };
    store.create_table("g", &kept).unwrap();
    drop(store);
    let found = families(directory.path());
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["b", "default", "f", "g", "shared.0", "shared.1", "shared.2"]
    );
    for own_families in [0, 100] {
        let store = open(directory.path(), own_families);
        assert_eq!(store.tables(), ["b", "c", "d", "e", "f", "g"]);
        for name in ["b", "c", "d", "e"] {
            assert_eq!(all(&*store.snapshot(), name), format!("k={name}"));
        }
    }
}

#[test]
fn tables_share_with_those_stored_alike() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    let plain = TableOptions::default();
    let packed = TableOptions {
        compression: Some(Compression::Zstd),
        block_bytes: Some(8192),
        ..plain.clone()
    };
    let purged = TableOptions {
        purged: true,
        ..plain.clone()
    };
    let large = TableOptions {
        large_value_bytes: None,
        ..plain.clone()
    };
    for (name, options) in [
        ("plain", plain),
        ("packed", packed),
        ("purged", purged),
        ("large", large),
    ] {
        for copy in 0..5 {
            store.create_table(&format!("{name}{copy}"), &options).unwrap();
        }
    }
    drop(store);
    let families = families(directory.path());
    let with = |end: &str| families.keys().filter(|name| name.ends_with(end)).count();
    assert_eq!((with(".zstd.8192"), with(".purged")), (4, 4));
    let own = families.keys().filter(|name| name.starts_with("large")).count();
    assert_eq!(own, 5);
    assert_eq!(families.len(), 1 + 4 + 4 + 4 + 5);
    let store = open(directory.path(), 0);
    assert_eq!(store.tables().len(), 20);
}

/// Keys at both ends of what a table can have.
const EDGES: [&[u8]; 4] = [b"", b"\0", b"m", &[0xff; 70]];

#[test]
fn neighbours_are_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    // Numbers of one column family are four apart.
    let names: Vec<String> = (0..24).map(|n| format!("t{n:02}")).collect();
    let mut batch = WriteBatch::new();
    for name in &names {
        table(&store, name);
        for key in EDGES {
            batch.put(name, key, name.as_bytes());
        }
    }
    store.write(batch, Durability::Buffered).unwrap();
    let whole = |store: &RocksStore, table: &str| {
        let snapshot = store.snapshot();
        for key in EDGES {
            assert_eq!(
                snapshot.get(table, key).unwrap().as_deref(),
                Some(table.as_bytes())
            );
        }
        let keys: Vec<Vec<u8>> = EDGES.iter().map(|key| key.to_vec()).collect();
        let found = snapshot.multi_get(table, &keys).unwrap();
        assert!(
            found
                .iter()
                .all(|value| value.as_deref() == Some(table.as_bytes()))
        );
        for spec in [ScanSpec::all(), ScanSpec::all().reversed()] {
            let mut cursor = snapshot.scan(table, spec.clone()).unwrap();
            let mut keys = Vec::new();
            while let Some(entry) = cursor.next().unwrap() {
                assert_eq!(entry.value, table.as_bytes());
                keys.push(entry.key.to_vec());
            }
            if spec.reverse {
                keys.reverse();
            }
            assert_eq!(keys, EDGES);
        }
        assert_eq!(store.approximate_keys(table).unwrap(), 4);
    };
    names.iter().for_each(|name| whole(&store, name));
    store.flush().unwrap();
    names.iter().for_each(|name| whole(&store, name));
    // Every second one is emptied, dropped, or compacted.
    for (nth, name) in names.iter().enumerate() {
        match nth % 8 {
            0..=2 => {
                let mut batch = WriteBatch::new();
                batch.delete_range(name, &KeyRange::all());
                store.write(batch, Durability::Buffered).unwrap();
                assert_eq!(all(&*store.snapshot(), name), "");
                assert_eq!(store.approximate_keys(name).unwrap(), 0);
            }
            3..=5 => store.drop_table(name).unwrap(),
            6 => store.compact(name).unwrap(),
            _ => {}
        }
    }
    let rest = || names.iter().enumerate().filter(|(nth, _)| nth % 8 >= 6);
    rest().for_each(|(_, name)| whole(&store, name));
    store.flush().unwrap();
    rest().for_each(|(_, name)| whole(&store, name));
    drop(store);
    let store = open(directory.path(), 0);
    rest().for_each(|(_, name)| whole(&store, name));
    drop(store);
    assert_eq!(shared_keys(directory.path()), rest().count() * EDGES.len());
}

/// Fills a table so that it has files of its own at the last level, and its neighbours have.
fn fill(store: &RocksStore, tables: &[&str]) {
    for name in tables {
        let mut writer = store.sorted_writer(name).unwrap();
        for n in 0_u32..5000 {
            writer.add(&n.to_be_bytes(), name.as_bytes()).unwrap();
        }
        let files = writer.finish().unwrap();
        store.ingest(vec![(crate::suite::name(name), files)]).unwrap();
    }
}

#[test]
fn a_dropped_table_goes_with_its_last_reader() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    // The first and the last lie in one column family.
    let names = ["a", "b", "c", "d", "e"];
    names.iter().for_each(|name| table(&store, name));
    fill(&store, &names);
    write(&store, "a", "z=1");
    let snapshot = store.snapshot();
    let latest = store.latest();
    store.drop_table("a").unwrap();
    assert_eq!(store.tables(), ["b", "c", "d", "e"]);
    let count = |view: &dyn KvSnapshot| view.count("a", ScanSpec::all()).unwrap().0;
    assert_eq!((count(&*snapshot), count(&*latest)), (5001, 5001));
    store.flush().unwrap();
    store.compact("e").unwrap();
    assert_eq!((count(&*snapshot), count(&*latest)), (5001, 5001));
    let cursor = snapshot.scan("a", ScanSpec::all()).unwrap();
    drop((snapshot, latest));
    let copy = directory.path().join("copy");
    assert_eq!(keys_of_copy(&store, &copy), 5 * 5000 + 1);
    drop(cursor);
    assert_eq!(keys_of_copy(&store, &copy), 4 * 5000);
    assert_eq!(store.snapshot().count("e", ScanSpec::all()).unwrap().0, 5000);
    // A table without a reader goes at once.
    store.drop_table("b").unwrap();
    assert_eq!(keys_of_copy(&store, &copy), 3 * 5000);
}

/// Counts the keys in shared column families of a copy that is made beside the database.
fn keys_of_copy(store: &RocksStore, copy: &Path) -> usize {
    let copy = copy.with_extension("d");
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join(copy.file_name().unwrap());
    store.checkpoint(&path).unwrap();
    shared_keys(&path)
}

#[test]
fn a_name_can_be_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    table(&store, "t");
    write(&store, "t", "a=1");
    let mut writer = store.sorted_writer("t").unwrap();
    writer.add(b"b", b"2").unwrap();
    let files = writer.finish().unwrap();
    let before = store.snapshot();
    store.drop_table("t").unwrap();
    table(&store, "t");
    assert_eq!(all(&*store.snapshot(), "t"), "");
    // What was written for the table that is gone is not for this one.
    let refused = store.ingest(vec![(name("t"), files)]);
    assert!(
        matches!(refused, Err(KvError::UnknownLoadFile { .. })),
        "{refused:?}"
    );
    write(&store, "t", "c=3");
    assert_eq!(all(&*before, "t"), "a=1");
    drop(before);
    drop(store);
    let store = open(directory.path(), 0);
    assert_eq!(all(&*store.snapshot(), "t"), "c=3");
    drop(store);
    assert_eq!(shared_keys(directory.path()), 1);
}

#[test]
fn neighbours_are_compacted_together() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 1);
    let names: Vec<String> = (0..25).map(|n| format!("t{n:02}")).collect();
    let mut batch = WriteBatch::new();
    for name in &names {
        table(&store, name);
        batch.put(name, b"a", b"1");
    }
    store.write(batch, Durability::Buffered).unwrap();
    let steps = |tables: &[String]| {
        let mut steps = Vec::new();
        let mut done = |tables| {
            steps.push(tables);
            ControlFlow::Continue(())
        };
        store.compact_all(tables, &mut done).unwrap();
        steps.sort();
        steps
    };
    assert_eq!(steps(&names), [1, 6, 6, 6, 6]);
    // The others of three column families are one behind the other, and those of the fourth on both sides of one.
    let all_but_one = [&names[..14], &names[15..]].concat();
    assert_eq!(steps(&all_but_one), [1, 2, 3, 6, 6, 6]);
    assert_eq!(steps(&["t03".to_owned(), "gone".to_owned()]), [1]);
    let mut calls = 0;
    let mut stop = |_| {
        calls += 1;
        ControlFlow::Break(())
    };
    store.compact_all(&names, &mut stop).unwrap();
    assert_eq!(calls, 1);
    for name in &names {
        assert_eq!(all(&*store.snapshot(), name), "a=1");
        assert_eq!(
            store.table_usage(name).unwrap().level_files.iter().sum::<u64>(),
            1
        );
    }
}

#[test]
fn what_cannot_be_read_goes_with_its_table() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    for name in ["a", "b", "c", "d", "e"] {
        table(&store, name);
    }
    write(&store, "e", "k=1");
    let mut batch = WriteBatch::new();
    batch.merge("a", b"k", &[0]);
    store.write(batch, Durability::Buffered).unwrap();
    assert!(store.snapshot().get("a", b"k").is_err());
    store.drop_table("a").unwrap();
    store.flush().unwrap();
    store.compact("e").unwrap();
    assert_eq!(all(&*store.snapshot(), "e"), "k=1");
    drop(store);
    assert_eq!(shared_keys(directory.path()), 1);
}

#[test]
fn an_older_database_is_opened_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), usize::MAX);
    table(&store, "old");
    write(&store, "old", "a=1");
    let mut writer = store.sorted_writer("old").unwrap();
    writer.add(b"b", b"2").unwrap();
    let files = writer.finish().unwrap();
    drop(store);
    assert_eq!(families(directory.path())["default"], 0);
    let store = open(directory.path(), 0);
    store.ingest(vec![(name("old"), files)]).unwrap();
    table(&store, "new");
    write(&store, "new", "c=3");
    drop(store);
    let reader = RocksStore::open(
        directory.path(),
        &RocksOptions {
            read_only: true,
            ..options(0)
        },
    );
    let reader = reader.unwrap();
    assert_eq!(reader.tables(), ["new", "old"]);
    assert_eq!(all(&*reader.snapshot(), "old"), "a=1 b=2");
    assert_eq!(all(&*reader.snapshot(), "new"), "c=3");
}

#[test]
fn each_table_forgets_by_its_own_rule() {
    let directory = tempfile::tempdir().unwrap();
    let purged = TableOptions {
        purged: true,
        ..TableOptions::default()
    };
    let names: Vec<String> = (0..8).map(|n| format!("t{n}")).collect();
    let rule = |nth: u8| Arc::new(move |value: &[u8]| value == [nth]);
    let store = open(directory.path(), 0);
    let mut batch = WriteBatch::new();
    for name in &names {
        store.create_table(name, &purged).unwrap();
        for n in 0..8_u8 {
            batch.put(name, &[n], &[n]);
        }
    }
    store.write(batch, Durability::Buffered).unwrap();
    for (nth, name) in (0..).zip(&names).skip(1) {
        store.set_purge(name, Some(rule(nth))).unwrap();
    }
    store.flush().unwrap();
    names.iter().for_each(|name| store.compact(name).unwrap());
    for (nth, name) in (0..).zip(&names) {
        let gone: Vec<u8> = (0..8_u8)
            .filter(|n| store.snapshot().get(name, &[*n]).unwrap().is_none())
            .collect();
        let expected: Vec<u8> = (nth > 0).then_some(nth).into_iter().collect();
        assert_eq!(gone, expected, "{name}");
    }
}

#[test]
fn damaged_directories_are_corruption() {
    for (key, value) in [
        (&b"table/t"[..], &b"shared.0"[..]),
        (b"table/t", b"x shared.0"),
        (b"table/t", b"7 shared.9"),
        (b"table/own", b"7 shared.0"),
        (b"dropped/x", b"shared.0"),
        (b"next", b"-1"),
        (b"other", b""),
        (b"table/\xff", b"7 shared.0"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path(), 1);
        table(&store, "own");
        table(&store, "part");
        drop(store);
        write_raw(directory.path(), |db| db.put(key, value).unwrap());
        let opened = RocksStore::open(directory.path(), &options(0)).err();
        assert!(
            matches!(opened, Some(KvError::Corruption { .. })),
            "{key:?} {value:?}: {opened:?}"
        );
    }
}

#[test]
fn creations_and_drops_cut_short_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    table(&store, "a");
    write(&store, "a", "x=1 y=2");
    drop(store);
    // A column family was made, and no table in it; a table was dropped, and its keys are there.
    write_raw(directory.path(), |db| {
        db.create_cf("shared.1", &rocksdb::Options::default()).unwrap();
        db.delete("table/a").unwrap();
        db.put("dropped/0000000000", "shared.0").unwrap();
    });
    assert_eq!(shared_keys(directory.path()), 2);
    let store = open(directory.path(), 0);
    assert_eq!(store.tables(), Vec::<String>::new());
    for name in ["a", "b", "c", "d", "e"] {
        table(&store, name);
        assert_eq!(all(&*store.snapshot(), name), "");
        write(&store, name, "z=1");
    }
    drop(store);
    assert_eq!(shared_keys(directory.path()), 5);
    // What says that keys are to go went with them: tables, and the next number.
    assert_eq!(families(directory.path())["default"], 6);
}

/// Where a child process finds its database.
const CHILD_DIRECTORY: &str = "RUKH_KV_TEST_SHARED_CHILD";
/// What it says after each step.
const DONE: &str = "step done";

#[test]
fn child_makes_and_drops_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD_DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let store = open(&path, 1);
    let mut readers = Vec::new();
    for n in 0_u32.. {
        let table = format!("t{}", n % 7);
        if store.table_exists(&table) {
            if n.is_multiple_of(3) {
                readers.push(store.snapshot());
                readers.truncate(5);
            }
            store.drop_table(&table).unwrap();
        } else {
            store.create_table(&table, &TableOptions::default()).unwrap();
            // All of it or nothing.
            let mut batch = WriteBatch::new();
            (0..50_u8).for_each(|key| batch.put(&table, &[key], &[n as u8; 100]));
            store.write(batch, Durability::Buffered).unwrap();
        }
        if n.is_multiple_of(11) {
            store.flush().unwrap();
        }
        println!("{DONE}");
    }
}

#[test]
fn kills_leave_whole_tables_and_no_keys_of_nobody() {
    let directory = tempfile::tempdir().unwrap();
    for steps in [1, 3, 8, 20, 45, 90, 120, 200] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let mut child = child
            .args([
                "--exact",
                "shared::child_makes_and_drops_until_it_is_killed",
                "--nocapture",
            ])
            .env(CHILD_DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let done = lines.map_while(Result::ok).filter(|line| line.ends_with(DONE));
        assert_eq!(done.take(steps).count(), steps);
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(directory.path(), 1);
        let mut keys = 0;
        for name in store.tables() {
            let count = store.snapshot().count(&name, ScanSpec::all()).unwrap().0;
            assert!(count == 0 || count == 50, "{name} has {count}");
            keys += count as usize;
        }
        let tables = store.tables().len();
        drop(store);
        let families = families(directory.path());
        let own = families.iter().filter(|(name, _)| name.starts_with('t'));
        let (own_tables, own_keys) = own.fold((0, 0), |(n, sum), (_, keys)| (n + 1, sum + keys));
        assert_eq!(shared_keys(directory.path()) + own_keys, keys);
        assert_eq!(
            families["default"],
            tables - own_tables + usize::from(families["default"] > 0)
        );
    }
}

/// Merges by appending the key.
struct AppendKey;

impl MergeOperator for AppendKey {
    fn name(&self) -> &str {
        "append key"
    }

    fn fold(&self, key: &[u8], value: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut folded = value.unwrap_or_default().to_vec();
        for operand in operands {
            folded.extend([key, operand].concat());
        }
        Some(folded)
    }
}

#[test]
fn merges_know_the_key_of_the_table() {
    let directory = tempfile::tempdir().unwrap();
    for (own_families, name) in [(0, "part"), (1, "own")] {
        let options = RocksOptions {
            merge: Some(Arc::new(AppendKey)),
            ..options(own_families)
        };
        let store = RocksStore::open(directory.path(), &options).unwrap();
        table(&store, name);
        let mut batch = WriteBatch::new();
        batch.merge(name, b"k", b"1");
        batch.merge(name, b"k", b"2");
        store.write(batch, Durability::Buffered).unwrap();
        assert_eq!(all(&*store.snapshot(), name), "k=k1k2");
        store.flush().unwrap();
        store.compact(name).unwrap();
        assert_eq!(all(&*store.snapshot(), name), "k=k1k2");
    }
}

#[test]
fn ranges_of_tables_are_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 0);
    for name in ["a", "b", "c", "d", "e", "f"] {
        table(&store, name);
        write(&store, name, "a=1 b=2 c=3");
    }
    let mut batch = WriteBatch::new();
    batch.delete_range("a", &range("b", "c"));
    batch.delete_range(
        "e",
        &KeyRange {
            start: b"b".to_vec(),
            limit: None,
        },
    );
    store.write(batch, Durability::Buffered).unwrap();
    assert_eq!(all(&*store.snapshot(), "a"), "a=1 c=3");
    assert_eq!(all(&*store.snapshot(), "e"), "a=1");
    for name in ["b", "c", "d", "f"] {
        assert_eq!(all(&*store.snapshot(), name), "a=1 b=2 c=3");
        let spec = ScanSpec::ranges(vec![range("b", "z")]).reversed();
        assert_eq!(read(&*store.snapshot(), name, spec), "c=3 b=2");
    }
}
