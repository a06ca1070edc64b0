//! What the engine stores beside rows and index entries: definitions, ids, statistics.
//!
//! Keys and values of the column family `catalog` are those of rukh-catalog; this file reads and
//! writes them. The column family `statistics` holds `table/<id>` (see `analyze`).

use crate::EngineError;
use rukh_catalog::{
    Catalog, CatalogError, FORMAT_KEY, StoredCatalog, Table, TableId, decode_format, decode_table,
    encode_format, encode_table, table_key,
};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, ScanSpec, TableOptions, WriteBatch};

/// Column family of definitions.
pub(crate) const CATALOG: &str = StoredCatalog::NAME;

/// Column family of statistics.
pub(crate) const STATISTICS: &str = "statistics";

/// Makes the engine's own column families where they are missing, and checks the format.
pub(crate) fn prepare(store: &dyn KvStore, read_only: bool) -> Result<(), EngineError> {
    let found = match store.table_exists(CATALOG) {
        true => store.latest().get(CATALOG, FORMAT_KEY)?,
        false => None,
    };
    if let Some(format) = found {
        decode_format(&format)?;
    } else if read_only {
        return Err(EngineError::ReadOnly);
    }
    if read_only {
        return Ok(());
    }
    for name in [CATALOG, STATISTICS] {
        if !store.table_exists(name) {
            store.create_table(name, &TableOptions::default())?;
        }
    }
    if store.latest().get(CATALOG, FORMAT_KEY)?.is_none() {
        let mut batch = WriteBatch::new();
        batch.put(CATALOG, FORMAT_KEY, &encode_format());
        put_next_id(&mut batch, 1);
        store.write(batch, Durability::Synced)?;
    }
    Ok(())
}

/// Reads all definitions.
pub(crate) fn load_catalog(store: &dyn KvStore) -> Result<Catalog, EngineError> {
    let spec = ScanSpec::ranges(vec![KeyRange::prefix(StoredCatalog::TABLE_PREFIX.to_vec())]);
    let snapshot = store.snapshot();
    let mut cursor = snapshot.scan(CATALOG, spec)?;
    let mut tables = Vec::new();
    while let Some(entry) = cursor.next()? {
        tables.push(decode_table(entry.key, entry.value)?);
    }
    Ok(Catalog::from_tables(tables))
}

/// Returns the next id to give to a table or index.
pub(crate) fn next_id(store: &dyn KvStore) -> Result<u32, EngineError> {
    let value = store
        .latest()
        .get(CATALOG, StoredCatalog::NEXT_ID_KEY)?
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&value);
    let corrupted = |_| CatalogError::Corrupted {
        key: "next_id".to_string(),
        message: format!("{text:?} is no id"),
    };
    Ok(text.parse().map_err(corrupted)?)
}

/// Notes the next id to give.
pub(crate) fn put_next_id(batch: &mut WriteBatch, id: u32) {
    batch.put(CATALOG, StoredCatalog::NEXT_ID_KEY, id.to_string().as_bytes());
}

/// Writes a definition.
pub(crate) fn put_table(batch: &mut WriteBatch, table: &Table) {
    batch.put(CATALOG, &table_key(table.id), &encode_table(table));
}

/// Removes a definition, and the statistics of the table.
pub(crate) fn delete_table(batch: &mut WriteBatch, id: TableId) {
    batch.delete(CATALOG, &table_key(id));
    delete_statistics(batch, id);
}

/// Removes the statistics of a table.
pub(crate) fn delete_statistics(batch: &mut WriteBatch, id: TableId) {
    batch.delete(STATISTICS, &table_key(id));
}
