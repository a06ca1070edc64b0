//! Indexes that are being built beside writers, and the word that writers leave for them.
//!
//! While an index is built its definition says Building, and no write maintains it. Instead each batch
//! that changes rows of the table also puts their keys into a column family beside that of the index,
//! `i9.d`: the *touched keys*, under the number of the pass that is to look at them (`catch_up`). A
//! range that is removed as such is noted in memory; a crash ends the build anyway, and the next open
//! begins it again. Former images come and go with changes of their rows, so that this covers them, too.
//!
//! ```text
//! touched key    pass (u32, big-endian), row key -> nothing
//! ```
//!
//! Passes begin, and builds come and go, under the writer lock, as batches are written.

use crate::EngineError;
use parking_lot::Mutex;
use rukh_catalog::{Catalog, ColumnId, Index, IndexId, Table, TableId};
use rukh_keys::KeyRange;
use rukh_kv::{WriteBatch, WriteOp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Removed ranges that are noted one by one; past that many, the one that holds all of them.
const RANGES_MAX: usize = 1024;

/// How far the building of an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildProgress {
    /// The index, which is new or has another state until the build is done.
    pub index: IndexId,
    /// What is being done.
    pub phase: BuildPhase,
    /// Rows read or entries written in this phase.
    pub done: u64,
    /// How many there will be; rows are estimated.
    pub total: u64,
}

/// What the building of an index is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildPhase {
    /// Reads and sorts the rows that were there at the beginning.
    Reading,
    /// Writes the sorted entries.
    Writing,
    /// Does again what writers have done since.
    CatchingUp,
}

/// The builds of a database.
#[derive(Default)]
pub(crate) struct Builds {
    active: AtomicUsize,
    list: Mutex<Vec<Arc<Build>>>,
}

/// One build.
pub(crate) struct Build {
    pub(crate) table: TableId,
    /// The index as definitions name it.
    pub(crate) index: IndexId,
    /// The index whose column family is filled: the same, or the one that takes its place.
    pub(crate) filled: IndexId,
    /// Columns that keys are to have place for NULL of, though it is not allowed yet.
    nullable: Vec<ColumnId>,
    /// The pass that looks at what is touched now.
    pass: AtomicU32,
    /// Removed ranges of row keys, each with its pass.
    ranges: Mutex<Vec<(u32, KeyRange)>>,
    dropped: AtomicBool,
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
}

impl Builds {
    /// Has writers leave word for a build. The caller holds the writer lock.
    pub(crate) fn register(&self, build: Arc<Build>) {
        self.list.lock().push(build);
        self.active.fetch_add(1, Ordering::Release);
    }

    /// Ends that. The caller holds the writer lock.
    pub(crate) fn unregister(&self, build: &Build) {
        let mut list = self.list.lock();
        list.retain(|known| known.filled != build.filled);
        self.active.store(list.len(), Ordering::Release);
    }

    fn any(&self) -> bool {
        self.active.load(Ordering::Acquire) > 0
    }

    /// Returns the builds of indexes of a table.
    pub(crate) fn of_table(&self, table: TableId) -> Vec<Arc<Build>> {
        match self.any() {
            false => Vec::new(),
            true => self
                .list
                .lock()
                .iter()
                .filter(|b| b.table == table)
                .cloned()
                .collect(),
        }
    }

    /// Whether an index is being filled.
    pub(crate) fn is_building(&self, index: IndexId) -> bool {
        self.list.lock().iter().any(|build| build.index == index)
    }

    /// Whether a column family belongs to a build.
    pub(crate) fn owns(&self, storage: &str) -> bool {
        let owns = |build: &Arc<Build>| {
            let part = storage.strip_suffix(".c").or_else(|| storage.strip_suffix(".h"));
            part.unwrap_or(storage) == build.storage() || storage == build.touched()
        };
        self.any() && self.list.lock().iter().any(owns)
    }

