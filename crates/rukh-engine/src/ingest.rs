//! Ingest: files of sorted entries become part of several column families, all or none of them.
//!
//! Storage ingests one column family at a time, so what is about to be ingested is first written
//! down durably, under the key `load` of the column family `catalog`, as JSON: a list of column
//! families with the names of their files, ranges of keys that go with them, and what the load says of
//! itself (`imports`). No snapshot is taken while files go in; the batch that removes the ranges also
//! forgets the note. After a crash the next
//! open ingests what is left of the list; without a list, files are strays and removed.

use crate::EngineError;
use crate::engine::Inner;
use crate::imports::ImportNote;
use crate::stored::{self, CATALOG};
use rukh_catalog::CatalogError;
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvError, KvStore, LoadFile, TableName, WriteBatch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Key of the list in the column family `catalog`.
const LOAD_KEY: &[u8] = b"load";

/// Times that ingesting is tried before the database is left for the next open to complete.
const ATTEMPTS: usize = 3;

/// Column families with the files to ingest into each, in this order.
pub(crate) type Loads = Vec<(String, Vec<LoadFile>)>;

/// Column families with ranges to remove from each.
pub(crate) type Ranges = Vec<(String, KeyRange)>;

/// What is written down: files alone, or more, too, which format 2 and before did not have.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Note {
    Files(Vec<(String, Vec<String>)>),
    All {
        files: Vec<(String, Vec<String>)>,
        /// Column family, start, limit.
        ranges: Vec<(String, Vec<u8>, Option<Vec<u8>>)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        imported: Option<ImportNote>,
    },
}

/// Makes files part of their column families, removes ranges and notes what was imported, all at once.
///
/// Fails without a trace, or with [`EngineError::RecoveryNeeded`], after which the engine shows and
/// takes nothing more.
pub(crate) fn ingest(
    inner: &Inner,
    loads: Loads,
    ranges: Ranges,
    imported: Option<&ImportNote>,
) -> Result<(), EngineError> {
    let store = inner.store.as_ref();
    if loads.iter().all(|(_, files)| files.is_empty()) {
        return Ok(());
    }
    let _copying = inner.copying.lock();
    if let Err(error) = note(store, &loads, &ranges, imported) {
        // The answer may be lost, not the note: files must not come back later.
        forget(store, WriteBatch::new()).map_err(|_| inner.halt())?;
        // Strays are harmless, and removed when the database is opened next.
        let files = loads.into_iter().flat_map(|(_, files)| files);
        let _ = store.discard_files(&files.collect::<Vec<_>>());
        return Err(error);
    }
    inner.behind_barrier(|| {
        let mut outcome = ingest_rest(store, &loads);
        for _ in 1..ATTEMPTS {
            if outcome.is_ok() {
                break;
            }
            outcome = ingest_rest(store, &loads);
        }
        let removed = || {
            let mut batch = removal(&ranges, imported);
            inner.builds.note(&mut batch);
            batch
        };
        // Files ingested twice change nothing, but later writes would be lost under them.
        let forgotten = || forget(store, removed()).or_else(|_| forget(store, removed()));
        let outcome = outcome.and_then(|()| Ok(forgotten()?));
        outcome.map_err(|_| inner.halt())
    })
}

/// Whether a load was cut short.
pub(crate) fn is_pending(store: &dyn KvStore) -> Result<bool, EngineError> {
    Ok(store.latest().get(CATALOG, LOAD_KEY)?.is_some())
}

/// Completes a load that was cut short, and removes files that no load names; returns whether
/// there was one.
pub(crate) fn recover(store: &dyn KvStore) -> Result<bool, EngineError> {
    let noted = store.latest().get(CATALOG, LOAD_KEY)?;
    if let Some(value) = &noted {
        let (loads, ranges, imported) = decode(value)?;
        ingest_rest(store, &loads)?;
        forget(store, removal(&ranges, imported.as_ref()))?;
    }
    store.discard_stray_files(&[])?;
    Ok(noted.is_some())
}

/// Ingests the files that wait still.
fn ingest_rest(store: &dyn KvStore, loads: &Loads) -> Result<(), EngineError> {
    let waiting: BTreeSet<LoadFile> = store.load_files()?.into_iter().collect();
    let mut rest = Vec::new();
    for (table, files) in loads {
        let files: Vec<_> = files
            .iter()
            .filter(|file| waiting.contains(file))
            .cloned()
            .collect();
        if !files.is_empty() {
            rest.push((TableName::new(table.clone())?, files));
        }
    }
    Ok(store.ingest(rest)?)
}

fn note(
    store: &dyn KvStore,
    loads: &Loads,
    ranges: &Ranges,
    imported: Option<&ImportNote>,
) -> Result<(), EngineError> {
    let names = |files: &[LoadFile]| files.iter().map(|file| file.as_str().to_string()).collect();
    let files = loads.iter().map(|(table, files)| (table.clone(), names(files)));
    let plain =
        |(table, range): &(String, KeyRange)| (table.clone(), range.start.clone(), range.limit.clone());
    let value = match ranges.is_empty() && imported.is_none() {
        true => Note::Files(files.collect()),
        false => Note::All {
            files: files.collect(),
            ranges: ranges.iter().map(plain).collect(),
            imported: imported.cloned(),
        },
    };
    let value = serde_json::to_vec(&value).expect("lists of names have no map");
    let mut batch = WriteBatch::new();
    batch.put(CATALOG, LOAD_KEY, &value);
    Ok(store.write(batch, Durability::Synced)?)
}

/// Returns the batch that removes ranges, and notes what was imported.
fn removal(ranges: &Ranges, imported: Option<&ImportNote>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for (table, range) in ranges {
        batch.delete_range(table, range);
    }
    if let Some(imported) = imported {
        stored::put_import(&mut batch, imported);
    }
    batch
}

/// Removes the note, and with it whatever the batch says.
fn forget(store: &dyn KvStore, mut batch: WriteBatch) -> Result<(), KvError> {
    batch.delete(CATALOG, LOAD_KEY);
    store.write(batch, Durability::Synced)
}

fn decode(value: &[u8]) -> Result<(Loads, Ranges, Option<ImportNote>), EngineError> {
    let note: Result<Note, _> = serde_json::from_slice(value);
    let note = note.map_err(|error| CatalogError::Corrupted {
        key: "load".to_string(),
        message: error.to_string(),
    })?;
    let (files, ranges, imported) = match note {
        Note::Files(files) => (files, Vec::new(), None),
        Note::All {
            files,
            ranges,
            imported,
        } => (files, ranges, imported),
    };
    let named =
        |(table, files): (String, Vec<String>)| (table, files.into_iter().map(LoadFile::new).collect());
    let ranges = ranges
        .into_iter()
        .map(|(table, start, limit)| (table, KeyRange { start, limit }));
    let files = files.into_iter().map(named);
    Ok((files.collect(), ranges.collect(), imported))
}
