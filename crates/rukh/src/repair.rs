//! Repair of a damaged database: what can be read of it, as a database of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rukh_kv::{KvError, KvStore, LogDamage, RocksOptions, RocksStore, check_directory, log_damage};
use rukh_sql::{CounterMerge, Repair};

use crate::{Error, Result};

/// Writes what can be read of the database at `damaged` into a new database at `directory`, which must be empty or not there, and says what
/// became of each table. The damaged database is only read; no process should write it meanwhile.
///
/// Until it is complete the new database has `.repairing` behind its name. Rows that cannot be read, or do not decode, are left out; indexes are
/// filled again from the rows. Where a log is damaged in the middle, changes from before and after that place are kept: a statement is there as a
/// whole or not at all, but one that came later may be there without one that came earlier.
///
/// ```
/// # use rukh::{Database, Error};
/// # let place = std::env::temp_dir().join(format!("rukh-repair-{}", std::process::id()));
/// # let (data, again) = (place.join("data"), place.join("again"));
/// let database = Database::open(&data)?;
/// database.connect().execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")?;
/// database.connect().execute("INSERT INTO t VALUES (1), (2)")?;
/// # drop(database);
/// let repair = rukh::repair(&data, &again)?;
/// assert!(repair.is_whole());
/// assert_eq!(repair.to_string(), "t: 2 rows kept, none known to be lost\n");
/// # std::fs::remove_dir_all(&place).ok();
/// # Ok::<(), Error>(())
/// ```
pub fn repair(damaged: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<Repair> {
    let (damaged, directory) = (damaged.as_ref(), directory.as_ref());
    check_directory(directory).map_err(rukh_sql::storage_error)?;
    check_empty(directory)?;
    let partial = with_ending(directory, ".repairing");
    let source = salvage(damaged).map_err(rukh_sql::storage_error)?;
    check_empty(&partial)?;
    let repaired = write(&source, &partial);
    let done = repaired.and_then(|mut repair| {
        let lost = |log: &LogDamage| format!("{log}: the statements that were written there are lost");
        repair.remarks.extend(log_damage(damaged).iter().map(lost));
        let moved = std::fs::rename(&partial, directory);
        moved.map_err(|error| system_error("rename", &partial, &error))?;
        Ok(repair)
    });
    if done.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_dir_all(&partial);
    }
    done
}

fn write(source: &RocksStore, partial: &Path) -> Result<Repair> {
    let options = RocksOptions {
        merge: Some(Arc::new(CounterMerge)),
        ..RocksOptions::default()
    };
    let target = RocksStore::open(partial, &options).map_err(rukh_sql::storage_error)?;
    rukh_sql::repair(source, Arc::new(target))
}

/// Opens a damaged database as far as it can be read.
pub(crate) fn salvage(path: &Path) -> Result<RocksStore, KvError> {
    let options = RocksOptions {
        read_only: true,
        salvage: true,
        create_if_missing: false,
        merge: Some(Arc::new(CounterMerge)),
        ..RocksOptions::default()
    };
    RocksStore::open(path, &options)
}

/// Turns an error of opening the database at `path`: that of a damaged log names the owner of the damaged storage.
pub(crate) fn opening_error(path: &Path, error: KvError) -> Error {
    if !matches!(error, KvError::DamagedLog { .. }) {
        return rukh_sql::storage_error(error);
    }
    let salvaged = salvage(path);
    rukh_sql::damaged_log(error, salvaged.as_ref().ok().map(|store| store as &dyn KvStore))
}

fn check_empty(directory: &Path) -> Result<()> {
    let is_empty = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(system_error("open", directory, &error)),
    };
    match is_empty {
        true => Ok(()),
        false => Err(rukh_sql::storage_error(KvError::DirectoryExists {
            path: directory.to_owned(),
        })),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn system_error(verb: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!(
        "could not {verb} directory \"{}\": {error}",
        path.display()
    ))
}
