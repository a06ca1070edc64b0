//! Repair: what can be read of a damaged database becomes another one.
//!
//! The damaged database is only read. Definitions and rows are copied as they are stored, those that cannot be read or do not decode
//! aside (`salvage`); indexes are not copied, but filled from the rows when the new database is opened (`recover`), so that both agree. What the
//! indexes of the damaged database have of rows that are not there any more is counted.

use crate::checking::salvage::{self, Salvage};
use crate::forms::codec::TableCodec;
use crate::forms::stored::{self, CATALOG, STATISTICS};
use crate::reading::lifetime;
use crate::reading::storages::{storage_options, storages_of};
use crate::writing::ingest;
use crate::{Engine, EngineError, Recovery, RowFunctions};
use rukh_catalog::{Catalog, Index, IndexId, IndexState, StoredCatalog, Table, decode_table};
use rukh_kv::{Durability, KvError, KvSnapshot, KvStore, WriteBatch};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Bytes that are written at once.
const BATCH_BYTES: usize = 1 << 20;

/// What became of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedTable {
    /// Its name.
    pub table: String,
    /// Rows, or for a columnar table entries of its storage, that were kept.
    pub rows: u64,
    /// Rows that are known to be lost: they did not decode, or an index had entries of them. There may have been more.
    pub lost: u64,
    /// Places in its storage that could not be read.
    pub holes: u64,
    /// Whether its storage was not there at all.
    pub is_gone: bool,
    /// Its indexes, and what became of each.
    pub indexes: Vec<(String, RepairedIndex)>,
}

/// What became of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairedIndex {
    /// It was filled from the rows.
    Filled,
    /// It was not in use, and is not.
    Disabled,
    /// It could not be filled, and is gone.
    Dropped {
        /// Why, as the error says.
        reason: String,
    },
}

/// What a repair found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Table by table, in the order of their ids.
    pub tables: Vec<RepairedTable>,
    /// What else is to be said, each a sentence without its end.
    pub remarks: Vec<String>,
}

impl RepairedTable {
    /// Whether nothing of it is known to be lost.
    pub fn is_whole(&self) -> bool {
        let is_there = |index: &(String, RepairedIndex)| !matches!(index.1, RepairedIndex::Dropped { .. });
        self.lost == 0 && self.holes == 0 && !self.is_gone && self.indexes.iter().all(is_there)
    }
}

impl Repair {
    /// Whether nothing is known to be lost.
    pub fn is_whole(&self) -> bool {
        self.remarks.is_empty() && self.tables.iter().all(RepairedTable::is_whole)
    }
}

/// Prints as `t: 10 rows kept, at least 2 lost; index "i" filled again`.
impl fmt::Display for RepairedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} rows kept", self.table, self.rows)?;
        match (self.is_gone, self.lost, self.holes) {
            (true, ..) => f.write_str(", all others lost: its storage is not there")?,
            (_, 0, 0) => f.write_str(", none known to be lost")?,
            (_, 0, holes) => write!(f, ", those lost that were at {holes} damaged places")?,
            (_, lost, 0) => write!(f, ", at least {lost} lost")?,
            (_, lost, holes) => write!(f, ", at least {lost} lost, at {holes} damaged places")?,
        }
        for (index, fate) in &self.indexes {
            match fate {
                RepairedIndex::Filled => write!(f, "; index \"{index}\" filled again")?,
                RepairedIndex::Disabled => write!(f, "; index \"{index}\" is disabled, as it was")?,
                RepairedIndex::Dropped { reason } => write!(f, "; index \"{index}\" dropped: {reason}")?,
            }
        }
        Ok(())
    }
}

/// Prints a line for each table and each remark.
impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|table| writeln!(f, "{table}"))?;
        self.remarks.iter().try_for_each(|remark| writeln!(f, "{remark}"))
    }
}

/// Copies what can be read of a damaged database into an empty store, makes a database of it, and says what is lost.
///
/// Fails where nothing can be read, with the errors of [`Engine::open`], and as the target does.
pub fn repair(
    source: &dyn KvStore,
    target: Arc<dyn KvStore>,
    functions: Arc<dyn RowFunctions>,
) -> Result<Repair, EngineError> {
    match stored::prepare(source, true) {
        // The format is not there, or cannot be read.
        Err(EngineError::ReadOnly | EngineError::Kv(KvError::Corruption { .. })) => {}
        prepared => {
            prepared?;
        }
    }
    stored::prepare(target.as_ref(), false)?;
    let mut copy = Copy {
        source,
        snapshot: source.snapshot(),
        target: target.as_ref(),
        ready: BTreeSet::new(),
        repair: Repair::default(),
    };
    copy.definitions()?;
    let catalog = stored::load_catalog(target.as_ref())?;
    give_no_id_again(target.as_ref(), &catalog)?;
    for table in catalog.tables() {
        copy.table(table)?;
    }
    copy.unnamed(&catalog);
    let mut repair = copy.repair;
    target.local().map_or(Ok(()), |files| files.flush())?;
    let engine = Engine::open(target, functions, false)?;
    repair.note(engine.recovered());
    Ok(repair)
}

