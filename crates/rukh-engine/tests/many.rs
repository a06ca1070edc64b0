//! Many tables, each with two indexes: all are there after reopening, and each can be written and read.
//!
//! `RUKH_TABLES` sets how many; the time that opening takes, and the memory then, are printed.

#![allow(clippy::unwrap_used)]

mod support;

use rukh_engine::{NoProgress, OnConflict, ScanRequest};
use rukh_kv::{Durability, KvStore, RocksOptions, RocksStore};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Tables of a usual run.
const TABLES: usize = 24;

fn store(path: &Path) -> Arc<dyn KvStore> {
    Arc::new(RocksStore::open(path, &RocksOptions::default()).unwrap())
}

/// Memory of this process in MiB, as the system tells it, where it does.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib >> 10)
}

#[test]
fn tables_by_the_hundred() {
    let count = std::env::var("RUKH_TABLES").map_or(TABLES, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let engine = support::open(store(directory.path()));
    for number in 0..count {
        let name = format!("t{number}");
        support::create_table(&engine, &name, "k INTEGER, a INTEGER NULL, s VARCHAR NULL", "k");
        for (index, key) in [("a", "a, s"), ("s", "s DESC")] {
            let table = support::table(&engine, &name);
            support::create_index(&engine, &table, &format!("{name}_{index}"), key, "", false);
        }
        let table = support::table(&engine, &name);
        let mut write = engine.begin().unwrap();
        let rows = (0..10).map(|k| support::row(&table, &format!("{k}, {}, 'text'", k * number as i32)));
        write.insert(&table, rows.collect(), OnConflict::Error).unwrap();
        write.commit(Durability::Buffered).unwrap();
    }
    let (made, resident_made) = (started.elapsed(), resident());
    drop(engine);
    let started = Instant::now();
    let engine = support::open(store(directory.path()));
    let (opened, resident_opened) = (started.elapsed(), resident());
    assert_eq!(engine.catalog().tables().count(), count);
    let started = Instant::now();
    for number in 0..count {
        let table = support::table(&engine, &format!("t{number}"));
        let rows = support::read(&engine.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
        assert_eq!(rows.len(), 10);
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean() && report.entries == 20, "{report:?}");
    }
    println!(
        "many: {count} tables made in {made:?} ({resident_made:?} MiB), opened in {opened:?} ({resident_opened:?} MiB), \
         read in {:?}",
        started.elapsed()
    );
}
