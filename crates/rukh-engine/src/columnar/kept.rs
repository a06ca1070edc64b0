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
//! Who looks for a key finds its block here, without an iterator over heads: by the first keys of those kept (`at`). What is
//! found may be of another moment; it holds for a reader whose own snapshot has the very same head under that first key, for
//! blocks of one moment do not overlap.
//!
//! Deliberately not here: scans, which read each column once.

use super::block::Piece;
use super::head::Head;
use super::pieces::{Cut, Parts};
use super::times::Numbers;
use crate::engine::Engine;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
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
    /// By column family, the blocks by their first keys.
    directories: RwLock<HashMap<String, Arc<Directory>>>,
    bytes_max: AtomicUsize,
}

/// The blocks of one column family that are kept; of those with one first key the one seen last.
type Directory = RwLock<BTreeMap<Vec<u8>, Arc<KeptBlock>>>;

#[derive(Default)]
struct Shard {
    blocks: HashMap<u64, Arc<KeptBlock>>,
    /// The same blocks, those that are looked at first for what can go in front.
    queue: VecDeque<Arc<KeptBlock>>,
    bytes: usize,
}

/// By number, the pieces of a column that are kept.
type KeptPieces = Box<[OnceLock<Arc<Vec<u8>>>]>;

/// What is kept of a block.
pub(crate) struct KeptBlock {
    identity: u64,
    storage: String,
    pub(super) first_key: Vec<u8>,
    pub(super) last_key: Vec<u8>,
    pub(super) rows: usize,
    pub(super) numbers: Numbers,
    pub(super) parts: Option<Arc<Parts>>,
    /// The key and the value of its head as they are stored.
    head: (Vec<u8>, Vec<u8>),
    /// Where it is found by its first key.
    directory: Arc<Directory>,
    /// By their place among the columns of the block, the pieces that were read and checked.
    columns: Box<[OnceLock<KeptPieces>]>,
    bytes: AtomicUsize,
    /// One more than the state of blocks in which it was seen last; 0 if it is not known.
    state: AtomicU64,
    /// Whether it was asked for since it was last thought of as one to go.
    used: AtomicBool,
}

