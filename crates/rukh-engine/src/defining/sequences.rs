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
        let inner = &self.inner;
        match inner.known_sequence(id) {
            Err(EngineError::ReadOnly) => stored::sequence_state(inner.store.as_ref(), id),
            known => Ok(known?.lock().state),
        }
    }

    /// Takes as many numbers from a sequence as its CACHE says, or fewer where it ends or begins again.
    ///
    /// Fails with [`EngineError::SequenceExhausted`].
    pub fn take_numbers(&self, id: SequenceId) -> Result<SequenceBlock, EngineError> {
        let inner = &self.inner;
        let known = inner.known_sequence(id)?;
        let mut next = known.lock();
        // A sequence that was dropped meanwhile must not be stored again.
        let sequence = inner.sequence(id)?;
        let Some(first) = next.state.next else {
            let increasing = sequence.increment > 0;
            return Err(EngineError::SequenceExhausted {
                sequence: sequence.name.clone(),
                increasing,
                limit: if increasing { sequence.max } else { sequence.min },
            });
        };
        if next.reserved == 0 {
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

    /// Makes a sequence go on from a state, durably.
    pub fn set_sequence_state(&self, id: SequenceId, state: SequenceState) -> Result<(), EngineError> {
        let inner = &self.inner;
        let known = inner.known_sequence(id)?;
        let mut next = known.lock();
        inner.sequence(id)?;
        let mut batch = WriteBatch::new();
        stored::put_sequence_state(&mut batch, id, state);
        inner.store.write(batch, Durability::Synced)?;
        *next = Next::of(state);
        Ok(())
    }

    /// Creates a sequence; its id is given here.
    pub fn create_sequence(&self, sequence: Sequence) -> Result<(), EngineError> {
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let catalog = inner.definitions().catalog.clone();
        catalog.check_name_free(&sequence.schema, &sequence.name)?;
        let id = SequenceId(stored::next_id(inner.store.as_ref())?);
        let sequence = Sequence {
            id,
            ..sequence.checked()?
        };
        let mut batch = WriteBatch::new();
        stored::put_next_id(&mut batch, id.0 + 1);
        stored::put_sequence(&mut batch, &sequence);
        stored::put_sequence_state(&mut batch, id, SequenceState::set(sequence.start));
        inner.commit_definitions(batch, catalog.with_sequence(sequence))
    }

    /// Changes a sequence as `change` says, which is given all definitions, its own, and where it stands; numbers that others have reserved before are given as they were.
    pub fn alter_sequence<E: From<EngineError>>(
        &self,
        id: SequenceId,
        change: impl FnOnce(&Catalog, &Sequence, SequenceState) -> Result<AlteredSequence, E>,
    ) -> Result<(), E> {
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let known = inner.known_sequence(id)?;
        let mut next = known.lock();
        let catalog = inner.definitions().catalog.clone();
        let altered = change(&catalog, inner.sequence(id)?.as_ref(), next.state)?;
        let AlteredSequence {
            sequence,
            state,
            table,
        } = altered;
        let mut batch = WriteBatch::new();
        let mut catalog = Catalog::clone(&catalog);
        if let Some(table) = table {
            stored::put_table(&mut batch, &table);
            catalog = catalog.with_table(table);
        }
        stored::put_sequence(&mut batch, &sequence);
        stored::put_sequence_state(&mut batch, id, state);
        inner.commit_definitions(batch, catalog.with_sequence(sequence))?;
        *next = Next::of(state);
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
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let catalog = inner.definitions().catalog.clone();
        let mut batch = WriteBatch::new();
        let id = match catalog.view_named(&view.schema, &view.name) {
            Some(known) => known.id,
            None => {
                catalog.check_name_free(&view.schema, &view.name)?;
                let id = stored::next_id(inner.store.as_ref())?;
                stored::put_next_id(&mut batch, id + 1);
                ViewId(id)
            }
        };
        let view = View { id, ..view };
        stored::put_view(&mut batch, &view);
        inner.commit_definitions(batch, catalog.with_view(view))
    }
}

impl Inner {
    fn sequence(&self, id: SequenceId) -> Result<Arc<Sequence>, EngineError> {
        let catalog = self.definitions().catalog.clone();
        let unknown = || CatalogError::UnknownTable {
            name: format!("sequence {}", id.0),
        };
        Ok(catalog.sequence(id).cloned().ok_or_else(unknown)?)
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
