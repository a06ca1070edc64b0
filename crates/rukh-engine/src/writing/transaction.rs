//! Transactions of several statements: snapshot isolation or READ COMMITTED, with or without waiting.
//!
//! A [`Transaction`] reads the snapshot taken at its beginning with its own changes on top, which
//! lie in an overlay (`rukh_kv::Overlay`): to scans, lookups, counts and UNIQUE checks they look
//! stored. Its statements are [`Write`]s like any other, whose batches go into the overlay; no lock
//! of the database is held meanwhile.
//!
//! [`Transaction::commit`] takes the writer lock, fails with [`EngineError::Conflict`] if another
//! has committed a change of a key that this one touched ([`rukh_kv::CommitOrder`]), or of the definition of a
//! table that it changed, and writes all changes in one batch. As index entries are derived from
//! rows that no other commit has changed, they are right at that moment, too.
//!
//! Two kinds of transactions differ in when they learn of others:
//!
//! | begun with            | a row that another has changed                          | deadlocks     |
//! |-----------------------|---------------------------------------------------------|---------------|
//! | nothing               | is found by COMMIT                                      | cannot be     |
//! | [`Patience`]          | is locked (`row_locks`), or found by the statement itself | are found   |
//!
//! A statement that fails because its snapshot is too old may be run again on a newer one: always under READ COMMITTED
//! ([`Transaction::refresh`]), and where it is the first of the transaction, as its snapshot has not been seen
//! ([`Transaction::start_over`]). [`Transaction::take_outdated`] says that this was why it failed.
//!
//! `docs/transactions.md` lists what snapshot isolation lets through.

use crate::reading::definitions::Definitions;
use crate::reading::snapshot::Snapshot;
use crate::state::lock::WriterLock;
use crate::state::row_locks::{LOCK_BYTES, LockKey, LockMode, LockOwner, Patience};
use crate::state::scope::Scope;
use crate::state::shared::{Engine, Inner};
use crate::state::touches::{RowLock, table_of, wanted_locks, whole};
use crate::storage::row_counts::{Grown, Growth, tables_of};
use crate::writing::constraint::{DeferredCheck, check_deferred};
use crate::writing::private::{Private, changed_definitions};
use crate::writing::write::{Target, Write};
use crate::{EngineError, Row};
use parking_lot::{Mutex, RwLock};
use rukh_catalog::{ForeignKey, ForeignTiming, Table, TableId};
use rukh_kv::{Committed, Durability, Mark, Overlay, Touch, TouchKind, Traffic, Version, Watch, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// A transaction of several statements. Dropped without [`Transaction::commit`] it leaves no trace.
pub struct Transaction {
    open: Arc<Open>,
}

/// A state that a transaction can go back to; kept until dropped.
pub struct Savepoint {
    mark: Mark,
    touched: usize,
    grown: Growth,
    /// How many locks the transaction had.
    locks: usize,
    private: Option<Private>,
    constraints: Constraints,
}

/// What to do about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Waits for its end.
    Wait,
    /// Fails with [`EngineError::Locked`]: NOWAIT.
    Fail,
    /// Leaves the row out: SKIP LOCKED.
    Skip,
}

/// What a transaction and its statements share.
pub(crate) struct Open {
    pub(crate) inner: Arc<Inner>,
    read: RwLock<Read>,
    pub(crate) overlay: Arc<Overlay>,
    /// The keys touched, each with the version of the last commit that the statement could see.
    touched: Mutex<Vec<Touch>>,
    /// By how many rows tables have grown.
    pub(crate) grown: Mutex<Growth>,
    /// One statement at a time.
    statement: Arc<WriterLock>,
    /// Has storage remember the commits of others.
    watch: Mutex<Box<dyn Watch>>,
    /// The rows it has locked, if it waits for others.
    locks: Option<Locks>,
    /// The definitions that it has changed.
    pub(crate) private: Mutex<Option<Private>>,
    /// Which constraints are checked at its end, and what is left to check.
    constraints: Mutex<Constraints>,
    /// Storage that was made for such definitions.
    pub(crate) storages: Mutex<Arc<BTreeSet<String>>>,
    bytes_max: u64,
}

