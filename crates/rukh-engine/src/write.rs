//! Writing: one atomic statement, from rows to a batch of puts and deletes.
//!
//! A statement collects what it does to each row key ([`crate::pending`]). At its end the images
//! before and after give the changes of every index (`maintain`), unique keys are checked against
//! the state that the statement leaves behind, and `stage` puts rows and entries into one batch
//! that storage applies all at once.
//!
//! Rows are read before they are written only where something depends on it: an index that holds a
//! column outside of the key, columns that the statement does not name, a hashed primary key.

use crate::codec::TableCodec;
use crate::conflict;
use crate::engine::Inner;
use crate::lock::WriterGuard;
use crate::pending::{Image, PendingRow, PendingTable, Stored, row_bytes};
use crate::snapshot::Snapshot;
use crate::stage::stage;
use crate::{EngineError, Row, unique};
use rukh_catalog::{ColumnId, Table, TableId};
use rukh_keys::Datum;
use rukh_kv::{Durability, WriteBatch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows whose keys are looked up together.
const CHUNK_ROWS: usize = 1024;

/// Memory counted for a touched key beside its bytes and rows.
const PENDING_BYTES: u64 = 128;

/// What INSERT does with a row whose key, or UNIQUE value, is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Fails with [`EngineError::UniqueViolation`].
    Error,
    /// Leaves the row out: ON CONFLICT DO NOTHING.
    Ignore,
}

/// A statement under way. Holds the writer lock; dropped without [`Write::commit`] it leaves no trace.
///
/// Rows given to it are canonical ([`rukh_keys::DataType::check`]); those given as stored were read
/// through [`Write::snapshot`].
pub struct Write {
    inner: Arc<Inner>,
    snapshot: Snapshot,
    tables: BTreeMap<TableId, PendingTable>,
    bytes: u64,
    bytes_max: u64,
    _guard: WriterGuard,
}

impl Write {
    pub(crate) fn new(inner: Arc<Inner>, snapshot: Snapshot, guard: WriterGuard, bytes_max: u64) -> Self {
        Write {
            inner,
            snapshot,
            tables: BTreeMap::new(),
            bytes: 0,
            bytes_max,
            _guard: guard,
        }
    }

    /// Returns the state before the statement.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Adds rows; returns how many were added.
    ///
    /// Fails with `UniqueViolation` on a primary key that is taken, unless told to leave such rows
    /// out (then a taken value of a UNIQUE index leaves them out, too), and with `HashCollision` when
    /// it is taken by a row that differs in a hashed column.
    pub fn insert(
        &mut self,
        table: &Arc<Table>,
        rows: Vec<Row>,
        conflict: OnConflict,
    ) -> Result<u64, EngineError> {
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        let codec = pending.maintainer.codec.clone();
        if conflict == OnConflict::Error {
            pending.claims = None;
        }
        let (mut inserted, mut rows) = (0, rows.into_iter());
        loop {
            let chunk: Vec<Row> = rows.by_ref().take(CHUNK_ROWS).collect();
            if chunk.is_empty() {
                return Ok(inserted);
            }
            chunk.iter().try_for_each(|row| codec.check_row(row))?;
            let keys = row_keys(&codec, &chunk)?;
            let stored = read_base(&self.snapshot, pending, &keys)?;
            let taken = match conflict {
                OnConflict::Ignore => conflict::taken_values(&self.snapshot, pending, &keys, &chunk)?,
                OnConflict::Error => conflict::Taken::none(),
            };
            for (at, (key, row)) in keys.into_iter().zip(chunk).enumerate() {
                if is_taken(pending, &key, stored[at].is_some()) {
                    check_existing(&self.snapshot, pending, &key, &row)?;
                    match conflict {
                        OnConflict::Error => return Err(codec.duplicate_key(&row)),
                        OnConflict::Ignore => continue,
                    }
                }
                if !taken.claim(at, pending) {
                    continue;
                }
                self.bytes += PENDING_BYTES + key.len() as u64 + row_bytes(&row);
                let entry = pending.rows.entry(key).or_insert(PendingRow::new(Stored::Absent));
                entry.image = Image::Row(row);
                inserted += 1;
            }
            check_size(self.bytes, self.bytes_max)?;
        }
    }

