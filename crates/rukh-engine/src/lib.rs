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
//! The rooms, each of which imports only those above it:
//!
//! | room       | to read                                                     | start at                                   |
//! |------------|-------------------------------------------------------------|--------------------------------------------|
//! | `storage`  | what stands between storage and rows: moments, sorted runs  | `watch`, `clock`, `sorter`                 |
//! | `forms`    | what the bytes are, and what follows from a row alone       | `row`, `entry`, `codec`, `maintain`, `docs/row-format.md` |
//! | `columnar` | how columnar indexes and tables are stored and read         | `block`, `scan`, `docs/columnar-format.md` |
//! | `reading`  | what is alive of one moment, and how rows are read          | `lifetime`, `snapshot`, `scan`, `lookup`, `groups`, `merged` |
//! | `state`    | what all that is open shares                                | `shared`, `commits`, `row_locks`, `advisory`, `group`, `builds` |
//! | `folding`  | how changes beside blocks become blocks                     | `repack`, `paying`                         |
//! | `writing`  | how a statement becomes a batch, and several are one        | `write`, `pending`, `existing`, `unique`, `stage`, `transaction` |
//! | `building` | work over whole tables that goes past the batch             | `load`, `build`, `backfill`, `catch_up`, `erase` |
//! | `defining` | how definitions change; recovery after a crash              | `engine`, `indexes`, `analyze`, `recover`  |
//! | `checking` | checks and upkeep of a whole database                       | `scrub`, `dump`, `operations`, `repair`    |
//!
//! Deliberately not here: SQL and its expressions (a caller compiles them, see [`RowFunctions`]),
//! the choice of an access path (rukh-planner), and any file format but that of values.

mod building;
mod checking;
mod columnar;
mod defining;
mod error;
mod folding;
mod forms;
mod functions;
mod progress;
mod reading;
mod state;
mod storage;
mod writing;

pub use building::erase::Erase;
pub use building::load::Load;
pub use checking::dump::DumpLine;
pub use checking::operations::{PartKind, StoredPart};
pub use checking::repair::{Repair, RepairedIndex, RepairedTable, owner_of_storage, repair};
pub use checking::scrub::{Finding, FindingKind, ScrubReport};
pub use columnar::{
    BlockTotals, Coded, ColumnBatch, ColumnTest, ColumnVector, FirstRows, NullsWanted, Strings, TotalWanted,
    Values, ranked_float, ranked_real,
};
pub use defining::alter::Alteration;
pub use defining::changes::DefinitionChanges;
pub use defining::roles::RoleChanges;
pub use defining::truncate::Numbering;
pub use error::EngineError;
pub use folding::repack::ColumnarDebt;
pub use forms::counter::CounterMerge;
pub use forms::imports::ImportNote;
pub use forms::recovery::Recovery;
pub use forms::rules::DomainRules;
pub use forms::sample::{CommonValue, ValueStatistics};
pub use forms::sequence_state::{AlteredSequence, SequenceBlock, SequenceState};
pub use forms::statistics::{ColumnStatistics, ExpressionStatistics, TableStatistics};
pub use functions::{NoFunctions, Row, RowFunction, RowFunctions};
pub use progress::{NoProgress, Progress};
pub use reading::groups::Grouping;
pub use reading::merged::MergePart;
pub use reading::scan::{ColumnarCursor, EntryFilter, PointReader, RowCursor, RowView, ScanRequest, Source};
pub use reading::snapshot::Snapshot;
pub use rukh_keys::ScanCounters;
pub use state::advisory::{AdvisoryAnswer, AdvisoryKey, AdvisoryOwner, AdvisorySpan, HeldLocks};
pub use state::builds::{BuildPhase, BuildProgress};
pub use state::row_locks::{Patience, StatementLocks};
pub use state::shared::Engine;
pub use state::touches::RowLock;
pub use storage::clock::TimeSource;
pub use writing::conflict::Obstacle;
pub use writing::pending::OnConflict;
pub use writing::row_count::RowCount;
pub use writing::transaction::{LockWait, Savepoint, Transaction};
pub use writing::write::{AddOutcome, Write};
