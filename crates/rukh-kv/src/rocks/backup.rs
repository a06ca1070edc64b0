//! Backups: states of a database, one after another, in a directory of their own.
//!
//! RocksDB's backup engine makes them. A sorted file never changes, so a backup copies only those that
//! no earlier backup in the directory has; the log and the manifest are copied each time. Each file is
//! kept with its checksum, which a restore compares.
//!
//! Deliberately not here: when a state may be copied. A writer of several steps, as a load of
//! many files is, keeps backups away meanwhile.

use super::failure::failure;
use crate::{KvError, check_directory};
use parking_lot::Mutex;
use rocksdb::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use rocksdb::{DB, Env};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Every directory of backups has this directory inside: one file for each backup.
const MARK: &str = "meta";

/// Within a directory of backups, where a restore is tried.
const TRIAL: &str = "trial";

/// Files copied at once.
const COPIES: i32 = 2;

/// What is known of one backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Its number; later backups have higher ones.
    pub id: u32,
    /// When it was made.
    pub taken: SystemTime,
    /// Size of its files, those shared with other backups included. In bytes.
    pub bytes: u64,
    /// Number of its files.
    pub files: u32,
}

/// A directory of backups. One process at a time may change it.
pub struct Backups {
    path: PathBuf,
    engine: Mutex<BackupEngine>,
}

impl Backups {
    /// Opens a directory of backups. Error `NotBackups` where there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Backups, KvError> {
        let path = path.as_ref();
        check_directory(path)?;
        match path.join(MARK).is_dir() {
            true => Backups::start(path),
            false => Err(KvError::NotBackups {
                path: path.to_owned(),
            }),
        }
    }

    /// Opens a directory of backups, or makes one where there is nothing.
    pub(super) fn open_or_create(path: &Path) -> Result<Backups, KvError> {
        if is_empty(path)? {
            fs::create_dir_all(path)
                .map_err(|error| KvError::io(format!("create directory \"{}\"", path.display()), error))?;
            Backups::start(path)
        } else {
            Backups::open(path)
        }
    }

    fn start(path: &Path) -> Result<Backups, KvError> {
        let operation = format!("open backups \"{}\"", path.display());
        let open = || {
            let mut options = BackupEngineOptions::new(path)?;
            options.set_max_background_operations(COPIES);
            BackupEngine::open(&options, &Env::new()?)
        };
        Ok(Backups {
            path: path.to_owned(),
            engine: Mutex::new(open().map_err(|error| failure(&operation, error))?),
        })
    }

    /// Returns the backups, oldest first.
    pub fn list(&self) -> Vec<Backup> {
        let mut infos = self.engine.lock().get_backup_info();
        infos.sort_by_key(|info| info.backup_id);
        infos
            .into_iter()
            .map(|info| Backup {
                id: info.backup_id,
                taken: SystemTime::UNIX_EPOCH + Duration::from_secs(info.timestamp.max(0).unsigned_abs()),
                bytes: info.size,
                files: info.num_files,
            })
            .collect()
    }

    /// Compares every file of a backup with its checksum, by a restore on trial within the directory of
    /// backups, which takes as much space as the database for as long as it runs.
    pub fn verify(&self, id: u32) -> Result<(), KvError> {
        let trial = self.path.join(TRIAL);
        let clear = || match fs::remove_dir_all(&trial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(KvError::io("remove a trial restore", error))
            }
            _ => Ok(()),
        };
        clear()?;
        self.restore(Some(id), &trial)?;
        clear()
    }

    /// Removes all backups but the newest, with the files that no other backup has.
    pub fn keep(&self, newest: usize) -> Result<(), KvError> {
        let purged = self.engine.lock().purge_old_backups(newest);
        purged.map_err(|error| failure("remove old backups", error))
    }

    /// Writes the database of a backup, the newest unless one is named, into a directory that is empty
    /// or not there; returns which it was. Every file is compared with its checksum.
    ///
    /// After an error the directory is as it was before.
    pub fn restore(&self, id: Option<u32>, directory: &Path) -> Result<Backup, KvError> {
        check_directory(directory)?;
        let backup = self.find(id)?;
        let existed = directory.exists();
        if !is_empty(directory)? {
            return Err(KvError::DirectoryExists {
                path: directory.to_owned(),
            });
        }
        let restored = {
            // An engine of its own: its threads may still write when it gives an error, and end with it.
            let mut engine = Backups::start(&self.path)?.engine.into_inner();
            engine.restore_from_backup(directory, directory, &RestoreOptions::default(), backup.id)
        };
        restored.map_err(|error| {
            // The first error is the one to report.
            let _ = fs::remove_dir_all(directory);
            if existed {
                let _ = fs::create_dir(directory);
            }
            failure(&format!("restore backup {}", backup.id), error)
        })?;
        Ok(backup)
    }

    fn find(&self, id: Option<u32>) -> Result<Backup, KvError> {
        let mut backups = self.list();
        let found = match id {
            None => backups.pop(),
            Some(id) => backups.into_iter().find(|backup| backup.id == id),
        };
        found.ok_or_else(|| KvError::UnknownBackup {
            path: self.path.clone(),
            id,
        })
    }

    /// Adds a backup of the present state and makes sure that its files are there.
    pub(super) fn add(&self, db: &DB) -> Result<Backup, KvError> {
        let made = self.engine.lock().create_new_backup_flush(db, true);
        made.map_err(|error| failure("write a backup", error))?;
        let backup = self.find(None)?;
        // The engine that wrote the files compares their sizes with what it wrote.
        let verified = self.engine.lock().verify_backup(backup.id);
        verified.map_err(|error| failure(&format!("verify backup {}", backup.id), error))?;
        Ok(backup)
    }
}

/// Returns whether there is nothing at a path, or an empty directory.
fn is_empty(path: &Path) -> Result<bool, KvError> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(KvError::io(
            format!("open directory \"{}\"", path.display()),
            error,
        )),
    }
}
