//! Errors of a store: one variant for each case that a caller handles in its own way.

use crate::hex::Hex;
use crate::{LoadFile, LogDamage};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of a store.
///
/// After an error of [`KvStore::write`](crate::KvStore::write) nothing of the batch is visible,
/// and the store can still be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvError {
    /// A table was named that the store or snapshot does not have.
    #[error("table \"{table}\" does not exist")]
    UnknownTable {
        /// The name in the request.
        table: String,
    },
    /// A table was to be created under a name that is taken.
    #[error("table \"{table}\" already exists")]
    TableExists {
        /// The name in the request.
        table: String,
    },
    /// A name that no table can have.
    #[error("invalid table name {name:?}")]
    InvalidTableName {
        /// The name refused.
        name: String,
    },
    /// The path holds something, but not a database.
    #[error("\"{}\" is not a database", path.display())]
    NotADatabase {
        /// The path given at open.
        path: PathBuf,
    },
    /// The path holds nothing, and no database was to be created.
    #[error("database \"{}\" does not exist", path.display())]
    NotFound {
        /// The path given at open.
        path: PathBuf,
    },
    /// Another process, or another handle of this one, has the database open for writing.
    #[error("database \"{}\" is already open", path.display())]
    AlreadyOpen {
        /// The path given at open.
        path: PathBuf,
    },
    /// The path holds something, but not backups, or nothing.
    #[error("\"{}\" is not a directory of backups", path.display())]
    NotBackups {
        /// The path given.
        path: PathBuf,
    },
    /// There is no such backup, or none at all.
    #[error("there is no backup{} in \"{}\"", Number(*id), path.display())]
    UnknownBackup {
        /// The directory of backups.
        path: PathBuf,
        /// The number in the request; none for the newest.
        id: Option<u32>,
    },
    /// A copy of the database was to be made in a directory that holds something.
    #[error("directory \"{}\" already exists", path.display())]
    DirectoryExists {
        /// The path given.
        path: PathBuf,
    },
    /// A copy of the database was to be made in the directory of the database itself.
    #[error("directory \"{}\" is within the database", path.display())]
    InsideDatabase {
        /// The path given.
        path: PathBuf,
    },
    /// A write to a store that is open for reading only.
    #[error("cannot write to a database opened read-only")]
    ReadOnly,
    /// The caller of a scan ended it.
    #[error("the scan was cancelled")]
    Cancelled,
    /// The store was closed.
    #[error("the database is closed")]
    Closed,
    /// The device has no room left; nothing was written.
    #[error("could not {operation}: no space left on device")]
    DiskFull {
        /// What was being done.
        operation: String,
        /// The error of the storage below.
        source: io::Error,
    },
    /// The process, or the system, has no descriptor left for a file.
    #[error("could not {operation}: too many open files")]
    TooManyFiles {
        /// What was being done.
        operation: String,
        /// The error of the storage below.
        source: io::Error,
    },
    /// Storage was opened again in place, after it had no descriptors: what was read from is not there any more.
    #[error("the snapshot is gone: storage was opened again after it had run out of files")]
    SnapshotGone,
    /// Stored bytes are not what was written.
    #[error("corrupt data{}: {message}", Place { table: table.as_deref(), key: key.as_deref() })]
    Corruption {
        /// The table read, where known.
        table: Option<String>,
        /// The key that was read, or the last good key before the damage, where known.
        key: Option<Vec<u8>>,
        /// What the storage found.
        message: String,
    },
    /// The write-ahead log is damaged where no earlier state of the database can be shown: at the beginning of a file, so that
    /// nothing of it can be read, or before what a table has in other files.
    #[error("{}{}", Log(log.as_ref()), Ahead(table.as_deref()))]
    DamagedLog {
        /// The place, where it was found.
        log: Option<LogDamage>,
        /// A table with entries from after that.
        table: Option<String>,
    },
    /// A sorted writer was given a key that is not greater than the one before.
    #[error("key {} is out of order in a load of table \"{table}\"", Hex(key))]
    KeyOrder {
        /// The table to be loaded.
        table: String,
        /// The key refused.
        key: Vec<u8>,
    },
    /// A file to be ingested is not there: ingested before, or discarded.
    #[error("load file \"{file}\" does not exist")]
    UnknownLoadFile {
        /// The file named.
        file: LoadFile,
    },
    /// The store, as it was opened, cannot do this.
    #[error("the store does not support {operation}")]
    Unsupported {
        /// The operation.
        operation: &'static str,
    },
    /// Where a directory is expected there is the URL of a storage.
    #[error("no storage of the scheme \"{scheme}\" is known")]
    UnknownScheme {
        /// The URL as given.
        url: String,
        /// What is before its `://`.
        scheme: String,
    },
    /// The URL of a storage is none, or a file that it names is not of use.
    #[error("{reason}")]
    InvalidUrl {
        /// What is wrong with it, with the URL or the name of the file.
        reason: String,
    },
    /// The servers that have the data could not be reached in time. Nothing was changed.
    #[error("could not {operation}: {reason}")]
    Unreachable {
        /// What was being done.
        operation: String,
        /// What was tried last, with the name of the server.
        reason: String,
    },
    /// The servers that have the data are there, and not ready yet. Nothing was changed.
    #[error("could not {operation}: {reason}")]
    NotReady {
        /// What was being done.
        operation: String,
        /// What a server says.
        reason: String,
    },
    /// A write was sent, and no server could say whether it was carried out.
    #[error("it is not known whether the write was carried out: {reason}")]
    OutcomeUnknown {
        /// Why there is no answer.
        reason: String,
    },
    /// A commit is visible, and it is not known whether it is durable: the sync that it waited for has failed, or one before. So
    /// it is with all that is committed later, until the store is opened again.
    #[error("it is not known whether the commit is durable")]
    NotSynced {
        /// Why the sync of this commit failed; none if it was an earlier one.
        source: Option<Box<KvError>>,
    },
    /// What a snapshot shows is not kept any longer.
    #[error("snapshot too old: {reason}")]
    SnapshotTooOld {
        /// How old it may be.
        reason: String,
    },
    /// Another process has the database now: this one was not heard of for too long.
    #[error("database \"{url}\" was taken over by another process")]
    TakenOver {
        /// The URL given at open.
        url: String,
    },
    /// A key or value is longer than the storage takes.
    #[error("a {what} of {bytes} bytes is longer than storage takes, {bytes_max}")]
    TooLong {
        /// `key` or `value`.
        what: &'static str,
        /// Its length, bytes.
        bytes: u64,
        /// The longest, bytes.
        bytes_max: u64,
    },
    /// Any other failure of the storage below.
    #[error("could not {operation}: {source}")]
    Io {
        /// What was being done, as in "could not …".
        operation: String,
        /// The error of the storage below.
        source: io::Error,
    },
}