/// Returns the name of the table, or of the index with its table, that a column family of a database is of.
pub fn owner_of_storage(store: &dyn KvStore, storage: &str) -> Result<Option<String>, EngineError> {
    let catalog = stored::load_catalog(store)?;
    let owner = catalog.tables().find_map(|table| {
        let of_index = |index: &&Index| index.storage_names().iter().any(|name| name == storage);
        if let Some(index) = table.indexes.iter().find(of_index) {
            return Some(format!("index \"{}\" of table \"{}\"", index.name, table.name));
        }
        let names = table.storage_names();
        let is_own = names.iter().any(|name| name == storage);
        is_own.then(|| format!("table \"{}\"", table.name))
    });
    Ok(owner)
}

struct Copy<'a> {
    source: &'a dyn KvStore,
    snapshot: Arc<dyn KvSnapshot>,
    target: &'a dyn KvStore,
    /// The indexes that were complete.
    ready: BTreeSet<IndexId>,
    repair: Repair,
}

impl Copy<'_> {
    /// Copies definitions and statistics; all indexes are to be filled.
    fn definitions(&mut self) -> Result<(), EngineError> {
        let mut writer = Writer::new(self.target, CATALOG);
        let mut unread = 0;
        let ready = &mut self.ready;
        let found = salvage::read(self.snapshot.as_ref(), CATALOG, &mut |key, value| {
            // Rows may be lost.
            if ingest::is_note(key) || key.starts_with(StoredCatalog::ROWS_PREFIX) {
                return Ok(());
            }
            if !key.starts_with(StoredCatalog::TABLE_PREFIX) {
                return writer.put(key, value);
            }
            match decode_table(key, value) {
                Ok(table) => {
                    let complete = table
                        .indexes
                        .iter()
                        .filter(|index| index.state == IndexState::Ready);
                    ready.extend(complete.map(|index| index.id));
                    writer.table(&to_be_filled(table))
                }
                Err(_) => {
                    unread += 1;
                    Ok(())
                }
            }
        })?;
        writer.finish()?;
        if found.holes + unread > 0 {
            let remark = "some definitions cannot be read: the tables, views, users or sequences are gone";
            self.repair.remarks.push(remark.to_string());
        }
        if self.source.table_exists(STATISTICS) {
            let mut writer = Writer::new(self.target, STATISTICS);
            // Missing statistics are gathered again.
            salvage::read(self.snapshot.as_ref(), STATISTICS, &mut |key, value| {
                writer.put(key, value)
            })?;
            writer.finish()?;
        }
        Ok(())
    }

    /// Copies the rows of a table, and what they were.
    fn table(&mut self, table: &Arc<Table>) -> Result<(), EngineError> {
        for storage in storages_of(table) {
            self.target
                .create_table(&storage, &storage_options(table, &storage))?;
        }
        let codec = TableCodec::new(table.clone());
        let mut kept = self.rows(&codec)?;
        if let Some(history) = table.history() {
            let former = self.rows(&TableCodec::new(Arc::new(history)))?;
            kept.lost += former.lost;
            kept.holes += former.holes;
            kept.is_gone |= former.is_gone;
        }
        let expected = self.entries(table)?;
        let indexes = table.indexes.iter().map(|index| {
            let fate = match index.state {
                IndexState::Disabled => RepairedIndex::Disabled,
                _ => RepairedIndex::Filled,
            };
            (index.name.clone(), fate)
        });
        self.repair.tables.push(RepairedTable {
            table: table.name.clone(),
            lost: kept.lost.max(expected.saturating_sub(kept.rows)),
            indexes: indexes.collect(),
            ..kept
        });
        Ok(())
    }

    /// Copies the families of a table and its blocks, without what does not decode or belongs to no row.
    fn rows(&self, codec: &TableCodec) -> Result<RepairedTable, EngineError> {
        let mut all = RepairedTable {
            table: String::new(),
            rows: 0,
            lost: 0,
            holes: 0,
            is_gone: false,
            indexes: Vec::new(),
        };
        for (nth, family) in codec.families.iter().enumerate() {
            let base = &codec.families[0].storage;
            let mut lost = 0;
            let mut writer = Writer::new(self.target, &family.storage);
            let copied = self.copy(&family.storage, &mut |key, value| {
                let is_sound = match (nth, &codec.blocks) {
                    (_, Some(_)) => true,
                    (0, None) => codec.decode_row(key, &[Some(value)]).is_ok(),
                    (_, None) => self.target.latest().get(base, key)?.is_some(),
                };
                match is_sound {
                    true => writer.put(key, value),
                    false => {
                        lost += 1;
                        Ok(())
                    }
                }
            })?;
            writer.finish()?;
            all.lost += if nth == 0 { lost } else { 0 };
            all.note(nth == 0, copied, lost);
        }
        if let Some(blocks) = codec.blocks.as_ref().and_then(|index| index.blocks()) {
            let mut writer = Writer::new(self.target, &blocks.storage);
            let copied = self.copy(&blocks.storage, &mut |key, value| writer.put(key, value))?;
            writer.finish()?;
            all.note(true, copied, 0);
        }
        Ok(all)
    }

    /// Reads a column family; `None` where it is not there.
    fn copy(&self, storage: &str, visit: &mut salvage::Visit<'_>) -> Result<Option<Salvage>, EngineError> {
        match self.source.table_exists(storage) {
            true => salvage::read(self.snapshot.as_ref(), storage, visit).map(Some),
            false => Ok(None),
        }
    }

    /// Returns how many rows an index of the damaged database knows, the most of all.
    fn entries(&self, table: &Table) -> Result<u64, EngineError> {
        let mut most = 0;
        // What is dead goes from tables and indexes at other times.
        if table.is_columnar() || !lifetime::table_rules(table).is_empty() {
            return Ok(most);
        }
        let tells = |index: &&Index| {
            !index.is_columnar() && index.predicate.is_none() && self.ready.contains(&index.id)
        };
        for index in table.indexes.iter().filter(tells) {
            let counted = self.copy(&index.storage_name(), &mut |_, _| Ok(()))?;
            most = most.max(counted.unwrap_or_default().entries);
        }
        Ok(most)
    }

    /// Reports storage that no definition names any more.
    fn unnamed(&mut self, catalog: &Catalog) {
        for name in crate::defining::recover::unnamed(self.source, catalog) {
            let remark = match self.source.approximate_keys(&name) {
                Ok(0) => continue,
                Ok(keys) => format!(
                    "storage \"{name}\" with about {keys} keys has no definition any more and is left out"
                ),
                Err(_) => format!("storage \"{name}\" has no definition any more and is left out"),
            };
            self.repair.remarks.push(remark);
        }
    }
}

