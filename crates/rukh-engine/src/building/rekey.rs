//! Rows under other keys: of a table that was declared without a primary key and gets one, or of which a column in a key gets another type.
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
use rukh_catalog::{CatalogError, ColumnId, IndexState, Table};
use rukh_keys::{Datum, KeyRange};
use rukh_kv::WriteBatch;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// The definitions that rows go through to their new keys.
#[derive(Clone, Copy)]
pub(crate) struct Images<'m> {
    /// The table as it shall be.
    pub(crate) after: &'m Maintainer,
    /// The table with columns that are computed from those that were there.
    pub(crate) through: Option<&'m Maintainer>,
    /// A column of the table, and the one of `through` whose values it gets.
    pub(crate) retyped: Option<(ColumnId, ColumnId)>,
}

impl Images<'_> {
    /// Returns rows of `read` as rows of the table.
    fn rows(&self, read: &Table, mut rows: Vec<Vec<Datum>>) -> Result<Vec<Vec<Datum>>, EngineError> {
        if let Some(through) = self.through {
            through.rules.apply_to_stored(&through.codec, &mut rows)?;
        }
        let table = &self.after.codec.table;
        let places = self
            .retyped
            .map(|(to, from)| (table.position(to), read.position(from)));
        let Some((Some(to), Some(from))) = places else {
            return Ok(of_table(table, read, rows));
        };
        let computed = rows
            .iter_mut()
            .map(|row| std::mem::replace(&mut row[from], Datum::Null));
        let computed: Vec<Datum> = computed.collect();
        let mut rows = of_table(table, read, rows);
        for (row, value) in rows.iter_mut().zip(computed) {
            row[to] = value;
        }
        Ok(rows)
    }
}

/// Puts the rows of `before`, as `snapshot` shows them, into a batch under the keys of another definition, with all entries of its indexes;
/// returns how many rows there are.
///
/// Fails on rows whose keys, or entries of a unique index, are equal, on NULLs in the primary key, on an index that is being built, on rows with lifetimes, and on more bytes than a statement may hold.
pub(crate) fn rekey(
    inner: &Inner,
    snapshot: &Snapshot,
    before: &Table,
    images: Images<'_>,
    batch: &mut WriteBatch,
) -> Result<u64, EngineError> {
    let maintainer = images.after;
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
    let read = snapshot.codec(before.id)?.clone();
    let mut reader = RowReader::new(snapshot, read.clone())?;
    let (mut keys, mut count) = (HashSet::new(), 0);
    let mut taken: Vec<HashSet<Vec<u8>>> = maintainer.indexes.iter().map(|_| HashSet::new()).collect();
    while let Some(found) = reader.next()? {
        if table.options.timed {
            let message = format!(
                "table \"{}\" cannot get other keys because its rows have a TTL",
                table.name
            );
            return Err(CatalogError::Unsupported { message }.into());
        }
        let mut rows = images.rows(&read.table, found.rows)?;
        maintainer.rules.apply_to_stored(codec, &mut rows)?;
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
            is_there: false,
        });
        stage(maintainer, &changes.collect::<Vec<_>>(), &[], batch)?;
        let keyed = keyed.iter().zip(&rows);
        let keyed: Vec<KeyedRow<'_>> = keyed.map(|(key, row)| KeyedRow::for_keys(key, row)).collect();
        for (index, taken) in maintainer.indexes.iter().zip(&mut taken) {
            index.put_entries(table, &keyed, taken, batch)?;
        }
        if batch.bytes() as u64 > limit_bytes {
            return Err(EngineError::StatementTooLarge { limit_bytes });
        }
    }
    Ok(count)
}
