//! A cache of columns, filters and heads of blocks, in bounded memory.
//!
//! A row is a few bytes of each column of its block. To get at them all bytes of these columns are copied from
//! storage, and go through a checksum; then reading is a matter of nanoseconds. So columns are kept as they
//! stored, checked, until others need the memory more: a block without a request since the last round goes first.
//!
//! Readers of single rows and scans take what is kept alike, but do not make room alike:
//!
//! | reader    | what is cached                                                                  |
//! |-----------|---------------------------------------------------------------------------------|
//! | rows      | always; others go for it, see above                                             |
//! | a scan    | where there is room; for [`AGING`] bytes that find none, one byte of others is looked at, and goes if it had no request since the last look |
//!
//! Of the room, pieces of long values take three quarters at most: short ones, of which many more rows find place, have the rest.
//!
//! So a scan of more than there is room for finds a part of it kept each time, where it would find nothing if the last pieces drove out
//! the first; blocks in use stay; and unused ones make room after a few scans. Blocks that a repack replaced go when a scan finds
//! that they are no longer there.
//!
//! What a block has under its first key changes when it is repacked. Its head is read from the reader's own snapshot
//! and has the *identity* of its columns; columns are kept under that, so that no reader is given those of another moment.
//! Heads of old databases have none, and nothing is kept of their blocks.
//!
//! A read by key finds its block here, without an iterator over heads: by the first keys of those cached (`at`). The block
//! may be of another moment; it holds for a reader whose own snapshot has the very same head under that first key, for
//! blocks of one moment do not overlap.
//!
//! A scan reads heads of all blocks of its range. Their list is kept as well, parsed, for each column family (`heads`): a reader takes it whose
//! snapshot is of the *state of blocks* that the list was read in (`watch`). Lists have a share of the memory to themselves.
//!
//! Of columns of long values whose pieces are all kept, scans with conditions make sketches, which are kept with them (`sketch`).
//!
//! Of changes beside blocks, decoded ones are kept where they serve the next scan, too (`chunks`). They have a share of the memory as far as they
//! need it.

use crate::columnar::caches::chunk::Chunk;
use crate::columnar::caches::chunks::{ChunkLists, ChunksOf, Found};
use crate::columnar::caches::heads::{HeadList, HeadLists};
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::head::{BlockHead, Head};
use crate::columnar::stored::pieces::{Cut, Parts};
use crate::columnar::values::sketch::Sketch;
use crate::forms::entry::IndexCodec;
use crate::forms::times::Numbers;
use crate::storage::watch::{States, Writes};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Parts with a lock each.
const SHARDS: usize = 16;

/// Default size of the cache of a database, bytes.
const BYTES_MAX: usize = 128 << 20;

/// Bytes that a block takes without its columns, about.
const BLOCK_BYTES: usize = 256;

/// Lists of heads have one byte of so many.
const HEADS_SHARE: usize = 8;

/// Changes beside blocks have one byte of so many at most.
const CHANGES_SHARE: usize = 4;

/// Pieces of scans are long that have more bytes for each row, beside what each piece has; of the room they leave one byte of so many to
/// others.
const SHORT_ROW_BYTES: usize = 2;
const PIECE_BYTES: usize = 64;
const SHORT_SHARE: usize = 4;

/// For so many bytes of scans that find no room, one byte of others is looked at.
const AGING: usize = 8;

/// Blocks that are kept, by their identity.
pub(crate) struct KeptBlocks {
    shards: [Mutex<Shard>; SHARDS],
    /// By column family, the blocks by their first keys.
    directories: RwLock<HashMap<String, Arc<Directory>>>,
    /// By column family, all heads as a scan found them.
    heads: Mutex<HeadLists>,
    /// Changes beside blocks, and how many bytes they take.
    changes: Mutex<ChunkLists>,
    changes_bytes: AtomicUsize,
    writes: Arc<Writes>,
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
    /// Bytes of scans that found no room, since a block was looked at.
    refused: usize,
}

/// What room there is for what was read.
#[derive(Clone, Copy)]
enum Room {
    /// Others go for it.
    Made,
    /// What is free.
    Free,
    /// What is free, but for what is left to short pieces.
    FreeForLong,
}

/// The kind of reader of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Reads single rows.
    Rows,
    /// A scan.
    Scan,
}

/// By number, the pieces of a column that are kept.
type KeptPieces = Box<[OnceLock<Arc<Vec<u8>>>]>;

