//! Reading a store in memory: snapshots and the place of a cursor.

use super::rows::{Bytes, NEWEST, Table};
use super::{Shared, State, Tables};
use crate::drive::{Driver, Position};
use crate::{KvCursor, KvError, KvSnapshot, ScanSpec, ScanStats};
use rukh_keys::KeyRange;
use std::ops::Bound;
use std::sync::Arc;

/// Entries copied at a time: at first, and at most.
const FETCH_MIN: usize = 4;
const FETCH_MAX: usize = 256;

/// The tables as they were at a write or, without a claim, as they are.
pub(super) struct MemorySnapshot {
    shared: Arc<Shared>,
    /// None once the store is closed.
    tables: Option<Arc<Tables>>,
    claim: Option<Claim>,
}

/// A snapshot's claim on the versions it sees.
pub(super) struct Claim {
    sequence: u64,
    shared: Arc<Shared>,
}

impl Claim {
    /// Claims what a reader at `sequence` sees, or at the newest write.
    pub(super) fn new(shared: &Arc<Shared>, state: &mut State, sequence: Option<u64>) -> Claim {
        let sequence = sequence.unwrap_or(state.sequence);
        *state.active.entry(sequence).or_default() += 1;
        Claim {
            sequence,
            shared: Arc::clone(shared),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        if let Some(count) = state.active.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                state.active.remove(&self.sequence);
            }
        }
        if state.active.is_empty() {
            state.tables.values().for_each(|table| table.tidy_all());
        }
    }
}

impl MemorySnapshot {
    pub(super) fn new(
        shared: Arc<Shared>,
        tables: Option<Arc<Tables>>,
        claim: Option<Claim>,
    ) -> MemorySnapshot {
        MemorySnapshot {
            shared,
            tables,
            claim,
        }
    }

    fn table(&self, name: &str) -> Result<&Arc<Table>, KvError> {
        let tables = self.tables.as_ref().ok_or(KvError::Closed)?;
        tables.get(name).ok_or_else(|| KvError::unknown_table(name))
    }

    fn sequence(&self) -> u64 {
        self.claim.as_ref().map_or(NEWEST, |claim| claim.sequence)
    }

    fn driver(&self, table: &str, spec: ScanSpec) -> Result<Driver<MemoryPosition>, KvError> {
        let table = Arc::clone(self.table(table)?);
        // A cursor outlives its snapshot, and sees one state even where that sees the newest.
        let sequence = self.claim.as_ref().map(|claim| claim.sequence);
        let claim = Claim::new(&self.shared, &mut self.shared.state.lock(), sequence);
        let reverse = spec.reverse;
        Driver::new(spec, |_| Ok(MemoryPosition::new(table, claim, reverse)))
    }
}

impl KvSnapshot for MemorySnapshot {
    fn tables(&self) -> Vec<String> {
        self.tables
            .iter()
            .flat_map(|tables| tables.keys().cloned())
            .collect()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let value = self.table(table)?.value(key, self.sequence());
        Ok(value.map(|value| value.to_vec()))
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        Ok(self.table(table)?.values(keys, self.sequence()))
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        Ok(Box::new(self.driver(table, spec)?))
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        let mut driver = self.driver(table, spec.keys_only())?;
        let keys = driver.count()?;
        Ok((keys, driver.stats()))
    }
}

/// A place in a table: entries copied ahead in scan direction, and which of them is here.
struct MemoryPosition {
    table: Arc<Table>,
    claim: Claim,
    reverse: bool,
    entries: Vec<(Bytes, Bytes)>,
    here: usize,
    fetch: usize,
}

impl MemoryPosition {
    fn new(table: Arc<Table>, claim: Claim, reverse: bool) -> MemoryPosition {
        MemoryPosition {
            table,
            claim,
            reverse,
            entries: Vec::new(),
            here: 0,
            fetch: FETCH_MIN,
        }
    }

    /// Copies entries from one end of the bounds inwards.
    fn fill(&mut self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) {
        self.entries.clear();
        self.here = 0;
        self.table.fetch(
            bounds,
            self.reverse,
            self.claim.sequence,
            self.fetch,
            &mut self.entries,
        );
    }

    fn step(&mut self) {
        self.here += 1;
        if self.here < self.entries.len() {
            return;
        }
        let Some((last, _)) = self.entries.last().cloned() else {
            return;
        };
        self.fetch = (self.fetch * 2).min(FETCH_MAX);
        let last = Bound::Excluded(&*last);
        self.fill(if self.reverse {
            (Bound::Unbounded, last)
        } else {
            (last, Bound::Unbounded)
        });
    }
}

impl Position for MemoryPosition {
    fn enter(&mut self, _: &KeyRange) -> Result<bool, KvError> {
        Ok(false)
    }

    fn seek(&mut self, key: &[u8]) {
        self.fetch = FETCH_MIN;
        self.fill((Bound::Included(key), Bound::Unbounded));
    }

    fn seek_before(&mut self, limit: Option<&[u8]>) {
        self.fetch = FETCH_MIN;
        self.fill((Bound::Unbounded, limit.map_or(Bound::Unbounded, Bound::Excluded)));
    }

    fn next(&mut self) {
        self.step();
    }

    fn prev(&mut self) {
        self.step();
    }

    fn key(&self) -> Option<&[u8]> {
        self.entries.get(self.here).map(|(key, _)| &**key)
    }

    fn value(&self) -> &[u8] {
        self.entries.get(self.here).map_or(&[], |(_, value)| &**value)
    }

    fn status(&self) -> Result<(), KvError> {
        Ok(())
    }
}