impl RepairedTable {
    fn note(&mut self, are_rows: bool, copied: Option<Salvage>, lost: u64) {
        match copied {
            None => self.is_gone = true,
            Some(copied) => {
                self.holes += copied.holes;
                if are_rows {
                    self.rows += copied.entries - lost;
                }
            }
        }
    }
}

impl Repair {
    /// Notes what opening the new database had to do.
    fn note(&mut self, recovered: &[Recovery]) {
        for recovery in recovered {
            match recovery {
                Recovery::DroppedIndex { index, reason } => {
                    let mut all = self.tables.iter_mut().flat_map(|table| &mut table.indexes);
                    if let Some((_, fate)) = all.find(|(name, _)| name == index) {
                        *fate = RepairedIndex::Dropped {
                            reason: reason.clone(),
                        };
                    }
                }
                Recovery::DroppedTable { table } => self.tables.retain(|known| known.table != *table),
                _ => {}
            }
        }
    }
}

/// Notes an id that is greater than all that were given, of which the last may be among what was lost.
fn give_no_id_again(store: &dyn KvStore, catalog: &Catalog) -> Result<(), EngineError> {
    let next = stored::next_id(store)?.max(catalog.next_id());
    let mut batch = WriteBatch::new();
    stored::put_next_id(&mut batch, next);
    Ok(store.write(batch, Durability::Synced)?)
}

/// Returns a table whose indexes are filled when the database is opened.
fn to_be_filled(mut table: Table) -> Table {
    for index in &mut table.indexes {
        if index.state != IndexState::Disabled {
            index.state = IndexState::Building;
        }
    }
    table
}

/// Writes entries of one column family, many at a time.
struct Writer<'a> {
    store: &'a dyn KvStore,
    storage: &'a str,
    batch: WriteBatch,
}

impl<'a> Writer<'a> {
    fn new(store: &'a dyn KvStore, storage: &'a str) -> Self {
        Writer {
            store,
            storage,
            batch: WriteBatch::new(),
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.batch.put(self.storage, key, value);
        self.full()
    }

    fn table(&mut self, table: &Table) -> Result<(), EngineError> {
        stored::put_table(&mut self.batch, table);
        self.full()
    }

    fn full(&mut self) -> Result<(), EngineError> {
        match self.batch.bytes() >= BATCH_BYTES {
            true => Ok(self.write()?),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), KvError> {
        self.store
            .write(std::mem::take(&mut self.batch), Durability::Buffered)
    }

    fn finish(mut self) -> Result<(), EngineError> {
        if !self.batch.is_empty() {
            self.write()?;
        }
        Ok(self.store.sync()?)
    }
}
