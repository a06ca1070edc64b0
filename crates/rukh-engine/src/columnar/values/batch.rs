//! Rows of a scan, column by column.

use crate::columnar::values::vector::ColumnVector;

/// Entries of a columnar index, by column.
pub struct ColumnBatch {
    /// The columns of the request, in its order.
    pub columns: Vec<ColumnVector>,
    /// Number of entries.
    pub rows: usize,
}

impl ColumnBatch {
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(ColumnVector::clear);
        self.rows = 0;
    }

    pub(crate) fn is_full(&self, rows: usize) -> bool {
        self.rows >= rows || self.columns.iter().map(ColumnVector::bytes).sum::<usize>() >= BATCH_BYTES
    }
}

/// Bytes of a batch after which it is given out.
pub(crate) const BATCH_BYTES: usize = 8 << 20;
