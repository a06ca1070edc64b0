//! What scans have looked at.

use rukh_kv::ScanStats;

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

impl From<ScanStats> for ScanCounters {
    fn from(stats: ScanStats) -> Self {
        ScanCounters {
            ranges: stats.ranges,
            seeks: stats.seeks,
            keys_examined: stats.keys_examined,
            masked_misses: stats.masked_misses,
            bytes_read: stats.bytes_read,
            ..ScanCounters::default()
        }
    }
}