/// What is kept of a block.
pub(crate) struct KeptBlock {
    identity: u64,
    storage: String,
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
    pub(crate) rows: usize,
    pub(crate) numbers: Numbers,
    pub(crate) parts: Option<Arc<Parts>>,
    /// The key and the value of its head as they are stored.
    head: (Vec<u8>, Vec<u8>),
    /// Where it is found by its first key.
    directory: Arc<Directory>,
    /// By their place among the columns of the block, the pieces that were read and checked.
    columns: Box<[OnceLock<KeptPieces>]>,
    /// By the place of their columns, the filters.
    filters: Box<[OnceLock<Arc<Vec<u8>>>]>,
    /// By the place of their columns, what was made of those of long values; of a column `None` if there is nothing to be made.
    sketches: Box<[OnceLock<Option<Arc<Sketch>>>]>,
    bytes: AtomicUsize,
    /// One more than the state of blocks in which it was seen last; 0 if it is not known.
    state: AtomicU64,
    /// Whether it had a request since it was last considered for eviction.
    used: AtomicBool,
}

impl Default for KeptBlocks {
    fn default() -> Self {
        KeptBlocks {
            shards: Default::default(),
            directories: RwLock::default(),
            heads: Mutex::default(),
            changes: Mutex::default(),
            changes_bytes: AtomicUsize::new(0),
            writes: Arc::default(),
            bytes_max: AtomicUsize::new(BYTES_MAX),
        }
    }
}