    /// Stops builds whose index is gone.
    pub(crate) fn look_at(&self, catalog: &Catalog) {
        if self.any() {
            let list = self.list.lock();
            let gone = list.iter().filter(|build| catalog.index(build.index).is_none());
            gone.for_each(|build| build.dropped.store(true, Ordering::Relaxed));
        }
    }

    /// Returns how far all builds are.
    pub(crate) fn progress(&self) -> Vec<BuildProgress> {
        self.list.lock().iter().map(|build| build.progress()).collect()
    }

    /// Adds to a batch the keys of the rows that it changes. The caller holds the writer lock, and
    /// writes the batch before it gives the lock up.
    pub(crate) fn note(&self, batch: &mut WriteBatch) {
        if !self.any() {
            return;
        }
        let mut touched = WriteBatch::new();
        for build in self.list.lock().iter() {
            if batch.tables().iter().any(|storage| build.is_of_table(storage)) {
                build.note(batch, &mut touched);
            }
        }
        batch.append(&touched);
    }
}

impl Build {
    pub(crate) fn new(table: TableId, index: IndexId, filled: IndexId, rows: u64) -> Self {
        Build {
            table,
            index,
            filled,
            nullable: Vec::new(),
            pass: AtomicU32::new(0),
            ranges: Mutex::default(),
            dropped: AtomicBool::new(false),
            phase: AtomicU8::new(BuildPhase::Reading as u8),
            done: AtomicU64::new(0),
            total: AtomicU64::new(rows),
        }
    }

    /// Has keys a place for NULL of these columns.
    pub(crate) fn with_place_for_nulls(self, nullable: &[ColumnId]) -> Self {
        Build {
            nullable: nullable.to_vec(),
            ..self
        }
    }

    /// Makes the definition of an index of `table` that of the one that is filled.
    pub(crate) fn take_place(&self, index: &mut Index, table: &Table) {
        index.id = self.filled;
        index.former = table.keeps_former(index);
        for column in &self.nullable {
            if !index.once_nullable.contains(column) {
                index.once_nullable.push(*column);
            }
        }
    }

    /// Returns the column family of the index.
    pub(crate) fn storage(&self) -> String {
        Index::storage_name_of(self.filled)
    }

    /// Returns the column family of touched keys.
    pub(crate) fn touched(&self) -> String {
        touched_name(self.filled)
    }

    /// Returns the key under which a row key is noted for a pass.
    pub(crate) fn touched_key(pass: u32, row_key: &[u8]) -> Vec<u8> {
        [&pass.to_be_bytes(), row_key].concat()
    }

    /// Returns the pass that looks at what is touched now.
    pub(crate) fn pass(&self) -> u32 {
        self.pass.load(Ordering::Relaxed)
    }

    /// Begins the next pass; returns the number of the one that ends and the ranges removed in it. The
    /// caller holds the writer lock.
    pub(crate) fn next_pass(&self) -> (u32, Vec<KeyRange>) {
        let ended = self.pass.fetch_add(1, Ordering::Relaxed);
        let mut ranges = self.ranges.lock();
        let (of_pass, rest) = ranges.drain(..).partition(|(pass, _)| *pass == ended);
        *ranges = rest;
        (ended, of_pass.into_iter().map(|(_, range)| range).collect())
    }

