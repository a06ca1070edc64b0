//! Scrub: compares a table and its indexes both ways.
//!
//! Every row is decoded, and the entry it should have in each index is looked up and compared, key
//! and value: what is not there is *missing*, what is not the same is *differing*. Every entry is
//! decoded, and its row looked up: an entry whose row is not there, or should have another entry,
//! is *dangling*. Both ways read in batches of a thousand, so memory is bounded by a few of them.
//!
//! Deliberately not here: repair. An index is repaired by dropping and creating it.

use crate::codec::TableCodec;
use crate::engine::Engine;
use crate::maintain::{IndexMaintainer, KeyedRow, Maintainer};
use crate::names;
use crate::progress::check_cancelled;
use crate::rows::{RawRows, RowBatch, RowReader};
use crate::snapshot::Snapshot;
use crate::{EngineError, Progress, Row};
use rukh_catalog::{CatalogError, IndexId, IndexState, TableId};
use rukh_kv::{KvCursor, ScanSpec};
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
    /// An index entry's value is not what its row says.
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
    /// The first hundred things found.
    pub findings: Vec<Finding>,
}

impl ScrubReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.missing + self.dangling + self.differing + self.corrupt == 0
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
        let snapshot = self.snapshot();
        let maintainer = self.inner.maintainer(&snapshot.definitions, id)?;
        let indexes: Vec<_> = maintainer.indexes.iter().collect();
        let mut scrub = Scrub::new(&snapshot, &maintainer, progress);
        scrub.rows(&indexes)?;
        for nth in 1..maintainer.codec.families.len() {
            scrub.family(nth)?;
        }
        for index in indexes {
            scrub.entries(index)?;
        }
        Ok(scrub.report)
    }

    /// Checks one index against its table, both ways.
    pub fn check_index(&self, id: IndexId, progress: &dyn Progress) -> Result<ScrubReport, EngineError> {
        let snapshot = self.snapshot();
        let unknown = || CatalogError::UnknownIndex {
            name: format!("index {}", id.0),
        };
        let (table, _) = snapshot.catalog.index(id).ok_or_else(unknown)?;
        let maintainer = self.inner.maintainer(&snapshot.definitions, table.id)?;
        let index = maintainer
            .indexes
            .iter()
            .find(|index| index.codec.index.id == id)
            .ok_or_else(unknown)?;
        let mut scrub = Scrub::new(&snapshot, &maintainer, progress);
        scrub.rows(&[index])?;
        scrub.entries(index)?;
        Ok(scrub.report)
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

    /// Decodes all rows and looks up the entries that they should have.
    fn rows(&mut self, indexes: &[&IndexMaintainer]) -> Result<(), EngineError> {
        let mut reader = RowReader::new(self.snapshot, self.maintainer.codec.clone())?;
        while let Some(raw) = reader.next_raw()? {
            check_cancelled(self.progress)?;
            let count = raw.keys.len() as u64;
            let rows = self.decode(raw)?;
            for index in indexes {
                self.expected_entries(index, &rows)?;
            }
            self.report.rows += count;
            self.progress.advance(count);
        }
        Ok(())
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
                        }
                    }
                }
            }
        }
        Ok(batch)
    }

    /// Looks up the entries that rows should have in an index.
    fn expected_entries(&mut self, index: &IndexMaintainer, rows: &RowBatch) -> Result<(), EngineError> {
        if index.codec.index.state != IndexState::Ready {
            return Ok(());
        }
        let keyed: Vec<KeyedRow<'_>> = rows.keyed().collect();
        let expected: Vec<_> = index.entries(&keyed)?.into_iter().flatten().collect();
        let keys: Vec<Vec<u8>> = expected.iter().map(|entry| entry.key.clone()).collect();
        let stored = self.snapshot.kv.multi_get(&index.codec.storage, &keys)?;
        for (entry, stored) in expected.iter().zip(stored) {
            let kind = match stored {
                None => FindingKind::Missing,
                Some(value) if value != entry.value => FindingKind::Differing,
                Some(_) => continue,
            };
            self.report
                .note(kind, index.codec.display_key(&entry.key), String::new());
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

    /// Decodes all entries of an index and looks up their rows.
    fn entries(&mut self, index: &IndexMaintainer) -> Result<(), EngineError> {
        if index.codec.index.state != IndexState::Ready {
            return Ok(());
        }
        let mut cursor = self.snapshot.kv.scan(&index.codec.storage, ScanSpec::all())?;
        while let Some((keys, values)) = next_entries(cursor.as_mut())? {
            check_cancelled(self.progress)?;
            let (mut entry_keys, mut row_keys) = (Vec::new(), Vec::new());
            for (key, value) in keys.iter().zip(&values) {
                match index.codec.owner(self.codec, key, value) {
                    Err(error) => self.report.note_error(error)?,
                    Ok(row_key) => {
                        entry_keys.push(key.as_slice());
                        row_keys.push(row_key);
                    }
                }
            }
            self.owners(index, &entry_keys, &row_keys)?;
            self.report.entries += keys.len() as u64;
            self.progress.advance(keys.len() as u64);
        }
        Ok(())
    }

    /// Compares entries with what the rows that they name should have.
    fn owners(
        &mut self,
        index: &IndexMaintainer,
        entry_keys: &[&[u8]],
        row_keys: &[Vec<u8>],
    ) -> Result<(), EngineError> {
        let stored = self
            .snapshot
            .kv
            .multi_get(&self.codec.families[0].storage, row_keys)?;
        let mut rows: Vec<Option<Row>> = Vec::with_capacity(row_keys.len());
        for ((entry_key, row_key), value) in entry_keys.iter().zip(row_keys).zip(stored) {
            if value.is_none() {
                let detail = format!("there is no row {}", self.codec.display_key(row_key));
                self.report
                    .note(FindingKind::Dangling, index.codec.display_key(entry_key), detail);
            }
            // A row that does not decode was noted where rows were read.
            rows.push(value.and_then(|value| self.codec.decode_row(row_key, &[Some(value)]).ok()));
        }
        let present: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].is_some()).collect();
        let keyed: Vec<KeyedRow<'_>> = present
            .iter()
            .filter_map(|at| {
                Some(KeyedRow {
                    key: &row_keys[*at],
                    row: rows[*at].as_ref()?,
                })
            })
            .collect();
        for (at, expected) in present.iter().zip(index.entries(&keyed)?) {
            if expected.as_ref().map(|entry| entry.key.as_slice()) == Some(entry_keys[*at]) {
                continue;
            }
            let row = self.codec.display_key(&row_keys[*at]);
            let detail = match expected {
                None => format!("row {row} should have no entry"),
                Some(entry) => format!("row {row} should have {}", index.codec.display_key(&entry.key)),
            };
            self.report.note(
                FindingKind::Dangling,
                index.codec.display_key(entry_keys[*at]),
                detail,
            );
        }
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
