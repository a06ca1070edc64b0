//! The one place where RocksDB's errors become errors of the store.

use super::logs;
use crate::KvError;
use rocksdb::ErrorKind;
use std::io;
use std::path::Path;

/// Turns an error met while doing something, as in "could not …".
pub(super) fn failure(operation: &str, error: rocksdb::Error) -> KvError {
    turn(operation, None, None, error.kind(), error.into_string())
}

/// Turns an error met in a table.
pub(super) fn table_failure(operation: &str, table: &str, error: rocksdb::Error) -> KvError {
    turn(operation, Some(table), None, error.kind(), error.into_string())
}

/// Turns an error met at a key.
pub(super) fn key_failure(operation: &str, table: &str, key: &[u8], error: rocksdb::Error) -> KvError {
    turn(
        operation,
        Some(table),
        Some(key),
        error.kind(),
        error.into_string(),
    )
}

/// Turns an error met while opening a database.
pub(super) fn open_failure(path: &Path, error: rocksdb::Error) -> KvError {
    if error.kind() == ErrorKind::IOError && is_about_the_lock(error.as_ref()) {
        return KvError::AlreadyOpen {
            path: path.to_owned(),
        };
    }
    if error.kind() == ErrorKind::Corruption
        && let Some(table) = table_ahead_of_log(error.as_ref())
    {
        return KvError::DamagedLog {
            log: logs::log_damage(path).into_iter().next(),
            table: Some(table.to_owned()),
        };
    }
    failure(&format!("open database \"{}\"", path.display()), error)
}

/// Returns the column family that has entries from after the damaged place of a log:
/// `… beyond the point of corruption in CF t7. WAL recovery stopped …`.
fn table_ahead_of_log(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("beyond the point of corruption in CF ")?;
    rest.split_once(". ").map(|(table, _)| table)
}

/// Returns whether another process holds the lock of the database:
///
/// - another process: `While lock file: …/LOCK: Resource temporarily unavailable`;
/// - this one: `lock hold by current process, …: …/LOCK: No locks available`.
fn is_about_the_lock(message: &str) -> bool {
    let held = ["Resource temporarily unavailable", "No locks available"];
    message.contains("/LOCK: ") && held.iter().any(|reason| message.contains(reason))
}

fn turn(
    operation: &str,
    table: Option<&str>,
    key: Option<&[u8]>,
    kind: ErrorKind,
    message: String,
) -> KvError {
    let operation = operation.to_owned();
    match kind {
        ErrorKind::Corruption => KvError::Corruption {
            table: table.map(str::to_owned),
            key: key.map(<[u8]>::to_vec),
            message: message.trim_start_matches("Corruption: ").to_owned(),
        },
        ErrorKind::NotSupported if message.contains("read only") => KvError::ReadOnly,
        ErrorKind::IOError
            if ["No space left", "Disk quota exceeded"]
                .iter()
                .any(|full| message.contains(full)) =>
        {
            KvError::DiskFull {
                operation,
                source: io::Error::other(message),
            }
        }
        ErrorKind::IOError if is_about_descriptors(&message) => KvError::TooManyFiles {
            operation,
            source: io::Error::other(message),
        },
        _ => KvError::Io {
            operation,
            source: io::Error::other(message),
        },
    }
}

/// Whether a call failed for lack of a descriptor, EMFILE or ENFILE.
fn is_about_descriptors(message: &str) -> bool {
    message.contains("Too many open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_classified_by_kind_and_message() {
        let turned =
            |kind, message: &str| turn("write", Some("t"), Some(b"a"), kind, message.to_owned()).to_string();
        let cases = [
            (
                ErrorKind::Corruption,
                "Corruption: block checksum mismatch",
                "corrupt data in table \"t\" at key 61: block checksum mismatch",
            ),
            (
                ErrorKind::IOError,
                "IO error: No space left on device: While appending to file: 1.log",
                "could not write: no space left on device",
            ),
            (
                ErrorKind::IOError,
                "IO error: While open a file for appending: 9.log: Too many open files in system",
                "could not write: too many open files",
            ),
            (
                ErrorKind::NotSupported,
                "Not implemented: Not supported operation in read only mode.",
                "cannot write to a database opened read-only",
            ),
            (
                ErrorKind::IOError,
                "IO error: While fsync: 1.log: x",
                "could not write: IO error: While fsync: 1.log: x",
            ),
        ];
        for (kind, message, expected) in cases {
            assert_eq!(turned(kind, message), expected);
        }
    }

    #[test]
    fn a_table_ahead_of_a_damaged_log_is_named() {
        let message = "Corruption: Column family inconsistency: SST file contains data beyond the point of corruption in CF \
                       shared.0.zstd. WAL recovery stopped at corruption point, but SST files contain newer data.";
        assert_eq!(table_ahead_of_log(message), Some("shared.0.zstd"));
        assert_eq!(table_ahead_of_log("Corruption: bad record length"), None);
    }

    #[test]
    fn a_held_lock_is_recognized() {
        assert!(is_about_the_lock(
            "IO error: While lock file: /d/LOCK: Resource temporarily unavailable"
        ));
        assert!(!is_about_the_lock(
            "IO error: While open a file for lock: /d/LOCK: Permission denied"
        ));
    }
}