    /// Adds or replaces rows; returns how many were given. Of rows with one key the last stands.
    ///
    /// Columns not in `named` keep their stored values; new rows take them from `rows`. What is NOT
    /// NULL is checked on the rows that come out.
    pub fn upsert(
        &mut self,
        table: &Arc<Table>,
        named: &[ColumnId],
        rows: Vec<Row>,
    ) -> Result<u64, EngineError> {
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        pending.claims = None;
        let codec = pending.maintainer.codec.clone();
        let kept: Vec<usize> = (0..codec.table.columns.len())
            .filter(|at| !named.contains(&codec.table.columns[*at].id))
            .collect();
        let blind = kept.iter().all(|at| codec.is_key_column(*at))
            && codec.hashed_positions().next().is_none()
            && !pending.maintainer.needs_old_row();
        let count = rows.len() as u64;
        let mut rows = rows.into_iter();
        loop {
            let chunk: Vec<Row> = rows.by_ref().take(CHUNK_ROWS).collect();
            if chunk.is_empty() {
                return Ok(count);
            }
            chunk.iter().try_for_each(|row| codec.check_key(row))?;
            let keys = row_keys(&codec, &chunk)?;
            let mut stored = match blind {
                true => keys.iter().map(|_| Stored::Unread).collect(),
                false => read_rows(&self.snapshot, pending, &keys)?,
            }
            .into_iter();
            for (key, mut row) in keys.into_iter().zip(chunk) {
                let stored = stored.next().unwrap_or(Stored::Unread);
                let size = PENDING_BYTES + key.len() as u64 + row_bytes(&row);
                let entry = pending.rows.entry(key.clone()).or_insert(PendingRow::new(stored));
                if let Some(before) = entry.row() {
                    check_collision(&codec, &key, before, &row)?;
                    kept.iter().for_each(|at| row[*at] = before[*at].clone());
                }
                codec.check_row(&row)?;
                if let (Stored::Present(before), Image::Untouched) = (&entry.stored, &entry.image) {
                    self.bytes += row_bytes(before);
                }
                entry.image = Image::Row(row);
                self.bytes += size;
            }
            check_size(self.bytes, self.bytes_max)?;
        }
    }

    /// Replaces rows, given as stored and as they shall be; keys may change. Returns how many.
    ///
    /// A key that two rows end up with is a `UniqueViolation`: of two that move there now, of one
    /// that stays there at the end of the statement.
    pub fn update(&mut self, table: &Arc<Table>, changes: Vec<(Row, Row)>) -> Result<u64, EngineError> {
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        pending.claims = None;
        let codec = pending.maintainer.codec.clone();
        let count = changes.len() as u64;
        for (old, new) in changes {
            codec.check_row(&old)?;
            codec.check_row(&new)?;
            let (old_key, new_key) = (row_key(&codec, &old)?, row_key(&codec, &new)?);
            self.bytes += 2 * PENDING_BYTES + old_key.len() as u64 + row_bytes(&old) + row_bytes(&new);
            let moved = old_key != new_key;
            let entry = pending
                .rows
                .entry(old_key)
                .or_insert(PendingRow::new(Stored::Unread));
            if let (Stored::Unread, Image::Untouched) = (&entry.stored, &entry.image) {
                entry.stored = Stored::Present(old);
            }
            if !moved {
                entry.image = Image::Row(new);
                continue;
            }
            entry.image = Image::Gone;
            let target = pending
                .rows
                .entry(new_key)
                .or_insert(PendingRow::new(Stored::Unread));
            match &target.arrival {
                Some(other) => {
                    check_collision(&codec, &row_key(&codec, &new)?, other, &new)?;
                    return Err(codec.duplicate_key(&new));
                }
                None => target.arrival = Some(new),
            }
        }
        check_size(self.bytes, self.bytes_max)?;
        Ok(count)
    }

