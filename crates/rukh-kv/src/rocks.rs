//! RocksDB behind the traits: one database; a table has a column family of its own or shares one.
//!
//! The binding's snapshots, iterators, column families and file writers borrow from the database
//! or from options. Cursors and snapshots of Rukh are owned, so this file, and no other in the
//! workspace, extends those borrows: each handle below pairs a binding object with owners of all
//! that it borrows from, and drops the object before the owners.
//!
//! What is built on the handles: `store` (writes), `open`, `tables` (made and dropped), `share` and
//! `directory` (tables that share column families), `snapshot` (gets, scans), `load` (bulk loads), `split`,
//! `sample` and `usage` (sizes), `compact`, `backup`, `options`, and `failure` (errors).
//!
//! As the one file with unsafe code this one also has calls of the system: [`step_aside`], as RocksDB's threads inherit the niceness of
//! those that start them, [`raise_descriptor_limit`] and the free space of a file system.
//!
//! Deliberately not here: RocksDB's transactions (the engine locks rows itself) and any second
//! database; everything shares one write-ahead log.

#![allow(unsafe_code)]

mod backup;
mod compact;
mod directory;
mod failure;
mod load;
mod logs;
mod open;
mod opened;
mod options;
mod purge;
mod revive;
mod sample;
mod share;
mod snapshot;
mod space;
mod split;
mod store;
mod tables;
mod usage;

pub use backup::{Backup, Backups};
pub use logs::{LogDamage, log_damage};
pub use options::RocksOptions;
pub use store::RocksStore;

use crate::TableOptions;
use parking_lot::Mutex;
use rocksdb::{
    BoundColumnFamily, DB, DBRawIteratorWithThreadMode, Options, ReadOptions, SnapshotWithThreadMode,
    SstFileWriter,
};
use sample::KeySample;
use share::Share;
use std::mem::transmute;
use std::sync::Arc;

/// A table, usable as long as this handle lives, dropped from the database or not.
///
/// Invariant: fields drop in the order of declaration, so the column family goes before the
/// database it borrows from.
struct TableHandle {
    family: Arc<BoundColumnFamily<'static>>,
    db: Arc<DB>,
    name: Arc<str>,
    /// Of what is written to the column family.
    sample: Arc<KeySample>,
    /// How the table is stored, for files that are written for it.
    options: Mutex<TableOptions>,
    /// Its part of the column family; none where that is its own.
    share: Option<Share>,
}

impl TableHandle {
    /// Looks a column family up by name.
    fn find(db: &Arc<DB>, name: &str) -> Option<TableHandle> {
        let family = db.cf_handle(name)?;
        // SAFETY: the borrow is of `db`, and only its lifetime changes. The database lives in an
        // `Arc` of which this handle owns a share and which it drops after the column family;
        // nothing gives the column family out without a borrow of the handle.
        let family: Arc<BoundColumnFamily<'static>> = unsafe { transmute(family) };
        Some(TableHandle {
            family,
            db: Arc::clone(db),
            name: name.into(),
            sample: Arc::default(),
            options: Mutex::default(),
            share: None,
        })
    }

    /// Returns a table that has part of this column family.
    fn part(&self, name: &str, share: Share) -> TableHandle {
        TableHandle {
            // Both own a share of the database.
            family: Arc::clone(&self.family),
            db: Arc::clone(&self.db),
            name: name.into(),
            sample: Arc::clone(&self.sample),
            options: Mutex::new(self.options.lock().clone()),
            share: Some(share),
        }
    }
}

/// A snapshot of the database.
///
/// Invariant: as for [`TableHandle`].
struct PinnedSnapshot {
    snapshot: SnapshotWithThreadMode<'static, DB>,
    /// Keeps alive what `snapshot` borrows from.
    _db: Arc<DB>,
}

impl PinnedSnapshot {
    fn new(db: &Arc<DB>) -> PinnedSnapshot {
        let snapshot = db.snapshot();
        // SAFETY: the borrow is of `db`, and only its lifetime changes. This handle owns a share
        // of the `Arc` that the database lives in, drops it after the snapshot, and does not give
        // the snapshot out without a borrow of itself.
        let snapshot = unsafe {
            transmute::<SnapshotWithThreadMode<'_, DB>, SnapshotWithThreadMode<'static, DB>>(snapshot)
        };
        PinnedSnapshot {
            snapshot,
            _db: Arc::clone(db),
        }
    }

    /// Makes reads with these options see the snapshot. The options hold a bare pointer to it:
    /// the owner of the options must keep the snapshot, too.
    fn apply_to(&self, options: &mut ReadOptions) {
        options.set_snapshot(&self.snapshot);
    }
}

