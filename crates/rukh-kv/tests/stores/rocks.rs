//! The store on disk: the conformance suite, and what only a store on disk can get wrong. Most tests run twice: on tables with
//! column families of their own, and on tables that share some.

use crate::suite::{all, name, table, write};
use crate::{scans, suite};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rukh_keys::KeyRange;
use rukh_kv::{
    Backups, Compression, Durability, KvError, KvStore, LoadFile, LocalFiles, RocksOptions, RocksStore,
    ScanSpec, TableName, TableOptions, WriteBatch,
};
use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

thread_local! {
    /// How many tables have column families of their own in the current test.
    static OWN_FAMILIES: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Runs tests on tables with column families of their own, and on tables that share some.
macro_rules! both_ways {
    ($($test:ident)*) => {
        mod own {
            $(#[test]
            fn $test() {
                super::$test();
            })*
        }

        mod shared {
            $(#[test]
            fn $test() {
                super::OWN_FAMILIES.set(0);
                super::$test();
            })*
        }
    };
}

both_ways! {
    the_store_on_disk_conforms
    scans_are_filters
    a_reopened_store_has_everything
    a_store_may_be_read_while_it_is_written
    a_store_is_opened_for_writing_once
    loads_survive_a_reopen
    large_loads_are_many_files
    backups_are_states_that_come_back
    a_backup_copies_only_what_is_new
    usage_is_reported
    a_checkpoint_is_a_database
    damaged_files_give_corruption_errors_and_no_wrong_rows
    many_tables_share_memory
    writes_race_with_dropped_tables
    compaction_forgets_what_may_be_forgotten
    a_panic_while_compacting_forgets_nothing
    large_values_come_back
}

/// Small buffers: files come early.
fn options() -> RocksOptions {
    RocksOptions {
        block_cache_bytes: 8 << 20,
        write_buffer_bytes: 8 << 20,
        own_families: Some(OWN_FAMILIES.get()),
        merge: Some(Arc::new(suite::Append)),
        ..RocksOptions::default()
    }
}

fn open(path: &Path) -> RocksStore {
    RocksStore::open(path, &options()).unwrap()
}

fn open_error(path: &Path, options: &RocksOptions) -> KvError {
    RocksStore::open(path, options)
        .err()
        .expect("the open is refused")
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn the_store_on_disk_conforms() {
    let directory = directory();
    suite::run(&open(directory.path()));
}

fn scans_are_filters() {
    let directory = directory();
    let store = open(directory.path());
    let number = Cell::new(0);
    let cases = (scans::changes(), vec(scans::scan(), 1..8));
    let config = ProptestConfig {
        source_file: Some(file!()),
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(&cases, |(changes, scans)| {
        // A failed case leaves its table behind, and is tried again in smaller forms.
        number.set(number.get() + 1);
        scans::scans_are_filters(&store, &format!("t{}", number.get()), &changes, &scans)
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

fn a_reopened_store_has_everything() {
    let directory = directory();
    let store = open(directory.path());
    table(&store, "flushed");
    table(&store, "logged");
    table(&store, "dropped");
    write(&store, "flushed", "a=1 b=2");
    store.flush().unwrap();
    write(&store, "flushed", "b c=3");
    write(&store, "logged", "x=1");
    store.drop_table("dropped").unwrap();
    drop(store);
    for _ in ["after a drop", "after a close"] {
        let store = open(directory.path());
        assert_eq!(store.tables(), ["flushed", "logged"]);
        assert_eq!(all(&*store.snapshot(), "flushed"), "a=1 c=3");
        assert_eq!(all(&*store.snapshot(), "logged"), "x=1");
        store.close().unwrap();
    }
}

fn a_store_may_be_read_while_it_is_written() {
    let directory = directory();
    let store = open(directory.path());
    table(&store, "t");
    write(&store, "t", "a=1");
    let reader = RocksStore::open(
        directory.path(),
        &RocksOptions {
            read_only: true,
            ..options()
        },
    )
    .unwrap();
    assert_eq!(all(&*reader.snapshot(), "t"), "a=1");
    assert_eq!(reader.snapshot().count("t", ScanSpec::all()).unwrap().0, 1);
    let mut batch = WriteBatch::new();
    batch.put("t", b"b", b"2");
    let refused = [
        reader.write(batch, Durability::Buffered),
        reader.create_table("u", &TableOptions::default()),
        reader.drop_table("t"),
        reader.flush(),
        reader.compact("t"),
        reader.sync(),
        reader.ingest(Vec::new()),
        reader.sorted_writer("t").map(|_| ()),
        reader.discard_stray_files(&[]),
    ];
    assert!(
        refused
            .iter()
            .all(|result| matches!(result, Err(KvError::ReadOnly))),
        "{refused:?}"
    );
    reader.close().unwrap();
}

#[test]
fn what_is_no_database_is_left_alone() {
    let directory = directory();
    let path = directory.path().join("d");
    let missing = RocksOptions {
        create_if_missing: false,
        ..options()
    };
    assert!(matches!(open_error(&path, &missing), KvError::NotFound { .. }));
    assert!(matches!(
        open_error(
            &path,
            &RocksOptions {
                read_only: true,
                ..options()
            }
        ),
        KvError::NotFound { .. }
    ));
    assert!(!path.exists());
    fs::create_dir(&path).unwrap();
    assert!(matches!(open_error(&path, &missing), KvError::NotFound { .. }));
    let file = path.join("letter.txt");
    fs::write(&file, "dear").unwrap();
    for path in [&path, &file] {
        let error = open_error(path, &options());
        assert_eq!(
            error.to_string(),
            format!("\"{}\" is not a database", path.display())
        );
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    fs::remove_file(&file).unwrap();
    // What a creation that was cut short leaves is no hindrance.
    for left in ["LOCK", "LOG", "IDENTITY", "MANIFEST-000001", "000001.dbtmp"] {
        fs::write(path.join(left), "").unwrap();
    }
    table(&open(&path), "t");
}

fn a_store_is_opened_for_writing_once() {
    let directory = directory();
    let store = open(directory.path());
    assert!(matches!(
        open_error(directory.path(), &options()),
        KvError::AlreadyOpen { .. }
    ));
    run_child("child_is_refused", directory.path());
    drop(store);
    run_child("child_writes_and_aborts", directory.path());
    let store = open(directory.path());
    assert_eq!(all(&*store.snapshot(), "t"), "a=1 b=2");
}

/// Where a child process finds its database.
const CHILD_DIRECTORY: &str = "RUKH_KV_TEST_CHILD_DIRECTORY";
/// And how many tables it gives column families of their own.
const CHILD_OWN_FAMILIES: &str = "RUKH_KV_TEST_CHILD_OWN_FAMILIES";

/// Runs a test of this binary in a process of its own, on a database.
fn run_child(test: &str, path: &Path) {
    let test = format!("rocks::{test}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child
        .args(["--exact", &test, "--nocapture"])
        .env(CHILD_DIRECTORY, path)
        .env(CHILD_OWN_FAMILIES, OWN_FAMILIES.get().to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("child got there"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The database a parent wants this process to use; none when it runs as an ordinary test.
fn child_directory() -> Option<PathBuf> {
    if let Ok(count) = std::env::var(CHILD_OWN_FAMILIES) {
        OWN_FAMILIES.set(count.parse().unwrap());
    }
    std::env::var_os(CHILD_DIRECTORY).map(PathBuf::from)
}

#[test]
fn child_is_refused() {
    let Some(path) = child_directory() else { return };
    assert!(matches!(
        open_error(&path, &options()),
        KvError::AlreadyOpen { .. }
    ));
    println!("child got there");
}

#[test]
fn child_writes_and_aborts() {
    let Some(path) = child_directory() else { return };
    let store = open(&path);
    table(&store, "t");
    let mut batch = WriteBatch::new();
    batch.put("t", b"a", b"1");
    store.write(batch, Durability::Synced).unwrap();
    write(&store, "t", "b=2");
    println!("child got there");
    std::process::abort();
}

fn loads_survive_a_reopen() {
    let directory = directory();
    let store = open(directory.path());
    table(&store, "t");
    let mut load = store.sorted_writer("t").unwrap();
    load.add(b"a", b"1").unwrap();
    let files = load.finish().unwrap();
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.load_files().unwrap(), files);
    let mut other = store.sorted_writer("t").unwrap();
    other.add(b"b", b"2").unwrap();
    let others = other.finish().unwrap();
    assert_ne!(others, files);
    store.ingest(vec![(name("t"), files.clone())]).unwrap();
    assert_eq!(store.load_files().unwrap(), others);
    store.discard_stray_files(&files).unwrap();
    assert_eq!(store.load_files().unwrap(), []);
    assert_eq!(all(&*store.snapshot(), "t"), "a=1");
    let outside = LoadFile::new("../CURRENT");
    assert!(matches!(
        store.ingest(vec![(name("t"), vec![outside])]),
        Err(KvError::UnknownLoadFile { .. })
    ));
}

fn large_loads_are_many_files() {
    let directory = directory();
    let store = RocksStore::open(
        directory.path(),
        &RocksOptions {
            compression: rukh_kv::Compression::None,
            last_level_compression: rukh_kv::Compression::None,
            ..options()
        },
    );
    let store = store.unwrap();
    table(&store, "t");
    let mut load = store.sorted_writer("t").unwrap();
    let value = vec![7; 1 << 20];
    for n in 0_u16..150 {
        load.add(&n.to_be_bytes(), &value).unwrap();
    }
    let files = load.finish().unwrap();
    assert_eq!(files.len(), 2);
    store.ingest(vec![(name("t"), files)]).unwrap();
    assert_eq!(store.snapshot().count("t", ScanSpec::all()).unwrap().0, 150);
    let size = store.approximate_size("t", &KeyRange::all()).unwrap();
    assert!((150 << 20..155 << 20).contains(&size), "{size}");
}

fn large_values_come_back() {
    let directory = directory();
    let store = open(directory.path());
    let options = TableOptions {
        large_value_bytes: Some(1000),
        ..TableOptions::default()
    };
    match OWN_FAMILIES.get() {
        // It gets a column family of its own.
        0 => store.create_table("t", &options).unwrap(),
        _ => {
            table(&store, "t");
            store.configure_table("t", &options).unwrap();
        }
    }
    let value = |n: u32| vec![n as u8; n as usize];
    let mut batch = WriteBatch::new();
    for n in (0..2000_u32).step_by(100) {
        batch.put("t", &n.to_be_bytes(), &value(n));
    }
    store.write(batch, Durability::Buffered).unwrap();
    store.flush().unwrap();
    let blobs = fs::read_dir(directory.path()).unwrap();
    let blobs = blobs.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .extension()
            .is_some_and(|end| end == "blob")
    });
    assert_eq!(blobs.count(), 1);
    let mut shown = 0;
    let mut cursor = store.snapshot().scan("t", ScanSpec::all().reversed()).unwrap();
    while let Some(entry) = cursor.next().unwrap() {
        assert_eq!(
            entry.value,
            value(u32::from_be_bytes(entry.key.try_into().unwrap()))
        );
        shown += 1;
    }
    assert_eq!(shown, 20);
    assert_eq!(
        store.snapshot().get("t", &1500_u32.to_be_bytes()).unwrap(),
        Some(value(1500))
    );
}

fn backups_are_states_that_come_back() {
    let directory = directory();
    let (database, kept) = (directory.path().join("d"), directory.path().join("kept"));
    let store = open(&database);
    table(&store, "t");
    for (nth, change) in ["a=1", "b=2", "c=3"].iter().enumerate() {
        write(&store, "t", change);
        assert_eq!(store.backup(&kept).unwrap().id, nth as u32 + 1);
    }
    let backups = Backups::open(&kept).unwrap();
    let again = |id| {
        let place = directory.path().join(format!("again-{id:?}"));
        let restored = backups.restore(id, &place);
        restored.map(|_| all(&*open(&place).snapshot(), "t"))
    };
    assert_eq!(again(Some(1)).unwrap(), "a=1");
    assert_eq!(again(Some(2)).unwrap(), "a=1 b=2");
    assert_eq!(again(None).unwrap(), "a=1 b=2 c=3");
    backups.keep(2).unwrap();
    let ids: Vec<u32> = backups.list().iter().map(|backup| backup.id).collect();
    assert_eq!(ids, [2, 3]);
    assert!(matches!(
        again(Some(1)),
        Err(KvError::UnknownBackup { id: Some(1), .. })
    ));
    let taken = backups.restore(None, &database).unwrap_err();
    assert!(matches!(taken, KvError::DirectoryExists { .. }), "{taken}");
}

fn a_backup_copies_only_what_is_new() {
    let directory = directory();
    let kept = directory.path().join("kept");
    let store = open(&directory.path().join("d"));
    table(&store, "t");
    let mut batch = WriteBatch::new();
    for n in 0_u32..5000 {
        batch.put(
            "t",
            &n.to_be_bytes(),
            &n.wrapping_mul(2_654_435_761).to_be_bytes().repeat(8),
        );
    }
    store.write(batch, Durability::Synced).unwrap();
    let shared = || fs::read_dir(kept.join("shared_checksum")).unwrap().count();
    let first = store.backup(&kept).unwrap();
    let files = shared();
    write(&store, "t", "x=1");
    let second = store.backup(&kept).unwrap();
    assert!(
        second.bytes > first.bytes && shared() == files + 1,
        "{first:?} {second:?}"
    );
}

#[test]
fn damaged_backups_are_not_restored() {
    let directory = directory();
    let (kept, again) = (directory.path().join("kept"), directory.path().join("again"));
    let store = open(&directory.path().join("d"));
    table(&store, "t");
    write(&store, "t", "a=1");
    store.backup(&kept).unwrap();
    let file = fs::read_dir(kept.join("shared_checksum"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = Backups::open(&kept).unwrap().restore(None, &again).unwrap_err();
    assert!(matches!(error, KvError::Corruption { .. }), "{error}");
    assert!(!again.exists());
    let verify = || Backups::open(&kept).and_then(|backups| backups.verify(1));
    for damaged in [&bytes[..], &bytes[..middle]] {
        fs::write(&file, damaged).unwrap();
        let error = verify().unwrap_err();
        assert!(matches!(error, KvError::Corruption { .. }), "{error}");
    }
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    verify().unwrap();
    assert!(!kept.join("trial").exists());
}

#[test]
fn copies_go_elsewhere() {
    let directory = directory();
    let database = directory.path().join("d");
    let store = open(&database);
    for inside in [database.clone(), database.join("kept"), database.join("a/../b/c")] {
        let error = store.backup(&inside).unwrap_err();
        assert!(matches!(error, KvError::InsideDatabase { .. }), "{error}");
        let error = store.checkpoint(&inside).unwrap_err();
        assert!(matches!(error, KvError::InsideDatabase { .. }), "{error}");
    }
    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter"), "dear").unwrap();
    let error = store.backup(&other).unwrap_err();
    assert!(matches!(error, KvError::NotBackups { .. }), "{error}");
    assert!(matches!(Backups::open(&other), Err(KvError::NotBackups { .. })));
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
}

fn usage_is_reported() {
    let directory = directory();
    let store = open(directory.path());
    table(&store, "t");
    write(&store, "t", "a=1 b=2");
    let before = store.table_usage("t").unwrap();
    assert_eq!(
        (before.keys, before.level_files.len(), before.file_bytes),
        (2, 0, 0)
    );
    assert!(before.buffer_bytes > 0 && store.usage().unwrap().log_bytes > 0);
    store.flush().unwrap();
    let after = store.table_usage("t").unwrap();
    assert_eq!((after.keys, after.level_files.as_slice()), (2, [1].as_slice()));
    assert!(after.file_bytes > 0);
    store.compact("t").unwrap();
    assert_eq!(store.table_usage("t").unwrap().level_files.iter().sum::<u64>(), 1);
    let usage = store.usage().unwrap();
    assert_eq!((usage.background_errors, usage.writes_stopped), (0, false));
    assert_eq!(usage.buffer_bytes_max, options().write_buffer_bytes as u64);
}

fn a_checkpoint_is_a_database() {
    let directory = directory();
    let store = open(&directory.path().join("d"));
    table(&store, "t");
    write(&store, "t", "a=1");
    let copy = directory.path().join("copy");
    store.checkpoint(&copy).unwrap();
    write(&store, "t", "b=2");
    assert_eq!(all(&*open(&copy).snapshot(), "t"), "a=1");
    let again = store.checkpoint(&copy).unwrap_err();
    assert!(matches!(again, KvError::DirectoryExists { .. }), "{again}");
}

/// Writes a table of many blocks and returns its sorted file.
fn write_file(path: &Path) -> PathBuf {
    let store = open(path);
    table(&store, "t");
    let mut batch = WriteBatch::new();
    for n in 0_u32..5000 {
        batch.put(
            "t",
            &n.to_be_bytes(),
            format!("{:>100}", n.wrapping_mul(2_654_435_761)).as_bytes(),
        );
    }
    store.write(batch, Durability::Buffered).unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let sorted = files.filter(|path| path.extension().is_some_and(|end| end == "sst"));
    // What says where a table lies has a small one.
    sorted
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap()
}

/// Reads everything in both ways; the keys read before the first error, and that error.
fn read_all(path: &Path) -> (Vec<Vec<u8>>, Option<KvError>) {
    let store = match RocksStore::open(path, &options()) {
        Ok(store) => store,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut keys = Vec::new();
    let snapshot = store.snapshot();
    let mut cursor = snapshot.scan("t", ScanSpec::all()).unwrap();
    let scanned = cursor.for_each(&mut |key, value| {
        let n = u32::from_be_bytes(key.try_into().unwrap());
        assert_eq!(
            value,
            format!("{:>100}", n.wrapping_mul(2_654_435_761)).as_bytes()
        );
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    });
    if scanned.is_err() {
        assert!(cursor.next().is_err(), "a failed cursor stays failed");
    }
    let all: Vec<Vec<u8>> = (0_u32..5000).map(|n| n.to_be_bytes().to_vec()).collect();
    let got = snapshot.multi_get("t", &all);
    (keys, scanned.err().or(got.err()))
}

fn damaged_files_give_corruption_errors_and_no_wrong_rows() {
    let directory = directory();
    let file = write_file(directory.path());
    let good = fs::read(&file).unwrap();
    let mut damaged_reads = 0;
    for step in 0..40 {
        let mut bytes = good.clone();
        let at = step * good.len() / 40;
        bytes[at..(at + 8).min(good.len())]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x5a);
        fs::write(&file, &bytes).unwrap();
        let (keys, error) = read_all(directory.path());
        match error {
            // A block that no read needs was hit: everything must be there.
            None => assert_eq!(keys.len(), 5000),
            Some(KvError::Corruption { table, message, .. }) => {
                assert!(table.is_none_or(|table| table == "t"), "{message}");
                damaged_reads += 1;
            }
            Some(error) => panic!("damage at {at}: {error}"),
        }
    }
    assert!(damaged_reads > 20, "{damaged_reads}");
    // A file cut short, and one that is gone.
    fs::write(&file, &good[..good.len() / 2]).unwrap();
    assert!(matches!(
        read_all(directory.path()).1,
        Some(KvError::Corruption { .. })
    ));
    fs::remove_file(&file).unwrap();
    assert!(read_all(directory.path()).1.is_some());
    fs::write(&file, &good).unwrap();
    assert!(read_all(directory.path()).1.is_none());
}

fn many_tables_share_memory() {
    let directory = directory();
    let store = open(directory.path());
    let mut batch = WriteBatch::new();
    for n in 0..200 {
        let table = format!("t{n}");
        suite::table(&store, &table);
        batch.put(&table, b"a", &[1; 100]);
    }
    for _ in 0..20 {
        store.write(batch.clone(), Durability::Buffered).unwrap();
    }
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.tables().len(), 200);
    assert_eq!(store.latest().count("t199", ScanSpec::all()).unwrap().0, 1);
}

fn writes_race_with_dropped_tables() {
    let directory = directory();
    let store = open(directory.path());
    table(&store, "kept");
    std::thread::scope(|scope| {
        for writer in 0_u8..2 {
            let store = &store;
            scope.spawn(move || {
                for n in 0_u32..2000 {
                    let mut batch = WriteBatch::new();
                    batch.put("kept", &[&[writer][..], &n.to_be_bytes()].concat(), b"1");
                    batch.put("fleeting", &n.to_be_bytes(), b"1");
                    match store.write(batch, Durability::Buffered) {
                        Ok(()) | Err(KvError::UnknownTable { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for _ in 0..10 {
            table(&store, "fleeting");
            let snapshot = store.snapshot();
            store.snapshot().count("fleeting", ScanSpec::all()).unwrap();
            store.drop_table("fleeting").unwrap();
            assert!(snapshot.count("fleeting", ScanSpec::all()).is_ok());
        }
    });
    write(&store, "kept", "end=1");
}

fn compaction_forgets_what_may_be_forgotten() {
    let directory = directory();
    let store = open(directory.path());
    let purged = TableOptions {
        purged: true,
        ..TableOptions::default()
    };
    store.create_table("new", &purged).unwrap();
    table(&store, "old");
    let fill = |store: &RocksStore| {
        let mut batch = WriteBatch::new();
        for n in 0..100_u8 {
            batch.put("new", &[n], &[n % 3]);
            batch.put("old", &[n], &[n % 3]);
        }
        store.write(batch, Durability::Buffered).unwrap();
        store.flush().unwrap();
    };
    let compacted = |store: &RocksStore| {
        ["new", "old"].map(|table| {
            store.compact(table).unwrap();
            store.snapshot().count(table, ScanSpec::all()).unwrap().0
        })
    };
    fill(&store);
    assert_eq!(compacted(&store), [100, 100], "nothing was said");
    let say = |store: &RocksStore| {
        for table in ["new", "old"] {
            store
                .set_purge(table, Some(Arc::new(|value| value == [1])))
                .unwrap();
        }
    };
    say(&store);
    fill(&store);
    assert_eq!(compacted(&store), [67, 100]);
    store.set_purge("new", None).unwrap();
    fill(&store);
    assert_eq!(compacted(&store), [100, 100]);
    drop(store);
    let store = open(directory.path());
    fill(&store);
    assert_eq!(compacted(&store), [100, 100], "nothing was said since");
    say(&store);
    fill(&store);
    assert_eq!(compacted(&store), [67, 67]);
    let other = store.snapshot().get("old", &[2]).unwrap();
    assert_eq!(other.as_deref(), Some(&[2][..]));
    store.drop_table("old").unwrap();
    assert!(store.set_purge("old", None).is_err());
}

fn a_panic_while_compacting_forgets_nothing() {
    let directory = directory();
    let store = open(directory.path());
    let purged = TableOptions {
        purged: true,
        ..TableOptions::default()
    };
    store.create_table("t", &purged).unwrap();
    // Unwinds as a panic does, and prints nothing.
    let forget = |value: &[u8]| match value.get(1) {
        Some(second) => *second == 0,
        None => std::panic::resume_unwind(Box::new("too short")),
    };
    store.set_purge("t", Some(Arc::new(forget))).unwrap();
    let mut batch = WriteBatch::new();
    batch.put("t", b"short", b"x");
    batch.put("t", b"long", b"x\0");
    store.write(batch, Durability::Buffered).unwrap();
    store.flush().unwrap();
    store.compact("t").unwrap();
    let snapshot = store.snapshot();
    assert_eq!(snapshot.get("t", b"short").unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(snapshot.get("t", b"long").unwrap(), None);
}

#[test]
fn a_table_is_compressed_as_its_options_say() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let options = |compression| TableOptions {
        compression: Some(compression),
        ..TableOptions::default()
    };
    let size = |store: &RocksStore, table: &str| {
        store.compact(table).unwrap();
        store.approximate_size(table, &KeyRange::all()).unwrap()
    };
    let value = [7; 1000];
    let own = RocksOptions {
        own_families: Some(usize::MAX),
        ..RocksOptions::default()
    };
    let store = RocksStore::open(&path, &own).unwrap();
    store.create_table("loose", &options(Compression::None)).unwrap();
    store.create_table("tight", &options(Compression::Zstd)).unwrap();
    store.create_table("loaded", &options(Compression::None)).unwrap();
    let mut batch = WriteBatch::new();
    let mut writer = store.sorted_writer("loaded").unwrap();
    for key in 0..2000_u32 {
        batch.put("loose", &key.to_be_bytes(), &value);
        batch.put("tight", &key.to_be_bytes(), &value);
        writer.add(&key.to_be_bytes(), &value).unwrap();
    }
    store.write(batch, Durability::Synced).unwrap();
    store.flush().unwrap();
    let files = writer.finish().unwrap();
    let loaded = TableName::new("loaded").unwrap();
    store.ingest(vec![(loaded, files)]).unwrap();
    assert!(store.approximate_size("loaded", &KeyRange::all()).unwrap() > 1_500_000);
    assert!(size(&store, "loose") > 1_500_000);
    assert!(size(&store, "tight") < 300_000);
    drop(store);

    let store = RocksStore::open(&path, &own).unwrap();
    store
        .configure_table("tight", &options(Compression::None))
        .unwrap();
    store
        .configure_table("loose", &options(Compression::Lz4))
        .unwrap();
    assert!(size(&store, "tight") > 1_500_000);
    assert!(size(&store, "loose") < 300_000);
}

/// A text that does not repeat itself and has 32 letters: zstd writes 5 bits for each, lz4 finds nothing.
fn letters(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'A' + (state >> 59) as u8
    };
    (0..length).map(|_| letter()).collect()
}

#[test]
fn large_values_are_compressed_as_the_last_level_is() {
    const LENGTH: usize = 100_000;
    const VALUES: u64 = 20;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let open = |last_level_compression| {
        let options = RocksOptions {
            own_families: Some(usize::MAX),
            last_level_compression,
            ..RocksOptions::default()
        };
        RocksStore::open(&path, &options).unwrap()
    };
    // Returns what a byte of large values takes, in percent.
    let add = |store: &RocksStore, table: &str, seed: u64| {
        let size = || store.table_usage(table).unwrap().blob_bytes;
        let before = size();
        let mut batch = WriteBatch::new();
        for key in seed..seed + VALUES {
            batch.put(table, &key.to_be_bytes(), &letters(key, LENGTH));
        }
        store.write(batch, Durability::Buffered).unwrap();
        store.flush().unwrap();
        (size() - before) * 100 / (VALUES * LENGTH as u64)
    };
    let options = |compression| TableOptions {
        compression,
        ..TableOptions::default()
    };
    let (tight, loose) = (60..70, 95..105);

    let store = open(Compression::Lz4);
    store.create_table("t", &TableOptions::default()).unwrap();
    assert!(loose.contains(&add(&store, "t", 100)));
    drop(store);

    // Files of before are read as they are.
    let store = open(Compression::Zstd);
    assert!(tight.contains(&add(&store, "t", 200)));
    for key in [100_u64, 119, 200, 219] {
        let value = store.snapshot().get("t", &key.to_be_bytes()).unwrap();
        assert!(value == Some(letters(key, LENGTH)), "{key}");
    }
    for (name, compression, expected) in [
        ("none", Compression::None, &loose),
        ("lz4", Compression::Lz4, &loose),
        ("zstd", Compression::Zstd, &tight),
    ] {
        store.create_table(name, &options(Some(compression))).unwrap();
        let percent = add(&store, name, 300);
        assert!(expected.contains(&percent), "{name}: {percent}");
    }
    store
        .configure_table("lz4", &options(Some(Compression::Zstd)))
        .unwrap();
    assert!(tight.contains(&add(&store, "lz4", 400)));
    store.configure_table("zstd", &options(None)).unwrap();
    assert!(tight.contains(&add(&store, "zstd", 400)));
    store
        .configure_table("t", &options(Some(Compression::None)))
        .unwrap();
    assert!(loose.contains(&add(&store, "t", 300)));
}
