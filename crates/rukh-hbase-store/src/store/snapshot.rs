//! Reading at a time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rukh_hbase::Meter;
use rukh_keys::KeyRange;
use rukh_kv::{KvCursor, KvError, KvSnapshot, ScanSpec, Traffic, scan_position};

use super::keys::{TableId, full_key};
use super::position::RowsPosition;
use super::shared::{Shared, State, traffic_of};
use crate::Transactions;

/// Keys that are read together at most.
const KEYS_TOGETHER: usize = 10_000;

/// What a snapshot shows.
pub(super) enum Shows {
    /// What is there when it is read.
    Now,
    /// What was there then.
    Then(State),
    /// Nothing, as it was not known what was there: it was not known whether a batch was written.
    Nothing(String),
}

/// The tables at a time, or as they are.
pub(super) struct HbaseSnapshot {
    shared: Arc<Shared>,
    shows: Shows,
    /// Counts what is read.
    meter: Arc<Meter>,
    /// Those of the store, with that meter.
    transactions: Transactions,
}

impl HbaseSnapshot {
    pub(super) fn new(shared: &Arc<Shared>, shows: Shows) -> HbaseSnapshot {
        let meter = Arc::new(Meter::default());
        HbaseSnapshot {
            shared: Arc::clone(shared),
            shows,
            transactions: shared.transactions.counted(Arc::clone(&meter)),
            meter,
        }
    }

    /// Returns what it shows. What was taken before the store was closed can still be read.
    fn state(&self, cancel: Option<&AtomicBool>) -> Result<State, KvError> {
        if !self.shared.is_closed() {
            self.shared.check_open_unless(cancel)?;
        }
        let state = match &self.shows {
            Shows::Now => self.shared.state_now()?,
            Shows::Then(state) => state.clone(),
            Shows::Nothing(reason) => {
                return Err(KvError::Unreachable {
                    operation: "read".to_string(),
                    reason: reason.clone(),
                });
            }
        };
        match state.is_closed {
            true => Err(KvError::Closed),
            false => Ok(state),
        }
    }

    fn id(state: &State, table: &str) -> Result<TableId, KvError> {
        let id = state.tables.get(table).copied();
        id.ok_or_else(|| KvError::unknown_table(table))
    }
}

impl KvSnapshot for HbaseSnapshot {
    fn tables(&self) -> Vec<String> {
        let tables = |state: &State| state.tables.keys().cloned().collect();
        match &self.shows {
            Shows::Now => tables(&self.shared.state.read()),
            Shows::Then(state) => tables(state),
            Shows::Nothing(_) => Vec::new(),
        }
    }

    fn traffic(&self) -> Traffic {
        traffic_of(&self.meter)
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        Ok(self.multi_get(table, &[key.to_vec()])?.remove(0))
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let state = self.state(None)?;
        let id = HbaseSnapshot::id(&state, table)?;
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS_TOGETHER) {
            let rows: Vec<_> = keys
                .iter()
                .map(|key| self.shared.row(full_key(id, key)))
                .collect();
            let read = self.shared.read_rows(&self.transactions, &rows, state.newest)?;
            values.extend(read.into_iter().map(|value| value.map(|value| value.to_vec())));
        }
        Ok(values)
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let state = self.state(spec.cancel.as_deref())?;
        let id = HbaseSnapshot::id(&state, table)?;
        let ranges = KeyRange::merge(spec.ranges.clone());
        let position = RowsPosition::new(
            (&self.shared, &self.transactions),
            id,
            state.newest,
            ranges,
            &spec,
        );
        scan_position(spec, position)
    }
}
