//! What compaction may forget.
//!
//! RocksDB asks a filter about every value it moves, but only in column families that had one when they were
//! created or the database was opened; and it fetches large values from their files to show them. So only those
//! tables have a filter of which that was asked once. Their names lie in a file beside the database,
//! which a copy of the database may lack: the filters are then back after the next open but one.

use crate::store::Purge;
use crate::{KvError, TableName};
use parking_lot::{Mutex, RwLock};
use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file with the names of the tables that have filters, one a line.
const FILE: &str = "PURGED";

const FILTER_NAME: &CStr = c"rukh.purge";

/// What may be forgotten of one table.
#[derive(Default)]
pub(super) struct PurgeCell(RwLock<Option<Purge>>);

impl PurgeCell {
    fn takes(&self, value: &[u8]) -> bool {
        match &*self.0.read() {
            None => false,
            // Unwinding out of a callback of the C++ library would end the process.
            Some(purge) => catch_unwind(AssertUnwindSafe(|| purge(value))).unwrap_or(false),
        }
    }
}

/// What may be forgotten of all tables that have a filter, or will have one after the next open.
pub(super) struct Purges {
    path: PathBuf,
    cells: Mutex<BTreeMap<String, Arc<PurgeCell>>>,
}

impl Purges {
    /// Reads which tables of the database in `directory` have filters.
    pub(super) fn open(directory: &Path) -> Result<Purges, KvError> {
        let path = directory.join(FILE);
        let names = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            names => names.map_err(|error| KvError::io(format!("read {FILE}"), error))?,
        };
        let cell = |name: &str| (name.to_owned(), Arc::default());
        Ok(Purges {
            path,
            cells: Mutex::new(names.lines().map(cell).collect()),
        })
    }

    /// Returns the cell of a table that is to have a filter.
    pub(super) fn cell(&self, table: &str) -> Option<Arc<PurgeCell>> {
        self.cells.lock().get(table).cloned()
    }

    /// Gives a table a filter when it is created, or at the next open.
    pub(super) fn add(&self, table: &TableName) -> Result<Arc<PurgeCell>, KvError> {
        let mut cells = self.cells.lock();
        if let Some(cell) = cells.get(&**table) {
            return Ok(cell.clone());
        }
        let cell = Arc::<PurgeCell>::default();
        cells.insert(table.to_string(), cell.clone());
        self.save(&cells)?;
        Ok(cell)
    }

    /// Sets what may be forgotten; waits for filters that go by what was set before.
    pub(super) fn set(&self, table: &TableName, purge: Option<Purge>) -> Result<(), KvError> {
        let cell = match &purge {
            Some(_) => Some(self.add(table)?),
            None => self.cell(table),
        };
        if let Some(cell) = cell {
            *cell.0.write() = purge;
        }
        Ok(())
    }

    /// Forgets a table that is gone. The file may go on naming it.
    pub(super) fn remove(&self, table: &str) {
        if let Some(cell) = self.cells.lock().remove(table) {
            *cell.0.write() = None;
        }
    }

    fn save(&self, cells: &BTreeMap<String, Arc<PurgeCell>>) -> Result<(), KvError> {
        let names: String = cells.keys().flat_map(|name| [name, "\n"]).collect();
        let written = self.path.with_extension("new");
        let save = || {
            let mut file = File::create(&written)?;
            file.write_all(names.as_bytes())?;
            file.sync_all()?;
            fs::rename(&written, &self.path)
        };
        save().map_err(|error| KvError::io(format!("write {FILE}"), error))
    }
}

/// Makes the filters of one table.
pub(super) struct PurgeFactory(pub(super) Arc<PurgeCell>);

impl CompactionFilterFactory for PurgeFactory {
    type Filter = PurgeFilter;

    fn create(&mut self, _: CompactionFilterContext) -> PurgeFilter {
        PurgeFilter(Arc::clone(&self.0))
    }

    fn name(&self) -> &CStr {
        FILTER_NAME
    }
}

/// The filter of one compaction.
pub(super) struct PurgeFilter(Arc<PurgeCell>);

impl CompactionFilter for PurgeFilter {
    fn filter(&mut self, _: u32, _: &[u8], value: &[u8]) -> CompactionDecision {
        match self.0.takes(value) {
            true => CompactionDecision::Remove,
            false => CompactionDecision::Keep,
        }
    }

    fn name(&self) -> &CStr {
        FILTER_NAME
    }
}
