//! Reading a store in memory: snapshots.

use super::position::RowsPosition;
use super::rows::{NEWEST, Table};
use super::{Shared, State, Tables};
use crate::drive::Driver;
use crate::{KvCursor, KvError, KvSnapshot, ScanSpec, ScanStats};
use std::sync::Arc;

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
            for table in state.tables.values() {
                table.tidy_all();
            }
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

    fn driver(&self, table: &str, spec: ScanSpec) -> Result<Driver<RowsPosition<Claim>>, KvError> {
        let table = Arc::clone(self.table(table)?);
        // A cursor outlives its snapshot, and sees one state even where that sees the newest.
        let sequence = self.claim.as_ref().map(|claim| claim.sequence);
        let claim = Claim::new(&self.shared, &mut self.shared.state.lock(), sequence);
        let reverse = spec.reverse;
        Driver::new(spec, |_| {
            Ok(RowsPosition::new(table, claim.sequence, claim, reverse))
        })
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