impl KeptBlocks {
    /// Sets how many bytes are kept, about.
    pub(crate) fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        for shard in &self.shards {
            shard.lock().shrink(self.shard_bytes_max());
        }
        self.heads.lock().shrink(bytes / HEADS_SHARE);
        let mut changes = self.changes.lock();
        changes.shrink(bytes / CHANGES_SHARE);
        self.changes_bytes.store(changes.bytes(), Ordering::Relaxed);
    }

    fn shard_bytes_max(&self) -> usize {
        let bytes = self.bytes_max.load(Ordering::Relaxed);
        let of_others = bytes / HEADS_SHARE + self.changes_bytes.load(Ordering::Relaxed);
        bytes.saturating_sub(of_others) / SHARDS
    }

    /// Returns the writes whose numbers identify states of changes.
    pub(crate) fn writes(&self) -> &Arc<Writes> {
        &self.writes
    }

    /// Says which changes are meant that a snapshot of these states has beside the blocks of an index; `None` if that is not known, or
    /// nothing is kept.
    pub(crate) fn changes_of(&self, index: &Arc<IndexCodec>, states: States) -> Option<ChunksOf> {
        if self.bytes_max.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let state = self.writes.state_of(&index.storage, states.writes?)?;
        let index = index.clone();
        Some(ChunksOf { index, state })
    }

    /// Looks for the changes that begin at a key, or in reverse end there.
    pub(crate) fn changes(&self, of: &ChunksOf, place: Option<&[u8]>, reverse: bool) -> Found {
        self.changes.lock().find(of, place, reverse)
    }

    /// Keeps changes that have the columns wanted, where there is room.
    pub(crate) fn keep_changes(&self, of: &ChunksOf, chunk: &Arc<Chunk>, wanted: &[bool]) {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed) / CHANGES_SHARE;
        let mut changes = self.changes.lock();
        changes.keep(of, chunk, wanted, bytes_max);
        self.changes_bytes.store(changes.bytes(), Ordering::Relaxed);
    }

    /// Returns the heads of all blocks in a state, if they are kept.
    pub(crate) fn heads(&self, storage: &str, state: u64) -> Option<Arc<HeadList>> {
        self.heads.lock().of(storage, state)
    }

    /// Returns the heads of all blocks that are kept, of whatever state.
    pub(crate) fn heads_before(&self, storage: &str) -> Option<Arc<HeadList>> {
        self.heads.lock().last(storage)
    }

    /// Returns how many bytes the heads of a column family may have in a state; `None` if they are known to have more.
    pub(crate) fn heads_bytes_max(&self, storage: &str, state: u64) -> Option<usize> {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed) / HEADS_SHARE;
        let is_possible = bytes_max > 0 && !self.heads.lock().is_too_large(storage, state);
        is_possible.then_some(bytes_max)
    }

    /// Notes that the heads of a column family have more bytes than they may.
    pub(crate) fn note_too_large(&self, storage: &str, state: u64) {
        self.heads.lock().note_too_large(storage, state);
    }

    /// Keeps the heads of all blocks in a state, and nothing more of those that there were before.
    pub(crate) fn keep_heads(&self, storage: &str, list: &Arc<HeadList>) {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed) / HEADS_SHARE;
        let before = self.heads.lock().keep(storage, list, bytes_max);
        let mut gone: [HashSet<u64>; SHARDS] = Default::default();
        for identity in before.iter().flat_map(|before| before.identities_but(list)) {
            gone[identity as usize % SHARDS].insert(identity);
        }
        for (shard, gone) in self.shards.iter().zip(gone).filter(|(_, gone)| !gone.is_empty()) {
            shard.lock().remove(&gone);
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
    pub(crate) fn at(&self, storage: &str, key: &[u8]) -> Option<Arc<KeptBlock>> {
        let directories = self.directories.read();
        let blocks = directories.get(storage)?.read();
        let until = (Bound::Unbounded, Bound::Included(key));
        let (_, block) = blocks.range::<[u8], _>(until).next_back()?;
        (key <= block.last_key.as_slice()).then(|| block.clone())
    }

    /// Forgets the way to a block that a reader did not find in storage.
    pub(crate) fn lose(&self, block: &Arc<KeptBlock>) {
        block.leave();
    }

    /// Returns the place of the block with a head that is stored under `key`; `None` if another one has its identity, or it
    /// has none.
    pub(crate) fn block(
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
        let bytes = bytes_of(
            first_key,
            head.last_key,
            value,
            head.parts.as_deref(),
            head.numbers(),
        );
        let block = Arc::new(KeptBlock {
            identity,
            storage: storage.to_string(),
            first_key: first_key.to_vec(),
            last_key: head.last_key.to_vec(),
            rows: head.rows,
            numbers: head.numbers(),
            parts: head.parts.clone(),
            head: (key.to_vec(), value.to_vec()),
            directory,
            columns: nothing(head.numbers()),
            filters: nothing(head.numbers()),
            sketches: nothing(head.numbers()),
            bytes: AtomicUsize::new(bytes),
            state: AtomicU64::new(0),
            used: AtomicBool::new(false),
        });
        shard.add(&block);
        shard.shrink(self.shard_bytes_max());
        Some(block)
    }

    /// As [`KeptBlocks::block`], for a scan that found the head in a state of blocks, if it is known; `None` also where there is no
    /// room for another block.
    pub(crate) fn block_of_scan(
        &self,
        storage: &str,
        head: &BlockHead,
        state: Option<u64>,
    ) -> Option<Arc<KeptBlock>> {
        let identity = head.identity?;
        let (key, value) = head.stored();
        let mut shard = self.shard(identity).lock();
        if let Some(kept) = shard.blocks.get(&identity) {
            let is_same = kept.storage == storage
                && kept.head.0 == key
                // In one state there is one block under its key.
                && (kept.is_of(state) || kept.head.1 == value);
            if !is_same {
                return None;
            }
            kept.touch();
            kept.see(state);
            return Some(kept.clone());
        }
        let bytes = bytes_of(
            head.first_key(),
            head.last_key(),
            value,
            head.parts.as_deref(),
            head.numbers,
        );
        if !shard.has_room(bytes, self.shard_bytes_max()) {
            return None;
        }
        let block = Arc::new(KeptBlock {
            identity,
            storage: storage.to_string(),
            first_key: head.first_key().to_vec(),
            last_key: head.last_key().to_vec(),
            rows: head.rows,
            numbers: head.numbers,
            parts: head.parts.clone(),
            head: (key.to_vec(), value.to_vec()),
            directory: self.directory(storage),
            columns: nothing(head.numbers),
            filters: nothing(head.numbers),
            sketches: nothing(head.numbers),
            bytes: AtomicUsize::new(bytes),
            state: AtomicU64::new(state.map_or(0, |state| state + 1)),
            used: AtomicBool::new(false),
        });
        shard.add(&block);
        Some(block)
    }

    /// Keeps a piece of a column of a block by its place, whose bytes were checked.
    pub(crate) fn keep(
        &self,
        block: &Arc<KeptBlock>,
        reader: Reader,
        (place, piece): (usize, usize),
        value: &Arc<Vec<u8>>,
    ) {
        let Some(column) = block.columns.get(place) else {
            return;
        };
        let cut = Cut::of(block.parts.as_deref(), Some(place), block.rows);
        let count = cut.pieces;
        let rows = if piece < count {
            cut.rows(piece, block.rows)
        } else {
            0
        };
        let room = match (reader, value.len() > SHORT_ROW_BYTES * rows + PIECE_BYTES) {
            (Reader::Rows, _) => Room::Made,
            (Reader::Scan, false) => Room::Free,
            (Reader::Scan, true) => Room::FreeForLong,
        };
        let places = match column.get() {
            Some(_) => 0,
            None => count * size_of::<OnceLock<Arc<Vec<u8>>>>(),
        };
        self.add(block, room, places + value.len(), || {
            let pieces = column.get_or_init(|| (0..count).map(|_| OnceLock::new()).collect());
            let is_new = pieces
                .get(piece)
                .is_some_and(|kept| kept.set(value.clone()).is_ok());
            places + if is_new { value.len() } else { 0 }
        });
    }

    /// Keeps the filter of a column of a block by its place, whose bytes were checked.
    pub(crate) fn keep_filter(&self, block: &Arc<KeptBlock>, place: usize, value: &Arc<Vec<u8>>) {
        let Some(filter) = block.filters.get(place) else {
            return;
        };
        self.add(block, Room::Free, value.len(), || {
            match filter.set(value.clone()) {
                Ok(()) => value.len(),
                Err(_) => 0,
            }
        });
    }

    /// Keeps the sketch of a column of a block by its place, where there is room for about so many bytes.
    pub(crate) fn keep_sketch(
        &self,
        block: &Arc<KeptBlock>,
        place: usize,
        bytes: usize,
        make: impl FnOnce() -> Option<Sketch>,
    ) {
        let Some(sketch) = block.sketches.get(place).filter(|sketch| sketch.get().is_none()) else {
            return;
        };
        let has_room = {
            let mut shard = self.shard(block.identity).lock();
            shard.has_room(bytes, self.shard_bytes_max())
        };
        if !has_room {
            return;
        }
        let made = make().map(Arc::new);
        let bytes = made.as_ref().map_or(0, |made| made.bytes());
        self.add(block, Room::Free, bytes, || match sketch.set(made) {
            Ok(()) => bytes,
            Err(_) => 0,
        });
    }

    /// Adds so many bytes to a block, where there is room or room is made; `add` returns how many there are in the end.
    fn add(&self, block: &Arc<KeptBlock>, room: Room, bytes: usize, add: impl FnOnce() -> usize) {
        let bytes_max = self.shard_bytes_max();
        let mut shard = self.shard(block.identity).lock();
        let has_room = match room {
            Room::Made => true,
            Room::Free => shard.has_room(bytes, bytes_max),
            Room::FreeForLong => shard.has_room(bytes, bytes_max - bytes_max / SHORT_SHARE),
        };
        if !has_room {
            return;
        }
        let is_there = shard.blocks.get(&block.identity);
        // The block is no longer found once it is evicted.
        if !is_there.is_some_and(|kept| Arc::ptr_eq(kept, block)) {
            return;
        }
        let bytes = add();
        block.bytes.fetch_add(bytes, Ordering::Relaxed);
        shard.bytes += bytes;
        shard.shrink(bytes_max);
    }

    /// Returns the bytes kept.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }
}