/// What the statements of a transaction read.
struct Read {
    /// The state at the beginning, or at that of the statement.
    base: Snapshot,
    /// The version of the last commit that is surely in it.
    version: Version,
    /// When the transaction began.
    began: i64,
}

/// When constraints of a transaction are checked.
#[derive(Clone, Default)]
struct Constraints {
    /// Whether those that may be are deferred, if SET CONSTRAINTS ALL has said it.
    all: Option<bool>,
    /// What it has said of others since.
    named: BTreeMap<(TableId, String), bool>,
    left: Vec<DeferredCheck>,
}

/// The locks of a transaction that waits for others.
struct Locks {
    owner: LockOwner,
    patience: Mutex<Patience>,
    /// Whether a statement failed because its snapshot was too old.
    outdated: AtomicBool,
}

impl Engine {
    /// Begins a transaction: takes a snapshot, and no lock. Conflicts are found by its commit.
    pub fn transaction(&self) -> Transaction {
        self.begin_transaction(None)
    }

    /// Begins a transaction that locks the rows which it changes, and waits for others that have locked them.
    pub fn transaction_that_waits(&self, patience: Patience) -> Transaction {
        self.begin_transaction(Some(patience))
    }

    fn begin_transaction(&self, patience: Option<Patience>) -> Transaction {
        let inner = self.inner.clone();
        let locks = patience.map(|patience| Locks {
            owner: inner.row_locks.owner(),
            patience: Mutex::new(patience),
            outdated: AtomicBool::new(false),
        });
        let watch = inner.store.order().watch();
        Transaction {
            open: Arc::new(Open {
                read: RwLock::new(Read::of(inner.snapshot(), watch.began())),
                overlay: Overlay::with_merge_operator(inner.store.merge_operator()),
                touched: Mutex::default(),
                grown: Mutex::default(),
                statement: Arc::default(),
                watch: Mutex::new(watch),
                locks,
                private: Mutex::default(),
                constraints: Mutex::default(),
                storages: Mutex::default(),
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

impl Read {
    fn of(base: Snapshot, version: Version) -> Self {
        let began = base.now();
        Read { base, version, began }
    }
}

impl Transaction {
    /// Whether it waits for others.
    pub fn waits(&self) -> bool {
        self.open.locks.is_some()
    }

    /// Sets how long statements wait for others from now on, if they do.
    pub fn set_patience(&self, patience: Patience) {
        if let Some(locks) = &self.open.locks {
            *locks.patience.lock() = patience;
        }
    }

    /// Whether a statement has failed since the last call because another had changed a row after the state that
    /// the statement read. Run again on a newer state, it may succeed.
    pub fn take_outdated(&self) -> bool {
        let locks = self.open.locks.as_ref();
        locks.is_some_and(|locks| locks.outdated.swap(false, Ordering::Relaxed))
    }

    /// Has the next statements read the newest state, as READ COMMITTED does; they see what the transaction changed itself as before.
    ///
    /// Of a transaction that does not wait for others, or that has changed a table whose definition is another now, the state
    /// stays: its commit fails if others have changed the same rows. Returns whether the state is the newest.
    pub fn refresh(&self) -> bool {
        let Open { inner, read, .. } = &*self.open;
        if !self.waits() {
            return false;
        }
        let version = inner.store.order().version();
        let base = inner.snapshot();
        let touched = self.open.touched.lock();
        // Readers of the definitions lock these two in the same order.
        let private = self.open.private.lock();
        let mut read = read.write();
        let is_kept = match &*private {
            Some(private) => !Arc::ptr_eq(&base.definitions, &private.origin),
            None => changed_table(&base.definitions, &read.base, &touched).is_some(),
        };
        if !is_kept {
            read.base = base;
            read.version = version;
        }
        !is_kept
    }

    /// Starts the transaction over with the newest state: nothing that it has read was given out, and nothing is changed.
    /// Locks stay.
    pub fn start_over(&self) {
        let Open {
            inner, read, watch, ..
        } = &*self.open;
        debug_assert!(self.open.overlay.is_empty(), "a transaction without changes");
        let mut watch = watch.lock();
        *watch = inner.store.order().watch();
        *read.write() = Read::of(inner.snapshot(), watch.began());
    }

    /// Gives up the locks taken since a savepoint, or all: the transaction will not commit what they are for.
    pub fn unlock(&self, since: Option<&Savepoint>) {
        if let Some(locks) = &self.open.locks {
            locks
                .owner
                .release_after(since.map_or(0, |savepoint| savepoint.locks));
        }
    }

    /// Returns what statements that define something change.
    pub(crate) fn scope(&self) -> Weak<dyn Scope> {
        let open: Arc<dyn Scope> = self.open.clone();
        Arc::downgrade(&open)
    }

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
    /// transaction or a return to a savepoint before; says for each whether it is locked, which only [`LockWait::Skip`]
    /// leaves open. Of the rows the columns of the primary key are read.
    ///
    /// A transaction that waits for others fails with what [`Write::commit`] does, and with [`EngineError::Locked`]. The
    /// commit of another fails with [`EngineError::Conflict`] if another has committed a change of one of the rows.
    /// Fails with [`EngineError::ReadOnly`], and with [`EngineError::TransactionTooLarge`].
    pub fn lock_rows(
        &self,
        table: &Table,
        rows: &[Row],
        lock: RowLock,
        wait: LockWait,
    ) -> Result<Vec<bool>, EngineError> {
        let Open { inner, .. } = &*self.open;
        inner.check_writable()?;
        let definitions = self.open.definitions();
        let codec = definitions.codec(table.id)?;
        let mut touched = Vec::with_capacity(rows.len());
        let mut key = Vec::new();
        for row in rows {
            key.clear();
            codec.row_key(row, &mut key)?;
            touched.push(inner.touches.locked(table.id, &key, lock));
        }
        let mut locked = vec![true; rows.len()];
        if wait != LockWait::Wait {
            for (touch, locked) in touched.iter().zip(&mut locked) {
                *locked = self.open.try_lock(*touch, wait)?;
            }
            let mut taken = locked.iter();
            touched.retain(|_| taken.next().copied().unwrap_or(false));
            if touched.is_empty() {
                return Ok(locked);
            }
        }
        self.open.apply(&WriteBatch::new(), touched, &Growth::new())?;
        Ok(locked)
    }

    /// Locks a table, until the end of the transaction or a return to a savepoint before: its commit fails with
    /// [`EngineError::Conflict`] if another has committed a change of any row since the transaction began. If the
    /// transaction waits for others, others that lock rows of the table wait for it.
    ///
    /// Fails with what [`Transaction::lock_rows`] does.
    pub fn lock_table(&self, table: &Table, wait: LockWait) -> Result<(), EngineError> {
        let Open { inner, .. } = &*self.open;
        self.open.definitions().codec(table.id)?;
        match inner.is_read_only() {
            true => Ok(()),
            false => {
                let touch = whole(table.id, TouchKind::SharedRelation);
                if wait != LockWait::Wait {
                    self.open.try_lock(touch, wait)?;
                }
                self.open.apply(&WriteBatch::new(), vec![touch], &Growth::new())
            }
        }
    }

    /// Remembers the present state.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            mark: self.open.overlay.mark(),
            touched: self.open.touched.lock().len(),
            grown: self.open.grown.lock().clone(),
            locks: self.open.locks.as_ref().map_or(0, |locks| locks.owner.count()),
            private: self.open.private.lock().as_ref().map(Private::kept),
            constraints: self.open.constraints.lock().clone(),
        }
    }

    /// Undoes what was done since a savepoint of this transaction, which stays; gives up the locks taken since.
    pub fn roll_back_to(&self, savepoint: &Savepoint) {
        self.undo_to(savepoint);
        self.unlock(Some(savepoint));
    }

    /// Undoes what was done since a savepoint, and keeps the locks: for a statement that is run again.
    pub fn undo_to(&self, savepoint: &Savepoint) {
        self.open.overlay.go_back(&savepoint.mark);
        self.open.touched.lock().truncate(savepoint.touched);
        self.open.grown.lock().clone_from(&savepoint.grown);
        *self.open.private.lock() = savepoint.private.as_ref().map(Private::kept);
        self.open.constraints.lock().clone_from(&savepoint.constraints);
    }

    /// Has constraints that may be deferred be checked at the end of the transaction, or at that of each statement and now: the one of this table and
    /// name, or all.
    ///
    /// Fails with [`EngineError::ReferencedMissing`] and [`EngineError::StillReferenced`], and then changes nothing.
    pub fn set_constraints(&self, of: Option<(TableId, &str)>, deferred: bool) -> Result<(), EngineError> {
        if !deferred {
            self.check_constraints(|table, name| of.is_none_or(|of| of == (table, name)))?;
        }
        let mut constraints = self.open.constraints.lock();
        match of {
            None => {
                constraints.all = Some(deferred);
                constraints.named.clear();
            }
            Some((table, name)) => drop(constraints.named.insert((table, name.to_string()), deferred)),
        }
        Ok(())
    }

    /// Does the checks of some constraints that are left.
    fn check_constraints(&self, chosen: impl Fn(TableId, &str) -> bool) -> Result<(), EngineError> {
        let left = self.open.constraints.lock().left.clone();
        let (now, later): (Vec<_>, Vec<_>) = left
            .into_iter()
            .partition(|check| chosen(check.table, &check.constraint));
        if !now.is_empty() {
            let snapshot = self.snapshot();
            now.iter()
                .try_for_each(|check| check_deferred(&snapshot, check))?;
            self.open.constraints.lock().left = later;
        }
        Ok(())
    }

    /// Writes all changes at once, of rows and of definitions; returns what that took of servers elsewhere.
    ///
    /// Fails with [`EngineError::Conflict`], and then stores nothing.
    pub fn commit(self, durability: Durability) -> Result<Traffic, EngineError> {
        let Open {
            inner,
            overlay,
            touched,
            grown,
            locks,
            ..
        } = &*self.open;
        self.check_constraints(|_, _| true)?;
        let touched = std::mem::take(&mut *touched.lock());
        let private = self.open.private.lock().take();
        if touched.is_empty() && private.is_none() {
            return Ok(Traffic::default());
        }
        let base = self.open.base();
        let guard = inner.lock_writer()?;
        match &private {
            Some(private) if !Arc::ptr_eq(&inner.definitions(), &private.origin) => {
                return Err(changed_definitions());
            }
            Some(_) => {}
            None => {
                if let Some(table) = changed_table(&inner.definitions(), &base, &touched) {
                    return Err(conflict(&base, table, "The definition of the table has changed."));
                }
            }
        }
        // The owner of a row lock keeps it, whichever kind of transaction wants it.
        let mine = match locks {
            Some(_) => None,
            None => inner.row_locks.statement(),
        };
        if let Some(mine) = &mine
            && !mine.try_all(wanted_locks(&touched))
        {
            let table = table_of(&touched[0]);
            return Err(conflict(
                &base,
                table,
                "A row that was changed here is locked by another.",
            ));
        }
        let mut changed: BTreeMap<TableId, u64> = BTreeMap::new();
        for touch in touched.iter().filter(|touch| touch.kind.is_change()) {
            *changed.entry(table_of(touch)).or_default() += 1;
        }
        let batch = overlay.batch();
        let grown = std::mem::take(&mut *grown.lock());
        let beside_blocks = inner.changes_of(changed.keys().copied(), &batch);
        let committed = match &private {
            None => inner.commit(batch, durability, guard, &touched, &grown)?,
            Some(private) => {
                let storages = self.open.storages.lock().clone();
                inner.commit_private(private, &storages, batch, guard, &touched, &grown)?
            }
        };
        let traffic = match committed {
            Committed::At { traffic, .. } => traffic,
            Committed::Conflict { touch } => return Err(conflict_of_rows(&base, &touched[touch])),
        };
        inner.note_all_growth(&grown);
        for (table, rows) in changed {
            inner.note_changed_rows(table, rows);
        }
        inner.note_changes(&beside_blocks);
        Ok(traffic)
    }
}

/// However it ends, others need not wait for it any longer.
impl Drop for Transaction {
    fn drop(&mut self) {
        self.open.give_up_storage();
        self.unlock(None);
    }
}

/// Says that another has committed a change of a row.
pub(crate) fn conflict_of_rows(base: &Snapshot, touch: &Touch) -> EngineError {
    conflict(
        base,
        table_of(touch),
        "A row that was changed here has been changed by another.",
    )
}

/// Returns a table whose definition is not what it was when its rows were read.
fn changed_table(now: &Definitions, base: &Snapshot, touched: &[Touch]) -> Option<TableId> {
    let tables: BTreeSet<TableId> = touched.iter().map(table_of).collect();
    tables
        .into_iter()
        .find(|id| match (now.codec(*id), base.definitions.codec(*id)) {
            (Ok(of_now), Ok(then)) => {
                !Arc::ptr_eq(of_now, then) && heeded(&of_now.table) != heeded(&then.table)
                    || now.references_to(*id) != base.definitions.references_to(*id)
            }
            _ => true,
        })
}

/// Returns the parts of a definition that writers depend on: indexes that no write maintains may come and go.
fn heeded(table: &Table) -> Table {
    let mut table = Table::clone(table);
    table.indexes.retain(|index| index.state.is_maintained());
    table
}

fn conflict(base: &Snapshot, table: TableId, cause: &'static str) -> EngineError {
    let table = base.name_of(table);
    EngineError::Conflict { table, cause }
}

impl Open {
    /// Returns when the transaction began: the time of all images that it makes and ends.
    pub(crate) fn began(&self) -> i64 {
        self.read.read().began
    }

    pub(crate) fn base(&self) -> Snapshot {
        self.read.read().base.clone()
    }

    fn snapshot(&self) -> Snapshot {
        if let Some(private) = &*self.private.lock() {
            return self.snapshot_as(&private.current());
        }
        let base = &self.read.read().base;
        match self.overlay.is_empty() {
            true => base.at_present(),
            false => base.with_changes(self.overlay.over(base.raw.clone()), &self.grown.lock()),
        }
    }

    /// Returns the version of the last commit that a change of a table may follow. What has a history is written as of the
    /// beginning, so nothing of it may have changed since.
    fn version_of(&self, table: TableId) -> Version {
        let read = self.read.read();
        match read.base.definitions.history(table) {
            Some(_) => self.watch.lock().began(),
            None => read.version,
        }
    }

    /// Whether a constraint of a table is checked at the end of the transaction.
    pub(crate) fn defers(&self, key: &ForeignKey, table: TableId) -> bool {
        let constraints = self.constraints.lock();
        let said = || {
            let named = constraints.named.get(&(table, key.name.clone()));
            named.copied().or(constraints.all)
        };
        match key.timing {
            ForeignTiming::NotDeferrable => false,
            ForeignTiming::Deferrable => said().unwrap_or(false),
            ForeignTiming::Deferred => said().unwrap_or(true),
        }
    }

    /// Takes checks that are done at the end.
    pub(crate) fn leave_checks(&self, checks: Vec<DeferredCheck>) {
        self.constraints.lock().left.extend(checks);
    }

    /// Tries to lock a row; `false` if another has locked it, or changed it meanwhile, and such rows are left out.
    fn try_lock(&self, touch: Touch, wait: LockWait) -> Result<bool, EngineError> {
        let Some(locks) = &self.locks else {
            return Ok(true);
        };
        for (key, mode) in wanted_locks(&[touch]) {
            if !locks.owner.try_lock(key, mode) {
                return match wait {
                    LockWait::Skip => Ok(false),
                    LockWait::Wait | LockWait::Fail => Err(EngineError::Locked {
                        table: self.base().name_of(table_of(&touch)),
                    }),
                };
            }
        }
        if wait != LockWait::Skip {
            return Ok(true);
        }
        let since = self.version_of(table_of(&touch));
        Ok(self.changed(&[Touch { since, ..touch }])?.is_none())
    }

    /// Locks keys, if the transaction waits for others.
    pub(crate) fn lock_keys(
        &self,
        wanted: impl IntoIterator<Item = (LockKey, LockMode)>,
    ) -> Result<(), EngineError> {
        if let Some(locks) = &self.locks {
            let patience = locks.patience.lock().clone();
            for (key, mode) in wanted {
                locks.owner.lock(key, mode, &patience)?;
            }
        }
        Ok(())
    }

    /// Notes that the statement fails because the state is too old, and that a newer one would help.
    pub(crate) fn is_outdated(&self) {
        if let Some(locks) = &self.locks {
            locks.outdated.store(true, Ordering::Relaxed);
        }
    }

    /// Locks keys that a statement touches, and finds out whether the statement has read them as they are.
    fn lock(&self, touched: &[Touch]) -> Result<(), EngineError> {
        let Some(locks) = &self.locks else {
            return Ok(());
        };
        self.lock_keys(wanted_locks(touched))?;
        let Some(at) = self.changed(touched)? else {
            return Ok(());
        };
        let base = self.base();
        let is_new = self.read.read().version == self.watch.lock().began();
        // A newer state does not help what has a history, unless the transaction starts over with it.
        let is_curable = is_new || base.definitions.history(table_of(&touched[at])).is_none();
        locks.outdated.store(is_curable, Ordering::Relaxed);
        Err(conflict_of_rows(&base, &touched[at]))
    }

    /// Returns the position of a key that another has changed since it was read.
    fn changed(&self, touched: &[Touch]) -> Result<Option<usize>, EngineError> {
        Ok(self.watch.lock().changed(touched)?)
    }

    /// Takes the changes of a statement, or nothing of it.
    pub(crate) fn apply(
        &self,
        batch: &WriteBatch,
        mut touched: Vec<Touch>,
        grown: &Growth,
    ) -> Result<(), EngineError> {
        for touch in &mut touched {
            touch.since = self.version_of(table_of(touch));
        }
        self.check_size(batch, touched.len())?;
        self.lock(&touched)?;
        self.overlay.apply(batch)?;
        self.touched.lock().extend(touched);
        let mut sums = self.grown.lock();
        for (table, rows) in grown {
            *sums.entry(*table).or_default() += *rows;
        }
        for table in tables_of(batch.tables().iter().map(String::as_str)) {
            if !grown.contains_key(&table) {
                sums.insert(table, Grown::about(0));
            }
        }
        Ok(())
    }

    /// Fails if the changes of a statement are too much beside those before.
    fn check_size(&self, batch: &WriteBatch, touched: usize) -> Result<(), EngineError> {
        let lock_bytes = self.locks.as_ref().map_or(0, |_| LOCK_BYTES);
        let touched_bytes = (size_of::<Touch>() + lock_bytes) * (self.touched.lock().len() + touched);
        match self.overlay.bytes_with(batch) + touched_bytes as u64 > self.bytes_max {
            true => Err(EngineError::TransactionTooLarge {
                limit_bytes: self.bytes_max,
            }),
            false => Ok(()),
        }
    }
}
