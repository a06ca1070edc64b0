//! Ordered tables of bytes: the storage that Rukh stands on, behind one trait.
//!
//! A [`KvStore`] holds named tables, each an ordered map from key bytes to value bytes. It is
//! written by atomic [`WriteBatch`]es over any number of tables and read through [`KvSnapshot`]s,
//! which scan key ranges under a masked compare as a [`ScanSpec`] says.
//!
//! | store           | for                                                                    |
//! |-----------------|------------------------------------------------------------------------|
//! | [`RocksStore`]  | databases on disk: one RocksDB; tables in column families, many share some |
//! | [`MemoryStore`] | tests: multi-version maps with the same behaviour                      |
//! | [`RecordStore`] | golden tests: wraps a store and records its calls                      |
//! | [`FaultStore`]  | crash and fault sweeps: wraps a store and makes the n-th write fail    |
//!
//! An [`Overlay`] holds changes that are not written yet and shows them over a snapshot: what a
//! transaction reads.
//!
//! ```
//! use rukh_kv::{Durability, KvStore, MemoryStore, TableOptions, WriteBatch};
//!
//! let store = MemoryStore::new();
//! store.create_table("t", &TableOptions::default())?;
//! let mut batch = WriteBatch::new();
//! batch.put("t", b"k", b"v");
//! store.write(batch, Durability::Synced)?;
//! assert_eq!(store.snapshot().get("t", b"k")?, Some(b"v".to_vec()));
//! # Ok::<(), rukh_kv::KvError>(())
//! ```
//!
//! The RocksDB binding is named in this crate only, and its borrowed handles are given owned
//! lifetimes in one file, `rocks.rs`.
//!
//! Deliberately not here: what the bytes mean (rukh-keys, rukh-engine), locks of rows that others wait for
//! (rukh-engine), and any choice of access path (rukh-planner).

mod batch;
mod commit;
mod drive;
mod error;
mod fault;
mod forward;
mod hex;
mod memory;
mod merge;
mod name;
mod overlay;
mod record;
mod rocks;
mod scan;
mod single_writer;
mod store;
mod traffic;
mod url;
mod usage;

pub use batch::{WriteBatch, WriteOp};
pub use commit::{Commit, CommitOrder, Committed, Touch, TouchKind, Turn, Version, Watch};
pub use drive::{Position, scan_position};
pub use error::KvError;
pub use fault::{Fault, FaultStore};
pub use memory::MemoryStore;
pub use merge::{MergeOperator, fold};
pub use name::{LoadFile, TableName};
pub use overlay::{Mark, Overlay};
pub use record::{Operation, RecordStore, Recording};
pub use rocks::{
    Backup, Backups, LogDamage, RocksOptions, RocksStore, log_damage, raise_descriptor_limit, step_aside,
};
pub use scan::{KeyValue, ScanSpec, ScanStats};
pub use single_writer::SingleWriter;
pub use store::{
    Capabilities, Compression, Durability, KvCursor, KvSnapshot, KvStore, LocalFiles, Purge, SortedWriter,
    TableOptions, Visit,
};
pub use traffic::Traffic;
pub use url::check_directory;
pub use usage::{StoreUsage, TableUsage};
