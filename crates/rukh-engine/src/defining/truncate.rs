//! TRUNCATE: tables lose all their rows at once, and their sequences may restart.

use crate::forms::codec::TableCodec;
use crate::forms::stored;
use crate::state::shared::Engine;
use crate::storage::row_counts::Rows;
use crate::{EngineError, SequenceState};
use rukh_catalog::{Catalog, SequenceId, TableId};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, WriteBatch};

/// What becomes of the sequences of a table that is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// They go on.
    Continue,
    /// They restart.
    Restart,
}

impl Engine {
    /// Removes all rows of a table, at once.
    pub fn truncate(&self, id: TableId) -> Result<(), EngineError> {
        self.truncate_all(&[id], Numbering::Continue).map(drop)
    }

    /// Removes all rows of some tables, of all at once; returns the sequences that restart.
    pub fn truncate_all(
        &self,
        ids: &[TableId],
        numbering: Numbering,
    ) -> Result<Vec<SequenceId>, EngineError> {
        check_references(&self.catalog(), ids)?;
        if self.scope().is_some() {
            return self.truncate_within(ids, numbering);
        }
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let definitions = inner.definitions();
        let mut batch = WriteBatch::new();
        let mut codecs = Vec::with_capacity(ids.len());
        let mut sequences = Vec::new();
        for id in ids {
            let codec = definitions.codec(*id)?;
            for storage in maintained_storages(codec) {
                batch.delete_range(&storage, &KeyRange::all());
            }
            stored::delete_statistics(&mut batch, *id);
            if definitions.history(*id).is_some() {
                stored::delete_statistics(&mut batch, id.history());
            }
            if numbering == Numbering::Restart {
                for sequence in definitions.catalog.sequences_of(*id) {
                    stored::put_sequence_state(&mut batch, sequence.id, SequenceState::set(sequence.start));
                    sequences.push(sequence.clone());
                }
            }
            codecs.push(codec);
        }
        sequences.sort_by_key(|sequence| sequence.id);
        let known = sequences
            .iter()
            .map(|sequence| inner.known_sequence(sequence.id))
            .collect::<Result<Vec<_>, _>>()?;
        // No session takes a number between the write and the change in memory.
        let mut held: Vec<_> = known.iter().map(|next| next.lock()).collect();
        inner.builds.note(&mut batch);
        let before = ids
            .iter()
            .map(|id| inner.watched.rows(*id))
            .collect::<Result<Vec<_>, _>>()?;
        let written = inner.store.write(batch, Durability::Synced);
        let noted = inner.note_tables(ids.iter().copied());
        for codec in &codecs {
            codec
                .indexes
                .iter()
                .chain(&codec.blocks)
                .for_each(|index| inner.forget_debt(index.index.id));
        }
        written?;
        noted?;
        for (next, sequence) in held.iter_mut().zip(&sequences) {
            next.begin_anew(sequence);
        }
        ids.iter().for_each(|id| inner.forget_statistics(*id));
        for (id, before) in ids.iter().zip(before) {
            if let Rows::Kept(_) = before {
                inner.watched.keep_rows(*id, 0);
            }
        }
        Ok(sequences.iter().map(|sequence| sequence.id).collect())
    }

    /// The same within the session's transaction.
    fn truncate_within(&self, ids: &[TableId], numbering: Numbering) -> Result<Vec<SequenceId>, EngineError> {
        let change = self.begin_change()?;
        let definitions = change.definitions.clone();
        let mut changed = change.nothing();
        for id in ids {
            change.lock_table(*id)?;
            let codec = definitions.codec(*id)?;
            for storage in maintained_storages(codec) {
                changed.batch.delete_range(&storage, &KeyRange::all());
            }
            changed.rewritten.push((*id, 0));
            changed.emptied.push(*id);
            stored::delete_statistics(&mut changed.batch, *id);
            if definitions.history(*id).is_some() {
                stored::delete_statistics(&mut changed.batch, id.history());
            }
            if numbering == Numbering::Restart {
                let sequences = definitions.catalog.sequences_of(*id);
                let states = sequences.map(|sequence| (sequence.id, SequenceState::set(sequence.start)));
                changed.states.extend(states);
            }
        }
        let restarted = changed.states.iter().map(|(id, _)| *id).collect();
        change.finish(changed)?;
        Ok(restarted)
    }
}

/// Fails if rows of other tables refer to those of one that is emptied.
fn check_references(catalog: &Catalog, ids: &[TableId]) -> Result<(), EngineError> {
    for id in ids {
        let mut references = catalog.references_to(*id);
        if let Some((referencing, _)) = references.find(|(table, _)| !ids.contains(&table.id)) {
            let table = catalog.table(*id);
            return Err(EngineError::TruncatesReferenced {
                table: table.map(|table| table.name.clone()).unwrap_or_default(),
                referencing: referencing.name.clone(),
            });
        }
    }
    Ok(())
}

/// Returns the storage of a table's rows, and of the entries of indexes that writers maintain.
fn maintained_storages(codec: &TableCodec) -> Vec<String> {
    let indexes = codec.indexes.iter().map(|index| &index.index);
    let maintained = indexes.filter(|index| index.state.is_maintained());
    let indexes = maintained.flat_map(|index| index.storage_names());
    codec.table.storage_names().into_iter().chain(indexes).collect()
}