/// An iterator over a table.
///
/// Invariant: as for [`TableHandle`]; the iterator goes before the table and the snapshot that its
/// read options point to.
struct PinnedIterator {
    iterator: DBRawIteratorWithThreadMode<'static, DB>,
    /// Keeps alive what `iterator` borrows from: the table and, through it, the database.
    _table: Arc<TableHandle>,
    /// Keeps alive what the read options point to.
    _snapshot: Option<Arc<PinnedSnapshot>>,
}

impl PinnedIterator {
    /// Makes an iterator with these options, which reads at `snapshot` or, without one, at the
    /// present state.
    fn new(
        table: &Arc<TableHandle>,
        snapshot: Option<&Arc<PinnedSnapshot>>,
        mut options: ReadOptions,
    ) -> PinnedIterator {
        if let Some(snapshot) = snapshot {
            snapshot.apply_to(&mut options);
        }
        let iterator = table.db.raw_iterator_cf_opt(&table.family, options);
        // SAFETY: the borrow is of the database, and only its lifetime changes. This handle owns
        // the table, which owns a share of the database, and the snapshot; it drops both after
        // the iterator and does not give the iterator out without a borrow of itself.
        let iterator = unsafe {
            transmute::<DBRawIteratorWithThreadMode<'_, DB>, DBRawIteratorWithThreadMode<'static, DB>>(
                iterator,
            )
        };
        PinnedIterator {
            iterator,
            _table: Arc::clone(table),
            _snapshot: snapshot.map(Arc::clone),
        }
    }
}

/// A writer of one file of sorted entries.
///
/// Invariant: as for [`TableHandle`]; the writer goes before its options.
struct PinnedFileWriter {
    writer: SstFileWriter<'static>,
    /// Keeps alive what `writer` borrows from; shared, so that they do not move.
    _options: Arc<Options>,
}

impl PinnedFileWriter {
    fn new(options: &Arc<Options>) -> PinnedFileWriter {
        let writer = SstFileWriter::create(options);
        // SAFETY: the borrow is of `options`, and only its lifetime changes. This handle owns a
        // share of the `Arc` that the options live in, drops it after the writer, and does not
        // give the writer out without a borrow of itself.
        let writer = unsafe { transmute::<SstFileWriter<'_>, SstFileWriter<'static>>(writer) };
        PinnedFileWriter {
            writer,
            _options: Arc::clone(options),
        }
    }

    /// Starts the file at `path`.
    fn open(&self, path: &std::path::Path) -> Result<(), rocksdb::Error> {
        // SAFETY: the binding asks for a borrow of the writer as long as the options', though it
        // keeps none: the call ends when the file is open.
        let writer =
            unsafe { transmute::<&SstFileWriter<'static>, &'static SstFileWriter<'static>>(&self.writer) };
        writer.open(path)
    }
}

/// Returns the bytes that the file system of `path` has for a process without privileges; `None` where the system does not say.
#[cfg(target_os = "linux")]
#[allow(clippy::useless_conversion)] // of other widths on other systems
fn available_bytes(path: &std::path::Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the call reads a string that ends with NUL and writes a structure that is large enough; it is read only where the
    // call says that it was written.
    let found = unsafe {
        match libc::statvfs(path.as_ptr(), found.as_mut_ptr()) {
            0 => found.assume_init(),
            _ => return None,
        }
    };
    Some(u64::from(found.f_bavail).saturating_mul(u64::from(found.f_frsize)))
}

/// As above, where the system does not report it.
#[cfg(not(target_os = "linux"))]
fn available_bytes(_: &std::path::Path) -> Option<u64> {
    None
}

/// Lets this process have as many descriptors as the system allows it, and returns how many these are: the soft limit becomes the hard
/// one. `None` where there is no such limit. Called at the start of a program, before a database is opened, which reads the limit.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast)] // of other widths on other systems
pub fn raise_descriptor_limit() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls read or write the structure given, which lives longer than they run.
    let raised = unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return None;
        }
        let wanted = libc::rlimit {
            rlim_cur: limit.rlim_max,
            ..limit
        };
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) == 0
    };
    Some(if raised { limit.rlim_max } else { limit.rlim_cur } as u64)
}

/// As above, where there is no such limit.
#[cfg(not(target_os = "linux"))]
pub fn raise_descriptor_limit() -> Option<u64> {
    None
}

/// What is added to the niceness of a thread that steps aside: it gets a tenth of the processor where another wants all of it,
/// and gives way at once to one that has been waiting.
#[cfg(target_os = "linux")]
const NICENESS: libc::c_int = 10;

/// Has the calling thread, and those that it starts from now on, give way to the others of the process; there is no way back, so it is
/// for threads that end with their work. On Linux niceness is a thread's; elsewhere this does nothing.
pub fn step_aside() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call takes numbers and changes how this thread is scheduled. Should it fail, the thread works as others do.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
        }
    }
}
