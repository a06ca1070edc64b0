//! Bulk loads: sorted entries written straight into files of the database's own format.
//!
//! Files lie in the directory `load` inside the database until they are ingested, which moves
//! them. Their names hold the time of the open and a counter, so that no name comes twice, and the number of
//! a table that shares its column family: keys in files are those of the column family, so that they
//! belong to no table but the one that they were written for.

use super::failure::table_failure;
use super::{PinnedFileWriter, TableHandle};
use crate::{KvError, LoadFile, SortedWriter};
use rocksdb::{IngestExternalFileOptions, Options};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file is completed, and the next begun, at this size. In bytes.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// Ending of the files' names.
const ENDING: &str = ".sst";

/// The directory of files that wait to be ingested.
pub(super) struct LoadDirectory {
    path: PathBuf,
    opened: u128,
    made: AtomicU64,
}

impl LoadDirectory {
    pub(super) fn new(database: &Path) -> LoadDirectory {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        LoadDirectory {
            path: database.join("load"),
            opened: since_epoch.as_nanos(),
            made: AtomicU64::new(0),
        }
    }

    /// Returns the names of the files there.
    pub(super) fn files(&self) -> Result<Vec<LoadFile>, KvError> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| KvError::io("read the load directory", error))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| KvError::io("read the load directory", error))?;
            files.extend(
                entry
                    .file_name()
                    .into_string()
                    .ok()
                    .filter(|name| name.ends_with(ENDING))
                    .map(LoadFile::new),
            );
        }
        files.sort();
        Ok(files)
    }

    /// Removes all files but those to keep.
    pub(super) fn discard(&self, keep: &[LoadFile]) -> Result<(), KvError> {
        let strays: Vec<LoadFile> = self
            .files()?
            .into_iter()
            .filter(|file| !keep.contains(file))
            .collect();
        self.remove(&strays)
    }

    /// Removes these files, as far as they are there.
    pub(super) fn remove(&self, files: &[LoadFile]) -> Result<(), KvError> {
        files
            .iter()
            .try_for_each(|file| match fs::remove_file(self.path_of(file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(KvError::io(format!("remove load file \"{file}\""), error))
                }
                _ => Ok(()),
            })
    }

    /// Empties these files, as far as they are there, durably.
    pub(super) fn abandon(&self, files: &[LoadFile]) -> Result<(), KvError> {
        for file in files {
            let path = self.path_of(file);
            let emptied = fs::OpenOptions::new().write(true).truncate(true).open(path);
            match emptied.and_then(|file| file.sync_all()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(KvError::io(format!("empty load file \"{file}\""), error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a file is there and empty: one with entries never is.
    pub(super) fn is_abandoned(&self, file: &LoadFile) -> Result<bool, KvError> {
        match fs::metadata(self.path_of(file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            found => found
                .map(|found| found.len() == 0)
                .map_err(|error| KvError::io(format!("look at load file \"{file}\""), error)),
        }
    }

    /// Moves files into a table, all at once.
    pub(super) fn ingest(&self, table: &TableHandle, files: &[LoadFile]) -> Result<(), KvError> {
        let paths: Vec<_> = files.iter().map(|file| self.path_of(file)).collect();
        let share = number_part(table);
        let is_of_table = |file: &LoadFile| number_in(file) == share.as_deref();
        let mut both = files.iter().zip(&paths);
        if let Some((file, _)) = both.find(|(file, path)| !is_of_table(file) || !path.is_file()) {
            return Err(KvError::UnknownLoadFile { file: file.clone() });
        }
        if paths.is_empty() {
            return Ok(());
        }
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        let result = table
            .db
            .ingest_external_file_cf_opts(&table.family, &options, paths);
        result.map_err(|error| table_failure(&format!("load table \"{}\"", table.name), &table.name, error))
    }

    fn next_file(&self, table: &TableHandle) -> LoadFile {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let opened = self.opened;
        LoadFile::new(match number_part(table) {
            None => format!("{opened:x}-{number}{ENDING}"),
            Some(share) => format!("{opened:x}-{number}-{share}{ENDING}"),
        })
    }

    /// Returns the path of a file. A name that another program wrote cannot lead elsewhere.
    fn path_of(&self, file: &LoadFile) -> PathBuf {
        self.path
            .join(Path::new(file.as_str()).file_name().unwrap_or_default())
    }
}

/// Returns the number of a table that shares its column family, as names of files have it.
fn number_part(table: &TableHandle) -> Option<String> {
    table.share.as_ref().map(|share| share.number.to_string())
}

/// Returns the number in the name of a file, if there is one.
fn number_in(file: &LoadFile) -> Option<&str> {
    file.as_str().strip_suffix(ENDING)?.splitn(3, '-').nth(2)
}

/// A load under way.
pub(super) struct RocksWriter {
    table: Arc<TableHandle>,
    directory: Arc<LoadDirectory>,
    options: Arc<Options>,
    /// The file being written; always the last of `files`.
    open: Option<PinnedFileWriter>,
    files: Vec<LoadFile>,
    /// The last key, as the column family has it.
    last: Vec<u8>,
    /// For the next one.
    buffer: Vec<u8>,
    entries: u64,
    finished: bool,
}

impl RocksWriter {
    pub(super) fn new(
        table: Arc<TableHandle>,
        directory: Arc<LoadDirectory>,
        options: Options,
    ) -> RocksWriter {
        RocksWriter {
            table,
            directory,
            options: Arc::new(options),
            open: None,
            files: Vec::new(),
            last: Vec::new(),
            buffer: Vec::new(),
            entries: 0,
            finished: false,
        }
    }

    fn failure(&self, error: rocksdb::Error) -> KvError {
        table_failure("write a load file", &self.table.name, error)
    }

    /// Returns the writer of the open file, starting one if there is none.
    fn writer(&mut self) -> Result<&mut PinnedFileWriter, KvError> {
        if self.open.is_none() {
            let path = &self.directory.path;
            fs::create_dir_all(path).map_err(|error| KvError::io("create the load directory", error))?;
            let file = self.directory.next_file(&self.table);
            let writer = PinnedFileWriter::new(&self.options);
            writer
                .open(&self.directory.path_of(&file))
                .map_err(|error| self.failure(error))?;
            self.files.push(file);
            self.open = Some(writer);
        }
        Ok(self.open.as_mut().expect("a file was opened above"))
    }

    fn complete_file(&mut self) -> Result<(), KvError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        open.writer.finish().map_err(|error| self.failure(error))
    }

    /// Adds an entry, or without a value the removal of one.
    fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), KvError> {
        let mut native = std::mem::take(&mut self.buffer);
        self.table.put_native(key, &mut native);
        if self.entries > 0 && self.last >= native {
            return Err(KvError::KeyOrder {
                table: self.table.name.to_string(),
                key: key.to_vec(),
            });
        }
        let writer = &mut self.writer()?.writer;
        let added = match value {
            Some(value) => writer.put(&native, value),
            None => writer.delete(&native),
        };
        let size = writer.file_size();
        added.map_err(|error| self.failure(error))?;
        self.buffer = std::mem::replace(&mut self.last, native);
        self.entries += 1;
        if size >= FILE_BYTES_MAX {
            self.complete_file()
        } else {
            Ok(())
        }
    }
}

impl SortedWriter for RocksWriter {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.push(key, Some(value))
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.push(key, None)
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<LoadFile>, KvError> {
        self.complete_file()?;
        self.finished = true;
        Ok(std::mem::take(&mut self.files))
    }
}

impl Drop for RocksWriter {
    fn drop(&mut self) {
        self.open = None;
        if !self.finished {
            for file in &self.files {
                // What cannot be removed now is removed as a stray file later.
                let _ = fs::remove_file(self.directory.path_of(file));
            }
        }
    }
}
