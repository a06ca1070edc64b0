//! Blocks being read: columns that are fetched when they are wanted, and the place of a key among their rows.

use super::BlockError;
use super::block::Piece;
use super::column::{self, Column, Sought};
use super::first::Best;
use super::head::Head;
use super::kept::{KeptBlock, KeptBlocks};
use super::times::Numbers;
use crate::EngineError;
use crate::entry::{Blocks, IndexCodec};
use rukh_keys::{DatumRef, KeyRange, SortOrder};
use rukh_kv::{KvSnapshot, ScanSpec};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;

/// A block that was not shown to its end.
pub(super) struct Block {
    pub(super) first_key: Vec<u8>,
    pub(super) last_key: Vec<u8>,
    pub(super) rows: usize,
    /// The columns that are stored, others are newer.
    pub(super) stored: Numbers,
    /// Whether a row may be left after the tests.
    pub(super) alive: bool,
    /// Whether it was counted as read or as pruned.
    pub(super) counted: bool,
    /// The tests that its head leaves open.
    pub(super) open: Vec<usize>,
    /// The best it may have for those who want first rows only.
    pub(super) bests: Vec<Best>,
    /// A byte of 0 or 1 for each row, if not all are left.
    pub(super) mask: Option<Vec<u8>>,
    /// Columns that were read and checked, by slot.
    read: Vec<(usize, Arc<Vec<u8>>)>,
    /// What is kept of it, and where, if its columns are to be.
    kept: Option<(Arc<KeptBlocks>, Arc<KeptBlock>)>,
    /// The rows in the range that were not shown.
    pub(super) next: usize,
    pub(super) end: usize,
    /// Whether the ends in the range are known.
    pub(super) placed: bool,
}

impl Blocks {
    /// Returns the key of the piece of a block that has the column of a slot.
    pub(super) fn key(&self, slot: usize, first_key: &[u8]) -> Vec<u8> {
        Piece::Column(self.numbers[slot]).key(first_key)
    }
}

impl Block {
    /// Makes a block of its head, with nothing read.
    pub(super) fn new(head: &Head<'_>, first_key: &[u8]) -> Self {
        Block {
            first_key: first_key.to_vec(),
            last_key: head.last_key.to_vec(),
            rows: head.rows,
            stored: head.numbers(),
            alive: true,
            bests: Vec::new(),
            counted: false,
            mask: None,
            open: Vec::new(),
            read: Vec::new(),
            kept: None,
            next: 0,
            end: head.rows,
            placed: false,
        }
    }

    /// Has its columns kept, and takes those that are.
    pub(super) fn keep(mut self, kept: &Arc<KeptBlocks>, block: Option<Arc<KeptBlock>>) -> Self {
        self.kept = block.map(|block| (kept.clone(), block));
        self
    }

    /// Makes a block of what is kept of it.
    pub(super) fn of_kept(kept: &Arc<KeptBlocks>, block: Arc<KeptBlock>) -> Self {
        Block {
            first_key: block.first_key.clone(),
            last_key: block.last_key.clone(),
            rows: block.rows,
            stored: block.numbers,
            alive: true,
            bests: Vec::new(),
            counted: false,
            mask: None,
            open: Vec::new(),
            read: Vec::new(),
            next: 0,
            end: block.rows,
            placed: false,
            kept: Some((kept.clone(), block)),
        }
    }

    /// Whether a column was read.
    pub(super) fn has_read(&self, slot: usize) -> bool {
        self.read.iter().any(|(read, _)| *read == slot)
    }

    /// Reads a column unless it was read; returns the bytes read.
    pub(super) fn read_column(
        &mut self,
        kv: &dyn KvSnapshot,
        index: &IndexCodec,
        slot: usize,
    ) -> Result<u64, EngineError> {
        if self.has_read(slot) {
            return Ok(0);
        }
        let blocks = index.blocks().expect("the index is columnar");
        let number = blocks.numbers[slot];
        let Some(place) = self.stored.place(number) else {
            // The block is older than the column.
            let key = blocks.key(slot, &self.first_key);
            let value = column::encode_constant(&key, blocks.types[slot], &blocks.missing[slot], self.rows)?;
            self.read.push((slot, Arc::new(value)));
            return Ok(0);
        };
        if let Some(value) = self.kept.as_ref().and_then(|(_, block)| block.column(place)) {
            let value = value.clone();
            self.read.push((slot, value));
            return Ok(0);
        }
        let value = kv.get(&blocks.storage, &blocks.key(slot, &self.first_key))?;
        self.take_column(index, slot, value)
    }

    /// Checks a column that was read, and takes it; returns its bytes.
    pub(super) fn take_column(
        &mut self,
        index: &IndexCodec,
        slot: usize,
        value: Option<Vec<u8>>,
    ) -> Result<u64, EngineError> {
        let failed = |e| corruption(index, &self.first_key, Some(slot), e);
        let value = value.ok_or_else(|| failed(BlockError::Missing))?;
        let blocks = index.blocks().expect("the index is columnar");
        let key = blocks.key(slot, &self.first_key);
        let column = Column::parse(blocks.types[slot], &key, &value).map_err(failed)?;
        if column.rows() != self.rows {
            return Err(failed(BlockError::Invalid(
                "another number of rows than its head says",
            )));
        }
        let bytes = value.len() as u64;
        let value = Arc::new(value);
        if let (Some((kept, block)), Some(place)) = (&self.kept, self.stored.place(blocks.numbers[slot])) {
            kept.keep(block, place, &value);
        }
        self.read.push((slot, value));
        Ok(bytes)
    }