impl KvError {
    /// Wraps an error of the file system, with a kind of its own for a full disk.
    pub(crate) fn io(operation: impl Into<String>, source: io::Error) -> KvError {
        let operation = operation.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                KvError::DiskFull { operation, source }
            }
            _ if is_about_descriptors(&source) => KvError::TooManyFiles { operation, source },
            _ => KvError::Io { operation, source },
        }
    }

    /// Whether the trouble passes by itself: there is space again, or a descriptor. The store is as it was, and takes
    /// writes again once it has passed.
    pub fn is_passing(&self) -> bool {
        matches!(self, KvError::DiskFull { .. } | KvError::TooManyFiles { .. })
    }

    /// Whether it is certain that a write which failed so has changed nothing.
    pub fn has_changed_nothing(&self) -> bool {
        !matches!(
            self,
            KvError::OutcomeUnknown { .. }
                | KvError::NotSynced { .. }
                | KvError::Io { .. }
                | KvError::Corruption { .. }
        )
    }

    /// Says that `table` is not there.
    pub fn unknown_table(table: &str) -> KvError {
        KvError::UnknownTable {
            table: table.to_owned(),
        }
    }
}

/// Whether a call failed for lack of a descriptor: the process may have no more of them, or the system.
#[cfg(target_os = "linux")]
fn is_about_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// As above, where the system does not report it.
#[cfg(not(target_os = "linux"))]
fn is_about_descriptors(_: &io::Error) -> bool {
    false
}

/// The number of a backup, as the middle of a message.
struct Number(Option<u32>);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |id| write!(f, " {id}"))
    }
}

/// A damaged log, as the beginning of a message.
struct Log<'a>(Option<&'a LogDamage>);

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(log) => log.fmt(f),
            None => f.write_str("a log file is damaged"),
        }
    }
}

/// What makes damage to a log more than the loss of its end, as the end of a message.
struct Ahead<'a>(Option<&'a str>);

impl fmt::Display for Ahead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(table) => write!(f, ", and storage \"{table}\" has what was written after that"),
            None => f.write_str(", and nothing of it can be read"),
        }
    }
}

/// Where a corruption was met, as the middle of a message.
struct Place<'a> {
    table: Option<&'a str>,
    key: Option<&'a [u8]>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(table) = self.table {
            write!(f, " in table \"{table}\"")?;
        }
        if let Some(key) = self.key {
            write!(f, " at key {}", Hex(key))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_object() {
        let corrupt = |table: Option<&str>, key: Option<&[u8]>| {
            KvError::Corruption {
                table: table.map(str::to_owned),
                key: key.map(<[u8]>::to_vec),
                message: "bad checksum".to_owned(),
            }
            .to_string()
        };
        assert_eq!(corrupt(None, None), "corrupt data: bad checksum");
        assert_eq!(
            corrupt(Some("t"), Some(b"a")),
            "corrupt data in table \"t\" at key 61: bad checksum"
        );
        assert_eq!(
            KvError::unknown_table("t").to_string(),
            "table \"t\" does not exist"
        );
    }

    #[test]
    fn a_full_disk_is_recognized() {
        let full = KvError::io("write", io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, KvError::DiskFull { .. }));
        let other = KvError::io("write", io::Error::from(io::ErrorKind::NotFound));
        assert!(matches!(other, KvError::Io { .. }));
        assert!(full.is_passing() && !other.is_passing());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn used_up_descriptors_are_recognized() {
        for code in [libc::EMFILE, libc::ENFILE] {
            let error = KvError::io("write", io::Error::from_raw_os_error(code));
            assert!(matches!(error, KvError::TooManyFiles { .. }));
            assert_eq!(error.to_string(), "could not write: too many open files");
            assert!(error.is_passing());
        }
    }
}
