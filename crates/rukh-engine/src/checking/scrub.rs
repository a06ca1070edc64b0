//! Scrub: compares a table and its indexes both ways.
//!
//! Every row is decoded, and the entries that the rows should have are sorted (`sorter`) for each
//! index and merged with those that are stored: an expected entry that is not there is *missing*,
//! one with another value is *differing*, and a stored entry that no row should have is *dangling*.
//! So storage is read once from end to end, in key order, whatever the order of the index; memory
//! is bounded as that of a bulk load is.
//!
//! Deliberately not here: repair. An index is repaired by filling it again (`indexes`).

use crate::forms::codec::TableCodec;
use crate::forms::entry::KeyedRow;
use crate::forms::maintain::{IndexMaintainer, Maintainer};
use crate::forms::names;
use crate::progress::check_cancelled;
use crate::reading::rows::{RawRows, RowBatch, RowReader};
use crate::reading::snapshot::Snapshot;
use crate::state::shared::Engine;
use crate::storage::sorter::{self, Merge, Sorter};
use crate::{EngineError, Progress, columnar};
use rukh_catalog::{CatalogError, IndexId, TableId};
use rukh_kv::{KvCursor, KvError, ScanSpec};
use std::fmt;
use std::ops::ControlFlow;

/// Most findings that a report lists; all are counted.
const FINDINGS_MAX: usize = 100;

/// Entries looked at together.
const BATCH_ENTRIES: usize = 1024;

/// What is wrong with a stored key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// A row lacks an index entry.
    Missing,
    /// An index entry, or the value of a family, has no row that it belongs to.
    Dangling,
    /// An index entry's value is not what its row says, or the number of rows not what there are.
    Differing,
    /// Stored bytes do not decode, or not to a row that the table takes.
    Corrupt,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// The key it is wrong with: `t@by_host/'a'/1/5`.
    pub key: String,
    /// More about it; may be empty.
    pub detail: String,
}

/// What a scrub saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Rows read.
    pub rows: u64,
    /// Index entries read.
    pub entries: u64,
    /// Entries that rows should have and do not.
    pub missing: u64,
    /// Entries and family values that belong to no row.
    pub dangling: u64,
    /// Entries with another value than their rows say.
    pub differing: u64,
    /// Rows and entries that do not decode.
    pub corrupt: u64,
    /// Indexes with findings, among rows or former images, unless rows do not decode: then it is not known what entries
    /// there should be.
    pub broken: Vec<IndexId>,
    /// The first hundred things found.
    pub findings: Vec<Finding>,
}

impl ScrubReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.wrong() == 0
    }

    fn wrong(&self) -> u64 {
        self.missing + self.dangling + self.differing + self.corrupt
    }

    fn note(&mut self, kind: FindingKind, key: String, detail: String) {
        *match kind {
            FindingKind::Missing => &mut self.missing,
            FindingKind::Dangling => &mut self.dangling,
            FindingKind::Differing => &mut self.differing,
            FindingKind::Corrupt => &mut self.corrupt,
        } += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { kind, key, detail });
        }
    }

    /// Notes a corruption error; other errors end the scrub.
    fn note_error(&mut self, error: EngineError) -> Result<(), EngineError> {
        match error {
            EngineError::Corruption { name, key, message } => {
                self.note(FindingKind::Corrupt, format!("{name}{key}"), message);
                Ok(())
            }
            error => Err(error),
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FindingKind::Missing => "missing",
            FindingKind::Dangling => "dangling",
            FindingKind::Differing => "differing",
            FindingKind::Corrupt => "corrupt",
        })
    }
}

/// Prints as `missing t@by_host/'a'/1/5`, with the detail behind a colon.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)?;
        match self.detail.as_str() {
            "" => Ok(()),
            detail => write!(f, ": {detail}"),
        }
    }
}

impl Engine {
    /// Checks every row of a table, every value of its families, and all its indexes both ways.
    ///
    /// Fails only where reading does; what is wrong is in the report.
    pub fn check_table(&self, id: TableId, progress: &dyn Progress) -> Result<ScrubReport, EngineError> {
        self.check_table_at(&self.snapshot(), id, progress)
    }

