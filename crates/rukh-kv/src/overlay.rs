//! Changes that are not written yet, shown over a snapshot: what a transaction has done so far.
//!
//! An [`Overlay`] takes the batches of statements and keeps, for each key changed, its new value or
//! that it is gone. [`Overlay::over`] gives a view of a snapshot with the changes on top, which is a
//! snapshot like any other; further batches do not change it. At the end [`Overlay::batch`] is the
//! one batch that brings a store from the snapshot to what was seen.
//!
//! Changes lie in the tables of the memory store (`memory::rows`), each stamped with the number of
//! its batch. So a view, and a [`Mark`] to go back to, is a number that keeps the versions it sees;
//! going back writes the values of then once more.
//!
//! | byte | then      | is                                            |
//! |------|-----------|-----------------------------------------------|
//! | `00` |           | a key that was deleted                        |
//! | `01` | the value | a key that has this value                     |
//! | `02` | operand   | a key whose stored value this is merged into  |
//!
//! A table that lost all its keys at once is in a list; of what the snapshot has of it nothing is shown from then on.
//!
//! A merge stays one as long as the transaction has not otherwise written the key, so that what others
//! merge into it meanwhile is kept; a view folds it into the value of its snapshot.
//!
//! Deliberately not here: whether the store has changed since the snapshot (rukh-engine).

mod cursor;
mod view;

use crate::memory::{Bytes, Table, version_bytes};
use crate::merge;
use crate::{KvError, KvSnapshot, MergeOperator, WriteBatch, WriteOp};
use parking_lot::Mutex;
use rukh_keys::KeyRange;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use view::OverlayView;

/// The first byte of a deleted key's value.
const DELETED: u8 = 0;
/// The first byte of a value.
const PRESENT: u8 = 1;
/// The first byte of an operand.
const MERGED: u8 = 2;

type Tables = BTreeMap<String, Arc<Table>>;

/// Changes on top of a snapshot, in memory.
#[derive(Default)]
pub struct Overlay {
    state: Mutex<State>,
    operator: Option<Arc<dyn MergeOperator>>,
}

