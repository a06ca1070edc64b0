//! What the engine stores beside rows and index entries: definitions, ids, statistics.
//!
//! Keys and values of the column family `catalog` are those of rukh-catalog; this file reads and
//! writes them. The column family `statistics` holds `table/<id>` (see `analyze`).

use crate::{EngineError, ImportNote, SequenceState};
use rukh_catalog::{
    Catalog, CatalogError, FORMAT_KEY, FORMAT_VERSION, Function, FunctionId, Index, IndexState, Role, RoleId,
    Schema, SchemaId, Sequence, SequenceId, StoredCatalog, Table, TableId, Type, TypeId, View, ViewId,
    decode_format, decode_object, decode_table, encode_format, encode_object, encode_table, function_key,
    import_key, role_key, schema_key, sequence_key, sequence_state_key, table_key, type_key, view_key,
};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, ScanSpec, TableOptions, WriteBatch};

/// Column family of definitions.
pub(crate) const CATALOG: &str = StoredCatalog::NAME;

/// Column family of statistics.
pub(crate) const STATISTICS: &str = "statistics";

/// Makes the engine's own column families where they are missing, and checks and raises the format. Returns the one that was found.
pub(crate) fn prepare(store: &dyn KvStore, read_only: bool) -> Result<u32, EngineError> {
    let found = match store.table_exists(CATALOG) {
        true => store.latest().get(CATALOG, FORMAT_KEY)?,
        false => None,
    };
    let found = match found {
        Some(format) => Some(decode_format(&format)?),
        None if read_only => return Err(EngineError::ReadOnly),
        None => None,
    };
    let known = found.unwrap_or(FORMAT_VERSION);
    if read_only {
        return Ok(known);
    }
    for name in [CATALOG, STATISTICS] {
        if !store.table_exists(name) {
            // Programs that know of no shared column families find the format there, and refuse the database.
            let options = TableOptions {
                own_family: true,
                ..TableOptions::default()
            };
            store.create_table(name, &options)?;
        }
    }
    if found != Some(FORMAT_VERSION) {
        // What is written from now on, older programs would not heed.
        let mut batch = WriteBatch::new();
        batch.put(CATALOG, FORMAT_KEY, &encode_format());
        if found.is_none() {
            put_next_id(&mut batch, 1);
        }
        // What was begun is completed by `recover`, at this open or the next.
        for table in load_catalog(store)?.tables() {
            if let Some(table) = without_outdated_indexes(table, known, IndexState::Building) {
                batch.put(CATALOG, &table_key(table.id), &encode_table(&table));
            }
        }
        store.write(batch, Durability::Synced)?;
    }
    Ok(known)
}

/// Returns a table of a database of the format `found` in which indexes whose entries may be others today are in `state`; `None` where
/// there are none.
pub(crate) fn without_outdated_indexes(table: &Table, found: u32, state: IndexState) -> Option<Table> {
    let is_outdated =
        |index: &Index| index.state == IndexState::Ready && rukh_catalog::is_outdated(index, found);
    if !table.indexes.iter().any(is_outdated) {
        return None;
    }
    let mut table = table.clone();
    for index in table.indexes.iter_mut().filter(|index| is_outdated(index)) {
        index.state = state;
    }
    Some(table)
}

/// Reads all definitions.
pub(crate) fn load_catalog(store: &dyn KvStore) -> Result<Catalog, EngineError> {
    let snapshot = store.snapshot();
    let all = |prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CatalogError>| {
        let spec = ScanSpec::ranges(vec![KeyRange::prefix(prefix.to_vec())]);
        let mut cursor = snapshot.scan(CATALOG, spec)?;
        while let Some(entry) = cursor.next()? {
            visit(entry.key, entry.value)?;
        }
        Ok::<(), EngineError>(())
    };
    let mut tables = Vec::new();
    all(StoredCatalog::TABLE_PREFIX, &mut |key, value| {
        tables.push(decode_table(key, value)?);
        Ok(())
    })?;
    let mut catalog = Catalog::from_tables(tables);
    all(StoredCatalog::SEQUENCE_PREFIX, &mut |key, value| {
        let sequence: Sequence = decode_object(key, value)?;
        catalog = catalog.with_sequence(sequence.checked()?);
        Ok(())
    })?;
    all(StoredCatalog::VIEW_PREFIX, &mut |key, value| {
        catalog = catalog.with_view(decode_object(key, value)?);
        Ok(())
    })?;
    all(StoredCatalog::ROLE_PREFIX, &mut |key, value| {
        catalog = catalog.with_role(decode_object(key, value)?);
        Ok(())
    })?;
    all(StoredCatalog::TYPE_PREFIX, &mut |key, value| {
        let ty: Type = decode_object(key, value)?;
        if ty.labels().is_some_and(|labels| !labels.is_ordered()) {
            let key = String::from_utf8_lossy(key).into_owned();
            let message = "the labels of an enum are not in the order of their codes".to_string();
            return Err(CatalogError::Corrupted { key, message });
        }
        catalog = catalog.with_type(ty);
        Ok(())
    })?;
    all(StoredCatalog::FUNCTION_PREFIX, &mut |key, value| {
        catalog = catalog.with_function(decode_object(key, value)?);
        Ok(())
    })?;
    all(StoredCatalog::SCHEMA_PREFIX, &mut |key, value| {
        catalog = catalog.with_schema(decode_object(key, value)?);
        Ok(())
    })?;
    Ok(catalog.at_version(1))
}

