//! Ingest: files of sorted entries become part of several column families, all or none of them.
//!
//! Storage ingests one column family at a time, so what is about to be ingested is first written
//! down durably, under the key `load` of the column family `catalog`, as JSON: a list of column
//! families with the names of their files. No snapshot is taken while files go in. After a crash
//! the next open ingests what is left of the list; without a list, files are strays and removed.

use crate::EngineError;
use crate::engine::Inner;
use crate::stored::CATALOG;
use rukh_catalog::CatalogError;
use rukh_kv::{Durability, KvError, KvStore, LoadFile, TableName, WriteBatch};
use std::collections::BTreeSet;

/// Key of the list in the column family `catalog`.
const LOAD_KEY: &[u8] = b"load";

/// Times that ingesting is tried before the database is left for the next open to complete.
const ATTEMPTS: usize = 3;

/// Column families with the files to ingest into each, in this order.
pub(crate) type Loads = Vec<(String, Vec<LoadFile>)>;

/// Makes files part of their column families, visible all at once.
///
/// Fails without a trace, or with [`EngineError::RecoveryNeeded`], after which the engine shows and
/// takes nothing more.
pub(crate) fn ingest(inner: &Inner, loads: Loads) -> Result<(), EngineError> {
    let store = inner.store.as_ref();
    if loads.iter().all(|(_, files)| files.is_empty()) {
        return Ok(());
    }
    let _copying = inner.copying.lock();
    if let Err(error) = note(store, &loads) {
        // The answer may be lost, not the note: files must not come back later.
        forget(store).map_err(|_| inner.halt())?;
        // Strays are harmless, and removed when the database is opened next.
        let files = loads.into_iter().flat_map(|(_, files)| files);
        let _ = store.discard_files(&files.collect::<Vec<_>>());
        return Err(error);
    }
    let outcome = inner.behind_barrier(|| {
        let mut outcome = ingest_rest(store, &loads);
        for _ in 1..ATTEMPTS {
            if outcome.is_ok() {
                break;
            }
            outcome = ingest_rest(store, &loads);
        }
        outcome.map_err(|_| inner.halt())
    });
    outcome?;
    // Files ingested twice change nothing, but later writes would be lost under them.
    forget(store).or_else(|_| forget(store)).map_err(|_| inner.halt())
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
        ingest_rest(store, &decode(value)?)?;
        forget(store)?;
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

fn note(store: &dyn KvStore, loads: &Loads) -> Result<(), EngineError> {
    let names = |files: &[LoadFile]| files.iter().map(|file| file.as_str().to_string()).collect();
    let plain: Vec<(&String, Vec<String>)> = loads.iter().map(|(t, files)| (t, names(files))).collect();
    let value = serde_json::to_vec(&plain).expect("a list of names has no map");
    let mut batch = WriteBatch::new();
    batch.put(CATALOG, LOAD_KEY, &value);
    Ok(store.write(batch, Durability::Synced)?)
}

fn forget(store: &dyn KvStore) -> Result<(), KvError> {
    let mut batch = WriteBatch::new();
    batch.delete(CATALOG, LOAD_KEY);
    store.write(batch, Durability::Synced)
}

fn decode(value: &[u8]) -> Result<Loads, EngineError> {
    let plain: Result<Vec<(String, Vec<String>)>, _> = serde_json::from_slice(value);
    let plain = plain.map_err(|error| CatalogError::Corrupted {
        key: "load".to_string(),
        message: error.to_string(),
    })?;
    let named =
        |(table, files): (String, Vec<String>)| (table, files.into_iter().map(LoadFile::new).collect());
    Ok(plain.into_iter().map(named).collect())
}
