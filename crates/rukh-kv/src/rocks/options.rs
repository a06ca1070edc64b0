//! How the database is set up.
//!
//! One block cache, one budget for write buffers and one write-ahead log serve all tables, so that
//! memory does not grow with their number. Sizes follow from the two budgets; the rest are choices:
//!
//! - leveled compaction with dynamic level sizes: the last level holds nine tenths of the data;
//! - fast compression above, strong compression at the last level, and of large values, which stay where they were
//!   written first;
//! - a filter over whole keys in each file, so that a lookup reads one block;
//! - 16 KiB blocks: a scan reads fewer, a lookup decompresses more; between the two.

use super::purge::{PurgeFactory, Purged};
use super::share::split_number;
use crate::{Compression, KvError, MergeOperator, TableOptions};
use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, DataBlockIndexType, LogLevel, MergeOperands,
    Options,
};
use std::env::VarError;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Operands in a row that a key has in memory before they are folded into its value.
const MERGES_MAX: usize = 64;

const MIB: usize = 1 << 20;

/// Keys per bucket of the hash index in each block, by which gets find their key: RocksDB's default.
const BLOCK_HASH_RATIO: f64 = 0.75;

/// Filter bits per key: about one lookup in a hundred reads a block for nothing.
const FILTER_BITS_PER_KEY: f64 = 10.0;
/// Write buffer of one table at most; the shared budget is met by flushing before.
const TABLE_BUFFER_BYTES_MAX: usize = 64 * MIB;
/// Write buffers grow in steps of this, so that a thousand small tables fit the budget. In bytes.
const BUFFER_STEP_BYTES: usize = 64 << 10;
/// Sorted files grow to this size. In bytes.
const FILE_BYTES: u64 = 64 << 20;
/// Threads that open files, all tables of a database together, unless there are more tables.
const OPENING_THREADS_MAX: usize = 64;
/// Files kept open where the system's limit is not known.
const OPEN_FILES_UNKNOWN: i32 = 512;
/// Files kept open at most.
const OPEN_FILES_MAX: u64 = 16 << 10;

/// Files kept open at least; RocksDB takes no less.
const OPEN_FILES_MIN: u64 = 20;

/// Descriptors of storage for other files: logs, and what is being written.
const OTHER_FILES: u64 = 32;

/// Threads that compress the blocks of one file at most.
const COMPRESSING_THREADS_MAX: usize = 4;

/// Tables with column families of their own by default.
const OWN_FAMILIES: usize = 200;

/// The variable of the environment that overrides it.
const OWN_FAMILIES_VARIABLE: &str = "RUKH_OWN_FAMILIES";

/// How to open a [`RocksStore`](crate::RocksStore).
#[derive(Clone)]
pub struct RocksOptions {
    /// Whether to open for reading only. Several processes can, beside one that writes; what is
    /// written after the open stays unseen.
    pub read_only: bool,
    /// Whether to open what is damaged as far as it can be read: damaged records of the log are passed over, and damaged files give errors to
    /// reads of them. For [`RocksOptions::read_only`] alone, as the state shown then may never have existed.
    pub salvage: bool,
    /// Whether to create the database where there is none.
    pub create_if_missing: bool,
    /// Memory for blocks read, all tables together, in bytes.
    pub block_cache_bytes: usize,
    /// Memory for writes not yet in sorted files, all tables together, in bytes.
    pub write_buffer_bytes: usize,
    /// Size of a block before compression, in bytes.
    pub block_bytes: usize,
    /// Compression of all levels but the last, large values aside.
    pub compression: Compression,
    /// Compression of the last level, and of large values on all levels.
    pub last_level_compression: Compression,
    /// Flushes and compactions that run at once.
    pub background_jobs: u16,
    /// How many tables have a column family of their own at most, not counting those whose options ask for one;
    /// further tables share some (`share`). Each family costs memory and time when it is made and when the database
    /// is opened. By default the value of the variable `RUKH_OWN_FAMILIES` of the environment, or 200.
    pub own_families: Option<usize>,
    /// What folds merges; a database written with one must be opened with it again.
    pub merge: Option<Arc<dyn MergeOperator>>,
}

impl Default for RocksOptions {
    fn default() -> RocksOptions {
        RocksOptions {
            read_only: false,
            salvage: false,
            create_if_missing: true,
            block_cache_bytes: 256 * MIB,
            write_buffer_bytes: 256 * MIB,
            block_bytes: 16 << 10,
            compression: Compression::Lz4,
            last_level_compression: Compression::Zstd,
            background_jobs: 2,
            own_families: None,
            merge: None,
        }
    }
}