    /// As [`Engine::check_table`], of the state that a snapshot shows: that of a transaction, say.
    pub fn check_table_at(
        &self,
        snapshot: &Snapshot,
        id: TableId,
        progress: &dyn Progress,
    ) -> Result<ScrubReport, EngineError> {
        let maintainer = self.inner.maintainer(&snapshot.definitions, id)?;
        let mut scrub = Scrub::new(snapshot, &maintainer, progress);
        let expected = scrub.rows(self.sorters(maintainer.indexes.iter())?)?;
        for nth in 1..maintainer.codec.families.len() {
            scrub.family(nth)?;
        }
        scrub.indexes(expected)?;
        scrub.kept_rows()?;
        let mut report = scrub.report;
        if snapshot.definitions.history(id).is_some() {
            self.check_history(snapshot, id, progress, &mut report)?;
        }
        Ok(report)
    }

    /// Decodes all former images of a table, looks up those of all values of further families, and compares their entries.
    fn check_history(
        &self,
        snapshot: &Snapshot,
        id: TableId,
        progress: &dyn Progress,
        report: &mut ScrubReport,
    ) -> Result<(), EngineError> {
        let maintainer = self.inner.maintainer(&snapshot.definitions, id.history())?;
        let mut scrub = Scrub {
            report: std::mem::take(report),
            ..Scrub::new(snapshot, &maintainer, progress)
        };
        let expected = scrub.rows(self.sorters(maintainer.indexes.iter())?)?;
        for nth in 1..maintainer.codec.families.len() {
            scrub.family(nth)?;
        }
        scrub.indexes(expected)?;
        *report = scrub.report;
        Ok(())
    }

    /// Checks one index against its table, both ways.
    pub fn check_index(&self, id: IndexId, progress: &dyn Progress) -> Result<ScrubReport, EngineError> {
        self.check_index_at(&self.snapshot(), id, progress)
    }

    /// As [`Engine::check_index`], of the state that a snapshot shows.
    pub fn check_index_at(
        &self,
        snapshot: &Snapshot,
        id: IndexId,
        progress: &dyn Progress,
    ) -> Result<ScrubReport, EngineError> {
        let unknown = || CatalogError::UnknownIndex {
            name: format!("index {}", id.0),
        };
        let (table, index) = snapshot.catalog.index(id).ok_or_else(unknown)?;
        let maintainer = self.inner.maintainer(&snapshot.definitions, table.id)?;
        let maintained = maintainer.indexes.iter().find(|known| known.codec.index.id == id);
        let index = maintained.ok_or_else(|| EngineError::IndexNotReady {
            index: index.name.clone(),
        })?;
        let mut scrub = Scrub::new(snapshot, &maintainer, progress);
        let expected = scrub.rows(self.sorters([index].into_iter())?)?;
        scrub.indexes(expected)?;
        let report = scrub.report;
        if !index.codec.index.former {
            return Ok(report);
        }
        let maintainer = self.inner.maintainer(&snapshot.definitions, table.id.history())?;
        let former = maintainer
            .indexes
            .iter()
            .filter(|known| known.codec.index.id == id.history());
        let mut scrub = Scrub {
            report,
            ..Scrub::new(snapshot, &maintainer, progress)
        };
        let expected = scrub.rows(self.sorters(former)?)?;
        scrub.indexes(expected)?;
        Ok(scrub.report)
    }

    /// Makes a sorter for the entries of each index.
    fn sorters<'a>(
        &self,
        indexes: impl Iterator<Item = &'a IndexMaintainer>,
    ) -> Result<ExpectedEntries<'a>, EngineError> {
        let directory = self.inner.load_directory()?;
        let indexes: Vec<_> = indexes.collect();
        Ok(ExpectedEntries {
            sorters: indexes.iter().map(|_| Sorter::new(&directory)).collect(),
            indexes,
            bytes_max: self.inner.load_bytes_max(),
        })
    }
}

/// The entries that the rows should have in some indexes, on their way to be sorted.
struct ExpectedEntries<'a> {
    indexes: Vec<&'a IndexMaintainer>,
    /// One for each index.
    sorters: Vec<Sorter>,
    /// Most bytes of memory for all of them.
    bytes_max: usize,
}

impl ExpectedEntries<'_> {
    fn add(&mut self, rows: &RowBatch) -> Result<(), EngineError> {
        let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
        for (index, sorter) in self.indexes.iter().zip(&mut self.sorters) {
            index.visit_entries(&keyed, &mut |_, key, value| {
                sorter.add(key, value);
                Ok(())
            })?;
        }
        sorter::make_room(&mut self.sorters, self.bytes_max)
    }
}

/// A scrub under way.
struct Scrub<'a> {
    snapshot: &'a Snapshot,
    maintainer: &'a Maintainer,
    codec: &'a TableCodec,
    progress: &'a dyn Progress,
    report: ScrubReport,
}

