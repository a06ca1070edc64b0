//! What values, casts, operators, functions and aggregates of SQL mean, in the manner of PostgreSQL: on Arrow arrays and datums.
//!
//! | module         | what                                                                            |
//! |----------------|---------------------------------------------------------------------------------|
//! | [`types`]      | types between Rukh and Arrow                                                    |
//! | [`scalars`], [`batch`] | datums to arrays and back                                               |
//! | [`forms`]      | values as texts and bytes                                                       |
//! | [`casts`]      | casts                                                                           |
//! | [`functions`]  | scalar functions: a file each, and a line in [`functions::functions`]           |
//! | [`signatures`] | the table of signatures, and which of them a call means                        |
//! | `patterns`     | regular expressions                                                             |
//! | [`aggregates`] | aggregates, likewise in [`aggregates::aggregates`]                              |
//! | [`errors`]     | errors on their way through DataFusion                                          |
//! | [`result_types`] | functions of DataFusion whose results have PostgreSQL's types                  |
//!
//! Invariant: none of this knows a session, a catalog or a statement.

pub mod aggregates;
pub mod batch;
pub mod casts;
pub mod errors;
pub mod forms;
pub mod functions;
mod numbers;
mod patterns;
mod register;
pub mod result_types;
pub mod scalars;
pub mod signatures;
pub mod types;
mod usual;

pub use register::{is_aggregate, register};
