//! The place of a cursor in the rows of a table.
//!
//! Rows come in chunks, one request each, small at first. Being sent to a key within the chunk takes none; beyond it another scan begins there, of the ranges that are left.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use rukh_commit::Time;
use rukh_keys::KeyRange;
use rukh_kv::{KvError, Position, ScanSpec};

use super::keys::{TableId, end_of, failed, full_key};
use super::shared::Shared;
use crate::{Error, Range, Rows, Transactions};

/// Rows of the first chunk, where it is not known that all will be read.
const FIRST_ROWS: u32 = 100;

/// Ranges that one request has.
const PARTS_MAX: usize = 10_000;

/// A place among rows at a time: those that have come in scan order, and the scan that gives the others.
pub(super) struct RowsPosition {
    shared: Arc<Shared>,
    transactions: Transactions,
    table: TableId,
    at: Time,
    /// Ascending, with the number of the table.
    ranges: Vec<(Bytes, Bytes)>,
    is_backward: bool,
    first_rows: u32,
    chunk: VecDeque<(Bytes, Bytes)>,
    /// None once it has come to its end.
    rows: Option<Rows>,
    /// Where the ranges begin that are too many for that scan.
    left: Option<Bytes>,
    cancel: Option<Arc<AtomicBool>>,
    ended: Option<Ended>,
}

/// Why there are no more rows, before the end.
enum Ended {
    Failed(Error),
    Cancelled,
}

impl RowsPosition {
    /// Prepares to read these ranges, which are sorted and disjoint.
    pub(super) fn new(
        (shared, transactions): (&Arc<Shared>, &Transactions),
        table: TableId,
        at: Time,
        ranges: Vec<KeyRange>,
        spec: &ScanSpec,
    ) -> RowsPosition {
        let full = |range: KeyRange| {
            let limit = range
                .limit
                .map_or_else(|| end_of(table), |limit| full_key(table, &limit));
            (full_key(table, &range.start), limit)
        };
        let wanted = spec.limit.filter(|_| spec.masked.is_empty());
        let first_rows = match (spec.read_ahead, wanted) {
            (_, Some(limit)) => u32::try_from(limit).unwrap_or(u32::MAX),
            (true, None) => u32::MAX,
            (false, None) => FIRST_ROWS,
        };
        RowsPosition {
            shared: Arc::clone(shared),
            transactions: transactions.clone(),
            table,
            at,
            ranges: ranges.into_iter().map(full).collect(),
            is_backward: spec.reverse,
            first_rows,
            chunk: VecDeque::new(),
            rows: None,
            left: None,
            cancel: spec.cancel.clone(),
            ended: None,
        }
    }

    /// Leaves the scan that is under way. Its scanner is closed by a request, so it ends where requests run.
    fn leave(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.shared.runtime.spawn(async move { drop(rows) });
        }
    }

    /// Begins a scan of what the ranges have between two keys, and gets its first chunk.
    fn begin(&mut self, from: Bytes, to: Bytes) {
        self.leave();
        self.chunk.clear();
        self.open(from, to);
        self.fill();
    }

    fn open(&mut self, from: Bytes, to: Bytes) {
        let parts = self
            .ranges
            .iter()
            .filter(|(start, limit)| *start < to && *limit > from);
        let mut parts: Vec<(Bytes, Bytes)> = parts
            .map(|(start, limit)| (start.max(&from).clone(), limit.min(&to).clone()))
            .collect();
        self.left = None;
        if !self.is_backward && parts.len() > PARTS_MAX {
            self.left = Some(parts[PARTS_MAX].0.clone());
            parts.truncate(PARTS_MAX);
        }
        let (Some((start, _)), Some((_, limit))) = (parts.first(), parts.last()) else {
            return;
        };
        let mut range = match self.is_backward {
            false => Range::forward(start.clone(), limit.clone()),
            true => Range::backward(start.clone(), limit.clone()),
        };
        range.first_rows = self.first_rows;
        if !self.is_backward && parts.len() > 1 {
            range.parts = parts;
        }
        self.rows = Some(self.transactions.range(&self.shared.rows, range, self.at));
    }

    /// Gets the next chunk.
    fn fill(&mut self) {
        while let Some(mut rows) = self.rows.take() {
            let came = self
                .shared
                .runtime
                .wait_unless(self.cancel.as_deref(), async move {
                    let chunk = rows.next_chunk().await;
                    (rows, chunk)
                });
            let Some((rows, chunk)) = came else {
                self.ended = Some(Ended::Cancelled);
                return;
            };
            match chunk {
                Ok(chunk) if chunk.is_empty() => {
                    if let Some(left) = self.left.take() {
                        self.open(left, end_of(self.table));
                    }
                }
                Ok(chunk) => {
                    self.chunk = chunk.into();
                    self.rows = Some(rows);
                    return;
                }
                Err(error) => self.ended = Some(Ended::Failed(error)),
            }
        }
    }

    fn step(&mut self) {
        self.chunk.pop_front();
        if self.chunk.is_empty() {
            self.fill();
        }
    }
}

impl Drop for RowsPosition {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Position for RowsPosition {
    fn enter(&mut self, _: &KeyRange) -> Result<bool, KvError> {
        Ok(false)
    }

    fn seek(&mut self, key: &[u8]) {
        let key = full_key(self.table, key);
        let passed = self.chunk.partition_point(|(found, _)| *found < key);
        match passed < self.chunk.len() {
            true => drop(self.chunk.drain(..passed)),
            false => self.begin(key, end_of(self.table)),
        }
    }

    fn seek_before(&mut self, limit: Option<&[u8]>) {
        let limit = limit.map_or_else(|| end_of(self.table), |limit| full_key(self.table, limit));
        let passed = self.chunk.partition_point(|(found, _)| *found >= limit);
        match passed < self.chunk.len() {
            true => drop(self.chunk.drain(..passed)),
            false => self.begin(full_key(self.table, b""), limit),
        }
    }

    fn next(&mut self) {
        self.step();
    }

    fn prev(&mut self) {
        self.step();
    }

    fn key(&self) -> Option<&[u8]> {
        self.chunk.front().map(|(key, _)| &key[4..])
    }

    fn value(&self) -> &[u8] {
        self.chunk.front().map_or(&[], |(_, value)| value)
    }

    fn status(&self) -> Result<(), KvError> {
        match &self.ended {
            Some(Ended::Failed(error)) => Err(failed("read", error.clone())),
            Some(Ended::Cancelled) => Err(KvError::Cancelled),
            None => Ok(()),
        }
    }
}
