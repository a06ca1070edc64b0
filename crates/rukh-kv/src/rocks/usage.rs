//! What tables and the database as a whole take up: sizes, levels, and what waits to be compacted.

use super::failure::{failure, table_failure};
use super::{RocksOptions, TableHandle};
use crate::{KvError, StoreUsage, TableUsage};
use rocksdb::{Cache, DB};
use std::fs;
use std::path::Path;
use std::sync::Arc;

mod part;

/// Sums over all sorted files of a table.
const TABLE_SUMS: &str = "rocksdb.aggregated-table-properties";
/// The sizes of keys and values among these.
const RAW_SIZES: [&str; 2] = ["raw key size", "raw value size"];

/// Says how often writes to a table were slowed down or stopped.
const TABLE_STALLS: &str = "rocksdb.cf-write-stall-stats";
/// The two lines of it that count.
const STALL_COUNTS: [&str; 2] = ["total-delays", "total-stops"];

/// Returns the disk usage of a table; of one that shares its column family, an estimate of its part of that.
pub(super) fn of_table(table: &Arc<TableHandle>) -> Result<TableUsage, KvError> {
    let whole = of_family(table)?;
    match &table.share {
        None => Ok(whole),
        Some(share) => part::of(table, &share.family, whole),
    }
}

/// Estimates the number of keys of a table.
pub(super) fn keys(table: &Arc<TableHandle>) -> Result<u64, KvError> {
    match &table.share {
        None => number(table, "rocksdb.estimate-num-keys"),
        Some(share) => part::keys(table, &share.family),
    }
}

/// Returns the memory for what of a column family is not yet in files, in bytes.
pub(super) fn buffer_bytes(family: &TableHandle) -> Result<u64, KvError> {
    number(family, "rocksdb.cur-size-all-mem-tables")
}

fn number(table: &TableHandle, property: &str) -> Result<u64, KvError> {
    let value = table.db.property_int_value_cf(&table.family, property);
    value
        .map(Option::unwrap_or_default)
        .map_err(|error| table_failure("read properties", &table.name, error))
}

/// Returns what the column family of a table takes up.
fn of_family(table: &TableHandle) -> Result<TableUsage, KvError> {
    let fail = |error| table_failure("read properties", &table.name, error);
    let number = |property: &str| number(table, property);
    let stalls = table.db.property_value_cf(&table.family, TABLE_STALLS);
    let sums = table.db.property_value_cf(&table.family, TABLE_SUMS);
    Ok(TableUsage {
        raw_bytes: raw_bytes(&sums.map_err(fail)?.unwrap_or_default()),
        keys: number("rocksdb.estimate-num-keys")?,
        file_bytes: number("rocksdb.live-sst-files-size")?,
        blob_bytes: number("rocksdb.live-blob-file-size")?,
        buffer_bytes: buffer_bytes(table)?,
        reader_bytes: number("rocksdb.estimate-table-readers-mem")?,
        level_files: level_files(table)?,
        debt_bytes: number("rocksdb.estimate-pending-compaction-bytes")?,
        stalls: stall_count(&stalls.map_err(fail)?.unwrap_or_default()),
    })
}

/// Returns the number of files of each level, without the empty levels at the end.
fn level_files(table: &TableHandle) -> Result<Vec<u64>, KvError> {
    let mut files = Vec::new();
    loop {
        let property = format!("rocksdb.num-files-at-level{}", files.len());
        let value = table.db.property_value_cf(&table.family, &property);
        let value = value.map_err(|error| table_failure("read properties", &table.name, error))?;
        match value.and_then(|text| text.parse().ok()) {
            Some(count) => files.push(count),
            None => break,
        }
    }
    while files.last() == Some(&0) {
        files.pop();
    }
    Ok(files)
}

/// Adds up the sizes of keys and values in a text `# entries=2; raw key size=18; raw value size=30; …`.
fn raw_bytes(text: &str) -> u64 {
    let sums = text.split(';').filter_map(|sum| sum.split_once('='));
    sums.filter(|(name, _)| RAW_SIZES.contains(&name.trim()))
        .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
        .sum()
}

/// Adds up the lines `total-delays: 3` and `total-stops: 1` of a text.
fn stall_count(text: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| STALL_COUNTS.contains(&name.trim()))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// Returns what the database takes up beside its tables' files.
pub(super) fn of_database(
    db: &DB,
    cache: &Cache,
    options: &RocksOptions,
    path: &Path,
    buffer_bytes: u64,
) -> Result<StoreUsage, KvError> {
    let number = |property: &str| {
        let value = db.property_int_value(property);
        value
            .map(Option::unwrap_or_default)
            .map_err(|error| failure("read properties", error))
    };
    Ok(StoreUsage {
        cache_bytes: cache.get_usage() as u64,
        cache_bytes_max: options.block_cache_bytes as u64,
        buffer_bytes,
        buffer_bytes_max: options.write_buffer_bytes as u64,
        log_bytes: log_bytes(path),
        flushes: number("rocksdb.num-running-flushes")?,
        compactions: number("rocksdb.num-running-compactions")?,
        snapshots: number("rocksdb.num-snapshots")?,
        delayed_bytes_per_second: number("rocksdb.actual-delayed-write-rate")?,
        writes_stopped: number("rocksdb.is-write-stopped")? != 0,
        background_errors: number("rocksdb.background-errors")?,
    })
}

/// Returns the size of the log's files; one that goes away meanwhile does not count.
fn log_bytes(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "log"))
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_delays_and_stops() {
        let text = "cf-l0-file-count-limit-delays-with-ongoing-compaction: 7\n\
                    total-delays: 3\ntotal-stops: 1\n";
        assert_eq!(stall_count(text), 4);
        assert_eq!(stall_count(""), 0);
    }
}
