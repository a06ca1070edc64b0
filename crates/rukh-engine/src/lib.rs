//! Rows and index entries on top of a key-value store, and the statements that change them together.
//!
//! An [`Engine`] is an open database: definitions (`rukh-catalog`) and data (`rukh-kv`). It is read
//! through a [`Snapshot`], in the key order of a table or of an index, and changed by a [`Write`]: one
//! statement, whose rows and index entries reach storage in one atomic batch, so that an index
//! never says other than its table. Several statements are one in a [`Transaction`]. Many rows at once go past the write path by a [`Load`].
//!
//! ```
//! use rukh_catalog::{Column, ColumnId, FamilyId, KeyElement, KeyExpr, TableDraft};
//! use rukh_engine::{Engine, NoFunctions, OnConflict};
//! use rukh_keys::{DataType, Datum, SortOrder};
//! use rukh_kv::{Durability, MemoryStore};
//! use std::sync::Arc;
//!
//! let engine = Engine::open(Arc::new(MemoryStore::new()), Arc::new(NoFunctions), false)?;
//! let column = |id, name: &str| Column {
//!     id: ColumnId(id),
//!     name: name.to_string(),
//!     ty: DataType::Integer,
//!     nullable: true,
//!     default: None,
//!     family: FamilyId(0),
//!     values: Default::default(),
//! };
//! let table = engine.create_table(TableDraft {
//!     name: "t".to_string(),
//!     columns: vec![column(0, "k"), column(1, "v")],
//!     primary_key: vec![KeyElement { expr: KeyExpr::Column(ColumnId(0)), order: SortOrder::Asc }],
//!     ..TableDraft::default()
//! })?;
//! let mut write = engine.begin()?;
//! write.insert(&table, vec![vec![Datum::Int(1), Datum::Int(10)]], OnConflict::Error)?;
//! write.commit(Durability::Synced)?;
//! let row = engine.snapshot().get(&table, &[Datum::Int(1)])?;
//! assert_eq!(row, Some(vec![Datum::Int(1), Datum::Int(10)]));
//! # Ok::<(), rukh_engine::EngineError>(())
//! ```
//!
//! | to read                                   | start at                                   |
//! |-------------------------------------------|--------------------------------------------|
//! | what the bytes are                        | `row`, `entry`, `docs/row-format.md`       |
//! | how a statement becomes a batch           | `write`, `pending`, `existing`, `maintain`, `unique`, `stage` |
//! | how several statements are one            | `transaction`, `commits`, `row_locks`      |
//! | how many rows are removed at once         | `erase`, `ingest`                          |
//! | when a commit is done                     | `group`                                    |
//! | what is dead, and who says what time it is | `lifetime`, `clock`                       |
//! | how rows are read                         | `scan`, `lookup`, `points`, `groups`, `merged`, `snapshot` |
//! | how columnar indexes are stored and read  | `columnar`, `docs/columnar-format.md`      |
//! | what a crash leaves, and who clears it up | `engine`, `recover`, `ingest`              |
//! | how indexes are built beside writers      | `indexes`, `build`, `builds`, `backfill`, `catch_up` |
//! | work over whole tables                    | `load`, `scrub`, `analyze`, `sample`, `dump` |
//! | what people who run it ask                | `operations`                               |
//!
//! Deliberately not here: SQL and its expressions (a caller compiles them, see [`RowFunctions`]),
//! the choice of an access path (rukh-planner), and any file format but that of values.

mod alter;
mod analyze;
mod backfill;
mod build;
mod builds;
mod catch_up;
mod changes;
mod clock;
mod codec;
mod columnar;
mod commits;
mod conflict;
mod counter;
mod dump;
mod engine;
mod entry;
mod erase;
mod error;
mod existing;
mod functions;
mod group;
mod groups;
mod history;
mod imports;
mod indexes;
mod ingest;
mod lifetime;
mod load;
mod lock;
mod lookup;
mod maintain;
mod merge_write;
mod merged;
mod names;
mod operations;
mod patch;
mod pending;
mod points;
mod progress;
mod recover;
mod repair;
mod rewrite;
mod roles;
mod row;
mod row_locks;
mod rows;
mod rules;
mod salvage;
mod sample;
mod scan;
mod scrub;
mod sequences;
mod snapshot;
mod sorter;
mod split;
mod stage;
mod stale;
mod stored;
mod transaction;
mod truncate;
mod unique;
mod unsettled;
mod watch;
mod write;

pub use alter::Alteration;
pub use analyze::{ColumnStatistics, ExpressionStatistics, TableStatistics};
pub use builds::{BuildPhase, BuildProgress};
pub use changes::DefinitionChanges;
pub use clock::TimeSource;
pub use columnar::{
    BlockTotals, Coded, ColumnBatch, ColumnTest, ColumnVector, ColumnarDebt, FirstRows, NullsWanted, Strings,
    TotalWanted, Values, ranked_float, ranked_real,
};
pub use commits::RowLock;
pub use conflict::Obstacle;
pub use counter::CounterMerge;
pub use dump::DumpLine;
pub use engine::Engine;
pub use erase::Erase;
pub use error::EngineError;
pub use functions::{NoFunctions, Row, RowFunction, RowFunctions};
pub use groups::Grouping;
pub use imports::ImportNote;
pub use load::Load;
pub use merged::MergePart;
pub use operations::{PartKind, StoredPart};
pub use progress::{NoProgress, Progress};
pub use recover::Recovery;
pub use repair::{Repair, RepairedIndex, RepairedTable, owner_of_storage, repair};
pub use roles::RoleChanges;
pub use row_locks::{Patience, StatementLocks};
pub use sample::{CommonValue, ValueStatistics};
pub use scan::{
    ColumnarCursor, EntryFilter, PointReader, RowCursor, RowView, ScanCounters, ScanRequest, Source,
};
pub use scrub::{Finding, FindingKind, ScrubReport};
pub use sequences::{AlteredSequence, SequenceBlock, SequenceState};
pub use snapshot::Snapshot;
pub use transaction::{LockWait, Savepoint, Transaction};
pub use truncate::Numbering;
pub use write::{AddOutcome, OnConflict, Write};
