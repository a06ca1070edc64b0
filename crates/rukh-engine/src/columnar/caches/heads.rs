//! Heads of all blocks of a column family, as they were in one state of blocks.
//!
//! A list is good for every snapshot of its state (`watch`); in the next one most of its heads are good still, and need not be parsed and
//! checked again where storage has the same bytes.
//!
//! Deliberately not here: the readers of lists and their share of memory (`kept`, `scan`).

use crate::EngineError;
use crate::columnar::caches::kept::KeptBlocks;
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::error::corruption;
use crate::columnar::stored::head::BlockHead;
use crate::forms::entry::IndexCodec;
use rukh_keys::KeyRange;
use rukh_kv::{KvSnapshot, ScanSpec};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a list takes without its heads, about.
const LIST_BYTES: usize = 128;

/// The heads of all blocks of a column family.
///
/// Invariant: their first keys ascend.
#[derive(Debug)]
pub(crate) struct HeadList {
    state: u64,
    heads: Vec<Arc<BlockHead>>,
    bytes: usize,
}

impl HeadList {
    /// Makes a list of all heads that there are in a state, in ascending order.
    pub(crate) fn new(state: u64, heads: Vec<Arc<BlockHead>>) -> Self {
        let each = heads.iter().map(|head| head.bytes());
        HeadList {
            state,
            bytes: LIST_BYTES + each.sum::<usize>(),
            heads,
        }
    }

    /// Returns the identities of blocks that another list does not have.
    pub(crate) fn identities_but(&self, other: &HeadList) -> impl Iterator<Item = u64> {
        let others: HashSet<u64> = other.heads.iter().filter_map(|head| head.identity).collect();
        let own = self.heads.iter().filter_map(|head| head.identity);
        own.filter(move |identity| !others.contains(identity))
    }

    /// Returns the head at a place.
    pub(crate) fn at(&self, place: usize) -> &Arc<BlockHead> {
        &self.heads[place]
    }

    /// Returns the place of the head of the block that begins with a key.
    pub(crate) fn find(&self, first_key: &[u8]) -> Option<&Arc<BlockHead>> {
        let at = self
            .heads
            .binary_search_by(|head| head.first_key().cmp(first_key));
        at.ok().map(|at| &self.heads[at])
    }

    /// Returns the places of the blocks that may have keys of a range.
    pub(crate) fn within(&self, range: &KeyRange) -> Range<usize> {
        let before = |key: &[u8]| self.heads.partition_point(|head| head.first_key() < key);
        let start = self
            .heads
            .partition_point(|head| head.last_key() < range.start.as_slice());
        let end = range
            .limit
            .as_ref()
            .map_or(self.heads.len(), |limit| before(limit));
        start..end.max(start)
    }
}

/// Lists by column family, the last one of each.
#[derive(Default)]
pub(crate) struct HeadLists {
    lists: HashMap<String, Arc<HeadList>>,
    bytes: usize,
    /// Of column families that have too many heads, the state in which that was found.
    too_large: HashMap<String, u64>,
}

impl HeadLists {
    /// Returns the list of a state.
    pub(crate) fn of(&self, storage: &str, state: u64) -> Option<Arc<HeadList>> {
        let list = self.lists.get(storage)?;
        (list.state == state).then(|| list.clone())
    }

    /// Returns the list of the last state in which there was one.
    pub(crate) fn last(&self, storage: &str) -> Option<Arc<HeadList>> {
        self.lists.get(storage).cloned()
    }

    /// Whether a list of a state was found to take too much.
    pub(crate) fn is_too_large(&self, storage: &str, state: u64) -> bool {
        self.too_large.get(storage) == Some(&state)
    }

    /// Notes that a list of a state takes too much.
    pub(crate) fn note_too_large(&mut self, storage: &str, state: u64) {
        self.too_large.insert(storage.to_string(), state);
    }

    /// Keeps a list in place of an older one, which it returns, if it does not take too much.
    pub(crate) fn keep(
        &mut self,
        storage: &str,
        list: &Arc<HeadList>,
        bytes_max: usize,
    ) -> Option<Arc<HeadList>> {
        let before = self.lists.get(storage);
        if list.bytes > bytes_max || before.is_some_and(|before| before.state >= list.state) {
            return None;
        }
        let before = self.lists.remove(storage);
        self.bytes -= before.as_ref().map_or(0, |before| before.bytes);
        self.shrink(bytes_max - list.bytes);
        self.bytes += list.bytes;
        self.lists.insert(storage.to_string(), list.clone());
        before
    }

    /// Lets lists go, those of the oldest states first, until the others take so many bytes at most.
    pub(crate) fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            let oldest = self.lists.iter().min_by_key(|(_, list)| list.state);
            let Some(storage) = oldest.map(|(storage, _)| storage.clone()) else {
                return;
            };
            let gone = self.lists.remove(&storage);
            self.bytes -= gone.map_or(0, |list| list.bytes);
        }
    }
}

/// Reads a stored head, unless it is one of a list.
pub(crate) fn read_head(
    index: &IndexCodec,
    known: Option<&HeadList>,
    (key, value): (&[u8], &[u8]),
) -> Result<Arc<BlockHead>, EngineError> {
    let (_, first_key) = Piece::of(key).map_err(|e| corruption(index, &[], None, e))?;
    let same = known.and_then(|list| list.find(first_key));
    match same.filter(|head| head.stored() == (key, value)) {
        Some(head) => Ok(head.clone()),
        None => {
            let head = BlockHead::parse(key, value);
            Ok(Arc::new(head.map_err(|e| corruption(index, first_key, None, e))?))
        }
    }
}