    /// Removes rows, given as stored; returns how many were not already gone.
    pub fn delete(&mut self, table: &Arc<Table>, rows: Vec<Row>) -> Result<u64, EngineError> {
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        pending.claims = None;
        let codec = pending.maintainer.codec.clone();
        let mut deleted = 0;
        for row in rows {
            codec.check_row(&row)?;
            let key = row_key(&codec, &row)?;
            self.bytes += PENDING_BYTES + key.len() as u64 + row_bytes(&row);
            let entry = pending.rows.entry(key).or_insert(PendingRow::new(Stored::Unread));
            deleted += u64::from(!matches!(entry.image, Image::Gone));
            // A row put blindly has entries that depend on its key only: those of any image.
            if let Stored::Unread = entry.stored {
                entry.stored = Stored::Present(row);
            }
            entry.image = Image::Gone;
        }
        check_size(self.bytes, self.bytes_max)?;
        Ok(deleted)
    }

    /// Checks unique keys against the state the statement leaves behind and writes all changes at
    /// once; nothing is stored after an error.
    pub fn commit(mut self, durability: Durability) -> Result<(), EngineError> {
        let mut batch = WriteBatch::new();
        for pending in self.tables.values_mut() {
            settle_arrivals(&self.snapshot, pending)?;
            let maintainer = pending.maintainer.clone();
            let changes = pending.changes();
            let mut entries = Vec::with_capacity(maintainer.indexes.len());
            for index in &maintainer.indexes {
                let changed = index.changes(&changes)?;
                let changed =
                    unique::net_changes(&maintainer.codec, index, &changes, changed, &self.snapshot)?;
                entries.push(changed);
            }
            stage(&maintainer, &changes, &entries, &mut batch)?;
            check_size(batch.bytes() as u64, self.bytes_max)?;
        }
        if batch.is_empty() {
            return Ok(());
        }
        Ok(self.inner.store.write(batch, durability)?)
    }
}

/// Returns the pending changes of a table, new if the statement did not touch it yet.
fn pending<'w>(
    inner: &Inner,
    snapshot: &Snapshot,
    tables: &'w mut BTreeMap<TableId, PendingTable>,
    id: TableId,
) -> Result<&'w mut PendingTable, EngineError> {
    use std::collections::btree_map::Entry;
    match tables.entry(id) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(new) => {
            let maintainer = inner.maintainer(&snapshot.definitions, id)?;
            Ok(new.insert(PendingTable::new(maintainer)))
        }
    }
}

fn row_key(codec: &TableCodec, row: &[Datum]) -> Result<Vec<u8>, EngineError> {
    let mut key = Vec::with_capacity(32);
    codec.row_key(row, &mut key)?;
    Ok(key)
}

fn row_keys(codec: &TableCodec, rows: &[Row]) -> Result<Vec<Vec<u8>>, EngineError> {
    rows.iter().map(|row| row_key(codec, row)).collect()
}

