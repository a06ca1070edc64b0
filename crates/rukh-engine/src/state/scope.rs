//! What a transaction is to statements that define something: where their changes go until its COMMIT.

use crate::EngineError;
use crate::forms::sequence_state::{Next, SequenceState};
use crate::forms::stored;
use crate::reading::definitions::Definitions;
use crate::reading::snapshot::Snapshot;
use parking_lot::Mutex;
use rukh_catalog::{Catalog, Sequence, SequenceId, Table, TableId};
use rukh_kv::WriteBatch;
use std::sync::Arc;

/// A transaction whose statements may define something.
pub(crate) trait Scope: Send + Sync {
    /// Returns the definitions that its statements see.
    fn definitions(&self) -> Arc<Definitions>;

    /// Returns the definitions that it has changed, if it has.
    fn changed_definitions(&self) -> Option<Arc<Definitions>>;

    /// Returns what its statements see, by other definitions.
    fn snapshot_as(&self, definitions: &Arc<Definitions>) -> Snapshot;

    /// Begins to change definitions: until the end of the transaction no other does. Returns those that its statements see.
    ///
    /// Fails with [`EngineError::Conflict`] if they are not the newest.
    fn begin_change(&self) -> Result<Arc<Definitions>, EngineError>;

    /// Keeps others from changing the rows of a table until the end of the transaction.
    fn lock_table(&self, table: TableId) -> Result<(), EngineError>;

    /// Takes storage, which is to be made, for definitions that no other session sees.
    fn own(&self, storages: &[String]);

    /// Takes a change of definitions, and of the rows of one table.
    fn take(&self, changed: Changed) -> Result<(), EngineError>;

    /// Returns what a sequence gives next that was made or restarted in the transaction.
    fn numbers(&self, id: SequenceId) -> Option<Arc<Mutex<Next>>>;
}

/// What a change of definitions writes, and shows.
pub(crate) struct Changed {
    /// What is written, but for the id that is given next and where sequences stand.
    pub(crate) batch: WriteBatch,
    /// The definitions as they are to be.
    pub(crate) catalog: Catalog,
    /// Tables whose rows are in the batch, and how many they are.
    pub(crate) rewritten: Vec<(TableId, u64)>,
    /// Tables that lose all rows.
    pub(crate) emptied: Vec<TableId>,
    /// Where sequences stand that are new or restart.
    pub(crate) states: Vec<(SequenceId, SequenceState)>,
}

impl Changed {
    pub(crate) fn put_table(&mut self, table: Table) {
        stored::put_table(&mut self.batch, &table);
        self.catalog = self.catalog.with_table(table);
    }

    pub(crate) fn put_sequence(&mut self, sequence: Sequence) {
        stored::put_sequence(&mut self.batch, &sequence);
        self.catalog = self.catalog.with_sequence(sequence);
    }

    pub(crate) fn put_new_sequence(&mut self, sequence: Sequence, state: SequenceState) {
        self.states.push((sequence.id, state));
        self.put_sequence(sequence);
    }

    pub(crate) fn remove_sequence(&mut self, id: SequenceId) {
        stored::delete_sequence(&mut self.batch, id);
        self.catalog = self.catalog.without_sequence(id);
        self.states.retain(|(known, _)| *known != id);
    }
}
