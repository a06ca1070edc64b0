//! Several scans of one table merged into one, in the order of what their keys have behind a prefix.
//!
//! The keys of each part begin with values of its own, such as a bucket or one value of a list; what
//! follows them is in order within the part, and so it is over all parts once they are merged:
//!
//! | key             | condition     | order | parts          | compared behind |
//! |-----------------|---------------|-------|----------------|-----------------|
//! | (a, b), salted  |               | a, b  | one per bucket | the salt byte   |
//! | (a, b)          | a IN (1, 5)   | b     | one per value  | a               |
//!
//! A part is opened at its first key, and goes on as its keys are taken: a LIMIT reads little more than
//! it shows.

use rukh_keys::KeyRange;
use rukh_kv::{KeyValue, KvCursor, KvError, ScanStats, Visit};
use std::cmp::Ordering;

/// One of the runs of keys that a scan merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePart {
    /// The key ranges of the part, sorted and disjoint.
    pub ranges: Vec<KeyRange>,
    /// Bytes that all its keys begin with, and that are not compared.
    pub prefix: usize,
}

/// A cursor over all parts.
pub(crate) struct MergedCursor {
    parts: Vec<Part>,
    /// Positions of the parts that have an entry, as a heap: the next entry's first.
    heap: Vec<usize>,
    started: bool,
    reverse: bool,
}

struct Part {
    cursor: Box<dyn KvCursor>,
    prefix: usize,
    /// The entry that the part is at.
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Part {
    /// Goes to the next entry; `false` at the end.
    fn advance(&mut self) -> Result<bool, KvError> {
        let Some(entry) = self.cursor.next()? else {
            return Ok(false);
        };
        self.key.clear();
        self.key.extend_from_slice(entry.key);
        self.value.clear();
        self.value.extend_from_slice(entry.value);
        Ok(true)
    }

    fn compared(&self) -> &[u8] {
        self.key.get(self.prefix..).unwrap_or_default()
    }
}

impl MergedCursor {
    /// Merges cursors, each with the length of the prefix that its keys are compared behind.
    pub(crate) fn new(cursors: Vec<(Box<dyn KvCursor>, usize)>, reverse: bool) -> Self {
        let part = |(cursor, prefix)| Part {
            cursor,
            prefix,
            key: Vec::new(),
            value: Vec::new(),
        };
        MergedCursor {
            parts: cursors.into_iter().map(part).collect(),
            heap: Vec::new(),
            started: false,
            reverse,
        }
    }

    /// Goes to the next entry of all; the part that has it is the first of the heap.
    fn advance(&mut self) -> Result<bool, KvError> {
        if !self.started {
            for at in 0..self.parts.len() {
                if self.parts[at].advance()? {
                    self.heap.push(at);
                }
            }
            self.started = true;
            for at in (0..self.heap.len() / 2).rev() {
                self.sink(at);
            }
        } else if let Some(first) = self.heap.first() {
            if !self.parts[*first].advance()? {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        Ok(!self.heap.is_empty())
    }

    /// Lets the part at a place of the heap sink to where it belongs.
    fn sink(&mut self, mut at: usize) {
        loop {
            let children = [2 * at + 1, 2 * at + 2];
            let below = children.into_iter().filter(|child| *child < self.heap.len());
            let Some(least) = below.min_by(|a, b| self.compare(*a, *b)) else {
                return;
            };
            if self.compare(at, least).is_le() {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Compares the entries of two places of the heap in scan order; of equals the part named first
    /// comes first.
    fn compare(&self, one: usize, other: usize) -> Ordering {
        let (one, other) = (self.heap[one], self.heap[other]);
        let order = self.parts[one].compared().cmp(self.parts[other].compared());
        let order = if self.reverse { order.reverse() } else { order };
        order.then(one.cmp(&other))
    }
}

impl KvCursor for MergedCursor {
    fn next(&mut self) -> Result<Option<KeyValue<'_>>, KvError> {
        if !self.advance()? {
            return Ok(None);
        }
        let Part { key, value, .. } = &self.parts[self.heap[0]];
        Ok(Some(KeyValue { key, value }))
    }

    fn for_each(&mut self, visit: &mut Visit<'_>) -> Result<bool, KvError> {
        while self.advance()? {
            let Part { key, value, .. } = &self.parts[self.heap[0]];
            if visit(key, value).is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn stats(&self) -> ScanStats {
        let mut stats = ScanStats::default();
        for part in &self.parts {
            stats += part.cursor.stats();
        }
        stats
    }
}
