//! A PostgreSQL server over `rukh`: what psql and every driver of PostgreSQL connect to.
//!
//! Each connection has a thread and a session of its own. The thread reads messages, runs statements, and
//! sends rows as they are made, so that a result of any size takes constant memory: what the client does
//! not read stops the query. pgwire reads and writes the messages.
//!
//! Start reading at `server`, then `session`, `simple` and `extended`.
//!
//! Invariants: nothing that a client sends panics, or takes more memory than the longest message allowed;
//! an error ends a statement, and only broken messages end a connection; sessions know nothing of one
//! another but what the database shows them.
//!
//! Deliberately not here: SQL, and anything that a library user would want too.

mod arrays;
mod authentication;
mod backends;
mod binding;
mod config;
mod copy;
mod deallocate;
mod doing;
mod error;
mod extended;
mod forms;
mod http;
mod input;
mod log;
mod messages;
mod metering;
mod monitor;
mod output;
mod places;
mod portal;
mod registry;
mod server;
mod session;
mod shape;
mod shared;
mod simple;
mod startup;
mod timeouts;
mod tls;
mod types;
mod wire;

pub use config::{Config, Tls};
pub use error::ServeError;
pub use log::{LogFormat, log_to_stderr};
pub use metering::count_statement;
pub use places::within_descriptors;
pub use server::{RunningServer, start};
pub use tls::encryption;
