//! Sequences: numbers that are given once each, also after a crash.
//!
//! Numbers are reserved in blocks: what follows the block is stored durably before the first of its numbers is
//! given. Those of a block that were not given when the process ended are lost. Numbers are given outside of
//! statements' batches: one that fails gives none back, and the writer lock is not needed.

use crate::forms::sequence_state::{AlteredSequence, Next, SequenceBlock, SequenceState};
use crate::forms::stored;
use crate::state::shared::{Engine, Inner};
use crate::{DefinitionChanges, EngineError};
use parking_lot::Mutex;
use rukh_catalog::{Catalog, CatalogError, Sequence, SequenceId, View, ViewId};
use rukh_kv::{Durability, WriteBatch};
use std::sync::Arc;

/// Most numbers reserved together: blocks grow while the process runs, since each waits for the disk.
const BLOCK_MAX: u32 = 4096;

impl Engine {
    /// Returns where a sequence stands.
    pub fn sequence_state(&self, id: SequenceId) -> Result<SequenceState, EngineError> {
        match self.numbers(id) {
            Err(EngineError::ReadOnly) => stored::sequence_state(self.inner.store.as_ref(), id),
            known => Ok(known?.0.lock().state),
        }
    }

    /// Returns what a sequence gives next, and whether only the session's transaction knows of it: then nothing of it is stored before COMMIT.
    fn numbers(&self, id: SequenceId) -> Result<(Arc<Mutex<Next>>, bool), EngineError> {
        match self.scope().and_then(|scope| scope.numbers(id)) {
            Some(private) => Ok((private, true)),
            None => Ok((self.inner.known_sequence(id)?, false)),
        }
    }

    /// Takes as many numbers from a sequence as its CACHE says, or fewer where it ends or begins again.
    ///
    /// Fails with [`EngineError::SequenceExhausted`].
    pub fn take_numbers(&self, id: SequenceId) -> Result<SequenceBlock, EngineError> {
        let inner = &self.inner;
        let (known, private) = self.numbers(id)?;
        let mut next = known.lock();
        if !private {
            // A sequence that was dropped meanwhile must not be stored again.
            inner.sequence(id)?;
        }
        let sequence = sequence_of(&self.catalog(), id)?;
        let Some(first) = next.state.next else {
            let increasing = sequence.increment > 0;
            return Err(EngineError::SequenceExhausted {
                sequence: sequence.name.clone(),
                increasing,
                limit: if increasing { sequence.max } else { sequence.min },
            });
        };
        if private {
            next.reserved = u32::MAX;
        } else if next.reserved == 0 {
            let (count, after) = run_of(&sequence, first, sequence.cache.max(next.block));
            let mut batch = WriteBatch::new();
            stored::put_sequence_state(&mut batch, id, SequenceState::follows(after));
            inner.store.write(batch, Durability::Synced)?;
            next.reserved = count;
            next.block = (next.block * 2).min(BLOCK_MAX);
        }
        let wanted = sequence.cache.min(next.reserved);
        let (count, after) = run_of(&sequence, first, wanted);
        next.state = SequenceState::follows(after);
        next.reserved -= count;
        Ok(SequenceBlock { first, count })
    }

    /// Makes a sequence go on from a state: durably, unless it was made or restarted by the session's transaction.
    pub fn set_sequence_state(&self, id: SequenceId, state: SequenceState) -> Result<(), EngineError> {
        let inner = &self.inner;
        let (known, private) = self.numbers(id)?;
        let mut next = known.lock();
        if !private {
            inner.sequence(id)?;
            let mut batch = WriteBatch::new();
            stored::put_sequence_state(&mut batch, id, state);
            inner.store.write(batch, Durability::Synced)?;
        }
        *next = Next::of(state);
        Ok(())
    }

    /// Creates a sequence; its id is given here.
    pub fn create_sequence(&self, sequence: Sequence) -> Result<(), EngineError> {
        let change = self.begin_change()?;
        change
            .definitions
            .catalog
            .check_name_free(&sequence.schema, &sequence.name)?;
        let sequence = sequence.checked()?;
        let sequence = Sequence {
            id: SequenceId(change.take_id()),
            ..sequence
        };
        let state = SequenceState::set(sequence.start);
        let mut changed = change.nothing();
        changed.put_new_sequence(sequence, state);
        change.finish(changed)
    }

