//! Many tables, each with two indexes: all are there after reopening, and each can be written and read.
//!
//! `RUKH_TABLES` sets how many, and `RUKH_OWN_FAMILIES` how many column families of their own there may be; the times that
//! making them, the last of them, and opening take, and the memory then, are printed.

use crate::support;
use rukh_engine::{NoProgress, OnConflict, ScanRequest};
use rukh_kv::{Durability, KvStore, RocksOptions, RocksStore};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Tables of a usual run.
const TABLES: usize = 24;

fn store(path: &Path, own_families: Option<usize>) -> Arc<dyn KvStore> {
    let options = RocksOptions {
        own_families,
        ..RocksOptions::default()
    };
    Arc::new(RocksStore::open(path, &options).unwrap())
}

/// Memory of this process in MiB, as the system reports it, where it does.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib >> 10)
}

#[test]
fn tables_by_the_hundred() {
    let count = std::env::var("RUKH_TABLES").map_or(TABLES, |text| text.parse().unwrap());
    make_and_read(count, None);
}

#[test]
fn tables_that_share_column_families() {
    make_and_read(TABLES, Some(7));
}

fn make_and_read(count: usize, own_families: Option<usize>) {
    let directory = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let engine = support::open(store(directory.path(), own_families));
    let mut last = started;
    for number in 0..count {
        last = Instant::now();
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
    let (made, last, resident_made) = (started.elapsed(), last.elapsed(), resident());
    drop(engine);
    let started = Instant::now();
    let engine = support::open(store(directory.path(), own_families));
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
        "many: {count} tables made in {made:?}, the last in {last:?} ({resident_made:?} MiB), opened in {opened:?} ({resident_opened:?} MiB), \
         read in {:?}",
        started.elapsed()
    );
}
