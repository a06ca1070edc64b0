//! Whether there is space: for the small writes that make a bulk load part of the database, and for opening a database that refused
//! writes for lack of it.
//!
//! The files of a load are there already, and where space is scarce, what lies among their entries in memory was flushed. What is left are a note in
//! the log and a record in the manifest for each table; one of them refused half way would leave some tables with the load and some without.

use super::available_bytes;
use crate::KvError;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Free bytes that there must be: the log and the manifest may each begin a block of the file system, or a file.
const BYTES_MIN: u64 = 1 << 20;

/// And for each table.
const TABLE_BYTES: u64 = 16 << 10;

/// Free bytes from which a database that refuses writes might take them: more than RocksDB wants before it goes on by itself.
const GO_ON_BYTES: u64 = 64 << 20;

/// Whether there is as much space as there has to be for writes to go on.
pub(super) fn is_back(path: &Path) -> bool {
    available_bytes(path).is_none_or(|available| available >= GO_ON_BYTES)
}

/// Whether writes under way may take all the space that there is in the time of a sync.
pub(super) fn is_short(path: &Path) -> bool {
    available_bytes(path).is_some_and(|available| available < GO_ON_BYTES)
}

/// Fails with `DiskFull` unless the database of `path` can be opened: what its logs hold goes to files then, and a file can be made.
pub(super) fn check_opening(path: &Path) -> Result<(), KvError> {
    let check = || {
        let mut wanted = GO_ON_BYTES;
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "log")
            {
                wanted = wanted.saturating_add(entry.metadata()?.len());
            }
        }
        if available_bytes(path).is_some_and(|available| available < wanted) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        // A file system may have bytes left, and no place for one file more.
        let probe = path.join(PROBE);
        let written = fs::File::create(&probe).and_then(|mut file| file.write_all(&[0; 4096]));
        written.and(fs::remove_file(&probe))
    };
    check().map_err(|error| KvError::io("open the database again", error))
}

/// Name of a file that is made to see whether files can be made; storage passes it by.
const PROBE: &str = "SPACE";

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
        let empty = tempfile::tempdir().expect("there is a directory");
        assert!(check_opening(empty.path()).is_ok() && is_back(empty.path()));
        assert_eq!(fs::read_dir(empty.path()).expect("it is there").count(), 0);
        assert!(!is_scarce(&directory, 0) && is_scarce(&directory, usize::MAX));
        let refused = check(&directory, usize::MAX >> 16);
        assert!(matches!(refused, Err(KvError::DiskFull { .. })), "{refused:?}");
    }
}