/// Writes the definition of a sequence.
pub(crate) fn put_sequence(batch: &mut WriteBatch, sequence: &Sequence) {
    batch.put(CATALOG, &sequence_key(sequence.id), &encode_object(sequence));
}

/// Writes what a sequence gives next.
///
/// | state                       | text  |
/// |-----------------------------|-------|
/// | 50 follows what was given   | `50`  |
/// | 50 was set, and is the first | `+050` |
/// | -50 was set                 | `-050` |
/// | nothing is left             | `end` |
pub(crate) fn put_sequence_state(batch: &mut WriteBatch, id: SequenceId, state: SequenceState) {
    let text = match state {
        SequenceState { next: None, .. } => "end".to_string(),
        SequenceState {
            next: Some(next),
            is_set: false,
        } => next.to_string(),
        SequenceState { next: Some(next), .. } => {
            let sign = if next < 0 { '-' } else { '+' };
            format!("{sign}0{}", next.unsigned_abs())
        }
    };
    batch.put(CATALOG, &sequence_state_key(id), text.as_bytes());
}

/// Writes the note of an import.
pub(crate) fn put_import(batch: &mut WriteBatch, note: &ImportNote) {
    batch.put(CATALOG, &import_key(&note.journal), note.file.as_bytes());
}

/// Removes the note of an import.
pub(crate) fn delete_import(batch: &mut WriteBatch, journal: &str) {
    batch.delete(CATALOG, &import_key(journal));
}

/// Reads the note of an import.
pub(crate) fn import_note(store: &dyn KvStore, journal: &str) -> Result<Option<String>, EngineError> {
    let value = store.latest().get(CATALOG, &import_key(journal))?;
    Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

/// Reads what a sequence gives next.
pub(crate) fn sequence_state(store: &dyn KvStore, id: SequenceId) -> Result<SequenceState, EngineError> {
    let key = sequence_state_key(id);
    let value = store.latest().get(CATALOG, &key)?.unwrap_or_default();
    match value.as_slice() {
        b"end" => Ok(SequenceState::follows(None)),
        digits => {
            let text = String::from_utf8_lossy(digits);
            let corrupted = |_| CatalogError::Corrupted {
                key: String::from_utf8_lossy(&key).into_owned(),
                message: format!("{text:?} is no number"),
            };
            let next: i64 = text.parse().map_err(corrupted)?;
            Ok(SequenceState {
                next: Some(next),
                is_set: text != next.to_string(),
            })
        }
    }
}

/// Removes a sequence.
pub(crate) fn delete_sequence(batch: &mut WriteBatch, id: SequenceId) {
    batch.delete(CATALOG, &sequence_key(id));
    batch.delete(CATALOG, &sequence_state_key(id));
}

/// Writes the definition of a view.
pub(crate) fn put_view(batch: &mut WriteBatch, view: &View) {
    batch.put(CATALOG, &view_key(view.id), &encode_object(view));
}

/// Writes the definition of a role.
pub(crate) fn put_role(batch: &mut WriteBatch, role: &Role) {
    batch.put(CATALOG, &role_key(role.id), &encode_object(role));
}

/// Removes a role.
pub(crate) fn delete_role(batch: &mut WriteBatch, id: RoleId) {
    batch.delete(CATALOG, &role_key(id));
}

/// Writes the definition of a schema.
pub(crate) fn put_schema(batch: &mut WriteBatch, schema: &Schema) {
    batch.put(CATALOG, &schema_key(schema.id), &encode_object(schema));
}

/// Writes the definition of a type.
pub(crate) fn put_type(batch: &mut WriteBatch, ty: &Type) {
    batch.put(CATALOG, &type_key(ty.id()), &encode_object(ty));
}

/// Removes a type.
pub(crate) fn delete_type(batch: &mut WriteBatch, id: TypeId) {
    batch.delete(CATALOG, &type_key(id));
}

/// Writes the definition of a function.
pub(crate) fn put_function(batch: &mut WriteBatch, function: &Function) {
    batch.put(CATALOG, &function_key(function.id), &encode_object(function));
}

/// Removes a function.
pub(crate) fn delete_function(batch: &mut WriteBatch, id: FunctionId) {
    batch.delete(CATALOG, &function_key(id));
}

/// Removes a schema.
pub(crate) fn delete_schema(batch: &mut WriteBatch, id: SchemaId) {
    batch.delete(CATALOG, &schema_key(id));
}

/// Removes a view.
pub(crate) fn delete_view(batch: &mut WriteBatch, id: ViewId) {
    batch.delete(CATALOG, &view_key(id));
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

/// Removes the statistics of a table, or of a history.
pub(crate) fn delete_statistics(batch: &mut WriteBatch, id: TableId) {
    batch.delete(STATISTICS, &table_key(id));
}
