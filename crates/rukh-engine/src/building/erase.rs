//! Removing more rows than a batch may hold, in bounded memory.
//!
//! Ranges of row keys are removed as ranges, from every family of the table and from each index whose
//! key begins with the columns that bound them. The entries of other indexes are found by reading the
//! rows. What has to go key by key, entries and rows that were chosen one by one, is sorted as a bulk
//! load is (`sorter`) and written as files of deletions; these and the ranges become visible all at
//! once, or not at all (`ingest`).

use crate::forms::codec::TableCodec;
use crate::forms::entry::{DELETED, IndexCodec, KeyedRow};
use crate::forms::maintain::Maintainer;
use crate::progress::check_cancelled;
use crate::reading::rows::RowReader;
use crate::reading::snapshot::Snapshot;
use crate::state::builds::Build;
use crate::state::lock::WriterGuard;
use crate::state::shared::Inner;
use crate::state::unsettled::{Loads, Ranges};
use crate::storage::files::{LOADS, discard_files};
use crate::storage::sorter::{self, Sorter};
use crate::writing::ingest;
use crate::writing::pending::{Image, Stored};
use crate::writing::write::{Target, Write};
use crate::{EngineError, Progress, Row};
use rukh_catalog::{Table, TableId};
use rukh_keys::{KeyRange, Span};
use rukh_kv::{Durability, KvStore, LoadFile, ScanSpec, SortedWriter, WriteBatch};
use std::sync::Arc;

/// Keys between two looks at the watcher.
const CHUNK: u64 = 1024;

/// A removal of many rows under way. Holds the writer lock; dropped without [`Erase::finish`] it leaves
/// no trace.
pub struct Erase {
    inner: Arc<Inner>,
    maintainer: Arc<Maintainer>,
    snapshot: Snapshot,
    /// Row keys, then the entry keys of each index.
    sorters: Vec<Sorter>,
    ranges: Ranges,
    /// Rows in the ranges.
    in_ranges: u64,
    bytes_max: usize,
    _guard: WriterGuard,
}

impl Write {
    /// Whether the statement may become an [`Erase`] of rows of this table: it is no part of a transaction,
    /// it locks no rows, it does not return the rows that it removes, no former images of them are kept, and storage takes files.
    pub fn may_erase(&self, table: &Table) -> bool {
        let is_kept = table.options.versions.is_some();
        let has_files = self.inner.store.local().is_some();
        has_files
            && matches!(self.target, Target::Store { locks: None, .. })
            && self.written.is_none()
            && !is_kept
            && self.snapshot.definitions.references_to(table.id).is_empty()
    }

    /// Whether a table has more rows than so many in these spans, which are disjoint.
    pub fn has_more_rows(&self, table: &Table, spans: &[Span], rows: u64) -> Result<bool, EngineError> {
        let codec = self.snapshot.definitions.codec(table.id)?;
        let ranges = row_ranges(codec, spans);
        let spec = ScanSpec::ranges(ranges)
            .keys_only()
            .limited(rows.saturating_add(1));
        Ok(self.snapshot.kv.count(&codec.families[0].storage, spec)?.0 > rows)
    }

    /// Goes on as a removal of many rows of one table, beginning with those that were removed so far: the
    /// statement has changed nothing else.
    pub fn erase(self, table: TableId) -> Result<Erase, EngineError> {
        let Write {
            inner,
            snapshot,
            mut tables,
            guard,
            ..
        } = self;
        let maintainer = inner.maintainer(&snapshot.definitions, table)?;
        let directory = inner.load_directory()?;
        let sorters = (0..=maintainer.indexes.len()).map(|_| Sorter::new(&directory));
        let mut erase = Erase {
            sorters: sorters.collect(),
            bytes_max: inner.load_bytes_max(),
            inner,
            maintainer,
            snapshot,
            ranges: Ranges::new(),
            in_ranges: 0,
            _guard: guard,
        };
        let pending = tables
            .remove(&table)
            .map(|pending| pending.rows)
            .unwrap_or_default();
        let gone = pending
            .into_values()
            .filter_map(|row| match (row.stored, row.image) {
                (Stored::Present(row), Image::Gone) => Some(row),
                _ => None,
            });
        erase.add(gone.collect())?;
        Ok(erase)
    }
}

