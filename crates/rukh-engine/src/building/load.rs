//! Bulk load: rows past the write path, into sorted files that storage takes as they are.
//!
//! Rows are encoded by a thread of the load's own, sorted in bounded memory (`sorter`), for the
//! table and each of its indexes. When all are there, the sorted entries are written as files, one
//! thread for each column family, and checked on the way: equal row keys and equal UNIQUE keys come
//! out next to each other, and those that are stored already are looked up. Then all files are
//! ingested at once (`ingest`). Until that moment nothing of the load is to be seen, and an error
//! leaves nothing behind.

use crate::building::merge_write::{Beside, Destination, Target, write_sorted};
use crate::folding::block_load::BlockLoad;
use crate::forms::entry::KeyedRow;
use crate::forms::imports::ImportNote;
use crate::forms::maintain::Maintainer;
use crate::forms::stored;
use crate::reading::snapshot::Snapshot;
use crate::state::builds::Build;
use crate::state::lock::WriterGuard;
use crate::state::shared::{Engine, Inner};
use crate::state::unsettled::Loads;
use crate::storage::files::{LOADS, discard_files};
use crate::storage::sorter::{self, Sorter};
use crate::writing::constraint::check_loaded;
use crate::writing::ingest;
use crate::{EngineError, Progress, Row};
use parking_lot::Mutex;
use rukh_catalog::{CatalogError, Table, TableId};
use rukh_kv::{Durability, WriteBatch};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Memory that a load sorts in, unless set otherwise: 256 MiB.
pub(crate) const LOAD_BYTES_MAX: usize = 256 << 20;

/// Lists of rows that may wait for the encoding thread.
const WAITING_MAX: usize = 4;

/// How often the end of a load looks at its watcher.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// A bulk load under way. Holds the writer lock; dropped without [`Load::finish`] it leaves no trace.
pub struct Load {
    inner: Arc<Inner>,
    maintainer: Arc<Maintainer>,
    /// What was there before; until files go in.
    snapshot: Option<Snapshot>,
    rows: u64,
    /// What is stored with the rows.
    imported: Option<ImportNote>,
    encoder: Option<Encoder>,
    _guard: WriterGuard,
}

/// The thread that encodes and sorts.
struct Encoder {
    rows: SyncSender<Vec<Row>>,
    /// Rows that are encoded.
    spent: Mutex<Receiver<Vec<Row>>>,
    thread: JoinHandle<Result<Sorters, EngineError>>,
}

impl Engine {
    /// Whether tables can be loaded, and many rows [erased](crate::Erase), past the write path.
    pub fn can_load(&self) -> bool {
        self.inner.store.local().is_some()
    }

    /// Begins a bulk load of a table: waits for the writer lock.
    ///
    /// Memory is bounded by [`Engine::set_load_bytes_max`]; what does not fit goes to files in
    /// [`Engine::set_load_directory`].
    pub fn load(&self, id: TableId) -> Result<Load, EngineError> {
        let inner = self.inner.clone();
        inner.store.local_files(LOADS)?;
        let guard = inner.lock_writer()?;
        let snapshot = inner.snapshot();
        let maintainer = inner.maintainer(&snapshot.definitions, id)?;
        let table = &maintainer.codec.table;
        if table.foreign_keys.iter().any(|key| key.referenced == id) {
            let message = format!(
                "rows of table \"{}\", which refer to one another, cannot be loaded",
                table.name
            );
            return Err(CatalogError::Unsupported { message }.into());
        }
        let directory = inner.load_directory()?;
        let bytes_max = inner.load_bytes_max();
        let (sender, receiver) = mpsc::sync_channel::<Vec<Row>>(WAITING_MAX);
        let mut sorters = Sorters::new(maintainer.clone(), &directory, bytes_max, snapshot.now());
        let (spent_sender, spent) = mpsc::channel();
        let thread = thread::spawn(move || {
            for rows in receiver {
                sorters.add(&rows)?;
                // The receiver may be gone.
                let _ = spent_sender.send(rows);
            }
            Ok(sorters)
        });
        let encoder = Some(Encoder {
            rows: sender,
            spent: Mutex::new(spent),
            thread,
        });
        Ok(Load {
            inner,
            maintainer,
            snapshot: Some(snapshot),
            rows: 0,
            imported: None,
            encoder,
            _guard: guard,
        })
    }
}

