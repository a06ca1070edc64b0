//! Whether there is space for the small writes that make a bulk load part of the database.
//!
//! The files of a load are there already, and where space is scarce, what lies among their entries in memory was flushed. What is left are a note in
//! the log and a record in the manifest for each table; one of them refused half way would leave some tables with the load and some without.

use super::available_bytes;
use crate::KvError;
use std::io;
use std::path::Path;

/// Free bytes that there must be: the log and the manifest may each begin a block of the file system, or a file.
const BYTES_MIN: u64 = 1 << 20;

/// And for each table.
const TABLE_BYTES: u64 = 16 << 10;

/// Whether all that lies in memory, so many bytes at most, might find no space in files.
pub(super) fn is_scarce(path: &Path, buffered: usize) -> bool {
    available_bytes(path).is_some_and(|available| available / 2 < buffered as u64)
}

/// Fails with `DiskFull` unless the file system of `path` has space for what is said above.
pub(super) fn check(path: &Path, tables: usize) -> Result<(), KvError> {
    let wanted = BYTES_MIN + TABLE_BYTES * tables as u64;
    match available_bytes(path) {
        Some(available) if available < wanted => Err(KvError::io(
            "load files",
            io::Error::from(io::ErrorKind::StorageFull),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_refused() {
        let directory = std::env::temp_dir();
        assert!(check(&directory, 3).is_ok());
        assert!(!is_scarce(&directory, 0) && is_scarce(&directory, usize::MAX));
        let refused = check(&directory, usize::MAX >> 16);
        assert!(matches!(refused, Err(KvError::DiskFull { .. })), "{refused:?}");
    }
}
