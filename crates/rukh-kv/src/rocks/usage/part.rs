//! What a table takes up of a column family that others have parts of, too: an estimate.
//!
//! RocksDB counts by column families and by files. A table's keys are counted as they are while they are few; beyond,
//! a file that has nothing but keys of the table counts whole, and of the others, which begin or end with
//! keys of its neighbours, as much as the size of the table's range says. What lies in write buffers is
//! shared out by the sample of what was written.

use super::super::{PinnedIterator, TableHandle, split};
use super::table_failure;
use crate::{KvError, TableUsage};
use rocksdb::{LiveFile, properties};
use rukh_keys::KeyRange;
use std::sync::Arc;

/// Keys that are counted one by one; of a table with more, the number is estimated.
const COUNTED_KEYS_MAX: u64 = 1000;

/// Estimates the number of keys.
pub(super) fn keys(table: &Arc<TableHandle>, family: &str) -> Result<u64, KvError> {
    match few_keys(table)? {
        Some(keys) => Ok(keys),
        None => Ok(Part::of(table, family)?.keys().max(COUNTED_KEYS_MAX)),
    }
}

/// Returns the part that a table has of what its column family takes up.
pub(super) fn of(table: &Arc<TableHandle>, family: &str, whole: TableUsage) -> Result<TableUsage, KvError> {
    let part = Part::of(table, family)?;
    let keys = match few_keys(table)? {
        Some(keys) => keys,
        None => part.keys().max(COUNTED_KEYS_MAX),
    };
    let share = |bytes: u64| match whole.file_bytes {
        0 => 0,
        all => (bytes as f64 * (part.bytes as f64 / all as f64).min(1.0)) as u64,
    };
    Ok(TableUsage {
        keys,
        file_bytes: part.bytes,
        raw_bytes: share(whole.raw_bytes),
        blob_bytes: share(whole.blob_bytes),
        buffer_bytes: split::in_buffers(table, &part.range, whole.buffer_bytes),
        reader_bytes: share(whole.reader_bytes),
        level_files: part.level_files(),
        debt_bytes: share(whole.debt_bytes),
        stalls: whole.stalls,
    })
}

/// Counts the keys of a table that has few.
fn few_keys(table: &Arc<TableHandle>) -> Result<Option<u64>, KvError> {
    let mut pinned = PinnedIterator::new(table, None, table.bounds(&KeyRange::all()));
    let iterator = &mut pinned.iterator;
    let mut keys = 0;
    iterator.seek_to_first();
    while iterator.valid() && keys <= COUNTED_KEYS_MAX {
        keys += 1;
        iterator.next();
    }
    let read = iterator.status();
    read.map_err(|error| table_failure("estimate", &table.name, error))?;
    Ok((keys <= COUNTED_KEYS_MAX).then_some(keys))
}

/// Where a table lies in its column family.
struct Part {
    range: KeyRange,
    /// Bytes in sorted files.
    bytes: u64,
    /// Files with keys of the table, and whether they have no others.
    files: Vec<(LiveFile, bool)>,
    /// Its keys in write buffers.
    buffered: u64,
}

impl Part {
    fn of(table: &TableHandle, family: &str) -> Result<Part, KvError> {
        let range = split::bounded(table, &KeyRange::all());
        let files = table.db.live_files();
        let files = files.map_err(|error| table_failure("read the list of files", &table.name, error))?;
        let files = files.into_iter().filter_map(|file| {
            let (start, end) = (file.start_key.as_deref()?, file.end_key.as_deref()?);
            let is_after = |key: &[u8]| range.limit.as_deref().is_some_and(|limit| limit <= key);
            let is_before = |key: &[u8]| key < range.start.as_slice();
            let meets = file.column_family_name == family && !is_before(end) && !is_after(start);
            let is_inside = !is_before(start) && !is_after(end);
            meets.then_some((file, is_inside))
        });
        let files = files.collect();
        let number = |name| table.db.property_int_value_cf(&table.family, name).ok().flatten();
        let entries = [
            properties::NUM_ENTRIES_ACTIVE_MEM_TABLE,
            properties::NUM_ENTRIES_IMM_MEM_TABLES,
        ];
        let entries = entries.into_iter().filter_map(number).sum();
        Ok(Part {
            bytes: split::size_in_files(table, &range),
            files,
            buffered: split::in_buffers(table, &range, entries),
            range,
        })
    }

    fn keys(&self) -> u64 {
        let sum = |inside: bool, count: fn(&LiveFile) -> u64| -> u64 {
            let files = self.files.iter().filter(|(_, is_inside)| *is_inside == inside);
            files.map(|(file, _)| count(file)).sum()
        };
        let bytes = |file: &LiveFile| file.size as u64;
        // An entry that removes a key takes itself out, and the one that it removes.
        let entries = |file: &LiveFile| file.num_entries.saturating_sub(2 * file.num_deletions);
        let rest = self.bytes.saturating_sub(sum(true, bytes));
        let shared = match sum(false, bytes) {
            0 => 0.0,
            all => sum(false, entries) as f64 * (rest as f64 / all as f64).min(1.0),
        };
        sum(true, entries) + shared as u64 + self.buffered
    }

    /// Returns the number of files of each level, without the empty levels at the end.
    fn level_files(&self) -> Vec<u64> {
        let mut levels = Vec::new();
        for (file, _) in &self.files {
            let level = usize::try_from(file.level).unwrap_or_default();
            if levels.len() <= level {
                levels.resize(level + 1, 0);
            }
            levels[level] += 1;
        }
        levels
    }
}