impl fmt::Debug for RocksOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksOptions")
            .field("read_only", &self.read_only)
            .field("salvage", &self.salvage)
            .field("create_if_missing", &self.create_if_missing)
            .field("block_cache_bytes", &self.block_cache_bytes)
            .field("write_buffer_bytes", &self.write_buffer_bytes)
            .field("block_bytes", &self.block_bytes)
            .field("compression", &self.compression)
            .field("last_level_compression", &self.last_level_compression)
            .field("background_jobs", &self.background_jobs)
            .field("own_families", &self.own_families)
            .field("merge", &self.merge.as_ref().map(|merge| merge.name()))
            .finish()
    }
}

impl From<Compression> for DBCompressionType {
    fn from(compression: Compression) -> DBCompressionType {
        match compression {
            Compression::None => DBCompressionType::None,
            Compression::Lz4 => DBCompressionType::Lz4,
            Compression::Zstd => DBCompressionType::Zstd,
        }
    }
}

/// Returns the options of the database as a whole, of which so many tables are to be opened.
pub(super) fn database(options: &RocksOptions, tables: usize) -> Options {
    let mut db = Options::default();
    db.create_if_missing(options.create_if_missing && !options.read_only);
    db.set_paranoid_checks(!options.salvage);
    if options.salvage {
        db.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
    }
    db.set_max_background_jobs(i32::from(options.background_jobs.max(1)));
    db.set_db_write_buffer_size(options.write_buffer_bytes);
    // A table with few writes holds the log back; past this size it is flushed. Without a limit of
    // its own it would be four times the buffers of all tables there could be.
    db.set_max_total_wal_size(2 * options.write_buffer_bytes as u64);
    db.set_max_open_files(open_files());
    db.set_max_file_opening_threads(opening_threads(tables));
    db.set_bytes_per_sync(MIB as u64);
    // A reader that is the last to need a file does not wait for its removal.
    db.set_avoid_unnecessary_blocking_io(true);
    db.set_keep_log_file_num(4);
    db.set_max_log_file_size(16 * MIB);
    db.set_log_level(LogLevel::Warn);
    db.set_stats_dump_period_sec(0);
    db.set_stats_persist_period_sec(0);
    db
}

/// What a column family is for.
pub(super) struct Family<'a> {
    /// How its table is stored, or its tables are.
    pub(super) stored: &'a TableOptions,
    /// What may be forgotten.
    pub(super) filter: Option<Purged>,
    /// Whether it is one that tables share: their numbers stand before their keys.
    pub(super) is_shared: bool,
}

/// Returns the options of a column family.
pub(super) fn family(options: &RocksOptions, cache: &Cache, family: Family<'_>) -> Options {
    let Family {
        stored: table,
        filter,
        is_shared,
    } = family;
    let mut family = Options::default();
    family.set_block_based_table_factory(&blocks(options, cache, table));
    family.set_level_compaction_dynamic_level_bytes(true);
    let (upper_levels, last_level) = compressions(options, table);
    family.set_compression_type(upper_levels.into());
    family.set_bottommost_compression_type(last_level.into());
    family.set_write_buffer_size(TABLE_BUFFER_BYTES_MAX.min(options.write_buffer_bytes));
    family.set_arena_block_size(BUFFER_STEP_BYTES);
    family.set_target_file_size_base(FILE_BYTES);
    family.set_enable_blob_files(table.large_value_bytes.is_some());
    family.set_min_blob_size(table.large_value_bytes.unwrap_or_default());
    family.set_blob_compression_type(last_level.into());
    family.set_enable_blob_gc(true);
    family.set_blob_cache(cache);
    if let Some(merge) = &options.merge {
        set_merge_operator(&mut family, merge, is_shared);
    }
    if let Some(filter) = filter {
        family.set_compaction_filter_factory(PurgeFactory(filter));
    }
    family
}

/// Returns the options of files that are written for a table past its write buffer: their blocks are
/// compressed by as many threads as there are cores.
pub(super) fn load(options: &RocksOptions, cache: &Cache, files_of: &TableOptions) -> Options {
    let stored = Family {
        stored: files_of,
        filter: None,
        // No merges are written to files.
        is_shared: false,
    };
    let mut family = family(options, cache, stored);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    family.set_compression_options_parallel_threads(threads.min(COMPRESSING_THREADS_MAX) as i32);
    family
}

