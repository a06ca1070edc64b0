//! A cache of decoded changes beside blocks, valid until the next write to the table.
//!
//! A scan that finds changes in storage decodes them chunk by chunk. These serve every snapshot in which the table's changes are in the
//! same state (`watch`), so they are cached: of each table those of one state, the newest that was read. A write makes another
//! state, and the first scan of that state drops them all. With a write between any two scans every scan decodes all changes, as it would
//! without the cache; the cost of the cache is then a lookup in a map for each chunk.
//!
//! Columns are decoded as a definition of the table says: chunks are of one such definition, too.
//!
//! Chunks have a share of the memory for blocks. Where another table needs it, all chunks of the least recently used table go.
//!
//! Deliberately not here: reading (`beside`), and what a chunk is (`chunk`).

use crate::columnar::caches::chunk::Chunk;
use crate::forms::entry::IndexCodec;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Chunks of many tables.
#[derive(Default)]
pub(crate) struct ChunkLists {
    lists: HashMap<String, ChunkList>,
    bytes: usize,
    /// How many requests there were for a list.
    used: u64,
}

/// Chunks of one table in one state.
///
/// Invariant: their ranges do not overlap.
struct ChunkList {
    state: u64,
    index: Arc<IndexCodec>,
    /// By the start of their ranges.
    chunks: BTreeMap<Vec<u8>, Arc<Chunk>>,
    bytes: usize,
    /// The time of the last request, as a count of requests.
    used: u64,
}

/// Whose chunks are meant: those of a table in a state, as it was defined then.
#[derive(Clone)]
pub(crate) struct ChunksOf {
    pub(crate) index: Arc<IndexCodec>,
    pub(crate) state: u64,
}

/// What is kept where a scan goes on.
#[derive(Debug)]
pub(crate) enum Found {
    /// A chunk that has the place, or the keys before it in reverse.
    Chunk(Arc<Chunk>),
    /// None has it. The next one in the direction of the scan begins here, or ends here in reverse; if there is one.
    Hole(Option<Vec<u8>>),
}

impl ChunkList {
    fn new(of: &ChunksOf) -> Self {
        ChunkList {
            state: of.state,
            index: of.index.clone(),
            chunks: BTreeMap::new(),
            bytes: 0,
            used: 0,
        }
    }

    fn is_of(&self, of: &ChunksOf) -> bool {
        self.state == of.state && Arc::ptr_eq(&self.index, &of.index)
    }

    /// Looks for the chunk that has a key.
    fn at(&self, key: &[u8]) -> Found {
        let until = (Bound::Unbounded, Bound::Included(key));
        if let Some((_, chunk)) = self.chunks.range::<[u8], _>(until).next_back()
            && chunk.range.limit.as_deref().is_none_or(|limit| key < limit)
        {
            return Found::Chunk(chunk.clone());
        }
        let behind = (Bound::Excluded(key), Bound::Unbounded);
        let next = self.chunks.range::<[u8], _>(behind).next();
        Found::Hole(next.map(|(start, _)| start.clone()))
    }

    /// Looks for the chunk that has the keys right before a limit.
    fn before(&self, limit: Option<&[u8]>) -> Found {
        let before = (Bound::Unbounded, limit.map_or(Bound::Unbounded, Bound::Excluded));
        let last = self.chunks.range::<[u8], _>(before).next_back();
        let Some((_, chunk)) = last else {
            return Found::Hole(None);
        };
        let has_it = match (&chunk.range.limit, limit) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(limit)) => limit <= own.as_slice(),
        };
        match has_it {
            true => Found::Chunk(chunk.clone()),
            false => Found::Hole(chunk.range.limit.clone()),
        }
    }

    /// Adds a chunk. It takes the place of those it overlaps, if these lie in its range or lack columns that it has; else it is not added.
    fn add(&mut self, chunk: &Arc<Chunk>, wanted: &[bool]) {
        let range = &chunk.range;
        let before = match &range.limit {
            Some(limit) => (Bound::Unbounded, Bound::Excluded(limit.as_slice())),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let overlaps = |other: &&Arc<Chunk>| {
            let limit = other.range.limit.as_ref();
            limit.is_none_or(|limit| *limit > range.start)
        };
        let others = self.chunks.range::<[u8], _>(before).rev().map(|(_, other)| other);
        let others: Vec<Arc<Chunk>> = others.take_while(overlaps).cloned().collect();
        let gives_way = |other: &Arc<Chunk>| !other.has(wanted) || is_within(&other.range, range);
        if !others.iter().all(gives_way) {
            return;
        }
        for other in others {
            self.chunks.remove(&other.range.start);
            self.bytes -= other.bytes();
        }
        self.bytes += chunk.bytes();
        self.chunks.insert(range.start.clone(), chunk.clone());
    }
}