impl Engine {
    /// Computes the generated columns of a row, and checks that it fits the table, as writing it would.
    pub fn check_row(&self, table: &Table, row: &mut Row) -> Result<(), EngineError> {
        let definitions = self.inner.definitions();
        let maintainer = self.inner.maintainer(&definitions, table.id)?;
        maintainer
            .rules
            .apply(&maintainer.codec, std::slice::from_mut(row))
    }
}

impl Load {
    /// Adds rows, in any order; lists of a few thousand are best. Returns rows added before that are no longer
    /// needed: their memory serves the next ones best in the thread that it comes from.
    ///
    /// An error may be that of rows added before, and ends the load.
    pub fn add(&mut self, mut rows: Vec<Row>) -> Result<Vec<Row>, EngineError> {
        self.maintainer.rules.apply(&self.maintainer.codec, &mut rows)?;
        if let Some(snapshot) = &self.snapshot {
            check_loaded(snapshot, &self.maintainer.codec.table, &rows)?;
        }
        self.rows += rows.len() as u64;
        let Some(encoder) = &self.encoder else {
            return Err(EngineError::Cancelled);
        };
        match encoder.rows.send(rows) {
            Ok(()) => Ok(encoder.spent.lock().try_iter().flatten().collect()),
            Err(_) => Err(self.encoder_error()),
        }
    }

    /// Stores a note with the rows, if there are any.
    pub fn note_import(&mut self, note: ImportNote) {
        self.imported = Some(note);
    }

    /// Makes all rows visible at once, durably; returns how many.
    ///
    /// Fails on equal primary keys or UNIQUE values, among the rows or with stored ones.
    pub fn finish(self) -> Result<u64, EngineError> {
        self.finish_watched(&crate::NoProgress)
    }

    /// As [`Load::finish`], and reports the entries written to a watcher: those of the table, and
    /// those of each index.
    pub fn finish_watched(mut self, progress: &dyn Progress) -> Result<u64, EngineError> {
        let sorters = self.join_encoder()?;
        progress.total(Some(sorters.entries()));
        // Files that go in while there is no snapshot are as good as compacted.
        let snapshot = self.snapshot.take().ok_or(EngineError::Cancelled)?;
        let loads = self.write_files(&snapshot, sorters, progress)?;
        drop(snapshot);
        let id = self.maintainer.codec.table.id;
        let before = self.inner.watched.rows(id)?;
        let ingested = ingest::ingest(&self.inner, loads, Vec::new(), self.imported.as_ref());
        // What the rows refer to is not to be taken away by a transaction that has not seen them.
        let referenced = self.maintainer.codec.table.foreign_keys.iter();
        let referenced = referenced.map(|key| key.referenced);
        let noted = self.inner.note_tables(std::iter::once(id).chain(referenced));
        ingested?;
        noted?;
        let (inner, rows) = (self.inner.clone(), self.rows);
        inner.keep_rows_after(id, before, i64::try_from(rows).ok());
        inner.note_growth(id, i64::try_from(rows).unwrap_or(i64::MAX));
        let codec = &self.maintainer.codec;
        let layouts = codec.indexes.iter().chain(&codec.blocks);
        layouts.for_each(|index| inner.forget_debt(index.index.id));
        // With the writer lock released, blocks can be made of the rows that are in none yet.
        drop(self);
        inner.note_changed_rows(id, rows);
        inner.note_loaded(id, rows);
        Ok(rows)
    }

    /// Waits for the encoding thread, which has failed.
    fn encoder_error(&mut self) -> EngineError {
        match self.join_encoder() {
            Err(error) => error,
            Ok(_) => EngineError::Cancelled,
        }
    }