    /// Changes a sequence as `alteration` says, which is given all definitions, its own, and where it stands; numbers that others have reserved before are given as they were.
    pub fn alter_sequence<E: From<EngineError>>(
        &self,
        id: SequenceId,
        alteration: impl FnOnce(&Catalog, &Sequence, SequenceState) -> Result<AlteredSequence, E>,
    ) -> Result<(), E> {
        let change = self.begin_change()?;
        let (known, _) = self.numbers(id)?;
        let mut next = known.lock();
        let catalog = change.definitions.catalog.clone();
        let before = sequence_of(&catalog, id)?;
        let altered = alteration(&catalog, &before, next.state)?;
        let mut changed = change.nothing();
        if let Some(table) = altered.table {
            change.lock_table(table.id)?;
            changed.put_table(table);
        }
        changed.put_sequence(altered.sequence);
        // One that goes on has given numbers to others meanwhile when a transaction ends.
        if self.scope().is_none() || altered.state != next.state {
            changed.states.push((id, altered.state));
        }
        change.finish_holding(changed, Some(id))?;
        if self.scope().is_none() {
            *next = Next::of(altered.state);
        }
        Ok(())
    }

    /// Drops a sequence.
    pub fn drop_sequence(&self, id: SequenceId) -> Result<(), EngineError> {
        self.change_definitions(|_| {
            Ok(DefinitionChanges {
                dropped_sequences: vec![id],
                ..DefinitionChanges::default()
            })
        })
    }

    /// Creates a view, or replaces the one with its name; its id is given here.
    pub fn create_view(&self, view: View) -> Result<(), EngineError> {
        let change = self.begin_change()?;
        let catalog = &change.definitions.catalog;
        let id = match catalog.view_named(&view.schema, &view.name) {
            Some(known) => known.id,
            None => {
                catalog.check_name_free(&view.schema, &view.name)?;
                ViewId(change.take_id())
            }
        };
        let view = View { id, ..view };
        let mut changed = change.nothing();
        stored::put_view(&mut changed.batch, &view);
        changed.catalog = changed.catalog.with_view(view);
        change.finish(changed)
    }
}

impl Inner {
    fn sequence(&self, id: SequenceId) -> Result<Arc<Sequence>, EngineError> {
        sequence_of(&self.definitions().catalog, id)
    }

    /// Returns what a sequence gives next, read from storage the first time.
    pub(crate) fn known_sequence(&self, id: SequenceId) -> Result<Arc<Mutex<Next>>, EngineError> {
        self.sequence(id)?;
        if self.is_read_only() {
            return Err(EngineError::ReadOnly);
        }
        let mut known = self.sequences.lock();
        if let Some(next) = known.get(&id) {
            return Ok(next.clone());
        }
        let state = stored::sequence_state(self.store.as_ref(), id)?;
        let next = Arc::new(Mutex::new(Next::of(state)));
        known.insert(id, next.clone());
        Ok(next)
    }
}

/// Returns a sequence, which is there.
fn sequence_of(catalog: &Catalog, id: SequenceId) -> Result<Arc<Sequence>, EngineError> {
    let unknown = || CatalogError::UnknownTable {
        name: format!("sequence {}", id.0),
    };
    Ok(catalog.sequence(id).cloned().ok_or_else(unknown)?)
}

/// Returns how many of at most `most` numbers there are from `first` on before the sequence ends or begins
/// again, and the number after them.
fn run_of(sequence: &Sequence, first: i64, most: u32) -> (u32, Option<i64>) {
    let (first, increment) = (i128::from(first), i128::from(sequence.increment));
    let room = match increment > 0 {
        true => i128::from(sequence.max) - first,
        false => i128::from(sequence.min) - first,
    };
    let count = u32::try_from((room / increment + 1).max(1))
        .unwrap_or(u32::MAX)
        .min(most);
    let last = first + increment * (i128::from(count) - 1);
    // Within the bounds of the sequence, if `first` is.
    let last = i64::try_from(last).unwrap_or(sequence.max);
    (count, sequence.after(last))
}