fn is_within(inner: &rukh_keys::KeyRange, outer: &rukh_keys::KeyRange) -> bool {
    let ends_within = match (&inner.limit, &outer.limit) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(inner), Some(outer)) => inner <= outer,
    };
    inner.start >= outer.start && ends_within
}

impl ChunkLists {
    /// Returns the bytes of all.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Looks for the chunk that has a key, or in reverse the keys right before it.
    pub(crate) fn find(&mut self, of: &ChunksOf, place: Option<&[u8]>, reverse: bool) -> Found {
        self.used += 1;
        let Some(list) = self.lists.get_mut(&of.index.storage) else {
            return Found::Hole(None);
        };
        if !list.is_of(of) {
            return Found::Hole(None);
        }
        list.used = self.used;
        match reverse {
            false => list.at(place.unwrap_or_default()),
            true => list.before(place),
        }
    }

    /// Caches a chunk that has the wanted columns, and drops those of older states; unless it takes too much, or is itself of an older
    /// state.
    pub(crate) fn keep(&mut self, of: &ChunksOf, chunk: &Arc<Chunk>, wanted: &[bool], bytes_max: usize) {
        let storage = &of.index.storage;
        let known = self.lists.get(storage);
        if known.is_some_and(|list| list.state > of.state) {
            return;
        }
        if !known.is_some_and(|list| list.is_of(of)) {
            self.remove(storage);
            self.lists.insert(storage.clone(), ChunkList::new(of));
        }
        let bytes = chunk.bytes();
        while self.bytes + bytes > bytes_max {
            let others = self
                .lists
                .iter()
                .filter(|(other, list)| *other != storage && list.bytes > 0);
            let Some((other, _)) = others.min_by_key(|(_, list)| list.used) else {
                return;
            };
            let other = other.clone();
            self.remove(&other);
        }
        if let Some(list) = self.lists.get_mut(storage) {
            let before = list.bytes;
            list.add(chunk, wanted);
            self.bytes = self.bytes - before + list.bytes;
        }
    }

    fn remove(&mut self, storage: &str) {
        let gone = self.lists.remove(storage);
        self.bytes -= gone.map_or(0, |list| list.bytes);
    }