    /// Fails if the index was dropped.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        match self.dropped.load(Ordering::Relaxed) {
            true => Err(EngineError::IndexDropped),
            false => Ok(()),
        }
    }

    /// Begins a phase with so much to do.
    pub(crate) fn enter(&self, phase: BuildPhase, total: u64) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Notes that so much more is done.
    pub(crate) fn advance(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    fn progress(&self) -> BuildProgress {
        let phase = match self.phase.load(Ordering::Relaxed) {
            0 => BuildPhase::Reading,
            1 => BuildPhase::Writing,
            _ => BuildPhase::CatchingUp,
        };
        BuildProgress {
            index: self.index,
            phase,
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        }
    }

    /// Whether a column family holds rows of the table: `t7` or a family of it, `t7.f2`; blocks (`t7.c`) and history
    /// (`t7.h`) have other keys.
    fn is_of_table(&self, storage: &str) -> bool {
        let Some(rest) = storage.strip_prefix('t') else {
            return false;
        };
        let (number, part) = rest.split_once('.').unwrap_or((rest, ""));
        number.parse() == Ok(self.table.0) && (part.is_empty() || part.starts_with('f'))
    }

    fn note(&self, batch: &WriteBatch, touched: &mut WriteBatch) {
        let (storage, pass) = (self.touched(), self.pass());
        let mut last: Option<&[u8]> = None;
        for op in batch.ops().filter(|op| self.is_of_table(op.table())) {
            match op {
                WriteOp::Put { key, .. } | WriteOp::Delete { key, .. } | WriteOp::Merge { key, .. } => {
                    // The families of a row follow each other.
                    if last != Some(key) {
                        touched.put(&storage, &Build::touched_key(pass, key), &[]);
                        last = Some(key);
                    }
                }
                WriteOp::DeleteRange { start, limit, .. } => self.note_range(KeyRange {
                    start: start.to_vec(),
                    limit: limit.map(<[u8]>::to_vec),
                }),
            }
        }
    }

    fn note_range(&self, range: KeyRange) {
        let mut ranges = self.ranges.lock();
        ranges.push((self.pass(), range));
        if ranges.len() > RANGES_MAX {
            let starts = ranges.iter().map(|(_, range)| range.start.clone()).min();
            let open = ranges.iter().any(|(_, range)| range.limit.is_none());
            let limits = ranges.iter().filter_map(|(_, range)| range.limit.clone()).max();
            *ranges = vec![(
                self.pass(),
                KeyRange {
                    start: starts.unwrap_or_default(),
                    limit: limits.filter(|_| !open),
                },
            )];
        }
    }
}

/// Returns the column family of touched keys for the index with this id.
pub(crate) fn touched_name(index: IndexId) -> String {
    format!("{}.d", Index::storage_name_of(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build() -> Build {
        Build::new(TableId(7), IndexId(9), IndexId(12), 0)
    }

    #[test]
    fn rows_of_the_table_are_noted_for_the_pass_under_way() {
        let builds = Builds::default();
        builds.register(Arc::new(build()));
        let noted = |builds: &Builds| {
            let mut batch = WriteBatch::new();
            for storage in ["t7", "t7.f1", "t70", "i7", "catalog"] {
                batch.put(storage, b"k", b"v");
            }
            batch.delete("t7", b"l");
            // Blocks and history have keys that are no row's.
            batch.put("t7.c", b"c", b"v");
            batch.put("t7.h", b"h", b"v");
            builds.note(&mut batch);
            let ops = batch.ops().filter(|op| op.table() == "i12.d");
            ops.map(|op| op.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            noted(&builds),
            ["put i12.d/000000006b = ", "put i12.d/000000006c = "]
        );
        assert_eq!(builds.of_table(TableId(7))[0].next_pass(), (0, Vec::new()));
        assert_eq!(
            noted(&builds).first().map(String::as_str),
            Some("put i12.d/000000016b = ")
        );
        builds.unregister(&build());
        assert!(noted(&builds).is_empty());
    }

    #[test]
    fn removed_ranges_are_bounded() {
        let build = build();
        for start in 0..=RANGES_MAX as u16 {
            let limit = Some((start + 1).to_be_bytes().to_vec());
            build.note_range(KeyRange {
                start: start.to_be_bytes().to_vec(),
                limit,
            });
        }
        let all = KeyRange {
            start: vec![0, 0],
            limit: Some((RANGES_MAX as u16 + 1).to_be_bytes().to_vec()),
        };
        assert_eq!(build.next_pass(), (0, vec![all]));
        assert_eq!(build.next_pass(), (1, Vec::new()));
    }
}