impl Erase {
    /// Removes rows, given as stored; those given twice are removed once.
    pub fn add(&mut self, rows: Vec<Row>) -> Result<(), EngineError> {
        let maintainer = self.maintainer.clone();
        let mut keys = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut key = Vec::with_capacity(32);
            maintainer.codec.row_key(row, &mut key)?;
            self.sorters[0].add(&key, &[]);
            keys.push(key);
        }
        let keyed = keys
            .iter()
            .zip(&rows)
            .map(|(key, row)| KeyedRow::for_keys(key, row));
        let keyed: Vec<KeyedRow<'_>> = keyed.collect();
        let all: Vec<usize> = (0..maintainer.indexes.len()).collect();
        self.add_entries(&all, &keyed)
    }

    /// Removes all rows in spans, which are disjoint and hold no row given to [`Erase::add`].
    pub fn add_spans(&mut self, spans: &[Span], progress: &dyn Progress) -> Result<(), EngineError> {
        let maintainer = self.maintainer.clone();
        let codec = &maintainer.codec;
        let ranges = row_ranges(codec, spans);
        let mut others = Vec::new();
        for (nth, index) in maintainer.indexes.iter().enumerate() {
            let storage = &index.codec.storage;
            match spans
                .iter()
                .all(|span| is_bounded_by_index(codec, &index.codec, span))
            {
                true => {
                    let layout = &index.codec.layout;
                    let of_index = spans.iter().flat_map(|span| layout.ranges(span));
                    self.ranges.extend(of_index.map(|range| (storage.clone(), range)));
                }
                false => others.push(nth),
            }
        }
        for family in &codec.families {
            let of_family = ranges.iter().map(|range| (family.storage.clone(), range.clone()));
            self.ranges.extend(of_family);
        }
        if others.is_empty() {
            let spec = ScanSpec::ranges(ranges).keys_only();
            self.in_ranges += self.snapshot.kv.count(&codec.families[0].storage, spec)?.0;
            return Ok(());
        }
        let mut reader = RowReader::within(&self.snapshot, codec.clone(), ranges)?;
        while let Some(rows) = reader.next()? {
            check_cancelled(progress)?;
            self.in_ranges += rows.len() as u64;
            let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
            self.add_entries(&others, &keyed)?;
            progress.advance(rows.len() as u64);
        }
        Ok(())
    }

    fn add_entries(&mut self, indexes: &[usize], rows: &[KeyedRow<'_>]) -> Result<(), EngineError> {
        for nth in indexes {
            let sorter = &mut self.sorters[nth + 1];
            self.maintainer.indexes[*nth].visit_entries(rows, &mut |_, key, _| {
                sorter.add(key, &[]);
                Ok(())
            })?;
        }
        sorter::make_room(&mut self.sorters, self.bytes_max)
    }

    /// Removes everything at once, durably; returns how many rows.
    pub fn finish(mut self, progress: &dyn Progress) -> Result<u64, EngineError> {
        let mut files = Loads::new();
        let written = self.write_files(&mut files, progress);
        let rows = written.inspect_err(|_| {
            let files = files.iter().flat_map(|(_, files)| files).cloned();
            discard_files(self.inner.store.as_ref(), &files.collect::<Vec<LoadFile>>());
        })?;
        let id = self.maintainer.codec.table.id;
        let ranges = std::mem::take(&mut self.ranges);
        let before = self.inner.watched.rows(id)?;
        let removed = match files.is_empty() {
            true => self.remove_ranges(&ranges),
            false => ingest::ingest(&self.inner, files, ranges, None),
        };
        let noted = self.inner.note_tables([id]);
        removed?;
        noted?;
        let gone = i64::try_from(rows).ok().map(|rows| -rows);
        self.inner.keep_rows_after(id, before, gone);
        self.inner
            .note_growth(id, i64::try_from(rows).map_or(i64::MIN, |rows| -rows));
        self.inner.note_changed_rows(id, rows);
        Ok(rows)
    }

    /// Removes ranges where there is nothing else to do.
    fn remove_ranges(&self, ranges: &Ranges) -> Result<(), EngineError> {
        let mut batch = WriteBatch::new();
        for (storage, range) in ranges {
            batch.delete_range(storage, range);
        }
        self.inner.builds.note(&mut batch);
        Ok(self.inner.store.write(batch, Durability::Synced)?)
    }

    /// Writes the files of deletions; returns how many rows go in all.
    fn write_files(&mut self, files: &mut Loads, progress: &dyn Progress) -> Result<u64, EngineError> {
        let store = self.inner.store.clone();
        let codec = self.maintainer.codec.clone();
        let mut sorters = std::mem::take(&mut self.sorters).into_iter();
        let mut rows = 0;
        if let Some(sorter) = sorters.next().filter(|sorter| sorter.entries() > 0) {
            let builds = self.inner.builds.of_table(codec.table.id);
            let storages = codec.families.iter().map(|family| family.storage.clone());
            let storages: Vec<String> = storages.collect();
            rows = write_deletions(store.as_ref(), sorter, &storages, None, &builds, files, progress)?;
        }
        for (index, sorter) in self.maintainer.indexes.iter().zip(sorters) {
            if sorter.entries() > 0 {
                let storage = [index.codec.storage.clone()];
                // A block may have the entry still.
                let gone = index.codec.blocks().map(|_| DELETED);
                self.inner.forget_debt(index.codec.index.id);
                write_deletions(store.as_ref(), sorter, &storage, gone, &[], files, progress)?;
            }
        }
        Ok(rows + self.in_ranges)
    }
}

