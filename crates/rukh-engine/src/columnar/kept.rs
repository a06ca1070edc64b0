//! Columns of blocks that were opened for single rows, kept in bounded memory for those who come next.
//!
//! A row is a few bytes of each column of its block. To get at them all bytes of these columns are copied from
//! storage, and go through a checksum; then reading is a matter of nanoseconds. So columns are kept as they
//! are stored, checked, until others need the memory more: who was not asked for since the last round goes first.
//!
//! What a block has under its first key changes when it is repacked. Its head is read from the reader's own snapshot
//! and tells the *identity* of its columns; columns are kept under that, so that no reader is given those of another moment.
//! Heads of old databases have none, and nothing is kept of their blocks.
//!
//! Deliberately not here: scans, which read each column once.

use crate::engine::Engine;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Parts with a lock each.
const SHARDS: usize = 16;

/// Bytes kept of all blocks of a database, unless told otherwise.
const BYTES_MAX: usize = 128 << 20;

/// Bytes that a block takes without its columns, about.
const BLOCK_BYTES: usize = 256;

/// Blocks that are kept, by their identity.
pub(crate) struct KeptBlocks {
    shards: [Mutex<Shard>; SHARDS],
    bytes_max: AtomicUsize,
}

#[derive(Default)]
struct Shard {
    blocks: HashMap<u64, Arc<KeptBlock>>,
    /// The same blocks, those that are looked at first for what can go in front.
    queue: VecDeque<Arc<KeptBlock>>,
    bytes: usize,
}

/// What is kept of a block.
pub(crate) struct KeptBlock {
    identity: u64,
    storage: String,
    first_key: Vec<u8>,
    /// By their place among the columns of the block, those that were read and checked.
    columns: Box<[OnceLock<Arc<Vec<u8>>>]>,
    bytes: AtomicUsize,
    /// Whether it was asked for since it was last thought of as one to go.
    used: AtomicBool,
}

impl Default for KeptBlocks {
    fn default() -> Self {
        KeptBlocks {
            shards: Default::default(),
            bytes_max: AtomicUsize::new(BYTES_MAX),
        }
    }
}

impl Engine {
    /// Sets how many bytes of opened blocks are kept for readers of single rows of columnar tables, about; 0 keeps none.
    pub fn set_open_blocks_bytes(&self, bytes: usize) {
        self.inner.kept.set_bytes_max(bytes);
    }
}

impl KeptBlocks {
    /// Sets how many bytes are kept, about.
    pub(crate) fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        for shard in &self.shards {
            shard.lock().shrink(bytes / SHARDS);
        }
    }

    fn shard(&self, identity: u64) -> &Mutex<Shard> {
        &self.shards[identity as usize % SHARDS]
    }

    /// Returns the place of a block with so many columns; `None` if another one has its identity.
    pub(crate) fn block(
        &self,
        storage: &str,
        first_key: &[u8],
        identity: u64,
        columns: usize,
    ) -> Option<Arc<KeptBlock>> {
        let mut shard = self.shard(identity).lock();
        if let Some(kept) = shard.blocks.get(&identity) {
            let same =
                kept.storage == storage && kept.first_key == first_key && kept.columns.len() == columns;
            kept.used.store(true, Ordering::Relaxed);
            return same.then(|| kept.clone());
        }
        let bytes = BLOCK_BYTES + first_key.len() + columns * size_of::<OnceLock<Arc<Vec<u8>>>>();
        let block = Arc::new(KeptBlock {
            identity,
            storage: storage.to_string(),
            first_key: first_key.to_vec(),
            columns: (0..columns).map(|_| OnceLock::new()).collect(),
            bytes: AtomicUsize::new(bytes),
            used: AtomicBool::new(false),
        });
        shard.bytes += bytes;
        shard.blocks.insert(identity, block.clone());
        shard.queue.push_back(block.clone());
        Some(block)
    }

    /// Keeps a column of a block by its place, whose bytes were checked.
    pub(crate) fn keep(&self, block: &Arc<KeptBlock>, place: usize, value: &Arc<Vec<u8>>) {
        let Some(column) = block.columns.get(place) else {
            return;
        };
        let mut shard = self.shard(block.identity).lock();
        let is_there = shard.blocks.get(&block.identity);
        // Nobody finds a block that had to go.
        if is_there.is_some_and(|kept| Arc::ptr_eq(kept, block)) && column.set(value.clone()).is_ok() {
            block.bytes.fetch_add(value.len(), Ordering::Relaxed);
            shard.bytes += value.len();
            shard.shrink(self.bytes_max.load(Ordering::Relaxed) / SHARDS);
        }
    }

    /// Returns the bytes kept.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }
}

impl Shard {
    /// Lets blocks go until the rest has so many bytes at most.
    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some(block) = self.queue.pop_front()
        {
            if block.used.swap(false, Ordering::Relaxed) {
                self.queue.push_back(block);
                continue;
            }
            self.blocks.remove(&block.identity);
            self.bytes -= block.bytes.load(Ordering::Relaxed);
        }
    }
}

impl KeptBlock {
    /// Returns a column by its place, if it is kept.
    pub(crate) fn column(&self, place: usize) -> Option<&Arc<Vec<u8>>> {
        self.columns.get(place)?.get()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let kept = KeptBlocks::default();
        kept.set_bytes_max(16 * 10_000);
        let value = Arc::new(vec![7_u8; 1000]);
        // All in one shard.
        for identity in (0..100).map(|at| at * 16) {
            let block = kept.block("t1.c", b"first", identity, 3).unwrap();
            kept.keep(&block, 1, &value);
            assert!(kept.bytes() <= 10_000, "{} bytes", kept.bytes());
            let first = kept.block("t1.c", b"first", 0, 3).unwrap();
            kept.keep(&first, 1, &value);
            assert!(first.column(1).is_some(), "after {identity}");
        }
        let gone = kept.block("t1.c", b"first", 16, 3).unwrap();
        assert!(gone.column(1).is_none());
        // Of a block with the same identity and another name there is nothing.
        assert!(kept.block("t2.c", b"first", 0, 3).is_none());
        assert!(kept.block("t1.c", b"other", 0, 3).is_none());
        kept.set_bytes_max(0);
        assert_eq!(kept.bytes(), 0);
    }

    #[test]
    fn a_block_that_had_to_go_takes_nothing_more() {
        let kept = KeptBlocks::default();
        let block = kept.block("t1.c", b"first", 1, 2).unwrap();
        kept.set_bytes_max(0);
        kept.keep(&block, 0, &Arc::new(vec![1]));
        assert_eq!(kept.bytes(), 0);
        assert!(block.column(0).is_none());
    }
}