/// Returns first keys of blocks, ascending and with about equal numbers of blocks between them: those of all blocks, or about `most`
/// of those in some ranges.
///
/// In a state of blocks that is known all heads are read for it, and kept for the scans that follow.
pub(crate) fn first_keys(
    kv: &dyn KvSnapshot,
    index: &IndexCodec,
    (kept, state): (&Arc<KeptBlocks>, Option<u64>),
    ranges: &[KeyRange],
    most: usize,
) -> Result<Vec<Vec<u8>>, EngineError> {
    let Some(list) = state.and_then(|state| list_of(kv, index, kept, state)) else {
        return stored_first_keys(kv, index);
    };
    let places = ranges.iter().flat_map(|range| list.within(range));
    let places: BTreeSet<usize> = places.collect();
    let step = places.len().div_ceil(most.max(1)).max(1);
    let some = places.iter().step_by(step);
    Ok(some.map(|place| list.at(*place).first_key().to_vec()).collect())
}

/// Returns the list of a state, which is read if it is not cached; `None` if it takes too much, or cannot be read: the reader of the damaged
/// head reports the error.
fn list_of(kv: &dyn KvSnapshot, index: &IndexCodec, kept: &KeptBlocks, state: u64) -> Option<Arc<HeadList>> {
    let storage = &index.blocks().expect("the index is columnar").storage;
    if let Some(list) = kept.heads(storage, state) {
        return Some(list);
    }
    let bytes_max = kept.heads_bytes_max(storage, state)?;
    let known = kept.heads_before(storage);
    let heads = Piece::Head.range(&KeyRange::all());
    let mut cursor = kv.scan(storage, ScanSpec::ranges(vec![heads])).ok()?;
    let (mut heads, mut bytes) = (Vec::new(), LIST_BYTES);
    while let Some(entry) = cursor.next().ok()? {
        let head = read_head(index, known.as_deref(), (entry.key, entry.value)).ok()?;
        bytes += head.bytes();
        if bytes > bytes_max {
            kept.note_too_large(storage, state);
            return None;
        }
        heads.push(head);
    }
    let list = Arc::new(HeadList::new(state, heads));
    kept.keep_heads(storage, &list);
    Some(list)
}

/// Returns the first keys of all blocks, in order, as they are stored.
fn stored_first_keys(kv: &dyn KvSnapshot, index: &IndexCodec) -> Result<Vec<Vec<u8>>, EngineError> {
    let storage = &index.blocks().expect("the index is columnar").storage;
    let heads = Piece::Head.range(&KeyRange::all());
    let mut cursor = kv.scan(storage, ScanSpec::ranges(vec![heads]).keys_only())?;
    let mut keys = Vec::new();
    while let Some(head) = cursor.next()? {
        let (_, first) = Piece::of(head.key).map_err(|e| corruption(index, &[], None, e))?;
        keys.push(first.to_vec());
    }
    Ok(keys)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columnar::stored::block;
    use crate::columnar::stored::pieces::Cutting;
    use crate::columnar::values::vector::ColumnVector;
    use rukh_keys::{DataType, DatumRef};

    fn key(row: i64) -> Vec<u8> {
        row.to_be_bytes().to_vec()
    }

    /// The head of a block of ten rows from a number on.
    fn head(first: i64) -> Arc<BlockHead> {
        let mut column = ColumnVector::new(DataType::BigInt);
        for value in first..first + 10 {
            column.push(&DatumRef::Int(value)).unwrap();
        }
        let keys: Vec<Vec<u8>> = (first..first + 10).map(key).collect();
        let stored = block::encode(&[0], &[column], 0..10, Cutting::new(8192), &|row| &keys[row]);
        Arc::new(BlockHead::parse(&stored[0].0, &stored[0].1).unwrap())
    }

    fn list(state: u64, firsts: impl Iterator<Item = i64>) -> Arc<HeadList> {
        Arc::new(HeadList::new(state, firsts.map(head).collect()))
    }

    #[test]
    fn ranges_have_the_blocks_that_may_have_their_keys() {
        let list = list(1, (0..10).map(|nth| nth * 100));
        let within = |start: Option<i64>, limit: Option<i64>| {
            list.within(&KeyRange {
                start: start.map_or(Vec::new(), key),
                limit: limit.map(key),
            })
        };
        assert_eq!(within(None, None), 0..10);
        assert_eq!(within(Some(100), Some(300)), 1..3);
        assert_eq!(within(Some(109), Some(301)), 1..4);
        assert_eq!(within(Some(110), Some(200)), 2..2);
        assert_eq!(within(Some(2000), None), 10..10);
        assert_eq!(list.find(&key(300)).unwrap().last_key(), key(309));
        assert!(list.find(&key(301)).is_none());
    }

    #[test]
    fn the_newest_lists_that_fit_are_kept() {
        let mut lists = HeadLists::default();
        let (first, second) = (list(1, 0..3), list(2, 0..3));
        let bytes_max = 2 * first.bytes;
        for storage in ["t1.c", "t2.c"] {
            assert!(lists.keep(storage, &first, bytes_max).is_none());
        }
        // The list of an older state is not cached.
        assert!(lists.keep("t1.c", &second, bytes_max).is_some());
        assert!(lists.keep("t1.c", &first, bytes_max).is_none());
        assert!(lists.of("t1.c", 2).is_some() && lists.of("t1.c", 1).is_none());
        assert!(lists.of("t2.c", 1).is_some());
        // The oldest makes room.
        lists.keep("t3.c", &second, bytes_max);
        assert!(lists.last("t2.c").is_none() && lists.of("t3.c", 2).is_some());
        lists.keep("t4.c", &list(3, 0..100), bytes_max);
        assert!(lists.last("t4.c").is_none());
        lists.shrink(0);
        assert!(lists.last("t1.c").is_none());
        assert_eq!(lists.bytes, 0);
    }
}
