//! SQL: from the text of a statement to rows.
//!
//! A [`Session`] parses a statement (`statement`), and runs it (`dispatch`). Queries become DataFusion
//! plans whose leaves are access paths (`general`, `provider`, `operators`), or, where one key access is
//! the whole answer, direct plans (`direct`). Both translate conditions for the planner by `translate` and
//! `access`. Writes are planned here (`dml`): read through an access path, then write.
//!
//! Start reading at `session`, then `dispatch`.
//!
//! Invariants: a query gives the same rows both ways; a condition that the planner does not prove is
//! checked by the scan; every error that leaves is a [`SqlError`] with a SQLSTATE.
//!
//! Deliberately not here: key encoding, access path choice, storage; anything that writes to a terminal.

mod access;
mod activity;
mod array_parameters;
mod asking;
mod background;
mod blanks;
mod block;
mod bound_aggregates;
mod bound_calls;
mod bound_operators;
mod cast_names;
mod cast_types;
mod casts;
mod catalog_provider;
mod chosen_types;
mod client;
mod client_settings;
mod coercions;
mod columns;
mod computed;
mod computed_limits;
mod computed_values;
mod condition_literals;
mod config;
mod context;
mod copy;
mod correlated;
mod current;
mod ddl;
mod definition_text;
mod describe;
mod direct;
mod dispatch;
mod dml;
mod dump;
mod durations;
mod explain;
mod expressions;
mod general;
mod held;
mod hints;
mod in_lists;
mod index_terms;
mod information_schema;
mod inner_order;
mod integer_literals;
mod integer_series;
mod interval_order;
mod intervals;
mod joined;
mod kept;
mod key_reads;
mod known_statistics;
mod late_volatile;
mod literal_values;
mod literals;
mod locked_relations;
mod locking;
mod moment_words;
mod named_windows;
mod normalise;
mod notice;
mod null_joins;
mod on_subqueries;
mod once;
mod operand_types;
mod operations;
mod operators;
mod order_names;
mod outer_aggregates;
mod outer_columns;
mod outer_names;
mod output_names;
mod parsing;
mod past;
mod pg_catalog;
mod place;
mod plan_text;
mod point_read;
mod point_write;
mod prefix_read;
mod progress;
mod provider;
mod push_down;
mod qualify;
mod query_memory;
mod query_width;
mod regex_prefix;
mod repair;
mod rewrite;
mod roles;
mod row_subqueries;
mod rows;
mod runtime;
mod sample;
mod search_path;
mod select_calls;
mod sequence_calls;
mod sequence_values;
mod sequences;
mod session;
mod set_operations;
mod settings;
mod shape;
mod short_aliases;
mod show;
mod slow_log;
mod spelled;
mod stars;
mod statistics;
mod subqueries;
mod table_schema;
mod tally;
mod template;
mod text_batch;
mod totals;
mod transaction_time;
mod translate;
mod typed_casts;
mod typed_parameters;
mod union_types;
mod values_types;
mod vectors;
mod view_target;
mod views;
mod whole_rows;
mod window_frames;
mod within;
mod zero_order;

pub use asking::{Backend, Backends};
pub use coercions::check_coercions;
pub use columns::ColumnInfo;
pub use context::{Armed, CancelHandle, QueryStats, RunPath};
pub use copy::{CopyClient, CopyShape};
pub use datafusion::arrow;
pub use describe::StatementKind;
pub use dump::dump;
pub use held::{Description, Prepared, TransactionStatus};
pub use notice::Notice;
pub use progress::{ProgressListener, ProgressReport, ProgressSink};
pub use repair::{damaged_log, repair};
pub use roles::scram;
pub use rows::Rows;
pub use rukh_engine::{CounterMerge, ImportNote, Repair, RepairedIndex, RepairedTable};
pub use rukh_error::{ErrorKind, SqlError, storage_error};
pub use rukh_functions::forms::array_text::{
    array_of_dimensions, array_text, dimensions as array_dimensions, elements as array_elements,
};
pub use rukh_functions::forms::binary;
pub use rukh_functions::forms::numerics::NAN as NUMERIC_NAN;
pub use rukh_functions::scalars::parameters_of_array;
pub use rukh_functions::types::{TYPE_KEY, arrow_type, data_type_of};
pub use rukh_keys::Interval;
pub use rukh_planner::Constant;
pub use rukh_syntax::{Split, split_statements};
pub use session::{Outcome, Session, Shared};
pub use settings::PathSetting;
pub use slow_log::SlowLog;