/// Returns the bytes that a block takes of which nothing is kept yet, about.
fn bytes_of(
    first_key: &[u8],
    last_key: &[u8],
    value: &[u8],
    parts: Option<&Parts>,
    numbers: Numbers,
) -> usize {
    let places = size_of::<OnceLock<KeptPieces>>()
        + size_of::<OnceLock<Arc<Vec<u8>>>>()
        + size_of::<OnceLock<Option<Arc<Sketch>>>>();
    BLOCK_BYTES
        + 3 * first_key.len()
        + last_key.len()
        + value.len()
        + parts.map_or(0, Parts::bytes)
        + numbers.len() * places
}

/// Returns an empty place for each of these numbers.
fn nothing<T>(numbers: Numbers) -> Box<[OnceLock<T>]> {
    (0..numbers.len()).map(|_| OnceLock::new()).collect()
}

impl Shard {
    /// Adds a block that is not there.
    fn add(&mut self, block: &Arc<KeptBlock>) {
        self.bytes += block.bytes.load(Ordering::Relaxed);
        self.blocks.insert(block.identity, block.clone());
        self.queue.push_back(block.clone());
        block.enter();
    }

    /// Whether a scan may add so many bytes. If not, it may later, should others have no requests.
    fn has_room(&mut self, bytes: usize, bytes_max: usize) -> bool {
        let has_room = self.bytes + bytes <= bytes_max;
        if has_room || bytes > bytes_max {
            return has_room;
        }
        self.refused += bytes;
        let first = self.queue.front();
        let due = first.is_some_and(|block| self.refused >= AGING * block.bytes.load(Ordering::Relaxed));
        if due {
            self.refused = 0;
            self.look_at_one();
        }
        self.bytes + bytes <= bytes_max
    }

    /// Removes blocks.
    fn remove(&mut self, gone: &HashSet<u64>) {
        let Shard {
            blocks, queue, bytes, ..
        } = self;
        queue.retain(|block| {
            let is_gone = gone.contains(&block.identity);
            if is_gone {
                blocks.remove(&block.identity);
                *bytes -= block.bytes.load(Ordering::Relaxed);
                block.leave();
            }
            !is_gone
        });
    }