/// What is kept of a key.
#[derive(Clone, Copy)]
enum Kept<'a> {
    Deleted,
    Value(&'a [u8]),
    Merged(&'a [u8]),
}

#[derive(Default)]
struct State {
    /// The number of the newest batch.
    sequence: u64,
    /// How many views and marks there are of each number.
    active: BTreeMap<u64, usize>,
    tables: Arc<Tables>,
    /// The tables that lost all keys, each with the number of the batch.
    clears: Vec<(u64, String)>,
    /// The same tables.
    cleared: Arc<BTreeSet<String>>,
    /// While there are marks: what was changed since the first of them, in order.
    log: Vec<Change>,
    marks: usize,
    bytes: u64,
}

/// What a batch does.
enum Step<'b> {
    /// A key of a table gets what is kept of it.
    Set(&'b str, &'b [u8], Bytes),
    /// A table loses all keys.
    Clear(&'b str),
}

/// A key that a batch changed.
struct Change {
    sequence: u64,
    table: Arc<Table>,
    key: Bytes,
}

/// A state of an overlay that it can go back to; kept until dropped.
pub struct Mark {
    claim: Claim,
}

/// Keeps the versions that a reader at `sequence` sees.
struct Claim {
    sequence: u64,
    overlay: Arc<Overlay>,
}

impl Overlay {
    /// Makes an overlay without changes.
    pub fn new() -> Arc<Overlay> {
        Arc::default()
    }

    /// Makes an overlay of a store that merges like this.
    pub fn with_merge_operator(operator: Option<Arc<dyn MergeOperator>>) -> Arc<Overlay> {
        Arc::new(Overlay {
            operator,
            ..Overlay::default()
        })
    }

    /// Adds the operations of a batch, all at once.
    ///
    /// Error `Unsupported` for a range that is not a whole table, and for a merge without an operator; `Corruption` for operands
    /// that do not fold. Nothing of the batch is added then.
    pub fn apply(&self, batch: &WriteBatch) -> Result<(), KvError> {
        let mut state = self.state.lock();
        let steps = self.steps(&state, batch)?;
        state.sequence += 1;
        for step in steps {
            match step {
                Step::Set(table, key, value) => {
                    let table = state.table(table);
                    state.set(&table, key, Some(value));
                }
                Step::Clear(table) => state.clear(table),
            }
        }
        Ok(())
    }

    /// Returns what a batch does, in order.
    fn steps<'b>(&self, state: &State, batch: &'b WriteBatch) -> Result<Vec<Step<'b>>, KvError> {
        let mut steps: Vec<Step<'b>> = Vec::with_capacity(batch.len());
        // What a merge may come on top of.
        let mut newest: HashMap<(&str, &[u8]), Bytes> = HashMap::new();
        let mut cleared: BTreeSet<&str> = BTreeSet::new();
        let has_merges = batch.ops().any(|op| matches!(op, WriteOp::Merge { .. }));
        for op in batch.ops() {
            let (table, key, value) = match op {
                WriteOp::Put { table, key, value } => (table, key, present(value)),
                WriteOp::Delete { table, key } => (table, key, Bytes::from([DELETED])),
                WriteOp::Merge { table, key, operand } => {
                    let before = match newest.get(&(table, key)) {
                        Some(value) => Some(Arc::clone(value)),
                        None if cleared.contains(table) => None,
                        None => state
                            .tables
                            .get(table)
                            .and_then(|rows| rows.value(key, state.sequence)),
                    };
                    let value = self.merged(table, key, before.as_deref().and_then(kept), operand)?;
                    (table, key, value)
                }
                WriteOp::DeleteRange {
                    table,
                    start: [],
                    limit: None,
                } => {
                    newest.retain(|(changed, _), _| *changed != table);
                    cleared.insert(table);
                    steps.push(Step::Clear(table));
                    continue;
                }
                WriteOp::DeleteRange { .. } => {
                    let operation = "range deletion in a transaction";
                    return Err(KvError::Unsupported { operation });
                }
            };
            if has_merges {
                newest.insert((table, key), Arc::clone(&value));
            }
            steps.push(Step::Set(table, key, value));
        }
        Ok(steps)
    }

    /// Returns what is to be kept of a key after a merge.
    fn merged(
        &self,
        table: &str,
        key: &[u8],
        before: Option<Kept<'_>>,
        operand: &[u8],
    ) -> Result<Bytes, KvError> {
        let operator = self.operator.as_deref().ok_or(KvError::Unsupported {
            operation: "merge operations in a transaction",
        })?;
        let value = match before {
            None => return Ok(tagged(MERGED, operand)),
            Some(Kept::Merged(older)) => {
                let combined = operator.combine(key, older, operand);
                let combined = combined.ok_or_else(|| merge::unfoldable(table, key))?;
                return Ok(tagged(MERGED, &combined));
            }
            Some(Kept::Deleted) => None,
            Some(Kept::Value(value)) => Some(value),
        };
        merge::fold(operator, table, key, value, &[operand]).map(|value| present(&value))
    }

    /// Shows the present changes over `base`. Batches to come do not change the view.
    pub fn over(self: &Arc<Self>, base: Arc<dyn KvSnapshot>) -> Arc<dyn KvSnapshot> {
        let claim = self.claim();
        let state = self.state.lock();
        Arc::new(OverlayView {
            base,
            tables: Arc::clone(&state.tables),
            cleared: Arc::clone(&state.cleared),
            claim: Arc::new(claim),
            operator: self.operator.clone(),
        })
    }

    /// Returns the memory that the changes take, roughly, in bytes.
    pub fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Returns the memory that the changes would take with those of a batch.
    pub fn bytes_with(&self, batch: &WriteBatch) -> u64 {
        let versions = batch.len() as u64 * (1 + version_bytes(&[], None));
        self.bytes() + versions + batch.bytes() as u64
    }

    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.cleared.is_empty() && state.tables.values().all(|table| table.is_empty())
    }

    /// Remembers the present state.
    pub fn mark(self: &Arc<Self>) -> Mark {
        let claim = self.claim();
        self.state.lock().marks += 1;
        Mark { claim }
    }

    /// Goes back to the state of a mark of this overlay, which stays.
    pub fn go_back(&self, mark: &Mark) {
        let mut state = self.state.lock();
        let then = mark.claim.sequence;
        let kept = state.log.partition_point(|change| change.sequence <= then);
        let undone = state.log.split_off(kept);
        state.forget_bytes(log_bytes(&undone));
        state.sequence += 1;
        for Change { table, key, .. } in undone {
            let before = table.value(&key, then);
            state.write(&table, &key, before);
        }
        state.clears.retain(|(sequence, _)| *sequence <= then);
        let cleared = state.clears.iter().map(|(_, table)| table.clone()).collect();
        state.cleared = Arc::new(cleared);
    }

    /// Returns all changes as one batch, in the order of tables and keys; first the tables that lost what they had.
    pub fn batch(&self) -> WriteBatch {
        let state = self.state.lock();
        let mut batch = WriteBatch::new();
        for name in state.cleared.iter() {
            batch.delete_range(name, &KeyRange::all());
        }
        for (name, table) in state.tables.iter() {
            let is_cleared = state.cleared.contains(name);
            for key in table.keys(&KeyRange::all()) {
                let value = table.value(&key, state.sequence);
                match value.as_deref().and_then(kept) {
                    Some(Kept::Value(value)) => batch.put(name, &key, value),
                    Some(Kept::Merged(operand)) => batch.merge(name, &key, operand),
                    Some(Kept::Deleted) if !is_cleared => batch.delete(name, &key),
                    Some(Kept::Deleted) | None => {}
                }
            }
        }
        batch
    }

    /// Claims the present state.
    fn claim(self: &Arc<Self>) -> Claim {
        let mut state = self.state.lock();
        let sequence = state.sequence;
        *state.active.entry(sequence).or_default() += 1;
        Claim {
            sequence,
            overlay: Arc::clone(self),
        }
    }
}

