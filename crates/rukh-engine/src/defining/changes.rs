//! Changes of many definitions at once: schemas, and what goes or moves with them.
//!
//! Nothing here rewrites rows. What is dropped takes its storage with it, after the definitions are gone.

use crate::forms::stored;
use crate::state::shared::Engine;
use crate::{EngineError, SequenceState};
use rukh_catalog::{Catalog, Role, Schema, SchemaId, Sequence, SequenceId, Table, TableId, View, ViewId};
use rukh_kv::WriteBatch;

/// What becomes of definitions, all at once.
#[derive(Clone, Debug, Default)]
pub struct DefinitionChanges {
    /// Schemas as they are to be; those with the id 0 are new, and get one.
    pub schemas: Vec<Schema>,
    /// Tables whose names, schemas or defaults change; nothing else of them may.
    pub tables: Vec<Table>,
    /// Views as they are to be; all are known.
    pub views: Vec<View>,
    /// Sequences as they are to be; those with the id 0 are new, and get one.
    pub sequences: Vec<Sequence>,
    /// Roles as they are to be; all are known.
    pub roles: Vec<Role>,
    /// Tables to drop, with their indexes and the sequences of their columns.
    pub dropped_tables: Vec<TableId>,
    /// Views to drop.
    pub dropped_views: Vec<ViewId>,
    /// Sequences to drop.
    pub dropped_sequences: Vec<SequenceId>,
    /// Schemas to drop.
    pub dropped_schemas: Vec<SchemaId>,
}

impl Engine {
    /// Changes definitions as `change` says, which is given them as they are at that moment.
    pub fn change_definitions<E: From<EngineError>>(
        &self,
        change: impl FnOnce(&Catalog) -> Result<DefinitionChanges, E>,
    ) -> Result<(), E> {
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let definitions = inner.definitions();
        let changes = change(&definitions.catalog)?;
        Ok(self.apply(&definitions.catalog, changes)?)
    }

    fn apply(&self, before: &Catalog, mut changes: DefinitionChanges) -> Result<(), EngineError> {
        let inner = &self.inner;
        for table in &changes.dropped_tables {
            let own = before.sequences_of(*table).map(|sequence| sequence.id);
            changes.dropped_sequences.extend(own);
        }
        changes.dropped_sequences.sort();
        changes.dropped_sequences.dedup();
        // No session takes numbers of a sequence, and so stores it again, while it is dropped.
        let known = changes.dropped_sequences.iter();
        let known: Vec<_> = known
            .map(|id| inner.known_sequence(*id))
            .collect::<Result<_, _>>()?;
        let _numbers: Vec<_> = known.iter().map(|next| next.lock()).collect();
        let mut batch = WriteBatch::new();
        let mut next = before.clone();
        let mut id = stored::next_id(inner.store.as_ref())?;
        for mut schema in changes.schemas {
            if schema.id == SchemaId(0) {
                schema.id = SchemaId(id);
                id += 1;
                stored::put_next_id(&mut batch, id);
            }
            stored::put_schema(&mut batch, &schema);
            next = next.with_schema(schema);
        }
        for table in changes.tables {
            stored::put_table(&mut batch, &table);
            next = next.with_table(table);
        }
        for view in changes.views {
            stored::put_view(&mut batch, &view);
            next = next.with_view(view);
        }
        for mut sequence in changes.sequences {
            if sequence.id == SequenceId(0) {
                sequence.id = SequenceId(id);
                id += 1;
                stored::put_next_id(&mut batch, id);
                stored::put_sequence_state(&mut batch, sequence.id, SequenceState::set(sequence.start));
            }
            stored::put_sequence(&mut batch, &sequence);
            next = next.with_sequence(sequence);
        }
        for role in changes.roles {
            stored::put_role(&mut batch, &role);
            next = next.with_role(role);
        }
        for id in &changes.dropped_tables {
            stored::delete_table(&mut batch, *id);
            if inner.definitions().history(*id).is_some() {
                stored::delete_statistics(&mut batch, id.history());
            }
            next = next.without_table(*id);
        }
        for id in &changes.dropped_views {
            stored::delete_view(&mut batch, *id);
            next = next.without_view(*id);
        }
        for id in &changes.dropped_sequences {
            stored::delete_sequence(&mut batch, *id);
            next = next.without_sequence(*id);
        }
        for id in &changes.dropped_schemas {
            stored::delete_schema(&mut batch, *id);
            next = next.without_schema(*id);
        }
        inner.commit_definitions(batch, next)?;
        {
            let mut open = inner.sequences.lock();
            changes.dropped_sequences.iter().for_each(|id| {
                open.remove(id);
            });
        }
        if !changes.dropped_tables.is_empty() {
            let gone = &changes.dropped_tables;
            let is_gone = |known: &TableId| gone.iter().any(|id| [*id, id.history()].contains(known));
            inner.maintainers.lock().retain(|known, _| !is_gone(known));
            inner.row_ids.lock().retain(|known, _| !is_gone(known));
            gone.iter().for_each(|id| inner.forget_statistics(*id));
            inner.drop_unnamed();
        }
        Ok(())
    }
}
