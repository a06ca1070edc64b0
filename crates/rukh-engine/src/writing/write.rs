//! Writing: one atomic statement, from rows to a batch of puts and deletes.
//!
//! A statement collects what it does to each row key ([`crate::writing::pending`]). At its end the images
//! before and after give the changes of every index (`maintain`), unique keys are checked against
//! the state that the statement leaves behind, and `stage` puts rows and entries into one batch
//! that storage applies all at once.
//!
//! Rows are read before they are written only where something depends on it: an index that holds a
//! column outside of the key, CHECK constraints and generated columns, a hashed primary key, lifetimes and versions.
//! Columns that the statement does not name are kept by `patch` where none of these is there.

mod add;
mod patch;

use crate::forms::codec::TableCodec;
use crate::forms::entry::KeyedRow;
use crate::forms::imports::ImportNote;
use crate::forms::maintain::{Maintainer, RowChange};
use crate::forms::stored;
use crate::reading::snapshot::Snapshot;
use crate::state::lock::WriterGuard;
use crate::state::row_locks::StatementLocks;
use crate::state::shared::Inner;
use crate::state::touches::{RowLock, Touches, read_at, table_of, wanted_locks, whole};
use crate::storage::row_counts::{Grown, Growth};
use crate::writing::conflict::{self, Obstacle};
use crate::writing::constraint::Enforced;
use crate::writing::existing::{
    are_there, check_collision, check_existing, is_taken, read_base, read_rows, settle_arrivals,
};
use crate::writing::history::keep_former;
use crate::writing::pending::{
    CHUNK_ROWS, Image, Moves, OnConflict, PendingRow, PendingTable, Stored, row_bytes,
};
use crate::writing::stage::stage;
use crate::writing::transaction::{Open, conflict_of_rows};
use crate::writing::unique;
use crate::writing::unique::NetChange;
use crate::{EngineError, Row};
use rukh_catalog::{ColumnId, ForeignKey, Table, TableId};
use rukh_keys::Datum;
use rukh_kv::{Committed, Durability, Touch, TouchKind, Traffic, Version, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use add::AddOutcome;

/// Memory counted for a touched key beside its bytes and rows.
const PENDING_BYTES: u64 = 128;

/// A statement under way. Holds the writer lock, of the database or of its transaction; dropped
/// without [`Write::commit`] it leaves no trace.
///
/// Rows given to it are canonical ([`rukh_keys::DataType::check`]); those given as stored were read
/// through [`Write::snapshot`].
pub struct Write {
    pub(crate) inner: Arc<Inner>,
    pub(crate) snapshot: Snapshot,
    pub(crate) tables: BTreeMap<TableId, PendingTable>,
    /// What is done to rows that are not read, after all else.
    merges: BTreeMap<TableId, add::PendingMerges>,
    /// Where rows of referenced tables have moved.
    pub(crate) moves: BTreeMap<TableId, Moves>,
    /// Rows that are to be as they were read.
    locked: Vec<Touch>,
    bytes: u64,
    bytes_max: u64,
    pub(crate) target: Target,
    /// What is stored with the rows.
    imported: Option<ImportNote>,
    /// Rows as they were written, or removed, if the caller wants them.
    pub(crate) written: Option<Vec<Row>>,
    pub(crate) guard: WriterGuard,
}

/// Where the changes of a statement go.
pub(crate) enum Target {
    /// To storage.
    Store {
        /// The locks of the rows.
        locks: Option<Arc<StatementLocks>>,
        /// The version of the state before the statement.
        version: Version,
    },
    /// To the changes of a transaction.
    Transaction(Arc<Open>),
}

impl Write {
    pub(crate) fn new(inner: Arc<Inner>, snapshot: Snapshot, guard: WriterGuard, target: Target) -> Self {
        let bytes_max = inner.statement_bytes_max.load(Ordering::Relaxed);
        Write {
            inner,
            snapshot,
            tables: BTreeMap::new(),
            merges: BTreeMap::new(),
            moves: BTreeMap::new(),
            locked: Vec::new(),
            bytes: 0,
            bytes_max,
            target,
            imported: None,
            written: None,
            guard,
        }
    }

    /// Begins to keep the rows that are written for [`Write::take_written`]: those inserted or changed as
    /// they shall be stored, those removed as they were.
    pub fn keep_written(&mut self) {
        self.written.get_or_insert_default();
    }

    /// Takes the rows that were written since the last time, in the order in which they were given.
    ///
    /// Empty unless [`Write::keep_written`] was called.
    pub fn take_written(&mut self) -> Vec<Row> {
        self.written.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns roughly the memory that pending changes take, in bytes.
    pub fn pending_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the state before the statement.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Adds rows; returns how many were added.
    ///
    /// Fails with `UniqueViolation` on a primary key that is taken, unless such rows are to be left
    /// out (then a taken value of a UNIQUE index leaves them out, too), and with `HashCollision` when
    /// it is taken by a row that differs in a hashed column.
    pub fn insert(
        &mut self,
        table: &Arc<Table>,
        rows: Vec<Row>,
        conflict: OnConflict,
    ) -> Result<u64, EngineError> {
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        if matches!(conflict, OnConflict::Error | OnConflict::IgnoreKey) {
            pending.claims = None;
        }
        let mut inserted = 0;
        for chunk in chunks(rows) {
            let added = insert_chunk(&self.snapshot, pending, chunk, conflict, self.written.as_mut())?;
            inserted += added.rows;
            self.bytes += added.bytes;
            check_size(self.bytes, self.bytes_max)?;
        }
        Ok(inserted)
    }

    /// Finds what stands in the way of rows that are to be inserted: a row with their primary key, or with
    /// their value of the UNIQUE index that `conflict` names. Other indexes are not looked at. Generated
    /// columns of the rows are computed.
    pub fn obstacles(
        &mut self,
        table: &Arc<Table>,
        rows: &mut [Row],
        conflict: OnConflict,
    ) -> Result<Vec<Obstacle>, EngineError> {
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        let codec = pending.maintainer.codec.clone();
        pending.maintainer.rules.apply(&codec, rows)?;
        let keys = row_keys(&codec, rows)?;
        conflict::obstacles(&self.snapshot, pending, &keys, rows, conflict)
    }

    /// Replaces rows that stood in the way of others, as [`Write::update`] does.
    pub fn resolve(&mut self, table: &Arc<Table>, changes: Vec<(Row, Row)>) -> Result<u64, EngineError> {
        let known = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        let maintainer = known.maintainer.clone();
        let Some(mut claims) = known.claims.take() else {
            return self.update(table, changes);
        };
        let mut new: Vec<Row> = changes.iter().map(|(_, new)| new.clone()).collect();
        maintainer.rules.apply(&maintainer.codec, &mut new)?;
        let count = self.update(table, changes)?;
        let keys = row_keys(&maintainer.codec, &new)?;
        let keyed = keys
            .iter()
            .zip(&new)
            .map(|(key, row)| KeyedRow::for_keys(key, row));
        conflict::claim_rows(&maintainer, &mut claims, &keyed.collect::<Vec<_>>())?;
        pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?.claims = Some(claims);
        Ok(count)
    }

    /// Returns the encoded primary key of a row: two rows are one if their keys are.
    pub fn row_key(&self, table: &Table, row: &[Datum]) -> Result<Vec<u8>, EngineError> {
        let codec = self.snapshot.definitions.codec(table.id)?;
        codec.check_key(row)?;
        row_key(codec, row)
    }

    /// Locks a stored row that decides what the statement does and is not changed: if another changes it first, the commit
    /// is in conflict with that as if it had changed it, too.
    pub fn lock_row(&mut self, table: &Table, row: &[Datum]) -> Result<(), EngineError> {
        let key = self.row_key(table, row)?;
        let touches = &self.inner.touches;
        self.locked.push(touches.locked(table.id, &key, RowLock::Update));
        Ok(())
    }

    /// Whether the statement has changed, moved or removed a row, or put one where it is.
    pub fn is_touched(&self, table: &Table, row: &[Datum]) -> Result<bool, EngineError> {
        let Some(pending) = self.tables.get(&table.id) else {
            return Ok(false);
        };
        let touched = pending.rows.get(&self.row_key(table, row)?);
        Ok(touched.is_some_and(|row| row.arrival.is_some() || !matches!(row.image, Image::Untouched)))
    }

    /// Adds or replaces rows; returns how many were given. Of rows with one key the last stands.
    ///
    /// Columns not in `named` keep their stored values; new rows take them from `rows`. What is NOT
    /// NULL is checked on the rows that come out. A table whose rows do not change takes new ones only, as
    /// [`Write::insert`] does.
    pub fn upsert(
        &mut self,
        table: &Arc<Table>,
        named: &[ColumnId],
        rows: Vec<Row>,
    ) -> Result<u64, EngineError> {
        if table.options.immutable {
            return self.insert(table, rows, OnConflict::Error);
        }
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        pending.claims = None;
        let maintainer = pending.maintainer.clone();
        if pending.rows.is_empty() && self.can_patch(&maintainer, named, &rows) {
            return self.patch(table, &maintainer, named, &rows);
        }
        debug_assert!(
            !self.merges.contains_key(&table.id),
            "rows of one statement are patched, or none"
        );
        let codec = maintainer.codec.clone();
        let kept: Vec<usize> = (0..codec.table.columns.len())
            .filter(|at| !named.contains(&codec.table.columns[*at].id))
            .collect();
        let blind = kept.iter().all(|at| codec.is_key_column(*at))
            && codec.hashed_positions().next().is_none()
            && !maintainer.needs_old_row();
        let reads = match blind {
            false => Reads::Rows,
            true if self.inner.keeps_rows(table)? => Reads::Keys,
            true => Reads::Nothing,
        };
        let mut upserted = 0;
        for chunk in chunks(rows) {
            let pending = self::pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
            let written = self.written.as_mut();
            let added = upsert_chunk(&self.snapshot, pending, chunk, &kept, reads, written)?;
            upserted += added.rows;
            self.bytes += added.bytes;
            check_size(self.bytes, self.bytes_max)?;
        }
        Ok(upserted)
    }

    /// Replaces rows, given as stored and as they shall be; keys may change. Returns how many.
    ///
    /// A key that two rows end up with is a `UniqueViolation`: of two that move there now, of one
    /// that stays there at the end of the statement. A table may say that its rows do not change.
    pub fn update(&mut self, table: &Arc<Table>, changes: Vec<(Row, Row)>) -> Result<u64, EngineError> {
        if table.options.immutable && !changes.is_empty() {
            let table = table.name.clone();
            return Err(EngineError::Immutable { table });
        }
        let pending = pending(&self.inner, &self.snapshot, &mut self.tables, table.id)?;
        pending.claims = None;
        let codec = pending.maintainer.codec.clone();
        let count = changes.len() as u64;
        let is_referenced = !self.snapshot.definitions.references_to(table.id).is_empty();
        let (old, mut new): (Vec<Row>, Vec<Row>) = changes.into_iter().unzip();
        pending.maintainer.rules.apply(&codec, &mut new)?;
        for (old, new) in old.into_iter().zip(new) {
            codec.check_row(&old)?;
            let (old_key, new_key) = (row_key(&codec, &old)?, row_key(&codec, &new)?);
            self.bytes += 2 * PENDING_BYTES + old_key.len() as u64 + row_bytes(&old) + row_bytes(&new);
            if let Some(written) = &mut self.written {
                written.push(new.clone());
            }
            let moved = old_key != new_key;
            let moved_from = if is_referenced {
                old_key.clone()
            } else {
                Vec::new()
            };
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
            let is_written = matches!(entry.image, Image::Row(_));
            entry.image = Image::Gone;
            if is_referenced {
                self.moves
                    .entry(table.id)
                    .or_default()
                    .add(&moved_from, &new_key, is_written);
            }
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
            let is_there = !matches!(entry.image, Image::Gone);
            deleted += u64::from(is_there);
            if let Some(written) = self.written.as_mut().filter(|_| is_there) {
                written.push(row.clone());
            }
            // A row put blindly has entries that depend on its key only: those of any image.
            if let Stored::Unread | Stored::There = entry.stored {
                entry.stored = Stored::Present(row);
            }
            entry.image = Image::Gone;
        }
        check_size(self.bytes, self.bytes_max)?;
        Ok(deleted)
    }

    /// Stores a note with the rows, outside of a transaction.
    pub fn note_import(&mut self, note: ImportNote) {
        self.imported = Some(note);
    }

    /// Checks unique keys against the state the statement leaves behind and writes all changes at
    /// once; nothing is stored after an error. Returns what that took of servers elsewhere, beside what the snapshot counts.
    ///
    /// In a transaction the changes become part of it, and durability is up to its end. If the transaction waits for
    /// others, the rows are locked first. It fails with [`EngineError::Conflict`] then if another has changed one of them since
    /// the transaction read it, with [`EngineError::Deadlock`] and [`EngineError::LockTimeout`].
    pub fn commit(mut self, durability: Durability) -> Result<Traffic, EngineError> {
        let open = match &self.target {
            Target::Transaction(open) => Some(open.clone()),
            Target::Store { .. } => None,
        };
        let is_deferred = |key: &ForeignKey, table| open.as_ref().is_some_and(|open| open.defers(key, table));
        // What is referred to is named in any case: a transaction that begins meanwhile may take it away.
        let Enforced {
            mut touched,
            deferred,
        } = self.enforce(&is_deferred)?;
        let touches = &self.inner.touches;
        let watched = matches!(self.target, Target::Transaction(_)) || self.inner.store.order().is_watched();
        let mut batch = WriteBatch::new();
        let mut grown = Growth::new();
        let mut changed = Vec::new();
        for (id, pending) in &mut self.tables {
            settle_arrivals(&self.snapshot, pending)?;
            let maintainer = pending.maintainer.clone();
            let history = self.snapshot.definitions.history(*id);
            let now = match &self.target {
                // What a transaction did, it did when it began: no moment of the past shows half of it.
                Target::Transaction(open) if history.is_some() => open.began(),
                _ => self.snapshot.now(),
            };
            let changes = pending.changes(now);
            grown.insert(*id, changes.iter().map(growth).sum::<Grown>());
            changed.push((*id, changes.len() as u64));
            let mut entries = Vec::with_capacity(maintainer.indexes.len());
            for index in &maintainer.indexes {
                let changed = index.changes(&changes)?;
                let changed =
                    unique::net_changes(&maintainer.codec, index, &changes, changed, &self.snapshot)?;
                entries.push(changed);
            }
            stage(&maintainer, &changes, &entries, &mut batch)?;
            if history.is_some() {
                let history = self.inner.maintainer(&self.snapshot.definitions, id.history())?;
                let images = keep_former(
                    &self.snapshot,
                    &maintainer.codec,
                    &history,
                    &changes,
                    now,
                    &mut batch,
                )?;
                grown.insert(id.history(), Grown::about(images));
            }
            check_size(batch.bytes() as u64, self.bytes_max)?;
            if watched {
                touch(touches, &maintainer, &changes, &entries, &mut touched);
            }
        }
        if watched {
            touched.append(&mut self.locked);
        }
        self.stage_merges(&mut batch, touches, &mut touched, &mut grown)?;
        changed.extend(self.merges.iter().map(|(id, merges)| (*id, merges.len() as u64)));
        match &self.target {
            Target::Transaction(open) => {
                open.apply(&batch, touched, &grown)?;
                open.leave_checks(deferred);
                Ok(Traffic::default())
            }
            Target::Store { locks, version } => {
                if let Some(locks) = locks
                    && !locks.try_all(wanted_locks(&touched))
                {
                    let table = touched
                        .first()
                        .map(|touch| self.snapshot.name_of(table_of(touch)));
                    return Err(EngineError::Locked {
                        table: table.unwrap_or_default(),
                    });
                }
                // A transaction that began meanwhile may not see the write.
                if !watched {
                    let tables = self.tables.keys();
                    touched.extend(tables.map(|table| whole(*table, TouchKind::ChangedRelation)));
                }
                read_at(*version, &mut touched);
                let changed_tables: BTreeSet<TableId> = changed.iter().map(|(id, _)| *id).collect();
                let beside_blocks = self.inner.changes_of(changed_tables.into_iter(), &batch);
                if let Some(imported) = &self.imported {
                    stored::put_import(&mut batch, imported);
                }
                let commit = self.inner.commit(batch, durability, self.guard, &touched, &grown);
                let traffic = match commit? {
                    Committed::At { traffic, .. } => traffic,
                    Committed::Conflict { touch } => {
                        return Err(conflict_of_rows(&self.snapshot, &touched[touch]));
                    }
                };
                self.inner.note_all_growth(&grown);
                for (table, rows) in changed {
                    self.inner.note_changed_rows(table, rows);
                }
                self.inner.note_changes(&beside_blocks);
                Ok(traffic)
            }
        }
    }
}

/// Adds the keys that changes of a table touch: of all rows, and of UNIQUE entries that come.
fn touch(
    touches: &Touches,
    maintainer: &Maintainer,
    changes: &[RowChange<'_>],
    entries: &[Vec<NetChange>],
    touched: &mut Vec<Touch>,
) {
    let table = maintainer.codec.table.id;
    touched.extend(changes.iter().map(|change| touches.row(table, change.key)));
    for (index, entries) in maintainer.indexes.iter().zip(entries) {
        let index = &index.codec.index;
        let taken = entries
            .iter()
            .filter(|entry| index.unique && entry.value.is_some());
        touched.extend(taken.map(|entry| touches.unique(table, index.id, &entry.key)));
    }
}

/// How many rows a change adds.
fn growth(change: &RowChange<'_>) -> Grown {
    let was_there = change.old.is_some() || change.is_there;
    Grown {
        rows: i64::from(change.new.is_some()) - i64::from(was_there),
        is_exact: !change.blind || change.is_there,
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

/// What a chunk of rows added to a statement.
struct Added {
    rows: u64,
    /// Memory that its pending changes take.
    bytes: u64,
}

/// Adds rows whose keys are free; see [`Write::insert`].
fn insert_chunk(
    snapshot: &Snapshot,
    pending: &mut PendingTable,
    mut rows: Vec<Row>,
    conflict: OnConflict,
    mut written: Option<&mut Vec<Row>>,
) -> Result<Added, EngineError> {
    let codec = pending.maintainer.codec.clone();
    pending.maintainer.rules.apply(&codec, &mut rows)?;
    let keys = row_keys(&codec, &rows)?;
    let stored = read_base(snapshot, pending, &keys)?;
    let taken = match conflict {
        OnConflict::Ignore | OnConflict::IgnoreIndex(_) => {
            conflict::taken_values(snapshot, pending, &keys, &rows, conflict)?
        }
        OnConflict::Error | OnConflict::IgnoreKey => conflict::Taken::none(),
    };
    let mut added = Added { rows: 0, bytes: 0 };
    for (at, (key, row)) in keys.into_iter().zip(rows).enumerate() {
        // ON CONFLICT (columns of the index) looks there before the primary key.
        let by_index = matches!(conflict, OnConflict::IgnoreIndex(_));
        if by_index && !taken.claim(at, pending) {
            continue;
        }
        if is_taken(pending, &key, stored[at].is_some()) {
            check_existing(snapshot, pending, &key, &row)?;
            match conflict.ignores_key() {
                false => return Err(codec.duplicate_key(&row)),
                true => continue,
            }
        }
        if !by_index && !taken.claim(at, pending) {
            continue;
        }
        added.rows += 1;
        added.bytes += PENDING_BYTES + key.len() as u64 + row_bytes(&row);
        if let Some(written) = &mut written {
            written.push(row.clone());
        }
        let entry = pending.rows.entry(key).or_insert(PendingRow::new(Stored::Absent));
        entry.image = Image::Row(row);
    }
    Ok(added)
}

/// What is read of the rows that an upsert replaces.
#[derive(Clone, Copy)]
enum Reads {
    /// Nothing depends on them.
    Nothing,
    /// Whether they are there, for the number of rows.
    Keys,
    /// All of them.
    Rows,
}

/// Adds or replaces rows, which keep the columns at the positions `kept`; see [`Write::upsert`].
fn upsert_chunk(
    snapshot: &Snapshot,
    pending: &mut PendingTable,
    rows: Vec<Row>,
    kept: &[usize],
    reads: Reads,
    mut written: Option<&mut Vec<Row>>,
) -> Result<Added, EngineError> {
    let maintainer = pending.maintainer.clone();
    let codec = maintainer.codec.clone();
    rows.iter().try_for_each(|row| codec.check_key(row))?;
    let keys = row_keys(&codec, &rows)?;
    let stored = match reads {
        Reads::Nothing => keys.iter().map(|_| Stored::Unread).collect(),
        Reads::Keys => {
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let there = are_there(snapshot, &codec, &keys)?.into_iter();
            let stored = there.map(|is_there| if is_there { Stored::There } else { Stored::Absent });
            stored.collect()
        }
        Reads::Rows => read_rows(snapshot, pending, &keys)?,
    };
    let mut added = Added {
        rows: rows.len() as u64,
        bytes: 0,
    };
    for ((key, mut row), stored) in keys.into_iter().zip(rows).zip(stored) {
        added.bytes += PENDING_BYTES + key.len() as u64 + row_bytes(&row);
        if let Stored::Present(before) = &stored {
            added.bytes += row_bytes(before);
        }
        let entry = pending.rows.entry(key.clone()).or_insert(PendingRow::new(stored));
        if let Some(before) = entry.row() {
            check_collision(&codec, &key, before, &row)?;
            kept.iter().for_each(|at| row[*at] = before[*at].clone());
        }
        maintainer.rules.apply(&codec, std::slice::from_mut(&mut row))?;
        if let Some(written) = &mut written {
            written.push(row.clone());
        }
        entry.image = Image::Row(row);
    }
    Ok(added)
}

/// Cuts rows into chunks whose keys are looked up together.
fn chunks(rows: Vec<Row>) -> impl Iterator<Item = Vec<Row>> {
    let mut rest = rows.into_iter();
    std::iter::from_fn(move || {
        let chunk: Vec<Row> = rest.by_ref().take(CHUNK_ROWS).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn row_key(codec: &TableCodec, row: &[Datum]) -> Result<Vec<u8>, EngineError> {
    let mut key = Vec::with_capacity(32);
    codec.row_key(row, &mut key)?;
    Ok(key)
}

fn row_keys(codec: &TableCodec, rows: &[Row]) -> Result<Vec<Vec<u8>>, EngineError> {
    rows.iter().map(|row| row_key(codec, row)).collect()
}

fn check_size(bytes: u64, limit_bytes: u64) -> Result<(), EngineError> {
    match bytes <= limit_bytes {
        true => Ok(()),
        false => Err(EngineError::StatementTooLarge { limit_bytes }),
    }
}
