//! Ingest: files of sorted entries become part of several column families, all or none of them.
//!
//! Storage ingests one column family at a time, so what is about to be ingested is first written
//! down durably, under the key `load` of the column family `catalog`, as JSON: a list of column
//! families with the names of their files, ranges of keys that go with them, and what the load says of
//! itself (`imports`). No snapshot is taken while files go in; the batch that removes the ranges also
//! forgets the note. After a crash the next
//! open ingests what is left of the list; without a list, files are strays and removed.
//!
//! On a full disk the load fails before it is noted, if it can: storage makes room first. A load whose note failed is given up: where the
//! note cannot be taken back, its files are marked, which needs no space, and a note that names marked files counts for nothing. One of which ingesting
//! was tried is completed once there is space (`unsettled`), as it is unknown what of it is stored.

use crate::EngineError;
use crate::forms::imports::ImportNote;
use crate::forms::stored::{self, CATALOG};
use crate::state::shared::Inner;
use crate::state::unsettled::{Loads, Owed, Ranges};
use crate::storage::files::{LOADS, discard_files};
use rukh_catalog::CatalogError;
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvError, KvStore, LoadFile, TableName, WriteBatch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Key of the list in the column family `catalog`.
const LOAD_KEY: &[u8] = b"load";

/// Times that ingesting is tried before the database is left for the next open to complete.
const ATTEMPTS: usize = 3;

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
/// Fails without a trace; with [`EngineError::CompletedLater`], if there is not enough space for all of it: readers then see
/// the state before, and no write succeeds until the rest is done; or with [`EngineError::RecoveryNeeded`], after which the engine shows and
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
    if let Err(error) = make_room(store, &loads) {
        discard(store, &loads);
        return Err(error);
    }
    if let Err(error) = note(store, &loads, &ranges, imported) {
        // The answer may be lost, not the note: files must not come back later.
        return Err(abandon(inner, loads, error));
    }
    inner.behind_barrier(|| {
        let before = inner.watched.snapshot_with_states();
        let mut outcome = ingest_rest(store, &loads);
        for _ in 1..ATTEMPTS {
            if outcome.is_ok() {
                break;
            }
            outcome = ingest_rest(store, &loads);
        }
        let Err(error) = outcome.and_then(|()| finish(inner, &ranges, imported)) else {
            return Ok(());
        };
        if !is_passing(&error) {
            return Err(inner.halt());
        }
        inner.watched.freeze(before);
        inner.owe(Owed::Complete {
            loads,
            ranges,
            imported: imported.cloned(),
        });
        Err(EngineError::CompletedLater {
            source: Box::new(error),
        })
    })
}

/// Completes what was done in part, and lets readers see it.
pub(crate) fn complete(
    inner: &Inner,
    loads: &Loads,
    ranges: &Ranges,
    imported: Option<&ImportNote>,
) -> Result<(), EngineError> {
    let store = inner.store.as_ref();
    let _copying = inner.copying.lock();
    inner.behind_barrier(|| {
        match ingest_rest(store, loads).and_then(|()| finish(inner, ranges, imported)) {
            Err(error) if is_passing(&error) => return Err(error),
            Err(_) => return Err(inner.halt()),
            Ok(()) => inner.watched.thaw(),
        }
        Ok(())
    })?;
    // Transactions that began meanwhile have not seen it.
    let catalog = inner.definitions().catalog.clone();
    inner.note_tables(catalog.tables().map(|table| table.id))
}

/// Forgets a load that was given up, and then its files.
pub(crate) fn forget_abandoned(inner: &Inner, loads: &Loads) -> Result<(), EngineError> {
    forget(inner.store.as_ref(), WriteBatch::new())?;
    discard(inner.store.as_ref(), loads);
    Ok(())
}

/// Gives up a load that may be noted and of which nothing was ingested, and returns the error to report.
fn abandon(inner: &Inner, loads: Loads, error: EngineError) -> EngineError {
    let store = inner.store.as_ref();
    let Err(later) = forget(store, WriteBatch::new()) else {
        discard(store, &loads);
        return error;
    };
    match later.is_passing() && abandoned(store, &loads).is_ok() {
        true => {
            inner.owe(Owed::Forget(loads));
            error
        }
        false => inner.halt(),
    }
}

/// Empties files that are not to be ingested.
fn abandoned(store: &dyn KvStore, loads: &Loads) -> Result<(), KvError> {
    store.local_files(LOADS)?.abandon_files(&files_of(loads))
}

/// Has storage do what takes space, before anything is noted.
fn make_room(store: &dyn KvStore, loads: &Loads) -> Result<(), EngineError> {
    let loaded = loads.iter().filter(|(_, files)| !files.is_empty());
    let tables: Result<Vec<TableName>, KvError> =
        loaded.map(|(table, _)| TableName::new(table.clone())).collect();
    Ok(store.local_files(LOADS)?.make_room(&tables?)?)
}

/// Removes the ranges that go with files which were ingested, and the note.
fn finish(inner: &Inner, ranges: &Ranges, imported: Option<&ImportNote>) -> Result<(), EngineError> {
    let store = inner.store.as_ref();
    let removed = || {
        let mut batch = removal(ranges, imported);
        inner.builds.note(&mut batch);
        batch
    };
    // Files ingested twice change nothing, but later writes would be lost under them.
    Ok(forget(store, removed()).or_else(|_| forget(store, removed()))?)
}

fn discard(store: &dyn KvStore, loads: &Loads) {
    discard_files(store, &files_of(loads));
}

fn files_of(loads: &Loads) -> Vec<LoadFile> {
    loads.iter().flat_map(|(_, files)| files).cloned().collect()
}

fn is_passing(error: &EngineError) -> bool {
    matches!(error, EngineError::Kv(error) if error.is_passing())
}

/// Whether a key of the column family `catalog` is that of the list.
pub(crate) fn is_note(key: &[u8]) -> bool {
    key == LOAD_KEY
}

/// Whether a load was cut short.
pub(crate) fn is_pending(store: &dyn KvStore) -> Result<bool, EngineError> {
    match store.latest().get(CATALOG, LOAD_KEY)? {
        Some(value) => Ok(!is_abandoned(store, &decode(&value)?.0)?),
        None => Ok(false),
    }
}

/// Completes a load that was cut short, and removes files that no load names; returns whether
/// there was one.
pub(crate) fn recover(store: &dyn KvStore) -> Result<bool, EngineError> {
    let mut completed = false;
    if let Some(value) = store.latest().get(CATALOG, LOAD_KEY)? {
        let (loads, ranges, imported) = decode(&value)?;
        completed = !is_abandoned(store, &loads)?;
        let mut rest = WriteBatch::new();
        if completed {
            ingest_rest(store, &loads)?;
            rest = removal(&ranges, imported.as_ref());
        }
        forget(store, rest)?;
    }
    if let Some(files) = store.local() {
        files.discard_stray_files(&[])?;
    }
    Ok(completed)
}

/// Whether a load that is noted was given up before any of it was ingested.
fn is_abandoned(store: &dyn KvStore, loads: &Loads) -> Result<bool, EngineError> {
    for file in files_of(loads) {
        if store.local_files(LOADS)?.is_abandoned(&file)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Ingests the files that wait still.
fn ingest_rest(store: &dyn KvStore, loads: &Loads) -> Result<(), EngineError> {
    let files_of_store = store.local_files(LOADS)?;
    let waiting: BTreeSet<LoadFile> = files_of_store.load_files()?.into_iter().collect();
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
    Ok(files_of_store.ingest(rest)?)
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