    /// Returns a column that was read.
    pub(super) fn column(&self, index: &IndexCodec, slot: usize) -> Result<Column<'_>, EngineError> {
        let read = self.read.iter().find(|(read, _)| *read == slot);
        let (_, value) = read.expect("the column was read");
        let blocks = index.blocks().expect("the index is columnar");
        let column = Column::parse_again(blocks.types[slot], value);
        column.map_err(|e| corruption(index, &self.first_key, Some(slot), e))
    }
}

/// The columns of a block that make its keys.
pub(super) struct KeyColumns<'a> {
    index: &'a IndexCodec,
    first_key: &'a [u8],
    columns: Vec<Column<'a>>,
}

impl<'a> KeyColumns<'a> {
    pub(super) fn new(index: &'a IndexCodec, block: &'a Block) -> Result<Self, EngineError> {
        let slots = 0..index.layout.columns().len();
        let columns = slots.map(|slot| block.column(index, slot));
        Ok(KeyColumns {
            index,
            first_key: &block.first_key,
            columns: columns.collect::<Result<_, _>>()?,
        })
    }

    fn datum(&self, slot: usize, row: usize) -> Result<DatumRef<'a>, EngineError> {
        let datum = self.columns[slot].datum(row);
        datum.map_err(|e| corruption(self.index, self.first_key, Some(slot), e))
    }

    pub(super) fn key(&self, row: usize) -> Result<Vec<u8>, EngineError> {
        let datums = (0..self.columns.len()).map(|slot| self.datum(slot, row));
        let datums: Vec<DatumRef<'_>> = datums.collect::<Result<_, _>>()?;
        let mut key = Vec::with_capacity(32);
        let encoded = self.index.layout.encode_into(&datums, &mut key);
        encoded.map_err(|_| {
            let invalid = BlockError::Invalid("a key that does not encode");
            corruption(self.index, self.first_key, None, invalid)
        })?;
        Ok(key)
    }

    /// Returns the first of `rows` rows whose key is `start` or behind it.
    pub(super) fn first_from(&self, rows: usize, start: &[u8]) -> Result<usize, EngineError> {
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(middle)?.as_slice() < start {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Looks for the row with a key: where it is, or would be.
    pub(super) fn search(
        &self,
        rows: std::ops::Range<usize>,
        key: &[u8],
        datums: Option<&[DatumRef<'_>]>,
    ) -> Result<Result<usize, usize>, EngineError> {
        if self.index.layout.salt().is_some() {
            // Datums alone do not say where a key is.
            let at = self.first_from(rows.end, key)?.max(rows.start);
            return Ok(match at < rows.end && self.key(at)? == key {
                true => Ok(at),
                false => Err(at),
            });
        }
        let mut decoded = Vec::new();
        let datums = match datums {
            Some(datums) => &datums[..self.columns.len()],
            None => {
                let read = self.index.layout.decode_refs(key, &mut decoded);
                read.map_err(|e| self.index.corruption(key, e))?;
                &decoded
            }
        };
        let sought = self
            .columns
            .iter()
            .zip(datums)
            .map(|(column, datum)| column.sought(datum));
        let Some(sought) = sought.collect::<Option<SmallVec<[Sought<'_>; 12]>>>() else {
            return Err(self.index.corruption(key, "a key of other types"));
        };
        let (mut low, mut high) = (rows.start, rows.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(middle, &sought) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Ok(middle)),
            }
        }
        Ok(Err(low))
    }

    /// Compares the key of a row with one of these elements.
    fn compare(&self, row: usize, sought: &[Sought<'_>]) -> Ordering {
        for (slot, sought) in sought.iter().enumerate() {
            let order = self.columns[slot].compare(row, sought);
            if order.is_ne() {
                return match self.index.layout.columns()[slot].order {
                    SortOrder::Asc => order,
                    SortOrder::Desc => order.reverse(),
                };
            }
        }
        Ordering::Equal
    }
}

/// Returns the first key of the last block that begins at `key` or before.
pub(crate) fn block_at(
    kv: &dyn KvSnapshot,
    storage: &str,
    key: &[u8],
) -> Result<Option<Vec<u8>>, EngineError> {
    let range = Piece::Head.range(&KeyRange {
        start: Vec::new(),
        limit: Some([key, &[0]].concat()),
    });
    let spec = ScanSpec::ranges(vec![range]).reversed().limited(1).keys_only();
    let mut cursor = kv.scan(storage, spec)?;
    // A key of heads is longer than its number: the range says so.
    Ok(cursor
        .next()?
        .and_then(|head| Some(Piece::of(head.key).ok()?.1.to_vec())))
}

/// Returns the first keys of all blocks, in order.
pub(crate) fn first_keys(kv: &dyn KvSnapshot, index: &IndexCodec) -> Result<Vec<Vec<u8>>, EngineError> {
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

/// Makes the error for a block that does not decode: `corrupt data at t@c/1/5: …`.
pub(crate) fn corruption(
    index: &IndexCodec,
    first_key: &[u8],
    slot: Option<usize>,
    error: BlockError,
) -> EngineError {
    match slot {
        None => index.corruption(first_key, format!("{error} (head)")),
        Some(slot) => index.corruption(first_key, format!("{error} (column {})", slot + 1)),
    }
}
