//! Definitions that a transaction has changed: seen by its statements only, until its COMMIT.
//!
//! What is stored of them lies in the overlay with the rows, and is written with these in one batch. Storage of new tables
//! and indexes is made at once. Rows go into the overlay there, too, but the entries of a new index are files, which storage takes
//! when the index is made: nothing reads or writes that storage except this transaction.
//!
//! From the first such statement to its end the transaction holds a lock, so that no other changes definitions if it waits for others;
//! COMMIT fails with [`EngineError::Conflict`] if one has done so all the same. Tables that are changed are locked as by LOCK TABLE.

use crate::EngineError;
use crate::forms::sequence_state::{Next, SequenceState};
use crate::forms::stored;
use crate::reading::definitions::Definitions;
use crate::state::lock::WriterGuard;
use crate::state::scope::Changed;
use crate::state::shared::Inner;
use crate::storage::row_counts::Growth;
use parking_lot::Mutex;
use rukh_catalog::{SequenceId, TableId};
use rukh_kv::{
    Commit, Committed, Durability, KvCursor, KvError, KvSnapshot, ScanSpec, ScanStats, Touch, Traffic, Turn,
    WriteBatch,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Versions of catalogs that one transaction sees are above all others, and no two are the same: plans are kept by version.
static VERSION: AtomicU64 = AtomicU64::new(1 << 63);

/// The definitions of a transaction that has changed some.
pub(crate) struct Private {
    /// Those of all others.
    pub(crate) origin: Arc<Definitions>,
    current: Arc<Definitions>,
    /// What sequences give next that were made or restarted.
    numbers: BTreeMap<SequenceId, Arc<Mutex<Next>>>,
    /// Tables that lost all rows at once.
    emptied: BTreeSet<TableId>,
}

impl Private {
    pub(crate) fn of(origin: Arc<Definitions>) -> Self {
        Private {
            current: origin.clone(),
            origin,
            numbers: BTreeMap::new(),
            emptied: BTreeSet::new(),
        }
    }

    /// Returns the same to go back to: sequences go on without it.
    pub(crate) fn kept(&self) -> Self {
        let kept = |next: &Arc<Mutex<Next>>| Arc::new(Mutex::new(Next::of(next.lock().state)));
        let numbers = self.numbers.iter().map(|(id, next)| (*id, kept(next)));
        Private {
            origin: self.origin.clone(),
            current: self.current.clone(),
            numbers: numbers.collect(),
            emptied: self.emptied.clone(),
        }
    }

    /// Takes what has changed, but for what lies in the overlay.
    pub(crate) fn take(&mut self, changed: Changed) {
        let version = VERSION.fetch_add(1, Ordering::Relaxed);
        let catalog = changed.catalog.at_version(version);
        self.current = Arc::new(Definitions::new(catalog, Some(&self.current)));
        for (id, state) in changed.states {
            self.numbers.insert(id, Arc::new(Mutex::new(Next::of(state))));
        }
        self.emptied.extend(changed.emptied);
    }

    /// Returns what a sequence gives next, if it was made or restarted.
    pub(crate) fn numbers(&self, id: SequenceId) -> Option<Arc<Mutex<Next>>> {
        self.numbers.get(&id).cloned()
    }

    pub(crate) fn current(&self) -> Arc<Definitions> {
        self.current.clone()
    }

    fn states(&self) -> Vec<(SequenceId, SequenceState)> {
        let states = self.numbers.iter().map(|(id, next)| (*id, next.lock().state));
        let is_there = |(id, _): &(SequenceId, _)| self.current.catalog.sequence(*id).is_some();
        states.filter(is_there).collect()
    }
}

impl Inner {
    /// Says that column families are not those of a transaction any more. The caller holds the writer lock.
    pub(crate) fn disown(&self, storages: &BTreeSet<String>) {
        self.private.lock().retain(|name| !storages.contains(name));
    }

    /// Writes the rows and the definitions of a transaction at once, and shows both at once; gives up the writer lock.
    pub(crate) fn commit_private(
        &self,
        private: &Private,
        storages: &BTreeSet<String>,
        mut batch: WriteBatch,
        guard: WriterGuard,
        touched: &[Touch],
        growth: &Growth,
    ) -> Result<Committed, EngineError> {
        let next = private.current.catalog.as_ref().clone();
        let next = next.at_version(private.origin.catalog.version + 1);
        let states = private.states();
        for (id, state) in &states {
            stored::put_sequence_state(&mut batch, *id, *state);
        }
        stored::put_next_id(&mut batch, self.next_id.load(Ordering::Relaxed));
        self.builds.note(&mut batch);
        let ended = self.ended_sequences(&private.origin, &next, &states, None)?;
        let mut numbers: Vec<_> = ended.iter().map(|(id, next)| (*id, next.lock())).collect();
        let mut definitions = Some(self.definitions.write());
        let commit = Commit {
            batch,
            durability: Durability::Synced,
            touched,
            turn: &mut Uncontended,
        };
        let committed = self.watched.commit_growing(commit, growth);
        let committed = match committed {
            Ok(conflict @ Committed::Conflict { .. }) => return Ok(conflict),
            Ok(committed) => {
                self.show_definitions(Ok(()), next, &mut definitions)?;
                committed
            }
            Err(KvError::NotSynced { source }) => {
                let halted = self.halt();
                return Err(source.map_or(halted, |error| (*error).into()));
            }
            Err(error) => {
                let shown = self.show_definitions(Err(error), next, &mut definitions);
                return Err(shown.err().unwrap_or_else(|| self.halt()));
            }
        };
        drop(definitions);
        self.restart_sequences(&mut numbers, &states);
        drop(numbers);
        private
            .emptied
            .iter()
            .for_each(|table| self.forget_statistics(*table));
        self.disown(storages);
        let followed = self.follow(&private.origin);
        self.drop_unnamed();
        drop(guard);
        followed.map(|()| committed)
    }
}

/// Holds the order of commits until the batch is as durable as requested.
struct Uncontended;

impl Turn for Uncontended {
    fn is_awaited(&self) -> bool {
        false
    }

    fn end(&mut self) {}
}

/// Says that another has committed a change of definitions.
pub(crate) fn changed_definitions() -> EngineError {
    EngineError::Conflict {
        table: String::new(),
        cause: "Definitions have been changed by another.",
    }
}

/// A snapshot with storage that is newer, and that nothing changes meanwhile.
pub(crate) struct WithOwn {
    base: Arc<dyn KvSnapshot>,
    own: Arc<BTreeSet<String>>,
    newest: Arc<dyn KvSnapshot>,
}

impl WithOwn {
    pub(crate) fn new(
        base: Arc<dyn KvSnapshot>,
        own: Arc<BTreeSet<String>>,
        newest: Arc<dyn KvSnapshot>,
    ) -> Self {
        WithOwn { base, own, newest }
    }

    fn of(&self, table: &str) -> &dyn KvSnapshot {
        match self.own.contains(table) {
            true => self.newest.as_ref(),
            false => self.base.as_ref(),
        }
    }
}

impl KvSnapshot for WithOwn {
    fn tables(&self) -> Vec<String> {
        let mut tables: BTreeSet<String> = self.base.tables().into_iter().collect();
        tables.extend(self.own.iter().cloned());
        tables.into_iter().collect()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.of(table).get(table, key)
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        self.of(table).multi_get(table, keys)
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        self.of(table).scan(table, spec)
    }

    fn traffic(&self) -> Traffic {
        self.base.traffic()
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        self.of(table).count(table, spec)
    }
}