    /// Lets all go, if they take more bytes than they may.
    pub(crate) fn shrink(&mut self, bytes_max: usize) {
        if self.bytes > bytes_max {
            *self = ChunkLists::default();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columnar::caches::chunk::ChunkBuilder;
    use rukh_catalog::{
        Column, ColumnId, ColumnValues, FamilyId, KeyElement, KeyExpr, TableDraft, TableId, TableOptions,
        validate_table,
    };
    use rukh_keys::{DataType, KeyRange, SortOrder};

    fn table(id: u32) -> Arc<IndexCodec> {
        let column = Column {
            id: ColumnId(0),
            name: "k".into(),
            ty: DataType::BigInt,
            nullable: false,
            default: None,
            family: FamilyId(0),
            values: ColumnValues::default(),
        };
        let draft = TableDraft {
            name: "t".into(),
            columns: vec![column],
            primary_key: vec![KeyElement {
                expr: KeyExpr::Column(ColumnId(0)),
                order: SortOrder::Asc,
            }],
            options: TableOptions {
                columnar: true,
                ..TableOptions::default()
            },
            ..TableDraft::default()
        };
        Arc::new(IndexCodec::of_table(&validate_table(draft, TableId(id)).unwrap()).unwrap())
    }

    fn key(nth: u8) -> Vec<u8> {
        vec![nth]
    }

    /// A chunk without changes of the keys from one to another, 0 for the end.
    fn chunk(index: &IndexCodec, start: u8, limit: u8, wanted: bool) -> Arc<Chunk> {
        let range = KeyRange {
            start: key(start),
            limit: (limit > 0).then(|| key(limit)),
        };
        Arc::new(ChunkBuilder::new(index, &[wanted]).finish(range))
    }

    /// What is found: a chunk by the start of its range, or where the next one is.
    fn found(
        lists: &mut ChunkLists,
        of: &ChunksOf,
        place: Option<u8>,
        reverse: bool,
    ) -> Result<u8, Option<u8>> {
        match lists.find(of, place.map(key).as_deref(), reverse) {
            Found::Chunk(chunk) => Ok(chunk.range.start[0]),
            Found::Hole(next) => Err(next.map(|next| next[0])),
        }
    }

    const MANY: usize = 1 << 20;

    #[test]
    fn chunks_are_found_from_both_ends() {
        let of = ChunksOf {
            index: table(1),
            state: 3,
        };
        let mut lists = ChunkLists::default();
        assert_eq!(found(&mut lists, &of, Some(5), false), Err(None));
        for (start, limit) in [(10, 20), (20, 30), (40, 0)] {
            lists.keep(&of, &chunk(&of.index, start, limit, true), &[true], MANY);
        }
        let mut forwards = |place| found(&mut lists, &of, Some(place), false);
        assert_eq!(
            [5, 10, 19, 20, 29, 30, 40, 200].map(&mut forwards),
            [
                Err(Some(10)),
                Ok(10),
                Ok(10),
                Ok(20),
                Ok(20),
                Err(Some(40)),
                Ok(40),
                Ok(40)
            ]
        );
        // What ends where another begins has the keys right before it.
        let mut backwards = |place| found(&mut lists, &of, place, true);
        assert_eq!(
            [
                Some(10),
                Some(11),
                Some(20),
                Some(21),
                Some(30),
                Some(40),
                Some(41),
                None
            ]
            .map(&mut backwards),
            [
                Err(None),
                Ok(10),
                Ok(10),
                Ok(20),
                Ok(20),
                Err(Some(30)),
                Ok(40),
                Ok(40)
            ]
        );
    }

    #[test]
    fn chunks_that_overlap_are_not_kept_beside_each_other() {
        let of = ChunksOf {
            index: table(1),
            state: 3,
        };
        let mut lists = ChunkLists::default();
        let mut keep = |start, limit, wanted| {
            lists.keep(&of, &chunk(&of.index, start, limit, wanted), &[wanted], MANY);
            let starts = lists.lists[&of.index.storage].chunks.keys();
            let starts: Vec<u8> = starts.map(|start| start[0]).collect();
            let bytes = lists.lists[&of.index.storage].chunks.values();
            assert_eq!(lists.bytes, bytes.map(|chunk| chunk.bytes()).sum::<usize>());
            starts
        };
        assert_eq!(keep(10, 20, false), [10]);
        assert_eq!(keep(15, 25, false), [10]);
        assert_eq!(keep(20, 25, false), [10, 20]);
        assert_eq!(keep(5, 30, false), [5]);
        // A column more is worth a place.
        assert_eq!(keep(10, 20, true), [10]);
        assert_eq!(keep(15, 0, false), [10]);
        assert_eq!(keep(20, 0, true), [10, 20]);
    }

    #[test]
    fn chunks_of_the_newest_state_and_definition_are_kept() {
        let at = |index: &Arc<IndexCodec>, state| ChunksOf {
            index: index.clone(),
            state,
        };
        let (one, again) = (table(1), table(1));
        let mut lists = ChunkLists::default();
        let mut keep = |of: &ChunksOf| {
            lists.keep(of, &chunk(&of.index, 10, 20, true), &[true], MANY);
            found(&mut lists, of, Some(10), false).is_ok()
        };
        assert!(keep(&at(&one, 3)));
        assert!(keep(&at(&one, 4)));
        assert!(!keep(&at(&one, 3)));
        assert!(keep(&at(&again, 4)));
        assert_eq!(found(&mut lists, &at(&one, 4), Some(10), false), Err(None));
    }

    #[test]
    fn the_table_used_least_recently_makes_room() {
        let tables = [1, 2, 3].map(table);
        let of = |nth: usize| ChunksOf {
            index: tables[nth].clone(),
            state: 1,
        };
        let mut lists = ChunkLists::default();
        let bytes = chunk(&tables[0], 10, 20, true).bytes();
        for nth in [0, 1] {
            lists.keep(&of(nth), &chunk(&tables[nth], 10, 20, true), &[true], 2 * bytes);
            assert!(found(&mut lists, &of(nth), Some(10), false).is_ok());
        }
        assert!(found(&mut lists, &of(0), Some(10), false).is_ok());
        lists.keep(&of(2), &chunk(&tables[2], 10, 20, true), &[true], 2 * bytes);
        let kept = [0, 1, 2].map(|nth| found(&mut lists, &of(nth), Some(10), false).is_ok());
        assert_eq!(kept, [true, false, true]);
        // Alone it takes no more than there is.
        lists.keep(&of(2), &chunk(&tables[2], 20, 30, true), &[true], bytes);
        assert!(found(&mut lists, &of(2), Some(20), false).is_err());
        assert_eq!(lists.bytes(), bytes);
        lists.shrink(0);
        assert_eq!(lists.bytes(), 0);
    }
}
