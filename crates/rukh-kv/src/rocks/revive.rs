//! A database that stopped writing for lack of descriptors, or of space, goes on once there are some.
//!
//! RocksDB takes EMFILE and ENFILE for the end of the device, and refuses all writes until it is opened again: what it calls resuming
//! is for other errors. Nothing is lost by that, as everything acknowledged is in the log. So the store opens it again, in
//! place, with the next write, if there are no readers and there are descriptors. While there is a cursor, or a load writes files, writes
//! are refused; an idle snapshot is taken away, and reads from it fail from then on. Calls that come while the database is
//! opened wait.
//!
//! After want of space RocksDB goes on by itself, within some seconds of there being some: but not where a new log found no place (a disk may
//! have no room for one file more), nor always where a log did. A database that still refuses writes [`SPACE_PATIENCE`] after there was space is
//! opened again in the same way.

use super::failure::failure;
use super::opened::Open;
use super::{RocksStore, open, options, space};
use crate::{KvError, TableOptions};
use parking_lot::Mutex;
use rocksdb::{DB, WriteBatch};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Descriptors that a flush, or files that become part of the database, may want at once.
pub(super) const DESCRIPTORS_MIN: usize = 32;

/// How long writes are refused for lack of space that is there before the database is opened again. RocksDB looks every five seconds.
const SPACE_PATIENCE: Duration = Duration::from_secs(20);

/// Since when writes have been refused for lack of space though there is some.
#[derive(Default)]
pub(super) struct Refusals {
    /// Whether `since` is set, for writers that are not refused.
    are_noted: AtomicBool,
    since: Mutex<Option<Instant>>,
}

impl Refusals {
    /// Notes one; returns whether they have gone on for too long.
    fn note(&self, path: &Path) -> bool {
        let mut since = self.since.lock();
        if space::is_back(path) {
            let since = *since.get_or_insert_with(Instant::now);
            self.are_noted.store(true, Ordering::Relaxed);
            return since.elapsed() >= SPACE_PATIENCE;
        }
        *since = None;
        false
    }

    /// A write was taken.
    fn end(&self) {
        if self.are_noted.load(Ordering::Relaxed) {
            *self.since.lock() = None;
            self.are_noted.store(false, Ordering::Relaxed);
        }
    }
}

/// What writes were refused for.
#[derive(Clone, Copy)]
enum Want {
    Descriptors,
    Space,
}

/// How tables were stored when the database was closed to be opened again, by name: storage does not keep that.
pub(super) type Before = Vec<(Arc<str>, TableOptions)>;

impl RocksStore {
    /// Runs an operation that writes, and changes nothing when it fails for lack of descriptors or of space; once more, if there are some.
    pub(super) fn patiently<T>(&self, operation: impl Fn() -> Result<T, KvError>) -> Result<T, KvError> {
        let outcome = operation();
        match &outcome {
            Ok(_) => self.refusals.end(),
            Err(KvError::TooManyFiles { .. }) if self.revive(Want::Descriptors) => return operation(),
            Err(KvError::DiskFull { .. }) if self.refusals.note(&self.path) && self.revive(Want::Space) => {
                return operation();
            }
            Err(_) => {}
        }
        outcome
    }

    /// Has a database that stopped writing for lack of descriptors or of space write again, if it can, before an operation that cannot be run
    /// twice.
    pub(super) fn awaken(&self) {
        // The operation reports the error.
        let _ = self.patiently(|| self.takes_writes(&self.writable()?.db));
    }

    /// Returns whether the database takes writes, opened again if it refused them.
    fn revive(&self, want: Want) -> bool {
        // No table comes or goes meanwhile.
        let _definition = self.definition.lock();
        let mut guard = self.open.write();
        let Some(present) = guard.as_ref() else {
            return false;
        };
        match (want, self.takes_writes(&present.db)) {
            (Want::Descriptors, Err(KvError::TooManyFiles { .. })) => {}
            (Want::Descriptors, outcome) => return outcome.is_ok(),
            // A write of nothing may be taken though the log takes no record. What is not known to be in the log stays unknown.
            (Want::Space, _) if self.log.lock().is_in_doubt => return false,
            (Want::Space, _) if space::check_opening(&self.path).is_err() => return false,
            (Want::Space, _) => {}
        }
        let wanted = DESCRIPTORS_MIN + options::files_at_open();
        if check_descriptors(wanted).is_err() || !self.lent.take_away(present) {
            return false;
        }
        let known = present.tables.values().filter(|table| table.share.is_none());
        *self.before.lock() = known
            .map(|table| (table.name.clone(), table.options.lock().clone()))
            .collect();
        // No other thread has it, so that it is closed now.
        drop(guard.take());
        *guard = self.reopened().ok();
        self.log.lock().was_full = false;
        self.refusals.end();
        guard.is_some()
    }

    /// Opens the database again of which opening failed after it was closed to be opened again.
    pub(super) fn open_again(&self) -> Result<(), KvError> {
        let mut guard = self.open.write();
        if self.closed.load(Ordering::Acquire) {
            return Err(KvError::Closed);
        }
        if guard.is_none() {
            *guard = Some(self.reopened()?);
        }
        Ok(())
    }

    fn reopened(&self) -> Result<Open, KvError> {
        let names = open::family_names(&self.path, &self.options)?;
        let db = open::open_database(&self.path, &names, &self.options, &self.cache, &self.purges)?;
        let db = Arc::new(db);
        let (tables, shared, _) = open::find_tables(&db, &names, self.options.read_only)?;
        for (name, options) in &*self.before.lock() {
            if let Some(table) = tables.get(name) {
                self.configure(table, options)?;
            }
        }
        Ok(Open::new(db, tables, shared))
    }

    /// Fails as a write does; what is written is nothing.
    pub(super) fn takes_writes(&self, db: &DB) -> Result<(), KvError> {
        let written = db.write_opt(WriteBatch::default(), &self.buffered);
        written.map_err(|error| failure("write", error))
    }
}

/// Fails with `TooManyFiles` unless so many files can be opened at present.
pub(super) fn check_descriptors(count: usize) -> Result<(), KvError> {
    #[cfg(unix)]
    {
        let some: Result<Vec<File>, _> = (0..count).map(|_| File::open("/dev/null")).collect();
        drop(some.map_err(|error| KvError::io("open files", error))?);
    }
    Ok(())
}
