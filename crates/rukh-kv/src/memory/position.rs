//! The place of a cursor in the rows of a table in memory.

use super::rows::{Bytes, Table};
use crate::KvError;
use crate::drive::Position;
use rukh_keys::KeyRange;
use std::ops::Bound;
use std::sync::Arc;

/// Entries copied at a time: at first, and at most.
const FETCH_MIN: usize = 4;
const FETCH_MAX: usize = 256;

/// A place in a table: entries copied ahead in scan direction, and which of them is here.
///
/// Invariant: `_claim` keeps the versions that a reader at `sequence` sees.
pub(crate) struct RowsPosition<C> {
    table: Arc<Table>,
    sequence: u64,
    _claim: C,
    reverse: bool,
    entries: Vec<(Bytes, Bytes)>,
    here: usize,
    fetch: usize,
}

impl<C> RowsPosition<C> {
    /// Reads `table` as at write `sequence`, whose versions `claim` keeps.
    pub(crate) fn new(table: Arc<Table>, sequence: u64, claim: C, reverse: bool) -> RowsPosition<C> {
        RowsPosition {
            table,
            sequence,
            _claim: claim,
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
        self.table
            .fetch(bounds, self.reverse, self.sequence, self.fetch, &mut self.entries);
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

impl<C> Position for RowsPosition<C> {
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
