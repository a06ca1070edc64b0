//! The process ends at every point where storage changes, before and after the change: the database that
//! is opened next holds what was acknowledged, and of the statement under way all or nothing.
//!
//! The test runs itself as a child process with an order in `RUKH_POINT`: after how many changes of which
//! kind to end, as a kill would. `RUKH_CRASH_POINTS` sets how many places of each kind are tried, evenly
//! spread; `all` tries every one.
//!
//! | point        | change                                                    |
//! |--------------|-----------------------------------------------------------|
//! | `commit`     | a batch of rows and entries is written                    |
//! | `repack`     | a step of a repack is: blocks go, others come for them and for changes |
//! | `definition` | a batch of definitions is written: CREATE, ALTER, DROP     |
//! | `create`     | a column family is created                                |
//! | `drop`       | one is dropped                                            |
//! | `backfill`   | sorted files of an index, or of deletions, are completed  |
//! | `load`       | those of a table are                                      |
//! | `blocks`     | those of blocks of a columnar table or index are          |
//! | `ingest`     | files become part of a column family                      |
//! | `sync`       | the log is synced                                         |
//! | `flush`      | memory is written to sorted files                         |
//! | `compact`    | a column family is compacted                              |
//! | `purge`      | a compaction asks whether a value is dead                 |