impl<'a> Scrub<'a> {
    fn new(snapshot: &'a Snapshot, maintainer: &'a Maintainer, progress: &'a dyn Progress) -> Self {
        progress.total(None);
        Scrub {
            snapshot,
            maintainer,
            codec: &maintainer.codec,
            progress,
            report: ScrubReport::default(),
        }
    }

    /// Decodes all rows and collects the entries that they should have.
    fn rows<'i>(&mut self, mut expected: ExpectedEntries<'i>) -> Result<ExpectedEntries<'i>, EngineError> {
        if let Some(blocks) = &self.codec.blocks {
            let (raw, report) = (&self.snapshot.raw, &mut self.report);
            columnar::check_blocks(raw.as_ref(), blocks, &mut |error| report.note_error(error))?;
            if !report.is_clean() {
                // The contents of a block that does not decode are unknown.
                return Ok(expected);
            }
        }
        let mut reader = RowReader::new(self.snapshot, self.maintainer.codec.clone())?;
        while let Some(raw) = reader.next_raw()? {
            check_cancelled(self.progress)?;
            let count = raw.keys.len() as u64;
            expected.add(&self.decode(raw)?)?;
            self.report.rows += count;
            self.progress.advance(count);
        }
        Ok(expected)
    }

    /// Decodes rows, noting those that do not decode or do not fit their key.
    fn decode(&mut self, raw: RawRows) -> Result<RowBatch, EngineError> {
        let mut batch = RowBatch::default();
        for at in 0..raw.keys.len() {
            match raw.decode(self.codec, at) {
                Err(error) => self.report.note_error(error)?,
                Ok(row) => {
                    let key = &raw.keys[at];
                    match misfit(self.codec, key, &row) {
                        Some(why) => self
                            .report
                            .note(FindingKind::Corrupt, self.codec.display_key(key), why),
                        None => {
                            batch.keys.push(key.clone());
                            batch.rows.push(row);
                            batch.times.push(raw.times(at));
                        }
                    }
                }
            }
        }
        Ok(batch)
    }

    /// Compares the number of rows that is kept with those that there are.
    fn kept_rows(&mut self) -> Result<(), EngineError> {
        let (table, rows) = (&self.codec.table, self.report.rows);
        if let Some(kept) = self.snapshot.kept_rows(table)?.filter(|kept| *kept != rows)
            && self.report.corrupt == 0
        {
            let detail = format!("{kept} rows by the number that is kept, there are {rows}");
            self.report
                .note(FindingKind::Differing, table.name.clone(), detail);
        }
        Ok(())
    }

    /// Looks up the rows of all values of a family beside the first.
    fn family(&mut self, nth: usize) -> Result<(), EngineError> {
        let family = &self.codec.families[nth];
        let spec = ScanSpec::all().keys_only();
        let mut cursor = self.snapshot.kv.scan(&family.storage, spec)?;
        while let Some((keys, _)) = next_entries(cursor.as_mut())? {
            check_cancelled(self.progress)?;
            let base = self
                .snapshot
                .kv
                .multi_get(&self.codec.families[0].storage, &keys)?;
            for (key, base) in keys.iter().zip(base) {
                if base.is_none() {
                    let key = format!("{}{}", family.name, names::key(&self.codec.key, key));
                    self.report.note(FindingKind::Dangling, key, String::new());
                }
            }
            self.progress.advance(keys.len() as u64);
        }
        Ok(())
    }

    /// Compares the entries that indexes have with those that they should have.
    fn indexes(&mut self, expected: ExpectedEntries<'_>) -> Result<(), EngineError> {
        let rows_decode = self.report.corrupt == 0;
        for (index, sorter) in expected.indexes.into_iter().zip(expected.sorters) {
            let before = self.report.wrong();
            self.entries(index, sorter.finish()?)?;
            let id = index.codec.index.id;
            let id = id.history_of().unwrap_or(id);
            if rows_decode && self.report.wrong() > before && !self.report.broken.contains(&id) {
                self.report.broken.push(id);
            }
        }
        Ok(())
    }

    /// Merges the stored entries of an index with those that it should have.
    fn entries(&mut self, index: &IndexMaintainer, mut expected: Merge) -> Result<(), EngineError> {
        let mut stored = self.stored_entries(index)?;
        let mut more = expected.advance()?;
        loop {
            let (keys, values) = match stored.next() {
                Ok(None) => break,
                Ok(Some(entries)) => entries,
                // The keys behind a block that does not decode are unknown.
                Err(error) => return self.report.note_error(error),
            };
            check_cancelled(self.progress)?;
            for (key, value) in keys.iter().zip(&values) {
                while more && expected.key() < key.as_slice() {
                    self.note_entry(FindingKind::Missing, index, expected.key());
                    more = expected.advance()?;
                }
                let mut is_expected = false;
                while more && expected.key() == key.as_slice() {
                    is_expected = true;
                    if expected.value() != value.as_slice() {
                        self.note_entry(FindingKind::Differing, index, key);
                    }
                    more = expected.advance()?;
                }
                if !is_expected {
                    self.unexpected(index, key, value)?;
                }
            }
            self.report.entries += keys.len() as u64;
            self.progress.advance(keys.len() as u64);
        }
        while more {
            check_cancelled(self.progress)?;
            self.note_entry(FindingKind::Missing, index, expected.key());
            more = expected.advance()?;
        }
        Ok(())
    }

    /// Starts reading the entries of an index, after looking at the blocks of a columnar one.
    fn stored_entries(&mut self, index: &IndexMaintainer) -> Result<StoredEntries, EngineError> {
        let (kv, raw, codec) = (&self.snapshot.kv, &self.snapshot.raw, &index.codec);
        if codec.blocks().is_none() {
            return Ok(StoredEntries::Rows(kv.scan(&codec.storage, ScanSpec::all())?));
        }
        let report = &mut self.report;
        columnar::check_blocks(raw.as_ref(), codec, &mut |error| report.note_error(error))?;
        let life = self.snapshot.life_test(codec);
        let entries = columnar::EntryReader::new(raw.clone(), codec.clone(), life)?;
        Ok(StoredEntries::Columnar(Box::new(entries)))
    }

    fn note_entry(&mut self, kind: FindingKind, index: &IndexMaintainer, key: &[u8]) {
        self.report
            .note(kind, index.codec.display_key(key), String::new());
    }

    /// Says what is wrong with an entry that no row should have.
    fn unexpected(&mut self, index: &IndexMaintainer, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let row_key = match index.codec.owner(self.codec, key, value) {
            Err(error) => return self.report.note_error(error),
            Ok(row_key) => row_key,
        };
        let shown = self.codec.display_key(&row_key);
        let detail = match self.snapshot.get_encoded(self.codec, &row_key) {
            Ok(None) => format!("there is no row {shown}"),
            Ok(Some(row)) => {
                let keyed = KeyedRow::for_keys(&row_key, &row);
                match index.entries(&[keyed])?.pop().flatten() {
                    // A row whose key is not its own was noted where rows were read.
                    Some(entry) if entry.key == key => return Ok(()),
                    Some(entry) => {
                        format!("row {shown} should have {}", index.codec.display_key(&entry.key))
                    }
                    None => format!("row {shown} should have no entry"),
                }
            }
            // And so was a row that does not decode.
            Err(EngineError::Corruption { .. } | EngineError::Kv(KvError::Corruption { .. })) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.report
            .note(FindingKind::Dangling, index.codec.display_key(key), detail);
        Ok(())
    }
}

