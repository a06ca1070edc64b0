//! What compaction may forget.
//!
//! RocksDB asks a filter about every value it moves, but only in column families that had one when they were
//! created or the database was opened; and it fetches large values from their files to show them. So only those
//! tables have a filter whose purge was set once. Their names lie in a file beside the database,
//! which a copy of the database may lack: the filters are then back after the next open but one.
//!
//! In a column family that tables share, the number before a key identifies the table. Those for tables that were
//! created with [`TableOptions::purged`] have a filter from the start, as their names say; another gets one at the
//! next open, when a purge was set for one of its tables.
//!
//! [`TableOptions::purged`]: crate::TableOptions::purged

use super::TableHandle;
use super::share::{self, Share};
use crate::KvError;
use crate::store::Purge;
use parking_lot::{Mutex, RwLock};
use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// What may be forgotten of the tables that share column families, by their numbers.
#[derive(Default)]
pub(super) struct SharedCells(RwLock<HashMap<u32, Arc<PurgeCell>>>);

/// What may be forgotten of a column family.
#[derive(Clone)]
pub(super) enum Purged {
    /// It is a table's own.
    Table(Arc<PurgeCell>),
    /// Tables share it.
    Shared(Arc<SharedCells>),
}

/// What may be forgotten of all tables that have a filter, or will have one after the next open.
pub(super) struct Purges {
    path: PathBuf,
    cells: Mutex<Cells>,
    shared: Arc<SharedCells>,
}

#[derive(Default)]
struct Cells {
    /// Of tables with column families of their own, by name.
    own: BTreeMap<String, Arc<PurgeCell>>,
    /// Shared column families that have a filter, though not by their names, or will have one.
    shared: BTreeSet<String>,
}

impl Purges {
    /// Reads which column families of the database in `directory` have filters.
    pub(super) fn open(directory: &Path) -> Result<Purges, KvError> {
        let path = directory.join(FILE);
        let names = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            names => names.map_err(|error| KvError::io(format!("read {FILE}"), error))?,
        };
        let mut cells = Cells::default();
        for name in names.lines() {
            if share::is_shared(name) {
                cells.shared.insert(name.to_owned());
            } else {
                cells.own.insert(name.to_owned(), Arc::default());
            }
        }
        Ok(Purges {
            path,
            cells: Mutex::new(cells),
            shared: Arc::default(),
        })
    }

    /// Returns the filter that a column family is to have.
    pub(super) fn filter_of(&self, family: &str) -> Option<Purged> {
        let cells = self.cells.lock();
        match share::options_of(family) {
            None => cells.own.get(family).cloned().map(Purged::Table),
            Some(options) => (options.purged || cells.shared.contains(family))
                .then(|| Purged::Shared(Arc::clone(&self.shared))),
        }
    }

    /// Gives a table with a column family of its own a filter when it is created, or at the next open.
    pub(super) fn add(&self, table: &str) -> Result<Arc<PurgeCell>, KvError> {
        let mut cells = self.cells.lock();
        if let Some(cell) = cells.own.get(table) {
            return Ok(cell.clone());
        }
        let cell = Arc::<PurgeCell>::default();
        cells.own.insert(table.to_owned(), cell.clone());
        self.save(&cells)?;
        Ok(cell)
    }

    /// As [`Purges::add`], for a table that shares one.
    fn add_part(&self, share: &Share) -> Result<Arc<PurgeCell>, KvError> {
        let mut cells = self.cells.lock();
        let has_filter = share::options_of(&share.family).is_some_and(|options| options.purged);
        if !has_filter && cells.shared.insert(share.family.clone()) {
            self.save(&cells)?;
        }
        let mut shared = self.shared.0.write();
        Ok(shared.entry(share.number).or_default().clone())
    }

    /// Returns what may be forgotten of a table, if that was said before.
    fn known(&self, table: &TableHandle) -> Option<Arc<PurgeCell>> {
        match &table.share {
            None => self.cells.lock().own.get(&*table.name).cloned(),
            Some(share) => self.shared.0.read().get(&share.number).cloned(),
        }
    }

    /// Sets what may be forgotten; waits for filters that go by what was set before.
    pub(super) fn set(&self, table: &TableHandle, purge: Option<Purge>) -> Result<(), KvError> {
        let cell = match (&purge, &table.share) {
            (None, _) => self.known(table),
            (Some(_), None) => Some(self.add(&table.name)?),
            (Some(_), Some(share)) => Some(self.add_part(share)?),
        };
        if let Some(cell) = cell {
            *cell.0.write() = purge;
        }
        Ok(())
    }

    /// Forgets a table that is gone. The file may go on naming it.
    pub(super) fn remove(&self, table: &TableHandle) {
        let cell = match &table.share {
            None => self.cells.lock().own.remove(&*table.name),
            Some(share) => self.shared.0.write().remove(&share.number),
        };
        if let Some(cell) = cell {
            *cell.0.write() = None;
        }
    }

    fn save(&self, cells: &Cells) -> Result<(), KvError> {
        let names = cells.own.keys().chain(&cells.shared);
        let names: String = names.flat_map(|name| [name, "\n"]).collect();
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

/// Makes the filters of one column family.
pub(super) struct PurgeFactory(pub(super) Purged);

impl CompactionFilterFactory for PurgeFactory {
    type Filter = PurgeFilter;

    fn create(&mut self, _: CompactionFilterContext) -> PurgeFilter {
        PurgeFilter {
            purged: self.0.clone(),
            met: None,
        }
    }

    fn name(&self) -> &CStr {
        FILTER_NAME
    }
}

/// The filter of one compaction.
pub(super) struct PurgeFilter {
    purged: Purged,
    /// The table met last in a shared column family, and what may be forgotten of it.
    met: Option<(u32, Option<Arc<PurgeCell>>)>,
}

impl PurgeFilter {
    fn takes(&mut self, key: &[u8], value: &[u8]) -> bool {
        let cells = match &self.purged {
            Purged::Table(cell) => return cell.takes(value),
            Purged::Shared(cells) => cells,
        };
        let Some((number, _)) = share::split_number(key) else {
            return false;
        };
        if self.met.as_ref().is_none_or(|(met, _)| *met != number) {
            let cell = cells.0.read().get(&number).cloned();
            self.met = Some((number, cell));
        }
        let cell = self.met.as_ref().and_then(|(_, cell)| cell.as_ref());
        cell.is_some_and(|cell| cell.takes(value))
    }
}

impl CompactionFilter for PurgeFilter {
    fn filter(&mut self, _: u32, key: &[u8], value: &[u8]) -> CompactionDecision {
        match self.takes(key, value) {
            true => CompactionDecision::Remove,
            false => CompactionDecision::Keep,
        }
    }

    fn name(&self) -> &CStr {
        FILTER_NAME
    }
}
