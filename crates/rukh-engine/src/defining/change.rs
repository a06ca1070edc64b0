//! A change of definitions, from its beginning to the moment from which sessions see it: all of them, or those of one transaction.
//!
//! | a change               | holds until it is done | goes                                    | is seen by others |
//! |------------------------|------------------------|-----------------------------------------|-------------------|
//! | by itself              | the writer lock        | to storage, in one batch                | when it is done   |
//! | within a transaction   | no lock of the database | into the changes of the transaction     | after its COMMIT  |
//!
//! Storage of new tables and indexes is made before a definition names it, under names that nothing else has, and goes again if none
//! ever does: with the error, with the transaction, or at the next open.

use crate::EngineError;
use crate::forms::sequence_state::{Next, SequenceState};
use crate::forms::stored;
use crate::reading::definitions::Definitions;
use crate::reading::snapshot::Snapshot;
use crate::state::lock::WriterGuard;
use crate::state::scope::{Changed, Scope};
use crate::state::shared::{Engine, Inner};
use parking_lot::{Mutex, MutexGuard};
use rukh_catalog::{Catalog, SequenceId, Table, TableId};
use rukh_kv::WriteBatch;
use std::sync::Arc;

/// A change of definitions under way.
pub(crate) struct Change<'e> {
    pub(crate) inner: &'e Inner,
    /// The definitions before.
    pub(crate) definitions: Arc<Definitions>,
    part: Part,
}

enum Part {
    Alone(WriterGuard),
    Of(Arc<dyn Scope>),
}

impl Engine {
    /// Begins a change of definitions, within the transaction of the session if it is in one.
    pub(crate) fn begin_change(&self) -> Result<Change<'_>, EngineError> {
        let inner = self.inner.as_ref();
        let (part, definitions) = match self.scope() {
            None => (Part::Alone(inner.lock_writer()?), inner.definitions()),
            Some(scope) => {
                let definitions = scope.begin_change()?;
                (Part::Of(scope), definitions)
            }
        };
        Ok(Change {
            inner,
            definitions,
            part,
        })
    }

    /// Fails if the session is in a transaction, which cannot take back what the statement does.
    pub(crate) fn check_alone(&self, what: &'static str) -> Result<(), EngineError> {
        match self.scope() {
            None => Ok(()),
            Some(_) => Err(EngineError::InTransaction { what }),
        }
    }
}

impl Change<'_> {
    /// Returns what is changed by nothing so far.
    pub(crate) fn nothing(&self) -> Changed {
        Changed {
            batch: WriteBatch::new(),
            catalog: Catalog::clone(&self.definitions.catalog),
            rewritten: Vec::new(),
            emptied: Vec::new(),
            states: Vec::new(),
        }
    }

    pub(crate) fn take_id(&self) -> u32 {
        self.inner.take_id()
    }

    /// Fails if the change is part of a transaction, which cannot take it back.
    pub(crate) fn check_alone(&self, what: &'static str) -> Result<(), EngineError> {
        match self.part {
            Part::Alone(_) => Ok(()),
            Part::Of(_) => Err(EngineError::InTransaction { what }),
        }
    }

    /// Keeps others from changing the rows of a table until the change is seen by them.
    pub(crate) fn lock_table(&self, table: TableId) -> Result<(), EngineError> {
        match &self.part {
            Part::Alone(_) => Ok(()),
            Part::Of(scope) => scope.lock_table(table),
        }
    }

    /// Creates column families, empty.
    pub(crate) fn create_storage(&self, names: &[String], table: &Table) -> Result<(), EngineError> {
        if let Part::Of(scope) = &self.part {
            scope.own(names);
        }
        let created = self.inner.create_storage(names, table);
        self.give_up_after(created)
    }

    /// Clears up what was created, after an error.
    pub(crate) fn give_up_after<T, E>(&self, done: Result<T, E>) -> Result<T, E> {
        done.inspect_err(|_| {
            if matches!(self.part, Part::Alone(_)) {
                self.inner.drop_unnamed();
            }
        })
    }

    /// Returns the present state.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.part {
            Part::Alone(_) => self.inner.snapshot(),
            Part::Of(scope) => scope.snapshot_as(&self.definitions),
        }
    }

    /// Returns the present state as it is under other definitions, which no session sees.
    pub(crate) fn snapshot_as(&self, catalog: Catalog) -> Snapshot {
        match &self.part {
            Part::Alone(_) => self.inner.snapshot_as(catalog),
            Part::Of(scope) => {
                let definitions = Definitions::new(catalog, Some(&self.definitions));
                scope.snapshot_as(&Arc::new(definitions))
            }
        }
    }

    /// Writes and shows what has changed.
    pub(crate) fn finish(self, changed: Changed) -> Result<(), EngineError> {
        self.finish_holding(changed, None)
    }

    /// As [`Change::finish`], where the caller holds what the sequence `held` gives next.
    pub(crate) fn finish_holding(
        self,
        changed: Changed,
        held: Option<SequenceId>,
    ) -> Result<(), EngineError> {
        let inner = self.inner;
        let guard = match self.part {
            Part::Of(scope) => return scope.take(changed),
            Part::Alone(guard) => guard,
        };
        let Changed {
            mut batch,
            catalog,
            rewritten,
            emptied,
            states,
        } = changed;
        for (id, state) in &states {
            stored::put_sequence_state(&mut batch, *id, *state);
        }
        let ended = inner.ended_sequences(&self.definitions, &catalog, &states, held)?;
        let mut numbers: Vec<_> = ended.iter().map(|(id, next)| (*id, next.lock())).collect();
        let rewritten_table = rewritten.iter().map(|(table, _)| *table);
        let beside_blocks = inner.changes_of(rewritten_table, &batch);
        let written = match rewritten.is_empty() {
            true => inner.commit_definitions(batch, catalog),
            false => inner.commit_definitions_with_rows(batch, catalog),
        };
        if written.is_ok() {
            inner.restart_sequences(&mut numbers, &states);
        }
        drop(numbers);
        let followed = written.and_then(|()| inner.follow(&self.definitions));
        inner.drop_unnamed();
        drop(guard);
        followed?;
        emptied.iter().for_each(|table| inner.forget_statistics(*table));
        for (table, rows) in rewritten {
            inner.note_changed_rows(table, rows);
        }
        inner.note_changes(&beside_blocks);
        Ok(())
    }
}

