//! Transactions of several statements: snapshot isolation, first committer wins.
//!
//! A [`Transaction`] reads the snapshot taken at its beginning with its own changes on top, which
//! lie in an overlay (`rukh_kv::Overlay`): to scans, lookups, counts and UNIQUE checks they look
//! stored. Its statements are [`Write`]s like any other, whose batches go into the overlay; no lock
//! of the database is held meanwhile.
//!
//! [`Transaction::commit`] takes the writer lock, fails with [`EngineError::Conflict`] if another
//! has committed a change of a key that this one touched (`commits`), or of the definition of a
//! table that it changed, and writes all changes in one batch. As index entries are derived from
//! rows that nobody else has changed, they are right at that moment, too. Locks are taken one at a
//! time and held for no statement, so there are no deadlocks.
//!
//! What snapshot isolation lets through is told in `docs/transactions.md`.

use crate::EngineError;
use crate::Row;
use crate::analyze::Growth;
use crate::commits::{Registration, RowLock, Touch};
use crate::engine::{Engine, Inner};
use crate::lock::WriterLock;
use crate::snapshot::Snapshot;
use crate::write::{Target, Write};
use parking_lot::Mutex;
use rukh_catalog::{Table, TableId};
use rukh_kv::{Durability, Mark, Overlay, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A transaction of several statements. Dropped without [`Transaction::commit`] it leaves no trace.
pub struct Transaction {
    open: Arc<Open>,
}

/// A state that a transaction can go back to; kept until dropped.
pub struct Savepoint {
    mark: Mark,
    touched: usize,
    grown: Growth,
}

/// What a transaction and its statements share.
pub(crate) struct Open {
    inner: Arc<Inner>,
    /// The state at the beginning.
    base: Snapshot,
    overlay: Arc<Overlay>,
    touched: Mutex<Vec<Touch>>,
    /// By how many rows tables have grown.
    grown: Mutex<Growth>,
    /// One statement at a time.
    statement: Arc<WriterLock>,
    registration: Registration,
    bytes_max: u64,
}

impl Engine {
    /// Begins a transaction: takes a snapshot, and no lock.
    pub fn transaction(&self) -> Transaction {
        let inner = self.inner.clone();
        let registration = inner.commits.register();
        Transaction {
            open: Arc::new(Open {
                base: inner.snapshot(),
                overlay: Overlay::with_merge_operator(inner.store.merge_operator()),
                touched: Mutex::default(),
                grown: Mutex::default(),
                statement: Arc::default(),
                registration,
                bytes_max: inner.transaction_bytes_max.load(Ordering::Relaxed),
                inner,
            }),
        }
    }

    /// Sets how many bytes of changes a transaction may hold in memory before its statements fail
    /// with [`EngineError::TransactionTooLarge`]; holds for transactions begun from now on.
    pub fn set_transaction_bytes_max(&self, bytes: u64) {
        self.inner.transaction_bytes_max.store(bytes, Ordering::Relaxed);
    }
}

impl Transaction {
    /// Returns the state at the beginning with the changes of all statements so far.
    pub fn snapshot(&self) -> Snapshot {
        self.open.snapshot()
    }

    /// Begins a statement that changes something; waits for the one before.
    ///
    /// Its [`Write::commit`] makes the changes part of the transaction. Fails with
    /// [`EngineError::ReadOnly`].
    pub fn write(&self) -> Result<Write, EngineError> {
        self.open.inner.check_writable()?;
        let guard = self.open.statement.lock();
        Ok(Write::new(
            self.open.inner.clone(),
            self.open.snapshot(),
            guard,
            Target::Transaction(self.open.clone()),
        ))
    }

    /// Locks rows of a table that were read through [`Transaction::snapshot`], until the end of the
    /// transaction or a return to a savepoint before: its commit fails with [`EngineError::Conflict`] if
    /// another has committed a change of one of them. Of the rows the columns of the primary key are read.
    ///
    /// Fails with [`EngineError::ReadOnly`], and with [`EngineError::TransactionTooLarge`].
    pub fn lock_rows(&self, table: &Table, rows: &[Row], lock: RowLock) -> Result<(), EngineError> {
        let Open { inner, base, .. } = &*self.open;
        inner.check_writable()?;
        let codec = base.definitions.codec(table.id)?;
        let mut touched = Vec::with_capacity(rows.len());
        let mut key = Vec::new();
        for row in rows {
            key.clear();
            codec.row_key(row, &mut key)?;
            touched.push(inner.commits.locked(table.id, &key, lock));
        }
        self.open.apply(&WriteBatch::new(), touched, &Growth::new())
    }

    /// Locks a table, until the end of the transaction or a return to a savepoint before: its commit fails with
    /// [`EngineError::Conflict`] if another has committed a change of any row since the transaction began.
    ///
    /// Fails with [`EngineError::TransactionTooLarge`].
    pub fn lock_table(&self, table: &Table) -> Result<(), EngineError> {
        let Open { inner, base, .. } = &*self.open;
        base.definitions.codec(table.id)?;
        match inner.is_read_only() {
            true => Ok(()),
            false => {
                let touched = vec![inner.commits.table(table.id)];
                self.open.apply(&WriteBatch::new(), touched, &Growth::new())
            }
        }
    }

    /// Remembers the present state.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            mark: self.open.overlay.mark(),
            touched: self.open.touched.lock().len(),
            grown: self.open.grown.lock().clone(),
        }
    }

    /// Undoes what was done since a savepoint of this transaction, which stays.
    pub fn roll_back_to(&self, savepoint: &Savepoint) {
        self.open.overlay.go_back(&savepoint.mark);
        self.open.touched.lock().truncate(savepoint.touched);
        self.open.grown.lock().clone_from(&savepoint.grown);
    }

    /// Writes all changes at once.
    ///
    /// Fails with [`EngineError::Conflict`], and then stores nothing.
    pub fn commit(self, durability: Durability) -> Result<(), EngineError> {
        let Open {
            inner,
            base,
            overlay,
            touched,
            grown,
            registration,
            ..
        } = &*self.open;
        let touched = std::mem::take(&mut *touched.lock());
        if touched.is_empty() {
            return Ok(());
        }
        let guard = inner.lock_writer()?;
        if let Some(table) = changed_table(inner, base, &touched) {
            return Err(conflict(base, table, "The definition of the table has changed."));
        }
        if let Some(table) = registration.conflict(&touched) {
            return Err(conflict(
                base,
                table,
                "A row that was changed here has been changed by another.",
            ));
        }
        let mut changed: BTreeMap<TableId, u64> = BTreeMap::new();
        for touch in touched.iter().filter(|touch| touch.is_change()) {
            *changed.entry(touch.table).or_default() += 1;
        }
        let batch = overlay.batch();
        let beside_blocks = inner.changes_of(changed.keys().copied(), &batch);
        inner.commit(batch, durability, guard, |commits| {
            commits.note(&touched);
        })?;
        inner.note_all_growth(&grown.lock());
        for (table, rows) in changed {
            inner.note_changed_rows(table, rows);
        }
        inner.note_changes(&beside_blocks);
        Ok(())
    }
}