impl State {
    /// Returns a table, made if it was not changed yet.
    fn table(&mut self, name: &str) -> Arc<Table> {
        if let Some(table) = self.tables.get(name) {
            return Arc::clone(table);
        }
        let table = Arc::new(Table::default());
        Arc::make_mut(&mut self.tables).insert(name.to_owned(), Arc::clone(&table));
        table
    }

    /// Takes all keys from a table.
    fn clear(&mut self, name: &str) {
        if let Some(table) = self.tables.get(name).cloned() {
            for key in table.keys(&KeyRange::all()) {
                self.set(&table, &key, Some(Bytes::from([DELETED])));
            }
        }
        self.clears.push((self.sequence, name.to_owned()));
        Arc::make_mut(&mut self.cleared).insert(name.to_owned());
    }

    /// Changes a key, and notes it where a mark may want it undone.
    fn set(&mut self, table: &Arc<Table>, key: &[u8], value: Option<Bytes>) {
        for key in self.write(table, key, value) {
            if self.marks > 0 {
                self.log.push(Change {
                    sequence: self.sequence,
                    table: Arc::clone(table),
                    key,
                });
                self.bytes += log_bytes(&self.log[self.log.len() - 1..]);
            }
        }
    }

    /// Writes a version; returns the key if there is one now.
    fn write(&mut self, table: &Table, key: &[u8], value: Option<Bytes>) -> Vec<Bytes> {
        let bytes = version_bytes(key, value.as_deref());
        let keys = table.set(key, self.sequence, value);
        if !keys.is_empty() {
            self.bytes += bytes;
        }
        let freed = table.tidy(&keys, &self.active);
        self.forget_bytes(freed);
        keys
    }

    fn forget_bytes(&mut self, freed: u64) {
        self.bytes = self.bytes.saturating_sub(freed);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut state = self.claim.overlay.state.lock();
        state.marks -= 1;
        if state.marks == 0 {
            let log = std::mem::take(&mut state.log);
            state.forget_bytes(log_bytes(&log));
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.overlay.state.lock();
        if let Some(count) = state.active.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                state.active.remove(&self.sequence);
            }
        }
        if state.active.is_empty() {
            let freed = state.tables.values().map(|table| table.tidy_all()).sum();
            state.forget_bytes(freed);
        }
    }
}

/// Returns the memory that notes of changes take.
fn log_bytes(log: &[Change]) -> u64 {
    size_of_val(log) as u64
}

/// Returns a value as the tables of an overlay keep it.
fn present(value: &[u8]) -> Bytes {
    tagged(PRESENT, value)
}

fn tagged(tag: u8, bytes: &[u8]) -> Bytes {
    std::iter::once(tag).chain(bytes.iter().copied()).collect()
}

/// Takes apart what is kept of a key.
fn kept(bytes: &[u8]) -> Option<Kept<'_>> {
    let (tag, rest) = bytes.split_first()?;
    Some(match *tag {
        PRESENT => Kept::Value(rest),
        MERGED => Kept::Merged(rest),
        _ => Kept::Deleted,
    })
}