impl Default for KeptBlocks {
    fn default() -> Self {
        KeptBlocks {
            shards: Default::default(),
            directories: RwLock::default(),
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

    fn directory(&self, storage: &str) -> Arc<Directory> {
        if let Some(directory) = self.directories.read().get(storage) {
            return directory.clone();
        }
        let mut directories = self.directories.write();
        directories.entry(storage.to_string()).or_default().clone()
    }

    /// Returns the block that a key lies in, of those kept: it may be of another moment.
    pub(super) fn at(&self, storage: &str, key: &[u8]) -> Option<Arc<KeptBlock>> {
        let directories = self.directories.read();
        let blocks = directories.get(storage)?.read();
        let until = (Bound::Unbounded, Bound::Included(key));
        let (_, block) = blocks.range::<[u8], _>(until).next_back()?;
        (key <= block.last_key.as_slice()).then(|| block.clone())
    }

    /// Forgets the way to a block that a reader did not find in storage.
    pub(super) fn lose(&self, block: &Arc<KeptBlock>) {
        block.leave();
    }

    /// Returns the place of the block with a head that is stored under `key`; `None` if another one has its identity, or it
    /// has none.
    pub(super) fn block(
        &self,
        storage: &str,
        (key, value): (&[u8], &[u8]),
        head: &Head<'_>,
    ) -> Option<Arc<KeptBlock>> {
        let identity = head.identity?;
        let (_, first_key) = Piece::of(key).ok()?;
        let directory = self.directory(storage);
        let mut shard = self.shard(identity).lock();
        if let Some(kept) = shard.blocks.get(&identity) {
            let same = kept.storage == storage && kept.head.0 == key && kept.head.1 == value;
            kept.used.store(true, Ordering::Relaxed);
            let kept = same.then(|| kept.clone());
            if let Some(kept) = &kept {
                kept.enter();
            }
            return kept;
        }
        let numbers = head.numbers();
        let columns = numbers.len();
        let bytes = BLOCK_BYTES
            + 3 * first_key.len()
            + head.last_key.len()
            + value.len()
            + head.parts.as_ref().map_or(0, |parts| parts.bytes())
            + columns * size_of::<OnceLock<KeptPieces>>();
        let block = Arc::new(KeptBlock {
            identity,
            storage: storage.to_string(),
            first_key: first_key.to_vec(),
            last_key: head.last_key.to_vec(),
            rows: head.rows,
            numbers,
            parts: head.parts.clone(),
            head: (key.to_vec(), value.to_vec()),
            directory,
            columns: (0..columns).map(|_| OnceLock::new()).collect(),
            bytes: AtomicUsize::new(bytes),
            state: AtomicU64::new(0),
            used: AtomicBool::new(false),
        });
        shard.bytes += bytes;
        shard.blocks.insert(identity, block.clone());
        shard.queue.push_back(block.clone());
        block.enter();
        shard.shrink(self.bytes_max.load(Ordering::Relaxed) / SHARDS);
        Some(block)
    }

    /// Keeps a piece of a column of a block by its place, whose bytes were checked.
    pub(super) fn keep(&self, block: &Arc<KeptBlock>, place: usize, piece: usize, value: &Arc<Vec<u8>>) {
        let Some(column) = block.columns.get(place) else {
            return;
        };
        let mut shard = self.shard(block.identity).lock();
        let is_there = shard.blocks.get(&block.identity);
        // Nobody finds a block that had to go.
        if !is_there.is_some_and(|kept| Arc::ptr_eq(kept, block)) {
            return;
        }
        let mut bytes = 0;
        let pieces = column.get_or_init(|| {
            let count = Cut::of(block.parts.as_deref(), Some(place), block.rows).pieces;
            bytes += count * size_of::<OnceLock<Arc<Vec<u8>>>>();
            (0..count).map(|_| OnceLock::new()).collect()
        });
        if pieces
            .get(piece)
            .is_some_and(|kept| kept.set(value.clone()).is_ok())
        {
            bytes += value.len();
        }
        block.bytes.fetch_add(bytes, Ordering::Relaxed);
        shard.bytes += bytes;
        shard.shrink(self.bytes_max.load(Ordering::Relaxed) / SHARDS);
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
            block.leave();
        }
    }
}

impl KeptBlock {
    /// Has itself found by its first key.
    fn enter(self: &Arc<Self>) {
        let found = self.directory.read().get(&self.first_key).map(Arc::as_ptr);
        if found != Some(Arc::as_ptr(self)) {
            self.directory
                .write()
                .insert(self.first_key.clone(), self.clone());
        }
    }

    /// Has itself no longer found.
    fn leave(self: &Arc<Self>) {
        let mut blocks = self.directory.write();
        if blocks
            .get(&self.first_key)
            .is_some_and(|found| Arc::ptr_eq(found, self))
        {
            blocks.remove(&self.first_key);
        }
    }

    /// Returns the key and the value of its head, as they are stored.
    pub(super) fn head(&self) -> (&[u8], &[u8]) {
        (&self.head.0, &self.head.1)
    }

    pub(super) fn identity(&self) -> u64 {
        self.identity
    }

    /// Whether it is one of the blocks of a state.
    pub(super) fn is_of(&self, state: Option<u64>) -> bool {
        state.is_some_and(|state| self.state.load(Ordering::Acquire) == state + 1)
    }

    /// Notes that it is one of the blocks of a state.
    pub(super) fn see(&self, state: Option<u64>) {
        if let Some(state) = state {
            self.state.store(state + 1, Ordering::Release);
        }
    }