use crate::support;
use crate::support::life::{STEPS, state};
use rukh_engine::CounterMerge;
use rukh_kv::forward_store;
use rukh_kv::{
    Commit, CommitOrder, Committed, Durability, KvError, KvStore, LoadFile, LocalFiles, Purge, RocksOptions,
    RocksStore, SingleWriter, SortedWriter, TableName, TableOptions, Traffic, WriteBatch,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// Places of each kind in a usual run.
const PLACES: usize = 3;

/// Counts the changes of each kind, and ends the process at one.
#[derive(Default)]
struct Points {
    seen: Mutex<BTreeMap<String, u64>>,
    /// Kind, number, and whether the change is still made.
    end: Option<(String, u64, bool)>,
}

impl Points {
    fn pass<T>(&self, point: &str, change: impl FnOnce() -> T) -> T {
        let number = {
            let mut seen = self.seen.lock().unwrap();
            let number = seen.entry(point.to_string()).or_default();
            *number += 1;
            *number
        };
        let is_end = |made| self.end.as_ref() == Some(&(point.to_string(), number, made));
        if is_end(false) {
            std::process::abort();
        }
        let outcome = change();
        if is_end(true) {
            std::process::abort();
        }
        outcome
    }
}

/// A store on disk whose changes pass the points.
struct PointStore {
    inner: RocksStore,
    points: Arc<Points>,
    order: SingleWriter,
}

struct PointWriter {
    inner: Box<dyn SortedWriter>,
    point: &'static str,
    points: Arc<Points>,
}

/// Whether a column family has blocks: no batch of a statement touches it.
fn is_of_blocks(table: &str) -> bool {
    table.ends_with(".c")
}

impl KvStore for PointStore {
    forward_store!(inner: capabilities merge_operator tables configure_table snapshot latest approximate_size approximate_keys split_points table_usage close);

    fn create_table(&self, table: &str, options: &TableOptions) -> Result<(), KvError> {
        self.points
            .pass("create", || self.inner.create_table(table, options))
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        self.points.pass("drop", || self.inner.drop_table(table))
    }

    fn apply(&self, batch: WriteBatch, durability: Durability) -> Result<Traffic, KvError> {
        let writes = |wanted: fn(&str) -> bool| batch.tables().iter().any(|table| wanted(table));
        let point = match (writes(|table| table == "catalog"), writes(is_of_blocks)) {
            (true, _) => "definition",
            (false, true) => "repack",
            (false, false) => "commit",
        };
        self.points.pass(point, || self.inner.apply(batch, durability))
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.order.commit(self, commit)
    }

    fn order(&self) -> &dyn CommitOrder {
        &self.order
    }

    fn sync(&self) -> Result<(), KvError> {
        self.points.pass("sync", || self.inner.sync())
    }

    fn compact(&self, table: &str) -> Result<(), KvError> {
        self.points.pass("compact", || self.inner.compact(table))
    }

    fn local(&self) -> Option<&dyn LocalFiles> {
        self.inner.local().map(|_| self as &dyn LocalFiles)
    }
}

impl LocalFiles for PointStore {
    forward_store!(inner: load_files make_room abandon_files is_abandoned discard_files discard_stray_files usage backup checkpoint);

    fn set_purge(&self, table: &str, purge: Option<Purge>) -> Result<(), KvError> {
        let files = self.inner.local_files("loads by files")?;
        let points = self.points.clone();
        let passing =
            |purge: Purge| -> Purge { Arc::new(move |value| points.pass("purge", || purge(value))) };
        files.set_purge(table, purge.map(passing))
    }

    fn flush(&self) -> Result<(), KvError> {
        let files = self.inner.local_files("loads by files")?;
        self.points.pass("flush", || files.flush())
    }

    fn sorted_writer(&self, table: &str) -> Result<Box<dyn SortedWriter>, KvError> {
        let files = self.inner.local_files("loads by files")?;
        Ok(Box::new(PointWriter {
            inner: files.sorted_writer(table)?,
            point: match table.starts_with('i') {
                _ if is_of_blocks(table) => "blocks",
                true => "backfill",
                false => "load",
            },
            points: self.points.clone(),
        }))
    }

    fn ingest(&self, loads: Vec<(TableName, Vec<LoadFile>)>) -> Result<(), KvError> {
        let files = self.inner.local_files("loads by files")?;
        loads
            .into_iter()
            .try_for_each(|load| self.points.pass("ingest", || files.ingest(vec![load])))
    }
}

impl SortedWriter for PointWriter {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.inner.add(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.inner.remove(key)
    }

    fn entries(&self) -> u64 {
        self.inner.entries()
    }

    fn finish(self: Box<Self>) -> Result<Vec<LoadFile>, KvError> {
        let PointWriter { inner, point, points } = *self;
        points.pass(point, || inner.finish())
    }
}

fn rocks(path: &Path) -> RocksStore {
    let options = RocksOptions {
        merge: Some(Arc::new(CounterMerge)),
        ..RocksOptions::default()
    };
    RocksStore::open(path, &options).unwrap()
}

/// What the child does: all steps, with indexes filled beside writers, reporting each that is done.
fn live(path: &Path, end: Option<(String, u64, bool)>) -> BTreeMap<String, u64> {
    let points = Arc::new(Points {
        end,
        ..Points::default()
    });
    let store: Arc<dyn KvStore> = Arc::new(PointStore {
        inner: rocks(path),
        points: points.clone(),
        order: SingleWriter::default(),
    });
    let engine = support::open(store.clone());
    engine.set_rows_at_once(0);
    for (at, step) in STEPS.iter().enumerate() {
        step(&engine).unwrap();
        println!("done {at}");
        if at % 4 == 3 {
            store.local().unwrap().flush().unwrap();
        }
    }
    points.seen.lock().unwrap().clone()
}

/// What a child does that was given an order.
fn obey(order: &str) {
    let parts: Vec<&str> = order.split(' ').collect();
    let [path, point, number, made] = parts.as_slice() else {
        panic!("{order}");
    };
    let end = (point.to_string(), number.parse().unwrap(), *made == "after");
    live(Path::new(path), Some(end));
}

/// Has a child live until it ends at a point; returns how many steps it has acknowledged.
fn live_until(path: &Path, point: &str, number: u64, made: &str) -> usize {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "points::the_process_ends_at_every_point",
            "--nocapture",
        ])
        .env(
            "RUKH_POINT",
            format!("{} {point} {number} {made}", path.display()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    // Storage compacts by itself, too, and asks more or less often for that.
    let may_end = point == "purge" && output.status.success();
    assert!(
        may_end || output.status.code().is_none(),
        "{point} {number}: {:?}",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| line.contains("done ")).count()
}

/// Numbers from 1 to `count`, evenly spread, the first and the last among them.
fn spread(count: u64) -> Vec<u64> {
    let places = match std::env::var("RUKH_CRASH_POINTS") {
        Ok(all) if all == "all" => count as usize,
        Ok(places) => places.parse().unwrap(),
        Err(_) => PLACES,
    };
    let places = places.clamp(1, count as usize) as u64;
    let mut all: Vec<u64> = (0..places)
        .map(|place| 1 + place * (count - 1) / (places - 1).max(1))
        .collect();
    all.dedup();
    all
}

#[test]
fn the_process_ends_at_every_point() {
    if let Ok(order) = std::env::var("RUKH_POINT") {
        return obey(&order);
    }
    let memory = support::open(support::memory());
    let mut states = vec![state(&memory)];
    for step in STEPS {
        step(&memory).unwrap();
        states.push(state(&memory));
    }
    let directory = tempfile::tempdir().unwrap();
    let seen = live(&directory.path().join("whole"), None);
    let kinds: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(
        kinds,
        [
            "backfill",
            "blocks",
            "commit",
            "compact",
            "create",
            "definition",
            "drop",
            "flush",
            "ingest",
            "load",
            "purge",
            "repack"
        ]
    );
    let mut ends = 0;
    for (point, count) in seen {
        for number in spread(count) {
            for made in ["before", "after"] {
                let path = directory.path().join(format!("{point}-{number}-{made}"));
                let done = live_until(&path, &point, number, made);
                let store: Arc<dyn KvStore> = Arc::new(rocks(&path));
                let engine = support::open(store.clone());
                let found = state(&engine);
                assert!(
                    found == states[done] || Some(&found) == states.get(done + 1),
                    "{made} {point} {number}, after {done} steps: {found:#?}"
                );
                let tables = engine.catalog();
                let named = tables.tables().map(|t| {
                    let indexes = t.indexes.iter().flat_map(rukh_catalog::Index::storage_names);
                    t.storage_names().len() + indexes.count()
                });
                assert_eq!(
                    store.tables().len(),
                    named.sum::<usize>() + 2,
                    "{made} {point} {number}"
                );
                assert_eq!(store.local().unwrap().load_files().unwrap(), []);
                ends += 1;
                drop(engine);
                drop(store);
                std::fs::remove_dir_all(&path).unwrap();
            }
        }
    }
    println!("points: {ends} ends of the process");
}
