//! Arrow Flight SQL over `rukh`: what ADBC, the Flight SQL driver of JDBC, and pandas or polars above them
//! connect to. Rows leave as the record batches that the engine makes, and come in by batches, too.
//!
//! Calls are asynchronous, statements are not: each runs on a thread of its own and hands its batches over one
//! by one, so that a result of any size takes constant memory, and ends when its client goes.
//!
//! Start reading at `server`, then `service`, `session` and `run`.
//!
//! Invariants: a call belongs to one session, which its token or its connection identifies; nothing that a client
//! sends panics, or takes more memory than the longest message; tokens and passwords are in no log;
//! arrow-flight and tonic are named in this crate only.
//!
//! Deliberately not here: SQL, PostgreSQL's protocol, Substrait plans.

mod answers;
mod authentication;
mod connection;
mod door;
mod error;
mod held;
mod incoming;
mod ingest;
mod parameters;
mod prepared;
mod run;
mod server;
mod service;
mod session;
mod sessions;
mod shown;
mod waits;

pub use error::StartError;
pub use server::{Config, RunningServer, start};
pub use session::OnStatement;
