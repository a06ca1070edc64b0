//! How a transaction takes the statements that define something: [`Scope`] of an open transaction.

use crate::EngineError;
use crate::forms::sequence_state::Next;
use crate::reading::definitions::Definitions;
use crate::reading::snapshot::Snapshot;
use crate::state::row_locks::{LockKey, LockMode, Patience, StatementLocks};
use crate::state::scope::{Changed, Scope};
use crate::state::shared::Engine;
use crate::state::touches::whole;
use crate::storage::row_counts::Growth;
use crate::writing::private::{Private, WithOwn, changed_definitions};
use crate::writing::transaction::Open;
use parking_lot::Mutex;
use rukh_catalog::{SequenceId, TableId};
use rukh_kv::{KvSnapshot, TouchKind, WriteBatch};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a transaction locks before it changes definitions: no table has this id.
const DEFINITIONS: LockKey = (TableId(0), 0);

impl Open {
    /// Returns what is stored, and what storage has of definitions that no other session sees.
    pub(crate) fn stored(&self, base: &Snapshot) -> Arc<dyn KvSnapshot> {
        let own = self.storages.lock();
        match own.is_empty() {
            true => base.raw.clone(),
            false => {
                let newest = self.inner.store.latest();
                Arc::new(WithOwn::new(base.raw.clone(), own.clone(), newest))
            }
        }
    }

    /// Lets what was made for definitions that no session sees go. The caller does not hold the writer lock.
    pub(crate) fn give_up_storage(&self) {
        if self.storages.lock().is_empty() {
            return;
        }
        let _guard = self.inner.writer.lock();
        let own = std::mem::take(&mut *self.storages.lock());
        self.inner.disown(&own);
        self.inner.drop_unnamed();
    }
}

impl Engine {
    /// Waits until no transaction has changed definitions that it has not committed yet; none does until what is returned is dropped. Transactions
    /// that do not wait for others do not lock definitions, and fail at their COMMIT.
    ///
    /// Fails with [`EngineError::LockTimeout`] and [`EngineError::Cancelled`].
    pub fn wait_for_definitions(&self, patience: &Patience) -> Result<Option<StatementLocks>, EngineError> {
        let locks = &self.inner.row_locks;
        if !locks.are_in_use() {
            return Ok(None);
        }
        let locks = StatementLocks::new(locks);
        locks.lock(DEFINITIONS, LockMode::Exclusive, patience)?;
        Ok(Some(locks))
    }
}

impl Scope for Open {
    fn definitions(&self) -> Arc<Definitions> {
        match &*self.private.lock() {
            Some(private) => private.current(),
            None => self.base().definitions,
        }
    }

    fn changed_definitions(&self) -> Option<Arc<Definitions>> {
        self.private.lock().as_ref().map(Private::current)
    }

    fn snapshot_as(&self, definitions: &Arc<Definitions>) -> Snapshot {
        let base = self.base().with_definitions(definitions.clone());
        base.with_changes(self.overlay.over(self.stored(&base)), &self.grown.lock())
    }

    fn begin_change(&self) -> Result<Arc<Definitions>, EngineError> {
        self.inner.check_writable()?;
        if let Some(private) = &*self.private.lock() {
            return Ok(private.current());
        }
        self.lock_keys([(DEFINITIONS, LockMode::Exclusive)])?;
        let base = self.base().definitions;
        match Arc::ptr_eq(&self.inner.definitions(), &base) {
            true => Ok(base),
            false => {
                self.is_outdated();
                Err(changed_definitions())
            }
        }
    }

    fn lock_table(&self, table: TableId) -> Result<(), EngineError> {
        let base = self.base().definitions;
        let Some(known) = base.codecs.get(&table) else {
            return Ok(());
        };
        if let Some(build) = self.inner.builds.of_table(table).first() {
            let index = known.table.indexes.iter().find(|index| index.id == build.index);
            return Err(EngineError::IndexBusy {
                index: index.map(|index| index.name.clone()).unwrap_or_default(),
            });
        }
        let touch = whole(table, TouchKind::SharedRelation);
        self.apply(&WriteBatch::new(), vec![touch], &Growth::new())
    }

    fn own(&self, storages: &[String]) {
        self.inner.private.lock().extend(storages.iter().cloned());
        let mut own = self.storages.lock();
        let mut names = BTreeSet::clone(&own);
        names.extend(storages.iter().cloned());
        *own = Arc::new(names);
    }

    fn take(&self, changed: Changed) -> Result<(), EngineError> {
        let touched = |(table, _): &(TableId, u64)| whole(*table, TouchKind::ChangedRelation);
        let touched = changed.rewritten.iter().map(touched).collect();
        self.apply(&changed.batch, touched, &Growth::new())?;
        let mut private = self.private.lock();
        let private = private.get_or_insert_with(|| Private::of(self.base().definitions));
        private.take(changed);
        Ok(())
    }

    fn numbers(&self, id: SequenceId) -> Option<Arc<Mutex<Next>>> {
        let private = self.private.lock();
        private.as_ref()?.numbers(id)
    }
}