    fn join_encoder(&mut self) -> Result<Sorters, EngineError> {
        let Some(Encoder { rows, thread, .. }) = self.encoder.take() else {
            return Err(EngineError::Cancelled);
        };
        drop(rows);
        match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Writes the files of all column families, each in a thread, and returns them in the order of
    /// ingest: a row's other families before the one that says it exists, and that before its
    /// entries.
    fn write_files(
        &self,
        snapshot: &Snapshot,
        sorters: Sorters,
        progress: &dyn Progress,
    ) -> Result<Loads, EngineError> {
        let shared = Shared {
            stop: AtomicBool::new(false),
            written: AtomicU64::new(0),
        };
        let noted = Arc::new(Mutex::new(Loads::new()));
        let mut beside = self.beside(&noted)?;
        let written = thread::scope(|scope| {
            let (done, finished) = mpsc::channel();
            let mut running = 0;
            for (target, sorter) in sorters.targets_of_into() {
                let (done, shared) = (done.clone(), &shared);
                let beside = match target {
                    Target::Family(0) => std::mem::take(&mut beside),
                    _ => Vec::new(),
                };
                running += 1;
                scope.spawn(move || {
                    let store = &self.inner.store;
                    let tick = &mut |entries| shared.tick(entries);
                    let maintainer = &self.maintainer;
                    let blocks = target.layout(maintainer).map(|index| {
                        // As they are stored, not as they look.
                        BlockLoad::new(&self.inner, snapshot.raw.clone(), index)
                    });
                    let files = blocks.transpose().and_then(|blocks| {
                        let to = Destination {
                            target,
                            blocks,
                            beside,
                        };
                        write_sorted(store, snapshot, maintainer, sorter.finish()?, to, tick)
                    });
                    // The other end waits for every thread.
                    let _ = done.send((target, files));
                });
            }
            drop(done);
            watch(running, &finished, &shared, progress)
        });
        let mut loads = std::mem::take(&mut *noted.lock());
        let (mut written, failed) = written;
        if let Some(error) = failed {
            let written = written.into_iter().flat_map(|(_, loads)| loads);
            let files = written.chain(loads).flat_map(|(_, files)| files);
            discard_files(self.inner.store.as_ref(), &files.collect::<Vec<_>>());
            return Err(error);
        }
        written.sort_by_key(|(target, _)| target.ingest_order());
        loads.extend(written.into_iter().flat_map(|(_, loads)| loads));
        Ok(loads)
    }

    /// Begins the files that notify indexes being built of the rows.
    fn beside(&self, files: &Arc<Mutex<Loads>>) -> Result<Vec<Beside>, EngineError> {
        let builds = self.inner.builds.of_table(self.maintainer.codec.table.id);
        let begin = |build: Arc<Build>| {
            Ok(Beside {
                writer: self
                    .inner
                    .store
                    .local_files(LOADS)?
                    .sorted_writer(&build.touched())?,
                build,
                files: files.clone(),
            })
        };
        builds.into_iter().map(begin).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.encoder.is_some() {
            // The receiver is gone: there is nothing to report to.
            let _ = self.join_encoder();
        }
    }
}

/// What the threads that write files have in common.
struct Shared {
    /// Set when the others should give up.
    stop: AtomicBool,
    /// Entries written.
    written: AtomicU64,
}

impl Shared {
    fn tick(&self, entries: u64) -> Result<(), EngineError> {
        self.written.fetch_add(entries, Ordering::Relaxed);
        match self.stop.load(Ordering::Relaxed) {
            true => Err(EngineError::Cancelled),
            false => Ok(()),
        }
    }
}

type Finished = (Target, Result<Loads, EngineError>);

/// Waits for threads, and reports progress to the watcher; after an error the others stop. Returns
/// what was written, and the first error.
fn watch(
    mut running: usize,
    finished: &mpsc::Receiver<Finished>,
    shared: &Shared,
    progress: &dyn Progress,
) -> (Vec<(Target, Loads)>, Option<EngineError>) {
    let (mut written, mut reported, mut failed) = (Vec::new(), 0, None);
    while running > 0 {
        match finished.recv_timeout(WATCH_INTERVAL) {
            Ok((target, Ok(files))) => written.push((target, files)),
            Ok((_, Err(error))) => {
                shared.stop.store(true, Ordering::Relaxed);
                failed.get_or_insert(error);
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = shared.written.load(Ordering::Relaxed);
                progress.advance(now - reported);
                reported = now;
                if progress.cancelled() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        running -= 1;
    }
    progress.advance(shared.written.load(Ordering::Relaxed) - reported);
    (written, failed)
}

/// The entries of a load on their way to be sorted.
pub(crate) struct Sorters {
    maintainer: Arc<Maintainer>,
    /// By family, then by index.
    sorters: Vec<Sorter>,
    bytes_max: usize,
    row_keys: Vec<Vec<u8>>,
    /// When the rows are written.
    now: i64,
}

impl Sorters {
    fn new(maintainer: Arc<Maintainer>, directory: &Path, bytes_max: usize, now: i64) -> Self {
        let count = maintainer.codec.families.len() + maintainer.indexes.len();
        let sorters = (0..count).map(|_| Sorter::new(directory)).collect();
        Sorters {
            maintainer,
            sorters,
            bytes_max,
            row_keys: Vec::new(),
            now,
        }
    }

    fn entries(&self) -> u64 {
        self.sorters.iter().map(Sorter::entries).sum()
    }

    /// Encodes rows for all families and indexes.
    fn add(&mut self, rows: &[Row]) -> Result<(), EngineError> {
        let maintainer = self.maintainer.clone();
        let codec = &maintainer.codec;
        self.row_keys
            .resize_with(self.row_keys.len().max(rows.len()), Vec::new);
        let mut value = Vec::new();
        for (row, key) in rows.iter().zip(&mut self.row_keys) {
            key.clear();
            codec.row_key(row, key)?;
            for (nth, family) in codec.families.iter().enumerate() {
                if nth == 0 || !family.is_absent(row) {
                    value.clear();
                    family.encode(row, codec.times(row, self.now), &mut value)?;
                    self.sorters[nth].add(key, &value);
                }
            }
        }
        let keyed: Vec<KeyedRow<'_>> = self
            .row_keys
            .iter()
            .zip(rows)
            .map(|(key, row)| KeyedRow {
                key,
                row,
                times: codec.times(row, self.now),
            })
            .collect();
        for (nth, index) in maintainer.indexes.iter().enumerate() {
            let sorter = &mut self.sorters[codec.families.len() + nth];
            index.visit_entries(&keyed, &mut |_, key, value| {
                sorter.add(key, value);
                Ok(())
            })?;
        }
        sorter::make_room(&mut self.sorters, self.bytes_max)
    }

    fn targets_of_into(self) -> impl Iterator<Item = (Target, Sorter)> {
        let families = self.maintainer.codec.families.len();
        self.sorters.into_iter().enumerate().map(move |(nth, sorter)| {
            let target = match nth.checked_sub(families) {
                None => Target::Family(nth),
                Some(index) => Target::Index(index),
            };
            (target, sorter)
        })
    }
}

impl Engine {
    /// Returns the file that was loaded last with a journal, if its note was not removed.
    pub fn imported_last(&self, journal: &str) -> Result<Option<String>, EngineError> {
        stored::import_note(self.inner.store.as_ref(), journal)
    }

    /// Removes the note that goes with a journal, durably.
    pub fn forget_import(&self, journal: &str) -> Result<(), EngineError> {
        let _guard = self.inner.lock_writer()?;
        let mut batch = WriteBatch::new();
        stored::delete_import(&mut batch, journal);
        Ok(self.inner.store.write(batch, Durability::Synced)?)
    }
}