impl Inner {
    /// Returns what sequences give next that are not in `after`, or go on from other states, but for the one that the caller holds: no
    /// session takes a number of them, and so stores it, while they are locked.
    pub(crate) fn ended_sequences(
        &self,
        before: &Definitions,
        after: &Catalog,
        states: &[(SequenceId, SequenceState)],
        held: Option<SequenceId>,
    ) -> Result<Vec<(SequenceId, Arc<Mutex<Next>>)>, EngineError> {
        let ends = |id: &SequenceId| {
            let restarts = states.iter().any(|(restarted, _)| restarted == id);
            restarts || after.sequence(*id).is_none()
        };
        let ids = before
            .catalog
            .sequences()
            .map(|sequence| sequence.id)
            .filter(ends);
        ids.filter(|id| Some(*id) != held)
            .map(|id| Ok((id, self.known_sequence(id)?)))
            .collect()
    }

    /// Has sequences that are locked go on from other states, or forgets them if they are gone.
    pub(crate) fn restart_sequences(
        &self,
        locked: &mut [(SequenceId, MutexGuard<'_, Next>)],
        states: &[(SequenceId, SequenceState)],
    ) {
        for (id, next) in locked {
            match states.iter().find(|(restarted, _)| restarted == id) {
                Some((_, state)) => **next = Next::of(*state),
                None => drop(self.sequences.lock().remove(id)),
            }
        }
    }

    /// Has all that is known of tables follow a change of definitions, from those that were there before. The caller holds the writer lock.
    pub(crate) fn follow(&self, before: &Definitions) -> Result<(), EngineError> {
        let now = self.definitions();
        let mut purged = Ok(());
        for table in before.catalog.tables() {
            let id = table.id;
            let Some(next) = now.catalog.table(id) else {
                self.maintainers
                    .lock()
                    .retain(|known, _| ![id, id.history()].contains(known));
                self.row_ids.lock().remove(&id);
                self.forget_statistics(id);
                continue;
            };
            if Arc::ptr_eq(table, next) {
                continue;
            }
            if table.row_id().is_some() != next.row_id().is_some() {
                self.forget_statistics(id);
                if let Ok(codec) = before.codec(id) {
                    let layouts = codec.indexes.iter().chain(&codec.blocks);
                    layouts.for_each(|index| self.forget_debt(index.index.id));
                }
            }
            if has_other_lifetime(table, next)
                && let Ok(codec) = before.codec(id)
            {
                self.retire(codec);
            }
            if table.options.versions.is_some() && next.options.versions.is_none() {
                self.forget_history(id);
            }
        }
        for table in now.catalog.tables() {
            let is_same = before
                .catalog
                .table(table.id)
                .is_some_and(|known| Arc::ptr_eq(known, table));
            if !is_same && now.lost(table.id).is_none() {
                purged = purged.and(self.set_purges(table.id));
            }
        }
        purged
    }
}

/// Whether rows, or values of a family that both have, live for another time.
pub(crate) fn has_other_lifetime(before: &Table, next: &Table) -> bool {
    let other_family = next.families.iter().any(|family| {
        let known = before.families.iter().find(|known| known.id == family.id);
        known.is_some_and(|known| known.options.ttl_micros != family.options.ttl_micros)
    });
    other_family || before.options.lifetime != next.options.lifetime
}

/// Whether more or fewer former images of rows are kept.
pub(crate) fn keeps_other_images(before: &Table, next: &Table) -> bool {
    let other_family = next.families.iter().any(|family| {
        let known = before.families.iter().find(|known| known.id == family.id);
        known.is_some_and(|known| known.options.versions != family.options.versions)
    });
    other_family || before.options.versions != next.options.versions
}
