//! SQL: from the text of a statement to rows.
//!
//! | room   | has                                                                                              |
//! |--------|--------------------------------------------------------------------------------------------------|
//! | `bind` | from the tree of a statement and the definitions to a logical plan with PostgreSQL's meaning     |
//! | `exec` | from a logical plan to rows: access paths, direct plans, operators; settings                     |
//! | `pg`   | definitions as PostgreSQL's clients look them up                                                 |
//! | `sql`  | sessions, transactions and each kind of statement                                                |
//!
//! No room imports one that stands behind it. A [`Session`] parses a statement and runs it (`sql::dispatch`). Queries become DataFusion
//! plans whose leaves are access paths (`exec::general`, `exec::provider`, `exec::operators`), or, where one key access is
//! the whole answer, direct plans (`exec::direct_plans`). Both translate conditions for the planner by `exec::translate` and
//! `exec::access`. Writes are planned here (`sql::dml`): read through an access path, then write.
//!
//! Start reading at `sql::session`, then `sql::dispatch`.
//!
//! Invariants: a query gives the same rows both ways; a condition that the planner does not prove is
//! checked by the scan; every error that leaves is a [`SqlError`] with a SQLSTATE.
//!
//! Deliberately not here: key encoding, access path choice, storage; anything that writes to a terminal.

mod bind;
mod exec;
mod pg;
mod sql;

pub use bind::types::coercions::check_coercions;
pub use datafusion::arrow;
pub use exec::columns::ColumnInfo;
pub use exec::context::{Armed, CancelHandle, QueryStats, RunPath};
pub use exec::documents::shown_schema;
pub use exec::held::{Description, Prepared, TransactionStatus};
pub use exec::rows::Rows;
pub use exec::session_settings::notice::Notice;
pub use exec::session_settings::progress::{ProgressListener, ProgressReport, ProgressSink};
pub use exec::session_settings::settings::PathSetting;
pub use exec::slow_log::SlowLog;
pub use pg::asking::{Backend, Backends};
pub use pg::pg_catalog::function_name;
pub use rukh_engine::{CounterMerge, ImportNote, Repair, RepairedIndex, RepairedTable};
pub use rukh_error::{ErrorKind, SqlError, Violated, storage_error};
pub use rukh_functions::forms::binary;
pub use rukh_functions::forms::numerics::NAN as NUMERIC_NAN;
pub use rukh_functions::scalars::parameters_of_array;
pub use rukh_functions::types::{
    TYPE_KEY, array_of_enums, arrow_type, data_type_of, element_of_enums, is_enum_oid, oid_of,
    taken_data_type,
};
pub use rukh_keys::{Interval, array_dimensions, array_elements, array_of_dimensions, array_text};
pub use rukh_planner::Constant;
pub use rukh_syntax::{Split, split_statements};
pub use sql::copy::{CopyClient, CopyShape};
pub use sql::describe::StatementKind;
pub use sql::dump::dump;
pub use sql::repair::{damaged_log, repair};
pub use sql::roles::scram;
pub use sql::session::{Outcome, Session, Shared};