    /// Notes that it is of use.
    pub(super) fn touch(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Returns a piece of a column by its place, if it is kept.
    pub(super) fn piece(&self, place: usize, piece: usize) -> Option<&Arc<Vec<u8>>> {
        self.columns.get(place)?.get()?.get(piece)?.get()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::block;
    use super::super::pieces::Cutting;
    use super::super::vector::ColumnVector;
    use super::*;
    use rukh_keys::{DataType, DatumRef};

    /// The head of a block of two columns with the rows from a number on: its key and its value.
    fn head(first: i64, rows: i64) -> (Vec<u8>, Vec<u8>) {
        let mut column = ColumnVector::new(DataType::BigInt);
        for value in first..first + rows {
            column.push(&DatumRef::Int(value)).unwrap();
        }
        let columns = [column.clone(), column];
        let keys: Vec<Vec<u8>> = (first..first + rows).map(key).collect();
        let cutting = Cutting::new(8192);
        block::encode(&[0, 1], &columns, 0..rows as usize, cutting, &|row| &keys[row]).swap_remove(0)
    }

    fn key(row: i64) -> Vec<u8> {
        row.to_be_bytes().to_vec()
    }

    /// Keeps the block of a head.
    fn keep(kept: &KeptBlocks, storage: &str, (key, value): &(Vec<u8>, Vec<u8>)) -> Option<Arc<KeptBlock>> {
        kept.block(storage, (key, value), &Head::parse(key, value).unwrap())
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let kept = KeptBlocks::default();
        kept.set_bytes_max(SHARDS * 10_000);
        let value = Arc::new(vec![7_u8; 1000]);
        let first = head(0, 10);
        let shards_bytes = || kept.shards.iter().map(|shard| shard.lock().bytes);
        for nth in 0..500 {
            let block = keep(&kept, "t1.c", &head(nth * 10, 10)).unwrap();
            kept.keep(&block, 1, 0, &value);
            assert!(shards_bytes().all(|bytes| bytes <= 10_000), "after {nth}");
            let first = keep(&kept, "t1.c", &first).unwrap();
            kept.keep(&first, 1, 0, &value);
            assert!(first.piece(1, 0).is_some(), "after {nth}");
            assert!(kept.at("t1.c", &key(5)).is_some(), "after {nth}");
        }
        let found = (0..500).filter(|nth| kept.at("t1.c", &key(nth * 10)).is_some());
        assert!(found.count() < 200);
        // Of a block with the same identity and another name there is nothing.
        assert!(keep(&kept, "t2.c", &first).is_none());
        kept.set_bytes_max(0);
        assert_eq!(kept.bytes(), 0);
        assert!(kept.at("t1.c", &key(5)).is_none());
    }

    #[test]
    fn a_block_that_had_to_go_takes_nothing_more() {
        let kept = KeptBlocks::default();
        let block = keep(&kept, "t1.c", &head(0, 5)).unwrap();
        kept.set_bytes_max(0);
        kept.keep(&block, 0, 0, &Arc::new(vec![1]));
        assert_eq!(kept.bytes(), 0);
        assert!(block.piece(0, 0).is_none());
    }

    #[test]
    fn keys_find_the_block_that_was_seen_last() {
        let kept = KeptBlocks::default();
        let (old, new) = (head(0, 10), head(0, 4));
        keep(&kept, "t1.c", &old).unwrap();
        assert_eq!(kept.at("t1.c", &key(9)).unwrap().rows, 10);
        let found = keep(&kept, "t1.c", &new).unwrap();
        assert_eq!(kept.at("t1.c", &key(3)).unwrap().head(), (&new.0[..], &new.1[..]));
        // The other moment has a block there; this one has none.
        assert!(kept.at("t1.c", &key(9)).is_none());
        keep(&kept, "t1.c", &old).unwrap();
        // What is not found any more is not what was found before.
        kept.lose(&found);
        assert_eq!(kept.at("t1.c", &key(3)).unwrap().rows, 10);
        assert!(kept.at("t1.c", &key(10)).is_none());
        assert!(kept.at("t2.c", &key(3)).is_none());
    }
}
