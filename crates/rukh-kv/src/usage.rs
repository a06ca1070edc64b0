//! Disk usage of a store and its tables.

/// What one table takes up. Numbers that a store does not have are zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableUsage {
    /// Number of keys, estimated.
    pub keys: u64,
    /// Size of its sorted files, in bytes.
    pub file_bytes: u64,
    /// Size of the keys and values in them before they are compressed, in bytes.
    pub raw_bytes: u64,
    /// Size of its files of large values, in bytes.
    pub blob_bytes: u64,
    /// Memory for what is not yet in files, in bytes.
    pub buffer_bytes: u64,
    /// Memory of open files that is not in the cache, in bytes.
    pub reader_bytes: u64,
    /// Number of files of each level, without empty ones at the end.
    pub level_files: Vec<u64>,
    /// What compaction has still to rewrite, in bytes, estimated.
    pub debt_bytes: u64,
    /// How often writes were slowed down or stopped since the open, so that compaction could catch up.
    pub stalls: u64,
}

/// What a store takes up beside its tables. Numbers that a store does not have are zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// Memory of cached blocks, in bytes.
    pub cache_bytes: u64,
    /// Limit of that, in bytes.
    pub cache_bytes_max: u64,
    /// Memory for what is not yet in files, in bytes.
    pub buffer_bytes: u64,
    /// Limit of that, in bytes.
    pub buffer_bytes_max: u64,
    /// Size of the write-ahead log, in bytes.
    pub log_bytes: u64,
    /// Flushes under way.
    pub flushes: u64,
    /// Compactions under way.
    pub compactions: u64,
    /// Snapshots held.
    pub snapshots: u64,
    /// Rate that writes are slowed down to at present, in bytes a second; zero when they are not.
    pub delayed_bytes_per_second: u64,
    /// Whether writes wait at present.
    pub writes_stopped: bool,
    /// Failures of flushes and compactions since the open.
    pub background_errors: u64,
}
