//! What reading ranges of keys costs, counted.

use std::ops::{AddAssign, Sub};

/// What a scan did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCounters {
    /// Key ranges begun.
    pub ranges: u64,
    /// Times an iterator was sent to a key.
    pub seeks: u64,
    /// Keys that iterators stood on; lookups are not counted here.
    pub keys_examined: u64,
    /// Keys examined that failed the masked compare.
    pub masked_misses: u64,
    /// Rows fetched because the source did not have all columns.
    pub lookups: u64,
    /// Rows shown.
    pub rows: u64,
    /// Bytes of keys and values read.
    pub bytes_read: u64,
    /// Blocks of columnar indexes that were looked into.
    pub blocks_read: u64,
    /// Blocks that what is known of their columns ruled out.
    pub blocks_pruned: u64,
    /// Blocks that were answered by their heads.
    pub blocks_told: u64,
    /// Changes of columnar indexes that were read beside their blocks.
    pub delta_rows: u64,
}

impl ScanCounters {
    fn each(&mut self, other: &ScanCounters, change: fn(&mut u64, u64)) {
        let ScanCounters {
            ranges,
            seeks,
            keys_examined,
            masked_misses,
            lookups,
            rows,
            bytes_read,
            blocks_read,
            blocks_pruned,
            blocks_told,
            delta_rows,
        } = self;
        change(ranges, other.ranges);
        change(seeks, other.seeks);
        change(keys_examined, other.keys_examined);
        change(masked_misses, other.masked_misses);
        change(lookups, other.lookups);
        change(rows, other.rows);
        change(bytes_read, other.bytes_read);
        change(blocks_read, other.blocks_read);
        change(blocks_pruned, other.blocks_pruned);
        change(blocks_told, other.blocks_told);
        change(delta_rows, other.delta_rows);
    }
}

impl AddAssign for ScanCounters {
    fn add_assign(&mut self, other: ScanCounters) {
        self.each(&other, |count, more| *count += more);
    }
}

/// What was counted between two readings, the later one first.
impl Sub for ScanCounters {
    type Output = ScanCounters;

    fn sub(mut self, earlier: ScanCounters) -> ScanCounters {
        self.each(&earlier, |count, before| *count -= before);
        self
    }
}
