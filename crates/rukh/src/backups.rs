//! Backups of databases, as `BACKUP DATABASE TO 'directory'` makes them.

use std::path::Path;

use rukh_kv::Backup;

use crate::Result;

/// A directory of backups.
///
/// ```
/// # use rukh::{Backups, Database};
/// # let place = std::env::temp_dir().join(format!("rukh-backups-{}", std::process::id()));
/// # let (data, kept, again) = (place.join("data"), place.join("kept"), place.join("again"));
/// let database = Database::open(&data)?;
/// let mut connection = database.connect();
/// connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")?;
/// connection.execute("INSERT INTO t VALUES (1)")?;
/// connection.execute(&format!("BACKUP DATABASE TO '{}'", kept.display()))?;
/// connection.execute("INSERT INTO t VALUES (2)")?;
///
/// let backups = Backups::open(&kept)?;
/// backups.restore(None, &again)?;
/// let mut rows = Database::open(&again)?.connect().query("SELECT max(id) FROM t")?;
/// assert_eq!(rows.next_row()?.map(|row| row.get::<i64>(0)).transpose()?, Some(1));
/// # drop((rows, connection, database));
/// # std::fs::remove_dir_all(&place).ok();
/// # Ok::<(), rukh::Error>(())
/// ```
pub struct Backups(rukh_kv::Backups);

impl Backups {
    /// Opens a directory of backups; fails with 58P01 where there is none.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        let backups = rukh_kv::Backups::open(directory);
        backups.map(Backups).map_err(rukh_sql::storage_error)
    }

    /// Returns the backups, oldest first.
    pub fn list(&self) -> Vec<Backup> {
        self.0.list()
    }

    /// Fails with XX001 when a file of the backup is not as it was written. A restore on trial, within the
    /// directory of backups, finds out.
    pub fn verify(&self, id: u32) -> Result<()> {
        self.0.verify(id).map_err(rukh_sql::storage_error)
    }

    /// Removes all backups but the newest.
    pub fn keep(&self, newest: usize) -> Result<()> {
        self.0.keep(newest).map_err(rukh_sql::storage_error)
    }

    /// Writes the database of a backup, the newest unless one is named, into a directory that is empty
    /// or not there. Every file is compared with its checksum; after an error there is nothing.
    pub fn restore(&self, id: Option<u32>, directory: impl AsRef<Path>) -> Result<Backup> {
        let restored = self.0.restore(id, directory.as_ref());
        restored.map_err(rukh_sql::storage_error)
    }
}
