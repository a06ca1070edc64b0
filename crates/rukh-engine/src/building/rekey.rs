//! Rows under other keys: of a table that was declared without a primary key and gets one, or of which a column in a key gets a wider type.
//!
//! All rows go into the batch that stores the changed definition, which first removes everything that is stored of the table. The batch
//! is held in memory, as that of any statement is.
//!
//! Deliberately not here: rows that carry times. Writing them would begin their lifetimes again.

use crate::EngineError;
use crate::building::rewrite::of_table;
use crate::forms::entry::KeyedRow;
use crate::forms::maintain::{Maintainer, RowChange};
use crate::forms::stored;
use crate::reading::rows::RowReader;
use crate::reading::snapshot::Snapshot;
use crate::state::shared::Inner;
use crate::writing::stage::stage;
use rukh_catalog::{CatalogError, IndexState, Table};
use rukh_keys::KeyRange;
use rukh_kv::WriteBatch;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// Puts the rows of `before`, as `snapshot` shows them, into a batch under the keys of another definition, with all entries of its indexes;
/// returns how many rows there are.
///
/// Fails on rows whose keys are equal or have a NULL, on an index that is being built, on rows with lifetimes, and on more bytes than a statement may hold.
pub(crate) fn rekey(
    inner: &Inner,
    snapshot: &Snapshot,
    before: &Table,
    maintainer: &Maintainer,
    batch: &mut WriteBatch,
) -> Result<u64, EngineError> {
    let codec = &maintainer.codec;
    let table = &codec.table;
    let limit_bytes = inner.statement_bytes_max.load(Ordering::Relaxed);
    let building = before
        .indexes
        .iter()
        .find(|index| index.state == IndexState::Building);
    if let Some(index) = building {
        let message = format!(
            "table \"{}\" cannot get other keys while its index \"{}\" is being built",
            table.name, index.name
        );
        return Err(CatalogError::Unsupported { message }.into());
    }
    if before.options.versions.is_some() {
        let message = format!(
            "table \"{}\" cannot get other keys because it has VERSIONS",
            table.name
        );
        return Err(CatalogError::Unsupported { message }.into());
    }
    let maintained = codec
        .indexes
        .iter()
        .filter(|index| index.index.state.is_maintained());
    let indexes = maintained.flat_map(|index| index.index.storage_names());
    for storage in before.storage_names().into_iter().chain(indexes) {
        batch.delete_range(&storage, &KeyRange::all());
    }
    stored::delete_statistics(batch, table.id);
    let mut reader = RowReader::new(snapshot, snapshot.codec(before.id)?.clone())?;
    let (mut keys, mut count) = (HashSet::new(), 0);
    while let Some(found) = reader.next()? {
        if table.options.timed {
            let message = format!(
                "table \"{}\" cannot get other keys because its rows have a TTL",
                table.name
            );
            return Err(CatalogError::Unsupported { message }.into());
        }
        let mut rows = of_table(table, before, found.rows);
        maintainer.rules.apply(codec, &mut rows)?;
        count += rows.len() as u64;
        let mut keyed = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut key = Vec::new();
            codec.row_key(row, &mut key)?;
            if !keys.insert(key.clone()) {
                return Err(codec.duplicate_key(row));
            }
            keyed.push(key);
        }
        let changes = keyed.iter().zip(&rows).map(|(key, row)| RowChange {
            key,
            old: None,
            new: Some(row),
            times: None,
            blind: false,
        });
        stage(maintainer, &changes.collect::<Vec<_>>(), &[], batch)?;
        let keyed = keyed.iter().zip(&rows);
        let keyed: Vec<KeyedRow<'_>> = keyed.map(|(key, row)| KeyedRow::for_keys(key, row)).collect();
        for index in &maintainer.indexes {
            index.visit_entries(&keyed, &mut |_, key, value| {
                batch.put(&index.codec.storage, key, value);
                Ok(())
            })?;
        }
        if batch.bytes() as u64 > limit_bytes {
            return Err(EngineError::StatementTooLarge { limit_bytes });
        }
    }
    Ok(count)
}
