//! Blocks from entries in key order.

use crate::EngineError;
use crate::columnar::BlockError;
use crate::columnar::stored::block;
use crate::columnar::stored::pieces::Cutting;
use crate::columnar::stored::row_keys::RowKeys;
use crate::columnar::values::vector::{ColumnVector, Values};
use crate::forms::entry::IndexCodec;
use std::ops::Range;

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
    bytes: usize,
    block_rows: usize,
}

impl<'a> BlockBuilder<'a> {
    /// Makes a builder of blocks of about so many rows.
    pub(crate) fn new(index: &'a IndexCodec, block_rows: usize) -> Self {
        let blocks = index.blocks().expect("the index is columnar");
        BlockBuilder {
            index,
            numbers: blocks.numbers.clone(),
            columns: blocks.types.iter().map(|ty| ColumnVector::new(*ty)).collect(),
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
        for (column, datum) in self.columns.iter_mut().zip(&datums) {
            column.push(datum)?;
        }
        self.bytes += key.len() + value.len();
        Ok(())
    }

    /// Adds some rows of these columns, which are those of the index by slot.
    pub(crate) fn add_rows(&mut self, from: &[ColumnVector], rows: Range<usize>) -> Result<(), BlockError> {
        for (column, from) in self.columns.iter_mut().zip(from) {
            let before = column.bytes();
            column.append(from, rows.clone())?;
            self.bytes += match (column.values(), column.data_type().key_width()) {
                (Values::Int(_) | Values::Wide(_), Some(width)) => width * rows.len(),
                _ => column.bytes() - before,
            };
        }
        Ok(())
    }

    /// Returns the number of entries added.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, ColumnVector::len)
    }

    /// Whether there is enough for a block.
    pub(crate) fn is_full(&self) -> bool {
        self.rows() >= self.block_rows || self.bytes >= BLOCK_BYTES
    }

    /// Makes blocks of all entries and starts over; gives out their pieces, those of each block
    /// in key order.
    pub(crate) fn finish(&mut self) -> Result<Vec<PieceEntry>, EngineError> {
        let rows = self.rows();
        let block_rows = match self.bytes / BLOCK_BYTES {
            0 => self.block_rows,
            parts => self.block_rows.min(rows.div_ceil(parts)),
        };
        let cutting = Cutting::new(self.block_rows);
        let mut pieces = Vec::new();
        for rows in block::cut(rows, block_rows) {
            let keys = self.keys(cutting, rows.clone())?;
            let key_of = |row: usize| {
                let at = keys.binary_search_by_key(&row, |(row, _)| *row);
                at.map_or(&[][..], |at| keys[at].1.as_slice())
            };
            pieces.extend(block::encode(
                &self.numbers,
                &self.columns,
                rows,
                cutting,
                &key_of,
            ));
        }
        self.clear();
        Ok(pieces)
    }

    /// Returns the keys of the rows of a block that are stored as such, by row: those with which parts begin, and the last.
    fn keys(&self, cutting: Cutting, rows: Range<usize>) -> Result<Vec<(usize, Vec<u8>)>, EngineError> {
        let keys = RowKeys::new(self.index, &self.columns);
        let last = rows.end - 1;
        let firsts = cutting.pieces(0, rows).map(|part| part.start);
        let stored = firsts.chain([last]);
        stored.map(|row| Ok((row, keys.key(row)?))).collect()
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(ColumnVector::clear);
        self.bytes = 0;
    }
}