/// Says why a row that decodes is none that the table would have stored under this key.
fn misfit(codec: &TableCodec, key: &[u8], row: &[rukh_keys::Datum]) -> Option<String> {
    if let Err(error) = codec.check_row(row) {
        return Some(error.to_string());
    }
    let mut expected = Vec::new();
    match codec.row_key(row, &mut expected) {
        Ok(()) if expected == key => None,
        Ok(()) => Some(format!("the row's own key is {}", codec.display_key(&expected))),
        Err(error) => Some(error.to_string()),
    }
}

/// Entries of an index, in key order.
enum StoredEntries {
    Rows(Box<dyn KvCursor>),
    Columnar(Box<columnar::EntryReader>),
}

impl StoredEntries {
    /// Reads further entries; `None` at the end.
    fn next(&mut self) -> Result<Option<KeysAndValues>, EngineError> {
        match self {
            StoredEntries::Rows(cursor) => next_entries(cursor.as_mut()),
            StoredEntries::Columnar(entries) => entries.next(),
        }
    }
}

type KeysAndValues = (Vec<Vec<u8>>, Vec<Vec<u8>>);

/// Reads further entries; `None` at the end.
fn next_entries(cursor: &mut dyn KvCursor) -> Result<Option<KeysAndValues>, EngineError> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    cursor.for_each(&mut |key, value| {
        keys.push(key.to_vec());
        values.push(value.to_vec());
        match keys.len() < BATCH_ENTRIES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok((!keys.is_empty()).then_some((keys, values)))
}
