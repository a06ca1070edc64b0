//! Blocks from entries in key order.

use super::block;
use super::pieces::Cutting;
use super::vector::ColumnVector;
use crate::EngineError;
use crate::entry::IndexCodec;
use rukh_keys::DatumRef;

/// Bytes of values after which a block is cut, however few its rows.
const BLOCK_BYTES: usize = 4 << 20;

/// A piece of a block: its key and value.
pub(crate) type PieceEntry = (Vec<u8>, Vec<u8>);

/// Collects entries in key order and cuts them into blocks.
pub(crate) struct BlockBuilder<'a> {
    index: &'a IndexCodec,
    /// By column, its number in blocks.
    numbers: Vec<usize>,
    columns: Vec<ColumnVector>,
    keys: Keys,
    bytes: usize,
    block_rows: usize,
}

/// Keys of entries, one behind the other.
#[derive(Default)]
struct Keys {
    ends: Vec<usize>,
    data: Vec<u8>,
}

impl Keys {
    fn push(&mut self, key: &[u8]) {
        self.data.extend_from_slice(key);
        self.ends.push(self.data.len());
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.data[start..self.ends[at]]
    }
}

impl<'a> BlockBuilder<'a> {
    /// Makes a builder of blocks of about so many rows.
    pub(crate) fn new(index: &'a IndexCodec, block_rows: usize) -> Self {
        let blocks = index.blocks().expect("the index is columnar");
        BlockBuilder {
            index,
            numbers: blocks.numbers.clone(),
            columns: blocks.types.iter().map(|ty| ColumnVector::new(*ty)).collect(),
            keys: Keys::default(),
            bytes: 0,
            block_rows,
        }
    }

    /// Returns the number of rows that blocks have, about.
    pub(crate) fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Adds an entry as it is stored beside blocks; its key is greater than the one before.
    pub(crate) fn add_entry(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let mut datums = Vec::with_capacity(self.columns.len());
        let decoded = self.index.decode_slots(key, value, &mut datums);
        decoded.map_err(|e| self.index.corruption(key, e))?;
        self.bytes += value.len();
        self.add(key, &datums)
    }

    /// Adds an entry by slot.
    pub(crate) fn add(&mut self, key: &[u8], datums: &[DatumRef<'_>]) -> Result<(), EngineError> {
        for (column, datum) in self.columns.iter_mut().zip(datums) {
            column.push(datum)?;
        }
        self.bytes += key.len();
        self.keys.push(key);
        Ok(())
    }

    /// Returns the number of entries added.
    pub(crate) fn rows(&self) -> usize {
        self.keys.ends.len()
    }

    /// Whether there is enough for a block.
    pub(crate) fn is_full(&self) -> bool {
        self.rows() >= self.block_rows || self.bytes >= BLOCK_BYTES
    }

    /// Makes blocks of all entries, and begins anew; gives out their pieces, those of each block
    /// in key order.
    pub(crate) fn finish(&mut self) -> Vec<PieceEntry> {
        let rows = self.rows();
        let block_rows = match self.bytes / BLOCK_BYTES {
            0 => self.block_rows,
            parts => self.block_rows.min(rows.div_ceil(parts)),
        };
        let cutting = Cutting::new(self.block_rows);
        let encode = |rows: std::ops::Range<usize>| {
            let key_of = |row: usize| self.keys.get(row);
            block::encode(&self.numbers, &self.columns, rows, cutting, &key_of)
        };
        let pieces = block::cut(rows, block_rows).flat_map(encode).collect();
        self.clear();
        pieces
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(ColumnVector::clear);
        self.keys = Keys::default();
        self.bytes = 0;
    }
}
