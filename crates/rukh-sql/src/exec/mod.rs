//! Execution: from a logical plan to rows.
//!
//! | folder or file | has                                                                                          |
//! |----------------|----------------------------------------------------------------------------------------------|
//! | `direct_plans` | queries that are one key access, run without DataFusion                                      |
//! | `general`      | queries as DataFusion's plans, whose leaves are access paths                                 |
//! | `access`, `translate`, `within` | from conditions to an access path, by the planner (crate `rukh-planner`)    |
//! | `provider`, `operators` | tables and operators of DataFusion's plans                                          |
//! | `context`      | what one statement runs with                                                                 |
//! | `rows`, `columns`, `vectors`, `text_batch`, `blanks`, `documents` | results                                   |
//! | `session_settings` | settings of a session                                                                        |
//! | `held`         | what a session keeps between statements, as data                                             |
//! | `tally`, `slow_log`, `plan_text` | what statements cost, and their plans as text                              |
//!
//! Deliberately not here: what a query means (`bind`), statements that write (`sql`).

pub(crate) mod access;
pub(crate) mod blanks;
pub(crate) mod columns;
pub(crate) mod context;
pub(crate) mod direct_plans;
pub(crate) mod documents;
pub(crate) mod general;
pub(crate) mod held;
pub(crate) mod hints;
pub(crate) mod known_statistics;
pub(crate) mod operators;
pub(crate) mod plan_text;
pub(crate) mod provider;
pub(crate) mod regex_prefix;
pub(crate) mod rows;
pub(crate) mod runtime;
pub(crate) mod session_settings;
pub(crate) mod slow_log;
pub(crate) mod tally;
pub(crate) mod text_batch;
pub(crate) mod translate;
pub(crate) mod vectors;
pub(crate) mod within;