/// Returns the changes that give a table, already there, other options.
pub(super) fn table_changes(options: &RocksOptions, table: &TableOptions) -> [(&'static str, String); 6] {
    let (upper_levels, last_level) = compressions(options, table);
    let block_bytes = table.block_bytes.unwrap_or(options.block_bytes);
    [
        (
            "block_based_table_factory",
            format!("{{block_size={block_bytes}}}"),
        ),
        ("compression", option_value(upper_levels)),
        ("bottommost_compression", option_value(last_level)),
        ("blob_compression_type", option_value(last_level)),
        ("enable_blob_files", table.large_value_bytes.is_some().to_string()),
        (
            "min_blob_size",
            table.large_value_bytes.unwrap_or_default().to_string(),
        ),
    ]
}

/// Returns the compression of a table's upper levels, and of its last and of large values.
fn compressions(options: &RocksOptions, table: &TableOptions) -> (Compression, Compression) {
    match table.compression {
        Some(compression) => (compression, compression),
        None => (options.compression, options.last_level_compression),
    }
}

/// Returns RocksDB's name of a compression.
fn option_value(compression: Compression) -> String {
    let name = match compression {
        Compression::None => "kNoCompression",
        Compression::Lz4 => "kLZ4Compression",
        Compression::Zstd => "kZSTD",
    };
    name.to_owned()
}

fn blocks(options: &RocksOptions, cache: &Cache, table: &TableOptions) -> BlockBasedOptions {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_block_size(table.block_bytes.unwrap_or(options.block_bytes));
    blocks.set_bloom_filter(FILTER_BITS_PER_KEY, false);
    blocks.set_whole_key_filtering(true);
    blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    blocks.set_data_block_hash_ratio(BLOCK_HASH_RATIO);
    blocks
}

/// Returns the table's key of one as the column family has it.
fn table_key(native: &[u8], is_shared: bool) -> &[u8] {
    match is_shared {
        true => split_number(native).map_or(&[], |(_, key)| key),
        false => native,
    }
}

fn set_merge_operator(family: &mut Options, merge: &Arc<dyn MergeOperator>, is_shared: bool) {
    let name = merge.name().replace('\0', "");
    let merge = Arc::clone(merge);
    // Operands that cannot be combined without the value are kept until it is met.
    let combine = {
        let merge = Arc::clone(&merge);
        move |key: &[u8], _: Option<&[u8]>, operands: &MergeOperands| {
            let key = table_key(key, is_shared);
            let mut operands = operands.iter();
            let first = operands.next()?.to_vec();
            let combined = || operands.try_fold(first, |older, newer| merge.combine(key, &older, newer));
            catch_unwind(AssertUnwindSafe(combined)).ok().flatten()
        }
    };
    let fold = move |key: &[u8], value: Option<&[u8]>, operands: &MergeOperands| {
        let operands: Vec<&[u8]> = operands.iter().collect();
        // Unwinding out of a callback of the C++ library would end the process.
        catch_unwind(AssertUnwindSafe(|| {
            merge.fold(table_key(key, is_shared), value, &operands)
        }))
        .ok()
        .flatten()
    };
    family.set_merge_operator(name.as_str(), fold, combine);
    family.set_max_successive_merges(MERGES_MAX);
}

/// Returns how many tables have column families of their own at most.
pub(super) fn own_families(options: &RocksOptions) -> Result<usize, KvError> {
    if let Some(count) = options.own_families {
        return Ok(count);
    }
    match std::env::var(OWN_FAMILIES_VARIABLE) {
        Err(VarError::NotPresent) => Ok(OWN_FAMILIES),
        value => value.ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            let message = io::Error::new(io::ErrorKind::InvalidInput, "it is not a number");
            KvError::io(format!("read {OWN_FAMILIES_VARIABLE}"), message)
        }),
    }
}

/// Returns how many threads open the files of one table. RocksDB starts them again for each table, one table
/// after the other: with many tables, that takes longer than what they share.
fn opening_threads(tables: usize) -> i32 {
    let share = OPENING_THREADS_MAX / tables.clamp(1, OPENING_THREADS_MAX);
    i32::try_from(share.min(16)).unwrap_or(1)
}

/// Returns how many files to keep open: storage has half of what the system lets the process have.
fn open_files() -> i32 {
    let limit = open_file_limit(Path::new("/proc/self/limits"));
    limit.map_or(OPEN_FILES_UNKNOWN, |limit| {
        let kept = (limit / 2).saturating_sub(OTHER_FILES);
        i32::try_from(kept.clamp(OPEN_FILES_MIN, OPEN_FILES_MAX)).unwrap_or(OPEN_FILES_UNKNOWN)
    })
}

/// Returns how many files are opened at most when the database is: a quarter of those that are kept open.
pub(super) fn files_at_open() -> usize {
    usize::try_from(open_files() / 4).unwrap_or_default()
}

/// Reads the soft limit of open files as the system shows it, where it does.
fn open_file_limit(limits: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(limits).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
