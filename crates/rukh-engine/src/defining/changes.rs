//! Changes of many definitions at once: schemas, and what goes or moves with them.
//!
//! Nothing here rewrites rows. What is dropped takes its storage with it, after the definitions are gone.

use crate::defining::change::Change;
use crate::forms::stored;
use crate::state::shared::Engine;
use crate::{EngineError, SequenceState};
use rukh_catalog::{
    Catalog, Function, FunctionId, Role, Schema, SchemaId, Sequence, SequenceId, Table, TableId, Type,
    TypeId, View, ViewId,
};

/// What becomes of definitions, all at once.
#[derive(Clone, Debug, Default)]
pub struct DefinitionChanges {
    /// Schemas as they are to be; those with the id 0 are new, and get one.
    pub schemas: Vec<Schema>,
    /// Tables whose names, schemas, defaults, foreign keys, queries or labels change; nothing else of them may.
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
    /// Types that are added, with an id of 0, or replaced. What is of a type that is replaced is to be among the other changes.
    pub types: Vec<Type>,
    /// Types that go.
    pub dropped_types: Vec<TypeId>,
    /// Functions as they are to be; those with the id 0 are new, and get one.
    pub functions: Vec<Function>,
    /// Functions to drop.
    pub dropped_functions: Vec<FunctionId>,
}

impl Engine {
    /// Changes definitions as `change` says, which is given them as they are at that moment.
    pub fn change_definitions<E: From<EngineError>>(
        &self,
        change: impl FnOnce(&Catalog) -> Result<DefinitionChanges, E>,
    ) -> Result<(), E> {
        self.change_checked_definitions(change, |_| Ok(()))
    }

    /// As [`Engine::change_definitions`], after `check` has passed the tables that change: from then on their rows stay as they are until
    /// the change is seen.
    pub fn change_checked_definitions<E: From<EngineError>>(
        &self,
        change: impl FnOnce(&Catalog) -> Result<DefinitionChanges, E>,
        check: impl FnOnce(&[Table]) -> Result<(), E>,
    ) -> Result<(), E> {
        let under_way = self.begin_change()?;
        let definitions = under_way.definitions.clone();
        let changes = change(&definitions.catalog)?;
        for table in &changes.tables {
            under_way.lock_table(table.id)?;
        }
        check(&changes.tables)?;
        Ok(put(under_way, changes)?)
    }
}

/// Puts changes into what a change of definitions writes, and ends it.
fn put(under_way: Change<'_>, changes: DefinitionChanges) -> Result<(), EngineError> {
    let definitions = under_way.definitions.clone();
    let mut changed = under_way.nothing();
    for mut schema in changes.schemas {
        if schema.id == SchemaId(0) {
            schema.id = SchemaId(under_way.take_id());
        }
        stored::put_schema(&mut changed.batch, &schema);
        changed.catalog = changed.catalog.with_schema(schema);
    }
    for mut ty in changes.types {
        if ty.id() == TypeId(0) {
            ty.set_id(under_way.take_id());
        }
        stored::put_type(&mut changed.batch, &ty);
        changed.catalog = changed.catalog.with_type(ty);
    }
    for table in changes.tables {
        changed.put_table(table);
    }
    for view in changes.views {
        stored::put_view(&mut changed.batch, &view);
        changed.catalog = changed.catalog.with_view(view);
    }
    for mut sequence in changes.sequences {
        match sequence.id {
            SequenceId(0) => {
                sequence.id = SequenceId(under_way.take_id());
                let state = SequenceState::set(sequence.start);
                changed.put_new_sequence(sequence, state);
            }
            _ => changed.put_sequence(sequence),
        }
    }
    for mut function in changes.functions {
        if function.id == FunctionId(0) {
            function.id = FunctionId(under_way.take_id());
        }
        stored::put_function(&mut changed.batch, &function);
        changed.catalog = changed.catalog.with_function(function);
    }
    for role in changes.roles {
        stored::put_role(&mut changed.batch, &role);
        changed.catalog = changed.catalog.with_role(role);
    }
    for id in changes.dropped_tables {
        under_way.lock_table(id)?;
        for sequence in definitions.catalog.sequences_of(id) {
            changed.remove_sequence(sequence.id);
        }
        stored::delete_table(&mut changed.batch, id);
        if definitions.history(id).is_some() {
            stored::delete_statistics(&mut changed.batch, id.history());
        }
        changed.catalog = changed.catalog.without_table(id);
    }
    for id in changes.dropped_views {
        stored::delete_view(&mut changed.batch, id);
        changed.catalog = changed.catalog.without_view(id);
    }
    for id in changes.dropped_sequences {
        changed.remove_sequence(id);
    }
    for id in changes.dropped_types {
        stored::delete_type(&mut changed.batch, id);
        changed.catalog = changed.catalog.without_type(id);
    }
    for id in changes.dropped_functions {
        stored::delete_function(&mut changed.batch, id);
        changed.catalog = changed.catalog.without_function(id);
    }
    for id in changes.dropped_schemas {
        stored::delete_schema(&mut changed.batch, id);
        changed.catalog = changed.catalog.without_schema(id);
    }
    under_way.finish(changed)
}