/// Returns the ranges of row keys in spans.
fn row_ranges(codec: &TableCodec, spans: &[Span]) -> Vec<KeyRange> {
    let ranges = spans.iter().flat_map(|span| codec.key.ranges(span));
    KeyRange::merge(ranges.collect())
}

/// Whether the entries of the rows in a span of the primary key are those in the same span of an index:
/// what bounds the span are the first elements of both.
fn is_bounded_by_index(table: &TableCodec, index: &IndexCodec, span: &Span) -> bool {
    if index.blocks().is_some() {
        // Its blocks have many entries each.
        return false;
    }
    let bounding = span.start.len().max(span.end.len());
    let elements = index.index.key_elements(&table.table);
    let primary = &table.table.primary_key;
    bounding <= index.index.searchable(&table.table)
        && bounding <= primary.len()
        && elements[..bounding] == primary[..bounding]
}

/// Writes files that delete keys in column families, or give them the value `gone`, each once; returns how
/// many keys.
fn write_deletions(
    store: &dyn KvStore,
    sorter: Sorter,
    storages: &[String],
    gone: Option<&[u8]>,
    builds: &[Arc<Build>],
    files: &mut Loads,
    progress: &dyn Progress,
) -> Result<u64, EngineError> {
    let begin = |storage: &String| Ok((storage.clone(), store.local_files(LOADS)?.sorted_writer(storage)?));
    let writers: Result<Vec<(String, Box<dyn SortedWriter>)>, EngineError> =
        storages.iter().map(begin).collect();
    let mut writers = writers?;
    let mut touched = Vec::new();
    for build in builds {
        touched.push((build, store.local_files(LOADS)?.sorted_writer(&build.touched())?));
    }
    let mut merge = sorter.finish()?;
    let (mut last, mut count) = (Vec::new(), 0);
    while merge.advance()? {
        let key = merge.key();
        if count > 0 && key == last.as_slice() {
            continue;
        }
        for (_, writer) in &mut writers {
            match gone {
                Some(gone) => writer.add(key, gone)?,
                None => writer.remove(key)?,
            }
        }
        for (build, writer) in &mut touched {
            writer.add(&Build::touched_key(build.pass(), key), &[])?;
        }
        last.clear();
        last.extend_from_slice(key);
        count += 1;
        if count % CHUNK == 0 {
            check_cancelled(progress)?;
            progress.advance(CHUNK);
        }
    }
    for (storage, writer) in writers {
        files.push((storage, writer.finish()?));
    }
    for (build, writer) in touched {
        files.push((build.touched(), writer.finish()?));
    }
    Ok(count)
}