    /// Evicts the first block, or makes it the last one if it had a request.
    fn look_at_one(&mut self) {
        let Some(block) = self.queue.pop_front() else {
            return;
        };
        if block.used.swap(false, Ordering::Relaxed) {
            self.queue.push_back(block);
            return;
        }
        self.blocks.remove(&block.identity);
        self.bytes -= block.bytes.load(Ordering::Relaxed);
        block.leave();
    }

    /// Lets blocks go until the rest has so many bytes at most.
    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max && !self.queue.is_empty() {
            self.look_at_one();
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
    pub(crate) fn head(&self) -> (&[u8], &[u8]) {
        (&self.head.0, &self.head.1)
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Whether it is one of the blocks of a state.
    pub(crate) fn is_of(&self, state: Option<u64>) -> bool {
        state.is_some_and(|state| self.state.load(Ordering::Acquire) == state + 1)
    }

    /// Notes that it is one of the blocks of a state.
    pub(crate) fn see(&self, state: Option<u64>) {
        if let Some(state) = state {
            self.state.store(state + 1, Ordering::Release);
        }
    }

    /// Notes that it is of use.
    pub(crate) fn touch(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Returns a piece of a column by its place, if it is kept.
    pub(crate) fn piece(&self, place: usize, piece: usize) -> Option<&Arc<Vec<u8>>> {
        self.columns.get(place)?.get()?.get(piece)?.get()
    }

    /// Returns the sketch of a column by its place, if there is one.
    pub(crate) fn sketch(&self, place: usize) -> Option<&Arc<Sketch>> {
        self.sketches.get(place)?.get()?.as_ref()
    }

    /// Returns the filter of a column by its place, if it is kept.
    pub(crate) fn filter(&self, place: usize) -> Option<&Arc<Vec<u8>>> {
        self.filters.get(place)?.get()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columnar::stored::block;
    use crate::columnar::stored::pieces::Cutting;
    use crate::columnar::values::vector::ColumnVector;
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
            kept.keep(&block, Reader::Rows, (1, 0), &value);
            assert!(shards_bytes().all(|bytes| bytes <= 10_000), "after {nth}");
            let first = keep(&kept, "t1.c", &first).unwrap();
            kept.keep(&first, Reader::Rows, (1, 0), &value);
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
        kept.keep(&block, Reader::Rows, (0, 0), &Arc::new(vec![1]));
        assert_eq!(kept.bytes(), 0);
        assert!(block.piece(0, 0).is_none());
    }

    #[test]
    fn scans_take_free_room_and_leave_others_theirs() {
        let kept = KeptBlocks::default();
        kept.set_bytes_max(SHARDS * 40_000);
        let value = Arc::new(vec![7_u8; 1000]);
        let blocks: Vec<_> = (0..1000).map(|nth| head(nth * 10, 10)).collect();
        let parsed: Vec<BlockHead> = blocks
            .iter()
            .map(|(key, value)| BlockHead::parse(key, value).unwrap())
            .collect();
        // What single rows are read of.
        for block in &blocks[..80] {
            let block = keep(&kept, "t1.c", block).unwrap();
            kept.keep(&block, Reader::Rows, (1, 0), &value);
        }
        let of_readers = || {
            let blocks = blocks[..80].iter().filter_map(|block| keep(&kept, "t1.c", block));
            blocks.filter(|block| block.piece(1, 0).is_some()).count()
        };
        let scan = |from: usize| {
            let mut found = 0;
            for head in &parsed[from..] {
                let Some(block) = kept.block_of_scan("t1.c", head, Some(1)) else {
                    continue;
                };
                match block.piece(0, 0) {
                    Some(_) => found += 1,
                    None => kept.keep(&block, Reader::Scan, (0, 0), &value),
                }
            }
            found
        };
        let kept_of_readers = of_readers();
        assert!(kept_of_readers >= 70, "{kept_of_readers}");
        assert_eq!(scan(80), 0);
        assert_eq!(of_readers(), kept_of_readers);
        // Of more than there is room for, a part is found each time.
        for _ in 0..20 {
            let found = scan(80);
            assert!((100..500).contains(&found), "{found}");
            assert!(kept.bytes() <= SHARDS * 40_000);
            assert_eq!(of_readers(), kept_of_readers);
        }
        // Unused blocks make room in the end.
        let all = blocks.len();
        let still = (0..1000).fold(0, |_, _| scan(all - 100));
        assert_eq!(still, 100);
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