/// Reads the stored values of family 0 under those keys that the statement has not touched.
fn read_base(
    snapshot: &Snapshot,
    pending: &PendingTable,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<Vec<u8>>>, EngineError> {
    let storage = &pending.maintainer.codec.families[0].storage;
    if let [key] = keys {
        return Ok(vec![snapshot.kv.get(storage, key)?]);
    }
    Ok(snapshot.kv.multi_get(storage, keys)?)
}

/// Reads the stored rows under keys; those that the statement has touched come out as unread.
fn read_rows(
    snapshot: &Snapshot,
    pending: &PendingTable,
    keys: &[Vec<u8>],
) -> Result<Vec<Stored>, EngineError> {
    let codec = &pending.maintainer.codec;
    let wanted: Vec<usize> = (0..keys.len())
        .filter(|at| !pending.rows.contains_key(&keys[*at]))
        .collect();
    let mut stored: Vec<Stored> = keys.iter().map(|_| Stored::Unread).collect();
    let wanted_keys: Vec<Vec<u8>> = wanted.iter().map(|at| keys[*at].clone()).collect();
    let mut families = Vec::with_capacity(codec.families.len());
    for family in &codec.families {
        families.push(snapshot.kv.multi_get(&family.storage, &wanted_keys)?);
    }
    for (nth, at) in wanted.into_iter().enumerate() {
        let values: Vec<Option<&[u8]>> = families.iter().map(|values| values[nth].as_deref()).collect();
        stored[at] = match values[0] {
            None => Stored::Absent,
            Some(_) => Stored::Present(codec.decode_row(&keys[at], &values)?),
        };
    }
    Ok(stored)
}

/// Whether there is a row under a key: of this statement, or stored.
fn is_taken(pending: &PendingTable, key: &[u8], stored: bool) -> bool {
    match pending.rows.get(key).map(|row| &row.image) {
        Some(Image::Gone) => false,
        Some(Image::Row(_)) => true,
        Some(Image::Untouched) | None => stored,
    }
}

/// Fails if the row under a key that is taken differs from `row` in a hashed column.
fn check_existing(
    snapshot: &Snapshot,
    pending: &PendingTable,
    key: &[u8],
    row: &[Datum],
) -> Result<(), EngineError> {
    let codec = &pending.maintainer.codec;
    if codec.hashed_positions().next().is_none() {
        return Ok(());
    }
    if let Some(other) = pending.rows.get(key).and_then(PendingRow::row) {
        return check_collision(codec, key, other, row);
    }
    match snapshot.get_encoded(codec, key)? {
        Some(other) => check_collision(codec, key, &other, row),
        None => Ok(()),
    }
}

/// Fails if two rows under one key differ in a column that the key holds as a hash only.
pub(crate) fn check_collision(
    codec: &TableCodec,
    key: &[u8],
    one: &[Datum],
    other: &[Datum],
) -> Result<(), EngineError> {
    match codec.hashed_positions().find(|at| one[*at] != other[*at]) {
        None => Ok(()),
        Some(at) => Err(EngineError::HashCollision {
            table: codec.table.name.clone(),
            column: codec.table.columns[at].name.clone(),
            key: crate::names::key(&codec.key, key),
        }),
    }
}

/// Lets the rows that moved take their places; fails if one is taken.
fn settle_arrivals(snapshot: &Snapshot, pending: &mut PendingTable) -> Result<(), EngineError> {
    let codec = pending.maintainer.codec.clone();
    let unread = pending.rows.iter().filter(|(_, row)| {
        row.arrival.is_some() && matches!((&row.stored, &row.image), (Stored::Unread, Image::Untouched))
    });
    let keys: Vec<Vec<u8>> = unread.map(|(key, _)| key.clone()).collect();
    for chunk in keys.chunks(CHUNK_ROWS) {
        let nothing = PendingTable::new(pending.maintainer.clone());
        for (key, stored) in chunk.iter().zip(read_rows(snapshot, &nothing, chunk)?) {
            if let Some(row) = pending.rows.get_mut(key) {
                row.stored = stored;
            }
        }
    }
    for (key, row) in &mut pending.rows {
        let Some(arrival) = row.arrival.take() else {
            continue;
        };
        if let Some(other) = row.row() {
            check_collision(&codec, key, other, &arrival)?;
            return Err(codec.duplicate_key(&arrival));
        }
        row.image = Image::Row(arrival);
    }
    Ok(())
}

fn check_size(bytes: u64, limit_bytes: u64) -> Result<(), EngineError> {
    match bytes <= limit_bytes {
        true => Ok(()),
        false => Err(EngineError::StatementTooLarge { limit_bytes }),
    }
}