/// Returns a table whose definition is not what it was at the beginning.
fn changed_table(inner: &Inner, base: &Snapshot, touched: &[Touch]) -> Option<TableId> {
    let now = inner.definitions();
    let tables: BTreeSet<TableId> = touched.iter().map(|touch| touch.table).collect();
    tables
        .into_iter()
        .find(|id| match (now.codec(*id), base.definitions.codec(*id)) {
            (Ok(now), Ok(then)) => !Arc::ptr_eq(now, then) && heeded(&now.table) != heeded(&then.table),
            _ => true,
        })
}

/// Returns what writers heed of a table: indexes that nobody maintains may come and go.
fn heeded(table: &Table) -> Table {
    let mut table = Table::clone(table);
    table.indexes.retain(|index| index.state.is_maintained());
    table
}

fn conflict(base: &Snapshot, table: TableId, cause: &'static str) -> EngineError {
    let table = base
        .definitions
        .codec(table)
        .map(|codec| codec.table.name.clone());
    EngineError::Conflict {
        table: table.unwrap_or_default(),
        cause,
    }
}

impl Open {
    /// Returns when the transaction began: the time of all images that it makes and ends.
    pub(crate) fn began(&self) -> i64 {
        self.base.now()
    }

    fn snapshot(&self) -> Snapshot {
        match self.overlay.is_empty() {
            true => self.base.at_present(),
            false => self.base.with_kv(self.overlay.over(self.base.raw.clone())),
        }
    }

    /// Takes the changes of a statement, or nothing of it.
    pub(crate) fn apply(
        &self,
        batch: &WriteBatch,
        touched: Vec<Touch>,
        grown: &Growth,
    ) -> Result<(), EngineError> {
        let mut all = self.touched.lock();
        let touched_bytes = size_of::<Touch>() * (all.len() + touched.len());
        if self.overlay.bytes_with(batch) + touched_bytes as u64 > self.bytes_max {
            return Err(EngineError::TransactionTooLarge {
                limit_bytes: self.bytes_max,
            });
        }
        self.overlay.apply(batch)?;
        all.extend(touched);
        let mut sums = self.grown.lock();
        for (table, rows) in grown {
            *sums.entry(*table).or_default() += rows;
        }
        Ok(())
    }
}
